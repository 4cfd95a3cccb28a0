//! The sessions of a local driver: which one a request belongs to, and what each remembers between its exchanges.
//!
//! A caller names a session, or leaves it to the conversation, as the gateway does: an id in the body, the response that the
//! request continues, or the first message of the user, which clients send again with each request.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lictor_event::content_hash::to_hex;
use lictor_event::{Event, Kind};
use lictor_json::Text;
use lictor_judge::decision::Refusal;
use lictor_judge::guard::{Action, Decision};
use lictor_logic::Time;
use lictor_wire::{Ruling, SessionHints};

use super::decider::LocalDecider;
use crate::approval::{ApprovalRequest, call_hash};
use crate::continuations::Continuations;
use crate::hourly_calls::HourlyCalls;
use crate::memory::SessionMemory;
use crate::notes::denial_note;

/// How many decisions of a session are kept, for duplicate deliveries.
const MAX_DELIVERED: usize = 64;

/// How a local exchange finds its session.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// It is the session of this name.
    Named(String),
    /// It is that of the conversation. New sessions are named after this one, and a request that says nothing about its
    /// conversation belongs to this one.
    ByConversation(String),
}

impl From<String> for SessionChoice {
    fn from(name: String) -> SessionChoice {
        SessionChoice::Named(name)
    }
}

/// The sessions of a local driver.
#[derive(Debug, Default)]
pub struct LocalSessions {
    by_name: HashMap<String, LocalSession>,
    /// The names of sessions by their conversations.
    by_conversation: HashMap<String, String>,
    /// How many sessions were named by their conversations.
    conversations: u64,
    /// The sessions of responses that the vendor keeps.
    responses: Continuations,
    /// The calls of the last hour, because of bad forecasts.
    pub(super) calls: HourlyCalls,
}

#[derive(Debug, Default)]
pub(super) struct LocalSession {
    pub(super) memory: Arc<SessionMemory>,
    /// Decisions by the delivery numbers of their events.
    pub(super) delivered: VecDeque<(Text, Arc<Decision>)>,
    pub(super) approvals: HashMap<String, ApprovalRequest>,
    /// The conversation by which it was named.
    conversation: Option<String>,
}

/// An approved call that may be made now.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumedCall {
    /// The id of the call in the trace; none if it had none.
    pub id: Option<String>,
    /// The call as it may be made, if it was rewritten.
    pub rewritten: Option<Box<Event>>,
}

impl LocalSessions {
    /// Keeps a call that waits for a reviewer. Once it is approved, [`resume`](LocalSessions::resume) lets it pass.
    pub fn hold(&mut self, session: &str, event: &Event, decision: &Decision) {
        if decision.action == Action::Ask {
            let request = ApprovalRequest::new(session, event, decision);
            self.session(session).approvals.insert(request.id.clone(), request);
        }
    }

    /// Keeps the answers of reviewers: an approved call passes when it is made again, and the model reads of a denial with
    /// its next request.
    pub fn settle(&mut self, session: &str, decision: &Decision, decider: &mut dyn LocalDecider) -> Result<(), String> {
        let Some(known) = self.by_name.get_mut(session) else { return Ok(()) };
        for settled in &decision.settled {
            let request = settled.settles.as_deref().and_then(|id| known.approvals.remove(id));
            if matches!(settled.refused, Some(Refusal::Denied(_))) {
                Arc::make_mut(&mut known.memory).note(denial_note(settled.event.tool.as_deref()));
            }
            if let Some(grant) = request.and_then(|request| request.grant(settled)) {
                let grant = grant.excusing(&decider.preview(&settled.event)?);
                Arc::make_mut(&mut known.memory).grant(grant);
            }
        }
        // A denial that answers no pending call takes back the approval of one that was not made since.
        let is_denial = decision.event.kind == Kind::Denial && decision.action.takes_effect();
        if let Some(id) = decision.event.id.as_deref().filter(|_| is_denial && decision.settled.is_empty()) {
            Arc::make_mut(&mut known.memory).revoke(|grant| grant.id == id);
        }
        Ok(())
    }

    /// Returns the names of the sessions in which a call was approved by this id and not made since.
    pub fn approved(&self, id: &str, now: Time) -> Vec<String> {
        let is_approved = |known: &LocalSession| known.memory.has_grant(now, |grant| grant.id == id);
        self.by_name.iter().filter(|(_, known)| is_approved(known)).map(|(name, _)| name.clone()).collect()
    }

