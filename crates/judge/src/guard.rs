//! Decides on every event before it takes effect: forward it, rewrite it, hold it for a person, or block it.
//!
//! Two traces are kept apart. The *accepted* trace holds the events that took effect, as they took effect; properties
//! see nothing else. The *audited* trace holds every event with its [`Decision`].
//!
//! Events of one session are decided in the order in which they arrive. Each forwarded event is part of the trace
//! before the next is judged: of two calls that are only wrong together, the second is refused. A call that waits for a
//! person is not part of the trace. Once approved, it is judged again, against the trace as it is then. A forwarded
//! call that was never carried out stays in the trace; the caller reports that by an event.

mod ask;
mod denial;
mod guide;
mod histories;
mod numbers;
mod objectives;
mod pending;
mod persons;
mod preview;
mod received;
mod redact;
mod restored;
mod saved;
mod score;
mod view;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lictor_logic::{Span, Time};

pub use crate::decision::{Action, Cause, Decision, ForecastObjection, Objection, Redaction, Refusal};
pub use crate::facts::person;
use crate::finding::Finding;
use crate::observer::{Feed, FeedEntry};
use crate::session::Session;
pub use crate::trail::SavedMoments;
use crate::{Foresight, Judge};
use lictor_event::annotator::Annotators;
use lictor_event::labeler::Labelers;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_policy::{Mode, Response};
use objectives::{GuardProposal, PreparedChange, SessionObjectives};
use pending::PendingEvent;
pub use preview::Preview;
pub use saved::SavedGuardSession;
pub use score::ReplyScores;
pub use view::late_line;

/// The JSON Schema of the lines that a guard answers with.
pub const SCHEMA: &str = include_str!("../schema/decision.schema.json");

/// Who takes an approval back whose call is stopped all the same.
const WITHDRAWN_BY: &str = "the policy";

/// How many moments of a session are kept for witnesses: an endless session must not fill the memory.
const MAX_SESSION_MOMENTS: usize = 20_000;

/// The options of a guard. Options that are not set keep their defaults.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GuardOptions {
    patience: Span,
    content: bool,
    asks: AskScope,
}

impl GuardOptions {
    /// Sets how long a reviewer has to answer; an hour by default.
    #[must_use]
    pub fn patience(self, patience: Span) -> GuardOptions {
        GuardOptions { patience, ..self }
    }

    /// Sets whether witnesses show content; not by default.
    #[must_use]
    pub fn content(self, content: bool) -> GuardOptions {
        GuardOptions { content, ..self }
    }

    /// Sets which events may wait for a reviewer; all by default.
    #[must_use]
    pub fn asks(self, asks: AskScope) -> GuardOptions {
        GuardOptions { asks, ..self }
    }
}

/// Which events may wait for a reviewer: the caller must be able to hold them until the answer comes.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskScope {
    /// Every event.
    #[default]
    All,
    /// Tool calls. Messages and tool results are blocked instead.
    Calls,
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions { patience: Span(3_600_000_000_000), content: false, asks: AskScope::All }
    }
}

/// What the caller can do with an event. If a decision needs more, the event is blocked instead.
// Exhaustive on purpose: a caller must say of every capability whether it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The caller can replace it by a rewritten event.
    pub rewrite: bool,
    /// The caller can hold it until a reviewer has answered.
    pub ask: bool,
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        Capabilities { rewrite: true, ask: true }
    }
}

/// Decides on the events of any number of sessions.
#[derive(Debug)]
pub struct Guard {
    decider: Decider,
    sessions: HashMap<Text, Box<GuardedSession>>,
    /// Answer questions about every event before it is judged.
    annotators: Arc<Annotators>,
    /// Answer the questions of the policy.
    labelers: Labelers,
    /// Where decisions and findings are published.
    feed: Option<Feed>,
}

/// Decides on the events of one session at a time.
#[derive(Debug)]
struct Decider {
    judge: Judge,
    options: GuardOptions,
    /// How far the time of an event may be from the time at which it is received.
    skew: Option<Span>,
    /// Forecasts replies and calls.
    foresight: Option<Foresight>,
}

