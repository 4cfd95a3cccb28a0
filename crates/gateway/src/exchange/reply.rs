//! The second half, for replies that come as a whole.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use lictor_event::{Event, Kind};
use lictor_wire::{Reply, Ruling, SentItem};

use super::ask::Begun;
use super::{Exchange, Stop};
use crate::body::{self, Unread};
use crate::telemetry::Outcome;
use crate::told::Told;

impl Exchange {
    /// Judges a reply and gives it to the client.
    pub(super) async fn replied(&mut self, begun: Begun, response: Response<Incoming>) -> Result<(), Stop> {
        let (head, body) = response.into_parts();
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let streams = header("content-type").trim().to_ascii_lowercase().starts_with("text/event-stream");
        let is_packed = !matches!(header("content-encoding").trim(), "" | "identity");
        match (head.status.is_success(), streams) {
            (false, _) => self.failed(&head, body).await,
            (true, true) if is_packed => {
                let told = Told::new(
                    502,
                    "upstream.encoding",
                    "the model's server packs its stream, although it was not asked to",
                );
                self.refused(&told.code, Vec::new()).await?;
                Err(Stop::Tell(Outcome::Refused, told))
            }
            (true, true) => self.flow(begun, &head, body).await,
            (true, false) => self.whole(begun, &head, body).await,
        }
    }

    /// The body of an answer, unpacked.
    async fn read_answer(&mut self, head: &Parts, body: Incoming) -> Result<Bytes, Stop> {
        let limits = self.gateway.config.limits;
        let reading = body::read(body, limits.body, limits.answer);
        let (bytes, read) = tokio::select! {
            read = reading => read,
            () = self.client.closed() => return Err(Stop::Gone),
        };
        self.account.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let encoding = head.headers.get("content-encoding").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let unpacked = read.and_then(|()| body::unpack(encoding, &bytes, limits.body, limits.inflation));
        match unpacked {
            Ok(bytes) => Ok(bytes),
            Err(unread) => {
                let (outcome, message) = match unread {
                    Unread::BrokenOff => (Outcome::Truncated, "the model's server broke off"),
                    Unread::TooSlow => (Outcome::Truncated, "the model's server did not finish in time"),
                    Unread::TooLarge => (Outcome::Refused, "the model's server said more than the gateway takes"),
                    Unread::Type | Unread::Encoding | Unread::Damaged => {
                        (Outcome::Refused, "the model's answer cannot be unpacked")
                    }
                };
                let (_, code, _) = unread.told();
                let code = code.replacen("body.", "upstream.", 1);
                self.refused(&code, bytes.to_vec()).await?;
                Err(Stop::Tell(outcome, Told::new(502, code, message)))
            }
        }
    }

    /// An error of the upstream, in its own words: it holds nothing that an agent says or does.
    async fn failed(&mut self, head: &Parts, body: Incoming) -> Result<(), Stop> {
        let bytes = self.read_answer(head, body).await?;
        self.give_whole(head.status, &head.headers, bytes)?;
        self.account.ends(Outcome::UpstreamError, None);
        Ok(())
    }

    async fn whole(&mut self, begun: Begun, head: &Parts, body: Incoming) -> Result<(), Stop> {
        let bytes = self.read_answer(head, body).await?;
        if head.status == StatusCode::NO_CONTENT {
            return self.give_whole(head.status, &head.headers, bytes);
        }
        let reply = match Reply::read(begun.api, &bytes) {
            Ok(reply) => reply,
            Err(refused) if self.gateway.config.shadow => {
                self.refused(refused.code, bytes.to_vec()).await?;
                self.gateway.metrics.unchecked.fetch_add(1, Ordering::Relaxed);
                return self.give_whole(head.status, &head.headers, bytes);
            }
            Err(refused) => return Err(self.unreadable(502, &refused, bytes.to_vec()).await?),
        };
        let forwarded = match reply.settle(&[]) {
            Ok(forwarded) => forwarded,
            Err(refused) => return Err(self.unreadable(502, &refused, bytes.to_vec()).await?),
        };
        let (rulings, is_remembered) = self.rule_all(&begun, reply.events(), &forwarded.sent).await?;
        if is_remembered {
            return self.give_whole(head.status, &head.headers, bytes);
        }
        let denied =
            reply.events().iter().zip(&rulings).filter_map(|(event, ruling)| denied_call(event, ruling)).collect();
        let settled = match reply.settle(&rulings) {
            Ok(settled) => settled,
            Err(refused) => return Err(self.unreadable(502, &refused, bytes.to_vec()).await?),
        };
        self.remember(&begun, &settled.sent, denied).await?;
        self.give_whole(head.status, &head.headers, settled.body.into())
    }

    /// Remembers what the client got: it will be sent again, and is judged already.
    pub(super) async fn remember(
        &self,
        begun: &Begun,
        sent: &[Vec<SentItem>],
        denied: Vec<(String, String)>,
    ) -> Result<(), Stop> {
        let (sessions, tenant, name) = (&self.gateway.sessions, &self.caller.tenant, &begun.session.name);
        let mut known = begun.memory.known.clone();
        known.replied(sent);
        loop {
            let _turn = sessions.turn(name).await;
            // Others may have changed the rest meanwhile; of the history, this exchange is the latest.
            let mut memory = sessions.load(tenant, name).await?;
            memory.known = known.clone();
            memory.alters_too(&begun.memory);
            memory.denied = denied.clone();
            if sessions.save(tenant, name, &mut memory).await? {
                return Ok(());
            }
        }
    }
}

/// The id of a call that is denied, and what is said instead.
pub(super) fn denied_call(event: &Event, ruling: &Ruling) -> Option<(String, String)> {
    match ruling {
        Ruling::Deny { text } if event.kind == Kind::ToolCall => Some((event.id.as_ref()?.to_string(), text.clone())),
        _ => None,
    }
}
