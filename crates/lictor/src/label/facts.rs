//! The facts of one event, in a buffer that is filled again and again.

use std::sync::Arc;

use lictor_logic::{Atom, Fact, Facts, Name, Observation, Term, Time, Value};

/// The number of a fact's name among those that a policy asks for.
pub(crate) type NameId = u32;

/// The facts of one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// Each fact's name, and where its values end.
    facts: Vec<(NameId, u32)>,
    values: Vec<Value>,
    /// What could not be told.
    pub(crate) unknown: Vec<(NameId, Vec<Option<Value>>)>,
}

impl Labels {
    pub(crate) fn clear(&mut self) {
        self.facts.clear();
        self.values.clear();
        self.unknown.clear();
    }

    /// Adds a fact.
    #[inline]
    pub(crate) fn push(&mut self, name: NameId, values: &[Value]) {
        self.values.extend_from_slice(values);
        self.facts.push((name, self.values.len() as u32));
    }

    /// Adds a fact, if it is asked for.
    #[inline]
    pub(crate) fn add(&mut self, name: Option<NameId>, values: &[Value]) {
        if let Some(name) = name {
            self.push(name, values);
        }
    }

    /// Says that a fact may hold; none among the values stands for any.
    pub(crate) fn doubt(&mut self, name: NameId, values: Vec<Option<Value>>) {
        self.unknown.push((name, values));
    }

    fn iter(&self) -> impl Iterator<Item = (NameId, &[Value])> {
        let mut start = 0;
        self.facts.iter().map(move |(name, end)| {
            let values = &self.values[start..*end as usize];
            start = *end as usize;
            (*name, values)
        })
    }

    /// Marks the names that hold.
    pub(crate) fn mark(&self, held: &mut [bool]) {
        for (name, _) in &self.facts {
            held[*name as usize] = true;
        }
    }

    /// As the engine reads them fastest; nothing may be unknown.
    pub(crate) fn fill(&self, observation: &mut Observation, time: Option<Time>, names: &[Name]) {
        observation.clear();
        observation.time = time;
        for (name, values) in self.iter() {
            observation.push(names[name as usize], values);
        }
    }

    /// As a value of their own.
    pub(crate) fn facts(&self, time: Option<Time>, names: &[Arc<str>]) -> Facts {
        let known = self.iter().map(|(name, values)| Fact::new(Arc::clone(&names[name as usize]), values)).collect();
        let term = |value: &Option<Value>| value.clone().map_or(Term::Any, Term::Value);
        let atom = |(name, values): &(NameId, Vec<Option<Value>>)| {
            Atom::new(Arc::clone(&names[*name as usize]), values.iter().map(term).collect::<Vec<_>>())
        };
        Facts { time, known, unknown: self.unknown.iter().map(atom).collect() }
    }
}