/// The circumstances of one decision.
#[derive(Clone, Copy)]
struct DecideContext<'a> {
    capabilities: Capabilities,
    now: Option<Time>,
    /// When the event was received.
    received: Option<Time>,
    /// The properties that a reviewer has waived for this event.
    waived: &'a [Text],
    /// Whether a reviewer has allowed this event, so that no forecast objects to it.
    is_allowed: bool,
}

/// A session, and its events that wait for approval.
#[derive(Debug)]
struct GuardedSession {
    session: Session,
    pending: Vec<PendingEvent>,
    /// The number of the next event, if events are numbered.
    next: Option<i64>,
    /// How many approval ids were generated.
    asked: u64,
    /// The events that questions may look back at. They are not saved.
    recent: VecDeque<Event>,
    /// What differs from the properties of the policy; none for most sessions.
    objectives: Option<Box<SessionObjectives>>,
}

impl Guard {
    /// Returns a guard without sessions.
    pub fn new(judge: Judge, options: GuardOptions) -> Guard {
        let annotators = Arc::default();
        let labelers = Labelers::default();
        let decider = Decider { judge, options, skew: None, foresight: None };
        Guard { decider, sessions: HashMap::new(), annotators, labelers, feed: None }
    }

    /// Asks annotators about every event before it is judged.
    #[must_use]
    pub fn annotated_by(mut self, annotators: Arc<Annotators>) -> Guard {
        self.annotators = annotators;
        self
    }

    /// Asks labelers the questions of the policy about every event before it is judged, as far as the answers can still
    /// change a verdict.
    #[must_use]
    pub fn labeled_by(mut self, labelers: Labelers) -> Guard {
        self.labelers = labelers;
        self
    }

    /// Forecasts what replies lead to, for [`score`](Guard::score), and what calls lead to, if the policy stops risky calls
    /// or asks a reviewer about them.
    #[must_use]
    pub fn foreseeing(mut self, foresight: Option<Foresight>) -> Guard {
        self.decider.foresight = foresight;
        self
    }

    /// Publishes every decision, and every finding without an event, to a feed. A caller that stores decisions before
    /// they take effect publishes them itself instead.
    #[must_use]
    pub fn observed_by(mut self, feed: Feed) -> Guard {
        self.feed = Some(feed);
        self
    }

    /// The judge it decides by.
    pub fn judge(&self) -> &Judge {
        &self.decider.judge
    }

    /// Decides on an event; the decision contains it. Events without a session share the session with the empty name.
    /// `now` is when the event was received. An event that is dated [too far](Guard::within_skew) ahead of it is judged
    /// as if it had happened then, and the decision [says so](Decision::claimed_time).
    pub fn decide(&mut self, event: impl Into<Event>, now: Option<Time>) -> Decision {
        self.decide_within(Capabilities::default(), event, now)
    }

    /// Decides like [`decide`](Guard::decide), for a caller with limited capabilities.
    pub fn decide_within(
        &mut self,
        capabilities: Capabilities,
        event: impl Into<Event>,
        now: Option<Time>,
    ) -> Decision {
        let mut event = event.into();
        self.annotators.annotate(std::slice::from_mut(&mut event));
        let Guard { decider, sessions, labelers, .. } = self;
        let name = event.session.clone().unwrap_or_default();
        let guarded = sessions.entry(name).or_insert_with_key(|name| Box::new(decider.begin(name)));
        if !labelers.is_empty() {
            decider.ask_labelers(guarded, labelers, &mut event);
        }
        let decision = decider.decide(guarded, event, capabilities, now);
        self.publish(&[], std::slice::from_ref(&decision));
        decision
    }

    /// Publishes findings and decisions, if the feed has observers.
    fn publish(&self, findings: &[Finding], decisions: &[Decision]) {
        let Some(feed) = self.feed.as_ref().filter(|feed| feed.has_observers()) else { return };
        findings.iter().for_each(|finding| feed.publish(FeedEntry::Finding(Box::new(finding.clone()))));
        decisions.iter().for_each(|decision| feed.publish(FeedEntry::Decision(Arc::new(decision.clone()))));
    }

