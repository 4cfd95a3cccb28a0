//! Beliefs of quantified formulas, against all worlds and all bindings, one by one.

use std::sync::Arc;

use lictor_logic::{
    After, Arena, BeliefMonitor, Chance, ChanceRange, Choice, Fact, Facts, Formula, Interval, Monitor, MonitorId,
    MonitorSet, Node, Quantifier, Spelling, Unary, Value,
};

use crate::differential::belief::{DoubtfulEntry, Outcome, compare, follow_with, worlds};
use crate::differential::generate::{Fragment, Pair, generate};
use crate::support::random::Random;
use crate::support::size::cases;
use crate::support::trace::Entry;

/// Takes facts out of a trace and puts choices of them in. If `apart`, every choice is about one value.
fn doubt(pair: &Pair, random: &mut Random, apart: bool) -> Vec<DoubtfulEntry> {
    let mut left = 4;
    let doubted = |entry: &Entry| {
        let Entry::Position(facts) = entry else { return (entry.clone(), Vec::new()) };
        let (mut facts, mut choices) = (facts.clone(), Vec::new());
        while left > 0 && random.below(2) == 0 {
            left -= 1;
            let mut draw = |name: &str, value: &str| {
                let fact = if name == "r" { Fact::new(name, []) } else { Fact::new(name, [Value::text(value)]) };
                facts.known.retain(|known| *known != fact);
                facts.unknown.retain(|atom| atom.name != fact.name);
                (fact, Chance::new(random.below(51) as f64 / 100.0).unwrap())
            };
            let kinds = if apart { 2 } else { 5 };
            let name = ["p", "q"][left % 2];
            choices.push(match (left + number_of(&choices)) % kinds {
                0 | 1 => {
                    let (fact, chance) = draw(name, ["a", "b", "c"][left % 3]);
                    Choice::new(fact, chance)
                }
                2 => {
                    let (fact, chance) = draw("r", "");
                    Choice::new(fact, chance)
                }
                3 => Choice::between([draw(name, "a"), draw(name, "b")]).unwrap(),
                _ => Choice::new(draw(name, "b").0, Chance::ALWAYS),
            });
        }
        (Entry::Position(facts), choices)
    };
    pair.trace.iter().map(doubted).collect()
}

fn number_of(choices: &[Choice]) -> usize {
    choices.iter().map(|choice| choice.alternatives().len()).sum()
}

/// Returns the variables in front of a formula, whether they are `exists`, and the body.
fn split(arena: &mut Arena, f: Formula) -> Option<(Vec<Arc<str>>, bool, Formula)> {
    match arena[f].clone() {
        Node::Unary(Unary::Always, Interval::UNBOUNDED, g) => {
            let (variables, is_exists, body) = split(arena, g)?;
            let is_forall = !is_exists && !variables.is_empty();
            is_forall.then(|| (variables, false, arena.always(body)))
        }
        Node::Quantified(quantifier, variables, g) => {
            let is_exists = quantifier == Quantifier::Exists;
            match split(arena, g) {
                Some((inner, same, body)) if same == is_exists => {
                    Some((variables.iter().cloned().chain(inner).collect(), is_exists, body))
                }
                Some(_) => None,
                None if has_quantifier(arena, g) => None,
                None => Some((variables.to_vec(), is_exists, g)),
            }
        }
        _ => None,
    }
}

fn has_quantifier(arena: &Arena, f: Formula) -> bool {
    arena.show(f, Spelling::Ascii).to_string().contains(". ")
}