    /// Returns the approved call that a call repeats: it is part of the trace since it was approved, so it is recorded as
    /// carried out and not judged again. None if no such call was approved, or its approval has expired, or something else
    /// objects to it by now; then the approval is spent.
    pub fn resume(
        &mut self,
        session: &str,
        event: &Event,
        decider: &mut dyn LocalDecider,
    ) -> Result<Option<ResumedCall>, String> {
        let Some(known) = self.by_name.get_mut(session) else { return Ok(None) };
        let mut memory = known.load(decider.now());
        let Some(grant) = Arc::make_mut(&mut memory).spend(&call_hash(event)) else { return Ok(None) };
        let is_covered = grant.covers(&decider.preview(event)?);
        let rewritten = match grant.ruling() {
            Ruling::Forward => Some(None),
            Ruling::Rewrite(event) => Some(Some(event)),
            Ruling::Deny { .. } => None,
        };
        let resumed = match rewritten.filter(|_| is_covered) {
            Some(rewritten) => {
                // An approval whose use cannot be recorded is not spent.
                decider.note(grant.record(None))?;
                Some(ResumedCall { id: grant.call_id, rewritten })
            }
            None => None,
        };
        known.memory = memory;
        Ok(resumed)
    }

    /// Forgets a session that has ended.
    pub fn forget(&mut self, session: &str) {
        if let Some(conversation) = self.by_name.remove(session).and_then(|known| known.conversation) {
            self.by_conversation.remove(&conversation);
        }
    }

    /// Returns the name of the session of a request.
    pub(super) fn identify(&mut self, choice: &SessionChoice, hints: &SessionHints) -> String {
        match choice {
            SessionChoice::Named(name) => name.clone(),
            SessionChoice::ByConversation(own) => self.find_conversation(own, hints),
        }
    }

    fn find_conversation(&mut self, own: &str, hints: &SessionHints) -> String {
        if let Some(id) = hints.session_id().filter(|id| !id.is_empty()) {
            return id;
        }
        let previous = hints.previous_response.as_deref();
        if let Some(session) = previous.and_then(|id| self.responses.session(id, hints.user.as_deref())) {
            return session;
        }
        let Some(key) = conversation_key(hints) else { return own.to_owned() };
        if let Some(name) = self.by_conversation.get(&key) {
            return name.clone();
        }
        self.conversations += 1;
        let name = format!("{own}-{}", self.conversations);
        self.by_conversation.insert(key.clone(), name.clone());
        self.session(&name).conversation = Some(key);
        name
    }

    /// Remembers the session of a response.
    pub(super) fn link_response(&self, response: &str, principal: Option<&str>, session: &str) {
        self.responses.add(response, principal, session);
    }

    pub(super) fn session(&mut self, name: &str) -> &mut LocalSession {
        self.by_name.entry(name.to_owned()).or_default()
    }
}

/// Returns the text that tells a conversation without an id apart from others; none if the request says nothing about it.
fn conversation_key(hints: &SessionHints) -> Option<String> {
    // The user tells two conversations apart that begin alike.
    let user = hints.user.as_deref();
    if let Some(previous) = &hints.previous_response {
        return Some(format!("previous/{previous}/{}", user.unwrap_or_default()));
    }
    match (&hints.opening, user) {
        (Some(opening), user) => Some(format!("opening/{}/{}", to_hex(opening), user.unwrap_or_default())),
        (None, Some(user)) => Some(format!("user/{user}")),
        (None, None) => None,
    }
}

impl LocalSession {
    /// Returns the memory as of a time.
    pub(super) fn load(&mut self, now: Option<Time>) -> Arc<SessionMemory> {
        if let Some(now) = now {
            self.memory = Arc::clone(&self.memory).without_expired_grants(now);
        }
        Arc::clone(&self.memory)
    }

    /// Keeps a decision, for a duplicate delivery of its event.
    pub(super) fn note_delivery(&mut self, delivery: Text, decision: Arc<Decision>) {
        self.delivered.push_back((delivery, decision));
        let surplus = self.delivered.len().saturating_sub(MAX_DELIVERED);
        self.delivered.drain(..surplus);
    }
}
