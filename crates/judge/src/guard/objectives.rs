//! The objectives of one running session: what differs from the properties of the policy.
//!
//! Added properties have a judge and a session of their own beside the policy's: no automaton is built anew. The policy's
//! properties continue to be followed; those that were removed have no say.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_event::Event;
use lictor_json::Text;
use lictor_logic::Time;
use lictor_policy::Property;
use serde::{Deserialize, Serialize};

use super::{Decider, Decision, Guard, GuardedSession};
use crate::finding::Finding;
use crate::guidance::{CallSketch, Obligation};
use crate::objective::{ObjectiveChange, ObjectiveSettings};
use crate::session::{Proposal, SavedSession, Session};
use crate::{Judge, RestoreError};

/// How many properties a session may have in addition.
const MAX_ADDED: usize = 100;

/// The objectives of one session.
#[derive(Debug, Default)]
pub(super) struct SessionObjectives {
    added: Option<Box<AddedObjectives>>,
    /// Properties of the policy without a say.
    removed: BTreeSet<Text>,
    changed: BTreeMap<Text, ObjectiveSettings>,
}

/// The properties that a session has in addition.
#[derive(Debug)]
struct AddedObjectives {
    /// Their texts, in their order.
    texts: Vec<String>,
    judge: Judge,
    session: Session,
}

/// An event that may become part of a session, as the policy and the added properties see it.
#[derive(Debug)]
pub(super) struct GuardProposal {
    pub(super) own: Proposal,
    added: Option<Proposal>,
}

/// The objectives of a session, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedObjectives {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<(Vec<String>, SavedSession)>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    removed: BTreeSet<Text>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed: BTreeMap<Text, ObjectiveSettings>,
}

impl Guard {
    /// Adds, removes or changes one property of a session, from its next event on. The decision is a block, with the
    /// reason as its message, if the change is not possible; nothing has changed then.
    pub fn change_objective(&mut self, session: &str, change: &ObjectiveChange, now: Option<Time>) -> Decision {
        self.decide(change.to_event(session), now)
    }

    /// Returns the properties that a session is judged by, those of a higher priority first.
    pub fn objectives(&self, session: &str) -> Vec<Arc<Property>> {
        let own = self.decider.judge.properties();
        match self.sessions.get(session).and_then(|guarded| guarded.objectives.as_ref()) {
            Some(objectives) => objectives.list(own),
            None => own.to_vec(),
        }
    }
}

impl GuardProposal {
    /// Returns the findings and the doubts, as the objectives of the session have them.
    pub(super) fn weigh(&self, objectives: Option<&SessionObjectives>) -> (Vec<Finding>, Vec<Arc<Property>>) {
        let (mut findings, mut doubts) = (self.own.findings.clone(), self.own.doubts.clone());
        let Some(objectives) = objectives else { return (findings, doubts) };
        findings.retain(|finding| !objectives.removed.contains(&finding.property.id));
        doubts.retain(|property| !objectives.removed.contains(&property.id));
        if let Some(added) = &self.added {
            findings.extend(added.findings.iter().cloned());
            doubts.extend(added.doubts.iter().cloned());
        }
        objectives.adjust_findings(&mut findings);
        doubts.iter_mut().for_each(|property| objectives.adjust(property));
        doubts.sort_by_key(|property| Reverse(objectives.priority(&property.id)));
        (findings, doubts)
    }
}

impl GuardedSession {
    /// Returns what an event would newly violate.
    pub(super) fn propose(&mut self, judge: &mut Judge, event: &Event) -> GuardProposal {
        let own = self.session.make_proposal(judge, event);
        let added = self.added().map(|added| added.session.make_proposal(&mut added.judge, event));
        GuardProposal { own, added }
    }

    /// Makes a proposed event part of the session.
    pub(super) fn accept(&mut self, judge: &mut Judge, proposal: GuardProposal) {
        self.session.accept(judge, proposal.own);
        if let (Some(added), Some(proposal)) = (self.added(), proposal.added) {
            added.session.accept(&mut added.judge, proposal);
        }
    }

    fn added(&mut self) -> Option<&mut AddedObjectives> {
        self.objectives.as_mut()?.added.as_deref_mut()
    }

    /// Advances the clock, and returns the deadlines missed by then.
    pub(super) fn pass_time(&mut self, judge: &mut Judge, now: Time) -> Vec<Finding> {
        let late = self.session.pass_time(judge, now);
        let more = self.added().map(|added| added.session.pass_time(&mut added.judge, now));
        self.merge(late, more)
    }