    /// Advances the clock: returns the deadlines missed by then, and refuses approvals that have expired.
    pub fn tick(&mut self, now: Time) -> (Vec<Finding>, Vec<Decision>) {
        let (mut late, mut settled) = (self.decider.judge.tick_histories(now), Vec::new());
        self.publish(&late, &[]);
        let mut names: Vec<&Text> = self.sessions.keys().collect();
        names.sort_unstable();
        for name in names.into_iter().cloned().collect::<Vec<_>>() {
            let (mut of_session, mut expired) = self.tick_session(&name, now, now);
            late.append(&mut of_session);
            settled.append(&mut expired);
        }
        (late, settled)
    }

    /// Advances the clock of one session. Its events may use another `clock` than the reviewers, who use `now`.
    pub fn tick_session(&mut self, name: &str, clock: Time, now: Time) -> (Vec<Finding>, Vec<Decision>) {
        let Some(guarded) = self.sessions.get_mut(name) else { return (Vec::new(), Vec::new()) };
        let (late, expired) = (guarded.pass_time(&mut self.decider.judge, clock), guarded.expire(Some(now)));
        self.publish(&late, &expired);
        (late, expired)
    }

    /// Returns when passing time next changes something in a session: by the clock of its events, and by that of the
    /// reviewers.
    pub fn due(&self, name: &str) -> (Option<Time>, Option<Time>) {
        let Some(guarded) = self.sessions.get(name) else { return (None, None) };
        let waits = guarded.pending.iter().filter_map(|pending| pending.until).min();
        (guarded.next_deadline(&self.decider.judge), waits)
    }

    /// Ends a session: returns the obligations it never met, and refuses its pending approvals. Obligations of a property
    /// that needs evidence are returned only if the session has some of it.
    pub fn finish(&mut self, name: &str) -> (Vec<Finding>, Vec<Decision>) {
        let Some(mut guarded) = self.sessions.remove(name) else { return (Vec::new(), Vec::new()) };
        let refused: Vec<Decision> = guarded.pending.drain(..).map(|pending| pending.refused(Refusal::Ended)).collect();
        let owed = guarded.find_owed(&mut self.decider.judge);
        self.publish(&owed, &refused);
        (owed, refused)
    }

    /// Returns the open obligations of a session: what [`finish`](Guard::finish) would find now. Nothing ends.
    pub fn owed(&mut self, name: &str) -> Vec<Finding> {
        let Some(guarded) = self.sessions.get_mut(name) else { return Vec::new() };
        guarded.find_owed(&mut self.decider.judge)
    }

    /// Whether an event waits for approval under this id.
    pub fn waits(&self, name: &str, id: &str) -> bool {
        self.sessions.get(name).is_some_and(|guarded| guarded.waits(id))
    }

    /// The names of the sessions that have begun and not ended.
    pub fn sessions(&self) -> impl Iterator<Item = &Text> {
        self.sessions.keys()
    }
}

impl Decider {
    fn decide(
        &mut self,
        guarded: &mut GuardedSession,
        mut event: Event,
        capabilities: Capabilities,
        now: Option<Time>,
    ) -> Decision {
        let received = now;
        let claimed_time = self.replace_far_time(&mut event, received);
        let now = event.time.max(now);
        let mut settled = guarded.expire(now);
        let gap = self.number(guarded, &event);
        let context = DecideContext { capabilities, now, received, waived: &[], is_allowed: false };
        let mut decision = match self.prepare_change(guarded, &event) {
            None => self.judged(guarded, event, context),
            Some(change) => self.judge_change(guarded, event, context, change),
        };
        decision.claimed_time = claimed_time;
        let is_answer = matches!(decision.event.kind, Kind::Approval | Kind::Denial) && decision.action.takes_effect();
        if is_answer && let Some(pending) = guarded.answered(&decision.event) {
            let outcome = self.settle(guarded, pending, &decision.event, context);
            let is_unused = decision.event.kind == Kind::Approval && !outcome.action.takes_effect();
            settled.push(outcome);
            if is_unused {
                settled.push(self.withdraw(guarded, &decision.event, context));
            }
        }
        decision.settled = settled;
        decision.gap = gap;
        guarded.keep(MAX_SESSION_MOMENTS);
        self.remember(guarded, &decision);
        decision
    }

