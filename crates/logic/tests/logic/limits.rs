//! Limits on the work of a position and of a search: formulas with lower bounds in time end, hostile ones become
//! unknown, and neither depends on what a cache holds.

use lictor_logic::{
    After, Analysis, Arena, CacheLimits, Conclusion, Facts, Moment, Monitor, MonitorId, MonitorSet, Prover, Time,
    TraceState, Verdict, WitnessBasis, WitnessBudget,
};

use crate::support::random::Random;

/// Formulas with a lower bound above 0 below an `always`, with a shortest trace that violates each for good.
const LOWER_BOUNDS: [(&str, &str); 9] = [
    ("always (a implies once[1h,2h] p)", "{a}"),
    ("always (a implies once[1h,inf] p)", "{a}"),
    ("always (a implies historically[1h,2h] p)", "{} ; {a}"),
    ("always (a implies (q since[1h,2h] p))", "{a}"),
    ("always (a implies eventually[1h,2h] p)", "{a} ; {}"),
    ("always (a implies eventually[1s,2s] p)", "{a} ; {}"),
    ("always (a implies always[1h,2h] p)", "{a} ; {}"),
    ("always (a implies (q until[1h,2h] p))", "{a}"),
    ("always (a implies not once[1h,2h] p)", "{p} ; {a}"),
];

/// One formula, and the traces that it is judged on.
struct Judged {
    monitors: MonitorSet,
    id: MonitorId,
}

fn judge(formula: &str, after: After, limits: CacheLimits) -> Judged {
    let mut arena = Arena::new();
    let f = arena.parse(formula).unwrap();
    let mut monitors = MonitorSet::with_limits(limits);
    let id = monitors.add(Monitor::with_after(&arena, f, after).unwrap());
    Judged { monitors, id }
}

impl Judged {
    /// Reads positions and returns the first one at which a limit was exceeded.
    fn read(&mut self, trace_state: &mut TraceState, positions: &[Facts]) -> Option<usize> {
        positions.iter().position(|facts| {
            self.monitors.step(trace_state, facts);
            self.monitors.is_full(trace_state, self.id)
        })
    }
}

fn at(seconds: usize, text: &str) -> Facts {
    Facts { time: Some(Time::from_seconds(seconds as i64)), ..Facts::parse(text).unwrap() }
}

/// Positions with lists of values that no other position has.
fn value_lists(positions: usize, values: usize) -> Vec<Facts> {
    let facts = |position: usize| {
        let numbers = position * values..(position + 1) * values;
        let texts: Vec<String> = numbers.map(|number| format!("arg({number}) val({number}) cal({number})")).collect();
        at(position, &texts.join(" "))
    };
    (0..positions).map(facts).collect()
}

#[test]
fn analysis_of_lower_bound_finds_shortest_traces() {
    for (formula, violating) in LOWER_BOUNDS {
        let mut arena = Arena::new();
        let f = arena.parse(formula).unwrap();
        let mut analysis = Analysis::new(&arena, f).unwrap();
        let found = analysis.shortest_definite(Verdict::Violated).unwrap();
        let found: Vec<String> = found.into_iter().map(|facts| Facts { time: None, ..facts }.to_string()).collect();
        assert_eq!(found.join(" ; "), violating, "{formula}");
        assert!(analysis.shortest(Verdict::Satisfied).is_some(), "{formula}");
        assert!(analysis.class().satisfiable && !analysis.class().valid, "{formula}");
    }
}

#[test]
fn remembered_moments_with_lower_bound_stay_few() {
    for (formula, most) in [
        ("always (a implies once[1h,2h] p)", 6),
        ("always (a implies once[1h,inf] p)", 2),
        ("always (a implies historically[1h,2h] p)", 6),
        ("always (a implies (q since[10s,12s] p))", 16),
    ] {
        let mut judged = judge(formula, After::Each, CacheLimits::DEFAULT);
        let mut trace_state = judged.monitors.start();
        let positions: Vec<Facts> = (0..5000).map(|step| at(step, if step % 7 == 0 { "q" } else { "p q" })).collect();
        assert_eq!(judged.read(&mut trace_state, &positions), None);
        let residual = judged.monitors.residual(&mut trace_state, judged.id).unwrap().to_string();
        let bounds = residual.matches('[').count();
        assert!(bounds <= most + 1, "{formula}: {residual}");
    }
}

