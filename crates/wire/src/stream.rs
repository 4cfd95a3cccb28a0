//! Streamed replies of a model.
//!
//! The interface reads each frame and the frame waits in a queue. A frame is released when everything in it may be: its
//! text when it is not held back any more, its calls when they were ruled on. Frames stay in their order, and a frame
//! without changes is sent byte for byte, if all readers cut it into the same lines. The interface writes the frames that
//! change. It also joins what was sent, so that the client's next request can be compared with it.

pub(crate) mod action;
pub(crate) mod frame;
pub(crate) mod refusals;
mod streamed_text;
pub(crate) mod units;
pub(crate) mod vendor;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, SseFrame, SseFramer, Text};

use crate::api::Api;
use crate::fields::{FieldTable, StrippedFields, UnknownFields};
use crate::history::SentItem;
use crate::quoted::{QuotedTexts, edit_quoted};
use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::split_word::is_split;
pub use action::{StreamAction, StreamLimits};
use frame::{FrameContent, HeldFrame, SentFrame, TextPiece, edit_payload, read_fields};
use refusals::{UNKNOWN_EVENT, shape, too_large, truncated};
pub use streamed_text::Mask;
use units::Units;
use vendor::VendorStream;

/// A streamed reply of a model.
#[derive(Debug)]
pub struct Stream {
    api: Api,
    limits: StreamLimits,
    framer: SseFramer,
    vendor: Box<dyn VendorStream>,
    units: Units,
    queue: VecDeque<HeldFrame>,
    /// How many bytes the queue holds.
    queued_bytes: usize,
    question: Option<Question>,
    refusal: Option<WireRefusal>,
    state: State,
    /// Whether the bytes ended before the reply did.
    is_cut: bool,
    /// The frames that are sent next; kept for its memory.
    sent: Vec<SentFrame>,
    fields: &'static FieldTable,
    stripped: StrippedFields,
    /// The id of the reply.
    id: Option<Text>,
    /// Whether reasoning of the model was released.
    shows_reasoning: bool,
    /// The id of the reply that this one continues, which the client has the opening of.
    resumed: Option<Text>,
    /// How many of the released bytes only open the reply.
    opening_bytes: usize,
    /// Whether an event was read that does more than open the reply.
    has_begun: bool,
    has_split_word: bool,
    /// The units of texts beside the content.
    quoted: HashMap<Text, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Bytes may arrive.
    Open,
    /// No more bytes arrive.
    Ended,
    /// The last action was returned.
    Over,
}

/// A question that the caller has to answer.
#[derive(Clone, Copy, Debug)]
enum Question {
    Judge(usize),
    Text { unit: usize, until: usize, is_rest: bool },
}

impl Stream {
    /// Returns a stream that begins.
    pub fn new(api: Api, limits: StreamLimits) -> Stream {
        Stream {
            api,
            limits,
            framer: SseFramer::default(),
            vendor: api.interface().open_stream(limits),
            units: Units::new(limits.hold_back),
            queue: VecDeque::new(),
            queued_bytes: 0,
            question: None,
            refusal: None,
            state: State::Open,
            is_cut: false,
            sent: Vec::new(),
            fields: api.interface().fields(),
            stripped: StrippedFields::default(),
            id: None,
            shows_reasoning: false,
            resumed: None,
            opening_bytes: 0,
            has_begun: false,
            has_split_word: false,
            quoted: HashMap::new(),
        }
    }

    /// Returns a stream that begins, for a client that has the opening of the reply with this id: it gets the rest of this
    /// one as the rest of that.
    #[must_use]
    pub fn resume(self, id: &str) -> Stream {
        Stream { resumed: Some(id.into()), ..self }
    }

