//! Random conditions on missing arguments agree with a slow definition.
//!
//! The definition gives every missing argument each possible value in turn. A comparison with a missing argument does
//! not hold where the condition asks for it. Where the condition asks for its opposite, it may hold or not, as the value
//! decides. A condition that comes to the same for all values is true or false; otherwise it is unknown.

use std::collections::BTreeSet;

use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object};
use lictor_policy::expression::{EvaluationScope, Expression, Tables, Truth};
use proptest::prelude::*;

/// The arguments; the values of those that are missing.
type Values = [Option<i64>; 3];

/// The possible values of an argument: more than the constants, so that each comparison is true of one and false of
/// another.
const POSSIBLE: std::ops::RangeInclusive<i64> = -1..=3;

const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Condition {
    /// An argument, an operator, and a number.
    Compare(usize, &'static str, i64),
    /// Whether an argument is among numbers.
    In(usize, Vec<i64>),
    Has(usize),
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Choice(Box<[Condition; 3]>),
    /// Whether a condition is equal to a truth value, or different from it.
    IsTruth(Box<Condition>, bool, bool),
    /// A loop over one element, which has the value of the condition.
    Loop(&'static str, Box<Condition>),
}

impl Condition {
    fn write(&self) -> String {
        let list = |parts: &[Condition], operator: &str| {
            let parts: Vec<String> = parts.iter().map(Condition::write).collect();
            format!("({})", parts.join(operator))
        };
        match self {
            Condition::Compare(name, operator, number) => format!("(args.{} {operator} {number})", NAMES[*name]),
            Condition::In(name, numbers) => format!("(args.{} in {numbers:?})", NAMES[*name]),
            Condition::Has(name) => format!("has(args.{})", NAMES[*name]),
            Condition::Not(inner) => format!("!({})", inner.write()),
            Condition::And(parts) => list(parts, " && "),
            Condition::Or(parts) => list(parts, " || "),
            Condition::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                format!("({} ? {} : {})", condition.write(), then.write(), otherwise.write())
            }
            Condition::IsTruth(inner, is_equal, truth) => {
                format!("({} {} {truth})", inner.write(), if *is_equal { "==" } else { "!=" })
            }
            Condition::Loop(name, inner) => format!("[1].{name}(x, {})", inner.write()),
        }
    }

    /// Whether it holds by the definition: `given` are the arguments, `tried` values for the missing ones, and
    /// `is_asked` whether the whole condition holds rather if this one does.
    fn holds(&self, given: &Values, tried: &[i64; 3], is_asked: bool) -> bool {
        let value = |name: usize| match given[name] {
            None if is_asked => None,
            None => Some(tried[name]),
            given => given,
        };
        let both = |inner: &Condition| (inner.holds(given, tried, is_asked), !inner.holds(given, tried, !is_asked));
        match self {
            Condition::Compare(name, "!=", number) => {
                !Condition::Compare(*name, "==", *number).holds(given, tried, !is_asked)
            }
            Condition::Compare(name, operator, number) => value(*name).is_some_and(|value| match *operator {
                "<" => value < *number,
                "<=" => value <= *number,
                ">" => value > *number,
                ">=" => value >= *number,
                _ => value == *number,
            }),
            Condition::In(name, numbers) => value(*name).is_some_and(|value| numbers.contains(&value)),
            Condition::Has(name) => given[*name].is_some(),
            Condition::Not(inner) => !inner.holds(given, tried, !is_asked),
            Condition::And(parts) => parts.iter().all(|part| part.holds(given, tried, is_asked)),
            Condition::Or(parts) => parts.iter().any(|part| part.holds(given, tried, is_asked)),
            // It asks for the condition with the one outcome, and for its opposite with the other.
            Condition::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                let (yes, no) = both(condition);
                (yes && then.holds(given, tried, is_asked)) || (no && otherwise.holds(given, tried, is_asked))
            }
            Condition::IsTruth(inner, is_equal, truth) => {
                let (yes, no) = both(inner);
                if is_equal == truth { yes } else { no }
            }
            Condition::Loop(_, inner) => inner.holds(given, tried, is_asked),
        }
    }

    /// Returns all outcomes by the definition.
    fn outcomes(&self, given: &Values) -> BTreeSet<bool> {
        let mut outcomes = BTreeSet::new();
        for a in POSSIBLE {
            for b in POSSIBLE {
                outcomes.extend(POSSIBLE.map(|c| self.holds(given, &[a, b, c], true)));
            }
        }
        outcomes
    }

    /// Counts the arguments in it, each as often as it is compared.
    fn count(&self, counts: &mut [usize; 3]) {
        match self {
            Condition::Compare(name, ..) | Condition::In(name, _) => counts[*name] += 1,
            Condition::Has(_) => {}
            Condition::Not(inner) | Condition::IsTruth(inner, ..) | Condition::Loop(_, inner) => inner.count(counts),
            Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| part.count(counts)),
            Condition::Choice(parts) => parts.iter().for_each(|part| part.count(counts)),
        }
    }

    /// Whether it uses a condition as a value, chooses by one, or negates twice: there the evaluation may know less.
    fn is_coarse(&self, is_negated: bool) -> bool {
        match self {
            Condition::Compare(_, operator, _) => is_negated && *operator == "!=",
            Condition::In(..) | Condition::Has(_) => false,
            Condition::Not(inner) => is_negated || inner.is_coarse(true),
            Condition::Loop(name, inner) => *name == "exists_one" || inner.is_coarse(is_negated),
            Condition::And(parts) | Condition::Or(parts) => parts.iter().any(|part| part.is_coarse(is_negated)),
            Condition::Choice(_) | Condition::IsTruth(..) => true,
        }
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    let operator = proptest::sample::select(&["==", "!=", "<", "<=", ">", ">="][..]);
    let leaf = prop_oneof![
        4 => (0..3usize, operator, 0..3i64).prop_map(|(name, operator, number)| Condition::Compare(name, operator, number)),
        1 => (0..3usize, prop::collection::vec(0..3i64, 1..3)).prop_map(|(name, list)| Condition::In(name, list)),
        1 => (0..3usize).prop_map(Condition::Has),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let parts = || prop::collection::vec(inner.clone(), 2..4);
        let loops = proptest::sample::select(&["all", "exists", "exists_one"][..]);
        prop_oneof![
            3 => inner.clone().prop_map(|inner| Condition::Not(Box::new(inner))),
            2 => parts().prop_map(Condition::And),
            2 => parts().prop_map(Condition::Or),
            1 => [inner.clone(), inner.clone(), inner.clone()].prop_map(|parts| Condition::Choice(Box::new(parts))),
            1 => (inner.clone(), any::<bool>(), any::<bool>())
                .prop_map(|(inner, is_equal, truth)| Condition::IsTruth(Box::new(inner), is_equal, truth)),
            1 => (loops, inner.clone()).prop_map(|(name, inner)| Condition::Loop(name, Box::new(inner))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn absent_argument_agrees_with_all_its_values(
        condition in condition(),
        given in prop::array::uniform3(prop::option::of(-1..=3i64)),
    ) {
        let mut args = Object::new();
        for (name, value) in NAMES.iter().zip(given) {
            if let Some(value) = value {
                args.insert(*name, Json::from(value));
            }
        }
        let mut event = Event::new(Kind::ToolCall);
        event.args = Some(Arguments::Value(Json::Object(args)));
        let source = condition.write();
        let found = Expression::compile(&source, &Tables::default()).unwrap().holds(&EvaluationScope::new(&event));
        let outcomes = condition.outcomes(&given);
        let told = format!("{source}\non {given:?}\nfound {found:?}\nby the definition {outcomes:?}");
        match found {
            Truth::True => prop_assert_eq!(outcomes, BTreeSet::from([true]), "{}", told),
            Truth::False => prop_assert_eq!(outcomes, BTreeSet::from([false]), "{}", told),
            Truth::Unknown(_) => {
                // An argument that occurs twice has one value; the evaluation does not know that.
                let mut counts = [0; 3];
                condition.count(&mut counts);
                let is_exact = counts.iter().all(|count| *count <= 1) && !condition.is_coarse(false);
                prop_assert!(!is_exact || outcomes.len() == 2, "{}", told);
            }
        }
    }
}
