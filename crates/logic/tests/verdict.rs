//! What monitors say and show, beyond the verdicts of the conformance cases.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_logic::{
    After, Arena, Check, Fact, Facts, Moment, Monitor, MonitorId, MonitorSet, Observation, Time, TraceState, Value,
    Verdict, Witness, check,
};

/// One formula on one trace.
struct Run {
    arena: Arena,
    watch: MonitorSet,
    standing: TraceState,
    id: MonitorId,
}

fn run(formula: &str, after: After) -> Run {
    let mut arena = Arena::new();
    let f = arena.parse(formula).unwrap();
    let mut watch = MonitorSet::new();
    let id = watch.add(Monitor::new(&arena, f).unwrap(), after);
    let standing = watch.start();
    Run { arena, watch, standing, id }
}

fn facts(text: &str) -> Facts {
    Facts { known: text.split_whitespace().map(|fact| Fact::parse(fact).unwrap()).collect(), ..Facts::default() }
}

impl Run {
    fn step(&mut self, text: &str) -> Verdict {
        self.watch.step(&mut self.standing, &facts(text));
        self.watch.verdict(&mut self.standing, self.id)
    }

    fn residual(&mut self) -> String {
        self.watch.residual(&mut self.standing, self.id).unwrap().to_string()
    }

    fn end(&mut self) -> Verdict {
        self.watch.end(&mut self.standing, self.id)
    }
}

#[test]
fn contradictions_and_tautologies_are_decided_at_the_first_step() {
    for (formula, verdict) in [
        ("F a & G !a", Verdict::Violated),
        ("X(F a & G !a)", Verdict::Violated),
        ("F a | G !a", Verdict::Satisfied),
        ("G(a -> F b) & F(a & G !b)", Verdict::Violated),
        ("F p(\"a\") & G !p", Verdict::Violated),
        ("a & G !O a", Verdict::Violated),
    ] {
        assert_eq!(run(formula, After::Latch).step("a"), verdict, "{formula}");
    }
}

#[test]
fn the_residual_of_a_long_trace_does_not_grow() {
    let mut run = run("(F a) U (F G a)", After::Latch);
    let mut longest = 0;
    for step in 0..100_000u32 {
        let text = if step.wrapping_mul(2_654_435_761) >> 31 == 0 { "a" } else { "" };
        assert_eq!(run.step(text), Verdict::Inconclusive);
        if step % 1000 < 3 {
            longest = longest.max(run.residual().len());
        }
    }
    assert!(longest < 120, "a residual of {longest} characters");
    assert!(run.watch.usage(run.id).unwrap().states < 20);
}

#[test]
fn the_end_agrees_with_finite_traces() {
    for (formula, trace, end) in [
        ("X !a", "-", Verdict::Violated),
        ("X !a", "- -", Verdict::Satisfied),
        ("!X a", "-", Verdict::Satisfied),
        ("X G a", "-", Verdict::Violated),
        ("X G a", "- a", Verdict::Satisfied),
        ("G(a -> X !b)", "a", Verdict::Violated),
        ("G(a -> N !b)", "a", Verdict::Satisfied),
        ("G(a -> X !b)", "a -", Verdict::Satisfied),
    ] {
        let mut run = run(formula, After::Latch);
        for step in trace.split(' ') {
            run.step(step.trim_matches('-'));
        }
        assert_eq!(run.end(), end, "{formula} on {trace}");
    }
}

#[test]
fn a_deadline_fires_by_a_tick_alone() {
    let mut run = run("G forall c. (call(c) -> F[0,30s] verified(c))", After::Latch);
    run.watch.step(&mut run.standing, &facts("call(1)").at(Time::from_seconds(100)));
    run.watch.step(&mut run.standing, &facts("call(2)").at(Time::from_seconds(110)));
    run.watch.step(&mut run.standing, &facts("verified(1)").at(Time::from_seconds(120)));
    assert_eq!(run.watch.deadline(&run.standing), Some(Time::from_seconds(130)));
    assert!(run.watch.tick(&mut run.standing, Time::from_seconds(139)).is_empty());
    let decided = run.watch.tick(&mut run.standing, Time::from_seconds(140));
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].verdict, Verdict::Violated);
    assert_eq!(decided[0].binding, Some(vec![Some(Value::Integer(2))]));
    assert_eq!(run.watch.verdict(&mut run.standing, run.id), Verdict::Violated);
}

