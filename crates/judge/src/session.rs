//! One session of an agent, judged event by event, with its trail kept for witnesses.

mod missing;
mod saved;
mod summary;

use std::cell::RefCell;
use std::fmt;
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
/// [`propose`](Session::propose) returns what an event would violate and changes nothing; [`commit`](Session::commit)
/// makes it part of the session without judging it again. A session belongs to the judge that began it.
#[derive(Debug)]
pub struct Session {
    state: SessionState,
    trail: Trail,
    shows_content: bool,
    /// A second state of the same trace, so that proposing copies nothing. It is only taken out and put back.
    spare: RefCell<Option<TraceState>>,
    /// Whether events are missing right before the next one.
    is_torn: bool,
    /// The current version: a proposal is valid only for the version it was made for.
    version: Version,
    /// For a fork, its own events as histories across sessions would see them; `None` for a real session.
    hypothesis: Option<Vec<HistoryEvent>>,
}

/// The identity of one state of one session: its address.
type Version = Arc<()>;

/// An event that may become part of a session, and what it would violate. It knows the session and the state that it
/// was made for.
#[derive(Debug)]
pub struct Proposal {
    session: Text,
    /// The version it was made for, and the version it leads to.
    from: Version,
    to: Version,
    /// For a proposal made upon another one: the session after that one.
    base: Option<Box<Session>>,
    /// The state after the event.
    standing: TraceState,
    labeled: Labeled,
    violations: Violations,
    /// The event as witnesses describe it.
    summary: EventSummary,
    /// How many of the findings come from properties judged over the session; they are first.
    own: usize,
    /// The event for histories across sessions.
    history_event: Option<HistoryEvent>,
    /// What the event would newly violate.
    pub findings: Vec<Finding>,
    /// The properties for which it is unknown whether the event violates them.
    pub doubts: Vec<Arc<Property>>,
}

impl Session {
    /// Begins a session.
    pub fn new(judge: &mut Judge, name: impl Into<Text>) -> Session {
        Session::at(judge.start(), Trail::of(name.into()), false)
    }

    fn at(state: SessionState, trail: Trail, shows_content: bool) -> Session {
        let (spare, version) = (RefCell::default(), Version::default());
        Session { state, trail, shows_content, spare, is_torn: false, version, hypothesis: None }
    }

    /// Lets witnesses show message texts and arguments, shortened. Without it no content leaves the session.
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

    /// Returns an independent copy: neither sees the later events of the other. Events of a fork are hypothetical, so
    /// histories across sessions never contain them; the fork itself sees them there.
    #[must_use]
    pub fn fork(&self) -> Session {
        Session {
            state: self.state.clone(),
            trail: self.trail.clone(),
            shows_content: self.shows_content,
            spare: RefCell::default(),
            is_torn: self.is_torn,
            version: Version::default(),
            hypothesis: Some(self.hypothesis.clone().unwrap_or_default()),
        }
    }

