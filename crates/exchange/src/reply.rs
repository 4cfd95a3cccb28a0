//! Judges replies that are not streamed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use lictor_event::{Event, Kind};
use lictor_json::Text;
use lictor_judge::guard::Action;
use lictor_wire::{JudgedReply, Reply, Ruling, SentItem};

use crate::exchange::{Life, Stop};
use crate::memory::SessionMemory;
use crate::ruling::{APOLOGY, asks_vendor, denied_call};
use crate::step::{ExchangeEnd, ExchangeStep, StepResult};

/// A reply after it was judged.
pub(crate) enum SettledReply {
    /// The body for the client.
    Body(Bytes),
    /// All calls of it are denied, and the model is asked again.
    Refused(Box<RefusedReply>),
}

/// A reply all of whose calls are denied.
pub(crate) struct RefusedReply {
    /// What the client gets if the model gives no other reply.
    settled: JudgedReply,
    /// The ids of the calls, and the texts for the model.
    denied: Vec<(String, String)>,
    /// What the model is sent next.
    next_request: Bytes,
}

/// The rulings on the events of a reply.
struct RuledEvents {
    rulings: Vec<Ruling>,
    /// Whether the memory after the reply was saved with the decisions.
    is_remembered: bool,
    /// Whether a call waits for a reviewer.
    is_waiting: bool,
}

impl Life {
    /// Judges a reply and sends it to the client; `request` is what the model was sent, and `sent` the memory as of then.
    /// If all calls of the reply are denied, the model gets the reasons and is asked again: the client gets a reply with
    /// which it can continue, or the denial if the model insists.
    pub(crate) async fn judge_reply(
        &self,
        sent: &SessionMemory,
        mut request: Bytes,
        mut bytes: Bytes,
    ) -> Result<ExchangeEnd, Stop> {
        bytes = self.intervene(sent, &request, bytes).await?;
        let mut left = self.corrections_left(sent);
        let mut denied: Option<RefusedReply> = None;
        loop {
            let refused = match self.settle_reply(sent, &request, bytes, left).await {
                Ok(SettledReply::Body(body)) => return self.send_body(body).await,
                Ok(SettledReply::Refused(refused)) => *refused,
                // A correction that cannot be read is none: the client gets the denial.
                Err(Stop::Fail(failure)) => match denied.take_if(|_| failure.end == ExchangeEnd::Refused) {
                    Some(denied) => return self.send_denial(sent, denied).await,
                    None => return Err(Stop::Fail(failure)),
                },
                Err(stop) => return Err(stop),
            };
            left -= 1;
            match self.ask_again(&refused.next_request).await? {
                StepResult::Reply(again) => {
                    let again = self.intervene(sent, &refused.next_request, again).await?;
                    (request, bytes, denied) = (refused.next_request.clone(), again, Some(refused));
                }
                _ => return self.send_denial(sent, refused).await,
            }
        }
    }

    /// Returns how often the model may be asked again for a reply, by the memory as of when the request was sent.
    pub(crate) fn corrections_left(&self, sent: &SessionMemory) -> usize {
        self.options.corrections.min(self.options.session_corrections.saturating_sub(sent.corrections))
    }

    /// Asks the model again, unless the client has disconnected.
    pub(crate) async fn ask_again(&self, request: &Bytes) -> Result<StepResult, Stop> {
        self.update(|memory| memory.corrections += 1).await?;
        let answered = self.perform(ExchangeStep::AskAgain(request.clone())).await?;
        self.count(|counts| counts.corrections += 1);
        Ok(answered)
    }

    /// Sends the client a reply with the denials of its calls.
    async fn send_denial(&self, sent: &SessionMemory, refused: RefusedReply) -> Result<ExchangeEnd, Stop> {
        self.remember(sent, &refused.settled.sent, refused.denied).await?;
        self.send_body(refused.settled.body.into()).await
    }

