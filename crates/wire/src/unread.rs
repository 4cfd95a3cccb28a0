//! The texts of a request that no reader of its interface takes: fields of other services, parts of unknown types, files
//! that are text. They reach the model, so they are judged as well.
//!
//! A string is a text unless it is one of these: a text or a value that a segment has, a short name under a key that holds
//! names, the address of a file, bytes that are no text, the model's own thinking. A client can write thinking as well, so
//! only the members that hold thinking count as such. An item of reasoning in Responses has them only beside the encrypted
//! reasoning that the vendor reads in their place.

mod file;
mod keys;
mod thinking;

use std::collections::BTreeSet;

use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonPath, JsonStep, Object, Text};

use crate::known::{fold_case, is_thinking};
use crate::name::{is_member_name, is_name};
use crate::refusal::WireRefusal;
use crate::request_parts::RequestBody;
use crate::segment::text_part::TextPart;
use crate::segment::{Segment, UNREAD};
pub(crate) use file::{FileContent, FileHolder, refuse_unreadable};
use keys::{BODY_KEYS, CONTENT_KEYS, FILE_KEYS, NAME_KEYS, THOUGHT_KEYS};
use thinking::{is_models_entry, thought_keys};

/// Adds a segment for every message, and for every other member of the body, that has texts which no segment holds. Keys
/// that differ from a known one by case only are refused.
pub(crate) fn add_unread(body: RequestBody<'_>, segments: &mut Vec<Segment>) -> Result<(), WireRefusal> {
    let unread = find_unread(body, segments)?;
    if !unread.is_empty() {
        segments.extend(unread);
        segments.sort_by_key(|segment| place_of(&segment.at));
    }
    Ok(())
}

/// Returns the segments of the texts that no segment holds.
fn find_unread(body: RequestBody<'_>, segments: &[Segment]) -> Result<Vec<Segment>, WireRefusal> {
    let mut walk = Walk::new(segments);
    let mut unread = Vec::new();
    let Some(object) = body.value.as_object() else { return Ok(unread) };
    for (key, value) in object.iter() {
        check_case(key)?;
        walk.path.push(JsonStep::Key(key.clone()));
        match (key.as_str(), value) {
            ("messages" | "input", Json::Array(entries)) => {
                for (place, entry) in body.entries(key, entries) {
                    walk.path.push(place.into());
                    if walk.has_plain_message(entry) {
                        walk.path.pop();
                        continue;
                    }
                    walk.is_said = entry.text("role") == Some("assistant");
                    walk.is_from_model = walk.is_said || is_thinking(entry);
                    walk.is_screen = entry.text("type") == Some("computer_call_output");
                    walk.read_value("", entry)?;
                    walk.is_from_model = false;
                    walk.check_files()?;
                    let is_sent_back = is_models_entry(entry);
                    unread.extend(walk.take_segment(kind_of(entry)).map(|one| Segment { is_sent_back, ..one }));
                    walk.path.pop();
                }
            }
            ("metadata", Json::Object(members)) => walk.read_metadata(members)?,
            ("extra_body", Json::Object(members)) => {
                check_extra(members)?;
                walk.read_value(key, value)?;
            }
            _ => walk.read_value(key, value)?,
        }
        walk.check_files()?;
        unread.extend(walk.take_segment(Kind::SystemMessage));
        walk.path.pop();
    }
    Ok(unread)
}

/// Whether a string is a name under a key that holds names.
pub(crate) fn is_named(key: &str, text: &str) -> bool {
    NAME_KEYS.contains(&key) && is_name(text)
}

/// Returns the order of a segment: what is beside the messages, then the messages.
pub(crate) fn place_of(at: &JsonPath) -> usize {
    match at.as_slice() {
        [JsonStep::Key(key), JsonStep::Index(place), ..] if matches!(key.as_str(), "messages" | "input") => place + 1,
        [] => 1,
        _ => 0,
    }
}

fn kind_of(message: &Json) -> Kind {
    match message.text("role") {
        Some("user") => Kind::UserMessage,
        Some("assistant") => Kind::AssistantMessage,
        _ => Kind::SystemMessage,
    }
}

/// Refuses members of `extra_body` that some services put in the place of those of the body.
fn check_extra(members: &Object) -> Result<(), WireRefusal> {
    match members.iter().find(|(key, _)| BODY_KEYS.contains(&fold_case(key).as_str())) {
        Some((key, _)) => {
            let message = format!("some services read `{key}` in `extra_body`, others ignore it; write it in the body");
            Err(WireRefusal::new("request.shape", message))
        }
        None => Ok(()),
    }
}

fn check_case(key: &str) -> Result<(), WireRefusal> {
    if CONTENT_KEYS.contains(&key) {
        return Ok(());
    }
    let similar = match key.is_ascii() {
        true => CONTENT_KEYS.iter().find(|known| known.eq_ignore_ascii_case(key)),
        false => {
            let folded = fold_case(key);
            CONTENT_KEYS.iter().find(|known| **known == folded)
        }
    };
    match similar {
        Some(known) => {
            let message = format!("some services read `{key}` as `{known}`, others ignore it; write `{known}`");
            Err(WireRefusal::new("request.key_case", message))
        }
        None => Ok(()),
    }
}

