//! Judges streamed replies: text is sent as it comes, calls are buffered until they are complete and decided on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use lictor_event::{Event, Kind, MASK};
use lictor_json::Text;
use lictor_wire::{Mask, Reply, Ruling, SentItem, Stream, StreamAction, StreamLimits};

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::ruling::{APOLOGY, WITHHELD_TEXT, denied_call};
use crate::step::{ExchangeEnd, ExchangeStep, ShownText, StepResult};

/// How many bytes of already sent text are previewed with the next: the words that say what a number is come before it.
const CONTEXT_BYTES: usize = 512;

/// A reply that is streamed.
pub(crate) struct StreamState {
    pub(crate) stream: Stream,
    pub(crate) actions: VecDeque<StreamAction>,
    /// How many events were ruled on.
    ruled: usize,
    /// How many calls it has so far.
    calls: usize,
    /// The calls that were denied, and the texts that are sent instead.
    denied: Vec<(String, String)>,
    /// Whether an incomplete event was judged.
    pub(crate) was_torn: bool,
    /// The withheld parts of texts, by text.
    withheld: BTreeMap<usize, WithheldText>,
    /// The items of the reply that the memory has.
    remembered: Option<Vec<Vec<SentItem>>>,
    /// Whether the client has disconnected.
    pub(crate) is_gone: bool,
    /// Whether everything was sent so far.
    is_reading: bool,
    /// What was not sent yet, as long as the model may be asked again instead.
    opening: Option<StreamOpening>,
    /// How often the model may still be asked again.
    left: usize,
    /// What was read of the stream before it is judged.
    held: HeldStream,
}

/// The part of a stream that was read before it is judged.
#[derive(Debug, Default)]
pub(crate) struct HeldStream {
    /// The bytes, as they came.
    pub(crate) pieces: VecDeque<Bytes>,
    /// Whether the connection broke, if the end of the stream was read as well.
    pub(crate) was_cut: Option<bool>,
}

impl HeldStream {
    /// Returns what is read next; none if the rest has to be read from the upstream.
    fn take_next(&mut self) -> Option<StepResult> {
        let end = |was_cut: bool| if was_cut { StepResult::Cut } else { StepResult::End };
        self.pieces.pop_front().map(StepResult::Bytes).or_else(|| self.was_cut.map(end))
    }
}

/// The beginning of a stream that shows nothing but denials of calls.
#[derive(Debug, Default)]
struct StreamOpening {
    /// The bytes of the upstream.
    received: Vec<u8>,
    /// How many bytes were sent: those that only open a reply. Another stream can continue it.
    sent: usize,
    /// The bytes for the client.
    unsent: Vec<u8>,
    /// Whether a call waits for a reviewer, which is no mistake of the model.
    is_waiting: bool,
}

/// The withheld parts of a text while it is streamed.
#[derive(Debug, Default)]
struct WithheldText {
    /// How many places are masked.
    masked: usize,
    /// Whether the rest of the text is withheld.
    is_stopped: bool,
    /// The properties that asked for it.
    properties: BTreeSet<Text>,
}

impl StreamState {
    /// Forwards the event that the stream asked about, since it could not be judged.
    pub(crate) fn forward_asked(&mut self) {
        let actions = self.stream.rule(Ruling::Forward);
        self.actions.extend(actions);
    }

    /// Performs the actions of a stream that is not judged: it is only followed to know when it is complete.
    pub(crate) fn forward_all(&mut self) {
        while let Some(next) = self.actions.pop_front() {
            let more = match next {
                StreamAction::Judge(_) => self.stream.rule(Ruling::Forward),
                StreamAction::Text { .. } => self.stream.mask(&[]),
                StreamAction::Release(_) | StreamAction::Refuse(_) => continue,
            };
            self.actions.extend(more);
        }
    }

    /// Whether the reply is complete, and all of it was judged as such.
    pub(crate) fn is_whole(&self) -> bool {
        self.stream.is_complete() && !self.was_torn
    }

    /// Returns the id of the reply, if the client has its opening and nothing else of it.
    fn opened_id(&self) -> Option<String> {
        let opening = self.opening.as_ref().filter(|opening| opening.sent > 0)?;
        (opening.sent == self.stream.opening_bytes()).then(|| self.stream.id().unwrap_or_default().to_owned())
    }

    /// Whether the client has nothing of the stream, and it has nothing for the client.
    fn says_nothing(&self) -> bool {
        self.opening.is_some() && !self.stream.shows_anything() && self.denied.is_empty()
    }
}