/// The formula for each binding of values, those that occur and some that never do.
fn instances(arena: &mut Arena, variables: &[Arc<str>], body: Formula) -> Vec<Formula> {
    // With one variable, values never seen may be anywhere between those that are compared.
    let fresh: &[&str] = if variables.len() == 1 { &["y", "A", "aa", "bb"] } else { &["y", "z"] };
    let mut values: Vec<Value> = ["a", "b", "c"].iter().chain(fresh).map(|value| Value::text(*value)).collect();
    if variables.len() == 1 {
        values.push(Value::Integer(7));
    }
    let mut formulas = vec![body];
    for variable in variables {
        formulas = formulas
            .into_iter()
            .flat_map(|f| values.iter().map(|value| (f, value)).collect::<Vec<_>>())
            .map(|(f, value)| arena.substitute(f, variable, value))
            .collect();
    }
    formulas
}

/// What happens to all bindings in one world.
struct BindingOutcomes {
    of_bindings: Vec<Vec<Outcome>>,
    /// Violated if the trace ended at each place, by the engine.
    at_end: Vec<bool>,
    /// Whether the engine finds that bindings exclude each other.
    has_conflict: bool,
}

impl BindingOutcomes {
    fn is_violated(&self, place: Option<usize>, is_exists: bool) -> bool {
        let Some(place) = place else { return false };
        let mut violated = self.of_bindings.iter().map(|outcomes| outcomes[place].so_far.0);
        if is_exists { violated.all(|it| it) } else { violated.any(|it| it) }
    }

    fn breaks(&self, place: usize, is_exists: bool, after: After) -> bool {
        match after {
            After::Latch => {
                !self.is_violated(place.checked_sub(1), is_exists) && self.is_violated(Some(place), is_exists)
            }
            After::Reset | After::Each => self.of_bindings.iter().any(|outcomes| outcomes[place].surely),
        }
    }
}

fn contains(range: ChanceRange, probability: f64) -> bool {
    range.least.to_f64() <= probability + 1e-12 && range.most.to_f64() >= probability - 1e-12
}

#[derive(Default)]
struct Counts {
    exact: usize,
    bounded: usize,
    doubtful: usize,
    exists: usize,
    ends: usize,
    exact_ends: usize,
}

