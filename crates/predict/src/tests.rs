//! Forecasts against their definitions.

use std::sync::Arc;

use lictor_logic::{After, Arena, Atom, Fact, Facts, Monitor, MonitorSet, Snapshot, Term, Value};
use proptest::prelude::*;

use crate::chain::{Chain, END, FIRST, OTHER, OTHER_ACTION, SymbolContext};
use crate::machine::{Machine, MachineState, Outcome};
use crate::random::SeededRandom;
use crate::reach::Reach;
use crate::symbol::{RecentValues, write_facts};
use crate::{Forecast, Outlook, Predictor, SOME_VIOLATION, SampleSequence, Score, Step, choose_candidate};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// An event with facts by the bits of a number; odd ones are no actions.
fn step(number: usize) -> Step {
    let names = NAMES.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1).map(|(_, name)| *name);
    Step {
        kind: if number % 3 == 1 { "tool_result".into() } else { "tool_call".into() },
        tool: Some(format!("tool{number}").into()),
        facts: Facts::from_names(names).unwrap(),
        is_action: number % 3 != 1,
    }
}

fn start_of(monitor: &Monitor, before: &[Step]) -> Snapshot {
    let mut monitors = MonitorSet::new();
    monitors.add(monitor.clone());
    let mut state = monitors.start();
    for step in before {
        monitors.step(&mut state, &step.facts);
    }
    monitors.snapshot(&state)
}

/// The definition: the sum over all continuations, one by one. Returns the least and the greatest probability.
fn enumerate(
    machine: &mut Machine,
    chain: &Chain,
    state: &MachineState,
    context: SymbolContext,
    (actions, symbols): (u32, usize),
) -> (f64, f64) {
    let mut state = state.clone();
    let decided = match machine.outcome(&mut state) {
        Outcome::Open if actions == 0 => machine.outcome_at_horizon(&mut state),
        outcome => outcome,
    };
    match decided {
        Outcome::Hit => return (1.0, 1.0),
        Outcome::Missed => return (0.0, 0.0),
        Outcome::Unknown => return (0.0, 1.0),
        Outcome::Open if symbols == 0 => return (0.0, 1.0),
        Outcome::Open => {}
    }
    let row = chain.row(context).1;
    let mut sum = (0.0, 0.0);
    for symbol in chain.successors() {
        let share = chain.probability(row, symbol);
        let value = match symbol {
            END => match machine.outcome_at_end(&mut state.clone()) {
                Outcome::Hit => (1.0, 1.0),
                Outcome::Missed => (0.0, 0.0),
                Outcome::Open | Outcome::Unknown => (0.0, 1.0),
            },
            OTHER | OTHER_ACTION => {
                let mut next = state.clone();
                machine.step(&mut next, &Facts::default());
                let used = u32::from(symbol == OTHER_ACTION);
                let after = chain.push(context, symbol);
                let (least, most) = enumerate(machine, chain, &next, after, (actions - used, symbols - 1));
                match machine.outcome(&mut next) {
                    Outcome::Open => (least, 1.0),
                    _ => (least, most),
                }
            }
            _ => {
                let class = &chain.symbols[(symbol - FIRST) as usize];
                let mut next = state.clone();
                machine.step(&mut next, &write_facts(class, &mut RecentValues::default(), &mut 0));
                let after = chain.push(context, symbol);
                enumerate(machine, chain, &next, after, (actions - u32::from(class.is_action), symbols - 1))
            }
        };
        sum = (sum.0 + share * value.0, sum.1 + share * value.1);
    }
    sum
}

const FORMULAS: [&str; 7] =
    ["G(a -> O b)", "G(a -> F b)", "G !(a & b)", "!a U b", "G(a -> X !c)", "F d", "G(c -> (!a S b))"];

/// Properties with and without deadlines, so that a union of them is found by all paths or by random ones.
const MEMBERS: [&str; 6] =
    ["G !a", "G !(a & b)", "G(a -> F b)", "G(a -> O b)", "G(a -> F[0,5s] b)", "G(c -> F[0,1m] e)"];

