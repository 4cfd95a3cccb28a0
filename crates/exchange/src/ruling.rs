//! Derives rulings from decisions; no other module does.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use lictor_event::{Event, Kind};
use lictor_judge::guard::{Action, Decision};
use lictor_policy::Response;
use lictor_wire::{CallFault, Ruling};

use crate::approval::{ApprovalRequest, call_hash};
use crate::exchange::{Life, Stop, number, unexpected};
use crate::memory::ModelNote;
use crate::step::{ExchangeStep, StepResult};

/// The text that the model reads for a call that a reviewer denied, or did not answer in time.
const DENIED: &str = "This step was not carried out: a reviewer did not allow it. Do not try it again.";

/// The text that the model reads for a call that only the vendor can make, and that must be changed or approved first.
const VENDOR_CALL: &str = "This step was not carried out: it would have to be changed or approved first, which is not \
                           possible for a tool that the provider runs. Use another tool.";

/// The text that the model reads for a call of a tool that the request does not offer. It does not repeat the name, which
/// may say anything.
const NOT_OFFERED: &str = "This step was not carried out: there is no tool of this name. Call one of the tools that are on \
                           offer, by exactly its name.";

/// The text that the model reads for a call with keys that some tools take for each other.
const SIMILAR_KEYS: &str = "This step was not carried out: a key of its arguments differs from another one in upper and lower \
                            case only. Write each key once, exactly as the tool declares it.";

/// What the client reads instead of a call that was denied although the model was told why: it may be shown to a person,
/// who has no use for the reasons of a policy.
pub(crate) const APOLOGY: &str = "I am sorry, I cannot do that here.";

/// What the client reads instead of a text of the model: a person reads it.
pub(crate) const WITHHELD_TEXT: &str = "I am sorry, I cannot say that here.";

/// Returns the text that is sent in place of an event that is not forwarded, with the reasons.
pub fn denial(decision: &Decision, approval: Option<&str>) -> String {
    let said = decision.message.as_deref().unwrap_or("This step was not carried out.");
    match approval {
        Some(id) => format!("{said}\nApproval id: {id}. Make the same call again once it is approved."),
        None => said.to_owned(),
    }
}

/// Returns the ruling on an event that was decided on. `approval` is the id by which a reviewer answers. A denial that a
/// person reads is short: the reasons are in the records.
pub fn ruling(decision: &Decision, approval: Option<&str>) -> Ruling {
    match (decision.action, &decision.rewritten) {
        (Action::Forward | Action::Steer, _) => Ruling::Forward,
        (Action::Redact, Some(event)) => Ruling::Rewrite(event.clone()),
        (Action::Redact | Action::Ask | Action::Block, _) => Ruling::Deny {
            text: match decision.event.kind == Kind::AssistantMessage && approval.is_none() {
                true => WITHHELD_TEXT.to_owned(),
                false => denial(decision, approval),
            },
        },
    }
}

/// Whether a denial can replace an item of a request: the result of a tool can be replaced, the words of a person
/// cannot.
pub(crate) fn can_be_withheld(kind: &Kind) -> bool {
    matches!(kind, Kind::ToolResult | Kind::Retrieval)
}

/// Whether the event is the vendor's question to the client if it may make a call.
pub(crate) fn asks_vendor(event: &Event) -> bool {
    matches!(&event.kind, Kind::Other(kind) if kind == "approval_request")
}

/// Returns the id of a call that is denied, and the text that is sent instead.
pub(crate) fn denied_call(event: &Event, ruling: &Ruling) -> Option<(String, String)> {
    match ruling {
        Ruling::Deny { text } if event.kind == Kind::ToolCall => Some((event.id.as_ref()?.to_string(), text.clone())),
        _ => None,
    }
}

impl Life {
    /// Decides on the `place`th event of the reply. Returns the ruling on it, and whether it waits for a
    /// reviewer.
    pub(crate) async fn rule(&self, event: &Event, place: usize) -> Result<(Ruling, bool), Stop> {
        if let Some(fault) = self.find_fault(event) {
            return Ok((self.refuse_call(event, fault).await?, false));
        }
        if event.kind == Kind::ToolCall
            && let Some(ruling) = self.spend_grant(event).await?
        {
            return Ok((ruling, false));
        }
        if asks_vendor(event)
            && let Some(ruling) = self.rule_vendor_call(event).await?
        {
            return Ok((ruling, false));
        }
        let event = self.number_reply(event, place);
        let decisions = self.decide(vec![event.clone()], false).await?;
        let Some(decision) = decisions.first() else { return Err(unexpected(&StepResult::Done)) };
        let asked = self.ask_reviewer(&event, decision).await?;
        if let Some(id) = &asked {
            self.perform(ExchangeStep::Wait(vec![id.clone()])).await?;
        }
        self.rule_decided(&event, decision, asked).await
    }

