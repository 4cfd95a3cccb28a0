//! One session of an agent, judged step by step, with its history at hand for witnesses.

mod missing;
mod saved;
mod summary;

use std::cell::RefCell;
use std::sync::Arc;

use lictor_logic::{Time, TraceState, Verdict};

pub use saved::SavedSession;
pub use summary::{PropertySummary, SessionSummary};

use crate::finding::{DecidedBy, Finding};
use crate::trail::{EventSummary, Later, Trail};
use crate::{HistoryEvent, Judge, Labeled, SessionState, Violation, Violations};
use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::Property;

/// One session of an agent.
///
/// Nothing is judged twice: [`propose`](Session::propose) says what an event would break and changes nothing,
/// [`commit`](Session::commit) makes it part of the session. A session belongs to the judge that began it.
#[derive(Debug)]
pub struct Session {
    state: SessionState,
    trail: Trail,
    shows_content: bool,
    /// A second standing of the same trace, so that nothing is copied to propose an event. It is only ever taken out and
    /// put back.
    spare: RefCell<Option<TraceState>>,
    /// Whether events are missing right before the next one.
    is_torn: bool,
}

/// An event that may become part of a session, and what it would break.
#[derive(Debug)]
pub struct Proposal {
    /// Where the session would stand.
    standing: TraceState,
    labeled: Labeled,
    violations: Violations,
    /// What is told of the event.
    summary: EventSummary,
    /// How many of the findings are of properties that are judged over the session.
    own: usize,
    /// The same event for histories across sessions.
    history_event: Option<HistoryEvent>,
    /// What the event would newly break.
    pub findings: Vec<Finding>,
    /// The properties of which nobody can tell whether the event breaks them.
    pub doubts: Vec<Arc<Property>>,
}

impl Session {
    /// A session that has just begun.
    pub fn new(judge: &mut Judge, name: impl Into<Text>) -> Session {
        Session::at(judge.start(), Trail::of(name.into()), false)
    }

    fn at(state: SessionState, trail: Trail, shows_content: bool) -> Session {
        Session { state, trail, shows_content, spare: RefCell::default(), is_torn: false }
    }

    /// Lets witnesses show what was said and called, shortened. Without it no content leaves the session.
    #[must_use]
    pub fn showing_content(mut self) -> Session {
        self.shows_content = true;
        self
    }

    /// Its name.
    pub fn name(&self) -> &Text {
        &self.trail.session
    }

    /// How many events it has.
    pub fn steps(&self) -> u32 {
        self.state.steps
    }

    /// Says what an event would newly break. The session, and what is remembered across sessions, stay as they are.
    pub fn propose(&self, judge: &mut Judge, event: &Event) -> Proposal {
        let mut standing = self.spare.take().unwrap_or_else(|| self.state.standing.clone());
        let (labeled, step) = (judge.label(&self.state, event), self.state.steps + 1);
        let mut violations = judge.read(&mut standing, &labeled);
        let mut doubts = self.state.spare_lost(&mut violations);
        let (labels, notes) = (&labeled.labels, &labeled.notes);
        let whose = notes.whose.as_ref().unwrap_or(self.state.whose());
        let history_event = judge.history_event(whose, labels, event, step, || self.name().clone(), self.shows_content);
        let summary = EventSummary::new(event, step, self.shows_content);
        let later = Later::event(labels, &summary, &violations);
        let mut findings = told(self.trail.findings(judge.provers(), &violations.broken, later));
        let own = findings.len();
        doubts.append(&mut judge.doubts((&self.state.standing, &standing), &self.trail, &labeled, &violations));
        if let Some(history_event) = &history_event {
            let (foreseen, mut doubtful) = judge.preview_shared(history_event);
            findings.extend(foreseen.into_iter().map(|(_, finding)| finding));
            doubts.append(&mut doubtful);
        }
        if self.is_torn {
            // Whosever the missing events were, histories across sessions do not know of them.
            doubts.extend(judge.beyond_sessions());
            doubts.retain(|doubt| !findings.iter().any(|finding| finding.property.id == judge.properties()[*doubt].id));
        }
        doubts.sort_unstable();
        doubts.dedup();
        let doubts = doubts.into_iter().map(|property| Arc::clone(&judge.properties()[property])).collect();
        Proposal { standing, labeled, violations, summary, own, history_event, findings, doubts }
    }

