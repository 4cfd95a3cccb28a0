//! One session of an agent, judged event by event, with its trail kept for witnesses.

mod error;
mod guidance;
mod missing;
mod proposal;
mod saved;
mod step;
mod summary;

use std::cell::RefCell;
use std::sync::Arc;

use lictor_logic::{Time, TraceState};

pub use error::SessionError;
pub(crate) use guidance::is_blocking;
pub use proposal::Proposal;
pub use saved::SavedSession;
pub use summary::{PropertySummary, SessionSummary};

use crate::finding::Finding;
use crate::trail::Trail;
use crate::{HistoryEvent, Judge, SessionState};
use lictor_event::Event;
use lictor_json::Text;

/// One session of an agent.
///
/// [`propose`](Session::propose) returns what an event would violate and changes nothing; [`commit`](Session::commit)
/// makes it part of the session without judging it again.
///
/// A session belongs to the judge that began or restored it. With any other judge, even a fork, every method returns an
/// error and changes nothing: the state has a meaning only for its own judge.
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

impl Session {
    /// Begins a session.
    pub fn new(judge: &mut Judge, name: impl Into<Text>) -> Session {
        Session::at(judge.start(), Trail::of(name.into()), false)
    }

    fn at(state: SessionState, trail: Trail, shows_content: bool) -> Session {
        let (spare, version) = (RefCell::default(), Version::default());
        Session { state, trail, shows_content, spare, is_torn: false, version, hypothesis: None }
    }

    /// Begins a session of another judge that continues this one: it has its name, its number of steps and what its labeler
    /// remembers, and no events.
    pub(crate) fn begin_beside(&self, judge: &mut Judge) -> Session {
        let mut state = judge.start();
        (state.steps, state.context) = (self.state.steps, self.state.context.clone());
        Session { is_torn: self.is_torn, ..Session::at(state, Trail::of(self.name().clone()), self.shows_content) }
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

    pub(crate) fn trail(&self) -> &Trail {
        &self.trail
    }

    pub(crate) fn state(&self) -> &SessionState {
        &self.state
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
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn propose(&self, judge: &mut Judge, event: &Event) -> Result<Proposal, SessionError> {
        self.check_judge(judge)?;
        Ok(self.make_proposal(judge, event))
    }

    /// Returns what an event would newly violate after a proposed one. Neither becomes part of the session; both can
    /// still be committed, in their order.
    ///
    /// # Errors
    ///
    /// The first proposal was made for another session, or for another state of this one; or the session belongs to
    /// another judge.
    pub fn propose_upon(
        &self,
        judge: &mut Judge,
        proposal: &Proposal,
        event: &Event,
    ) -> Result<Proposal, SessionError> {
        self.check_judge(judge)?;
        self.make_proposal_upon(judge, proposal, event)
    }

    /// Makes a proposed event part of the session, and returns what it violates. Other sessions may have continued
    /// since it was proposed: histories across sessions are judged as they are now.
    ///
    /// # Errors
    ///
    /// The proposal was made for another session, or for another state of this one; or the session belongs to another
    /// judge. Nothing has changed.
    pub fn commit(&mut self, judge: &mut Judge, proposal: Proposal) -> Result<Vec<Finding>, SessionError> {
        self.check_judge(judge)?;
        self.check(&proposal)?;
        Ok(self.accept(judge, proposal))
    }

    /// Checks that a proposal can be committed: it was made for this session, and for its present state.
    ///
    /// # Errors
    ///
    /// It was made for another session, or for another state of this one.
    pub fn check(&self, proposal: &Proposal) -> Result<(), SessionError> {
        match Arc::ptr_eq(&self.version, &proposal.from) {
            true => Ok(()),
            false => Err(SessionError::stale(proposal)),
        }
    }

    /// Checks that the session belongs to a judge.
    ///
    /// # Errors
    ///
    /// It belongs to another one.
    pub fn check_judge(&self, judge: &Judge) -> Result<(), SessionError> {
        match judge.owns(&self.state) {
            true => Ok(()),
            false => Err(SessionError::foreign_judge(Some(self.name()))),
        }
    }

    /// Makes an event part of the session, and returns what it violates: [`propose`](Session::propose) and
    /// [`commit`](Session::commit) at once, without a copy of the state.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn observe(&mut self, judge: &mut Judge, event: &Event) -> Result<Vec<Finding>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.add_event(judge, event))
    }

    /// Adds an event to the session alone: histories across sessions stay as they are, and are not judged.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn observe_alone(&mut self, judge: &mut Judge, event: &Event) -> Result<Vec<Finding>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.step(judge, event, false).0)
    }

    /// Returns the next deadline.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn deadline(&self, judge: &Judge) -> Result<Option<Time>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.next_deadline(judge))
    }

    /// Advances the clock, and returns the deadlines missed by then. Histories across sessions have a [tick of their
    /// own](Judge::tick_histories).
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn tick(&mut self, judge: &mut Judge, now: Time) -> Result<Vec<Finding>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.pass_time(judge, now))
    }

    /// Adds missing events, at which all facts are unknown; `next` is the time of the event after them. Returns what
    /// they violate in every case.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn miss(&mut self, judge: &mut Judge, count: u64, next: Option<Time>) -> Result<Vec<Finding>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.add_missing(judge, count, next))
    }

    /// Forgets the older half of the trail if it has more than `most` moments. Verdicts stay the same; witnesses reach
    /// back less far.
    pub fn keep(&mut self, most: usize) {
        self.trail.keep(most);
    }

    /// Ends the session, and returns the obligations it never met.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn finish(&mut self, judge: &mut Judge) -> Result<Vec<Finding>, SessionError> {
        self.owed(judge)
    }

    /// Returns the open obligations: what would be found if the session ended now.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn owed(&self, judge: &mut Judge) -> Result<Vec<Finding>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.find_owed(judge))
    }
}
