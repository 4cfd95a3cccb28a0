//! The symbols of a chain: what it tells events apart by.
//!
//! A symbol is the kind of an event, its tool, and its facts. A value that recurs in many sessions, such as the name of
//! an effect, is part of the symbol. A value that belongs to one session, such as a person, is replaced by its role:
//! how long ago the session last had it, or that it is new. So a chain that was learnt from some persons forecasts for
//! others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_logic::{Atom, Fact, Facts, Term, Value};

/// The number of roles of values that a session had before.
const RECENT_VALUES: usize = 4;

/// One event of a session, as chains read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of the event, such as `tool_call`.
    pub kind: Arc<str>,
    /// The tool that it calls or that answered.
    pub tool: Option<Arc<str>>,
    /// Its facts.
    pub facts: Facts,
    /// Whether it is an action of the agent. Only these count as steps of a forecast.
    pub is_action: bool,
}

/// A class of events.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol {
    pub(crate) kind: Arc<str>,
    pub(crate) tool: Option<Arc<str>>,
    pub(crate) facts: BTreeSet<SymbolFact>,
    pub(crate) is_action: bool,
}

/// A fact of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SymbolFact {
    pub(crate) name: Arc<str>,
    pub(crate) values: Vec<SymbolValue>,
    pub(crate) is_unknown: bool,
}

/// A value of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SymbolValue {
    /// A value that is the same in all sessions.
    Constant(Value),
    /// The value of this session that it had last, or second to last, and so on.
    Recent(u8),
    /// A value that the session did not have lately.
    Fresh,
    /// Any value, in an unknown fact.
    Any,
}

/// The values that are the same in all sessions, by the name of their fact and their place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Constants(pub(crate) BTreeMap<(Arc<str>, usize), BTreeSet<Value>>);

impl Constants {
    pub(crate) fn insert(&mut self, name: &Arc<str>, place: usize, value: Value) {
        self.0.entry((Arc::clone(name), place)).or_default().insert(value);
    }

    fn has(&self, name: &Arc<str>, place: usize, value: &Value) -> bool {
        self.0.get(&(Arc::clone(name), place)).is_some_and(|values| values.contains(value))
    }

    /// Adds the values that formulas name.
    pub(crate) fn add_atoms<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) {
        for atom in atoms {
            for (place, term) in atom.terms.iter().enumerate() {
                if let Term::Value(value) = term {
                    self.insert(&atom.name, place, value.clone());
                }
            }
        }
    }
}

/// The values that a session had lately, the last first.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentValues(Vec<Value>);

impl RecentValues {
    fn role(&self, value: &Value) -> SymbolValue {
        match self.0.iter().position(|known| known == value) {
            Some(place) => SymbolValue::Recent(place as u8),
            None => SymbolValue::Fresh,
        }
    }

    fn touch(&mut self, value: &Value) {
        self.0.retain(|known| known != value);
        self.0.insert(0, value.clone());
        self.0.truncate(RECENT_VALUES);
    }
}

/// Returns the symbol of an event, and remembers the values it had.
pub(crate) fn read_symbol(step: &Step, constants: &Constants, recent: &mut RecentValues) -> Symbol {
    let mut facts = BTreeSet::new();
    let mut own: Vec<&Value> = Vec::new();
    for Fact { name, values } in &step.facts.known {
        let read = |(place, value): (usize, &Value)| match constants.has(name, place, value) {
            true => SymbolValue::Constant(value.clone()),
            false => recent.role(value),
        };
        let read_values = values.iter().enumerate().map(read).collect();
        own.extend(
            values.iter().enumerate().filter(|(place, value)| !constants.has(name, *place, value)).map(|it| it.1),
        );
        facts.insert(SymbolFact { name: Arc::clone(name), values: read_values, is_unknown: false });
    }
    for Atom { name, terms } in &step.facts.unknown {
        let read = |(place, term): (usize, &Term)| match term {
            Term::Value(value) if constants.has(name, place, value) => SymbolValue::Constant(value.clone()),
            Term::Value(value) => recent.role(value),
            Term::Any | Term::Var(_) => SymbolValue::Any,
        };
        let values = terms.iter().enumerate().map(read).collect();
        facts.insert(SymbolFact { name: Arc::clone(name), values, is_unknown: true });
    }
    // The last value of an event is the one before all others.
    own.iter().rev().for_each(|value| recent.touch(value));
    let Step { kind, tool, is_action, .. } = step;
    Symbol { kind: Arc::clone(kind), tool: tool.clone(), facts, is_action: *is_action }
}

/// Returns facts that an event of a symbol may have, and remembers their values. `fresh` numbers the new ones.
pub(crate) fn write_facts(symbol: &Symbol, recent: &mut RecentValues, fresh: &mut u64) -> Facts {
    let mut facts = Facts::default();
    let mut own = Vec::new();
    for SymbolFact { name, values, is_unknown } in &symbol.facts {
        let mut terms = Vec::with_capacity(values.len());
        for value in values {
            terms.push(match value {
                SymbolValue::Constant(value) => Term::Value(value.clone()),
                SymbolValue::Any => Term::Any,
                SymbolValue::Recent(place) if (*place as usize) < recent.0.len() => {
                    let value = recent.0[*place as usize].clone();
                    own.push(value.clone());
                    Term::Value(value)
                }
                SymbolValue::Recent(_) | SymbolValue::Fresh => {
                    // No value of a log begins with this character.
                    *fresh += 1;
                    let value = Value::Text(format!("\u{1}{fresh}").into());
                    own.push(value.clone());
                    Term::Value(value)
                }
            });
        }
        match is_unknown {
            true => facts.unknown.push(Atom::new(Arc::clone(name), terms)),
            false => {
                let value = |term: Term| match term {
                    Term::Value(value) => Some(value),
                    Term::Any | Term::Var(_) => None,
                };
                let values: Option<Vec<Value>> = terms.into_iter().map(value).collect();
                facts.known.extend(values.map(|values| Fact::new(Arc::clone(name), values)));
            }
        }
    }
    own.iter().rev().for_each(|value| recent.touch(value));
    facts
}

impl Symbol {
    /// Returns the symbol without its tool, for tools that are too rare.
    pub(crate) fn without_tool(&self) -> Symbol {
        Symbol { tool: None, ..self.clone() }
    }
}