impl Life {
    /// Judges a stream while it is sent to the client. `before` is the memory as of when the request was sent. If the
    /// stream has nothing but calls and all are denied, the model gets the reasons and is asked again, as for a
    /// [whole reply](Life::judge_reply): the client gets the next stream instead.
    pub(crate) async fn judge_stream(&self, before: &SessionMemory, request: Bytes) -> Result<ExchangeEnd, Stop> {
        self.judge_stream_from(before, request, HeldStream::default()).await
    }

    /// Judges a stream like [`judge_stream`](Life::judge_stream), the beginning or all of which was read before.
    pub(crate) async fn judge_stream_from(
        &self,
        before: &SessionMemory,
        mut request: Bytes,
        mut held: HeldStream,
    ) -> Result<ExchangeEnd, Stop> {
        let mut left = self.corrections_left(before);
        let mut denied: Option<StreamState> = None;
        let mut opened: Option<String> = None;
        let (state, stopped) = loop {
            let mut state = StreamState { held: std::mem::take(&mut held), ..self.open_stream(left) };
            if let Some(id) = &opened {
                state.stream = state.stream.resume(id);
            }
            let stopped = self.follow(before, &mut state).await;
            self.note_stripped(state.stream.stripped());
            // A correction that says nothing, or cannot be read, is none: the client gets the denial.
            if let Some(denied) = denied.take_if(|_| !matches!(stopped, Err(Stop::Gone)) && state.says_nothing()) {
                break (denied, Ok(false));
            }
            let Some(next) = stopped.as_ref().ok().and_then(|was_cut| self.correct_stream(&state, &request, *was_cut))
            else {
                break (state, stopped);
            };
            match self.ask_again(&next).await? {
                StepResult::Stream => {
                    self.replied.fetch_add(state.ruled, Ordering::Relaxed);
                    opened = opened.or_else(|| state.opened_id());
                    (left, request, denied) = (left - 1, next, Some(state));
                }
                _ => break (state, stopped),
            }
        };
        self.end_stream(before, state, stopped).await
    }

    /// Returns the next request to the model, if it has to be asked again after a stream.
    fn correct_stream(&self, state: &StreamState, request: &Bytes, was_cut: bool) -> Option<Bytes> {
        let opening = state.opening.as_ref().filter(|opening| !opening.is_waiting && !was_cut && !state.was_torn)?;
        if state.left == 0 || state.denied.is_empty() {
            return None;
        }
        let denials: Vec<(Text, String)> =
            state.denied.iter().map(|(id, text)| (id.as_str().into(), text.clone())).collect();
        Reply::correct_streamed(self.api, &opening.received, request, &denials).map(Bytes::from)
    }

    /// Sends what is left of a stream, and remembers it.
    pub(crate) async fn end_stream(
        &self,
        before: &SessionMemory,
        mut state: StreamState,
        stopped: Result<bool, Stop>,
    ) -> Result<ExchangeEnd, Stop> {
        let stopped = match stopped {
            Ok(was_cut) => self.send_opening(before, &mut state).await.map(|()| was_cut),
            Err(stop) => Err(stop),
        };
        let was_cut = match stopped {
            Ok(was_cut) => was_cut,
            // The head was sent: the error is reported within the stream, and the stream ends.
            Err(Stop::Fail(failure)) => {
                let sequence = state.stream.sequence();
                let error = self.api.error_event(failure.status, &failure.code, &failure.message, sequence);
                let end = failure.end;
                self.perform(ExchangeStep::Abort(failure, error.into())).await?;
                return Ok(end);
            }
            // Clients disconnect as soon as they have the final chunk.
            Err(Stop::Gone) if state.is_reading && state.opening.is_none() && state.is_whole() => {
                return Ok(ExchangeEnd::Complete);
            }
            Err(Stop::Gone) => {
                state.is_gone = true;
                state.actions = state.stream.abandon().into();
                self.play(before, &mut state).await?;
                return Err(Stop::Gone);
            }
        };
        self.remember_once(before, &mut state).await?;
        // If the upstream's connection breaks, so does the client's: a part must not be mistaken for the whole.
        match (was_cut, state.is_whole()) {
            (true, _) => Ok(ExchangeEnd::Cut),
            (false, false) => Ok(ExchangeEnd::Truncated),
            (false, true) => Ok(ExchangeEnd::Complete),
        }
    }

