//! The second half, for replies that are streamed: text flows, calls are held until they are whole and decided on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use hyper::http::response::Parts;
use lictor_event::{Event, Kind, MASK};
use lictor_json::Text;
use lictor_wire::{Mask, Ruling, SentItem, Stream, StreamAction, StreamLimits};
use serde_json::json;

use super::ask::Begun;
use super::reply::denied_call;
use super::{Exchange, Stop};
use crate::body::{self, Pieces};
use crate::telemetry::Outcome;
use crate::told::Told;
use crate::upstream;

/// How much text before what is about to leave is looked at again: words that say what a number is stand before it.
const CONTEXT: usize = 512;

/// A reply that flows.
struct Flow {
    stream: Stream,
    moves: VecDeque<StreamAction>,
    pieces: Pieces,
    /// How many events were ruled on.
    ruled: usize,
    /// The calls that were denied, and what is said instead.
    denied: Vec<(String, String)>,
    /// Whether text is looked at before it leaves.
    looks: bool,
    /// Whether something was judged that was not whole.
    was_torn: bool,
    /// What was withheld of texts while they were said.
    withheld: BTreeMap<usize, Withheld>,
    /// What is remembered of the reply.
    remembered: Option<Vec<Vec<SentItem>>>,
    /// Whether nobody listens any more.
    is_gone: bool,
}

/// What was withheld of a text while it was said.
#[derive(Debug, Default)]
struct Withheld {
    /// How many places are masked.
    masked: usize,
    /// Whether nothing more of it leaves.
    is_stopped: bool,
    /// The properties that asked for it.
    properties: BTreeSet<Text>,
}

/// What came next from the upstream.
enum Next {
    Bytes(Bytes),
    End,
    Broken,
}

impl Exchange {
    pub(super) async fn flow(&mut self, begun: Begun, head: &Parts, mut body: Incoming) -> Result<(), Stop> {
        self.account.streams();
        let limits = self.gateway.config.limits;
        let looks = self.gateway.judges.in_force().holds_text && !self.gateway.config.shadow;
        let hold_back = if looks { limits.hold_back } else { 0 };
        let (pieces, answer) = body::pieces();
        let mut response = Response::new(answer);
        *response.status_mut() = head.status;
        *response.headers_mut() = upstream::back(&head.headers);
        self.give(response)?;
        self.pieces = Some(pieces.clone());
        let stream = Stream::new(begun.api, StreamLimits { held: limits.held, hold_back });
        let mut flow = Flow {
            stream,
            moves: VecDeque::new(),
            pieces,
            ruled: 0,
            denied: Vec::new(),
            looks,
            was_torn: false,
            withheld: BTreeMap::new(),
            remembered: None,
            is_gone: false,
        };
        let (played, was_cut) = loop {
            let next = match self.next(&mut body, &flow.pieces).await {
                Ok(next) => next,
                // Clients leave as soon as they have all that they wait for.
                Err(Stop::Gone) if flow.stream.is_complete() && !flow.was_torn => return Ok(()),
                Err(stop) => break (Err(stop), false),
            };
            let is_last = !matches!(next, Next::Bytes(_));
            let was_cut = matches!(next, Next::Broken);
            let moves = match next {
                Next::Bytes(bytes) => flow.stream.push(&bytes),
                Next::End | Next::Broken => flow.stream.end(),
            };
            flow.moves.extend(moves);
            match self.play(&begun, &mut flow).await {
                Ok(()) if is_last => break (Ok(()), was_cut),
                Ok(()) => {}
                Err(stop) => break (Err(stop), was_cut),
            }
        };
        let is_whole = flow.stream.is_complete() && !flow.was_torn && !was_cut;
        match played {
            Ok(()) => {}
            // The head has gone: an error is told within the stream, and the stream ends.
            Err(Stop::Tell(outcome, told)) => {
                self.account.ends(outcome, Some(&told.code));
                let error = begun.api.error_event(told.status, &told.code, &told.message, flow.stream.sequence());
                self.send(&flow.pieces, error.into()).await?;
                let _ = flow.pieces.end().await;
                return Ok(());
            }
            Err(Stop::Gone) => {
                flow.is_gone = true;
                flow.moves = flow.stream.abandon().into();
                self.play(&begun, &mut flow).await?;
                return Err(Stop::Gone);
            }
        }
        self.remember_once(&begun, &mut flow).await?;
        if !is_whole {
            self.account.ends(Outcome::Truncated, None);
        }
        // What the upstream cut off is cut off for the client too: nobody takes a part for all.
        if was_cut {
            return Ok(());
        }
        match flow.pieces.end().await {
            Err(_) if !is_whole => Err(Stop::Gone),
            // Who has all of it may be gone by now.
            _ => Ok(()),
        }
    }

