//! Decides on every event before it takes effect: it goes on, goes on rewritten, waits for a person, or is stopped.
//!
//! Two traces are kept apart. The *accepted* one is what happened as far as the agent's world is concerned: events that
//! went on, as they went on. Properties look at nothing else. The *audited* one is every event that was seen with what
//! was decided about it: a [`Decision`] is its record.
//!
//! Events of one session are decided one after the other, in the order in which they are given, and each that goes on is
//! part of the trace before the next is looked at: of two calls that are only wrong together, the second is refused. A
//! call that waits for a person is not part of the trace. When it is approved it is judged again, against the trace as it
//! is then. A call that went on and was never carried out stays in the trace: whoever must know says so by an event.

mod decision;
mod denial;
mod numbers;
mod pending;
mod persons;
mod preview;
mod redact;
mod restored;
mod saved;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use lictor_logic::{Span, Time};

use crate::Judge;
use crate::finding::Finding;
pub use crate::label::person;
use crate::observer::{Feed, Observed};
use crate::session::{Proposal, Session};
pub use crate::trail::SavedMoments;
pub use decision::{Action, Cause, Decision, Objection, Refusal};
use lictor_event::annotator::Annotators;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_policy::{Mode, Response};
use pending::Pending;
pub use preview::Preview;
pub use redact::Redaction;
pub use saved::SavedGuardSession;
pub use view::late_line;

/// The JSON Schema of the lines that a guard answers with.
pub const SCHEMA: &str = include_str!("../schema/decision.schema.json");

/// How much of a session is kept for witnesses: one that never ends must not fill the memory.
const MOST_MOMENTS: usize = 20_000;

/// How a guard works.
#[derive(Clone, Copy, Debug)]
pub struct GuardOptions {
    /// How long a person has to answer.
    pub patience: Span,
    /// Whether witnesses show what was said.
    pub content: bool,
    /// About what a person can be asked.
    pub asks: AskScope,
}

/// About what a person can be asked: whoever drives the guard must be able to keep it until the answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskScope {
    /// About everything.
    #[default]
    All,
    /// About calls of tools. What is said and what tools answer is stopped instead.
    Calls,
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions { patience: Span(3_600_000_000_000), content: false, asks: AskScope::All }
    }
}

/// What whoever drives the guard can do about an event. What they cannot do, is not decided: it is blocked instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// They can let it go on rewritten.
    pub rewrite: bool,
    /// They can keep it until a person has answered.
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
    sessions: HashMap<Text, Box<Guarded>>,
    /// Asked about every event before it is judged.
    annotators: Arc<Annotators>,
    /// Where decisions and findings are published.
    feed: Option<Feed>,
}

/// What decides on an event of a session that it is given.
#[derive(Debug)]
struct Decider {
    judge: Judge,
    options: GuardOptions,
}

/// How one event is decided.
#[derive(Clone, Copy)]
struct DecideContext<'a> {
    capabilities: Capabilities,
    now: Option<Time>,
    /// Properties that were asked about, and a person allowed it.
    waived: &'a [Text],
}

/// A session, and what waits in it.
#[derive(Debug)]
struct Guarded {
    session: Session,
    pending: Vec<Pending>,
    /// The number of the next event, where events are numbered.
    next: Option<i64>,
    /// How many ids were made up by which a person answers.
    asked: u64,
}

impl Guard {
    /// A guard by a judge, with no session yet.
    pub fn new(judge: Judge, options: GuardOptions) -> Guard {
        let annotators = Arc::default();
        Guard { decider: Decider { judge, options }, sessions: HashMap::new(), annotators, feed: None }
    }

    /// Asks annotators about every event before it is judged.
    #[must_use]
    pub fn annotated_by(mut self, annotators: Arc<Annotators>) -> Guard {
        self.annotators = annotators;
        self
    }

    /// Publishes every decision, and every finding without an event, to a feed. Whoever makes decisions durable before they
    /// count publishes them there instead.
    #[must_use]
    pub fn observed_by(mut self, feed: Feed) -> Guard {
        self.feed = Some(feed);
        self
    }

    /// The judge it decides by.
    pub fn judge(&self) -> &Judge {
        &self.decider.judge
    }

    /// The same, to save and restore what it remembers across sessions.
    pub fn judge_mut(&mut self) -> &mut Judge {
        &mut self.decider.judge
    }