#[test]
fn with_reset_every_verdict_is_counted_and_the_deciding_position_consumed() {
    let mut run = run("G(a -> X b)", After::Reset);
    for text in ["a", "", "a", "a", "b", "a b", ""] {
        run.step(text);
    }
    // Violated at 2; the a at 3 is not answered at 4, whose own a is consumed with it; the a at 6 not at 7.
    assert_eq!(run.watch.counts(&run.standing, run.id).violated, 3);
    assert_eq!(run.watch.counts(&run.standing, run.id).decided_at, Some(7));
}

#[test]
fn with_reset_each_binding_starts_anew_by_itself() {
    let mut run = run("forall x. G(open(x) -> X close(x))", After::Reset);
    let mut decided = Vec::new();
    for text in ["open(1) open(2)", "close(1) open(3)", "close(2)", "close(3)"] {
        let at = run.watch.step(&mut run.standing, &facts(text));
        decided.push(at.iter().map(|decided| decided.binding.clone()).collect::<Vec<_>>());
    }
    let of = |value: i64| Some(vec![Some(Value::Integer(value))]);
    assert_eq!(decided, [vec![], vec![of(2)], vec![of(3)], vec![]]);
}

#[test]
fn residuals_say_what_is_left() {
    for (formula, trace, residual) in [
        ("G(a -> F b)", "a", "F b & G(a -> F b)"),
        ("a U b", "a", "a U b"),
        ("F(a & X F b)", "a", "F b | F(a & X F b)"),
        ("a W b", "a", "a W b"),
        ("G(a -> Y b)", "b", "G(a -> Z b)"),
        (
            "forall x. G(open(x) -> F close(x))",
            "open(7)",
            "F close(7) & G(open(7) -> F close(7)) & forall x. G(open(x) -> F close(x))",
        ),
    ] {
        let mut run = run(formula, After::Latch);
        trace.split(' ').for_each(|step| {
            run.step(step);
        });
        assert_eq!(run.residual(), residual, "{formula}");
    }
}

#[test]
fn monitors_come_and_go_without_touching_the_others() {
    let mut run = run("G(a -> F b)", After::Latch);
    run.step("a");
    let g = run.arena.parse("G !c").unwrap();
    let late = run.watch.add(Monitor::new(&run.arena, g).unwrap(), After::Latch);
    assert_eq!(run.end(), Verdict::Violated);
    run.step("c");
    assert_eq!(run.watch.verdict(&mut run.standing, late), Verdict::Violated);
    run.watch.remove(late);
    assert_eq!(run.watch.verdict(&mut run.standing, late), Verdict::Inconclusive);
    run.step("b");
    assert_eq!(run.end(), Verdict::Satisfied);
}

#[test]
fn a_fork_goes_its_own_way() {
    let mut run = run("G(a -> X b)", After::Latch);
    run.step("a");
    let mut fork = run.standing.clone();
    run.step("");
    run.watch.step(&mut fork, &facts("b"));
    assert_eq!(run.watch.verdict(&mut run.standing, run.id), Verdict::Violated);
    assert_eq!(run.watch.verdict(&mut fork, run.id), Verdict::Inconclusive);
}

#[test]
fn a_snapshot_of_another_formula_is_refused() {
    let mut one = run("G(a -> F b)", After::Latch);
    let mut two = run("G(a -> F c)", After::Latch);
    one.step("a");
    let snapshot = one.watch.snapshot(&one.standing);
    let error = two.watch.restore(&snapshot).unwrap_err();
    assert_eq!(error.to_string(), "the snapshot is of another formula than `G(a -> F c)`");
    let text = serde_json::to_string(&snapshot).unwrap().replace("\"version\":2", "\"version\":9");
    let error = one.watch.restore(&serde_json::from_str(&text).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "the snapshot has version 9, this is version 2");
}