    /// The next bytes of the upstream.
    async fn next(&self, body: &mut Incoming, pieces: &Pieces) -> Result<Next, Stop> {
        let limit = self.gateway.config.limits.answer;
        loop {
            let frame = tokio::select! {
                frame = tokio::time::timeout(limit, body.frame()) => frame,
                () = pieces.gone() => return Err(Stop::Gone),
            };
            match frame {
                Ok(Some(Ok(frame))) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    self.account.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    return Ok(Next::Bytes(bytes));
                }
                Ok(None) => return Ok(Next::End),
                Ok(Some(Err(_))) | Err(_) => return Ok(Next::Broken),
            }
        }
    }

    /// Makes the moves that the stream asks for, until it needs more bytes.
    async fn play(&self, begun: &Begun, flow: &mut Flow) -> Result<(), Stop> {
        while let Some(next) = flow.moves.pop_front() {
            let more = match next {
                StreamAction::Release(_) if flow.is_gone => continue,
                StreamAction::Release(bytes) => {
                    // Whoever has the end of a reply may ask again at once.
                    if flow.stream.is_complete() {
                        self.remember_once(begun, flow).await?;
                    }
                    self.send(&flow.pieces, bytes.into()).await?;
                    continue;
                }
                StreamAction::Judge(event) => {
                    flow.was_torn |= event.more.get("truncated").is_some();
                    let ruling = self.rule(&begun.session.name, &event, flow.ruled).await?;
                    flow.ruled += 1;
                    flow.denied.extend(denied_call(&event, &ruling));
                    self.write_shown(flow, &ruling).await?;
                    flow.stream.rule(ruling)
                }
                StreamAction::Text { .. } if flow.is_gone || !flow.looks => flow.stream.mask(&[]),
                StreamAction::Text { text, leaving } => self.look(begun, flow, text, leaving).await?,
                StreamAction::Refuse(_) if flow.is_gone => return Ok(()),
                StreamAction::Refuse(refused) if self.gateway.config.shadow => {
                    self.refused(refused.code, Vec::new()).await?;
                    return Err(Stop::Tell(Outcome::Refused, Told::new(502, refused.code, refused.message)));
                }
                StreamAction::Refuse(refused) => return Err(self.unreadable(502, &refused, Vec::new()).await?),
            };
            flow.moves.extend(more);
        }
        Ok(())
    }

    /// Looks at a text that is about to leave, and says what of it must not.
    async fn look(
        &self,
        begun: &Begun,
        flow: &mut Flow,
        text: usize,
        leaving: Range<usize>,
    ) -> Result<Vec<StreamAction>, Stop> {
        if flow.withheld.get(&text).is_some_and(|withheld| withheld.is_stopped) {
            return Ok(flow.stream.mask(&[]));
        }
        let said = flow.stream.text(text);
        let mut from = leaving.start.saturating_sub(CONTEXT);
        while !said.is_char_boundary(from) {
            from -= 1;
        }
        let mut event = Event::new(Kind::AssistantMessage);
        event.text = Some(said.get(from..).unwrap_or_default().into());
        event.session = Some(begun.session.name.as_str().into());
        event.principal = self.caller.principal.as_deref().map(Into::into);
        let preview = self.gateway.judges.preview(&self.caller.tenant, event).await?;
        // Nothing more of it leaves; it is said why, since the decision on the whole text comes too late for that.
        if let Some(message) = preview.message {
            let withheld = flow.withheld.entry(text).or_default();
            withheld.is_stopped = true;
            withheld.properties.extend(preview.properties);
            return Ok(flow.stream.stop(&format!("{MASK}\n\n{message}")));
        }
        let shifted = preview.masks.into_iter().map(|range| range.start + from..range.end + from);
        let touched = shifted.filter(|range| range.end > leaving.start && range.start < leaving.end);
        let touched: Vec<Range<usize>> = touched.collect();
        let mask = |range: &Range<usize>| Mask { range: range.start.max(leaving.start)..range.end, with: MASK.into() };
        let masks: Vec<Mask> = touched.iter().map(mask).collect();
        if !masks.is_empty() {
            let withheld = flow.withheld.entry(text).or_default();
            // What began before was counted then.
            withheld.masked += touched.iter().filter(|range| range.start >= leaving.start).count();
            withheld.properties.extend(preview.properties);
        }
        Ok(flow.stream.mask(&masks))
    }

    /// Writes down what the client was shown of a text, where that is not what was decided on all of it: some of it was
    /// withheld while it was said, or had left before it was decided on.
    async fn write_shown(&self, flow: &mut Flow, ruling: &Ruling) -> Result<(), Stop> {
        let Some((text, left)) = flow.stream.asked_text() else { return Ok(()) };
        let left = if ruling.is_forward() { 0 } else { left };
        let withheld = flow.withheld.remove(&text).unwrap_or_default();
        if withheld.properties.is_empty() && left == 0 {
            return Ok(());
        }
        if ruling.is_forward() {
            self.account.changed.fetch_add(1, Ordering::Relaxed);
        }
        let mut record = serde_json::Map::new();
        record.insert("type".into(), json!("shown"));
        record.insert("exchange".into(), json!(self.account.id));
        record.insert("masked".into(), json!(withheld.masked));
        record.insert("stopped".into(), json!(withheld.is_stopped));
        record.insert("properties".into(), withheld.properties.iter().map(Text::as_str).collect());
        record.insert("left".into(), json!(left));
        Ok(self.gateway.judges.note(&self.caller.tenant, record).await?)
    }

    /// Remembers the reply as far as it has left, unless that is remembered.
    async fn remember_once(&self, begun: &Begun, flow: &mut Flow) -> Result<(), Stop> {
        let sent = flow.stream.sent();
        if flow.remembered.as_ref() != Some(&sent) {
            self.remember(begun, &sent, flow.denied.clone()).await?;
            flow.remembered = Some(sent);
        }
        Ok(())
    }

    async fn send(&self, pieces: &Pieces, bytes: Bytes) -> Result<(), Stop> {
        let counted = bytes.clone();
        // A client that takes nothing for too long is as good as gone.
        match tokio::time::timeout(self.gateway.config.limits.write, pieces.send(bytes)).await {
            Ok(Ok(())) => self.account.sent_down(&counted),
            Ok(Err(_)) | Err(_) => return Err(Stop::Gone),
        }
        Ok(())
    }
}