/// A walk over the values of a request.
struct Walk<'s> {
    path: JsonPath,
    /// The places of texts that segments have.
    texts: BTreeSet<&'s [JsonStep]>,
    /// The places of whole values that segments have.
    values: BTreeSet<&'s [JsonStep]>,
    /// Those of them that are results of tools.
    results: BTreeSet<&'s [JsonStep]>,
    /// What the objects around a value say about the file in it.
    holder: FileHolder,
    /// Whether a file says that it is text, and cannot be read.
    has_unreadable: bool,
    found: Vec<TextPart>,
    /// The texts of files, which cannot be changed in place.
    files: Vec<Text>,
    /// Whether the values are those of a message or an item of the model, which may hold its thinking.
    is_from_model: bool,
    /// Whether they are those of a message.
    is_said: bool,
    /// Whether they are those of what a computer shows, which should be a picture.
    is_screen: bool,
}

impl<'s> Walk<'s> {
    fn new(segments: &'s [Segment]) -> Walk<'s> {
        let texts = segments.iter().flat_map(Segment::text_paths).map(Vec::as_slice).collect();
        let values = segments.iter().flat_map(Segment::value_paths).map(Vec::as_slice).collect();
        let returned = segments.iter().filter(|segment| segment.event.kind == Kind::ToolResult);
        let results = returned.flat_map(Segment::value_paths).map(Vec::as_slice).collect();
        Walk {
            path: Vec::new(),
            texts,
            values,
            results,
            holder: FileHolder::default(),
            has_unreadable: false,
            found: Vec::new(),
            files: Vec::new(),
            is_from_model: false,
            is_said: false,
            is_screen: false,
        }
    }

    /// Refuses the files that say they are text, and cannot be read.
    fn check_files(&self) -> Result<(), WireRefusal> {
        if self.has_unreadable { Err(refuse_unreadable("request.file")) } else { Ok(()) }
    }

    fn read_value(&mut self, key: &str, value: &Json) -> Result<(), WireRefusal> {
        match value {
            Json::String(text) => self.read_text(key, text),
            Json::Array(values) if !self.is_held() => {
                for (place, value) in values.iter().enumerate() {
                    self.path.push(place.into());
                    self.read_value(key, value)?;
                    self.path.pop();
                }
            }
            Json::Object(members) if !self.is_held() => {
                let thoughts = self.thought_keys(value);
                let inner = self.holder.with_members(members);
                let around = std::mem::replace(&mut self.holder, inner);
                for (key, value) in members.iter() {
                    let is_thought = thoughts.contains(&key.as_str());
                    self.read_member(key, value, is_thought)?;
                }
                self.holder = around;
            }
            _ if self.results.contains(self.path.as_slice()) => self.read_result("", value, &FileHolder::default()),
            _ => {}
        }
        Ok(())
    }

    /// Reads the files and the parts of a result that a segment has as a whole: it has what is written, and a model reads
    /// what a file says.
    fn read_result(&mut self, key: &str, value: &Json, holder: &FileHolder) {
        match value {
            Json::String(text) => {
                let is_file = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
                    || FILE_KEYS.contains(&key) && holder.says_text();
                match is_file.then(|| holder.read_file(text)) {
                    Some(FileContent::Text(text)) => self.files.push(text),
                    Some(FileContent::Unreadable) => self.has_unreadable = true,
                    _ => {}
                }
            }
            Json::Array(values) => values.iter().for_each(|value| self.read_result(key, value, holder)),
            Json::Object(members) => {
                let holder = holder.with_members(members);
                for (key, value) in members.iter() {
                    // Properties about texts do not see the keys of a value.
                    self.files.extend(key.contains(char::is_whitespace).then(|| key.clone()));
                    self.read_result(key, value, &holder);
                }
                let said = value.text("text").filter(|text| self.is_screen && !text.is_empty());
                self.files.extend(said.map(Text::from));
            }
            _ => {}
        }
    }

    /// Returns the members of an object that hold the model's thinking.
    fn thought_keys(&self, value: &Json) -> &'static [&'static str] {
        if self.is_from_model { thought_keys(value, &self.path, self.is_said) } else { &[] }
    }

    fn read_member(&mut self, key: &Text, value: &Json, is_thought: bool) -> Result<(), WireRefusal> {
        check_case(key)?;
        self.path.push(JsonStep::Key(key.clone()));
        match is_thought {
            true => self.read_thought(value)?,
            false => self.read_value(key, value)?,
        }
        self.path.pop();
        self.read_key(key);
        Ok(())
    }

