//! Verdicts, residuals, snapshots, observations and witnesses, beyond the conformance cases.

use lictor_logic::{
    After, Arena, CacheLimits, Check, Fact, Facts, Moment, Monitor, MonitorId, MonitorSet, Observation, Prover, Time,
    TraceState, Value, Verdict, Witness, WitnessBasis, WitnessBudget, check,
};

/// One formula on one trace.
struct SingleRun {
    arena: Arena,
    monitors: MonitorSet,
    trace_state: TraceState,
    id: MonitorId,
}

fn run(formula: &str, after: After) -> SingleRun {
    let mut arena = Arena::new();
    let f = arena.parse(formula).unwrap();
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::with_after(&arena, f, after).unwrap());
    let trace_state = monitors.start();
    SingleRun { arena, monitors, trace_state, id }
}

fn facts(text: &str) -> Facts {
    Facts::parse(text).unwrap()
}

impl SingleRun {
    fn step(&mut self, text: &str) -> Verdict {
        self.monitors.step(&mut self.trace_state, &facts(text));
        self.monitors.verdict(&mut self.trace_state, self.id)
    }

    fn residual(&mut self) -> String {
        self.monitors.residual(&mut self.trace_state, self.id).unwrap().to_string()
    }

    fn end(&mut self) -> Verdict {
        self.monitors.end(&mut self.trace_state, self.id)
    }
}

#[test]
fn contradictions_and_tautologies_are_decided_at_once() {
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
fn residual_size_is_bounded_on_long_traces() {
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
    assert!(run.monitors.usage(run.id).unwrap().states < 20);
}

#[test]
fn end_verdict_follows_finite_trace_semantics() {
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
fn deadline_expires_by_tick_alone() {
    let mut run = run("G forall c. (call(c) -> F[0,30s] verified(c))", After::Latch);
    run.monitors.step(&mut run.trace_state, &facts("call(1)").with_time(Time::from_seconds(100)));
    run.monitors.step(&mut run.trace_state, &facts("call(2)").with_time(Time::from_seconds(110)));
    run.monitors.step(&mut run.trace_state, &facts("verified(1)").with_time(Time::from_seconds(120)));
    assert_eq!(run.monitors.deadline(&run.trace_state), Some(Time::from_seconds(130)));
    assert!(run.monitors.tick(&mut run.trace_state, Time::from_seconds(139)).is_empty());
    let decided = run.monitors.tick(&mut run.trace_state, Time::from_seconds(140));
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].verdict, Verdict::Violated);
    assert_eq!(decided[0].binding, Some(vec![Some(Value::Integer(2))]));
    assert_eq!(run.monitors.verdict(&mut run.trace_state, run.id), Verdict::Violated);
}

#[test]
fn reset_counts_verdicts_and_consumes_deciding_position() {
    let mut run = run("G(a -> X b)", After::Reset);
    for text in ["a", "", "a", "a", "b", "a b", ""] {
        run.step(text);
    }
    // Violated at 2; the a at 3 is not answered at 4, whose own a is consumed with it; the a at 6 not at 7.
    assert_eq!(run.monitors.counts(&run.trace_state, run.id).violated, 3);
    assert_eq!(run.monitors.counts(&run.trace_state, run.id).decided_at, Some(7));
}

#[test]
fn reset_restarts_each_binding_separately() {
    let mut run = run("forall x. G(open(x) -> X close(x))", After::Reset);
    let mut decided = Vec::new();
    for text in ["open(1) open(2)", "close(1) open(3)", "close(2)", "close(3)"] {
        let at = run.monitors.step(&mut run.trace_state, &facts(text));
        decided.push(at.iter().map(|decided| decided.binding.clone()).collect::<Vec<_>>());
    }
    let of = |value: i64| Some(vec![Some(Value::Integer(value))]);
    assert_eq!(decided, [vec![], vec![of(2)], vec![of(3)], vec![]]);
}

