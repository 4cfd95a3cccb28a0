//! The steps of a session with its own judge. The public methods check that first; the guard owns both.

use std::sync::Arc;

use lictor_event::Event;
use lictor_logic::Time;

use super::{Proposal, Session, SessionError, Version};
use crate::finding::{DecidedBy, Finding};
use crate::trail::{EventSummary, TrailEnd};
use crate::{HistoryEvent, Judge, LabeledEvent, SessionState, Violation};

impl Session {
    /// Returns what an event would newly violate. The session, and what is remembered across sessions, stay as they
    /// are.
    pub(crate) fn make_proposal(&self, judge: &mut Judge, event: &Event) -> Proposal {
        let mut standing = self.spare.take().unwrap_or_else(|| self.state.standing.clone());
        let (labeled, step) = (judge.label(&self.state, event), self.state.steps + 1);
        let mut beliefs = self.state.beliefs.clone();
        let (mut violations, mut unweighed) =
            judge.read_with_risks(&mut standing, &mut beliefs, &self.state.counts, &labeled);
        let mut doubts = self.state.spare_lost(&mut violations);
        let (labels, notes) = (&labeled.labels, &labeled.notes);
        let whose = notes.whose.as_ref().unwrap_or(self.state.whose());
        let history_event = judge.history_event(whose, labels, event, step, || self.name().clone(), self.shows_content);
        let summary = EventSummary::new(event, step, self.shows_content);
        let later = TrailEnd::event(labels, &summary, &violations);
        let mut findings = without_numbers(self.trail.findings(judge.provers(), &violations.broken, later));
        let own = findings.len();
        doubts.append(&mut judge.doubts((&self.state.standing, &standing), &self.trail, &labeled, &violations));
        doubts.retain(|property| !judge.has_risk(*property) || self.state.is_lost(*property));
        doubts.append(&mut unweighed);
        let blind = self.state.blind.as_deref().unwrap_or_default();
        doubts.append(&mut judge.prepared().blind_doubts(blind, labels));
        if let Some(history_event) = &history_event {
            let before = self.hypothesis.as_deref().unwrap_or_default();
            let (previewed, mut doubtful) = judge.preview_shared(before, history_event);
            findings.extend(previewed.into_iter().map(|(_, finding)| finding));
            doubts.append(&mut doubtful);
        }
        if self.is_torn {
            // The missing events may belong to any history across sessions, and none of them contains them.
            doubts.extend(judge.beyond_sessions());
            doubts.retain(|doubt| !findings.iter().any(|finding| finding.property.id == judge.properties()[*doubt].id));
        }
        doubts.sort_unstable();
        doubts.dedup();
        let doubts = doubts.into_iter().map(|property| Arc::clone(&judge.properties()[property])).collect();
        Proposal {
            session: self.name().clone(),
            from: Arc::clone(&self.version),
            earlier: Vec::new(),
            to: Version::default(),
            base: None,
            standing,
            beliefs,
            labeled,
            violations,
            summary,
            own,
            history_event,
            findings,
            doubts,
        }
    }

    /// Returns what an event would newly violate after a proposed one.
    pub(super) fn make_proposal_upon(
        &self,
        judge: &mut Judge,
        proposal: &Proposal,
        event: &Event,
    ) -> Result<Proposal, SessionError> {
        if !proposal.continues(&self.version) {
            return Err(SessionError::stale(proposal));
        }
        let mut base = match &proposal.base {
            Some(base) => base.fork(),
            None => self.fork(),
        };
        base.accept(judge, proposal.copy());
        base.version = Arc::clone(&proposal.to);
        let mut next = base.make_proposal(judge, event);
        next.earlier.extend(proposal.earlier.iter().chain([&proposal.from]).cloned());
        next.base = Some(Box::new(base));
        Ok(next)
    }

    /// Returns the session that a proposal was made for: this one, or this one after earlier proposals.
    pub(crate) fn base_of<'a>(&'a self, proposal: &'a Proposal) -> Result<&'a Session, SessionError> {
        match proposal.continues(&self.version) {
            true => Ok(proposal.base.as_deref().unwrap_or(self)),
            false => Err(SessionError::stale(proposal)),
        }
    }

    /// Makes an event part of the session. It must have been proposed for the present state.
    pub(crate) fn accept(&mut self, judge: &mut Judge, proposal: Proposal) -> Vec<Finding> {
        self.is_torn = false;
        self.version = proposal.to;
        let mut behind = std::mem::replace(&mut self.state.standing, proposal.standing);
        judge.catch_up(&mut behind, &self.state.standing, &proposal.labeled);
        *self.spare.get_mut() = Some(behind);
        self.state.beliefs = proposal.beliefs;
        let LabeledEvent { notes, mut labels, observation } = proposal.labeled;
        self.state.take(notes, &proposal.violations);
        self.trail.append(&mut labels, proposal.summary, &proposal.violations);
        judge.recycle(labels, observation);
        let mut findings = proposal.findings;
        match &mut self.hypothesis {
            Some(events) => events.extend(proposal.history_event),
            None => {
                findings.truncate(proposal.own);
                self.commit_shared(judge, proposal.history_event, &mut findings);
            }
        }
        findings
    }

