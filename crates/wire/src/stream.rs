//! A streamed reply of a model.
//!
//! Frames come in, are understood by the dialect of their interface, and stand in line. A frame leaves when all that it
//! says may leave: its text when nobody masks it any more, its calls when they were ruled on. Nothing overtakes: if all is
//! forwarded, what leaves is what came. A frame that leaves otherwise than it came is written by the dialect, and what has
//! left is put together once more, so that it is known what the client will send back.

mod chat;
mod desk;
mod messages;
pub(crate) mod responses;

use std::collections::VecDeque;
use std::ops::Range;

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json};

use crate::history::SentItem;
use crate::splice::{self, Edit, Path};
use crate::sse::{Frame, Splitter};
use crate::{Api, Ruling, WireRefusal};
use desk::Desk;

/// Bounds on what a stream may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// How many bytes may be held at most, and how many bytes of text a reply may have; a stream that needs more is
    /// refused.
    pub held: usize,
    /// How many bytes of text stay back, so that what must not be said can be masked before its beginning has left. Zero
    /// lets text flow at once; `usize::MAX` holds every text until it is whole and ruled on.
    pub hold_back: usize,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { held: 16 << 20, hold_back: 0 }
    }
}

/// What a stream wants to be done next. After [`Judge`](StreamAction::Judge) and [`Text`](StreamAction::Text) there are no more moves
/// until they are answered; bytes that come meanwhile are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamAction {
    /// These bytes may go to the client.
    Release(Vec<u8>),
    /// This happened; [`Stream::rule`] is to say what becomes of it. Errors that the service reports about itself pass
    /// whatever the ruling.
    Judge(Box<Event>),
    /// Text is about to leave; [`Stream::mask`] is to say what of it must not.
    Text {
        /// Which text: [`Stream::text`] has it, as far as it has come.
        text: usize,
        /// What is about to leave. What comes before it has left, what comes after it stays back.
        leaving: Range<usize>,
    },
    /// The stream cannot be read any further, and what it held is gone. The last move.
    Refuse(WireRefusal),
}

/// A part of a text that must not be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Where it is, in the text so far; what has left already cannot be masked any more.
    pub range: Range<usize>,
    /// What stands in its place.
    pub with: String,
}

/// A streamed reply of a model.
#[derive(Debug)]
pub struct Stream {
    limits: StreamLimits,
    splitter: Splitter,
    dialect: Box<dyn Dialect>,
    desk: Desk,
    line: VecDeque<Slot>,
    /// How many bytes stand in line.
    waiting: usize,
    asked: Option<Asked>,
    refused: Option<WireRefusal>,
    state: State,
    /// Whether the bytes stopped before the reply did.
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Bytes may come.
    Open,
    /// No more bytes come.
    Ended,
    /// All was said.
    Over,
}

/// What somebody was asked.
#[derive(Debug)]
enum Asked {
    Judge(usize),
    Text { unit: usize, until: usize },
}

/// A frame that stands in line.
#[derive(Debug)]
struct Slot {
    frame: Frame,
    /// What it says; none for comments and the mark of the end.
    payload: Option<Json>,
    taken: Taken,
}

/// What a frame says, as its dialect understands it.
#[derive(Debug, Default)]
struct Taken {
    /// The pieces of text.
    said: Vec<Said>,
    /// The units that must be ruled on before it leaves.
    waits: Vec<usize>,
}

/// A piece of text in a frame.
#[derive(Debug)]
struct Said {
    unit: usize,
    range: Range<usize>,
    at: Path,
}

/// A frame that leaves.
#[derive(Debug)]
struct Out {
    raw: Vec<u8>,
    payload: Option<Json>,
}

/// How an interface streams.
trait Dialect: std::fmt::Debug + Send {
    /// Understands the payload of a frame.
    fn take(&mut self, payload: &Json, name: Option<&str>, desk: &mut Desk) -> Result<Taken, WireRefusal>;

    /// Ends what has not ended, because the mark of the end has come or the bytes stopped.
    fn end(&mut self, desk: &mut Desk);

    /// Whether the reply has its end.
    fn is_finished(&self) -> bool;

    /// Writes a frame as it leaves: not at all, as it came, or as several.
    /// Refused if a change cannot be written back.
    fn write(&mut self, slot: &Slot, desk: &Desk) -> Result<Vec<Out>, WireRefusal>;

