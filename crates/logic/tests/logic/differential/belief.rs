//! Beliefs, against all worlds that the chances of facts make, one by one.

use lictor_logic::{
    After, Arena, BeliefMonitor, BeliefSnapshot, Chance, ChanceRange, Choice, Fact, Facts, Monitor, MonitorId,
    MonitorSet, Spelling, Time, Verdict,
};

use crate::differential::generate::{Fragment, Pair, generate};
use crate::support::random::Random;
use crate::support::size::cases;
use crate::support::trace::Entry;

/// A moment of a trace: known facts and choices, or time that passes.
pub(super) type DoubtfulEntry = (Entry, Vec<Choice>);

/// Takes facts out of a trace and puts choices of them in; the chances are in hundredths.
pub(super) fn doubt(pair: &Pair, random: &mut Random) -> Vec<DoubtfulEntry> {
    let mut left = 5;
    let doubted = |entry: &Entry| {
        let Entry::Position(facts) = entry else { return (entry.clone(), Vec::new()) };
        let (mut facts, mut choices) = (facts.clone(), Vec::new());
        while left > 0 && random.below(2) == 0 {
            left -= 1;
            let mut drawn = |facts: &mut Facts| {
                let fact = Fact::new(["p", "q", "r"][random.below(3)], []);
                facts.known.retain(|known| *known != fact);
                facts.unknown.retain(|atom| atom.name != fact.name);
                (fact, Chance::new(random.below(51) as f64 / 100.0).unwrap())
            };
            let first = drawn(&mut facts);
            let second = drawn(&mut facts);
            choices.push(match random.below(3) {
                0 => Choice::between([first, second]).unwrap(),
                1 => Choice::new(first.0, Chance::new(1.0).unwrap()),
                _ => Choice::new(first.0, first.1),
            });
        }
        (Entry::Position(facts), choices)
    };
    pair.trace.iter().map(doubted).collect()
}

/// Returns the worlds of a trace with their probabilities.
pub(super) fn worlds(trace: &[DoubtfulEntry]) -> Vec<(Vec<Entry>, f64)> {
    let mut worlds = vec![(Vec::new(), 1.0)];
    for (entry, choices) in trace {
        let mut here = vec![(entry.clone(), 1.0)];
        for choice in choices {
            let none = 1.0 - choice.alternatives().iter().map(|(_, chance)| chance.to_f64()).sum::<f64>();
            let mut next: Vec<(Entry, f64)> =
                here.iter().map(|(entry, weight)| (entry.clone(), weight * none)).collect();
            for (fact, chance) in choice.alternatives() {
                next.extend(here.iter().map(|(entry, weight)| {
                    let mut entry = entry.clone();
                    if let Entry::Position(facts) = &mut entry {
                        facts.known.push(fact.clone());
                    }
                    (entry, weight * chance.to_f64())
                }));
            }
            here = next;
        }
        let grown = worlds.iter().flat_map(|(entries, weight): &(Vec<Entry>, f64)| {
            here.iter().map(move |(entry, share)| {
                (entries.iter().cloned().chain([entry.clone()]).collect::<Vec<_>>(), weight * share)
            })
        });
        worlds = grown.filter(|(_, weight)| *weight > 0.0).collect();
    }
    worlds
}

/// What happens in one world at one moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome {
    pub(super) surely: bool,
    pub(super) maybe: bool,
    /// Violated if the trace ended here, surely and maybe.
    pub(super) at_end: (bool, bool),
    pub(super) so_far: (bool, bool),
    /// Whether a deadline before it was missed.
    pub(super) is_late: bool,
}

fn follow(pair: &Pair, after: After, entries: &[Entry]) -> Vec<Outcome> {
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::with_after(&pair.arena, pair.f, after).unwrap());
    follow_with(&mut monitors, id, after, entries)
}

