//! Frames of a stream: as they arrive, while they wait, and as they are sent.

use std::borrow::Cow;
use std::ops::Range;

use lictor_json::{
    self as json, Json, JsonEdit, JsonError, JsonPath, SseFrame, edit_text, find_value, write_sse_event,
};

use super::refusals::shape;
use super::units::Units;
use crate::name::is_name;
use crate::refusal::WireRefusal;
use crate::segment::{Edits, Segment};

/// How many characters of an unknown field a message shows.
const MAX_SHOWN_CHARS: usize = 40;

/// A frame that waits for rulings.
#[derive(Debug)]
pub(crate) struct HeldFrame {
    pub(crate) frame: SseFrame,
    /// Its data; none for comments and the end mark.
    pub(crate) payload: Option<Json>,
    pub(crate) content: FrameContent,
}

/// The content of a frame, as the interface understands it.
#[derive(Debug, Default)]
pub(crate) struct FrameContent {
    pub(crate) texts: Vec<TextPiece>,
    /// The units that must be ruled on before the frame is sent.
    pub(crate) waits_for: Vec<usize>,
    /// Whether the client does not get the frame: its type is not known, or the client has one like it.
    pub(crate) is_left_out: bool,
    /// Whether the frame only opens the reply.
    pub(crate) is_opening: bool,
    /// Whether the frame is the second part of one that was divided.
    pub(crate) is_second: bool,
    /// The texts beside the content, with their unit.
    pub(crate) quoted: Option<(usize, Segment)>,
}

/// A piece of text in a frame.
#[derive(Debug)]
pub(crate) struct TextPiece {
    pub(crate) unit: usize,
    /// Its place in the text of the unit.
    pub(crate) range: Range<usize>,
    /// The path of its value in the payload.
    pub(crate) at: JsonPath,
}

/// A frame as it is sent.
#[derive(Debug)]
pub(crate) struct SentFrame {
    pub(crate) raw: Vec<u8>,
    pub(crate) payload: Option<Json>,
}

/// Returns a payload after edits, as text and as value; none if there are no edits.
pub(crate) fn edit_payload(text: &str, edits: &Edits) -> Result<Option<(String, Json)>, WireRefusal> {
    if edits.is_empty() {
        return Ok(None);
    }
    let edited = edit_text(text, edits).and_then(|text| Some((json::parse_str(&text).ok()?, text)));
    edited.map(|(value, text)| Some((text, value))).ok_or_else(|| shape("a change cannot be written back"))
}