const PATTERNS: [&str; 5] = [
    SOME_VIOLATION,
    "F violated(\"p\")",
    "G !violated(\"p\")",
    "F satisfied(\"p\") & G !violated(\"q\")",
    "F(violated(\"p\") & X F violated(\"q\"))",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The sum over all paths of a chain is that of its definition, within rounding.
    #[test]
    fn chain_equals_enumeration_of_paths(
        words in prop::collection::vec(prop::collection::vec(0usize..4, 1..7), 10..20),
        before in prop::collection::vec(0usize..4, 0..4),
        first in 0usize..FORMULAS.len(),
        second in 0usize..FORMULAS.len(),
        pattern in 0usize..PATTERNS.len(),
        within in 1u32..3,
    ) {
        // Only actions, so that the definition's tree stays small.
        let action = |number: &usize| Step { is_action: true, ..step(*number * 3 + 2) };
        let sessions: Vec<Vec<Step>> = words.iter().map(|word| word.iter().map(action).collect()).collect();
        let chain = Chain::learn(&sessions, &[]).unwrap();
        let properties =
            [("p", Monitor::parse(FORMULAS[first]).unwrap()), ("q", Monitor::parse(FORMULAS[second]).unwrap())];
        let mut monitors = MonitorSet::new();
        for (_, monitor) in &properties {
            monitors.add(monitor.clone());
        }
        let mut state = monitors.start();
        let mut place = chain.start();
        for number in &before {
            monitors.step(&mut state, &action(number).facts);
            chain.follow(&mut place, &action(number));
        }
        let snapshot = monitors.snapshot(&state);
        let mut machine = Machine::new(&properties, PATTERNS[pattern]).unwrap();
        let found = Reach::exact().probability(&mut machine, &chain, (&snapshot, &[]), &place, within).unwrap();
        let start = machine.resume(&snapshot, &[]).unwrap();
        let defined = enumerate(&mut machine, &chain, &start, place.context, (within, 8 * within as usize));
        prop_assert!((found.known.0 - defined.0).abs() < 1e-12, "{found:?} {defined:?}");
        prop_assert!((found.known.1 - defined.1).abs() < 1e-12, "{found:?} {defined:?}");
        prop_assert!(found.interval.0 <= found.known.0 && found.known.1 <= found.interval.1);
    }

    /// Forgetting light paths moves a probability by little.
    #[test]
    fn light_paths_change_little(
        words in prop::collection::vec(prop::collection::vec(0usize..9, 1..12), 10..40),
        before in prop::collection::vec(0usize..9, 0..4),
        formula in 0usize..FORMULAS.len(),
    ) {
        let sessions: Vec<Vec<Step>> = words.iter().map(|word| word.iter().copied().map(step).collect()).collect();
        let chain = Chain::learn(&sessions, &[]).unwrap();
        let monitor = Monitor::parse(FORMULAS[formula]).unwrap();
        let before: Vec<Step> = before.into_iter().map(step).collect();
        let snapshot = start_of(&monitor, &before);
        let mut place = chain.start();
        before.iter().for_each(|step| chain.follow(&mut place, step));
        let mut machine = Machine::new(&[("p", monitor)], SOME_VIOLATION).unwrap();
        let exact = Reach::exact().probability(&mut machine, &chain, (&snapshot, &[]), &place, 2).unwrap();
        let quick = Reach::default().probability(&mut machine, &chain, (&snapshot, &[]), &place, 2).unwrap();
        prop_assert!((exact.known.0 - quick.known.0).abs() < 0.05, "{exact:?} {quick:?}");
    }

    /// A union is as likely as each of its members at least, and as all of them together at most, however each is found.
    #[test]
    fn union_contains_forecasts_of_its_members(
        words in prop::collection::vec(prop::collection::vec(0usize..9, 1..12), 10..30),
        before in prop::collection::vec(0usize..9, 0..4),
        chosen in prop::collection::vec(0usize..MEMBERS.len(), 2..4),
        within in 1u32..4,
    ) {
        let sessions: Vec<Vec<Step>> = words.iter().map(|word| word.iter().copied().map(step).collect()).collect();
        let chain = Arc::new(Chain::learn(&sessions, &[]).unwrap());
        let names = ["p", "q", "r"];
        let properties: Vec<(&str, Monitor)> =
            names.into_iter().zip(&chosen).map(|(name, it)| (name, Monitor::parse(MEMBERS[*it]).unwrap())).collect();
        let mut monitors = MonitorSet::new();
        for (_, monitor) in &properties {
            monitors.add(monitor.clone());
        }
        let (mut state, mut place) = (monitors.start(), chain.start());
        for number in before {
            monitors.step(&mut state, &step(number).facts);
            chain.follow(&mut place, &step(number));
        }
        let snapshot = monitors.snapshot(&state);
        let forecast = |properties: &[(&str, Monitor)]| {
            let mut predictor = Predictor::new(Arc::clone(&chain), properties, SOME_VIOLATION, within).unwrap();
            predictor.estimate(&snapshot, &place, &[]).unwrap()
        };
        let union = forecast(&properties);
        let members: Vec<Forecast> =
            properties.iter().map(|property| forecast(std::slice::from_ref(property))).collect();
        prop_assert!(union.least <= union.chance && union.chance <= union.most, "{union:?}");
        for end in [|it: &Forecast| it.least, |it: &Forecast| it.chance, |it: &Forecast| it.most] {
            let sum: f64 = members.iter().map(end).sum();
            prop_assert!(members.iter().all(|it| end(it) <= end(&union)), "{union:?} {members:?}");
            prop_assert!(end(&union) <= sum + 1e-12, "{union:?} {members:?}");
        }
    }

    /// What is read from a file is what was written, and a changed file is refused.
    #[test]
    fn chain_files_keep_every_count(words in prop::collection::vec(prop::collection::vec(0usize..9, 1..6), 10..20)) {
        let sessions: Vec<Vec<Step>> = words.iter().map(|word| word.iter().copied().map(step).collect()).collect();
        let chain = Chain::learn(&sessions, &[]).unwrap();
        let text = chain.to_file();
        let read = Chain::parse(&text).unwrap();
        prop_assert_eq!(read.to_file(), text.clone());
        prop_assert_eq!(&read.rows, &chain.rows);
        let changed = text.replacen("\"sessions\":", "\"sessions\": 1", 1);
        prop_assert!(Chain::parse(&changed).is_err());
    }
}