    /// Decides on an event, which the decision takes along. An event without a session belongs to the one without a name;
    /// `now` is when it was given, for events that do not say when they were.
    pub fn decide(&mut self, event: impl Into<Event>, now: Option<Time>) -> Decision {
        self.decide_within(Capabilities::default(), event, now)
    }

    /// The same for somebody who cannot do everything about the event.
    pub fn decide_within(
        &mut self,
        capabilities: Capabilities,
        event: impl Into<Event>,
        now: Option<Time>,
    ) -> Decision {
        let mut event = event.into();
        self.annotators.annotate(std::slice::from_mut(&mut event));
        let Guard { decider, sessions, .. } = self;
        let name = event.session.clone().unwrap_or_default();
        let guarded = sessions.entry(name).or_insert_with_key(|name| Box::new(decider.begin(name)));
        let decision = decider.decide(guarded, event, capabilities, now);
        self.publish(&[], std::slice::from_ref(&decision));
        decision
    }

    /// Publishes what happened, if anybody observes it.
    fn publish(&self, findings: &[Finding], decisions: &[Decision]) {
        let Some(feed) = self.feed.as_ref().filter(|feed| feed.has_observers()) else { return };
        findings.iter().for_each(|finding| feed.publish(Observed::Finding(Box::new(finding.clone()))));
        decisions.iter().for_each(|decision| feed.publish(Observed::Decision(Box::new(decision.clone()))));
    }

    /// Lets time pass: what was due by then is late, and what waited for a person too long is refused.
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

    /// The same in one session, whose events may go by another clock than the persons who are asked.
    pub fn tick_session(&mut self, name: &str, clock: Time, now: Time) -> (Vec<Finding>, Vec<Decision>) {
        let Some(guarded) = self.sessions.get_mut(name) else { return (Vec::new(), Vec::new()) };
        let (late, expired) = (guarded.session.tick(&mut self.decider.judge, clock), guarded.expire(Some(now)));
        self.publish(&late, &expired);
        (late, expired)
    }

    /// When time that passes next changes something in a session: by the clock of its events, and by that of the persons
    /// who are asked.
    pub fn due(&self, name: &str) -> (Option<Time>, Option<Time>) {
        let Some(guarded) = self.sessions.get(name) else { return (None, None) };
        let waits = guarded.pending.iter().filter_map(|pending| pending.until).min();
        (guarded.session.deadline(&self.decider.judge), waits)
    }

    /// Ends a session: what was owed in it and never came is found now, and what waits is refused.
    pub fn finish(&mut self, name: &str) -> (Vec<Finding>, Vec<Decision>) {
        let Some(mut guarded) = self.sessions.remove(name) else { return (Vec::new(), Vec::new()) };
        let refused: Vec<Decision> = guarded.pending.drain(..).map(|pending| pending.refused(Refusal::Ended)).collect();
        let owed = guarded.session.finish(&mut self.decider.judge);
        self.publish(&owed, &refused);
        (owed, refused)
    }

    /// What is still owed in a session: what [`finish`](Guard::finish) would find if it ended now. Nothing ends.
    pub fn owed(&mut self, name: &str) -> Vec<Finding> {
        self.sessions.get(name).map(|guarded| guarded.session.owed(&mut self.decider.judge)).unwrap_or_default()
    }

