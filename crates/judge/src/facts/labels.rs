//! The facts of one event, in a reused buffer; or those of many events in sequence.

use std::sync::Arc;

use lictor_logic::{Atom, Chance, Choice, Fact, Facts, Name, Observation, Term, Time, Value};

/// The number of a fact's name among those that a policy asks for.
pub(crate) type NameId = u32;

/// The facts of one event, or of many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// Each fact's name, and where its values end.
    facts: Vec<(NameId, u32)>,
    values: Vec<Value>,
    /// The unknown facts.
    pub(crate) unknown: Vec<(NameId, Vec<Option<Value>>)>,
    /// The facts of which a labeler's answer has a chance. As it was said, the answer is among the others, too. They
    /// belong to one event and are not kept with it.
    choices: Vec<(NameId, Vec<Value>, Option<Chance>)>,
}

/// A place between the facts of one event and those of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    facts: u32,
    unknown: u32,
}

impl Mark {
    /// Returns this place after everything before `gone` was removed.
    pub(crate) fn behind(self, gone: Mark) -> Mark {
        Mark { facts: self.facts - gone.facts, unknown: self.unknown - gone.unknown }
    }
}

impl Labels {
    pub(crate) fn clear(&mut self) {
        self.facts.clear();
        self.values.clear();
        self.unknown.clear();
        self.choices.clear();
    }

    /// Adds a fact.
    #[inline]
    pub(crate) fn push(&mut self, name: NameId, values: &[Value]) {
        self.values.extend_from_slice(values);
        self.facts.push((name, self.values.len() as u32));
    }

    /// Adds a fact, if some property asks for it.
    #[inline]
    pub(crate) fn add(&mut self, name: Option<NameId>, values: &[Value]) {
        if let Some(name) = name {
            self.push(name, values);
        }
    }

    /// Adds an unknown fact; `None` among the values stands for any value.
    pub(crate) fn doubt(&mut self, name: NameId, values: Vec<Option<Value>>) {
        self.unknown.push((name, values));
    }

    /// Notes the chance that a fact holds, of which labelers spoke; none if it is not known. What they said must be added
    /// as well.
    pub(crate) fn note_chance(&mut self, name: NameId, values: Vec<Value>, chance: Option<Chance>) {
        self.choices.push((name, values, chance));
    }

    /// Returns the facts as properties with a risk read them: those with a chance are choices, and neither known nor
    /// unknown. Those of which labelers spoke without one are unknown, whatever was said.
    pub(crate) fn doubtful_facts(&self, time: Option<Time>, names: &[Arc<str>]) -> (Facts, Vec<Choice>) {
        let mut facts = self.facts(time, names);
        let choice = |(name, values, chance): &(NameId, Vec<Value>, Option<Chance>)| {
            let name = Arc::clone(&names[*name as usize]);
            (Fact { name, values: values.clone().into() }, *chance)
        };
        let choices: Vec<(Fact, Option<Chance>)> = self.choices.iter().map(choice).collect();
        let is_choice = |name: &str, values: &[Value]| {
            choices.iter().any(|(fact, _)| *fact.name == *name && fact.values[..] == *values)
        };
        facts.known.retain(|fact| !is_choice(&fact.name, &fact.values));
        facts.unknown.retain(|atom| {
            let values = atom.terms.iter().map(|term| match term {
                Term::Value(value) => Some(value.clone()),
                _ => None,
            });
            !values.collect::<Option<Vec<Value>>>().is_some_and(|values| is_choice(&atom.name, &values))
        });
        let unweighed = choices.iter().filter(|(_, chance)| chance.is_none()).map(|(fact, _)| {
            Atom::new(Arc::clone(&fact.name), fact.values.iter().cloned().map(Term::Value).collect::<Vec<_>>())
        });
        facts.unknown.extend(unweighed);
        let weighed = choices.into_iter().filter_map(|(fact, chance)| Some(Choice::new(fact, chance?)));
        (facts, weighed.collect())
    }

    /// The facts, with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NameId, &[Value])> {
        self.between(Mark::default(), self.end())
    }

    /// The facts between two places.
    fn between(&self, from: Mark, to: Mark) -> impl Iterator<Item = (NameId, &[Value])> {
        let facts = &self.facts[from.facts as usize..to.facts as usize];
        let mut start = from.facts.checked_sub(1).map_or(0, |last| self.facts[last as usize].1 as usize);
        facts.iter().map(move |(name, end)| {
            let values = &self.values[start..*end as usize];
            start = *end as usize;
            (*name, values)
        })
    }

    /// Returns the place after all facts.
    pub(crate) fn end(&self) -> Mark {
        Mark { facts: self.facts.len() as u32, unknown: self.unknown.len() as u32 }
    }

    /// Moves the facts of another event to the end.
    pub(crate) fn append(&mut self, other: &mut Labels) {
        let before = self.values.len() as u32;
        self.facts.extend(other.facts.drain(..).map(|(name, end)| (name, before + end)));
        self.values.append(&mut other.values);
        self.unknown.append(&mut other.unknown);
        other.choices.clear();
    }

    /// Drops the facts before a place.
    pub(crate) fn forget(&mut self, until: Mark) {
        let gone = until.facts.checked_sub(1).map_or(0, |last| self.facts[last as usize].1);
        self.values.drain(..gone as usize);
        self.facts.drain(..until.facts as usize);
        self.facts.iter_mut().for_each(|(_, end)| *end -= gone);
        self.unknown.drain(..until.unknown as usize);
    }

    /// Returns the facts with those names only.
    pub(crate) fn only(&self, is_asked: impl Fn(NameId) -> bool) -> Labels {
        let mut asked = Labels::default();
        self.iter().filter(|(name, _)| is_asked(*name)).for_each(|(name, values)| asked.push(name, values));
        asked.unknown.extend(self.unknown.iter().filter(|(name, _)| is_asked(*name)).cloned());
        asked
    }

    /// Fills an observation, the engine's fastest input; nothing may be unknown.
    pub(crate) fn fill(&self, observation: &mut Observation, time: Option<Time>, names: &[Name]) {
        observation.clear();
        observation.time = time;
        for (name, values) in self.iter() {
            observation.push(names[name as usize], values);
        }
    }

    /// Returns the facts as an owned value.
    pub(crate) fn facts(&self, time: Option<Time>, names: &[Arc<str>]) -> Facts {
        self.facts_between(Mark::default(), self.end(), time, names, |_| true)
    }

    /// Returns the facts with those names between two places, as an owned value.
    pub(crate) fn facts_between(
        &self,
        from: Mark,
        to: Mark,
        time: Option<Time>,
        names: &[Arc<str>],
        is_asked: impl Fn(NameId) -> bool,
    ) -> Facts {
        let known = self.between(from, to).filter(|(name, _)| is_asked(*name));
        let known = known.map(|(name, values)| Fact::new(Arc::clone(&names[name as usize]), values)).collect();
        let term = |value: &Option<Value>| value.clone().map_or(Term::Any, Term::Value);
        let atom = |(name, values): &(NameId, Vec<Option<Value>>)| {
            Atom::new(Arc::clone(&names[*name as usize]), values.iter().map(term).collect::<Vec<_>>())
        };
        let unknown = self.unknown[from.unknown as usize..to.unknown as usize].iter();
        Facts { time, known, unknown: unknown.filter(|(name, _)| is_asked(*name)).map(atom).collect() }
    }
}
