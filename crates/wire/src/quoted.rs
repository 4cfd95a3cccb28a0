//! Texts of a reply beside its content: citations, search results, reasons. People and models read them, so they are judged
//! as well, as one message of the assistant with the member `quoted`. Clients do not send them back as messages.

use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonEdit, JsonPath, JsonStep, Text, join_path, json_path};

use crate::name::is_name;
use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::segment::text_part::TextPart;
use crate::segment::{Edits, Segment};
use crate::unread::{FileContent, FileHolder, is_named, refuse_unreadable};

/// The member of an event that marks texts beside the content.
pub(crate) const QUOTED: &str = "quoted";

/// The keys of addresses, and of content that only the vendor reads.
const OPAQUE_KEYS: [&str; 8] = [
    "url",
    "uri",
    "source",
    "container_id",
    "encrypted_index",
    "encrypted_content",
    "document_id",
    "thought_signature",
];

/// The keys with bytes in base64.
const BYTES_KEYS: [&str; 5] = ["data", "file_data", "b64_json", "result", "partial_image_b64"];

/// The keys under which a name is a setting of the service.
const SETTING_KEYS: [&str; 2] = ["severity", "source_type"];

/// What takes the place of a denied text.
const WITHHELD: &str = "(withheld)";

/// The texts of a body beside its content.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotedTexts {
    texts: Vec<TextPart>,
    /// The places of files that say they are text, and cannot be read.
    unreadable: Vec<JsonPath>,
}

impl QuotedTexts {
    /// Adds the texts of a value. Addresses, and names under keys that hold names, are no texts.
    pub(crate) fn add(&mut self, key: &str, value: &Json, at: &[JsonStep]) {
        self.add_within(&FileHolder::default(), key, value, at);
    }

    /// Adds the texts of a member of an object that says what the files in it are.
    pub(crate) fn add_within(&mut self, holder: &FileHolder, key: &str, value: &Json, at: &[JsonStep]) {
        match value {
            Json::String(text) => {
                let said = match read_quoted(holder, key, text) {
                    FileContent::Opaque => return,
                    FileContent::Text(inside) => inside,
                    FileContent::None => text.clone(),
                    FileContent::Unreadable => return self.unreadable.push(at.to_vec()),
                };
                self.texts.push(TextPart { at: at.to_vec(), text: said, joint: "\n" });
            }
            Json::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.add_within(holder, key, value, &join_path(at, [place.into()]));
                }
            }
            Json::Object(members) => {
                let holder = holder.with_members(members);
                for (key, value) in members.iter() {
                    self.add_within(&holder, key, value, &join_path(at, [JsonStep::Key(key.clone())]));
                }
            }
            _ => {}
        }
    }

    /// Returns the texts of an error that is beside the content of a reply: clients show it as a part of the reply.
    pub(crate) fn of_error(body: &Json) -> QuotedTexts {
        let mut texts = QuotedTexts::default();
        match body.get("error") {
            Some(text @ Json::String(_)) => texts.add("error", text, &json_path!["error"]),
            Some(error) => {
                let message = error.get("message").unwrap_or(&Json::Null);
                texts.add("message", message, &json_path!["error", "message"]);
            }
            None => {}
        }
        texts
    }

    /// Adds the texts of other values.
    pub(crate) fn append(&mut self, other: QuotedTexts) {
        self.texts.extend(other.texts);
        self.unreadable.extend(other.unreadable);
    }

    /// Drops the texts within removed members, and refuses the files among the others that cannot be read.
    pub(crate) fn drop_within(&mut self, removals: &[JsonPath]) -> Result<(), WireRefusal> {
        let is_removed = |at: &JsonPath| removals.iter().any(|removed| at.starts_with(removed));
        self.texts.retain(|part| !is_removed(&part.at));
        if self.unreadable.iter().all(is_removed) { Ok(()) } else { Err(refuse_unreadable("wire.file")) }
    }

    /// Returns the segment of the texts; none if there are none.
    pub(crate) fn into_segment(self) -> Option<Segment> {
        let texts = self.texts;
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

/// Returns what a string is: a text, or the address of a page, bytes of a file, a name, a setting.
fn read_quoted(holder: &FileHolder, key: &str, text: &str) -> FileContent {
    let is_setting = SETTING_KEYS.contains(&key) && is_name(text);
    if text.is_empty() || is_named(key, text) || is_setting || is_opaque(key, text) && !is_data_url(text) {
        return FileContent::Opaque;
    }
    if is_data_url(text) || BYTES_KEYS.contains(&key) {
        return holder.read_file(text);
    }
    let is_address = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    let is_plain = !text.contains(|character: char| character.is_whitespace() || character == '@');
    if is_address && is_plain { FileContent::Opaque } else { FileContent::None }
}

fn is_data_url(text: &str) -> bool {
    text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Whether a key holds addresses, or content that only the vendor reads.
fn is_opaque(key: &str, text: &str) -> bool {
    OPAQUE_KEYS.contains(&key) && !text.contains(|character: char| character.is_whitespace() || character == '@')
}