    /// Returns the state of a stream that begins. `left` says how often the model may be asked again after it.
    pub(crate) fn open_stream(&self, left: usize) -> StreamState {
        let limits = StreamLimits::default()
            .held(self.options.held)
            .hold_back(if self.options.shadow { 0 } else { self.options.hold_back })
            .asks_early(self.previews_text())
            .unknown_fields(self.options.unknown_fields)
            .choices(self.choices)
            .separates_texts(self.options.reads_texts && !self.options.shadow);
        StreamState {
            stream: Stream::new(self.api, limits),
            actions: VecDeque::new(),
            ruled: 0,
            calls: 0,
            denied: Vec::new(),
            was_torn: false,
            withheld: BTreeMap::new(),
            remembered: None,
            is_gone: false,
            is_reading: true,
            opening: (self.options.corrections > 0 && !self.options.shadow).then(StreamOpening::default),
            left,
            held: HeldStream::default(),
        }
    }

    /// Reads the stream to its end. Returns whether the connection broke.
    async fn follow(&self, before: &SessionMemory, state: &mut StreamState) -> Result<bool, Stop> {
        loop {
            state.is_reading = true;
            let read = match state.held.take_next() {
                Some(read) => read,
                None => self.perform(ExchangeStep::Read).await?,
            };
            let (actions, last) = match read {
                StepResult::Bytes(bytes) => {
                    if let Some(opening) = &mut state.opening {
                        opening.received.extend_from_slice(&bytes);
                    }
                    (state.stream.push(&bytes), None)
                }
                StepResult::End => (state.stream.end(), Some(false)),
                StepResult::Cut => (state.stream.cut(), Some(true)),
                other => return Err(unexpected(&other)),
            };
            state.is_reading = false;
            if state.stream.has_split_word() && self.options.reads_texts && !self.options.shadow {
                return Err(self.refuse_split_word(Bytes::new()).await?);
            }
            self.replies_as(state.stream.id());
            state.actions.extend(actions);
            self.play(before, state).await?;
            if let Some(was_cut) = last {
                return Ok(was_cut);
            }
        }
    }

    /// Performs the actions of the stream until it needs more bytes.
    pub(crate) async fn play(&self, before: &SessionMemory, state: &mut StreamState) -> Result<(), Stop> {
        while let Some(next) = state.actions.pop_front() {
            let more = match next {
                StreamAction::Release(_) if state.is_gone => continue,
                StreamAction::Release(bytes) => {
                    self.release(before, state, bytes).await?;
                    continue;
                }
                StreamAction::Judge(event) => {
                    state.calls += usize::from(event.kind == Kind::ToolCall);
                    if let Some(refused) = self.check_reply_event(&event, state.calls).filter(|_| !state.is_gone) {
                        return Err(self.refuse_input(502, refused, Bytes::new()).await?);
                    }
                    state.was_torn |= event.more.get("truncated").is_some();
                    let (mut ruling, is_waiting) = self.rule(&event, state.ruled).await?;
                    if let Some(opening) = &mut state.opening {
                        opening.is_waiting |= is_waiting;
                    }
                    state.denied.extend(denied_call(&event, &ruling));
                    // The model was told why, and insists.
                    let insists = state.left == 0 && self.options.corrections > 0 && !is_waiting;
                    if let (Kind::ToolCall, Ruling::Deny { text }, true) = (&event.kind, &mut ruling, insists) {
                        APOLOGY.clone_into(text);
                    }
                    state.ruled += 1;
                    self.record_shown(state, &ruling).await?;
                    state.stream.rule(ruling)
                }
                StreamAction::Text { .. } if state.is_gone || !self.previews_text() => state.stream.mask(&[]),
                StreamAction::Text { text, leaving } => self.preview_text(state, text, leaving).await?,
                StreamAction::Refuse(_) if state.is_gone => return Ok(()),
                StreamAction::Refuse(refused) => return Err(self.refuse_input(502, refused, Bytes::new()).await?),
            };
            state.actions.extend(more);
        }
        Ok(())
    }

    /// Sends bytes to the client, unless the model may be asked again instead of them. The first bytes may only open the
    /// reply: the client gets them at once, and the rest of another stream can continue them.
    async fn release(&self, before: &SessionMemory, state: &mut StreamState, mut bytes: Vec<u8>) -> Result<(), Stop> {
        match &mut state.opening {
            Some(opening) if !state.stream.shows_anything() => {
                let opens = (state.stream.opening_bytes() - opening.sent).min(bytes.len());
                let rest = bytes.split_off(opens);
                opening.sent += opens;
                opening.unsent.extend_from_slice(&rest);
                if bytes.is_empty() {
                    return Ok(());
                }
            }
            Some(_) => self.send_opening(before, state).await?,
            None => {}
        }
        self.send_released(before, state, bytes).await
    }

