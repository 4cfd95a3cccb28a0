//! What is counted and summed up, and values that meet across positions, as people write it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_logic::{
    After, Arena, Atom, CacheLimits, Fact, Facts, Moment, Monitor, MonitorSet, Prover, Spelling, Time, Verdict,
};

/// Positions as a second and its facts.
fn trace(lines: &[(i64, &str)]) -> Vec<Facts> {
    let position = |(seconds, facts): &(i64, &str)| Facts {
        time: Some(Time(seconds * 1_000_000_000)),
        known: facts.split_whitespace().map(|fact| Fact::parse(fact).unwrap()).collect(),
        unknown: Vec::new(),
    };
    lines.iter().map(position).collect()
}

/// The positions, from one, at which a formula is broken, with the values.
fn broken(text: &str, trace: &[Facts]) -> Vec<(usize, String)> {
    let mut arena = Arena::new();
    let formula = arena.parse(text).unwrap();
    let monitor = Monitor::each(&arena, formula).unwrap_or_else(|error| panic!("{error}"));
    let mut watch = MonitorSet::new();
    watch.add(monitor, After::Each);
    let mut standing = watch.start();
    let mut found = Vec::new();
    for (position, facts) in trace.iter().enumerate() {
        for decided in watch.step(&mut standing, facts) {
            assert_eq!(decided.verdict, Verdict::Violated);
            let values = decided.binding.iter().flatten().flatten().map(ToString::to_string);
            found.push((position + 1, values.collect::<Vec<_>>().join(",")));
        }
    }
    found
}

fn refusal(text: &str) -> String {
    let mut arena = Arena::new();
    let formula = arena.parse(text).unwrap();
    Monitor::new(&arena, formula).unwrap_err().to_string()
}

const HOUR: i64 = 3600;

#[test]
fn small_payments_add_up() {
    let payments = trace(&[
        (0, "pays(eve,6000)"),
        (HOUR, "pays(bob,6000)"),
        (2 * HOUR, "pays(eve,4000)"),
        (3 * HOUR, "pays(eve,0.01)"),
        (25 * HOUR, "pays(eve,5000)"),
    ]);
    let text = "always forall p. (pays(p,_) -> sum[0,24h](a: pays(p,a)) <= 10000)";
    assert_eq!(broken(text, &payments), [(4, "\"eve\"".to_owned())]);
}

#[test]
fn two_different_persons_approve_and_neither_is_the_payer() {
    let text = "always forall c, u. (pays(c,u) -> exists a, b. (once[0,24h] approves(c,a) & once[0,24h] approves(c,b) \
                & a != b & a != u & b != u))";
    let events = trace(&[
        (0, "approves(c1,ann) approves(c2,ann) approves(c3,ann)"),
        (1, "approves(c1,bob) approves(c2,dan) approves(c3,ann)"),
        (2, "pays(c1,dan)"),
        (3, "pays(c2,dan)"),
        (4, "pays(c3,dan)"),
        (25 * HOUR, "pays(c1,dan)"),
    ]);
    let values: Vec<(usize, String)> = broken(text, &events);
    let expected = [(4, "\"c2\",\"dan\""), (5, "\"c3\",\"dan\""), (6, "\"c1\",\"dan\"")];
    assert_eq!(values, expected.map(|(position, values)| (position, values.to_owned())));
}

#[test]
fn a_tool_that_failed_three_times_rests() {
    let text = "always forall t. (call(t) -> !once[0,10m] (failed(_,t) & count[0,5m](c: failed(c,t)) >= 3))";
    let events = trace(&[
        (0, "call(a) failed(1,a)"),
        (60, "failed(2,a)"),
        (400, "failed(3,a) call(a)"),
        (410, "failed(4,a) failed(5,b)"),
        (420, "call(a)"),
        (430, "failed(6,a)"),
        (440, "call(a) call(b)"),
        (1031, "call(a)"),
    ]);
    assert_eq!(broken(text, &events), [(7, "\"a\"".to_owned())]);
}

#[test]
fn the_last_word_counts() {
    let text = "always forall k. (acts(k) -> latest(s: status(k,s)) = \"open\")";
    let events = trace(&[
        (0, "status(k,open) acts(k)"),
        (1, "status(k,closed) status(j,open)"),
        (2, "acts(k) acts(j)"),
        (3, "status(k,open)"),
        (4, "acts(k) acts(i)"),
    ]);
    let expected = [(3, "\"k\""), (5, "\"i\"")];
    assert_eq!(broken(text, &events), expected.map(|(position, values)| (position, values.to_owned())));
}

#[test]
fn numbers_are_computed_with() {
    let text = "always forall p, a. (pays(p,a) -> a <= 3 * avg[0,30d](b: pays(p,b)) + 1)";
    let events = trace(&[(0, "pays(p,10)"), (1, "pays(p,12)"), (2, "pays(p,8)"), (3, "pays(p,900)")]);
    assert_eq!(broken(text, &events), [(4, "\"p\",900".to_owned())]);
}

#[test]
fn what_is_no_number_cannot_be_summed_up_and_is_not_passed_over() {
    let mut arena = Arena::new();
    let formula = arena.parse("always sum(a: pays(a)) <= 10").unwrap();
    let mut watch = MonitorSet::new();
    let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
    let mut standing = watch.start();
    for facts in trace(&[(0, "pays(5)"), (1, "pays(\"1e9\")"), (2, "pays(100)")]) {
        watch.step(&mut standing, &facts);
    }
    // Neither kept nor broken: nobody can tell.
    assert_eq!(watch.end(&mut standing, id), Verdict::Inconclusive);
}