    /// Makes a proposed event part of the session, and says what it broke. Other sessions may have gone on since it was
    /// proposed: what it breaks in histories across sessions is judged as they are now.
    pub fn commit(&mut self, judge: &mut Judge, proposal: Proposal) -> Vec<Finding> {
        self.is_torn = false;
        let mut behind = std::mem::replace(&mut self.state.standing, proposal.standing);
        judge.read(&mut behind, &proposal.labeled);
        *self.spare.get_mut() = Some(behind);
        let Labeled { notes, mut labels, observation } = proposal.labeled;
        self.state.take(notes, &proposal.violations);
        self.trail.append(&mut labels, proposal.summary, &proposal.violations);
        judge.recycle(labels, observation);
        let mut findings = proposal.findings;
        findings.truncate(proposal.own);
        self.commit_shared(judge, proposal.history_event, &mut findings);
        findings
    }

    /// The same as proposing and committing at once, without a copy of where the session stands.
    pub fn observe(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        let (mut findings, history_event) = self.step(judge, event, true);
        self.commit_shared(judge, history_event, &mut findings);
        findings
    }

    /// Adds an event to the session alone: histories across sessions stay as they are, and are not judged.
    pub fn observe_alone(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        self.step(judge, event, false).0
    }

    /// Makes an event part of the session; beside what it broke there, the same event for histories across sessions.
    fn step(&mut self, judge: &mut Judge, event: &Event, is_wide: bool) -> (Vec<Finding>, Option<HistoryEvent>) {
        *self.spare.get_mut() = None;
        self.is_torn = false;
        let labeled = judge.label(&self.state, event);
        let mut violations = judge.read(&mut self.state.standing, &labeled);
        self.state.spare_lost(&mut violations);
        let Labeled { notes, mut labels, observation } = labeled;
        self.state.take(notes, &violations);
        let (whose, step, name) = (self.state.whose(), self.state.steps, || self.name().clone());
        let history_event = match is_wide {
            true => judge.history_event(whose, &labels, event, step, name, self.shows_content),
            false => None,
        };
        let summary = EventSummary::new(event, step, self.shows_content);
        let later = Later::event(&labels, &summary, &violations);
        let findings = told(self.trail.findings(judge.provers(), &violations.broken, later));
        self.trail.append(&mut labels, summary, &violations);
        judge.recycle(labels, observation);
        (findings, history_event)
    }

    /// The next moment at which something is due.
    pub fn deadline(&self, judge: &Judge) -> Option<Time> {
        judge.deadline(&self.state)
    }

    /// Lets time pass: what was due by then is late. Histories across sessions have a
    /// [tick of their own](Judge::tick_histories).
    pub fn tick(&mut self, judge: &mut Judge, now: Time) -> Vec<Finding> {
        if self.deadline(judge).is_none_or(|due| due > now) {
            return Vec::new();
        }
        *self.spare.get_mut() = None;
        let violations = judge.tick(&mut self.state, now);
        let findings = self.trail.findings(judge.provers(), &violations.broken, Later::Time(now));
        self.trail.pass(now, &violations);
        told(findings)
    }

    /// Forgets the oldest half of what happened once that is more than so many moments. Verdicts stay as they are; a
    /// witness goes back no further.
    pub fn keep(&mut self, most: usize) {
        self.trail.keep(most);
    }

    /// Ends the session: what was owed and never came is found now.
    pub fn finish(&mut self, judge: &mut Judge) -> Vec<Finding> {
        self.owed(judge)
    }

    /// What would be found if the session ended now: what is owed and has not come yet.
    pub fn owed(&self, judge: &mut Judge) -> Vec<Finding> {
        let (mut state, mut findings) = (self.state.clone(), Vec::new());
        for property in 0..judge.properties().len() {
            let live = judge.verdict(&mut state, property);
            if live == Verdict::Inconclusive && judge.end(&mut state, property) == Verdict::Violated {
                let broken = Violation { property, by: DecidedBy::End, binding: Vec::new() };
                let mut finding = self.trail.finding(judge.provers(), &broken, Later::Nothing);
                finding.owed = judge.residual(&mut state, property).map(|(_, words)| words);
                finding.fingerprint = finding.print();
                findings.push(finding);
            }
        }
        findings
    }

    /// Makes an event part of the histories across sessions.
    fn commit_shared(&mut self, judge: &mut Judge, history_event: Option<HistoryEvent>, findings: &mut Vec<Finding>) {
        let Some(history_event) = history_event else { return };
        for (property, finding) in judge.commit_shared(history_event) {
            // What was late before the event may be another session's doing.
            if finding.session == *self.name() {
                self.state.tally(property);
            }
            findings.push(finding);
        }
    }
}

/// Findings without the numbers of their properties.
fn told(findings: Vec<(usize, Finding)>) -> Vec<Finding> {
    findings.into_iter().map(|(_, finding)| finding).collect()
}
