//! Which open facts can still change something, against all completions and random continuations.

use lictor_logic::{
    After, BeliefMonitor, Chance, Choice, Fact, Facts, Monitor, MonitorId, MonitorSet, Spelling, TraceState, Value,
    Verdict,
};

use crate::differential::generate::{Fragment, Pair, generate};
use crate::support::random::Random;
use crate::support::trace::Entry;

/// Returns some open facts, and the facts of a position without them.
fn open_facts(facts: &Facts, fragment: Fragment, random: &mut Random) -> (Facts, Vec<Fact>) {
    let mut open: Vec<Fact> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let name = ["p", "q", "r"][random.below(3)];
        let value = match fragment {
            Fragment::Ordered => vec![Value::Integer(2), Value::text("b")].swap_remove(random.below(2)),
            _ => Value::text(["a", "b", "c"][random.below(3)]),
        };
        let is_ground = matches!(fragment, Fragment::Mixed | Fragment::Steps | Fragment::Timed | Fragment::Unknown);
        let fact = if is_ground || name == "r" { Fact::new(name, []) } else { Fact::new(name, [value]) };
        if !open.contains(&fact) {
            open.push(fact);
        }
    }
    let mut facts = facts.clone();
    facts.known.retain(|fact| !open.contains(fact));
    facts.unknown.retain(|atom| !open.iter().any(|fact| fact.name == atom.name));
    (facts, open)
}

/// Returns the facts with those of the open ones whose bits are set.
fn complete(facts: &Facts, open: &[Fact], held: usize) -> Facts {
    let chosen = open.iter().enumerate().filter(|(place, _)| held >> place & 1 == 1).map(|(_, fact)| fact.clone());
    Facts { known: facts.known.iter().cloned().chain(chosen).collect(), ..facts.clone() }
}

/// Returns after each entry whether it was reported as a violation, and the verdicts, now and if the trace ended there.
fn follow(
    monitors: &mut MonitorSet,
    mut trace_state: TraceState,
    id: MonitorId,
    entries: &[Entry],
) -> Vec<(bool, Verdict, Verdict)> {
    let mut verdicts = Vec::new();
    for entry in entries {
        let decided = match entry {
            Entry::Position(facts) => monitors.step(&mut trace_state, facts),
            Entry::Tick(time) => monitors.tick(&mut trace_state, *time),
        };
        let broken = decided.iter().any(|decided| decided.verdict == Verdict::Violated);
        verdicts.push((broken, monitors.verdict(&mut trace_state, id), monitors.end(&mut trace_state, id)));
    }
    verdicts
}

struct Case {
    pair: Pair,
    facts: Facts,
    open: Vec<Fact>,
    before: Vec<Entry>,
    rest: Vec<Entry>,
}

fn draw_case(fragment: Fragment, number: u64) -> Option<Case> {
    let pair = generate(fragment, number);
    let mut random = Random::new(number ^ 0x5eed);
    let positions: Vec<usize> = pair
        .trace
        .iter()
        .enumerate()
        .filter_map(|(place, entry)| matches!(entry, Entry::Position(_)).then_some(place))
        .collect();
    let place = *positions.get(random.below(positions.len().max(1)))?;
    let Entry::Position(facts) = &pair.trace[place] else { return None };
    let (facts, open) = open_facts(facts, fragment, &mut random);
    let (before, rest) = (pair.trace[..place].to_vec(), pair.trace[place + 1..].to_vec());
    Some(Case { pair, facts, open, before, rest })
}

/// An open fact that is reported as irrelevant changes no later verdict; for formulas without quantifiers and unknown
/// facts, one that is reported as relevant changes the state.
fn irrelevant_facts_change_no_verdict(fragment: Fragment, after: After, cases: u64) -> (usize, usize) {
    let (mut relevant_count, mut irrelevant_count) = (0, 0);
    for number in 0..cases {
        let Some(Case { pair, facts, open, before, rest }) = draw_case(fragment, number) else { continue };
        let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, after) else { continue };
        let is_exact = monitor.variables().is_empty()
            && !monitor.is_about_data()
            && fragment != Fragment::Unknown
            && after == After::Latch;
        // A violation of all values is reported when the first of them is seen.
        let is_reported_at_once = monitor.variables().is_empty() || after == After::Each;
        let mut monitors = MonitorSet::new();
        let id = monitors.add(monitor);
        let mut trace_state = monitors.start();
        for entry in &before {
            match entry {
                Entry::Position(facts) => drop(monitors.step(&mut trace_state, facts)),
                Entry::Tick(time) => drop(monitors.tick(&mut trace_state, *time)),
            }
        }
        let relevant = monitors.find_relevant(&trace_state, id, &facts, &open);
        for (place, is_relevant) in relevant.into_iter().enumerate() {
            *if is_relevant { &mut relevant_count } else { &mut irrelevant_count } += 1;
            let mut changes = false;
            for held in (0..1 << open.len()).filter(|held| held >> place & 1 == 0) {
                let mut run = |held: usize| {
                    let next = Entry::Position(complete(&facts, &open, held));
                    let mut state = trace_state.clone();
                    if let Entry::Position(facts) = &next {
                        monitors.step(&mut state, facts);
                    }
                    let entries: Vec<Entry> = std::iter::once(next).chain(rest.iter().cloned()).collect();
                    let mut verdicts = follow(&mut monitors, trace_state.clone(), id, &entries);
                    verdicts.iter_mut().for_each(|(reported, _, _)| *reported &= is_reported_at_once);
                    (verdicts, monitors.snapshot(&state))
                };
                let (without, with) = (run(held), run(held | 1 << place));
                changes |= without.1 != with.1;
                if !is_relevant {
                    let formula = pair.arena.show(pair.f, Spelling::Ascii);
                    let what = format!("{fragment:?} {after:?} {number}: {formula} after {before:?}, {facts} {rest:?}");
                    assert_eq!(without.0, with.0, "{what}, {} with {held}", open[place]);
                }
            }
            let formula = pair.arena.show(pair.f, Spelling::Ascii);
            assert!(
                !is_exact || changes == is_relevant,
                "{fragment:?} {number}: {formula}, {} after {before:?}",
                open[place]
            );
        }
    }
    (relevant_count, irrelevant_count)
}