fn compare_with_worlds(fragment: Fragment, after: After, pairs: u64, counts: &mut Counts) {
    for number in 0..pairs {
        let mut pair = generate(fragment, number);
        let trace = doubt(&pair, &mut Random::new(number), number % 2 == 0);
        let Some((variables, is_exists, body)) = split(&mut pair.arena, pair.f) else { continue };
        let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, after) else { continue };
        // The engine does not see that `q(x)` is `q("b")` for `x = "b"`, nor that it is `q(y)` for `x = y`. So its
        // verdict on such a binding may be late.
        let text = pair.arena.show(body, Spelling::Ascii).to_string();
        let is_blurred = ["p", "q"].iter().any(|name| {
            let has = |argument: &str| text.contains(&format!("{name}({argument}"));
            has("\"") || has("x") && has("y")
        });
        if monitor.variables().len() != variables.len() || is_blurred {
            continue;
        }
        let Ok(mut belief_monitor) = BeliefMonitor::new(monitor.clone()) else { continue };
        let formulas = instances(&mut pair.arena, &variables, body);
        let single = |f: Formula| -> Option<(MonitorSet, MonitorId)> {
            let mut monitors = MonitorSet::new();
            let id = monitors.add(Monitor::with_after(&pair.arena, f, after).ok()?);
            Some((monitors, id))
        };
        let Some(mut singles) = formulas.into_iter().map(single).collect::<Option<Vec<_>>>() else { continue };
        let mut whole = MonitorSet::new();
        let id = whole.add(monitor.clone());
        let mut run = |entries: &[Entry]| {
            let of_bindings: Vec<Vec<Outcome>> =
                singles.iter_mut().map(|(monitors, id)| follow_with(monitors, *id, after, entries)).collect();
            let at_end = follow_with(&mut whole, id, after, entries).iter().map(|outcome| outcome.at_end.0).collect();
            let mut latched = MonitorSet::new();
            let latched_id = latched.add(Monitor::new(&pair.arena, pair.f).unwrap());
            let last = follow_with(&mut latched, latched_id, After::Latch, entries).last().copied();
            let is_broken = of_bindings.iter().any(|it| it.last().is_some_and(|outcome| outcome.so_far.0));
            let has_conflict = !is_exists && last.is_some_and(|outcome| outcome.so_far.0) && !is_broken;
            BindingOutcomes { of_bindings, at_end, has_conflict }
        };
        let worlds: Vec<(BindingOutcomes, f64)> =
            worlds(&trace).into_iter().map(|(entries, weight)| (run(&entries), weight)).collect();
        let has_conflict = worlds.iter().any(|(outcomes, _)| outcomes.has_conflict);
        let mut other = BeliefMonitor::new(monitor).unwrap();
        let mut belief = belief_monitor.start();
        for (place, (entry, choices)) in trace.iter().enumerate() {
            let sum = |holds: &dyn Fn(&BindingOutcomes) -> bool| -> f64 {
                worlds.iter().filter(|(outcomes, _)| holds(outcomes)).map(|(_, weight)| weight).sum()
            };
            let formula = pair.arena.show(pair.f, Spelling::Ascii);
            let what =
                |what: &str| format!("{fragment:?} {after:?} {number}, {what} at {place}: {formula} on {trace:?}");
            let mut copy = other.restore(&belief_monitor.snapshot(&belief)).unwrap();
            let (risk, same) = match entry {
                Entry::Position(facts) => {
                    (belief_monitor.step(&mut belief, facts, choices), other.step(&mut copy, facts, choices))
                }
                Entry::Tick(time) => (belief_monitor.tick(&mut belief, *time), other.tick(&mut copy, *time)),
            };
            assert_eq!(risk, same, "{}", what("restored"));
            assert_eq!(other.snapshot(&copy), belief_monitor.snapshot(&belief), "{}", what("restored"));
            let violated = sum(&|it| it.is_violated(Some(place), is_exists));
            let left = match after {
                After::Latch => 1.0 - sum(&|it| it.is_violated(place.checked_sub(1), is_exists)),
                After::Reset | After::Each => 1.0,
            };
            let is_position = matches!(entry, Entry::Position(_));
            // A deadline that expires before the position belongs to the time before it.
            let breaks = if fragment == Fragment::Quantified && is_position && left > 1e-9 {
                Some(sum(&|it| it.breaks(place, is_exists, after)) / left)
            } else {
                None
            };
            assert!(contains(belief.violated(), violated), "{}: {:?}, {violated}", what("violated"), belief.violated());
            if let Some(breaks) = breaks {
                assert!(contains(risk, breaks), "{}: {risk:?}, {breaks}", what("risk"));
            }
            if belief.has_shared_doubt() {
                counts.bounded += 1;
            } else {
                compare(belief.violated(), (violated, violated), belief.lost(), &what("exactly violated"));
                if let Some(breaks) = breaks {
                    compare(risk, (breaks, breaks), belief.lost(), &what("exact risk"));
                }
                counts.exact += 1;
                counts.doubtful += usize::from(violated > 0.0 && violated < 1.0);
            }
            counts.exists += usize::from(is_exists);
            if !has_conflict {
                let at_end = sum(&|it| it.at_end[place]);
                let range = belief_monitor.violated_at_end(&belief);
                assert!(contains(range, at_end), "{}: {range:?}, {at_end}", what("end"));
                let is_exact = (range.most.to_f64() - range.least.to_f64()).abs() < 1e-12;
                counts.ends += usize::from(!belief.has_shared_doubt());
                counts.exact_ends += usize::from(!belief.has_shared_doubt() && is_exact);
            }
        }
    }
}