    /// Takes note of what has left.
    fn left(&mut self, payload: &Json);

    /// What is still to be said when nothing more comes.
    fn last(&mut self, _desk: &Desk) -> Vec<Out> {
        Vec::new()
    }

    /// The number that the next event of the stream would have.
    fn sequence(&self) -> i64 {
        0
    }

    /// What has left, for each choice.
    fn sent(&self) -> Vec<Vec<Event>>;
}

impl Stream {
    /// A stream that begins.
    pub fn new(api: Api, limits: StreamLimits) -> Stream {
        let dialect: Box<dyn Dialect> = match api {
            Api::Chat => Box::<chat::Chat>::default(),
            Api::Messages => Box::<messages::Messages>::default(),
            Api::Responses => Box::new(responses::Responses::new(limits.hold_back > 0)),
        };
        Stream {
            limits,
            splitter: Splitter::default(),
            dialect,
            desk: Desk::new(limits.hold_back),
            line: VecDeque::new(),
            waiting: 0,
            asked: None,
            refused: None,
            state: State::Open,
            is_cut: false,
        }
    }

    /// Takes bytes as they come, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamAction> {
        for &byte in bytes {
            if self.refused.is_some() || self.state != State::Open {
                break;
            }
            if let Some(frame) = self.splitter.push(byte) {
                self.take(frame);
            } else if self.splitter.len() + self.waiting > self.limits.held {
                self.refuse(too_large());
            }
        }
        self.moves()
    }

    /// Takes the end of the bytes. If that is too early, what has come is judged before it goes on, with `truncated`
    /// beside the events.
    pub fn end(&mut self) -> Vec<StreamAction> {
        if self.state == State::Open {
            if let Some(frame) = self.splitter.end().filter(|_| self.refused.is_none()) {
                self.take(frame);
            }
            self.state = State::Ended;
            if self.refused.is_none() && !self.dialect.is_finished() {
                self.is_cut = true;
                self.dialect.end(&mut self.desk);
            }
        }
        self.moves()
    }

    /// Answers [`StreamAction::Judge`]. Text that has left cannot be changed or denied any more; what has not can.
    pub fn rule(&mut self, ruling: Ruling) -> Vec<StreamAction> {
        if let Some(Asked::Judge(unit)) = self.asked {
            self.asked = None;
            let left = self.desk.left(unit);
            let pieces = self.line.iter().flat_map(|slot| &slot.taken.said).filter(|said| said.unit == unit);
            // A text that is told once more as a whole begins before what is still to leave.
            let waiting = pieces.map(|said| &said.range).filter(|range| range.start >= left && !range.is_empty());
            let from = waiting.map(|range| range.start).min();
            self.desk.rule(unit, ruling, from.unwrap_or(usize::MAX));
        }
        self.moves()
    }

    /// Answers [`StreamAction::Text`]. Masks are in order and do not overlap; an empty list lets everything leave.
    pub fn mask(&mut self, masks: &[Mask]) -> Vec<StreamAction> {
        if let Some(Asked::Text { unit, until }) = self.asked {
            self.asked = None;
            self.desk.mask(unit, masks, until);
        }
        self.moves()
    }

    /// Answers [`StreamAction::Text`]: nothing more of the text leaves, and this stands in its place.
    pub fn stop(&mut self, with: &str) -> Vec<StreamAction> {
        if let Some(Asked::Text { unit, until }) = self.asked {
            self.asked = None;
            self.desk.stop(unit, with, until);
        }
        self.moves()
    }

    /// Takes note that nobody listens any more. What has left is still judged, so that there is a record of it; nothing else
    /// leaves or happens, and the last move says so.
    pub fn abandon(&mut self) -> Vec<StreamAction> {
        self.line.clear();
        self.waiting = 0;
        // What was asked about and never answered is asked about again, if it is a text.
        if let Some(Asked::Judge(unit)) = self.asked.take() {
            self.desk.due.push_front(unit);
        }
        self.desk.forget_rest();
        self.refuse(WireRefusal::new("client.gone", "the client has gone"));
        self.moves()
    }

    /// The text that [`StreamAction::Judge`] asks about, if it is one, and how much of it has left.
    pub fn asked_text(&self) -> Option<(usize, usize)> {
        match self.asked {
            Some(Asked::Judge(unit)) if self.desk.is_text(unit) => Some((unit, self.desk.left(unit))),
            _ => None,
        }
    }

    /// A text as the model said it, as far as it has come.
    pub fn text(&self, text: usize) -> &str {
        self.desk.text(text)
    }

    /// Whether the model ended its reply, all of it was ruled on, and nothing is held.
    pub fn is_complete(&self) -> bool {
        self.dialect.is_finished()
            && !self.is_cut
            && self.refused.is_none()
            && self.line.is_empty()
            && self.asked.is_none()
            && self.desk.due.is_empty()
    }

    /// The number that the next event of this stream would have, where the interface numbers them.
    pub fn sequence(&self) -> i64 {
        self.dialect.sequence()
    }

    /// What was said as the client got it, for [`ConversationHistory::replied`](crate::ConversationHistory::replied).
    pub fn sent(&self) -> Vec<Vec<SentItem>> {
        self.dialect.sent().iter().map(|events| events.iter().map(SentItem::of).collect()).collect()
    }

    fn take(&mut self, frame: Result<Frame, WireRefusal>) {
        let taken = frame.and_then(|frame| {
            let (payload, taken) = self.understand(&frame)?;
            Ok(Slot { frame, payload, taken })
        });
        match taken {
            Ok(slot) => {
                self.waiting += slot.frame.raw.len();
                self.line.push_back(slot);
                if self.waiting > self.limits.held || self.desk.kept > self.limits.held {
                    self.refuse(too_large());
                }
            }
            Err(refused) => self.refuse(refused),
        }
    }

    fn understand(&mut self, frame: &Frame) -> Result<(Option<Json>, Taken), WireRefusal> {
        let Some(data) = frame.data.as_deref().filter(|data| !data.is_empty()) else {
            return Ok((None, Taken::default()));
        };
        if data.trim() == "[DONE]" {
            self.dialect.end(&mut self.desk);
            return Ok((None, Taken::default()));
        }
        let payload = json::parse_str(data).map_err(|error| WireRefusal::json("an event of the stream", error))?;
        if payload.as_object().is_none() {
            return Err(shape("an event of the stream is not a JSON object"));
        }
        let taken = self.dialect.take(&payload, frame.name.as_deref(), &mut self.desk)?;
        Ok((Some(payload), taken))
    }

    /// Stops reading. What has left is still judged, so that there is a record of it; what has not never will.
    fn refuse(&mut self, refused: WireRefusal) {
        if self.refused.is_some() {
            return;
        }
        self.refused = Some(refused);
        self.desk.drop_acts();
        for unit in self.desk.open_texts() {
            let mut event = Event::new(Kind::AssistantMessage);
            event.text = Some(self.desk.text(unit).into());
            self.desk.close(unit, Some(truncated(event)));
        }
    }

    /// What is to be done now.
    fn moves(&mut self) -> Vec<StreamAction> {
        let mut moves = Vec::new();
        let mut bytes = Vec::new();
        while self.asked.is_none() && self.state != State::Over {
            if self.line.front().is_some_and(|slot| self.is_clear(slot)) {
                if let Some(slot) = self.line.pop_front() {
                    self.waiting -= slot.frame.raw.len();
                    match self.dialect.write(&slot, &self.desk) {
                        Ok(out) => self.release(out, &mut bytes),
                        Err(refused) => {
                            self.line.clear();
                            self.refuse(refused);
                        }
                    }
                }
            } else if let Some((unit, until)) = self.leaving() {
                let leaving = self.desk.left(unit)..until;
                self.asked = Some(Asked::Text { unit, until });
                release(&mut bytes, &mut moves);
                moves.push(StreamAction::Text { text: unit, leaving });
            } else if let Some(&unit) = self.desk.due.front() {
                release(&mut bytes, &mut moves);
                self.ask(unit, &mut moves);
            } else if let Some(refused) = &self.refused {
                release(&mut bytes, &mut moves);
                moves.push(StreamAction::Refuse(refused.clone()));
                self.line.clear();
                self.state = State::Over;
            } else if self.state == State::Ended && self.line.is_empty() {
                let out = self.dialect.last(&self.desk);
                self.release(out, &mut bytes);
                self.state = State::Over;
            } else {
                break;
            }
        }
        release(&mut bytes, &mut moves);
        moves
    }

    fn release(&mut self, out: Vec<Out>, bytes: &mut Vec<u8>) {
        for Out { raw, payload } in out {
            bytes.extend(raw);
            if let Some(payload) = payload {
                self.dialect.left(&payload);
            }
        }
    }

    /// Whether a frame may leave.
    fn is_clear(&self, slot: &Slot) -> bool {
        slot.taken.waits.iter().all(|&unit| self.desk.is_ruled(unit))
            && slot.taken.said.iter().all(|said| self.desk.may_leave(said.unit, said.range.end))
    }

    /// The text that the first in line waits for, if enough has come after it, and how far it can leave: whole frames,
    /// so that none is cut in two.
    fn leaving(&self) -> Option<(usize, usize)> {
        let first = self.line.front()?;
        let held = first.taken.said.iter().find(|said| !self.desk.may_leave(said.unit, said.range.end))?;
        let horizon = self.desk.horizon(held.unit);
        let pieces = self.line.iter().flat_map(|slot| &slot.taken.said).filter(|said| said.unit == held.unit);
        let until = pieces.map(|said| said.range.end).take_while(|end| *end <= horizon).last()?;
        (until > self.desk.left(held.unit)).then_some((held.unit, until))
    }

    /// Asks about what is due first: of a text, first what is to be masked in the rest of it.
    fn ask(&mut self, unit: usize, moves: &mut Vec<StreamAction>) {
        if let Some(leaving) = self.desk.rest(unit) {
            self.asked = Some(Asked::Text { unit, until: leaving.start });
            moves.push(StreamAction::Text { text: unit, leaving });
            return;
        }
        self.desk.due.pop_front();
        if let Some(event) = self.desk.event(unit) {
            self.asked = Some(Asked::Judge(unit));
            moves.push(StreamAction::Judge(Box::new(event)));
        }
    }
}

