//! `lictor-bench belief`: the cost of a belief, for every property of the packs that can have one.
//!
//! Each property reads a random trace of its own facts. At a position each fact holds in one of four cases, and half of
//! those that hold are in doubt. Variables have four values.

use std::error::Error;
use std::hint::black_box;

use lictor::logic::{
    Arena, Atom, BeliefMonitor, Chance, Choice, Fact, Facts, Formula, Monitor, Node, Term, Time, Value,
};
use lictor::policy::{FileResolver, Policy, Property};

use crate::measure::once;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

/// How many positions a trace has, how many of them repeat, and how many are compared at its begin and its end.
const POSITIONS: usize = 100_000;
const RING: usize = 4096;
const ENDS: usize = 10_000;

/// How many values a variable has.
const VALUES: u64 = 4;

/// What a belief in one property costs, in nanoseconds a position.
struct Cost {
    id: String,
    doubtful: f64,
    certain: f64,
    /// The last positions to the first ones.
    growth: f64,
}

/// Measures the properties of all packs.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let packs: Vec<&str> = lictor::pack::packs().iter().map(|pack| pack.name.as_str()).collect();
    let text = format!("lictor: 1\nname: all\nuses: [{}]\n", packs.join(", "));
    let loaded = Policy::parse(&text, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    let properties = &loaded.policy.properties;
    let mut costs = Vec::new();
    for property in properties {
        costs.extend(measure(property)?);
    }
    costs.sort_by(|one, other| one.doubtful.total_cmp(&other.doubtful));
    let (Some(median), Some(worst)) = (costs.get(costs.len() / 2), costs.last()) else {
        return Err("no property has a belief".into());
    };
    let grown = costs.iter().max_by(|one, other| one.growth.total_cmp(&other.growth)).unwrap_or(worst);
    let mut certain: Vec<f64> = costs.iter().map(|cost| cost.certain).collect();
    certain.sort_by(f64::total_cmp);
    let title = format!("beliefs in {} of {} properties, {POSITIONS} positions", costs.len(), properties.len());
    let mut section = Section::new(title);
    section
        .time("median of the properties", median.doubtful, "half of the facts in doubt")
        .target(Target::AtMost(300.0));
    section.time("the worst property", worst.doubtful, &worst.id).target(Target::AtMost(10_000.0));
    section.time("median, no fact in doubt", certain[certain.len() / 2], "");
    let growth = format!("the most; {}", grown.id);
    section.figure("last positions to first ones", grown.growth, "x", growth).target(Target::AtMost(1.5));
    section.ratio("belief/doubtful-to-certain", median.doubtful / certain[certain.len() / 2], Better::Lower);
    let mut table = Table::default();
    table.print(&section);
    table.finish();
    Ok(())
}

/// Measures one property; none if it cannot have a belief.
fn measure(property: &Property) -> Result<Option<Cost>, Box<dyn Error>> {
    let mut arena = Arena::new();
    let formula = arena.parse(&property.formula).map_err(|errors| errors.to_string())?;
    let monitor = Monitor::with_after(&arena, formula, property.after)?;
    let Ok(mut monitor) = BeliefMonitor::new(monitor) else { return Ok(None) };
    let mut atoms = Vec::new();
    collect_atoms(&arena, formula, &mut atoms);
    let ring = positions(&atoms)?;
    let without: Vec<(Facts, Vec<Choice>)> = ring.iter().map(|(facts, _)| (facts.clone(), Vec::new())).collect();
    // Once before, so that all states are known.
    read(&mut monitor, &ring);
    let times = read(&mut monitor, &ring);
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let certain = mean(&read(&mut monitor, &without));
    let (first, last) = (times.first().copied().unwrap_or(1.0), times.last().copied().unwrap_or(1.0));
    Ok(Some(Cost { id: property.id.to_string(), doubtful: mean(&times), certain, growth: last / first }))
}

/// Reads a long trace, and returns the nanoseconds a position, part by part.
fn read(monitor: &mut BeliefMonitor, ring: &[(Facts, Vec<Choice>)]) -> Vec<f64> {
    let mut belief = monitor.start();
    let mut time = 0;
    let mut positions = ring.iter().cycle();
    let parts = (0..POSITIONS / ENDS).map(|_| {
        let mut part: Vec<(Facts, &Vec<Choice>)> = Vec::with_capacity(ENDS);
        for (facts, choices) in positions.by_ref().take(ENDS) {
            time += 1_000_000_000;
            let mut facts = facts.clone();
            facts.time = Some(Time(time));
            part.push((facts, choices));
        }
        once(ENDS, || {
            for (facts, choices) in &part {
                black_box(monitor.step(&mut belief, facts, choices));
            }
        })
    });
    parts.collect()
}

fn collect_atoms(arena: &Arena, formula: Formula, atoms: &mut Vec<Atom>) {
    if let Node::Fact(atom) = &arena[formula]
        && !atoms.contains(atom)
    {
        atoms.push(atom.clone());
    }
    arena[formula].operands().into_iter().for_each(|operand| collect_atoms(arena, operand, atoms));
}

/// Returns random positions over the facts of a formula.
fn positions(atoms: &[Atom]) -> Result<Vec<(Facts, Vec<Choice>)>, Box<dyn Error>> {
    let mut random = Random::new(11);
    let mut ring = Vec::with_capacity(RING);
    for _ in 0..RING {
        let (mut facts, mut choices) = (Facts::default(), Vec::new());
        for atom in atoms {
            let mut value = |term: &Term| match term {
                Term::Value(value) => value.clone(),
                _ => Value::text(format!("v{}", random.below(VALUES))),
            };
            let fact = Fact::new(atom.name.clone(), atom.terms.iter().map(&mut value).collect::<Vec<_>>());
            match random.below(8) {
                0 => facts.known.push(fact),
                1 => choices.push(Choice::new(fact, Chance::new(0.05 + random.below(90) as f64 / 100.0)?)),
                _ => {}
            }
        }
        ring.push((facts, choices));
    }
    Ok(ring)
}