#[test]
fn what_no_event_touched_is_saved_in_few_words() {
    for formula in ["G(a -> F b)", "forall x. G(open(x) -> F close(x))"] {
        let mut run = run(formula, After::Latch);
        run.step("c");
        let untouched = serde_json::to_string(&run.watch.snapshot(&run.standing)).unwrap();
        assert!(untouched.ends_with(r#""seats":[]}"#), "{untouched}");
        run.standing = run.watch.restore(&serde_json::from_str(&untouched).unwrap()).unwrap();
        run.step("a open(1)");
        let touched = serde_json::to_string(&run.watch.snapshot(&run.standing)).unwrap();
        assert!(!touched.ends_with(r#""seats":[]}"#), "{touched}");
        run.standing = run.watch.restore(&serde_json::from_str(&touched).unwrap()).unwrap();
        assert_eq!(run.end(), Verdict::Violated);
    }
}

#[test]
fn observations_without_strings_mean_the_same() {
    let mut run = run("forall x. G(open(x) -> X close(x))", After::Latch);
    let (open, close) = (run.watch.name("open"), run.watch.name("close"));
    let mut observation = Observation::new();
    for (name, value, verdict) in [
        (open, 1, Verdict::Inconclusive),
        (close, 1, Verdict::Inconclusive),
        (open, 2, Verdict::Inconclusive),
        (close, 3, Verdict::Violated),
    ] {
        observation.clear();
        observation.push(name, &[Value::Integer(value)]);
        run.watch.observe(&mut run.standing, &observation);
        assert_eq!(run.watch.verdict(&mut run.standing, run.id), verdict);
    }
}

#[test]
fn many_observations_at_once_mean_the_same_as_one_after_the_other() {
    for formula in ["forall x. G(open(x) -> F[0,50] close(x))", "forall x. G(open(x) -> G !close(x))"] {
        many_at_once(formula);
    }
}

fn many_at_once(formula: &str) {
    let mut run = run(formula, After::Reset);
    let (open, close) = (run.watch.name("open"), run.watch.name("close"));
    let observation = |step: i64| {
        let mut observation = Observation::new();
        observation.push(if step % 3 == 2 { close } else { open }, &[Value::Integer(step * 7919 % 40)]);
        observation
    };
    let observations: Vec<Observation> = (0..500).map(observation).collect();
    let mut one_by_one = Vec::new();
    let mut standing = run.watch.start();
    for (place, observation) in observations.iter().enumerate() {
        one_by_one.extend(run.watch.observe(&mut standing, observation).iter().map(|decided| (place, decided.clone())));
    }
    let mut at_once = Vec::new();
    run.watch.observe_all(&mut run.standing, &observations, |place, decided| at_once.push((place, decided.clone())));
    assert!(!at_once.is_empty());
    assert_eq!(at_once, one_by_one);
    let mut by_name = Vec::new();
    let mut standing = run.watch.start();
    for (place, step) in (0..500i64).enumerate() {
        let name = if step % 3 == 2 { "close" } else { "open" };
        let known = vec![Fact::new(name, [Value::Integer(step * 7919 % 40)])];
        let facts = Facts { known, ..Facts::default() };
        by_name.extend(run.watch.step(&mut standing, &facts).iter().map(|decided| (place, decided.clone())));
    }
    assert_eq!(by_name, one_by_one);
}

fn witness(formula: &str, trace: &[&str], at_end: bool) -> (Witness, Check) {
    let mut arena = Arena::new();
    let f = arena.parse(formula).unwrap();
    let trace: Vec<Moment> = trace
        .iter()
        .map(|text| match text.strip_prefix("tick ") {
            Some(seconds) => Moment::Tick(Time::from_seconds(seconds.parse().unwrap())),
            None => Moment::Position(facts(text)),
        })
        .collect();
    let witness = Witness::find(&arena, f, &trace, at_end).unwrap();
    let checked = check(&arena, f, &trace, &witness);
    (witness, checked)
}

fn told(witness: &Witness) -> String {
    let step = |step: &lictor_logic::WitnessStep| {
        let present = step.present.iter().map(ToString::to_string);
        let absent = step.absent.iter().map(|atom| format!("!{atom}"));
        format!("{}:{}", step.position, present.chain(absent).collect::<Vec<_>>().join(","))
    };
    witness.steps.iter().map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn witnesses_name_the_few_positions_that_prove() {
    for (formula, trace, at_end, expected) in [
        ("G(a -> X b)", &["c", "a", "c", "b"][..], false, "2:a 3:!b"),
        ("G !(a & b)", &["a", "b", "a b", ""], false, "3:a,b"),
        ("forall s. G(e(s) -> G !d(s))", &["e(1)", "e(2)", "d(3)", "d(2)"], false, "2:e(2) 4:d(2)"),
        ("G(a -> O b)", &["c", "", "a"], false, "1:!b 2:!b 3:a,!b"),
        ("G(a -> F b)", &["b", "a", "", ""], true, "2:a,!b 3:!b 4:!b"),
        ("F a", &["", "a"], false, "2:a"),
        ("G(a -> F[0,5s] b)", &["a", "", "tick 9"], false, "1:a,!b 2:!b"),
    ] {
        let (witness, checked) = witness(formula, trace, at_end);
        assert_eq!(told(&witness), expected, "{formula}");
        assert_eq!(checked, Check::Proved, "{formula}");
    }
}

#[test]
fn a_witness_that_needs_all_futures_is_upheld_on_those_tried() {
    let (witness, checked) = witness("F a & G !a", &["", ""], false);
    assert!(witness.steps.is_empty());
    assert!(matches!(checked, Check::Upheld(tried) if tried > 10), "{checked:?}");
}

#[test]
fn a_false_witness_is_refused() {
    let mut arena = Arena::new();
    let f = arena.parse("G(a -> X b)").unwrap();
    let trace = [Moment::Position(facts("a")), Moment::Position(facts("")), Moment::Position(facts(""))];
    let mut witness = Witness::find(&arena, f, &trace, false).unwrap();
    witness.steps.pop();
    assert_eq!(check(&arena, f, &trace, &witness), Check::Refuted);
    witness.verdict = Verdict::Satisfied;
    assert_ne!(check(&arena, f, &trace, &witness), Check::Proved);
}

#[test]
fn what_cannot_be_decided_is_refused_with_a_hint() {
    for (formula, reason) in [
        ("O(a & F b)", "looks ahead"),
        ("F(pay & !exists x. (O asked(x) & O granted(x)))", "across several positions"),
        ("G(exists x. !p(x))", "no fact gives `x` a value"),
        ("O[300,400] a", "looks back at least 300"),
    ] {
        let mut arena = Arena::new();
        let f = arena.parse(formula).unwrap();
        let error = Monitor::new(&arena, f).unwrap_err();
        assert!(error.message().contains(reason), "{formula}: {error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn formulas_with_very_many_states_stay_within_the_limits() {
    // One bit for each of the last 40 positions: more states than anybody could keep.
    let mut run = run("G(a -> F[40,40] b)", After::Latch);
    let mut seed = 1u64;
    for _ in 0..21_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        assert_eq!(run.step(if seed >> 63 == 0 { "a b" } else { "b" }), Verdict::Inconclusive);
    }
    let usage = run.watch.usage(run.id).unwrap();
    assert!(usage.states <= lictor_logic::CacheLimits::DEFAULT.states, "{usage:?}");
    assert!(usage.uncached_steps > 0, "{usage:?}");
    for _ in 0..40 {
        run.step("a b");
    }
    assert_eq!(run.step("a"), Verdict::Violated);
}

/// Whoever writes a policy must not have to know which of two ways to say the same is the cheap one. A step by a transition
/// that is known costs the same in all formulas, so what counts is how many there are to be learnt.
#[test]
fn formulas_that_say_the_same_cost_the_same() {
    for (one, other) in [
        ("G(a -> F b)", "!F(a & G !b)"),
        ("G(a & b) & G c", "G a & (G b & G(c & true))"),
        ("F(a | b)", "F b | F a | F(a & b)"),
        ("G(a -> O b)", "G !(a & H !b)"),
        ("!a W b", "G !a | (!a U b)"),
        ("G(a -> X(b & c))", "G(a -> X b) & G(!a | X c)"),
        ("F a & F b & F c", "F(a & (true & F a)) & !(G !b | G !c)"),
        ("G(a -> (b S c))", "G(!a | c | (b & Y(b S c)))"),
        ("a U (b U c)", "(a U (b U c)) | c"),
        ("G(a -> F[0,5s] b)", "!F(a & G[0,5s] !b)"),
        ("forall x. G(p(x) -> F q(x))", "!exists x. F(p(x) & G !q(x))"),
        ("G forall x. (p(x) -> O q(x))", "!F exists x. (p(x) & H !q(x))"),
    ] {
        let (mut first, mut second) = (run(one, After::Latch), run(other, After::Latch));
        let mut random = 1u32;
        for step in 0..6000 {
            // Many traces: a formula that is decided learns nothing more.
            if step % 12 == 0 {
                first.standing = first.watch.start();
                second.standing = second.watch.start();
            }
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let known = ["a", "b", "c", "p(1)", "q(1)", "p(2)", "q(2)"];
            let held = known.into_iter().enumerate().filter(|(place, _)| (random >> (8 + 2 * place)) & 3 == 0);
            let text: Vec<&str> = held.map(|(_, fact)| fact).collect();
            assert_eq!(first.step(&text.join(" ")), second.step(&text.join(" ")), "{one} / {other}, step {step}");
        }
        let [one_use, other_use] = [&first, &second].map(|run| run.watch.usage(run.id).unwrap());
        for (one_count, other_count, what) in
            [(one_use.states, other_use.states, "states"), (one_use.transitions, other_use.transitions, "transitions")]
        {
            let is_fair = one_count <= 2 * other_count && other_count <= 2 * one_count;
            assert!(is_fair, "{one} / {other}: {one_count} and {other_count} {what}");
        }
        assert_eq!((one_use.uncached_steps, other_use.uncached_steps), (0, 0), "{one} / {other}");
    }
}