    fn begin(&mut self, name: &Text) -> GuardedSession {
        let session = Session::new(&mut self.judge, name.clone());
        let session = if self.options.content { session.showing_content() } else { session };
        GuardedSession { session, pending: Vec::new(), next: None, asked: 0, recent: VecDeque::new(), objectives: None }
    }

    fn judged(&mut self, guarded: &mut GuardedSession, event: Event, context: DecideContext<'_>) -> Decision {
        let proposal = guarded.propose(&mut self.judge, &event);
        let objections = objections(&proposal, guarded.objectives.as_deref(), context.waived);
        let mut decision = Decision::on(event, objections);
        if let Some(foresight) = self.foresight.as_mut().filter(|_| !context.is_allowed) {
            foresight.note_objection(&mut self.judge, &guarded.session, &mut decision);
        }
        let foreseen = decision.forecast.as_ref().map_or(Response::Observe, |forecast| forecast.response);
        match strongest(&decision.objections).max(foreseen) {
            Response::Observe | Response::Warn => {
                self.accept(guarded, proposal, context, &mut decision);
            }
            Response::Steer => {
                self.accept(guarded, proposal, context, &mut decision);
                decision.action = Action::Steer;
            }
            Response::Redact => self.redacted(guarded, context, &mut decision),
            Response::Ask => self.asked(guarded, &decision.event.clone(), context, &mut decision),
            Response::Block => decision.action = Action::Block,
        }
        if decision.action != Action::Forward {
            decision.message = Some(denial::message(&decision, &self.persons(&decision)));
        }
        decision
    }

    /// Decides on an event that changes the objectives of its session.
    fn judge_change(
        &mut self,
        guarded: &mut GuardedSession,
        event: Event,
        context: DecideContext<'_>,
        change: Result<PreparedChange, String>,
    ) -> Decision {
        let refuse = |event: Event, reason: String| {
            let mut decision = Decision::on(event, Vec::new());
            (decision.action, decision.message) = (Action::Block, Some(reason));
            decision
        };
        let change = match change {
            Ok(change) => change,
            Err(reason) => return refuse(event, reason),
        };
        let decision = self.judged(guarded, event, context);
        if !decision.action.takes_effect() {
            return decision;
        }
        match self.complete_change(guarded, change) {
            Ok(()) => decision,
            Err(reason) => refuse(decision.event, reason),
        }
    }

    /// Makes the proposed event part of the accepted trace.
    fn accept(
        &mut self,
        guarded: &mut GuardedSession,
        mut proposal: GuardProposal,
        context: DecideContext<'_>,
        decision: &mut Decision,
    ) {
        proposal.own.note_received(context.received);
        guarded.accept(&mut self.judge, proposal);
        decision.step = Some(guarded.session.steps());
    }

    /// Redacts the event and judges it again, against the whole history. If it still violates something, it waits or is
    /// blocked.
    fn redacted(&mut self, guarded: &mut GuardedSession, context: DecideContext<'_>, decision: &mut Decision) {
        let offence = redact::Offence::of(&decision.objections);
        let (rewritten, redactions) = offence.redact(self.judge.prepared(), &decision.event);
        if redactions.is_empty() {
            decision.action = Action::Block;
            return;
        }
        if !context.capabilities.rewrite {
            decision.action = Action::Block;
            decision.redactions = redactions;
            return;
        }
        let proposal = guarded.propose(&mut self.judge, &rewritten);
        match strongest(&objections(&proposal, guarded.objectives.as_deref(), context.waived)) {
            Response::Observe | Response::Warn | Response::Steer => {
                self.accept(guarded, proposal, context, decision);
                decision.action = Action::Redact;
                decision.redactions = redactions;
                decision.rewritten = Some(Box::new(rewritten));
            }
            Response::Ask => {
                self.asked(guarded, &rewritten, context, decision);
                decision.redactions = redactions;
                decision.rewritten = Some(Box::new(rewritten));
            }
            Response::Redact | Response::Block => decision.action = Action::Block,
        }
    }