#[test]
fn wide_bounds_in_steps_are_decided() {
    let formula = "always (a implies F[0,1000] ok & F[500,1500] done)";
    let mut judged = judge(formula, After::Latch, CacheLimits::DEFAULT);
    let mut trace_state = judged.monitors.start();
    let positions: Vec<Facts> = (0..200).map(|step| at(step, if step % 3 == 0 { "a ok" } else { "a" })).collect();
    assert_eq!(judged.read(&mut trace_state, &positions), None);
    assert_eq!(judged.monitors.verdict(&mut trace_state, judged.id), Verdict::Inconclusive);
    let quiet: Vec<Facts> = (200..1700).map(|step| at(step, "ok")).collect();
    assert_eq!(judged.read(&mut trace_state, &quiet), None);
    assert_eq!(judged.monitors.verdict(&mut trace_state, judged.id), Verdict::Violated, "`done` is 1500 steps late");
}

/// Formulas whose state or query grows with every position, on the facts of `value_lists`.
const GROWING: [(&str, After); 3] = [
    ("forall x, y. always ((arg(x) & val(y) & x != y) implies eventually done(x,y))", After::Latch),
    ("always forall x, y, z. ((once arg(x) & once val(y) & once cal(z)) implies not x > y + z)", After::Each),
    ("always forall x, y. ((once arg(x) & once val(y)) implies not x > y + 100000)", After::Each),
];

#[test]
fn growing_formula_becomes_unknown_at_one_position() {
    let positions = value_lists(12, 30);
    let mut limits = CacheLimits::DEFAULT;
    limits.work = 200_000;
    for (formula, after) in GROWING {
        let mut judged = judge(formula, after, limits);
        let mut trace_state = judged.monitors.start();
        let expected = judged.read(&mut trace_state, &positions);
        assert!(expected.is_some_and(|position| position > 0), "{formula}: {expected:?}");
        assert_eq!(judged.monitors.verdict(&mut trace_state, judged.id), Verdict::Inconclusive, "{formula}");
        assert!(judged.monitors.step(&mut trace_state, &at(100, "arg(1) val(2)")).is_empty(), "{formula}");

        // A cache that has read it before, and one that was cleared.
        let mut again = judged.monitors.start();
        assert_eq!(judged.read(&mut again, &positions), expected, "{formula}");
        judged.monitors.clear();
        let mut again = judged.monitors.start();
        assert_eq!(judged.read(&mut again, &positions), expected, "{formula}");

        // A restart before each position.
        let mut other = judge(formula, after, limits);
        let mut trace_state = other.monitors.start();
        let stopped = positions.iter().position(|facts| {
            let saved = other.monitors.snapshot(&trace_state);
            other = judge(formula, after, limits);
            trace_state = other.monitors.restore(&saved).unwrap();
            other.monitors.step(&mut trace_state, facts);
            other.monitors.is_full(&trace_state, other.id)
        });
        assert_eq!(stopped, expected, "{formula}");
        let saved = other.monitors.snapshot(&trace_state);
        let mut restarted = judge(formula, after, limits);
        let trace_state = restarted.monitors.restore(&saved).unwrap();
        assert!(restarted.monitors.is_full(&trace_state, restarted.id), "{formula}: it stays unknown");
    }
}

#[test]
fn residual_over_work_limit_becomes_unknown() {
    let formula = "always (a implies eventually[500,1500] done)";
    let mut limits = CacheLimits::DEFAULT;
    limits.work = 400;
    let mut judged = judge(formula, After::Latch, limits);
    let positions: Vec<Facts> = (0..300).map(|step| at(step, "a")).collect();
    let mut trace_state = judged.monitors.start();
    let expected = judged.read(&mut trace_state, &positions);
    assert!(expected.is_some_and(|position| position > 10), "{expected:?}");
    assert!(judged.monitors.has_stopped(&trace_state));
    let residual = judged.monitors.residual(&mut trace_state, judged.id).unwrap();
    assert!(!residual.is_whole(), "{residual}");
    let mut again = judged.monitors.start();
    assert_eq!(judged.read(&mut again, &positions), expected);
    let saved = judged.monitors.snapshot(&again);
    let mut other = judge(formula, After::Latch, limits);
    let restored = other.monitors.restore(&saved).unwrap();
    assert!(other.monitors.is_full(&restored, other.id) && other.monitors.has_stopped(&restored));
}

