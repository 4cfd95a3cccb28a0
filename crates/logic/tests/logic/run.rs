//! The short interface for one formula: `Monitor::parse`, `Facts::parse` and `Run`.

use std::error::Error;

use lictor_logic::{Facts, Monitor, Time, Verdict};

fn facts(text: &str) -> Facts {
    Facts::parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

#[test]
fn run_gives_verdict_end_and_residual() {
    let mut run = Monitor::parse("G(request -> F answer)").unwrap().run();
    assert_eq!((run.verdict(), run.end(), run.positions()), (Verdict::Inconclusive, Verdict::Satisfied, 0));
    assert_eq!(run.step(&facts("request")), Verdict::Inconclusive);
    assert_eq!(run.end(), Verdict::Violated);
    assert_eq!(run.residual().to_string(), "F answer & G(request -> F answer)");
    assert_eq!(run.step(&facts("answer")), Verdict::Inconclusive);
    assert_eq!((run.end(), run.positions()), (Verdict::Satisfied, 2));
}

#[test]
fn run_expires_deadline_by_tick() {
    let mut run = Monitor::parse("G(a -> F[0,30s] b)").unwrap().run();
    run.step(&facts("@1m a"));
    assert_eq!(run.deadline(), Some(Time::from_seconds(90)));
    assert_eq!(run.tick(Time::from_seconds(89)), Verdict::Inconclusive);
    assert_eq!(run.tick(Time::from_seconds(90)), Verdict::Violated);
    assert_eq!(run.residual().to_string(), "false");
}

#[test]
fn run_clones_are_independent() {
    let monitor = Monitor::parse("G !a").unwrap();
    let mut run = monitor.run();
    let mut fork = run.clone();
    assert_eq!(fork.step(&facts("a")), Verdict::Violated);
    assert_eq!(run.step(&facts("b")), Verdict::Inconclusive);
    assert_eq!(monitor.run().verdict(), Verdict::Inconclusive);
}

#[test]
fn monitor_parse_reports_syntax_and_compile_errors() {
    let syntax = Monitor::parse("G(a ->").unwrap_err();
    assert!(syntax.parse_errors().is_some() && syntax.compile_error().is_none());
    assert!(syntax.to_string().starts_with("1:"), "{syntax}");
    let compile = Monitor::parse("O(a & F b)").unwrap_err();
    assert!(compile.parse_errors().is_none() && compile.compile_error().is_some());
    assert!(compile.to_string().contains("hint: "), "{compile}");
    for error in [syntax, compile] {
        assert_eq!(error.source().map(ToString::to_string), Some(error.to_string()));
    }
}

#[test]
fn facts_parse_reads_positions() {
    for (text, shown, seconds) in [
        ("", "{}", None),
        ("a", "{a}", None),
        ("a, b(\"x\")", "{a, b(\"x\")}", None),
        ("a b(\"x\", 3, true)  next", "{a, b(\"x\",3,true), next}", None),
        ("`a b`(1), c(_x)", "{`a b`(1), c(\"_x\")}", None),
        ("?a, b ?c(_, 2)", "{b, a?, c(_,2)?}", None),
        ("@12s", "{}", Some(12)),
        ("@1m30s a", "{a}", Some(90)),
        ("@1d2h a", "{a}", Some(93_600)),
    ] {
        let facts = facts(text);
        assert_eq!((facts.to_string(), facts.time), (shown.to_owned(), seconds.map(Time::from_seconds)), "{text}");
    }
    assert_eq!(facts("@250ms").time, Some(Time(250_000_000)));
    assert_eq!(facts("@1.5s").time, Some(Time(1_500_000_000)));
}

#[test]
fn facts_parse_reports_mistakes_with_hints() {
    for (text, message) in [
        ("a,", "expected a fact after `,`, found the end"),
        ("a & b", "expected a fact, found `&`"),
        (", a", "expected a fact, found `,`"),
        ("p(_)", "`_` in the known fact `p(_)`"),
        ("p(", "`(` is never closed"),
        ("a @5s", "the time is not at the beginning"),
        ("@5x a", "expected a time after `@`, found `5x`"),
        ("@ a", "expected a time after `@`, found `a`"),
        ("? 3", "expected the name of a fact, found `3`"),
        ("{a}", "unknown character `{`"),
    ] {
        let errors = Facts::parse(text).unwrap_err();
        assert_eq!(errors.iter().next().unwrap().message(), message, "{text}\n{errors}");
        assert!(errors.iter().all(|error| !error.hint().is_empty()), "{text}\n{errors}");
    }
}

#[test]
fn unseen_numbers_decide_the_end() {
    for (formula, trace, end) in [
        ("exists x. (x > 3 & G !p(x))", ["p(4)", "p(5)"], Verdict::Satisfied),
        ("exists x. (x > 3 & x < 4 & G !p(x))", ["p(3.5)", "p(3.25)"], Verdict::Satisfied),
        ("exists x. (x > 3 & x < 3 & G !p(x))", ["p(4)", "p(5)"], Verdict::Violated),
        ("forall x. (x > 3 -> F p(x))", ["p(4)", "p(5)"], Verdict::Violated),
        ("exists x. (x > \"b\" & G !p(x))", ["p(\"c\")", "p(\"d\")"], Verdict::Satisfied),
        ("exists x. (x < true & G !p(x))", ["p(true)", "p(1)"], Verdict::Satisfied),
        ("exists x. (x < true & G !p(x))", ["p(true)", "p(false)"], Verdict::Violated),
    ] {
        let mut run = Monitor::parse(formula).unwrap_or_else(|error| panic!("{formula}: {error}")).run();
        for position in trace {
            run.step(&facts(position));
        }
        assert_eq!(run.end(), end, "{formula}");
    }
}

#[test]
fn residual_of_timed_past_shows_time_left() {
    let mut run = Monitor::parse("G(a -> O[0,2s] b)").unwrap().run();
    run.step(&facts("@5s b"));
    assert_eq!(run.residual().to_string(), "G(a -> O[0,2s] b | O[0,2s] !Y true)");
    run.tick(Time(6_500_000_000 - 1));
    assert_eq!(run.residual().to_string(), "G(a -> O[0,2s] b | O[0,500ms] !Y true)");
    run.tick(Time::from_seconds(8));
    assert_eq!(run.residual().to_string(), "G(a -> O[0,2s] b)");
}

#[test]
fn residual_names_bindings_with_other_duties() {
    let mut run = Monitor::parse("forall x. (p(x) | F q(x))").unwrap().run();
    run.step(&facts("p(\"a\")"));
    assert_eq!(run.residual().to_string(), "forall x. x != \"a\" -> F q(x)");
    let mut run = Monitor::parse("forall x. G(p(x) & x > 3 -> F q(x))").unwrap().run();
    run.step(&facts("p(4)"));
    let duty = "F q(4) & G(p(4) -> F q(4)) & forall x. x > 3 -> G(p(x) -> F q(x))";
    assert_eq!(run.residual().to_string(), duty);
    // A count asks for the past as well, so a note says that the formula is not about the rest alone.
    let mut run = Monitor::parse("G(a -> count(a) <= 3)").unwrap().run();
    assert!(run.residual().is_whole());
    run.step(&facts("a"));
    assert!(!run.residual().is_whole(), "{}", run.residual());
}

#[test]
fn residual_of_many_bindings_has_a_note() {
    let mut run = Monitor::parse("forall x. G(p(x) -> F q(x))").unwrap().run();
    for number in 0..5 {
        run.step(&facts(&format!("p({number})")));
    }
    assert!(run.residual().is_whole());
    run.step(&facts("p(5) p(6)"));
    assert!(!run.residual().is_whole());
    assert!(run.residual().to_string().ends_with("`(and 2 more bindings)`"), "{}", run.residual());
}