/// A random agent: for each of its states the symbols that may follow, with their chances.
fn draw_agent(random: &mut SeededRandom, symbols: usize, kind: usize) -> Vec<Vec<f64>> {
    let row = |random: &mut SeededRandom| {
        let mut row: Vec<f64> = match kind {
            // Sparse: a few likely ones.
            0 => (0..symbols).map(|_| random.next_share().powi(8)).collect(),
            // Flat: all alike.
            1 => (0..symbols).map(|_| 0.5 + random.next_share()).collect(),
            // Two successors.
            _ => {
                let mut row = vec![0.0; symbols];
                let share = random.next_share();
                row[(random.next_bits() % symbols as u64) as usize] += share;
                row[(random.next_bits() % symbols as u64) as usize] += 1.0 - share;
                row
            }
        };
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|share| *share /= sum);
        row
    };
    (0..symbols).map(|_| row(random)).collect()
}

fn draw_symbol(random: &mut SeededRandom, row: &[f64]) -> usize {
    let mut rest = random.next_share();
    row.iter()
        .position(|share| {
            rest -= share;
            rest < 0.0
        })
        .unwrap_or(row.len() - 1)
}

/// The chance that a session ends after an event.
const END_CHANCE: f64 = 0.05;

/// The truth: the probability that the agent does `bad` within some actions.
fn true_probability(agent: &[Vec<f64>], from: usize, bad: usize, within: u32) -> f64 {
    if within == 0 {
        return 0.0;
    }
    let next = |to: usize| if to == bad { 1.0 } else { true_probability(agent, to, bad, within - 1) };
    (1.0 - END_CHANCE) * agent[from].iter().enumerate().map(|(to, share)| share * next(to)).sum::<f64>()
}