    /// Reads thinking. Its own members hold nothing else.
    fn read_thought(&mut self, value: &Json) -> Result<(), WireRefusal> {
        match value {
            Json::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.path.push(place.into());
                    self.read_thought(value)?;
                    self.path.pop();
                }
            }
            Json::Object(members) => {
                for (key, value) in members.iter() {
                    self.read_member(key, value, THOUGHT_KEYS.contains(&key.as_str()))?;
                }
            }
            // The vendor's mark of its thinking is one word.
            Json::String(text)
                if text.contains(char::is_whitespace) && self.path.last() == Some(&"signature".into()) =>
            {
                self.add(text);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a message is a text that a segment has, and names: most messages are, and nothing of them is unread.
    fn has_plain_message(&mut self, message: &Json) -> bool {
        let is_plain = |(key, value): (&Text, &Json)| match (key.as_str(), value) {
            ("content", Json::String(_)) | ("role" | "name" | "tool_call_id", Json::Null) => true,
            ("role" | "name" | "tool_call_id", Json::String(text)) => is_name(text),
            _ => false,
        };
        if !message.as_object().is_some_and(|members| members.iter().all(is_plain)) {
            return false;
        }
        self.path.push("content".into());
        let has_text = self.texts.contains(self.path.as_slice());
        self.path.pop();
        has_text
    }

    /// Whether a segment has the whole value.
    fn is_held(&self) -> bool {
        self.values.contains(self.path.as_slice())
    }

    fn read_text(&mut self, key: &str, text: &Text) {
        if is_named(key, text) || self.texts.contains(self.path.as_slice()) || self.is_held() {
            return;
        }
        if FILE_KEYS.contains(&key) {
            match self.holder.read_file(text) {
                FileContent::Opaque => {}
                FileContent::Text(text) => self.files.push(text),
                FileContent::None => self.add(text),
                FileContent::Unreadable => self.has_unreadable = true,
            }
            return;
        }
        self.add(text);
        // A file under a key that is not known.
        if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
            && let FileContent::Text(text) = self.holder.read_file(text)
        {
            self.files.push(text);
        }
    }

    /// A key that is no name could be a sentence, or a number of a person.
    fn read_key(&mut self, key: &Text) {
        if !is_member_name(key) {
            self.files.push(key.clone());
        }
    }

    /// Values of metadata that are names identify the session, a request or a build.
    fn read_metadata(&mut self, members: &Object) -> Result<(), WireRefusal> {
        for (key, value) in members.iter() {
            let is_identifier = |text: &Text| is_name(text) && text.bytes().any(|byte| byte.is_ascii_alphabetic());
            self.path.push(JsonStep::Key(key.clone()));
            match value {
                Json::String(text) if is_identifier(text) => {}
                Json::String(text) => self.add(text),
                _ => self.read_value(key, value)?,
            }
            self.path.pop();
            self.read_key(key);
        }
        Ok(())
    }

    fn add(&mut self, text: &Text) {
        if !text.is_empty() {
            self.found.push(TextPart { at: self.path.clone(), text: text.clone(), joint: "\n" });
        }
    }

    /// Returns the segment of the texts found since the last one.
    fn take_segment(&mut self, kind: Kind) -> Option<Segment> {
        let (mut texts, files) = (std::mem::take(&mut self.found), std::mem::take(&mut self.files));
        if texts.is_empty() && files.is_empty() {
            return None;
        }
        let all: Vec<&str> =
            texts.iter().map(|part| part.text.as_str()).chain(files.iter().map(Text::as_str)).collect();
        let mut event = Event::new(kind);
        event.text = Some(all.join("\n").into());
        event.more.insert(UNREAD, true);
        if !files.is_empty() {
            texts.clear();
        }
        Some(Segment { texts, ..Segment::new(event, self.path.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use lictor_json::json_path;

    use super::*;
    use crate::segment::message::read_message;

    /// Every message of some members that is skipped has nothing unread.
    #[test]
    fn plain_messages_have_nothing_unread() {
        let members = [
            ("role", r#""user""#),
            ("role", r#""assistant""#),
            ("role", r#""tool""#),
            ("content", r#""a text""#),
            ("content", r#""""#),
            ("content", r#"[{"type":"text","text":"b"}]"#),
            ("name", r#""ann""#),
            ("name", r#""two words""#),
            ("name", "null"),
            ("tool_call_id", r#""c1""#),
            ("tool_call_id", "7"),
            ("Content", r#""x""#),
            ("reasoning", r#""hm""#),
            ("refusal", "null"),
        ];
        let mut skipped = 0;
        for chosen in 0..1_usize << members.len() {
            let chosen =
                members.iter().enumerate().filter(|(place, _)| chosen >> place & 1 == 1).map(|(_, member)| member);
            let text = chosen.map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(",");
            let Ok(message) = lictor_json::parse_str(&format!("{{{text}}}")) else { continue };
            let Ok(segments) = read_message(&message, &json_path!["messages", 0]) else { continue };
            let mut walk = Walk::new(&segments);
            walk.path = json_path!["messages", 0];
            if walk.has_plain_message(&message) {
                walk.is_said = message.text("role") == Some("assistant");
                walk.is_from_model = walk.is_said;
                assert!(walk.read_value("", &message).is_ok(), "{text}");
                assert!(walk.take_segment(Kind::UserMessage).is_none(), "{text}");
                skipped += 1;
            }
        }
        assert!(skipped >= 18, "{skipped}");
    }
}
