//! Aggregates and values that meet across positions, in realistic formulas.

use lictor_logic::{
    After, Arena, Atom, CacheLimits, Facts, Moment, Monitor, MonitorSet, Prover, Spelling, Time, Verdict,
};

/// Positions as a second and its facts.
fn trace(lines: &[(i64, &str)]) -> Vec<Facts> {
    let position = |(seconds, facts): &(i64, &str)| Facts {
        time: Some(Time(seconds * 1_000_000_000)),
        ..Facts::parse(facts).unwrap()
    };
    lines.iter().map(position).collect()
}

/// The positions, from one, at which a formula is violated, with the values.
fn find_violations(text: &str, trace: &[Facts]) -> Vec<(usize, String)> {
    let mut arena = Arena::new();
    let formula = arena.parse(text).unwrap();
    let monitor = Monitor::with_after(&arena, formula, After::Each).unwrap_or_else(|error| panic!("{error}"));
    let mut monitors = MonitorSet::new();
    monitors.add(monitor);
    let mut trace_state = monitors.start();
    let mut found = Vec::new();
    for (position, facts) in trace.iter().enumerate() {
        for decided in monitors.step(&mut trace_state, facts) {
            assert_eq!(decided.verdict, Verdict::Violated);
            let values = decided.binding.iter().flatten().flatten().map(ToString::to_string);
            found.push((position + 1, values.collect::<Vec<_>>().join(",")));
        }
    }
    found
}

fn refusal_text(text: &str) -> String {
    let mut arena = Arena::new();
    let formula = arena.parse(text).unwrap();
    Monitor::new(&arena, formula).unwrap_err().to_string()
}

const HOUR: i64 = 3600;

#[test]
fn sum_limits_payments_within_a_day() {
    let payments = trace(&[
        (0, "pays(eve,6000)"),
        (HOUR, "pays(bob,6000)"),
        (2 * HOUR, "pays(eve,4000)"),
        (3 * HOUR, "pays(eve,0.01)"),
        (25 * HOUR, "pays(eve,5000)"),
    ]);
    let text = "always forall p. (pays(p,_) -> sum[0,24h](a: pays(p,a)) <= 10000)";
    assert_eq!(find_violations(text, &payments), [(4, "\"eve\"".to_owned())]);
}

#[test]
fn exists_finds_two_distinct_approvers() {
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
    let values: Vec<(usize, String)> = find_violations(text, &events);
    let expected = [(4, "\"c2\",\"dan\""), (5, "\"c3\",\"dan\""), (6, "\"c1\",\"dan\"")];
    assert_eq!(values, expected.map(|(position, values)| (position, values.to_owned())));
}

#[test]
fn count_blocks_tool_after_three_failures() {
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
    assert_eq!(find_violations(text, &events), [(7, "\"a\"".to_owned())]);
}

#[test]
fn latest_uses_the_last_value() {
    let text = "always forall k. (acts(k) -> latest(s: status(k,s)) = \"open\")";
    let events = trace(&[
        (0, "status(k,open) acts(k)"),
        (1, "status(k,closed) status(j,open)"),
        (2, "acts(k) acts(j)"),
        (3, "status(k,open)"),
        (4, "acts(k) acts(i)"),
    ]);
    let expected = [(3, "\"k\""), (5, "\"i\"")];
    assert_eq!(find_violations(text, &events), expected.map(|(position, values)| (position, values.to_owned())));
}

#[test]
fn arithmetic_compares_with_the_average() {
    let text = "always forall p, a. (pays(p,a) -> a <= 3 * avg[0,30d](b: pays(p,b)) + 1)";
    let events = trace(&[(0, "pays(p,10)"), (1, "pays(p,12)"), (2, "pays(p,8)"), (3, "pays(p,900)")]);
    assert_eq!(find_violations(text, &events), [(4, "\"p\",900".to_owned())]);
}

#[test]
fn sum_of_non_number_is_unknown() {
    let mut arena = Arena::new();
    let formula = arena.parse("always sum(a: pays(a)) <= 10").unwrap();
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::new(&arena, formula).unwrap());
    let mut trace_state = monitors.start();
    for facts in trace(&[(0, "pays(5)"), (1, "pays(\"1e9\")"), (2, "pays(100)")]) {
        monitors.step(&mut trace_state, &facts);
    }
    // Neither satisfied nor violated: the sum is unknown.
    assert_eq!(monitors.end(&mut trace_state, id), Verdict::Inconclusive);
}

