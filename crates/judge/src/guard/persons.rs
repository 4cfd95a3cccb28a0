//! The persons that an event, a decision or a finding is about.

use std::collections::BTreeSet;

use lictor_logic::{Fact, Value};

use super::{Cause, Decider, Decision, Guard};
use crate::Judge;
use crate::facts::person;
use crate::finding::Finding;
use lictor_event::{Arguments, Event};
use lictor_json::Text;
use lictor_recognise::{PersonalData, Recogniser};

impl Guard {
    /// Returns the persons in a decision: those of its event, its principal, and those that witnesses name.
    pub fn persons(&self, decision: &Decision) -> Vec<String> {
        self.decider.persons(decision)
    }

    /// Returns the persons that a finding names.
    pub fn persons_of(&self, finding: &Finding) -> Vec<String> {
        let mut told = PersonCollector::new(self.decider.recogniser());
        told.finding(finding);
        told.persons()
    }

    /// Returns the categories of personal data that a finding's witness names, as far as the policy or Lictor define
    /// them: a log may call anything a category, also a person's name.
    pub fn categories_of(&self, finding: &Finding) -> Vec<Text> {
        let recogniser = self.decider.recogniser();
        let facts = finding.witness.iter().flat_map(|proof| &proof.present).filter_map(|fact| Fact::parse(fact).ok());
        let named = facts.filter(|fact| matches!(&*fact.name, "carries" | "special"));
        let named = named.filter_map(|fact| match fact.values.first() {
            Some(Value::Text(category)) => Some(Text::new(category)),
            _ => None,
        });
        named.filter(|category| recogniser.knows_category(category)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether a text names a person, as far as persons are recognised.
    pub fn names_person(&self, text: &str) -> bool {
        let mut found = PersonalData::default();
        self.decider.recogniser().text(text, &mut found);
        !found.subjects.is_empty()
    }
}

impl Judge {
    /// Returns the persons that an event names, each in the form in which persons are compared: those it states, its
    /// principal, and those recognised in its content.
    pub fn find_persons(&self, event: &Event) -> Vec<String> {
        let mut told = PersonCollector::new(&self.prepared().plan.recogniser);
        told.event(event);
        told.persons()
    }
}

impl Decider {
    fn recogniser(&self) -> &Recogniser {
        &self.judge.prepared().plan.recogniser
    }

    pub(super) fn persons(&self, decision: &Decision) -> Vec<String> {
        let mut told = PersonCollector::new(self.recogniser());
        told.event(&decision.event);
        for objection in &decision.objections {
            if let Cause::Violation(finding) = &objection.why {
                told.finding(finding);
            }
        }
        told.persons()
    }
}

/// Collects the persons that are named.
struct PersonCollector<'a> {
    recogniser: &'a Recogniser,
    found: PersonalData,
    given: BTreeSet<String>,
}

impl<'a> PersonCollector<'a> {
    fn new(recogniser: &'a Recogniser) -> PersonCollector<'a> {
        PersonCollector { recogniser, found: PersonalData::default(), given: BTreeSet::new() }
    }

    fn event(&mut self, event: &Event) {
        let PersonCollector { recogniser, found, given } = self;
        match &event.args {
            Some(Arguments::Value(value)) => recogniser.value(value, found),
            Some(Arguments::Unparsed(text)) => recogniser.text(text, found),
            None => {}
        }
        event.result.iter().for_each(|result| recogniser.value(result, found));
        event.more.iter().for_each(|(_, value)| recogniser.value(value, found));
        let texts = [&event.text, &event.session, &event.id, &event.tool, &event.agent, &event.to];
        texts.into_iter().flatten().chain(&event.labels).for_each(|text| recogniser.text(text, found));
        let values = event.facts.iter().flat_map(|fact| &fact.values);
        values.for_each(|value| {
            if let Value::Text(text) = value {
                recogniser.text(text, found)
            }
        });
        let named = event.subjects.iter().flatten().chain(&event.principal);
        given.extend(named.map(|subject| person(subject).into_owned()));
    }

    fn finding(&mut self, finding: &Finding) {
        for proof in &finding.witness {
            let texts = proof.present.iter().chain(&proof.absent).chain(&proof.content);
            texts.for_each(|text| self.recogniser.text(text, &mut self.found));
            for fact in proof.present.iter().chain(&proof.absent).filter_map(|fact| Fact::parse(fact).ok()) {
                // The first value of these facts is a person, as the log named them.
                let is_personal = matches!(
                    &*fact.name,
                    "discloses"
                        | "subject"
                        | "consent"
                        | "explicit_consent"
                        | "withdraws"
                        | "erasure"
                        | "erasure_done"
                        | "erasure_requested"
                );
                if let (true, Some(Value::Text(first))) = (is_personal, fact.values.first()) {
                    self.given.insert(first.to_string());
                }
            }
        }
    }

    fn persons(mut self) -> Vec<String> {
        self.given.extend(self.found.subjects.iter().map(ToString::to_string));
        // Stands for an unknown person.
        self.given.remove("*");
        self.given.remove("");
        self.given.into_iter().collect()
    }
}