    /// Returns the next deadline.
    pub(super) fn next_deadline(&self, judge: &Judge) -> Option<Time> {
        let added = self.objectives.as_ref().and_then(|objectives| objectives.added.as_ref());
        let more = added.and_then(|added| added.session.next_deadline(&added.judge));
        self.session.next_deadline(judge).into_iter().chain(more).min()
    }

    /// Returns the open obligations, as findings of an end of the session.
    pub(super) fn find_owed(&mut self, judge: &mut Judge) -> Vec<Finding> {
        let owed = self.session.find_evident_owed(judge);
        let more = self.added().map(|added| added.session.find_evident_owed(&mut added.judge));
        self.merge(owed, more)
    }

    /// Adds missing events.
    pub(super) fn add_missing(&mut self, judge: &mut Judge, count: u64, next: Option<Time>) {
        self.session.add_missing(judge, count, next);
        if let Some(added) = self.added() {
            added.session.add_missing(&mut added.judge, count, next);
        }
    }

    /// Forgets old moments of the trails.
    pub(super) fn keep(&mut self, most: usize) {
        self.session.keep(most);
        if let Some(added) = self.added() {
            added.session.keep(most);
        }
    }

    fn merge(&self, mut findings: Vec<Finding>, more: Option<Vec<Finding>>) -> Vec<Finding> {
        if let Some(objectives) = &self.objectives {
            findings.retain(|finding| !objectives.removed.contains(&finding.property.id));
            findings.extend(more.into_iter().flatten());
            objectives.adjust_findings(&mut findings);
        }
        findings
    }

    /// Returns the open obligations.
    pub(super) fn find_obligations(&mut self, judge: &mut Judge) -> Vec<Obligation> {
        let mut open = self.session.find_obligations(judge);
        let more = self.added().map(|added| added.session.find_obligations(&mut added.judge));
        if let Some(objectives) = &self.objectives {
            open.retain(|obligation| !objectives.removed.contains(&obligation.property.id));
            open.extend(more.into_iter().flatten());
            open.iter_mut().for_each(|obligation| objectives.adjust(&mut obligation.property));
            open.sort_by_key(|it| {
                (it.deadline.unwrap_or(Time(i64::MAX)), Reverse(objectives.priority(&it.property.id)))
            });
        }
        open
    }

    /// Returns the properties that every call of a sketch would violate.
    pub(super) fn find_violated(
        &mut self,
        judge: &mut Judge,
        sketch: &CallSketch,
        now: Option<Time>,
        is_annotated: bool,
    ) -> Vec<Arc<Property>> {
        let mut violated = self.session.find_violated(judge, sketch, now, is_annotated);
        let more = self.added().map(|added| added.session.find_violated(&mut added.judge, sketch, now, is_annotated));
        if let Some(objectives) = &self.objectives {
            violated.retain(|property| !objectives.removed.contains(&property.id));
            violated.extend(more.into_iter().flatten());
            violated.iter_mut().for_each(|property| objectives.adjust(property));
        }
        violated
    }
}

impl SessionObjectives {
    fn priority(&self, id: &str) -> i64 {
        self.changed.get(id).and_then(|settings| settings.priority).unwrap_or_default()
    }

    fn adjust(&self, property: &mut Arc<Property>) {
        if let Some(settings) = self.changed.get(&property.id) {
            *property = Arc::new(settings.apply(property));
        }
    }

    fn adjust_findings(&self, findings: &mut [Finding]) {
        findings.iter_mut().for_each(|finding| self.adjust(&mut finding.property));
        findings.sort_by_key(|finding| Reverse(self.priority(&finding.property.id)));
    }

    /// Returns the properties of the session.
    fn list(&self, own: &[Arc<Property>]) -> Vec<Arc<Property>> {
        let kept = own.iter().filter(|property| !self.removed.contains(&property.id));
        let added = self.added.iter().flat_map(|added| added.judge.properties());
        let mut all: Vec<Arc<Property>> = kept.chain(added).cloned().collect();
        all.iter_mut().for_each(|property| self.adjust(property));
        all.sort_by_key(|property| Reverse(self.priority(&property.id)));
        all
    }

    /// Returns these objectives as data.
    pub(super) fn save(&self) -> SavedObjectives {
        let added = self.added.as_ref().map(|it| (it.texts.clone(), it.session.to_saved(&it.judge, 0)));
        SavedObjectives { added, removed: self.removed.clone(), changed: self.changed.clone() }
    }

