//! Excuses and offences, against flips of facts in random traces.

use lictor_logic::{After, Arena, Atom, Fact, FactRole, Monitor, MonitorSet, Spelling, Term, Value};

use crate::differential::generate::{Fragment, generate};
use crate::differential::influence::{draw_fact, flip, is_violated, positions};
use crate::support::random::Random;

fn matches(atom: &Atom, fact: &Fact) -> bool {
    let fits = |(term, value): (&Term, &Value)| match term {
        Term::Value(wanted) => wanted == value,
        Term::Var(_) | Term::Any => true,
    };
    atom.name == fact.name && atom.terms.len() <= fact.values.len() && atom.terms.iter().zip(&fact.values).all(fits)
}

/// An excuse that is added never violates a formula, an offence never saves it.
#[test]
fn excuses_and_offences_hold_under_flips() {
    let mut counts = [0; 4];
    let mut flips = [0; 3];
    let fragments =
        [Fragment::Future, Fragment::Past, Fragment::Mixed, Fragment::Steps, Fragment::Quantified, Fragment::Ordered];
    for fragment in fragments {
        for after in [After::Latch, After::Reset, After::Each] {
            for number in 0..500 {
                let pair = generate(fragment, number);
                let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, after) else { continue };
                let Some(roles) = monitor.classify_facts() else { continue };
                roles.iter().for_each(|(_, role)| counts[*role as usize] += 1);
                let mut monitors = MonitorSet::new();
                monitors.add(monitor);
                let trace = positions(&pair);
                let mut random = Random::new(number);
                for _ in 0..6 {
                    if trace.is_empty() {
                        continue;
                    }
                    let (place, fact) = (random.below(trace.len()), draw_fact(fragment, &mut random));
                    let of_fact: Vec<FactRole> =
                        roles.iter().filter(|(atom, _)| matches(atom, &fact)).map(|(_, role)| *role).collect();
                    let only = |role: FactRole| of_fact.iter().all(|it| [role, FactRole::Neutral].contains(it));
                    let flipped = flip(&trace, place, &fact);
                    let (with, without) = match trace[place].known.contains(&fact) {
                        true => (&trace, &flipped),
                        false => (&flipped, &trace),
                    };
                    let (with, without) = (is_violated(&mut monitors, with), is_violated(&mut monitors, without));
                    let formula = pair.arena.show(pair.f, Spelling::Ascii);
                    let what = format!("{fragment:?} {after:?} {number}: {formula} on {trace:?}, {fact} at {place}");
                    if only(FactRole::Excuse) {
                        assert!(without || !with, "{what} is an excuse and violates");
                        flips[0] += usize::from(with != without);
                    }
                    if only(FactRole::Offence) {
                        assert!(with || !without, "{what} is an offence and saves");
                        flips[1] += usize::from(with != without);
                    }
                    flips[2] += 1;
                }
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
    assert!(flips[0] > 100 && flips[1] > 100, "{flips:?}");
}

/// A formula, what follows a violation, and the roles of its facts.
type RoleCase = (&'static str, After, &'static [(&'static str, FactRole)]);

#[test]
fn fact_roles_of_plain_formulas() {
    let cases: [RoleCase; 8] = [
        ("G(pay -> O approved)", After::Latch, &[("approved", FactRole::Excuse), ("pay", FactRole::Offence)]),
        ("G(pay -> O approved)", After::Each, &[("approved", FactRole::Excuse), ("pay", FactRole::Offence)]),
        ("G(request -> F answer)", After::Latch, &[("request", FactRole::Offence), ("answer", FactRole::Excuse)]),
        ("G(a <-> b)", After::Latch, &[("a", FactRole::Mixed), ("b", FactRole::Mixed)]),
        ("G(a | true)", After::Latch, &[("a", FactRole::Neutral)]),
        (
            "forall s. G(erased(s) -> G !discloses(s))",
            After::Latch,
            &[("erased", FactRole::Offence), ("discloses", FactRole::Offence)],
        ),
        ("exists x. F(p(x) & X q(x))", After::Latch, &[("p", FactRole::Excuse), ("q", FactRole::Excuse)]),
        (
            "G(pay -> !forbidden S granted)",
            After::Latch,
            &[("pay", FactRole::Offence), ("forbidden", FactRole::Offence), ("granted", FactRole::Excuse)],
        ),
    ];
    for (text, after, expected) in cases {
        let mut arena = Arena::new();
        let formula = arena.parse(text).unwrap();
        let roles = Monitor::with_after(&arena, formula, after).unwrap().classify_facts().unwrap();
        let mut found: Vec<(&str, FactRole)> = roles.iter().map(|(atom, role)| (&*atom.name, *role)).collect();
        found.sort_by_key(|(name, _)| expected.iter().position(|(other, _)| other == name));
        assert_eq!(found, expected, "{text}");
    }
    assert!(Monitor::parse("G(a -> F[0,5s] b)").unwrap().classify_facts().is_none());
}