    /// Makes an event part of the session, and returns what it violates.
    pub(super) fn add_event(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        if self.hypothesis.is_some() {
            let proposal = self.make_proposal(judge, event);
            return self.accept(judge, proposal);
        }
        let (mut findings, history_event) = self.step(judge, event, true);
        self.commit_shared(judge, history_event, &mut findings);
        findings
    }

    /// Makes an event part of the session. Returns what it violates there, and the event for histories across sessions.
    pub(super) fn step(
        &mut self,
        judge: &mut Judge,
        event: &Event,
        is_wide: bool,
    ) -> (Vec<Finding>, Option<HistoryEvent>) {
        self.renew();
        self.is_torn = false;
        let labeled = judge.label(&self.state, event);
        let SessionState { standing, beliefs, counts, .. } = &mut self.state;
        let (mut violations, _) = judge.read_with_risks(standing, beliefs, counts, &labeled);
        self.state.spare_lost(&mut violations);
        let LabeledEvent { notes, mut labels, observation } = labeled;
        self.state.take(notes, &violations);
        let (whose, step, name) = (self.state.whose(), self.state.steps, || self.name().clone());
        let history_event = match is_wide {
            true => judge.history_event(whose, &labels, event, step, name, self.shows_content),
            false => None,
        };
        let summary = EventSummary::new(event, step, self.shows_content);
        let later = TrailEnd::event(&labels, &summary, &violations);
        let findings = without_numbers(self.trail.findings(judge.provers(), &violations.broken, later));
        self.trail.append(&mut labels, summary, &violations);
        judge.recycle(labels, observation);
        (findings, history_event)
    }

    /// Invalidates all proposals, because the session changes by something that was not proposed.
    pub(super) fn renew(&mut self) {
        *self.spare.get_mut() = None;
        self.version = Version::default();
    }

    /// Returns the next deadline.
    pub(crate) fn next_deadline(&self, judge: &Judge) -> Option<Time> {
        judge.deadline(&self.state)
    }

    /// Advances the clock, and returns the deadlines missed by then.
    pub(crate) fn pass_time(&mut self, judge: &mut Judge, now: Time) -> Vec<Finding> {
        if self.next_deadline(judge).is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.renew();
        let violations = judge.tick(&mut self.state, now);
        let findings = self.trail.findings(judge.provers(), &violations.broken, TrailEnd::Time(now));
        self.trail.pass(now, &violations);
        without_numbers(findings)
    }

    /// Returns the open obligations: what would be found if the session ended now.
    pub(crate) fn find_owed(&self, judge: &mut Judge) -> Vec<Finding> {
        let (mut state, mut findings) = (self.state.clone(), Vec::new());
        for property in 0..judge.properties().len() {
            if judge.is_open(&mut state, property) {
                let risk = judge.risk_at_end(&state, property).map(|(risk, _)| risk);
                let broken = Violation { property, by: DecidedBy::End, binding: Vec::new(), risk };
                let mut finding = self.trail.finding(judge.provers(), &broken, TrailEnd::Nothing);
                finding.owed = judge.residual(&mut state, property).map(|(_, words)| words);
                finding.fingerprint = finding.print();
                findings.push(finding);
            }
        }
        findings
    }

    /// Returns the open obligations, without those that only evidence could meet of which the session has none.
    ///
    /// A live session cannot know what other logs state. Without this, each session would end in a violation where the
    /// application states no such evidence at all.
    pub(crate) fn find_evident_owed(&self, judge: &mut Judge) -> Vec<Finding> {
        let mut owed = self.find_owed(judge);
        owed.retain(|finding| judge.has_evidence(&finding.property, |name| self.may_have_fact(judge, name)));
        owed
    }

    /// Whether some event had, or may have had, a fact of that name.
    pub(super) fn may_have_fact(&self, judge: &Judge, name: &str) -> bool {
        judge.prepared().plan.id(name).is_some_and(|name| self.trail.may_have_fact(name))
    }

    /// Makes an event part of the histories across sessions.
    fn commit_shared(&mut self, judge: &mut Judge, history_event: Option<HistoryEvent>, findings: &mut Vec<Finding>) {
        let Some(history_event) = history_event else { return };
        for (property, finding) in judge.commit_shared(history_event) {
            // A deadline that had already passed may be of another session.
            if finding.session == *self.name() {
                self.state.tally(property);
            }
            findings.push(finding);
        }
    }
}

/// Drops the property numbers of findings.
pub(super) fn without_numbers(findings: Vec<(usize, Finding)>) -> Vec<Finding> {
    findings.into_iter().map(|(_, finding)| finding).collect()
}