/// Returns the name and the data of a frame. Bytes that are not UTF-8, unknown fields and names with other characters
/// than a name has are refused.
pub(crate) fn read_fields(frame: &SseFrame) -> Result<(Option<&str>, Option<Cow<'_, str>>), WireRefusal> {
    let not_utf8 = |error: std::str::Utf8Error| {
        let message = "the bytes are not UTF-8".to_owned();
        let error = JsonError { code: "json.utf8", offset: error.valid_up_to(), message };
        WireRefusal::json("an event of the stream", error)
    };
    std::str::from_utf8(frame.raw()).map_err(not_utf8)?;
    let (mut name, mut data) = (None, None::<Cow<'_, str>>);
    for field in frame.fields() {
        let value = std::str::from_utf8(field.value).map_err(not_utf8)?;
        match (field.name, &mut data) {
            (b"event", _) if !is_name(value) => {
                return Err(WireRefusal::new("stream.field", "the type of an event of the stream is no name"));
            }
            (b"event", _) if name.is_some_and(|name| name != value) => {
                return Err(shape("an event of the stream has two names"));
            }
            (b"event", _) => name = Some(value),
            (b"data", None) => data = Some(Cow::Borrowed(value)),
            (b"data", Some(before)) => {
                let joined = before.to_mut();
                joined.push('\n');
                joined.push_str(value);
            }
            // A comment, or a field that is no content.
            (b"" | b"id" | b"retry", _) => {}
            (unknown, _) => {
                let shown: String = String::from_utf8_lossy(unknown).chars().take(MAX_SHOWN_CHARS).collect();
                let message = format!("an event of the stream has the unknown field `{shown}`");
                return Err(WireRefusal::new("stream.field", message));
            }
        }
    }
    Ok((name.filter(|name| !name.is_empty()), data))
}

impl SentFrame {
    /// Returns a frame of our own with this payload.
    pub(crate) fn alone(payload: Json) -> SentFrame {
        let raw = write_sse_event(None, None, payload.to_string().as_bytes(), "\n");
        SentFrame { raw, payload: Some(payload) }
    }
}

impl HeldFrame {
    /// Returns the edits that give the payload its texts as they are sent.
    pub(crate) fn text_edits(&self, units: &Units) -> Edits {
        let changed = self.content.texts.iter().filter_map(|piece| {
            let text = units.changed_text(piece.unit, piece.range.clone())?;
            Some((piece.at.clone(), JsonEdit::Set(text.into())))
        });
        changed.collect()
    }

    /// Returns the frame as it came.
    pub(crate) fn unchanged(self) -> SentFrame {
        SentFrame { raw: self.frame.into_raw(), payload: self.payload }
    }

    /// Returns the frame with edits of its payload.
    pub(crate) fn edited(self, edits: &[(JsonPath, JsonEdit)]) -> Result<SentFrame, WireRefusal> {
        if edits.is_empty() {
            return Ok(self.unchanged());
        }
        let data = self.frame.data().unwrap_or_default();
        let data = std::str::from_utf8(&data).ok().and_then(|data| edit_text(data, edits));
        let data = data.ok_or_else(|| shape("a change cannot be written back"))?;
        Ok(SentFrame { raw: self.frame.with_data(&data).into_raw(), payload: json::parse_str(&data).ok() })
    }

    /// Returns the frame as two, the first with the text up to a place. `edits` are those of the second beside its text.
    pub(crate) fn divide(&self, place: usize, edits: &Edits) -> Option<(HeldFrame, HeldFrame)> {
        let ([piece], payload) = (self.content.texts.as_slice(), self.payload.as_ref()?) else { return None };
        let text = payload.find(&piece.at)?.as_str()?;
        let (first, second) = text.split_at_checked(place.checked_sub(piece.range.start)?)?;
        let data = self.frame.data()?;
        let data = std::str::from_utf8(&data).ok()?;
        let written = find_value(data, &piece.at)?;
        // Each text is put into copies of the data and of the payload, which is quicker than to read all of it again.
        let put = |text: &str| {
            let text = Json::from(text);
            let data = [&data[..written.start], &text.to_string(), &data[written.end..]].concat();
            let mut payload = payload.clone();
            *payload.find_mut(&piece.at)? = text;
            Some((data, payload))
        };
        let (first, second) = (put(first)?, put(second)?);
        let second = edit_payload(&second.0, edits).ok()?.unwrap_or(second);
        Some((
            self.hold_part(self.frame.with_data(&first.0), first.1, piece.range.start..place, false),
            self.hold_part(self.frame.next_with_data(&second.0), second.1, place..piece.range.end, true),
        ))
    }

    /// Returns a frame that has a part of this one's text, and nothing else.
    fn hold_part(&self, frame: SseFrame, payload: Json, range: Range<usize>, is_second: bool) -> HeldFrame {
        let part = |piece: &TextPiece| TextPiece { unit: piece.unit, range: range.clone(), at: piece.at.clone() };
        let texts = self.content.texts.iter().map(part).collect();
        let is_second = is_second || self.content.is_second;
        HeldFrame {
            frame,
            payload: Some(payload),
            content: FrameContent { texts, is_second, ..FrameContent::default() },
        }
    }

    /// Returns a frame of our own beside this one. It has a name only if this one has.
    pub(crate) fn sibling(&self, name: Option<&str>, payload: Json) -> SentFrame {
        let name = name.filter(|_| self.frame.name().is_some());
        let data = payload.to_string();
        let raw = write_sse_event(name, None, data.as_bytes(), self.frame.line_end());
        SentFrame { raw, payload: Some(payload) }
    }
}