    /// Holds an event until a reviewer answers.
    fn asked(
        &mut self,
        guarded: &mut GuardedSession,
        event: &Event,
        context: DecideContext<'_>,
        decision: &mut Decision,
    ) {
        if !context.capabilities.ask || !self.can_wait(event) {
            decision.action = Action::Block;
            decision.refused = Some(Refusal::Alone);
            return;
        }
        let until = context.now.map(|now| now.plus(self.options.patience));
        let pending = PendingEvent::new(guarded.handle(event, self.judge.named_tools()), event, decision, until);
        decision.action = Action::Ask;
        decision.approval_id = Some(pending.id.clone());
        decision.until = until;
        guarded.pending.push(pending);
    }

    /// Whether an event may wait for a reviewer.
    fn can_wait(&self, event: &Event) -> bool {
        self.options.asks == AskScope::All || event.kind == Kind::ToolCall
    }

    /// Decides on a pending event, now that a reviewer has answered.
    fn settle(
        &mut self,
        guarded: &mut GuardedSession,
        pending: PendingEvent,
        answer: &Event,
        context: DecideContext<'_>,
    ) -> Decision {
        let named = answer.more.get("by").and_then(Json::as_str).or(answer.agent.as_deref());
        let by = named.unwrap_or("a person");
        if answer.kind == Kind::Denial {
            let mut decision = pending.refused(Refusal::Denied(by.into()));
            decision.answered_by = named.map(Into::into);
            return decision;
        }
        let waived: Vec<Text> = pending.asked.clone();
        let context = DecideContext { waived: &waived, is_allowed: true, ..context };
        let mut decision = self.judged(guarded, pending.event, context);
        for objection in &mut decision.objections {
            if waived.contains(&objection.property.id) {
                objection.waived_by = Some(by.into());
            }
        }
        decision.settles = Some(pending.id);
        decision.answered_by = named.map(Into::into);
        decision
    }

    /// Takes an approval back whose call is stopped all the same: another call with the same id must not use it.
    fn withdraw(&mut self, guarded: &mut GuardedSession, approval: &Event, context: DecideContext<'_>) -> Decision {
        let mut denial = Event::new(Kind::Denial);
        (denial.session, denial.time, denial.id) = (approval.session.clone(), approval.time, approval.id.clone());
        denial.more.insert("by", WITHDRAWN_BY);
        self.judged(guarded, denial, context)
    }
}

/// Returns the strictest response of the objections.
fn strongest(objections: &[Objection]) -> Response {
    objections.iter().map(|objection| objection.response).max().unwrap_or(Response::Observe)
}

/// Returns the objections to an event: what it would newly violate, and what is unknown.
fn objections(proposal: &GuardProposal, objectives: Option<&SessionObjectives>, waived: &[Text]) -> Vec<Objection> {
    let (findings, doubts) = proposal.weigh(objectives);
    let response = |property: &lictor_policy::Property, response: Response| match property.mode {
        // A property in shadow mode only reports.
        Mode::Shadow => Response::Observe,
        Mode::Enforce if response == Response::Ask && waived.contains(&property.id) => Response::Observe,
        Mode::Enforce => response,
    };
    let broken = findings.into_iter().map(|finding| {
        let property = Arc::clone(&finding.property);
        let response = match finding.decided {
            crate::finding::DecidedBy::Event => response(&property, property.respond),
            // Deadlines that had already passed are not the event's fault.
            crate::finding::DecidedBy::Deadline | crate::finding::DecidedBy::End => Response::Observe,
        };
        Objection { property, response, why: Cause::Violation(Box::new(finding)), waived_by: None }
    });
    let doubts = doubts.into_iter().map(|property| Objection {
        response: response(&property, property.unknown),
        property,
        why: Cause::Unknown,
        waived_by: None,
    });
    broken.chain(doubts).collect()
}