pub(super) fn follow_with(monitors: &mut MonitorSet, id: MonitorId, after: After, entries: &[Entry]) -> Vec<Outcome> {
    let mut trace_state = monitors.start();
    let mut so_far = (false, false);
    let mut outcomes = Vec::new();
    for entry in entries {
        let (mut surely, mut maybe, mut is_late) = (false, false, false);
        match entry {
            Entry::Position(facts) => {
                if let Some(time) = facts.time {
                    let due = monitors.tick(&mut trace_state, Time(time.0 - 1));
                    is_late = due.iter().any(|due| due.verdict == Verdict::Violated);
                    so_far.0 |= is_late;
                }
                let was_broken = so_far.0 && after == After::Latch;
                maybe = !was_broken && monitors.may_break(&trace_state, id, facts);
                surely = monitors.step(&mut trace_state, facts).iter().any(|it| it.verdict == Verdict::Violated);
            }
            Entry::Tick(time) => {
                let due = monitors.tick(&mut trace_state, *time);
                is_late = due.iter().any(|due| due.verdict == Verdict::Violated);
                so_far.0 |= is_late;
            }
        }
        so_far = (so_far.0 || surely, so_far.1 || so_far.0 || surely || maybe);
        let end = monitors.end(&mut trace_state, id);
        let at_end = (so_far.0 || end == Verdict::Violated, so_far.1 || end != Verdict::Satisfied);
        outcomes.push(Outcome { surely, maybe: maybe || surely, at_end, so_far, is_late });
    }
    outcomes
}

#[track_caller]
pub(super) fn compare(range: ChanceRange, (least, most): (f64, f64), lost: Chance, what: &str) {
    let allowed = 1e-12 + 8.0 * lost.to_f64();
    let (from, to) = (range.least.to_f64(), range.most.to_f64());
    let fits = from <= least + 1e-12 && to >= most - 1e-12 && least - from <= allowed && to - most <= allowed;
    assert!(fits, "{what}: belief [{from}, {to}], worlds [{least}, {most}]");
}

/// A belief is the sum over all worlds: risk, violated so far, and violated at the end.
fn belief_is_sum_over_worlds(fragment: Fragment, after: After, pairs: u64) -> (usize, usize, usize) {
    let (mut compared, mut doubtful, mut late_risks) = (0, 0, 0);
    for number in 0..pairs {
        let pair = generate(fragment, number);
        let mut random = Random::new(number);
        let trace = doubt(&pair, &mut random);
        let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, after) else { continue };
        let Ok(mut monitor) = BeliefMonitor::new(monitor) else { continue };
        let worlds: Vec<(Vec<Outcome>, f64)> =
            worlds(&trace).into_iter().map(|(entries, weight)| (follow(&pair, after, &entries), weight)).collect();
        let mut belief = monitor.start();
        for (place, (entry, choices)) in trace.iter().enumerate() {
            let sum = |holds: &dyn Fn(&Outcome) -> bool| -> f64 {
                worlds.iter().filter(|(outcomes, _)| holds(&outcomes[place])).map(|(_, weight)| weight).sum()
            };
            let formula = pair.arena.show(pair.f, Spelling::Ascii);
            let what =
                |what: &str| format!("{fragment:?} {after:?} {number}, {what} at {place}: {formula} on {trace:?}");
            let before = belief.clone();
            let late = match entry {
                // Deadlines before a position count by themselves, or pass with it.
                Entry::Position(facts) if number % 2 == 0 => {
                    facts.time.map(|time| monitor.tick(&mut belief, Time(time.0 - 1)))
                }
                Entry::Position(_) => None,
                Entry::Tick(time) => Some(monitor.tick(&mut belief, *time)),
            };
            if let Some(risk) = late {
                let was_broken = |outcomes: &[Outcome]| place > 0 && outcomes[place - 1].so_far.0;
                let counted = |outcomes: &[Outcome]| after != After::Latch || !was_broken(outcomes);
                let whole: f64 = worlds.iter().filter(|(it, _)| counted(it)).map(|(_, weight)| weight).sum();
                let missed = if whole > 0.0 { sum(&|it| it.is_late) / whole } else { 0.0 };
                late_risks += usize::from(missed > 0.0);
                let allowed = 1e-12 + 8.0 * belief.lost().to_f64();
                let (least, most) = (risk.least.to_f64(), risk.most.to_f64());
                let fits = least <= missed + 1e-12 && most >= missed - 1e-12;
                // Of what was violated before in every world, only rounding is left.
                let is_exact = fragment == Fragment::Unknown || most - least <= allowed || whole == 0.0;
                let what = what("deadline");
                assert!(fits && is_exact, "{what}: belief [{least}, {most}], worlds {missed}, before {before:?}");
            }
            match entry {
                Entry::Position(facts) => {
                    let risk = monitor.step(&mut belief, facts, choices);
                    let whole = match after {
                        After::Latch => sum(&|outcome| outcome.surely || !outcome.so_far.0),
                        _ => 1.0,
                    };
                    if whole > 0.0 {
                        let (least, most) = (sum(&|it| it.surely) / whole, sum(&|it| it.maybe) / whole);
                        compare(risk, (least, most), belief.lost(), &what("risk"));
                        doubtful += usize::from(least > 0.0 && most < 1.0);
                    }
                }
                Entry::Tick(_) => {}
            }
            let so_far = (sum(&|it| it.so_far.0), sum(&|it| it.so_far.1));
            compare(belief.violated(), so_far, belief.lost(), &what("violated"));
            let at_end = (sum(&|it| it.at_end.0), sum(&|it| it.at_end.1));
            compare(monitor.violated_at_end(&belief), at_end, belief.lost(), &what("end"));
            assert!(belief.lost().to_f64() < 1e-15, "{}", what("lost"));
            compared += 1;
        }
    }
    (compared, doubtful, late_risks)
}