#[test]
fn belief_of_bindings_is_sum_over_worlds() {
    let mut counts = Counts::default();
    for after in [After::Latch, After::Reset, After::Each] {
        compare_with_worlds(
            Fragment::Quantified,
            after,
            cases(if after == After::Latch { 750 } else { 350 }),
            &mut counts,
        );
    }
    let Counts { exact, bounded, doubtful, exists, ends, exact_ends } = counts;
    let told = format!("{exact} exact ({doubtful} doubtful), {bounded} bounded, {exists} exists, {exact_ends}/{ends}");
    assert!(exact > 500 && doubtful > 50 && bounded > 150 && exists > 50, "{told}");
    assert!(exact_ends * 100 > ends * 95, "{told}");
}

/// A belief names the bindings that a position may violate; a choice between two values makes them depend on each other.
#[test]
fn belief_names_violated_bindings() {
    let mut monitor = BeliefMonitor::new(Monitor::parse("forall s. G(erased(s) -> G !discloses(s))").unwrap()).unwrap();
    let mut belief = monitor.start();
    let fact = |name: &str, value: &str| Fact::new(name, [Value::text(value)]);
    let chance = |probability: f64| Chance::new(probability).unwrap();
    let erased = Facts { known: vec![fact("erased", "ann"), fact("erased", "bob")], ..Facts::default() };
    monitor.step(&mut belief, &erased, &[]);
    let apart = [
        Choice::new(fact("discloses", "ann"), chance(0.5)),
        Choice::new(fact("discloses", "bob"), chance(0.5)),
        Choice::new(fact("discloses", "eve"), chance(0.5)),
    ];
    let mut parted = belief.clone();
    let (risk, bindings) = monitor.step_by_binding(&mut parted, &Facts::default(), &apart);
    assert_eq!((risk.least.to_f64(), risk.most.to_f64()), (0.75, 0.75));
    let names: Vec<String> = bindings.iter().map(|(values, range)| format!("{values:?} {}", range.least)).collect();
    assert_eq!(names, [r#"[Some(Text("ann"))] 0.5"#, r#"[Some(Text("bob"))] 0.5"#]);
    assert!(!parted.has_shared_doubt());
    let either = Choice::between([(fact("discloses", "ann"), chance(0.5)), (fact("discloses", "bob"), chance(0.25))]);
    let risk = monitor.step(&mut belief, &Facts::default(), &[either.unwrap()]);
    assert!(belief.has_shared_doubt());
    assert_eq!((risk.least.to_f64(), risk.most.to_f64()), (0.5, 0.75));
}

/// Many values that are certain cost no state each.
#[test]
fn belief_keeps_no_cell_for_values_without_duty() {
    let mut monitor = BeliefMonitor::new(Monitor::parse("forall s. G(erased(s) -> G !discloses(s))").unwrap()).unwrap();
    let mut belief = monitor.start();
    for number in 0..2_000 {
        let fact = Fact::new("discloses", [Value::Integer(number)]);
        monitor.step(&mut belief, &Facts { known: vec![fact], ..Facts::default() }, &[]);
    }
    let empty = monitor.start();
    assert_eq!(belief.len(), empty.len());
    let mut compared = monitor.snapshot(&belief);
    let same = monitor.restore(&compared).unwrap();
    compared = monitor.snapshot(&same);
    let text = serde_json::to_string(&compared).unwrap();
    assert!(text.len() < 2_000, "{text}");
}

/// Formulas that beliefs cannot follow are refused with a reason.
#[test]
fn belief_of_data_is_refused_with_reason() {
    for (text, after, reason) in [
        ("G(count[0,1h](pay) < 3)", After::Latch, "is about data"),
        ("forall x, y. G(p(x) & O q(y) -> x = y)", After::Latch, ""),
        ("exists x. F(p(x) & X q(x))", After::Reset, "does not latch"),
    ] {
        let mut arena = Arena::new();
        let formula = arena.parse(text).unwrap();
        let monitor = Monitor::with_after(&arena, formula, after).unwrap();
        let error = BeliefMonitor::new(monitor).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("hint: "), "{error}");
    }
}