    /// Reads the next bytes, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamAction> {
        if self.refusal.is_none() && self.state == State::Open {
            for frame in self.framer.push(bytes) {
                self.take_frame(frame);
            }
            if self.framer.pending_bytes() + self.queued_bytes > self.limits.held {
                self.refuse(too_large());
            }
        }
        self.advance()
    }

    /// Reads the end of the bytes. If it comes too early, the events so far are judged with the mark `truncated`.
    pub fn end(&mut self) -> Vec<StreamAction> {
        if self.state == State::Open {
            if let Some(frame) = self.framer.finish() {
                self.take_frame(frame);
            }
            self.state = State::Ended;
            if self.refusal.is_none() && !self.vendor.is_finished() {
                self.is_cut = true;
                self.vendor.finish(&mut self.units);
            }
        }
        self.advance()
    }

    /// Takes note that the connection broke: an event that had begun is dropped, as its rest is lost. Otherwise like
    /// [`end`](Stream::end).
    pub fn cut(&mut self) -> Vec<StreamAction> {
        drop(self.framer.finish());
        self.end()
    }

    /// Answers [`StreamAction::Judge`]. Text that was sent cannot be changed or denied any more; the rest can.
    pub fn rule(&mut self, ruling: Ruling) -> Vec<StreamAction> {
        if let Some(Question::Judge(unit)) = self.question {
            self.question = None;
            let released = self.units.released(unit);
            let pieces = self.queue.iter().flat_map(|held| &held.content.texts).filter(|piece| piece.unit == unit);
            // A repetition of the whole text begins before the part that was not released.
            let unsent = pieces.map(|piece| &piece.range).filter(|range| range.start >= released && !range.is_empty());
            let from = unsent.map(|range| range.start).min();
            self.units.rule(unit, ruling, from.unwrap_or(usize::MAX));
        }
        self.advance()
    }

    /// Says from where on the text must wait that [`StreamAction::Text`] asks about, before the question is answered.
    /// Returns the part that is about to be sent: the text up to there, but of a frame that carries more than text all or
    /// nothing, and in any case the text that more than `hold_back` bytes follow. With none, the caller is not asked early about this text any more.
    pub fn wait_from(&mut self, open_from: Option<usize>) -> Range<usize> {
        let Some(Question::Text { unit, until, is_rest }) = self.question else { return 0..0 };
        let released = self.units.released(unit);
        if is_rest {
            return released..self.units.text(unit).len();
        }
        let until = match open_from.filter(|_| self.limits.asks_early) {
            Some(open_from) => self.divide_frame(unit, open_from).max(until),
            None => {
                self.units.note_waits(unit);
                until
            }
        };
        self.question = Some(Question::Text { unit, until, is_rest });
        released..until
    }

    /// Answers [`StreamAction::Text`]. Masks are in order and do not overlap; without masks the text is sent unchanged.
    pub fn mask(&mut self, masks: &[Mask]) -> Vec<StreamAction> {
        if let Some(Question::Text { unit, until, .. }) = self.question {
            self.question = None;
            self.units.mask(unit, masks, until);
        }
        self.advance()
    }

    /// Answers [`StreamAction::Text`]: the rest of the text is not sent, and this takes its place.
    pub fn stop(&mut self, with: &str) -> Vec<StreamAction> {
        if let Some(Question::Text { unit, until, .. }) = self.question {
            self.question = None;
            self.units.stop(unit, with, until);
        }
        self.advance()
    }

    /// Takes note that the client has disconnected. The text that was sent is still judged, so that it has a record.
    /// Everything else is discarded, and the last action is a refusal.
    pub fn abandon(&mut self) -> Vec<StreamAction> {
        self.queue.clear();
        self.queued_bytes = 0;
        // A question without an answer is asked again, if it is about a text.
        if let Some(Question::Judge(unit)) = self.question.take() {
            self.units.push_due_front(unit);
        }
        self.units.drop_unsent();
        self.refuse(WireRefusal::new("client.gone", "the client has gone"));
        self.advance()
    }

    /// Returns the text that [`StreamAction::Judge`] asks about, if it is one, and how much of it was sent.
    pub fn asked_text(&self) -> Option<(usize, usize)> {
        match self.question {
            Some(Question::Judge(unit)) if self.units.is_text(unit) => Some((unit, self.units.released(unit))),
            _ => None,
        }
    }

    /// Returns a text as the model said it, as far as it has arrived.
    pub fn text(&self, text: usize) -> &str {
        self.units.text(text)
    }

    /// Whether the model ended its reply, all of it was ruled on, and nothing is held.
    pub fn is_complete(&self) -> bool {
        self.vendor.is_finished()
            && !self.is_cut
            && self.refusal.is_none()
            && self.queue.is_empty()
            && self.question.is_none()
            && self.units.first_due().is_none()
    }

    /// Whether the frames so far show anything that the model says or does, rather than denials.
    pub fn shows_anything(&self) -> bool {
        self.shows_reasoning || self.units.shows_anything()
    }

    /// Returns how many of the released bytes only open the reply, and show nothing of it. They come first.
    pub fn opening_bytes(&self) -> usize {
        self.opening_bytes
    }

    /// Returns the number of the next event, where the interface numbers them.
    pub fn sequence(&self) -> i64 {
        self.vendor.sequence()
    }

    /// Returns the items that were sent, for [`ConversationHistory::replied`](crate::ConversationHistory::replied).
    pub fn sent(&self) -> Vec<Vec<SentItem>> {
        self.vendor.sent_events().iter().map(|events| events.iter().map(SentItem::from_event).collect()).collect()
    }

    /// Reads a frame and puts it into the queue.
    fn take_frame(&mut self, frame: SseFrame) {
        if self.refusal.is_some() {
            return;
        }
        let received = frame.raw().len();
        self.queued_bytes += received;
        if self.queued_bytes > self.limits.held {
            return self.refuse(too_large());
        }
        match self.read_frame(frame) {
            Ok((frame, payload, content)) => {
                self.note_parts(payload.as_ref(), &content);
                self.queued_bytes = self.queued_bytes - received + frame.raw().len();
                self.queue.push_back(HeldFrame { frame, payload, content });
                if self.units.text_bytes() > self.limits.held {
                    self.refuse(too_large());
                }
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Notes whether a word is split between two parts of a text. Pieces of one part may be cut anywhere.
    fn note_parts(&mut self, payload: Option<&Json>, content: &FrameContent) {
        let number = |name: &str| payload.and_then(|payload| payload.get(name)).and_then(Json::as_i64);
        let part = ["index", "output_index", "content_index"].map(number);
        for TextPiece { unit, range, .. } in content.texts.iter().filter(|piece| !piece.range.is_empty()) {
            let is_new = self.units.note_part(*unit, part);
            let text = self.units.text(*unit);
            self.has_split_word |= is_new && is_split(&text[..range.start], &text[range.start..]);
        }
    }

    /// Whether a word is split between two parts of a text; see [`Reply::has_split_word`](crate::Reply::has_split_word).
    pub fn has_split_word(&self) -> bool {
        self.has_split_word
    }

    /// Returns a frame without unknown fields, its payload and its content.
    fn read_frame(&mut self, mut frame: SseFrame) -> Result<(SseFrame, Option<Json>, FrameContent), WireRefusal> {
        if let Some(settled) = frame.settled() {
            frame = settled;
        }
        let (name, data) = read_fields(&frame)?;
        let Some(data) = data.filter(|data| !data.is_empty()) else {
            let is_opening = !self.has_begun;
            return Ok((frame, None, FrameContent { is_opening, ..FrameContent::default() }));
        };
        if data.trim() == "[DONE]" {
            self.has_begun = true;
            self.vendor.finish(&mut self.units);
            return Ok((frame, None, FrameContent::default()));
        }
        let mut payload = json::parse_str(&data).map_err(|error| WireRefusal::json("an event of the stream", error))?;
        if payload.as_object().is_none() {
            return Err(shape("an event of the stream is not a JSON object"));
        }
        if self.id.is_none() {
            let id = payload.at("response.id").or_else(|| payload.at("message.id")).or_else(|| payload.get("id"));
            self.id = id.and_then(Json::as_str).map(Text::from);
        }
        let unknown = self.limits.unknown_fields;
        let checked = self.fields.strip("event", (&data, &payload), unknown, &mut self.stripped)?;
        let mut changed = checked.known.map(|known| (known.text, known.value));
        let (text, value) = changed.as_ref().map_or((&*data, &payload), |(text, value)| (text.as_str(), value));
        let (emptied, mut edits) = (self.vendor.empty_announced(value), self.vendor.normalize(value)?);
        emptied.iter().filter_map(|(path, _)| path.last()).for_each(|key| self.stripped.add("event", &key.to_string()));
        edits.extend(emptied);
        changed = edit_payload(text, &edits)?.or(changed);
        let (text, value) = changed.as_ref().map_or((&*data, &payload), |(text, value)| (text.as_str(), value));
        self.has_begun |= !self.api.interface().is_opening(value);
        let (is_opening, is_resumed) = (!self.has_begun, self.resumed.is_some());
        if let Some(id) = self.resumed.as_ref().filter(|_| !is_opening) {
            changed = edit_payload(text, &self.api.interface().resume_edits(value, id))?.or(changed);
        }
        let read = self.vendor.read(changed.as_ref().map_or(&payload, |(_, value)| value), name, &mut self.units);
        let content = match read {
            Ok(content) => {
                let content = FrameContent { is_opening, is_left_out: is_opening && is_resumed, ..content };
                let mut quoted = checked.quoted;
                quoted.append(self.vendor.read_error(changed.as_ref().map_or(&payload, |(_, value)| value)));
                self.add_quoted(quoted, content)
            }
            Err(refusal) if refusal.code == UNKNOWN_EVENT && unknown != UnknownFields::Refuse => {
                self.stripped.add("event", payload.text("type").or(name).unwrap_or_default());
                FrameContent { is_left_out: true, ..FrameContent::default() }
            }
            Err(refusal) => return Err(refusal),
        };
        if let Some((text, value)) = changed {
            payload = value;
            frame = frame.with_data(&text);
        }
        Ok((frame, Some(payload), content))
    }

    /// Adds the texts beside the content of a frame, which waits for their ruling. Streams repeat them, and each is judged
    /// once.
    fn add_quoted(&mut self, quoted: QuotedTexts, mut content: FrameContent) -> FrameContent {
        if let Some(segment) = quoted.into_segment() {
            let text = segment.event.text.clone().unwrap_or_default();
            let unit = *self.quoted.entry(text).or_insert_with(|| self.units.add_complete(segment.event.clone()));
            content.waits_for.push(unit);
            content.quoted = Some((unit, segment));
        }
        content
    }

    /// Returns a frame with the texts beside its content as they are sent.
    fn write_quoted(&self, mut held: HeldFrame) -> Result<HeldFrame, WireRefusal> {
        let Some((unit, segment)) = held.content.quoted.take() else { return Ok(held) };
        let edits = edit_quoted(&segment, self.units.ruling(unit))?;
        let Some(data) = held.frame.data().filter(|_| !edits.is_empty()) else { return Ok(held) };
        if let Some((text, value)) = edit_payload(&String::from_utf8_lossy(&data), &edits)? {
            held.frame = held.frame.with_data(&text);
            held.payload = Some(value);
        }
        Ok(held)
    }

    /// Returns the id of the reply, as the vendor gave it.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the fields and events that no table names and that the client does not get.
    pub fn stripped(&self) -> &StrippedFields {
        &self.stripped
    }

    /// Stops reading. Text that was sent is still judged, so that it has a record; the rest is never sent.
    fn refuse(&mut self, refusal: WireRefusal) {
        if self.refusal.is_some() {
            return;
        }
        self.refusal = Some(refusal);
        self.units.drop_due_calls();
        for unit in self.units.find_open_sent_texts() {
            let mut event = Event::new(Kind::AssistantMessage);
            event.text = Some(self.units.text(unit).into());
            self.units.complete(unit, Some(truncated(event)));
        }
    }

    /// Returns the actions that are possible now.
    fn advance(&mut self) -> Vec<StreamAction> {
        let mut actions = Vec::new();
        let mut bytes = Vec::new();
        while self.question.is_none() && self.state != State::Over {
            if self.queue.front().is_some_and(|held| is_releasable(held, &self.units))
                && let Some(held) = self.queue.pop_front()
            {
                self.queued_bytes -= held.frame.raw().len();
                self.release(held, &mut bytes);
            } else if let Some((unit, until)) = self.find_text_to_preview() {
                let leaving = self.units.released(unit)..until;
                self.units.note_asked(unit);
                self.question = Some(Question::Text { unit, until, is_rest: false });
                flush(&mut bytes, &mut actions);
                actions.push(StreamAction::Text { text: unit, leaving });
            } else if let Some(unit) = self.units.first_due() {
                flush(&mut bytes, &mut actions);
                self.ask(unit, &mut actions);
            } else if let Some(refusal) = &self.refusal {
                flush(&mut bytes, &mut actions);
                actions.push(StreamAction::Refuse(refusal.clone()));
                self.queue.clear();
                self.state = State::Over;
            } else if self.state == State::Ended && self.queue.is_empty() {
                self.vendor.write_end(&self.units, &mut self.sent);
                self.send(&mut bytes);
                self.state = State::Over;
            } else {
                break;
            }
        }
        flush(&mut bytes, &mut actions);
        actions
    }

    fn release(&mut self, held: HeldFrame, bytes: &mut Vec<u8>) {
        if held.content.is_left_out {
            return self.vendor.skip(&held);
        }
        if !self.shows_anything() {
            self.shows_reasoning = held.payload.as_ref().is_some_and(|event| self.api.interface().is_reasoning(event));
        }
        let (is_opening, before) = (held.content.is_opening, bytes.len());
        let written = self.write_quoted(held);
        match written.and_then(|held| self.vendor.write(held, &self.units, &mut self.sent)) {
            Ok(()) => {
                self.send(bytes);
                self.opening_bytes += if is_opening { bytes.len() - before } else { 0 };
            }
            Err(refusal) => {
                self.sent.clear();
                self.queue.clear();
                self.refuse(refusal);
            }
        }
    }

    /// Appends the frames that are sent to `bytes`; the first is not copied.
    fn send(&mut self, bytes: &mut Vec<u8>) {
        for SentFrame { raw, payload } in self.sent.drain(..) {
            match bytes.is_empty() {
                true => *bytes = raw,
                false => bytes.extend_from_slice(&raw),
            }
            if let Some(payload) = payload {
                self.vendor.record_sent(&payload);
            }
        }
    }

    /// Returns the text that the first frame waits for, if enough has arrived after it or the caller is asked early, and
    /// how far it can be released: whole frames only.
    fn find_text_to_preview(&self) -> Option<(usize, usize)> {
        let first = self.queue.front()?;
        let held = first.content.texts.iter().find(|piece| !self.units.is_released(piece.unit, piece.range.end))?;
        let until = self.find_release_end(held.unit, self.units.release_limit(held.unit));
        let is_asked =
            until > self.units.released(held.unit) || self.limits.asks_early && self.units.has_news(held.unit);
        is_asked.then_some((held.unit, until))
    }

    /// Returns how far a text can be released up to a limit: whole frames only.
    fn find_release_end(&self, unit: usize, limit: usize) -> usize {
        let pieces = self.queue.iter().flat_map(|frame| &frame.content.texts).filter(|piece| piece.unit == unit);
        let end = pieces.map(|piece| piece.range.end).take_while(|end| *end <= limit).last();
        end.unwrap_or(0).max(self.units.released(unit))
    }

    /// Divides the frame that a place of a text is in, if there are words before that place and the frame is nothing but
    /// text. Returns how far the text can be released up to the place: whole frames only.
    fn divide_frame(&mut self, unit: usize, place: usize) -> usize {
        let end = self.find_release_end(unit, place);
        let is_around = |held: &HeldFrame| match held.content.texts.as_slice() {
            [piece] => piece.unit == unit && piece.range.start == end && end < place && place < piece.range.end,
            _ => false,
        };
        let has_words = self.units.text(unit).get(end..place).is_some_and(|text| text.contains(char::is_alphanumeric));
        let Some(number) = self.queue.iter().position(is_around).filter(|_| has_words) else { return end };
        let Some(held) = self.queue.get(number).filter(|held| held.content.waits_for.is_empty()) else { return end };
        let edits = held.payload.as_ref().and_then(|payload| self.vendor.divide(payload));
        let Some((first, second)) = edits.and_then(|edits| held.divide(place, &edits)) else { return end };
        let bytes = first.frame.raw().len() + second.frame.raw().len();
        self.queued_bytes = self.queued_bytes + bytes - held.frame.raw().len();
        self.queue[number] = second;
        self.queue.insert(number, first);
        place
    }

    /// Asks about the unit that is due first. The rest of a text is previewed before the text is judged.
    fn ask(&mut self, unit: usize, actions: &mut Vec<StreamAction>) {
        if let Some(leaving) = self.units.take_rest(unit) {
            self.question = Some(Question::Text { unit, until: leaving.start, is_rest: true });
            actions.push(StreamAction::Text { text: unit, leaving });
            return;
        }
        self.units.pop_due();
        if let Some(event) = self.units.event_to_judge(unit) {
            self.question = Some(Question::Judge(unit));
            actions.push(StreamAction::Judge(Box::new(event)));
        }
    }
}

/// Whether everything in a frame may be sent.
fn is_releasable(held: &HeldFrame, units: &Units) -> bool {
    held.content.waits_for.iter().all(|&unit| units.is_ruled(unit))
        && held.content.texts.iter().all(|piece| units.is_released(piece.unit, piece.range.end))
}

/// Turns the bytes so far into one action.
fn flush(bytes: &mut Vec<u8>, actions: &mut Vec<StreamAction>) {
    if !bytes.is_empty() {
        actions.push(StreamAction::Release(std::mem::take(bytes)));
    }
}