#[test]
fn belief_is_sum_over_all_worlds() {
    let (mut compared, mut doubtful, mut late_risks) = (0, 0, 0);
    for fragment in [Fragment::Mixed, Fragment::Steps, Fragment::Timed, Fragment::Unknown] {
        for after in [After::Latch, After::Each, After::Reset] {
            let (more, open, late) = belief_is_sum_over_worlds(fragment, after, cases(900));
            (compared, doubtful, late_risks) = (compared + more, doubtful + open, late_risks + late);
        }
    }
    let told = format!("{compared} compared, {doubtful} in doubt, {late_risks} late");
    assert!(compared > 4_000 && doubtful > 400 && late_risks > 40, "{told}");
}

/// A restored belief continues like the original, in a monitor that learnt its states in another order.
#[test]
fn belief_snapshot_continues_without_a_difference() {
    let (mut compared, mut open) = (0, 0);
    for fragment in [Fragment::Mixed, Fragment::Timed, Fragment::Unknown] {
        for number in 0..1_000 {
            let pair = generate(fragment, number);
            let trace = doubt(&pair, &mut Random::new(number));
            let new = || BeliefMonitor::new(Monitor::new(&pair.arena, pair.f).unwrap()).unwrap();
            let (mut monitor, mut other) = (new(), new());
            // The other monitor reads the trace backwards first, so that it learns states in another order.
            let mut learning = other.start();
            for (entry, choices) in trace.iter().rev() {
                if let Entry::Position(facts) = entry {
                    other.step(&mut learning, &Facts { time: None, ..facts.clone() }, choices);
                }
            }
            let mut belief = monitor.start();
            let mut copy = other.start();
            for (entry, choices) in &trace {
                let snapshot = monitor.snapshot(&belief);
                assert_eq!(other.snapshot(&copy), snapshot, "{fragment:?} {number}");
                let text = serde_json::to_string(&snapshot).unwrap();
                let read: BeliefSnapshot = serde_json::from_str(&text).unwrap();
                assert_eq!(read, snapshot, "{text}");
                copy = other.restore(&read).unwrap();
                let (risk, same) = match entry {
                    Entry::Position(facts) => {
                        (monitor.step(&mut belief, facts, choices), other.step(&mut copy, facts, choices))
                    }
                    Entry::Tick(time) => (monitor.tick(&mut belief, *time), other.tick(&mut copy, *time)),
                };
                assert_eq!(risk, same, "{fragment:?} {number}");
                assert_eq!(monitor.violated_at_end(&belief), other.violated_at_end(&copy));
                compared += 1;
                open += usize::from(belief.len() > 1);
            }
        }
    }
    assert!(compared > 5_000 && open > 300, "{compared} compared, {open} with several states");
}