#[test]
fn irrelevant_open_facts_change_no_verdict() {
    let fragments = [
        Fragment::Mixed,
        Fragment::Steps,
        Fragment::Timed,
        Fragment::Unknown,
        Fragment::Quantified,
        Fragment::Ordered,
        Fragment::Everything,
    ];
    for fragment in fragments {
        for after in [After::Latch, After::Reset, After::Each] {
            let cases = if after == After::Latch { 1_500 } else { 700 };
            let (relevant, irrelevant) = irrelevant_facts_change_no_verdict(fragment, after, cases);
            let counts = format!("{fragment:?} {after:?}: {relevant} relevant, {irrelevant} not");
            assert!(after == After::Each || relevant > 50 && irrelevant > 50, "{counts}");
        }
    }
}

/// A fact that is reported as irrelevant to a belief may have any chance.
#[test]
fn irrelevant_open_facts_change_no_belief() {
    let (mut relevant_count, mut irrelevant_count) = (0, 0);
    for fragment in [Fragment::Mixed, Fragment::Timed, Fragment::Unknown, Fragment::Quantified] {
        for number in 0..1_000 {
            let Some(Case { pair, facts, open, before, rest }) = draw_case(fragment, number) else { continue };
            let Ok(monitor) = Monitor::new(&pair.arena, pair.f) else { continue };
            let Ok(mut monitor) = BeliefMonitor::new(monitor) else { continue };
            let mut belief = monitor.start();
            let values: &[Value] = if fragment == Fragment::Quantified { &[Value::text("a")] } else { &[] };
            let half = |name: &str| Choice::new(Fact::new(name, values), Chance::new(0.5).unwrap());
            for entry in &before {
                match entry {
                    Entry::Position(facts) => drop(monitor.step(&mut belief, facts, &[half("p"), half("q")])),
                    Entry::Tick(time) => drop(monitor.tick(&mut belief, *time)),
                }
            }
            let relevant = monitor.find_relevant(&belief, &facts, &open);
            for (place, is_relevant) in relevant.into_iter().enumerate() {
                *if is_relevant { &mut relevant_count } else { &mut irrelevant_count } += 1;
                let mut run = |held: usize| {
                    let mut belief = belief.clone();
                    let mut risks = vec![monitor.step(&mut belief, &complete(&facts, &open, held), &[])];
                    for entry in &rest {
                        risks.push(match entry {
                            Entry::Position(facts) => monitor.step(&mut belief, facts, &[]),
                            Entry::Tick(time) => monitor.tick(&mut belief, *time),
                        });
                        risks.push(monitor.violated_at_end(&belief));
                    }
                    risks
                };
                for held in (0..1 << open.len()).filter(|held| held >> place & 1 == 0) {
                    let is_same = run(held) == run(held | 1 << place);
                    assert!(is_relevant || is_same, "{fragment:?} {number}: {}", open[place]);
                }
            }
        }
    }
    assert!(relevant_count > 500 && irrelevant_count > 1_000, "{relevant_count} relevant, {irrelevant_count} not");
}

/// Nine open facts of one formula are too many to try all completions.
#[test]
fn nine_open_facts_are_all_relevant() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let open: Vec<Fact> = names.iter().map(|name| Fact::new(*name, [])).collect();
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::parse("G((a | b | c | d | e | f | g | h) & (i | true))").unwrap());
    let trace_state = monitors.start();
    assert_eq!(monitors.find_relevant(&trace_state, id, &Facts::default(), &open[..8]), [true; 8]);
    let wide = monitors.add(Monitor::parse("G(a | b | c | d | e | f | g | h | i)").unwrap());
    let held = Facts::from_names(["a"]).unwrap();
    assert_eq!(monitors.find_relevant(&trace_state, wide, &held, &open[1..]), [false; 8]);
    let far = [Fact::new("j", []), open[0].clone()];
    assert_eq!(monitors.find_relevant(&trace_state, wide, &Facts::default(), &far), [false, true]);
    assert_eq!(monitors.find_relevant(&trace_state, wide, &Facts::default(), &open), [true; 9]);
}