#[test]
fn residual_shows_remaining_obligations() {
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
fn monitors_can_be_added_and_removed() {
    let mut run = run("G(a -> F b)", After::Latch);
    run.step("a");
    let g = run.arena.parse("G !c").unwrap();
    let late = run.monitors.add(Monitor::new(&run.arena, g).unwrap());
    assert_eq!(run.end(), Verdict::Violated);
    run.step("c");
    assert_eq!(run.monitors.verdict(&mut run.trace_state, late), Verdict::Violated);
    run.monitors.remove(late);
    assert_eq!(run.monitors.verdict(&mut run.trace_state, late), Verdict::Inconclusive);
    run.step("b");
    assert_eq!(run.end(), Verdict::Satisfied);
}

#[test]
fn cloned_trace_state_is_independent() {
    let mut run = run("G(a -> X b)", After::Latch);
    run.step("a");
    let mut fork = run.trace_state.clone();
    run.step("");
    run.monitors.step(&mut fork, &facts("b"));
    assert_eq!(run.monitors.verdict(&mut run.trace_state, run.id), Verdict::Violated);
    assert_eq!(run.monitors.verdict(&mut fork, run.id), Verdict::Inconclusive);
}

#[test]
fn snapshot_of_other_formula_or_version_is_refused() {
    let mut one = run("G(a -> F b)", After::Latch);
    let mut two = run("G(a -> F c)", After::Latch);
    one.step("a");
    let snapshot = one.monitors.snapshot(&one.trace_state);
    let error = two.monitors.restore(&snapshot).unwrap_err();
    assert!(error.to_string().starts_with("snapshot has another formula in place of `G(a -> F c)`;"), "{error}");
    let text = serde_json::to_string(&snapshot).unwrap().replace("\"version\":2", "\"version\":9");
    let error = one.monitors.restore(&serde_json::from_str(&text).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "unsupported snapshot version 9; only version 2 can be read");
}

#[test]
fn snapshot_omits_untouched_formulas() {
    for formula in ["G(a -> F b)", "forall x. G(open(x) -> F close(x))"] {
        let mut run = run(formula, After::Latch);
        run.step("c");
        let untouched = serde_json::to_string(&run.monitors.snapshot(&run.trace_state)).unwrap();
        assert!(untouched.ends_with(r#""seats":[]}"#), "{untouched}");
        run.trace_state = run.monitors.restore(&serde_json::from_str(&untouched).unwrap()).unwrap();
        run.step("a open(1)");
        let touched = serde_json::to_string(&run.monitors.snapshot(&run.trace_state)).unwrap();
        assert!(!touched.ends_with(r#""seats":[]}"#), "{touched}");
        run.trace_state = run.monitors.restore(&serde_json::from_str(&touched).unwrap()).unwrap();
        assert_eq!(run.end(), Verdict::Violated);
    }
}

#[test]
fn observations_by_number_match_facts() {
    let mut run = run("forall x. G(open(x) -> X close(x))", After::Latch);
    let (open, close) = (run.monitors.name("open"), run.monitors.name("close"));
    let mut observation = Observation::new();
    for (name, value, verdict) in [
        (open, 1, Verdict::Inconclusive),
        (close, 1, Verdict::Inconclusive),
        (open, 2, Verdict::Inconclusive),
        (close, 3, Verdict::Violated),
    ] {
        observation.clear();
        observation.push(name, &[Value::Integer(value)]);
        run.monitors.observe(&mut run.trace_state, &observation);
        assert_eq!(run.monitors.verdict(&mut run.trace_state, run.id), verdict);
    }
}

#[test]
fn observe_all_matches_single_observations() {
    for formula in ["forall x. G(open(x) -> F[0,50] close(x))", "forall x. G(open(x) -> G !close(x))"] {
        compare_observe_all(formula);
    }
}

fn compare_observe_all(formula: &str) {
    let mut run = run(formula, After::Reset);
    let (open, close) = (run.monitors.name("open"), run.monitors.name("close"));
    let observation = |step: i64| {
        let mut observation = Observation::new();
        observation.push(if step % 3 == 2 { close } else { open }, &[Value::Integer(step * 7919 % 40)]);
        observation
    };
    let observations: Vec<Observation> = (0..500).map(observation).collect();
    let mut one_by_one = Vec::new();
    let mut trace_state = run.monitors.start();
    for (place, observation) in observations.iter().enumerate() {
        one_by_one
            .extend(run.monitors.observe(&mut trace_state, observation).iter().map(|decided| (place, decided.clone())));
    }
    let mut at_once = Vec::new();
    run.monitors
        .observe_all(&mut run.trace_state, &observations, |place, decided| at_once.push((place, decided.clone())));
    assert!(!at_once.is_empty());
    assert_eq!(at_once, one_by_one);
    let mut by_name = Vec::new();
    let mut trace_state = run.monitors.start();
    for (place, step) in (0..500i64).enumerate() {
        let name = if step % 3 == 2 { "close" } else { "open" };
        let known = vec![Fact::new(name, [Value::Integer(step * 7919 % 40)])];
        let facts = Facts { known, ..Facts::default() };
        by_name.extend(run.monitors.step(&mut trace_state, &facts).iter().map(|decided| (place, decided.clone())));
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

fn describe(witness: &Witness) -> String {
    let step = |step: &lictor_logic::WitnessStep| {
        let present = step.present.iter().map(ToString::to_string);
        let absent = step.absent.iter().map(|atom| format!("!{atom}"));
        format!("{}:{}", step.position, present.chain(absent).collect::<Vec<_>>().join(","))
    };
    witness.steps.iter().map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn witness_names_only_deciding_positions() {
    for (formula, trace, at_end, expected) in [
        ("G(a -> X b)", &["c", "a", "c", "b"][..], false, "2:a 3:!b"),
        ("G !(a & b)", &["a", "b", "a b", ""], false, "3:a,b"),
        ("forall s. G(e(s) -> G !d(s))", &["e(1)", "e(2)", "d(3)", "d(2)"], false, "2:e(2) 4:d(2)"),
        ("G(a -> O b)", &["c", "", "a"], false, "1:!b 2:!b 3:a,!b"),
        ("G(a -> F b)", &["b", "a", "", ""], true, "2:a,!b 3:!b 4:!b"),
        ("F a", &["", "a"], false, "2:a"),
        ("G(a -> F[0,5s] b)", &["@1s a", "", "tick 9"], false, "1:a,!b 2:!b"),
    ] {
        let (witness, checked) = witness(formula, trace, at_end);
        assert_eq!(describe(&witness), expected, "{formula}");
        assert_eq!(checked, Check::Proved, "{formula}");
    }
}

#[test]
fn witness_needing_all_futures_is_upheld() {
    let (witness, checked) = witness("F a & G !a", &["", ""], false);
    assert!(witness.steps.is_empty());
    assert!(matches!(checked, Check::Upheld(tried) if tried > 10), "{checked:?}");
}

/// `F(n0 & X F((n1 & X F …) | (n2 & X F …)))`: paths of facts that branch in two and all end with `f`.
fn tree(node: usize, levels: usize) -> String {
    let rest = match levels {
        0 => "f".into(),
        _ => format!("({} | {})", tree(2 * node + 1, levels - 1), tree(2 * node + 2, levels - 1)),
    };
    format!("(n{node} & X F {rest})")
}

#[test]
fn witness_of_tree_formula_names_its_path() {
    let formula = format!("F {}", tree(0, 4));
    let path = ["n0", "n1", "n3", "n7", "n15", "f"];
    let trace: Vec<&str> = path.iter().flat_map(|fact| std::iter::repeat_n("", 300).chain([*fact])).collect();
    let (found, _) = witness(&formula, &trace, false);
    assert_eq!(describe(&found), "301:n0 602:n1 903:n3 1204:n7 1505:n15 1806:f");
    let (found, _) = witness(&formula, &trace[..trace.len() - 1], true);
    assert!(found.steps.iter().all(|step| step.present.is_empty()), "only absent facts violate it");
}

#[test]
fn exhausted_witness_budget_gives_changes() {
    let mut arena = Arena::new();
    let f = arena.parse("G(a -> (!c U b)) & G(d -> O a)").unwrap();
    let texts = ["", "d a", "", "b", "", "a", "", "c"];
    let trace: Vec<Moment> = texts.iter().map(|text| Moment::Position(facts(text))).collect();
    let mut prover = Prover::new(&arena, f).unwrap();
    let proof = prover.find(&trace, false, &[]).unwrap();
    assert_eq!((proof.basis, describe(&proof).as_str()), (WitnessBasis::Proof, "6:a,!b 7:!b 8:c,!b"));
    let mut budget = WitnessBudget::new(100);
    let found = prover.find_within(&trace, false, &[], &mut budget).unwrap();
    assert!(budget.is_exhausted());
    assert_eq!((found.basis, found.verdict), (WitnessBasis::Changes, Verdict::Violated));
    let positions: Vec<usize> = found.steps.iter().map(|step| step.position).collect();
    assert_eq!(positions, [2, 4, 6, 8], "where the residual changed");
}

/// The first search learns the states; later ones cost no more for each position than the first.
#[test]
fn witness_work_grows_with_positions_only() {
    let mut arena = Arena::new();
    let f = arena.parse("G(a -> O b)").unwrap();
    let work = |length: usize| {
        let trace = vec![Moment::Position(facts("a")); length];
        let mut budget = WitnessBudget::new(1_000_000_000);
        Prover::with_after(&arena, f, After::Each).unwrap().find_within(&trace, false, &[], &mut budget).unwrap();
        (1_000_000_000 - budget.left()) / length as u64
    };
    assert!(work(1600) < 16 * work(100), "{} steps a position, {}", work(100), work(1600));
}

#[test]
fn equivalence_chains_are_decided() {
    let names: Vec<String> = (0..16).map(|number| format!("p{number}")).collect();
    for (count, operator) in [(8, ""), (16, ""), (8, "X "), (16, "X "), (16, "F "), (12, "O ")] {
        let parts: Vec<String> = names[..count].iter().map(|name| format!("{operator}{name}")).collect();
        for held in [&["p0", "p3"][..], &["p0", "p3", "p5"]] {
            let mut run = run(&parts.join(" <-> "), After::Latch);
            run.step("");
            run.step(&held.join(" "));
            // A chain of equivalences holds if an even number of its parts do not.
            let truths = if operator.is_empty() { 0 } else { held.len() };
            let expected = Verdict::from_truth(Some((count - truths) % 2 == 0));
            let found = run.monitors.end(&mut run.trace_state, run.id);
            let at = if operator == "O " { Verdict::Satisfied } else { expected };
            assert_eq!(found, at, "{count} of {operator}, {held:?}");
        }
    }
}

#[test]
fn false_witness_is_refuted() {
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
fn undecidable_formulas_are_refused_with_a_hint() {
    for (formula, reason) in [
        ("O(a & F b)", "looks ahead"),
        ("F(pay & !exists x. (O asked(x) & O granted(x)))", "across several positions"),
        ("G(exists x. !p(x))", "before a fact binds it"),
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
fn cache_limits_hold_for_many_states() {
    // One bit for each of the last 40 positions: more states than a cache can keep.
    let mut arena = Arena::new();
    let f = arena.parse("G(a -> F[40,40] b)").unwrap();
    let mut limits = CacheLimits::DEFAULT;
    limits.states = 2_000;
    let mut monitors = MonitorSet::with_limits(limits);
    let id = monitors.add(Monitor::new(&arena, f).unwrap());
    let trace_state = monitors.start();
    let mut run = SingleRun { arena, monitors, trace_state, id };
    let mut seed = 1u64;
    for _ in 0..2_500 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        assert_eq!(run.step(if seed >> 63 == 0 { "a b" } else { "b" }), Verdict::Inconclusive);
    }
    let usage = run.monitors.usage(run.id).unwrap();
    assert!(usage.states <= limits.states, "{usage:?}");
    assert!(usage.uncached_steps > 0, "{usage:?}");
    for _ in 0..40 {
        run.step("a b");
    }
    assert_eq!(run.step("a"), Verdict::Violated);
}

/// Two equivalent formulas must not differ much in cost. A known transition costs the same in all formulas, so the test
/// compares how many states and transitions each formula learns.
#[test]
fn equivalent_formulas_have_similar_cost() {
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
                first.trace_state = first.monitors.start();
                second.trace_state = second.monitors.start();
            }
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let known = ["a", "b", "c", "p(1)", "q(1)", "p(2)", "q(2)"];
            let held = known.into_iter().enumerate().filter(|(place, _)| (random >> (8 + 2 * place)) & 3 == 0);
            let text: Vec<&str> = held.map(|(_, fact)| fact).collect();
            assert_eq!(first.step(&text.join(" ")), second.step(&text.join(" ")), "{one} / {other}, step {step}");
        }
        let [one_use, other_use] = [&first, &second].map(|run| run.monitors.usage(run.id).unwrap());
        for (one_count, other_count, what) in
            [(one_use.states, other_use.states, "states"), (one_use.transitions, other_use.transitions, "transitions")]
        {
            let is_fair = one_count <= 2 * other_count && other_count <= 2 * one_count;
            assert!(is_fair, "{one} / {other}: {one_count} and {other_count} {what}");
        }
        assert_eq!((one_use.uncached_steps, other_use.uncached_steps), (0, 0), "{one} / {other}");
    }
}
