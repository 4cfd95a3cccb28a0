//! One position with its names as numbers, for callers that cannot afford strings.

use std::sync::Arc;

use crate::facts::{Fact, Facts};
use crate::interval::Time;
use crate::value::Value;

/// The number of a fact's name in a [`MonitorSet`](crate::MonitorSet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(pub(crate) u32);

/// The facts of one position; a buffer to be filled again and again.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Its time; none means the time of the position before.
    pub time: Option<Time>,
    facts: Vec<(Name, u32)>,
    values: Vec<Value>,
    /// The letters that a set computed for it; valid until one of them changes.
    plan: Option<LetterPlan>,
}

/// The letters that monitors without bindings read.
#[derive(Clone, Debug)]
pub(crate) struct LetterPlan {
    /// The version of the set.
    pub(crate) version: u64,
    pub(crate) letters: Vec<(u32, u64)>,
}

impl Observation {
    /// Returns a position without facts.
    pub fn new() -> Observation {
        Observation::default()
    }

    /// Removes all facts and the time.
    pub fn clear(&mut self) {
        self.time = None;
        self.plan = None;
        self.facts.clear();
        self.values.clear();
    }

    /// Adds a fact.
    pub fn push(&mut self, name: Name, values: &[Value]) {
        self.plan = None;
        self.facts.push((name, self.values.len() as u32));
        self.values.extend_from_slice(values);
    }

    pub(crate) fn plan(&self) -> Option<&LetterPlan> {
        self.plan.as_ref()
    }

    pub(crate) fn set_plan(&mut self, plan: LetterPlan) {
        self.plan = Some(plan);
    }

    pub(crate) fn len(&self) -> usize {
        self.facts.len()
    }

    /// Returns the name of the fact at an index.
    pub(crate) fn name(&self, place: usize) -> Name {
        self.facts[place].0
    }

    fn facts(&self) -> impl Iterator<Item = (Name, &[Value])> {
        (0..self.facts.len()).map(|place| (self.facts[place].0, self.values(place as u32)))
    }

    /// Returns the values of the fact at an index.
    pub(crate) fn values(&self, place: u32) -> &[Value] {
        let start = self.facts[place as usize].1 as usize;
        let end = self.facts.get(place as usize + 1).map_or(self.values.len(), |(_, start)| *start as usize);
        &self.values[start..end]
    }

    /// Returns the facts with names as strings.
    pub(crate) fn to_facts(&self, names: &[Arc<str>]) -> Facts {
        let known = self.facts().map(|(name, values)| Fact::new(Arc::clone(&names[name.0 as usize]), values.to_vec()));
        Facts { time: self.time, known: known.collect(), unknown: Vec::new() }
    }
}