/// The upper end of a chain's interval holds in at least 95 of 100 cases, for agents of three kinds that were not drawn
/// from the chain's own assumptions.
#[test]
fn upper_ends_of_chains_hold() {
    let mut random = SeededRandom::new(7);
    for kind in 0..3 {
        for traces in [10usize, 20, 100] {
            let (mut held, mut cases, mut width) = (0, 0, 0.0);
            for _ in 0..150 {
                let symbols = 6;
                let agent = draw_agent(&mut random, symbols, kind);
                let act = |number: usize| Step {
                    kind: "tool_call".into(),
                    tool: Some(format!("t{number}").into()),
                    facts: if number == 0 { Facts::from_names(["bad"]).unwrap() } else { Facts::default() },
                    is_action: true,
                };
                let mut sessions = Vec::new();
                for _ in 0..traces {
                    let mut at = 1 + (random.next_bits() % 5) as usize;
                    let mut session = vec![act(at)];
                    while random.next_share() >= END_CHANCE {
                        at = draw_symbol(&mut random, &agent[at]);
                        session.push(act(at));
                    }
                    sessions.push(session);
                }
                let chain = Arc::new(Chain::learn(&sessions, &[]).unwrap());
                let monitor = Monitor::parse("G !bad").unwrap();
                let snapshot = start_of(&monitor, &[]);
                let mut predictor = Predictor::new(Arc::clone(&chain), &[("p", monitor)], SOME_VIOLATION, 3).unwrap();
                let from = 1 + (random.next_bits() % 5) as usize;
                let mut place = chain.start();
                chain.follow(&mut place, &act(from));
                let Outlook::Forecast(forecast) = predictor.forecast(&snapshot, &place, &[]).unwrap() else { continue };
                cases += 1;
                held += usize::from(forecast.most >= true_probability(&agent, from, 0, 3) - 1e-9);
                width += forecast.most - forecast.least;
            }
            let (share, width) = (f64::from(held as u32) / f64::from(cases as u32), width / f64::from(cases as u32));
            assert!(share >= 0.95, "kind {kind}, {traces} traces: upper end holds in {share}, width {width}");
        }
    }
}

/// However long one samples, the interval misses the truth in at most one of twenty runs.
#[test]
fn sample_intervals_hold_under_any_stopping() {
    let mut random = SeededRandom::new(11);
    let mut missed = 0;
    for run in 0..10_000 {
        let truth = [0.02, 0.1, 0.3, 0.6, 0.95][run % 5];
        let mut sequence = SampleSequence::new(0.05);
        let is_missed = (0..40).any(|_| {
            sequence.add(f64::from(random.next_share() < truth));
            let (least, most) = sequence.interval();
            truth < least - 1e-9 || truth > most + 1e-9
        });
        missed += usize::from(is_missed);
    }
    assert!(missed <= 500, "{missed}");
}