#[test]
fn unknown_fact_leaves_data_formula_inconclusive() {
    let mut arena = Arena::new();
    let formula = arena.parse("always forall c. (pays(c) -> exists a. once approves(c,a))").unwrap();
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::new(&arena, formula).unwrap());
    let mut trace_state = monitors.start();
    let unknown = vec![Atom::parse("approves(c1,_)").unwrap()];
    monitors.step(&mut trace_state, &Facts { time: None, known: Vec::new(), unknown });
    monitors.step(&mut trace_state, &Facts::parse("pays(c1)").unwrap());
    assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Inconclusive);
}

#[test]
fn unknown_value_affects_only_its_group() {
    let mut arena = Arena::new();
    let formula = arena.parse("always forall p. (pays(p) -> sum[0,24h](a: pays(p,a)) <= 10)").unwrap();
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::new(&arena, formula).unwrap());
    let mut trace_state = monitors.start();
    let unknown = vec![Atom::parse("pays(a,_)").unwrap()];
    monitors.step(&mut trace_state, &Facts { unknown, ..trace(&[(0, "pays(b,1)")]).remove(0) });
    assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Inconclusive);
    monitors.step(&mut trace_state, &trace(&[(1, "pays(a,50)")])[0]);
    assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Inconclusive);
    monitors.step(&mut trace_state, &trace(&[(2, "pays(b,99)")])[0]);
    assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Violated);
}

#[test]
fn unbound_variable_is_named_in_the_error() {
    let text = refusal_text("always forall p, x. (pays(p) -> exists a. (once approves(p,a) & a != x))");
    assert!(text.contains("`x`") && text.contains("bind it with a positive fact"), "{text}");
    let text = refusal_text("always forall p. (pays(p) -> count(a: !approves(p,a)) < 3)");
    assert!(text.contains("`a`") || text.contains("`p`"), "{text}");
    let text = refusal_text("always (r -> sum(a: eventually pays(a)) < 3)");
    assert!(text.contains("the past and the present"), "{text}");
    let text = refusal_text("eventually count(r) > 3");
    assert!(text.contains("always"), "{text}");
}

#[test]
fn sum_witness_lists_the_added_payments() {
    let mut arena = Arena::new();
    let formula = arena.parse("always forall p. (pays(p,_) -> sum[0,24h](a: pays(p,a)) <= 10000)").unwrap();
    let events =
        trace(&[(0, "pays(eve,6000)"), (1, "pays(bob,9000)"), (2, "other"), (3, "pays(eve,4000)"), (4, "pays(eve,1)")]);
    let moments: Vec<Moment> = events.into_iter().map(Moment::Position).collect();
    let mut prover = Prover::with_after(&arena, formula, After::Each).unwrap();
    let witness = prover.find(&moments, false, &[("p".into(), lictor_logic::Value::text("eve"))]).unwrap();
    // That nothing else was paid to eve matters as well: it could have been a refund.
    let paid = witness.steps.iter().filter(|step| !step.present.is_empty());
    assert_eq!(paid.map(|step| step.position).collect::<Vec<_>>(), [1, 4, 5]);
    assert!(witness.steps.iter().all(|step| step.present.is_empty() || step.absent.is_empty()));
    assert_eq!(witness.steps[0].present[0].to_string(), "pays(\"eve\",6000)");
}

#[test]
fn aggregate_display_parses_back() {
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
fn row_limit_makes_later_positions_unknown() {
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
    let mut reported = Vec::new();
    for rows in [6, 100] {
        let mut limits = CacheLimits::DEFAULT;
        limits.rows = rows;
        let mut monitors = MonitorSet::with_limits(limits);
        let id = monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
        let mut trace_state = monitors.start();
        reported.push(lines.iter().map(|facts| monitors.step(&mut trace_state, facts).len()).collect::<Vec<_>>());
        assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Inconclusive);
    }
    assert_eq!(reported, [[1, 0, 0, 0, 0], [1, 0, 0, 1, 1]]);
}