/// A belief of another formula, of another version or with weights that are not one is refused.
#[test]
fn belief_snapshot_of_another_formula_is_refused() {
    let new = |text: &str, after: After| {
        let mut arena = Arena::new();
        let formula = arena.parse(text).unwrap();
        BeliefMonitor::new(Monitor::with_after(&arena, formula, after).unwrap()).unwrap()
    };
    let mut monitor = new("G(p -> O q)", After::Latch);
    let mut belief = monitor.start();
    let half = Choice::new(Fact::new("q", []), Chance::new(0.5).unwrap());
    monitor.step(&mut belief, &Facts::default(), &[half]);
    let snapshot = monitor.snapshot(&belief);
    let refusal = |snapshot: &BeliefSnapshot, text: &str, after: After| {
        new(text, after).restore(snapshot).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refusal(&snapshot, "G !p", After::Latch).contains("is not one of `G !p`"));
    assert!(refusal(&snapshot, "G(p -> O q)", After::Each).contains("is not one of"));
    let text = serde_json::to_string(&snapshot).unwrap();
    let change = |from: &str, to: &str| -> BeliefSnapshot {
        assert!(text.contains(from), "{text}");
        serde_json::from_str(&text.replacen(from, to, 1)).unwrap()
    };
    let half = (1u64 << 62).to_string();
    let cases = [
        (change("\"version\":1", "\"version\":9"), "unsupported version 9"),
        (change(&half, "77"), "is damaged"),
        (change(&half, "18446744073709551615"), "is damaged"),
        (change("\"times\":[]", "\"times\":[0]"), "is damaged"),
    ];
    for (damaged, expected) in cases {
        let error = refusal(&damaged, "G(p -> O q)", After::Latch);
        assert!(error.contains(expected), "{error}");
    }
}

/// Chances 0 and 1 make a plain run.
#[test]
fn belief_without_doubt_is_plain_run() {
    let mut broken = 0;
    for number in 0..1_000 {
        let pair = generate(Fragment::Mixed, number);
        let mut monitor = BeliefMonitor::new(Monitor::new(&pair.arena, pair.f).unwrap()).unwrap();
        let (mut belief, mut run) = (monitor.start(), Monitor::new(&pair.arena, pair.f).unwrap().run());
        for entry in &pair.trace {
            let Entry::Position(facts) = entry else { continue };
            let certain = facts.known.iter().map(|fact| Choice::new(fact.clone(), Chance::ALWAYS));
            let never = Choice::new(Fact::new("p", []), Chance::NEVER);
            let choices: Vec<Choice> = certain.chain([never]).collect();
            monitor.step(&mut belief, &Facts { known: Vec::new(), ..facts.clone() }, &choices);
            let is_broken = run.step(facts) == Verdict::Violated;
            let expected = if is_broken { Chance::ALWAYS } else { Chance::NEVER };
            assert_eq!(belief.violated(), ChanceRange { least: expected, most: expected });
            assert_eq!((belief.len(), belief.lost()), (1, Chance::NEVER));
            broken += usize::from(is_broken);
        }
    }
    assert!(broken > 100, "{broken}");
}