    /// Returns the event with its delivery number, derived from the exchange and the place in it.
    pub(crate) fn number_reply(&self, event: &Event, place: usize) -> Event {
        let mut hash = blake3::Hasher::new();
        hash.update(self.id.as_bytes());
        hash.update(&((self.replied.load(Ordering::Relaxed) + place) as u64).to_be_bytes());
        self.stamp(event.clone(), number(hash.finalize()))
    }

    /// Returns the ruling on a call that a client may read as another one. It is recorded, and no property sees it.
    async fn refuse_call(&self, event: &Event, fault: CallFault) -> Result<Ruling, Stop> {
        let call = self.assign(event.clone());
        self.record_refusal(fault.code(), Bytes::from(call.to_json().to_string())).await?;
        if self.options.shadow {
            self.count(|counts| counts.unchecked += 1);
            return Ok(Ruling::Forward);
        }
        let text = match fault {
            CallFault::NotOffered => NOT_OFFERED,
            CallFault::SimilarKeys => SIMILAR_KEYS,
        };
        Ok(Ruling::Deny { text: text.to_owned() })
    }

    /// Returns the ruling on the vendor's question whether it may make a call. If the call would be stopped, so is the
    /// question, since the call itself is never seen, only its result.
    async fn rule_vendor_call(&self, event: &Event) -> Result<Option<Ruling>, Stop> {
        let call = self.assign(Event { kind: Kind::ToolCall, ..event.clone() });
        let bytes = Bytes::from(call.to_json().to_string());
        let preview = match self.perform(ExchangeStep::Preview(Box::new(call))).await? {
            StepResult::Preview(preview) => preview,
            other => return Err(unexpected(&other)),
        };
        if preview.response < Response::Redact || self.options.shadow {
            return Ok(None);
        }
        self.record_refusal("policy.foreseen", bytes).await?;
        let text = match preview.message {
            Some(message) if preview.response == Response::Block => message,
            _ => VENDOR_CALL.to_owned(),
        };
        Ok(Some(Ruling::Deny { text }))
    }

    /// Stores a call for a reviewer if it must wait for one, and returns the id of the approval.
    pub(crate) async fn ask_reviewer(&self, event: &Event, decision: &Decision) -> Result<Option<String>, Stop> {
        if self.options.shadow || decision.action != Action::Ask {
            return Ok(None);
        }
        let request = ApprovalRequest::new(&self.session, event, decision);
        match self.perform(ExchangeStep::Ask(Box::new(request))).await? {
            StepResult::Approval(id) => Ok(Some(id)),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the ruling on an event of the reply, for which a reviewer may have been asked, and whether it still waits for
    /// one.
    pub(crate) async fn rule_decided(
        &self,
        event: &Event,
        decision: &Decision,
        asked: Option<String>,
    ) -> Result<(Ruling, bool), Stop> {
        if self.options.shadow {
            return Ok((Ruling::Forward, false));
        }
        if let (Action::Steer, Some(text)) = (decision.action, &decision.message) {
            // The model reads it with the next request.
            let note = ModelNote { call: event.id.as_ref().map(ToString::to_string), text: text.clone() };
            self.update(|memory| memory.note(note.clone())).await?;
        }
        let Some(id) = asked else { return Ok((ruling(decision, decision.approval_id.as_deref()), false)) };
        let is_pending = match self.perform(ExchangeStep::LookUp(id.clone())).await? {
            StepResult::Pending(is_pending) => is_pending,
            other => return Err(unexpected(&other)),
        };
        match self.spend_grant(event).await? {
            Some(ruling) => Ok((ruling, false)),
            None if is_pending => Ok((ruling(decision, Some(&id)), true)),
            None => Ok((Ruling::Deny { text: DENIED.to_owned() }, false)),
        }
    }

    /// Returns the ruling on a call that a reviewer has approved before: it is part of the trace since then. If something
    /// else objects to it by now, the approval is spent and excuses nothing, and there is no ruling.
    async fn spend_grant(&self, event: &Event) -> Result<Option<Ruling>, Stop> {
        let call = call_hash(event);
        loop {
            // Another process may have stored the grant.
            let mut memory = self.load(true).await?;
            if !memory.granted.iter().any(|grant| grant.call == call) {
                return Ok(None);
            }
            let Some(grant) = std::sync::Arc::make_mut(&mut memory).spend(&call) else { return Ok(None) };
            if !self.save(memory).await? {
                continue;
            }
            let preview = match self.perform(ExchangeStep::Preview(Box::new(self.assign(event.clone())))).await? {
                StepResult::Preview(preview) => preview,
                other => return Err(unexpected(&other)),
            };
            if !grant.covers(&preview) {
                return Ok(None);
            }
            self.perform(ExchangeStep::Note(grant.record(Some(&self.id)))).await?;
            return Ok(Some(grant.ruling()));
        }
    }
}
