//! The symbols of a chain: what it tells events apart by.
//!
//! A symbol is the kind of an event, its tool, and its facts. A value that a formula names, a tool and a short number that
//! comes back are part of the symbol. Any other value, such as a person, is replaced by its role: which fact had it last and how
//! long ago, or that it is new. So a chain that was learnt from some persons forecasts for
//! others, and what was looked up before is changed, not something else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_logic::{Atom, Fact, Facts, Term, Value};

/// The number of roles of values that facts of one name had before.
const RECENT_VALUES: usize = 4;

/// A number with so many digits may be of a person: of an account, a telephone or a card.
const MIN_PERSONAL_DIGITS: usize = 7;

/// How many values of a session are remembered.
const MAX_VALUES: usize = 64;

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
    /// A value that the session had before.
    Recent {
        /// The name of the fact that had it last.
        of: Arc<str>,
        /// How many other values facts of this name had after it.
        place: u8,
    },
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

/// The values that a session had lately, the last first, each with the name of the fact that had it last.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentValues(Vec<(Value, Arc<str>)>);

impl RecentValues {
    fn role(&self, value: &Value) -> SymbolValue {
        let Some(place) = self.0.iter().position(|(known, _)| known == value) else { return SymbolValue::Fresh };
        let of = &self.0[place].1;
        let later = self.0[..place].iter().filter(|(_, name)| name == of).count();
        match later < RECENT_VALUES {
            true => SymbolValue::Recent { of: Arc::clone(of), place: later as u8 },
            false => SymbolValue::Fresh,
        }
    }

    /// Returns the value of a role. A session with fewer values has an earlier one in it; none if it had none.
    fn find(&self, of: &str, place: u8) -> Option<&Value> {
        self.0.iter().filter(|(_, name)| **name == *of).take(place as usize + 1).last().map(|(value, _)| value)
    }

    /// Remembers the values of an event, with the names of their facts. The first of them is the last value then.
    fn touch_all(&mut self, mut own: Vec<(Arc<str>, Value)>) {
        own.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, value) in own.into_iter().rev() {
            self.0.retain(|(known, _)| *known != value);
            self.0.insert(0, (value, name));
        }
        self.0.truncate(MAX_VALUES);
    }
}

/// Returns the symbol of an event, and remembers the values it had.
pub(crate) fn read_symbol(step: &Step, constants: &Constants, recent: &mut RecentValues) -> Symbol {
    let mut facts = BTreeSet::new();
    let mut own: Vec<(Arc<str>, Value)> = Vec::new();
    for Fact { name, values } in &step.facts.known {
        let read = |(place, value): (usize, &Value)| match constants.has(name, place, value) {
            true => SymbolValue::Constant(value.clone()),
            false => recent.role(value),
        };
        let read_values = values.iter().enumerate().map(read).collect();
        let is_own = |(place, value): &(usize, &Value)| !constants.has(name, *place, value);
        let own_values = values.iter().enumerate().filter(is_own);
        own.extend(own_values.map(|(_, value)| (Arc::clone(name), value.clone())));
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
    recent.touch_all(own);
    let Step { kind, tool, is_action, .. } = step;
    let tool = tool.clone().filter(|tool| !is_personal(&Value::Text(Arc::clone(tool))));
    Symbol { kind: Arc::clone(kind), tool, facts, is_action: *is_action }
}

/// Whether a value may be of a person: a long number, or a name with an address or a long number in it.
pub(crate) fn is_personal(value: &Value) -> bool {
    let Value::Text(name) = value else {
        return value.to_string().chars().filter(char::is_ascii_digit).count() >= MIN_PERSONAL_DIGITS;
    };
    let has_number = name.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() >= MIN_PERSONAL_DIGITS);
    let is_joined = |(before, after): (&str, &str)| {
        before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric)
    };
    has_number || name.split_once('@').is_some_and(is_joined)
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
                SymbolValue::Recent { .. } | SymbolValue::Fresh => {
                    let known = match value {
                        SymbolValue::Recent { of, place } => recent.find(of, *place).cloned(),
                        _ => None,
                    };
                    let value = known.unwrap_or_else(|| {
                        // No value of a log begins with this character.
                        *fresh += 1;
                        Value::Text(format!("\u{1}{fresh}").into())
                    });
                    own.push((Arc::clone(name), value.clone()));
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
    recent.touch_all(own);
    facts
}

impl Symbol {
    /// Returns the symbol without its tool, for tools that are too rare.
    pub(crate) fn without_tool(&self) -> Symbol {
        Symbol { tool: None, ..self.clone() }
    }
}
