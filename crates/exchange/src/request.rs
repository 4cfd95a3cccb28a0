//! Judges the new items of a request before it is sent.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::guard::{Action, Decision};
use lictor_wire::{Request, Ruling};

use crate::exchange::{Life, Stop};
use crate::memory::{ModelNote, SessionMemory};
use crate::notes;
use crate::ruling::{can_be_withheld, denial, ruling};
use crate::step::ExchangeFailure;

/// How many events of a request are decided on before others get their turn.
const MAX_EVENTS_AT_ONCE: usize = 128;

/// How often a request is tried while other exchanges change its session.
const MAX_ATTEMPTS: usize = 20;

/// The changes to a request before it is sent.
#[derive(Debug, Default)]
pub(crate) struct RequestChanges {
    pub(crate) items: Vec<(usize, Ruling)>,
    /// Results of calls that were denied, for a vendor that keeps the history.
    pub(crate) answers: Vec<(Text, String)>,
}

impl RequestChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.answers.is_empty()
    }
}

impl Life {
    /// Judges the new items of a request. Returns the memory after it is sent, and the changes to it.
    pub(crate) async fn judge_request(&self, request: &Request) -> Result<(Arc<SessionMemory>, RequestChanges), Stop> {
        for _ in 0..MAX_ATTEMPTS {
            let memory = self.load(false).await?;
            let mut diff = memory.known.fold(request);
            if diff.known.len() > self.options.items {
                return self.refuse_length().await;
            }
            let new = self.take_new_events(&memory, request, &mut diff);
            let mut events: Vec<Event> = new.iter().map(|new| new.event.clone()).collect();
            let mut decisions = self.decide_ahead(&mut events).await?;
            let is_forwarded = decisions.iter().all(|decision| decision.action == Action::Forward);
            // If a note or an answer has to be added, the next memory depends on more than the decisions.
            let next = memory.owes_nothing() && is_forwarded;
            let next = next.then(|| Arc::new(memory.after_request(&diff.known)));
            let Some((last, is_next)) = self.decide_atomic(events, true, next.clone()).await? else { continue };
            decisions.extend(last);
            let mut memory = next.filter(|_| is_next).unwrap_or(memory);
            // All new items are forwarded, and no known one is altered: the request is sent as it came.
            if is_next && memory.alterations() == 0 {
                return Ok((memory, RequestChanges::default()));
            }
            let edited = Arc::make_mut(&mut memory);
            let (mut changes, mut blocked) = (Vec::new(), None);
            for (new, decision) in new.iter().zip(&decisions) {
                if let Some(note) = self.unattached_note(&new.event, decision) {
                    edited.note(note);
                }
                let Some(place) = new.place else { continue };
                match self.rule_item(&new.event, decision) {
                    Ok(ruling) => changes.push((place, ruling)),
                    Err(failure) => {
                        edited.refuse(new.content);
                        blocked = blocked.or(Some(failure));
                    }
                }
            }
            if let Some(failure) = blocked {
                // The request is not sent, so the model does not get to know this history.
                if !self.save(memory).await? {
                    continue;
                }
                return Err(Stop::Fail(failure));
            }
            notes::attach(edited, &new, &mut changes);
            changes.retain(|(_, ruling)| !ruling.is_forward());
            for (place, ruling) in &changes {
                if let Some(item) = request.items.get(*place) {
                    edited.alter(&item.hash, ruling);
                }
            }
            edited.keep_alterations(request, self.options.items);
            if edited.alterations() > self.options.items {
                return self.refuse_length().await;
            }
            alter_again(edited, request, &mut changes);
            if is_next {
                return Ok((memory, RequestChanges { items: changes, answers: Vec::new() }));
            }
            edited.advance(diff.known);
            // They are sent until the vendor has replied: a client retries a failed request.
            let denied = if request.carries_history() { Vec::new() } else { edited.denied.clone() };
            if self.save(Arc::clone(&memory)).await? {
                let answers = denied.into_iter().map(|(id, text)| (id.into(), text)).collect();
                return Ok((memory, RequestChanges { items: changes, answers }));
            }
        }
        let message = "session is busy: too many concurrent updates; retry";
        Err(Stop::Fail(ExchangeFailure::failed(503, "session.crowded", message)))
    }

    /// Decides on all events but the last ones, part by part, and leaves the last ones. Others get their turn in between. If
    /// the request has to be tried again, its events are known by their delivery numbers and get the same decisions.
    async fn decide_ahead(&self, events: &mut Vec<Event>) -> Result<Vec<Arc<Decision>>, Stop> {
        let mut decisions = Vec::new();
        while events.len() > MAX_EVENTS_AT_ONCE {
            let rest = events.split_off(MAX_EVENTS_AT_ONCE);
            decisions.extend(self.decide(std::mem::replace(events, rest), true).await?);
        }
        Ok(decisions)
    }

    async fn refuse_length<T>(&self) -> Result<T, Stop> {
        let message = format!("session has more items than the limit of {}", self.options.items);
        let failure = ExchangeFailure::refused(413, "session.too_long", message);
        self.record_refusal(&failure.code, Bytes::new()).await?;
        Err(Stop::Fail(failure))
    }

    /// Returns the note for an event without a text that it could be added to.
    fn unattached_note(&self, event: &Event, decision: &Decision) -> Option<ModelNote> {
        let is_silent = decision.action == Action::Steer && event.text.is_none() && !self.options.shadow;
        Some(ModelNote { call: None, text: decision.message.clone().filter(|_| is_silent)? })
    }

    /// Returns the ruling on an item; an error if the request must not be sent.
    fn rule_item(&self, event: &Event, decision: &Decision) -> Result<Ruling, ExchangeFailure> {
        if self.options.shadow {
            return Ok(Ruling::Forward);
        }
        match decision.action {
            Action::Ask | Action::Block if !can_be_withheld(&event.kind) => {
                let code = if decision.action == Action::Ask { "policy.waits" } else { "policy.blocked" };
                Err(ExchangeFailure::refused(403, code, denial(decision, decision.approval_id.as_deref())))
            }
            Action::Steer => {
                Ok(decision.message.as_ref().map_or(Ruling::Forward, |text| notes::with_note(event, text)))
            }
            _ => Ok(ruling(decision, decision.approval_id.as_deref())),
        }
    }
}

/// Adds the remembered alterations: an item that was altered once is altered each time it comes.
fn alter_again(memory: &SessionMemory, request: &Request, changes: &mut Vec<(usize, Ruling)>) {
    let changed: HashSet<usize> = changes.iter().map(|(place, _)| *place).collect();
    for (place, item) in request.items.iter().enumerate() {
        if !changed.contains(&place)
            && let Some(ruling) = memory.alteration(&item.hash)
        {
            changes.push((place, ruling));
        }
    }
    changes.sort_by_key(|(place, _)| *place);
}