    /// Whether something waits for a person by this id.
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
        guarded: &mut Guarded,
        event: Event,
        capabilities: Capabilities,
        now: Option<Time>,
    ) -> Decision {
        let now = event.time.max(now);
        let mut settled = guarded.expire(now);
        let gap = self.number(guarded, &event);
        let mut decision = self.judged(guarded, event, DecideContext { capabilities, now, waived: &[] });
        let is_answer = matches!(decision.event.kind, Kind::Approval | Kind::Denial) && decision.action.goes_on();
        if is_answer && let Some(pending) = guarded.answered(&decision.event) {
            settled.push(self.settle(guarded, pending, &decision.event, capabilities, now));
        }
        decision.settled = settled;
        decision.gap = gap;
        guarded.session.keep(MOST_MOMENTS);
        decision
    }

    fn begin(&mut self, name: &Text) -> Guarded {
        let session = Session::new(&mut self.judge, name.clone());
        let session = if self.options.content { session.showing_content() } else { session };
        Guarded { session, pending: Vec::new(), next: None, asked: 0 }
    }

    fn judged(&mut self, guarded: &mut Guarded, event: Event, context: DecideContext<'_>) -> Decision {
        let proposal = guarded.session.propose(&mut self.judge, &event);
        let objections = objections(&proposal, context.waived);
        let mut decision = Decision::on(event, objections);
        match strongest(&decision.objections) {
            Response::Observe | Response::Warn => {
                decision.accept(&mut guarded.session, &mut self.judge, proposal);
            }
            Response::Steer => {
                decision.accept(&mut guarded.session, &mut self.judge, proposal);
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

    /// Takes out what offends and judges again, against the whole history; what still offends is asked about or stopped.
    fn redacted(&mut self, guarded: &mut Guarded, context: DecideContext<'_>, decision: &mut Decision) {
        let offence = redact::Offence::of(&decision.objections);
        let (rewritten, redactions) = offence.redact(&self.judge.prepared().plan.recogniser, &decision.event);
        if redactions.is_empty() {
            decision.action = Action::Block;
            return;
        }
        if !context.capabilities.rewrite {
            decision.action = Action::Block;
            decision.redactions = redactions;
            return;
        }
        let proposal = guarded.session.propose(&mut self.judge, &rewritten);
        match strongest(&objections(&proposal, context.waived)) {
            Response::Observe | Response::Warn | Response::Steer => {
                decision.accept(&mut guarded.session, &mut self.judge, proposal);
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

    /// Keeps an event until a person answers.
    fn asked(&mut self, guarded: &mut Guarded, event: &Event, context: DecideContext<'_>, decision: &mut Decision) {
        if !context.capabilities.ask || !self.can_wait(event) {
            decision.action = Action::Block;
            decision.refused = Some(Refusal::Alone);
            return;
        }
        let until = context.now.map(|now| now.plus(self.options.patience));
        let pending = Pending::new(guarded.handle(event), event, decision, until);
        decision.action = Action::Ask;
        decision.approval_id = Some(pending.id.clone());
        decision.until = until;
        guarded.pending.push(pending);
    }

    /// Whether a person can be asked about an event.
    fn can_wait(&self, event: &Event) -> bool {
        self.options.asks == AskScope::All || event.kind == Kind::ToolCall
    }

    /// Decides on what waited, now that a person has answered.
    fn settle(
        &mut self,
        guarded: &mut Guarded,
        pending: Pending,
        answer: &Event,
        capabilities: Capabilities,
        now: Option<Time>,
    ) -> Decision {
        let by = answer.more.get("by").and_then(Json::as_str).or(answer.agent.as_deref()).unwrap_or("a person");
        if answer.kind == Kind::Denial {
            return pending.refused(Refusal::Denied(by.into()));
        }
        let waived: Vec<Text> = pending.asked.clone();
        let mut decision = self.judged(guarded, pending.event, DecideContext { capabilities, now, waived: &waived });
        for objection in &mut decision.objections {
            if waived.contains(&objection.property.id) {
                objection.waived_by = Some(by.into());
            }
        }
        decision.settles = Some(pending.id);
        decision
    }
}

/// The strongest response that is asked for.
fn strongest(objections: &[Objection]) -> Response {
    objections.iter().map(|objection| objection.response).max().unwrap_or(Response::Observe)
}

/// What stands against an event: what it would newly break, and what nobody can tell.
fn objections(proposal: &Proposal, waived: &[Text]) -> Vec<Objection> {
    let response = |property: &lictor_policy::Property, response: Response| match property.mode {
        // Whatever only reports decides nothing.
        Mode::Shadow => Response::Observe,
        Mode::Enforce if response == Response::Ask && waived.contains(&property.id) => Response::Observe,
        Mode::Enforce => response,
    };
    let broken = proposal.findings.iter().map(|finding| {
        let property = Arc::clone(&finding.property);
        let response = match finding.decided {
            crate::finding::DecidedBy::Event => response(&property, property.respond),
            // What was late before the event is not the event's fault.
            crate::finding::DecidedBy::Deadline | crate::finding::DecidedBy::End => Response::Observe,
        };
        Objection { property, response, why: Cause::Violation(Box::new(finding.clone())), waived_by: None }
    });
    let doubts = proposal.doubts.iter().map(|property| Objection {
        response: response(property, property.unknown),
        property: Arc::clone(property),
        why: Cause::Unknown,
        waived_by: None,
    });
    broken.chain(doubts).collect()
}
