//! Judges replies that are not streamed.

use std::sync::Arc;

use bytes::Bytes;
use lictor_event::Event;
use lictor_wire::{Reply, Ruling, SentItem};

use crate::exchange::{Life, Stop};
use crate::memory::SessionMemory;
use crate::ruling::{asks_vendor, denied_call};
use crate::step::{ExchangeEnd, ExchangeStep};

impl Life {
    /// Judges a reply and sends it to the client. `sent` is the memory as of when the request was sent.
    pub(crate) async fn judge_reply(&self, sent: &SessionMemory, bytes: Bytes) -> Result<ExchangeEnd, Stop> {
        let reply = match Reply::read(self.api, &bytes) {
            Ok(reply) => reply,
            Err(refused) if self.options.shadow => {
                self.record_refusal(refused.code, bytes.clone()).await?;
                self.count(|counts| counts.unchecked += 1);
                return self.send_body(bytes).await;
            }
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        let forwarded = match reply.settle(&[]) {
            Ok(forwarded) => forwarded,
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        let (rulings, is_remembered) = self.rule_all(sent, reply.events(), &forwarded.sent).await?;
        if is_remembered {
            return self.send_body(bytes).await;
        }
        let denied =
            reply.events().iter().zip(&rulings).filter_map(|(event, ruling)| denied_call(event, ruling)).collect();
        let settled = match reply.settle(&rulings) {
            Ok(settled) => settled,
            Err(refused) => return Err(self.refuse_input(502, refused, bytes).await?),
        };
        self.remember(sent, &settled.sent, denied).await?;
        self.send_body(settled.body.into()).await
    }

    async fn send_body(&self, bytes: Bytes) -> Result<ExchangeEnd, Stop> {
        self.perform(ExchangeStep::SendBody(bytes)).await?;
        Ok(ExchangeEnd::Complete)
    }

    /// Decides on all events of a reply, in one save where possible. If all are forwarded, the same save holds the
    /// memory after the reply. Returns the rulings, and whether that memory was saved.
    async fn rule_all(
        &self,
        before: &SessionMemory,
        events: &[Event],
        sent: &[Vec<SentItem>],
    ) -> Result<(Vec<Ruling>, bool), Stop> {
        let numbered: Vec<Event> =
            events.iter().enumerate().map(|(place, event)| self.number_reply(event, place)).collect();
        let decided = loop {
            let memory = self.load(false).await?;
            if !memory.granted.is_empty() || events.iter().any(asks_vendor) {
                break None;
            }
            let next = Arc::new(memory.after_reply(before, sent));
            if let Some(decided) = self.decide_atomic(numbered.clone(), false, Some(next)).await? {
                break Some(decided);
            }
        };
        let mut rulings = Vec::with_capacity(events.len());
        let Some((decisions, is_next)) = decided else {
            for (place, event) in events.iter().enumerate() {
                rulings.push(self.rule(event, place).await?);
            }
            return Ok((rulings, false));
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
        for ((event, decision), asked) in numbered.iter().zip(&decisions).zip(asked) {
            rulings.push(self.rule_decided(event, decision, asked).await?);
        }
        Ok((rulings, is_next))
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