    /// Sends the beginning of the stream: it is the client's from here on.
    async fn send_opening(&self, before: &SessionMemory, state: &mut StreamState) -> Result<(), Stop> {
        match state.opening.take() {
            Some(opening) if !opening.unsent.is_empty() => self.send_released(before, state, opening.unsent).await,
            _ => Ok(()),
        }
    }

    async fn send_released(&self, before: &SessionMemory, state: &mut StreamState, bytes: Vec<u8>) -> Result<(), Stop> {
        // A client that has the end of a reply may send the next request at once.
        if state.stream.is_complete() {
            self.remember_once(before, state).await?;
        }
        // In shadow mode the client has the bytes as they came.
        if !self.options.shadow {
            self.perform(ExchangeStep::SendPiece(Bytes::from(bytes))).await?;
        }
        Ok(())
    }

    fn previews_text(&self) -> bool {
        self.options.previews_text && !self.options.shadow
    }

    /// Previews text that is about to be sent, and masks the parts that must not be sent.
    async fn preview_text(
        &self,
        state: &mut StreamState,
        text: usize,
        leaving: Range<usize>,
    ) -> Result<Vec<StreamAction>, Stop> {
        if state.withheld.get(&text).is_some_and(|withheld| withheld.is_stopped) {
            return Ok(state.stream.mask(&[]));
        }
        let said = state.stream.text(text);
        let mut from = leaving.start.saturating_sub(CONTEXT_BYTES);
        while !said.is_char_boundary(from) {
            from -= 1;
        }
        let mut event = Event::new(Kind::AssistantMessage);
        event.text = Some(said.get(from..).unwrap_or_default().into());
        let preview = match self.perform(ExchangeStep::Preview(Box::new(self.assign(event)))).await? {
            StepResult::Preview(preview) => *preview,
            other => return Err(unexpected(&other)),
        };
        let leaving = state.stream.wait_from(preview.open_from.map(|open| open + from));
        if leaving.is_empty() {
            return Ok(state.stream.mask(&[]));
        }
        // The rest of the text is withheld. This is said now: the decision on the whole text comes too late.
        if preview.message.is_some() {
            let withheld = state.withheld.entry(text).or_default();
            withheld.is_stopped = true;
            withheld.properties.extend(preview.properties);
            // The blank before the first withheld word stays.
            let rest = state.stream.text(text).get(leaving.start..).unwrap_or_default();
            let blank = &rest[..rest.len() - rest.trim_start().len()];
            let with = format!("{blank}{MASK}\n\n{WITHHELD_TEXT}");
            return Ok(state.stream.stop(&with));
        }
        let shifted = preview.masks.into_iter().map(|range| range.start + from..range.end + from);
        let touched = shifted.filter(|range| range.end > leaving.start && range.start < leaving.end);
        let touched: Vec<Range<usize>> = touched.collect();
        let mask = |range: &Range<usize>| Mask { range: range.start.max(leaving.start)..range.end, with: MASK.into() };
        let masks: Vec<Mask> = touched.iter().map(mask).collect();
        if !masks.is_empty() {
            let withheld = state.withheld.entry(text).or_default();
            // A mask that began earlier was counted then.
            withheld.masked += touched.iter().filter(|range| range.start >= leaving.start).count();
            withheld.properties.extend(preview.properties);
        }
        Ok(state.stream.mask(&masks))
    }

    /// Records what the client was shown of a text, if that differs from the decision on the whole text: parts were
    /// withheld while it was streamed, or were sent before the decision.
    async fn record_shown(&self, state: &mut StreamState, ruling: &Ruling) -> Result<(), Stop> {
        let Some((text, left)) = state.stream.asked_text() else { return Ok(()) };
        let left = if ruling.is_forward() { 0 } else { left };
        let withheld = state.withheld.remove(&text).unwrap_or_default();
        if withheld.properties.is_empty() && left == 0 {
            return Ok(());
        }
        if ruling.is_forward() {
            self.count(|counts| counts.changed += 1);
        }
        let shown = ShownText {
            exchange: self.id.to_string(),
            masked: withheld.masked,
            is_stopped: withheld.is_stopped,
            properties: withheld.properties.into_iter().collect(),
            left,
        };
        self.perform(ExchangeStep::NoteShown(Box::new(shown))).await?;
        Ok(())
    }

    /// Remembers the reply as far as it was sent, unless the memory has it already.
    pub(crate) async fn remember_once(&self, before: &SessionMemory, state: &mut StreamState) -> Result<(), Stop> {
        let sent = state.stream.sent();
        if state.remembered.as_ref() != Some(&sent) {
            self.remember(before, &sent, state.denied.clone()).await?;
            state.remembered = Some(sent);
        }
        Ok(())
    }
}