impl Slot {
    /// The edits by which the frame says its text as it leaves.
    fn text_edits(&self, desk: &Desk) -> Vec<(Path, Edit)> {
        let changed = self.taken.said.iter().filter(|said| desk.is_changed(said.unit, said.range.clone()));
        changed.map(|said| (said.at.clone(), Edit::Set(desk.shown(said.unit, said.range.clone()).into()))).collect()
    }

    /// The frame as it came.
    fn whole(&self) -> Out {
        Out { raw: self.frame.raw.clone(), payload: self.payload.clone() }
    }

    /// The frame with some values changed.
    fn edited(&self, edits: &[(Path, Edit)]) -> Result<Out, WireRefusal> {
        if edits.is_empty() {
            return Ok(self.whole());
        }
        let data = splice::edited(self.frame.data.as_deref().unwrap_or_default(), edits);
        let data = data.ok_or_else(|| shape("a change cannot be written back"))?;
        Ok(Out { raw: self.frame.with_data(&data), payload: json::parse_str(&data).ok() })
    }

    /// A frame of our own beside this one.
    fn sibling(&self, name: Option<&str>, payload: Json) -> Out {
        let name = name.filter(|_| self.frame.name.is_some());
        Out { raw: self.frame.sibling(name, &payload.to_string()), payload: Some(payload) }
    }
}

/// Releases what has gathered as one piece.
fn release(bytes: &mut Vec<u8>, moves: &mut Vec<StreamAction>) {
    if !bytes.is_empty() {
        moves.push(StreamAction::Release(std::mem::take(bytes)));
    }
}

/// Marks what was cut off.
fn truncated(mut event: Event) -> Event {
    event.more.insert("truncated", true);
    event
}

fn shape(message: impl Into<String>) -> WireRefusal {
    WireRefusal::new("stream.shape", message)
}

fn unknown(what: &str, name: &str) -> WireRefusal {
    let name: String = name.chars().take(80).collect();
    WireRefusal::new("stream.unknown", format!("{what} `{name}` is not known, so nobody can judge it"))
}

fn too_large() -> WireRefusal {
    WireRefusal::new("stream.too_large", "the reply needs more memory than is allowed; raise the limit on held bytes")
}