    /// Returns what an event would newly violate. The session, and what is remembered across sessions, stay as they
    /// are.
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
        let mut findings = without_numbers(self.trail.findings(judge.provers(), &violations.broken, later));
        let own = findings.len();
        doubts.append(&mut judge.doubts((&self.state.standing, &standing), &self.trail, &labeled, &violations));
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
            to: Version::default(),
            base: None,
            standing,
            labeled,
            violations,
            summary,
            own,
            history_event,
            findings,
            doubts,
        }
    }

    /// Returns what an event would newly violate after a proposed one. Neither becomes part of the session; both can
    /// still be committed, in their order.
    ///
    /// # Errors
    ///
    /// The first proposal was made for another session, or for another state of this one.
    pub fn propose_upon(
        &self,
        judge: &mut Judge,
        proposal: &Proposal,
        event: &Event,
    ) -> Result<Proposal, StaleProposal> {
        let mut base = match &proposal.base {
            Some(base) => base.fork(),
            None if Arc::ptr_eq(&self.version, &proposal.from) => self.fork(),
            None => return Err(StaleProposal::of(proposal)),
        };
        base.accept(judge, proposal.copy());
        base.version = Arc::clone(&proposal.to);
        let next = base.propose(judge, event);
        Ok(Proposal { base: Some(Box::new(base)), ..next })
    }

    /// Makes a proposed event part of the session, and returns what it violates. Other sessions may have continued
    /// since it was proposed: histories across sessions are judged as they are now.
    ///
    /// # Errors
    ///
    /// The proposal was made for another session, or for another state of this one; nothing has changed.
    pub fn commit(&mut self, judge: &mut Judge, proposal: Proposal) -> Result<Vec<Finding>, StaleProposal> {
        self.check(&proposal)?;
        Ok(self.accept(judge, proposal))
    }

    /// Checks that a proposal can be committed: it was made for this session, and for its present state.
    ///
    /// # Errors
    ///
    /// It was made for another session, or for another state of this one.
    pub fn check(&self, proposal: &Proposal) -> Result<(), StaleProposal> {
        match Arc::ptr_eq(&self.version, &proposal.from) {
            true => Ok(()),
            false => Err(StaleProposal::of(proposal)),
        }
    }

    /// Makes an event part of the session. It must have been proposed for the present state.
    pub(crate) fn accept(&mut self, judge: &mut Judge, proposal: Proposal) -> Vec<Finding> {
        self.is_torn = false;
        self.version = proposal.to;
        let mut behind = std::mem::replace(&mut self.state.standing, proposal.standing);
        judge.read(&mut behind, &proposal.labeled);
        *self.spare.get_mut() = Some(behind);
        let Labeled { notes, mut labels, observation } = proposal.labeled;
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

    /// Makes an event part of the session, and returns what it violates: [`propose`](Session::propose) and
    /// [`commit`](Session::commit) at once, without a copy of the state.
    pub fn observe(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        if self.hypothesis.is_some() {
            let proposal = self.propose(judge, event);
            return self.accept(judge, proposal);
        }
        let (mut findings, history_event) = self.step(judge, event, true);
        self.commit_shared(judge, history_event, &mut findings);
        findings
    }

    /// Adds an event to the session alone: histories across sessions stay as they are, and are not judged.
    pub fn observe_alone(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        self.step(judge, event, false).0
    }

    /// Makes an event part of the session. Returns what it violates there, and the event for histories across sessions.
    fn step(&mut self, judge: &mut Judge, event: &Event, is_wide: bool) -> (Vec<Finding>, Option<HistoryEvent>) {
        self.renew();
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
        let findings = without_numbers(self.trail.findings(judge.provers(), &violations.broken, later));
        self.trail.append(&mut labels, summary, &violations);
        judge.recycle(labels, observation);
        (findings, history_event)
    }

    /// Invalidates all proposals, because the session changes by something that was not proposed.
    fn renew(&mut self) {
        *self.spare.get_mut() = None;
        self.version = Version::default();
    }

    /// Returns the next deadline.
    pub fn deadline(&self, judge: &Judge) -> Option<Time> {
        judge.deadline(&self.state)
    }

    /// Advances the clock, and returns the deadlines missed by then. Histories across sessions have a [tick of their
    /// own](Judge::tick_histories).
    pub fn tick(&mut self, judge: &mut Judge, now: Time) -> Vec<Finding> {
        if self.deadline(judge).is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.renew();
        let violations = judge.tick(&mut self.state, now);
        let findings = self.trail.findings(judge.provers(), &violations.broken, Later::Time(now));
        self.trail.pass(now, &violations);
        without_numbers(findings)
    }

    /// Forgets the older half of the trail if it has more than `most` moments. Verdicts stay the same; witnesses reach
    /// back less far.
    pub fn keep(&mut self, most: usize) {
        self.trail.keep(most);
    }

    /// Ends the session, and returns the obligations it never met.
    pub fn finish(&mut self, judge: &mut Judge) -> Vec<Finding> {
        self.owed(judge)
    }

    /// Returns the open obligations: what would be found if the session ended now.
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
            // A deadline that had already passed may be of another session.
            if finding.session == *self.name() {
                self.state.tally(property);
            }
            findings.push(finding);
        }
    }
}

impl Proposal {
    /// The name of the session that it was made for.
    pub fn session(&self) -> &Text {
        &self.session
    }

    /// The number that its event would have in the session, from one.
    pub fn step(&self) -> u32 {
        self.summary.step
    }

    /// Returns a copy, for further proposals upon it.
    fn copy(&self) -> Proposal {
        Proposal {
            session: self.session.clone(),
            from: Arc::clone(&self.from),
            to: Arc::clone(&self.to),
            base: None,
            standing: self.standing.clone(),
            labeled: self.labeled.clone(),
            violations: self.violations.clone(),
            summary: self.summary.clone(),
            own: self.own,
            history_event: self.history_event.clone(),
            findings: self.findings.clone(),
            doubts: self.doubts.clone(),
        }
    }
}

/// A proposal that was made for another session, or for another state of the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleProposal {
    session: Text,
    step: u32,
}

impl StaleProposal {
    fn of(proposal: &Proposal) -> StaleProposal {
        StaleProposal { session: proposal.session.clone(), step: proposal.step() }
    }
}

impl fmt::Display for StaleProposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleProposal { session, step } = self;
        write!(
            f,
            "the proposal was made for step {step} of session `{session}`: this is another session, or it has changed \
             since; propose the event again"
        )
    }
}

impl std::error::Error for StaleProposal {}

/// Drops the property numbers of findings.
fn without_numbers(findings: Vec<(usize, Finding)>) -> Vec<Finding> {
    findings.into_iter().map(|(_, finding)| finding).collect()
}