    /// Restores objectives for a session of a judge, whose policy may be another than before.
    pub(super) fn restore(saved: &SavedObjectives, judge: &Judge) -> Result<SessionObjectives, RestoreError> {
        let SavedObjectives { added, removed, changed } = saved;
        let mut objectives = SessionObjectives { added: None, removed: removed.clone(), changed: changed.clone() };
        if let Some((texts, session)) = added {
            let mut compiled = compile(judge, texts).map_err(RestoreError::new)?;
            let session = Session::restore_beside(&mut compiled, session)?;
            objectives.added = Some(Box::new(AddedObjectives { texts: texts.clone(), judge: compiled, session }));
        }
        Ok(objectives)
    }
}

/// Compiles the texts of added properties.
fn compile(judge: &Judge, texts: &[String]) -> Result<Judge, String> {
    let policy = judge.base_policy();
    let mut properties = Vec::new();
    for text in texts {
        properties.push(policy.read_objective(text).map_err(|problems| problems.to_string())?);
    }
    let describe =
        |problems: Vec<lictor_policy::Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Judge::new(&policy.with_properties(properties)).map_err(describe)
}

/// A change that is checked, and takes effect once its event is accepted.
pub(super) enum PreparedChange {
    /// The added properties are these from now on; none if there are none left.
    Added(Option<(Vec<String>, Box<Judge>)>),
    Removed(Text),
    Changed(Text, ObjectiveSettings),
}

impl Decider {
    /// Checks the change that an event asks for; none if it is no such event.
    pub(super) fn prepare_change(
        &self,
        guarded: &GuardedSession,
        event: &Event,
    ) -> Option<Result<PreparedChange, String>> {
        let change = match ObjectiveChange::from_event(event)? {
            Ok(change) => change,
            Err(message) => return Some(Err(message)),
        };
        Some(self.check_change(guarded, change))
    }

    fn check_change(&self, guarded: &GuardedSession, change: ObjectiveChange) -> Result<PreparedChange, String> {
        let objectives = guarded.objectives.as_deref();
        let own = self.judge.properties();
        let known = objectives.map_or_else(|| own.to_vec(), |objectives| objectives.list(own));
        let is_known = |id: &Text| known.iter().any(|property| property.id == *id);
        let added = objectives.and_then(|objectives| objectives.added.as_ref());
        let unknown = |id: &Text| format!("the session has no property `{id}`");
        match change {
            ObjectiveChange::Add(text) => {
                let mut texts = added.map(|added| added.texts.clone()).unwrap_or_default();
                if texts.len() >= MAX_ADDED {
                    return Err(format!("the session has {MAX_ADDED} added properties, which is the limit"));
                }
                let property = self.judge.base_policy().read_objective(&text).map_err(|it| it.to_string())?;
                if is_known(&property.id) {
                    return Err(format!("the session has a property `{}` already; remove or change it", property.id));
                }
                texts.push(text);
                let judge = compile(&self.judge, &texts)?;
                Ok(PreparedChange::Added(Some((texts, Box::new(judge)))))
            }
            ObjectiveChange::Remove(id) => {
                let place = added.and_then(|it| it.judge.properties().iter().position(|known| known.id == id));
                match (place, added) {
                    (Some(place), Some(added)) => {
                        let mut texts = added.texts.clone();
                        texts.remove(place);
                        if texts.is_empty() {
                            return Ok(PreparedChange::Added(None));
                        }
                        let judge = compile(&self.judge, &texts)?;
                        Ok(PreparedChange::Added(Some((texts, Box::new(judge)))))
                    }
                    _ if is_known(&id) => Ok(PreparedChange::Removed(id)),
                    _ => Err(unknown(&id)),
                }
            }
            ObjectiveChange::Change(id, _) if !is_known(&id) => Err(unknown(&id)),
            ObjectiveChange::Change(id, settings) => Ok(PreparedChange::Changed(id, settings)),
        }
    }

    /// Makes a change take effect, after its event.
    pub(super) fn complete_change(&self, guarded: &mut GuardedSession, change: PreparedChange) -> Result<(), String> {
        let objectives = guarded.objectives.get_or_insert_default();
        match change {
            PreparedChange::Removed(id) => drop(objectives.removed.insert(id)),
            PreparedChange::Changed(id, settings) => objectives.changed.entry(id).or_default().take_over(settings),
            PreparedChange::Added(None) => objectives.added = None,
            PreparedChange::Added(Some((texts, mut judge))) => {
                let session = match &objectives.added {
                    Some(added) => {
                        let saved = added.session.to_saved(&added.judge, 0);
                        Session::restore_beside(&mut judge, &saved).map_err(|error| error.to_string())?
                    }
                    None => guarded.session.begin_beside(&mut judge),
                };
                objectives.added = Some(Box::new(AddedObjectives { texts, judge: *judge, session }));
            }
        }
        Ok(())
    }
}
