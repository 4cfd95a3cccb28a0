//! The first half: the new items of a request are judged before it is sent.

use std::sync::Arc;

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::guard::{Action, Decision};
use lictor_wire::{HistoryDiff, Request, Ruling};

use crate::exchange::{Life, Stop, number};
use crate::memory::{ModelNote, SessionMemory};
use crate::notes;
use crate::ruling::{can_be_withheld, denial, ruling};
use crate::step::ExchangeFailure;

/// How often a request is tried whose session is changed by others at the same time.
const MAX_ATTEMPTS: usize = 20;

/// Something new in a request.
#[derive(Debug)]
pub(crate) struct NewEvent {
    pub(crate) event: Event,
    /// The place of its item; none for what the request does not say itself.
    pub(crate) place: Option<usize>,
    /// By which it is known if it is said again.
    content: i64,
}

/// What is sent otherwise than it came.
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
    /// Judges what is new in a request. Returns the memory once it is sent, and what is sent otherwise than it came.
    pub(crate) async fn judge_request(&self, request: &Request) -> Result<(Arc<SessionMemory>, RequestChanges), Stop> {
        for _ in 0..MAX_ATTEMPTS {
            let memory = self.load(false).await?;
            let diff = memory.known.fold(request);
            if diff.known.len() > self.options.items {
                return self.refuse_length().await;
            }
            let new = self.new_events(&memory, request, &diff);
            let events = new.iter().map(|new| new.event.clone()).collect();
            // Where the model is owed a note or an answer, the next memory depends on more than the decisions.
            let next = memory.owes_nothing().then(|| Arc::new(memory.after_request(&diff.known)));
            let Some((decisions, is_next)) = self.decide_atomic(events, true, next.clone()).await? else { continue };
            let mut memory = next.filter(|_| is_next).unwrap_or(memory);
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
                // Nothing is sent, so the model knows nothing of the history.
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
            // They are sent until the vendor has answered: an attempt that fails is made again.
            let denied = if request.carries_history() { Vec::new() } else { edited.denied.clone() };
            if self.save(Arc::clone(&memory)).await? {
                let answers = denied.into_iter().map(|(id, text)| (id.into(), text)).collect();
                return Ok((memory, RequestChanges { items: changes, answers }));
            }
        }
        let message = "session is busy: too many concurrent updates; retry";
        Err(Stop::Fail(ExchangeFailure::failed(503, "session.crowded", message)))
    }

    async fn refuse_length<T>(&self) -> Result<T, Stop> {
        let message = format!("session has more items than the limit of {}", self.options.items);
        let failure = ExchangeFailure::refused(413, "session.too_long", message);
        self.record_refusal(&failure.code, Bytes::new()).await?;
        Err(Stop::Fail(failure))
    }

    /// The note about something that has no text to put it after.
    fn unattached_note(&self, event: &Event, decision: &Decision) -> Option<ModelNote> {
        let is_silent = decision.action == Action::Steer && event.text.is_none() && !self.options.shadow;
        Some(ModelNote { call: None, text: decision.message.clone().filter(|_| is_silent)? })
    }

    /// The events of what is new: first that the history is not as it was.
    fn new_events(&self, memory: &SessionMemory, request: &Request, diff: &HistoryDiff) -> Vec<NewEvent> {
        // The same words at the same place after the same history are the same event, however often they are sent, until
        // the request was sent or they are refused: to send them again then is to ask again.
        let mut before = blake3::Hasher::new();
        before.update(&memory.place());
        let content = |place: usize, hash: &[u8]| {
            let mut content = before.clone();
            content.update(&(place as u64).to_be_bytes());
            content.update(hash);
            number(content.finalize())
        };
        let new = |event: Event, place: Option<usize>, content: i64| {
            let attempt = [content.to_be_bytes(), i64::from(memory.refusals(content)).to_be_bytes()].concat();
            NewEvent { event: self.stamp(event, number(blake3::hash(&attempt))), place, content }
        };
        let changed = diff.event().map(|event| {
            self.count(|counts| counts.history_changed = true);
            let all: Vec<u8> = request.items.iter().flat_map(|item| item.hash).collect();
            new(event, None, content(usize::MAX, &all))
        });
        let items = diff.fresh.iter().filter_map(|(place, event)| {
            let item = request.items.get(*place)?;
            Some(new(event.clone(), Some(*place), content(*place, &item.hash)))
        });
        changed.into_iter().chain(items).collect()
    }

    /// What becomes of an item; an error if the request must not be sent.
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

/// What was sent otherwise than it came is sent so each time it comes.
fn alter_again(memory: &SessionMemory, request: &Request, changes: &mut Vec<(usize, Ruling)>) {
    for (place, item) in request.items.iter().enumerate() {
        if !changes.iter().any(|(known, _)| *known == place)
            && let Some(ruling) = memory.alteration(&item.hash)
        {
            changes.push((place, ruling));
        }
    }
    changes.sort_by_key(|(place, _)| *place);
}