    /// Judges a reply and remembers what the client will get, unless the model is to be asked again. `left` says how
    /// often it still may be.
    pub(crate) async fn settle_reply(
        &self,
        sent: &SessionMemory,
        request: &Bytes,
        bytes: Bytes,
        left: usize,
    ) -> Result<SettledReply, Stop> {
        let reply = match Reply::read_with(self.api, &bytes, self.options.unknown_fields) {
            Ok(reply) => reply,
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        self.note_stripped(reply.stripped());
        self.replies_as(reply.id());
        let separated = if self.options.reads_texts { reply.separate_texts() } else { Ok(reply) };
        let reply = match separated {
            Ok(reply) => reply,
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        if self.options.reads_texts && reply.has_split_word() {
            return Err(self.refuse_split_word(bytes).await?);
        }
        if let Some(refused) = self.check_reply(reply.events()) {
            return Err(self.refuse_input(502, refused, Bytes::new()).await?);
        }
        let forwarded = match reply.settle(&[]) {
            Ok(forwarded) => forwarded,
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        let RuledEvents { mut rulings, is_remembered, is_waiting } =
            self.rule_all(sent, reply.events(), &forwarded.sent).await?;
        if is_remembered {
            return Ok(SettledReply::Body(forwarded.body.into()));
        }
        let denied: Vec<(String, String)> =
            reply.events().iter().zip(&rulings).filter_map(|(event, ruling)| denied_call(event, ruling)).collect();
        // A call that waits for a reviewer is no mistake of the model.
        let is_mistaken = !denied.is_empty() && !is_waiting && !self.options.shadow;
        let mut next_request = None;
        if is_mistaken && left > 0 {
            let denials: Vec<(Text, String)> =
                denied.iter().map(|(id, text)| (id.as_str().into(), text.clone())).collect();
            next_request = reply.correct_request(request, &denials);
        } else if is_mistaken && left < self.options.corrections {
            for (event, ruling) in reply.events().iter().zip(&mut rulings) {
                if let (Kind::ToolCall, Ruling::Deny { text }) = (&event.kind, ruling) {
                    APOLOGY.clone_into(text);
                }
            }
        }
        let settled = match reply.settle_reply_to(request, &rulings) {
            Ok(settled) => settled,
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        if let Some(next_request) = next_request {
            self.replied.fetch_add(reply.events().len(), Ordering::Relaxed);
            let next_request = Bytes::from(next_request);
            return Ok(SettledReply::Refused(Box::new(RefusedReply { settled, denied, next_request })));
        }
        self.remember(sent, &settled.sent, denied).await?;
        Ok(SettledReply::Body(settled.body.into()))
    }

    pub(crate) async fn send_body(&self, bytes: Bytes) -> Result<ExchangeEnd, Stop> {
        self.perform(ExchangeStep::SendBody(bytes)).await?;
        Ok(ExchangeEnd::Complete)
    }

    /// Decides on all events of a reply, in one save where possible. If all are forwarded, the same save holds the
    /// memory after the reply.
    async fn rule_all(
        &self,
        before: &SessionMemory,
        events: &[Event],
        sent: &[Vec<SentItem>],
    ) -> Result<RuledEvents, Stop> {
        let numbered: Vec<Event> =
            events.iter().enumerate().map(|(place, event)| self.number_reply(event, place)).collect();
        let decided = loop {
            let memory = self.load(false).await?;
            if !memory.granted.is_empty()
                || events.iter().any(|event| asks_vendor(event) || self.find_fault(event).is_some())
            {
                break None;
            }
            let mut last = numbered.clone();
            let mut decisions = self.decide_ahead(&mut last, false).await?;
            let is_forwarded = decisions.iter().all(|decision| decision.action == Action::Forward);
            let next = is_forwarded.then(|| Arc::new(memory.after_reply(before, sent)));
            if let Some((decided, is_next)) = self.decide_atomic(last, false, next).await? {
                decisions.extend(decided);
                break Some((decisions, is_next));
            }
        };
        let mut rulings = Vec::with_capacity(events.len());
        let Some((decisions, is_next)) = decided else {
            let mut is_waiting = false;
            for (place, event) in events.iter().enumerate() {
                let (ruling, waits) = self.rule(event, place).await?;
                rulings.push(ruling);
                is_waiting |= waits;
            }
            return Ok(RuledEvents { rulings, is_remembered: false, is_waiting });
        };
        // Reviewers are asked about all calls at once, and all wait until the same time.
        let mut asked = Vec::with_capacity(events.len());
        for (event, decision) in numbered.iter().zip(&decisions) {
            asked.push(self.ask_reviewer(event, decision).await?);
        }
        // Grants are spent after all approvals are answered: a client that disconnects before that was sent nothing.
        let waiting: Vec<String> = asked.iter().flatten().cloned().collect();
        if !waiting.is_empty() {
            self.perform(ExchangeStep::Wait(waiting)).await?;
        }
        let mut is_waiting = false;
        for ((event, decision), asked) in numbered.iter().zip(&decisions).zip(asked) {
            let (ruling, waits) = self.rule_decided(event, decision, asked).await?;
            rulings.push(ruling);
            is_waiting |= waits;
        }
        Ok(RuledEvents { rulings, is_remembered: is_next, is_waiting })
    }

    /// Remembers the items that the client was sent: it sends them again, and they are not judged twice.
    pub(crate) async fn remember(
        &self,
        before: &SessionMemory,
        sent: &[Vec<SentItem>],
        denied: Vec<(String, String)>,
    ) -> Result<(), Stop> {
        self.update(|memory| {
            // Other exchanges may have changed the rest meanwhile; this exchange has the latest history.
            *memory = memory.after_reply(before, sent);
            memory.denied.clone_from(&denied);
        })
        .await
    }
}