#[test]
fn what_is_unknown_makes_no_verdict() {
    let mut arena = Arena::new();
    let formula = arena.parse("always forall c. (pays(c) -> exists a. once approves(c,a))").unwrap();
    let mut watch = MonitorSet::new();
    let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
    let mut standing = watch.start();
    let unknown = vec![Atom::parse("approves(c1,_)").unwrap()];
    watch.step(&mut standing, &Facts { time: None, known: Vec::new(), unknown });
    watch.step(&mut standing, &Facts::of(["pays(c1)"]));
    assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
}

#[test]
fn what_is_unknown_of_one_does_not_hide_another() {
    let mut arena = Arena::new();
    let formula = arena.parse("always forall p. (pays(p) -> sum[0,24h](a: pays(p,a)) <= 10)").unwrap();
    let mut watch = MonitorSet::new();
    let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
    let mut standing = watch.start();
    let unknown = vec![Atom::parse("pays(a,_)").unwrap()];
    watch.step(&mut standing, &Facts { unknown, ..trace(&[(0, "pays(b,1)")]).remove(0) });
    assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
    watch.step(&mut standing, &trace(&[(1, "pays(a,50)")])[0]);
    assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
    watch.step(&mut standing, &trace(&[(2, "pays(b,99)")])[0]);
    assert_eq!(watch.verdict(&mut standing, id), Verdict::Violated);
}

#[test]
fn a_variable_without_a_fact_is_named() {
    let text = refusal("always forall p, x. (pays(p) -> exists a. (once approves(p,a) & a != x))");
    assert!(text.contains("`x`") && text.contains("guard"), "{text}");
    let text = refusal("always forall p. (pays(p) -> count(a: !approves(p,a)) < 3)");
    assert!(text.contains("`a`") || text.contains("`p`"), "{text}");
    let text = refusal("always (r -> sum(a: eventually pays(a)) < 3)");
    assert!(text.contains("the past and the present"), "{text}");
    let text = refusal("eventually count(r) > 3");
    assert!(text.contains("always"), "{text}");
}

#[test]
fn a_sum_is_proved_by_what_was_added_up() {
    let mut arena = Arena::new();
    let formula = arena.parse("always forall p. (pays(p,_) -> sum[0,24h](a: pays(p,a)) <= 10000)").unwrap();
    let events =
        trace(&[(0, "pays(eve,6000)"), (1, "pays(bob,9000)"), (2, "other"), (3, "pays(eve,4000)"), (4, "pays(eve,1)")]);
    let moments: Vec<Moment> = events.into_iter().map(Moment::Position).collect();
    let mut prover = Prover::each(&arena, formula).unwrap();
    let witness = prover.find(&moments, false, &[("p".into(), lictor_logic::Value::text("eve"))]).unwrap();
    // That nothing else was paid to eve matters as well: it could have been a refund.
    let paid = witness.steps.iter().filter(|step| !step.present.is_empty());
    assert_eq!(paid.map(|step| step.position).collect::<Vec<_>>(), [1, 4, 5]);
    assert!(witness.steps.iter().all(|step| step.present.is_empty() || step.absent.is_empty()));
    assert_eq!(witness.steps[0].present[0].to_string(), "pays(\"eve\",6000)");
}

#[test]
fn aggregates_are_written_as_they_are_read() {
    for text in [
        "G(forall p. pays(p,_) -> sum[0s,1d](a: pays(p,a)) <= 10000)",
        "count(r) >= 3",
        "count[0,5](c, d: failed(c,d) & !r) != 2",
        "exists x. (p(x) & (x + 1) * 2 > latest(v: q(x,v)) / 3 - 1)",
        "distinct(x: O p(x)) = 2 + 1",
    ] {
        let mut arena = Arena::new();
        let formula = arena.parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
        for spelling in [Spelling::Ascii, Spelling::Words, Spelling::Unicode] {
            let shown = arena.show(formula, spelling).to_string();
            assert_eq!(arena.parse(&shown).unwrap_or_else(|errors| panic!("{shown}\n{errors}")), formula, "{shown}");
        }
    }
}

#[test]
fn what_finds_no_room_is_unknown_from_then_on() {
    let text = "always forall p. ((exists a. pays(p, a)) -> sum[0,1h](a: pays(p, a)) <= 10)";
    let lines = trace(&[
        (0, "pays(\"a\",11)"),
        (1, "pays(\"b\",1)"),
        (2, "pays(\"c\",1)"),
        (3, "pays(\"d\",11)"),
        (4, "pays(\"d\",11)"),
    ]);
    let mut arena = Arena::new();
    let formula = arena.parse(text).unwrap();
    let mut told = Vec::new();
    for rows in [6, 100] {
        let mut watch = MonitorSet::with_limits(CacheLimits { rows, ..CacheLimits::DEFAULT });
        let id = watch.add(Monitor::each(&arena, formula).unwrap(), After::Each);
        let mut standing = watch.start();
        told.push(lines.iter().map(|facts| watch.step(&mut standing, facts).len()).collect::<Vec<_>>());
        assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
    }
    assert_eq!(told, [[1, 0, 0, 0, 0], [1, 0, 0, 1, 1]]);
}