/// A witness depends on the trace and the budget alone, not on the witnesses that were found before.
#[test]
fn witness_ignores_what_the_cache_holds() {
    let describe = |prover: &mut Prover, trace: &[Moment], steps: u64| {
        let mut budget = WitnessBudget::new(steps);
        let witness = prover.find_within(trace, false, &[], &mut budget).unwrap();
        (witness.basis, witness.steps.iter().map(|step| step.position).collect::<Vec<_>>(), budget.left())
    };
    let trace = |from: usize, length: usize| -> Vec<Moment> {
        let fact = |step: usize| if step + 1 == length { "a" } else { ["p", "", "q", "p q"][(step + from) % 4] };
        (0..length).map(|step| Moment::Position(at(60 * step, fact(step)))).collect()
    };
    for formula in [
        "always (a implies once[1h,2h] p)",
        "always (a implies (q since[1m,2m] p))",
        "always (a implies once p & once (p & a))",
    ] {
        let mut arena = Arena::new();
        let f = arena.parse(formula).unwrap();
        let fresh = || Prover::with_after(&arena, f, After::Each).unwrap();
        let mut used = fresh();
        let mut bases = Vec::new();
        for steps in [2_000, 20_000, 200_000, 20_000_000] {
            for length in [10, 30, 50] {
                let expected = describe(&mut fresh(), &trace(length, length), steps);
                assert_eq!(
                    describe(&mut used, &trace(length, length), steps),
                    expected,
                    "{formula}, {steps}, {length}"
                );
                bases.push(expected.0);
            }
        }
        assert!(bases.contains(&WitnessBasis::Proof) && bases.contains(&WitnessBasis::Changes), "{formula}: {bases:?}");
    }
}

/// Writes random formulas of some depth, half of their bounds with a lower end above 0.
struct Writer {
    random: Random,
    has_values: bool,
}

impl Writer {
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.random.below(list.len())]
    }

    fn bound(&mut self) -> &'static str {
        match self.random.below(2) {
            0 => self.pick(&["[1s,3s]", "[1h,2h]", "[2s,2s]", "[2,5]", "[1m,inf]", "[3,inf]"]),
            _ => self.pick(&["", "[0,2s]", "[0,1h]", "[0,4]"]),
        }
    }

    fn formula(&mut self, depth: usize, is_past: bool) -> String {
        if depth == 0 {
            return match (self.has_values, self.random.below(3)) {
                (true, 0) => "arg(x)".to_owned(),
                (true, 1) => "val(x)".to_owned(),
                _ => self.pick(&["a", "p", "q"]).to_owned(),
            };
        }
        let bound = self.bound();
        match self.random.below(6) {
            0 => format!("!({})", self.formula(depth - 1, is_past)),
            1 => {
                let operator = self.pick(&["&", "|", "->"]);
                format!(
                    "({} {operator} {})",
                    self.formula(depth - 1, is_past),
                    self.formula(depth - 2.min(depth), is_past)
                )
            }
            2 => format!("({} S{bound} {})", self.formula(depth - 1, true), self.formula(depth - 2.min(depth), true)),
            3 => format!("{}{bound} ({})", self.pick(&["O", "H"]), self.formula(depth - 1, true)),
            _ if is_past => format!("O{bound} ({})", self.formula(depth - 1, true)),
            4 => format!("({} U{bound} {})", self.formula(depth - 1, false), self.formula(depth - 2.min(depth), false)),
            _ => format!("{}{bound} ({})", self.pick(&["F", "G"]), self.formula(depth - 1, false)),
        }
    }
}

#[test]
fn random_formulas_stay_within_limits() {
    const FORMULAS: u64 = 200;
    let mut over: Vec<String> = Vec::new();
    for seed in 0..FORMULAS {
        let mut writer = Writer { random: Random::new(seed), has_values: seed % 3 == 0 };
        let depth = 3 + writer.random.below(3);
        let body = writer.formula(depth, false);
        let formula = if writer.has_values { format!("forall x. G({body})") } else { format!("G({body})") };
        let mut arena = Arena::new();
        let f = arena.parse(&formula).unwrap();
        let Ok(monitor) = Monitor::new(&arena, f) else {
            over.push(formula);
            continue;
        };
        let mut monitors = MonitorSet::new();
        let id = monitors.add(monitor);
        let mut trace_state = monitors.start();
        for step in 0..40 {
            let facts = ["a", "p", "q", "arg(1)", "val(1)", "arg(2)", "val(3)"];
            let held: Vec<&str> = facts.into_iter().filter(|_| writer.random.below(3) == 0).collect();
            let decided: Vec<Conclusion> = monitors.step(&mut trace_state, &at(20 * step, &held.join(" "))).to_vec();
            if !decided.is_empty() {
                break;
            }
        }
        if monitors.is_full(&trace_state, id) {
            over.push(formula);
        }
    }
    assert!(over.len() <= 10, "{} of {FORMULAS} are over a limit: {over:#?}", over.len());
}
