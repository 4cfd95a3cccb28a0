//! Texts of a reply beside its content: citations, search results, reasons. People and models read them, so they are judged
//! as well, as one message of the assistant with the member `quoted`. Clients do not send them back as messages.

use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonEdit, JsonPath, JsonStep, Text, join_path};

use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::segment::text_part::TextPart;
use crate::segment::{Edits, Segment};
use crate::unread::is_named;

/// The member of an event that marks texts beside the content.
pub(crate) const QUOTED: &str = "quoted";

/// The keys of addresses, and of content that only the vendor reads.
const OPAQUE_KEYS: [&str; 7] =
    ["url", "uri", "source", "container_id", "encrypted_index", "encrypted_content", "document_id"];

/// What takes the place of a denied text.
const WITHHELD: &str = "(withheld)";

/// The texts of a body beside its content.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotedTexts(Vec<TextPart>);

impl QuotedTexts {
    /// Adds the texts of a value. Addresses, and names under keys that hold names, are no texts.
    pub(crate) fn add(&mut self, key: &str, value: &Json, at: &[JsonStep]) {
        match value {
            Json::String(text)
                if text.is_empty() || is_address(text) || is_named(key, text) || is_opaque(key, text) => {}
            Json::String(text) => self.0.push(TextPart { at: at.to_vec(), text: text.clone(), joint: "\n" }),
            Json::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.add(key, value, &join_path(at, [place.into()]));
                }
            }
            Json::Object(members) => {
                for (key, value) in members.iter() {
                    self.add(key, value, &join_path(at, [JsonStep::Key(key.clone())]));
                }
            }
            _ => {}
        }
    }

    /// Returns the segment of the texts; none if there are none.
    pub(crate) fn into_segment(self) -> Option<Segment> {
        let QuotedTexts(texts) = self;
        if texts.is_empty() {
            return None;
        }
        let mut event = Event::new(Kind::AssistantMessage);
        event.text = Some(Text::from(texts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")));
        event.more.insert(QUOTED, true);
        Some(Segment { texts, ..Segment::new(event, JsonPath::new()) })
    }
}

/// Whether a segment has texts beside the content.
pub(crate) fn is_quoted(segment: &Segment) -> bool {
    segment.event.more.get(QUOTED).is_some()
}

/// Returns the edits after a ruling on texts beside the content.
pub(crate) fn edit_quoted(segment: &Segment, ruling: &Ruling) -> Result<Edits, WireRefusal> {
    match ruling {
        Ruling::Forward => Ok(Edits::new()),
        Ruling::Rewrite(event) => segment.rewrite(event),
        Ruling::Deny { .. } => {
            Ok(segment.text_paths().map(|at| (at.clone(), JsonEdit::Set(WITHHELD.into()))).collect())
        }
    }
}

/// Whether a text is the address of a page or a file.
fn is_address(text: &str) -> bool {
    let is_known = ["http://", "https://", "data:"].iter().any(|scheme| text.starts_with(scheme));
    is_known && !text.contains(|character: char| character.is_whitespace() || character == '@')
}

/// Whether a key holds addresses, or content that only the vendor reads.
fn is_opaque(key: &str, text: &str) -> bool {
    OPAQUE_KEYS.contains(&key) && !text.contains(|character: char| character.is_whitespace() || character == '@')
}
