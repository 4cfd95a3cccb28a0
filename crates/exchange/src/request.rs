//! Judges the new items of a request before it is sent.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::guard::{Action, Decision};
use lictor_wire::{Request, Ruling};

use crate::bounds::count_text_bytes;
use crate::exchange::{Life, Stop};
use crate::memory::{ModelNote, SessionMemory};
use crate::notes;
use crate::ruling::{can_be_withheld, denial, ruling};
use crate::step::ExchangeFailure;

/// How many events are decided on before others get their turn: few at first and after changes, which cost more.
const MIN_EVENTS_AT_ONCE: usize = 16;
const MAX_EVENTS_AT_ONCE: usize = 128;

/// How many bytes of text they have at most, unless a single event has more.
const MAX_BYTES_AT_ONCE: usize = 64 << 10;

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
            if self.is_session_long(diff.known.len()) {
                return self.refuse_length().await;
            }
            let mut new = self.take_new_events(&memory, request, &mut diff);
            let withheld = self.take_long_events(&mut new).await?;
            let mut events: Vec<Event> = new.iter().map(|new| new.event.clone()).collect();
            let mut decisions = self.decide_ahead(&mut events, true).await?;
            let is_forwarded = decisions.iter().all(|decision| decision.action == Action::Forward);
            // If a note or an answer has to be added, the next memory depends on more than the decisions.
            let next = memory.owes_nothing() && is_forwarded && withheld.is_empty();
            let next = next.then(|| Arc::new(memory.after_request(&diff.known)));
            let Some((last, is_next)) = self.decide_atomic(events, true, next.clone()).await? else { continue };
            decisions.extend(last);
            let mut memory = next.filter(|_| is_next).unwrap_or(memory);
            // All new items are forwarded, and no known one is altered: the request is sent as it came.
            if is_next && memory.alterations() == 0 {
                return Ok((memory, RequestChanges::default()));
            }
            let edited = Arc::make_mut(&mut memory);
            let (count, mut changes, mut blocked) = (withheld.len(), withheld, None);
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
            if self.is_session_long(edited.alterations()) {
                return self.refuse_length().await;
            }
            alter_again(edited, request, &mut changes);
            if is_next {
                return Ok((memory, RequestChanges { items: changes, answers: Vec::new() }));
            }
            edited.advance(diff.known);
            self.record_withheld(count).await?;
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

    /// Decides on all events of a request or a reply but the last ones, part by part, and leaves the last ones. Others get
    /// their turn in between. If they have to be decided on again, they are known by their delivery numbers and get the same
    /// decisions.
    pub(crate) async fn decide_ahead(
        &self,
        events: &mut Vec<Event>,
        is_request: bool,
    ) -> Result<Vec<Arc<Decision>>, Stop> {
        let mut decisions: Vec<Arc<Decision>> = Vec::with_capacity(events.len());
        let mut left = std::mem::take(events).into_iter();
        let mut most = MIN_EVENTS_AT_ONCE;
        loop {
            let part = take_part(&mut left, most);
            if left.len() == 0 {
                *events = part;
                return Ok(decisions);
            }
            let decided = self.decide(part, is_request).await?;
            let is_forwarded = decided.iter().all(|decision| decision.action == Action::Forward);
            most = if is_forwarded { (2 * most).min(MAX_EVENTS_AT_ONCE) } else { MIN_EVENTS_AT_ONCE };
            decisions.extend(decided);
        }
    }

    /// Whether a session has more items than it may have.
    fn is_session_long(&self, items: usize) -> bool {
        let mut is_long = false;
        self.count(|counts| is_long = counts.items.check(items, self.options.items));
        is_long
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

/// Takes the next events: at least one, and then as many as the limits allow.
fn take_part(left: &mut std::vec::IntoIter<Event>, most: usize) -> Vec<Event> {
    let (mut part, mut bytes) = (Vec::new(), 0);
    while part.len() < most
        && let Some(next) = left.as_slice().first()
    {
        bytes += count_text_bytes(next);
        if bytes > MAX_BYTES_AT_ONCE && !part.is_empty() {
            break;
        }
        part.extend(left.next());
    }
    part
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

#[cfg(test)]
mod tests {
    use lictor_event::Kind;

    use super::*;

    /// Returns the sizes of the parts of events with texts of these lengths.
    fn part_sizes(lengths: &[usize], most: usize) -> Vec<usize> {
        let said = |length: &usize| Event { text: Some("x".repeat(*length).into()), ..Event::new(Kind::UserMessage) };
        let events: Vec<Event> = lengths.iter().map(said).collect();
        let mut left = events.into_iter();
        let mut sizes = Vec::new();
        while left.len() > 0 {
            sizes.push(take_part(&mut left, most).len());
        }
        sizes
    }

    #[test]
    fn parts_of_events_keep_within_both_bounds() {
        assert_eq!(part_sizes(&[10; 40], 16), [16, 16, 8]);
        assert_eq!(part_sizes(&[MAX_BYTES_AT_ONCE / 2; 5], 16), [2, 2, 1]);
        assert_eq!(part_sizes(&[2 * MAX_BYTES_AT_ONCE, 1, 2 * MAX_BYTES_AT_ONCE], 16), [1, 1, 1]);
        assert_eq!(part_sizes(&[], 16), [0; 0]);
    }
}