/// Definition: what is taken never has a worse forecast, whatever a predictor returns.
#[test]
fn chosen_candidates_are_never_worse() {
    let mut random = SeededRandom::new(3);
    let mut replaced = 0;
    for _ in 0..100_000 {
        let mut number = || match random.next_bits() % 12 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => -0.5,
            3 => 1.0,
            4 => 0.0,
            _ => random.next_share(),
        };
        let mut score = || Score { most: number(), chance: number() };
        let original = score();
        let candidates: Vec<Option<Score>> = (0..5).map(|place| (place != 2).then(&mut score)).collect();
        let is_valid = |it: &Score| (0.0..=1.0).contains(&it.chance) && it.chance <= it.most && it.most <= 1.0;
        match choose_candidate(Some(original), &candidates) {
            None => {}
            Some(place) => {
                let taken = candidates[place].unwrap();
                assert!(is_valid(&taken) && is_valid(&original));
                assert!(taken.most < original.most && taken.chance <= original.chance, "{taken:?} {original:?}");
                replaced += 1;
            }
        }
    }
    assert!(replaced > 1000);
    assert_eq!(choose_candidate(None, &[Some(Score { most: 0.0, chance: 0.0 })]), None);
    let tie = Score { most: 0.5, chance: 0.5 };
    assert_eq!(choose_candidate(Some(tie), &[Some(tie)]), None);
}

/// A property about each person is forecast for persons that no log has.
#[test]
fn forecasts_follow_values_of_the_session() {
    let event = |kind: &str, fact: &str, who: &str, is_action: bool| Step {
        kind: kind.into(),
        tool: None,
        facts: Facts::parse(&format!("{fact}(\"{who}\")")).unwrap(),
        is_action,
    };
    // Half of the erased persons are written to afterwards.
    let sessions: Vec<Vec<Step>> = (0..40)
        .map(|n| {
            let (who, other) = (format!("p{n}"), format!("q{n}"));
            let written = if n % 2 == 0 { &who } else { &other };
            vec![event("erasure", "erasure", &who, false), event("tool_call", "discloses", written, true)]
        })
        .collect();
    let monitor = Monitor::parse("forall s. G(erasure(s) -> G !discloses(s))").unwrap();
    let chain = Arc::new(Chain::learn(&sessions, &[]).unwrap());
    let before = [event("erasure", "erasure", "somebody new", false)];
    let mut place = chain.start();
    chain.follow(&mut place, &before[0]);
    let snapshot = start_of(&monitor, &before);
    let mut predictor = Predictor::new(chain, &[("p", monitor)], SOME_VIOLATION, 1).unwrap();
    let outlook = predictor.forecast(&snapshot, &place, &[]).unwrap();
    let chance = outlook.forecast().unwrap().chance;
    assert!((chance - 0.5).abs() < 0.1, "{outlook}");
    // What is repeated is the same to the bit.
    assert_eq!(predictor.forecast(&snapshot, &place, &[]).unwrap(), outlook);
}

/// The present step counts: a violation by the last event has happened.
#[test]
fn present_violations_count() {
    let sessions: Vec<Vec<Step>> = (0..10).map(|_| vec![step(0), step(2)]).collect();
    let chain = Arc::new(Chain::learn(&sessions, &[]).unwrap());
    let monitor = Monitor::parse("G !c").unwrap();
    let snapshot = start_of(&monitor, &[step(4)]);
    let place = chain.start();
    let mut predictor = Predictor::new(chain, &[("p", monitor)], SOME_VIOLATION, 2).unwrap();
    let forecast = |outlook: Outlook| outlook.forecast().unwrap().chance;
    assert_eq!(
        forecast(predictor.forecast(&snapshot, &place, &[("p", lictor_logic::Verdict::Violated)]).unwrap()),
        1.0
    );
    assert!(forecast(predictor.forecast(&snapshot, &place, &[]).unwrap()) < 0.2);
}

/// What follows an event that no log had is not known, so that the interval excludes nothing that can still happen.
#[test]
fn interval_after_unseen_event_is_wide() {
    let sessions: Vec<Vec<Step>> = (0..400).map(|n| vec![step(2), step(if n % 3 == 0 { 5 } else { 8 })]).collect();
    let chain = Arc::new(Chain::learn(&sessions, &[]).unwrap());
    let unseen = Step { kind: "tool_call".into(), tool: Some("new".into()), facts: Facts::default(), is_action: true };
    // One by all paths, one by random paths.
    for formula in ["G !c", "G(a -> F[0,5s] c)"] {
        let monitor = Monitor::parse(formula).unwrap();
        let snapshot = start_of(&monitor, &[]);
        let mut predictor = Predictor::new(Arc::clone(&chain), &[("p", monitor)], SOME_VIOLATION, 1).unwrap();
        let mut forecast = |step: &Step| {
            let mut place = chain.start();
            chain.follow(&mut place, step);
            let outlook = predictor.forecast(&snapshot, &place, &[]).unwrap();
            outlook.forecast().cloned().unwrap()
        };
        let other_kind = Step { kind: "error".into(), tool: None, facts: Facts::default(), is_action: false };
        let (known, unknown, passed) = (forecast(&step(2)), forecast(&unseen), forecast(&other_kind));
        assert!(known.most - known.least < 0.2, "{formula}: {known:?}");
        assert_eq!((unknown.least, unknown.most), (0.0, 1.0), "{formula}: {unknown:?}");
        assert_eq!((passed.least, passed.most), (0.0, 1.0), "{formula}: {passed:?}");
    }
}

/// A property is forecast from its own state, not from that of another with the same formula.
#[test]
fn same_formulas_are_forecast_by_their_after() {
    let sessions: Vec<Vec<Step>> = (0..40).map(|n| vec![step(2), step(if n % 3 == 0 { 5 } else { 8 })]).collect();
    let chain = Arc::new(Chain::learn(&sessions, &[]).unwrap());
    let mut arena = Arena::new();
    let formula = arena.parse("G !c").unwrap();
    let monitor = |after: After| Monitor::with_after(&arena, formula, after).unwrap();
    let forecast = |in_session: &[After], after: After| {
        let mut monitors = MonitorSet::new();
        for after in in_session {
            monitors.add(monitor(*after));
        }
        let mut state = monitors.start();
        monitors.step(&mut state, &step(5).facts);
        monitors.step(&mut state, &step(2).facts);
        let mut place = chain.start();
        chain.follow(&mut place, &step(2));
        let properties = [("p", monitor(after))];
        let mut predictor = Predictor::new(Arc::clone(&chain), &properties, SOME_VIOLATION, 1).unwrap();
        let outlook = predictor.forecast(&monitors.snapshot(&state), &place, &[]).unwrap();
        outlook.forecast().unwrap().chance
    };
    for (first, second) in [(After::Latch, After::Reset), (After::Reset, After::Latch), (After::Each, After::Latch)] {
        for after in [first, second] {
            assert_eq!(forecast(&[first, second], after), forecast(&[after], after), "{after:?} of {first:?}");
        }
    }
    assert_eq!(forecast(&[After::Latch], After::Latch), 0.0);
    assert!(forecast(&[After::Reset], After::Reset) > 0.2);
}

/// A chain keeps no number and no name of a tool that may be of a person, unless a formula names it.
#[test]
fn chain_keeps_nothing_of_persons() {
    let event = |tool: &str, fact: &str| Step {
        kind: "tool_call".into(),
        tool: Some(tool.into()),
        facts: Facts::parse(fact).unwrap(),
        is_action: true,
    };
    let session = || {
        vec![
            event("pay", "pays(536221234), times(3), limit(1000000), tool_call(\"pay\")"),
            event("call_ann.ode@example.org", "tool_call(\"call_ann.ode@example.org\")"),
            event("call_4930123456", "tool_call(\"call_4930123456\")"),
        ]
    };
    let sessions: Vec<Vec<Step>> = (0..40).map(|_| session()).collect();
    let named = Fact::new("limit", [Value::Integer(1_000_000)]);
    let atom = Atom::new(named.name, named.values.iter().cloned().map(Term::Value).collect::<Vec<_>>());
    let text = Chain::learn(&sessions, &[atom]).unwrap().to_file();
    let is_kept = |value: &str| text.contains(value);
    assert!(is_kept("1000000") && is_kept("\"pay\""), "{text}");
    assert!(!is_kept("536221234") && !is_kept("ann.ode") && !is_kept("4930123456"), "{text}");
}
