//! The content of a message as agents log it: a text, nothing, or a list of parts.

use lictor_event::Event;
use lictor_json::{Json, Text};

/// The texts and attachments of a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    /// The texts of all parts; none where there is no text at all.
    pub text: Option<Text>,
    /// The parts that are not text, by their type: `image`, `input_audio`.
    pub attachments: Vec<Text>,
}

impl Content {
    /// Reads the content of a message, with `joint` between the texts of its parts.
    pub(super) fn from_json(value: &Json, joint: &str) -> Content {
        let mut content = Content::default();
        content.add(value, joint);
        content
    }

    /// Adds one more part, or several.
    pub(super) fn add(&mut self, part: &Json, joint: &str) {
        match part {
            Json::Null => {}
            Json::String(text) => self.add_text(text, joint),
            Json::Array(parts) => parts.iter().for_each(|part| self.add(part, joint)),
            Json::Object(_) => {
                for text in leading_fields(part).iter().filter_map(|key| part.text(key)) {
                    self.add_text(text, joint);
                }
                match find_content(part) {
                    Some(PartContent::Text(text)) => self.add_text(text, joint),
                    Some(PartContent::Parts(parts)) => self.add(parts, joint),
                    Some(PartContent::Data(value)) => self.add_text(&value.to_string(), joint),
                    None => self.attachments.push(part_type(part).into()),
                }
            }
            other => self.add_text(&other.to_string(), joint),
        }
    }

    /// Puts the content into an event.
    pub(super) fn fill(self, event: &mut Event) {
        event.text = self.text;
        if !self.attachments.is_empty() {
            let types: Vec<Json> = self.attachments.into_iter().map(Json::from).collect();
            event.more.insert("attachments", types);
        }
    }

    /// Whether there is neither text nor anything else.
    pub(super) fn is_empty(&self) -> bool {
        self.text.as_ref().is_none_or(|text| text.is_empty()) && self.attachments.is_empty()
    }

    fn add_text(&mut self, text: &str, joint: &str) {
        match &mut self.text {
            Some(before) => {
                if !before.is_empty() {
                    before.push_str(joint);
                }
                before.push_str(text);
            }
            None => self.text = Some(text.into()),
        }
    }
}

/// The content of one part.
enum PartContent<'a> {
    Text(&'a str),
    Parts(&'a Json),
    Data(&'a Json),
}

fn find_content(part: &Json) -> Option<PartContent<'_>> {
    let direct = ["text", "refusal", "transcript"].iter().find_map(|key| part.text(key));
    if let Some(text) = direct {
        return Some(PartContent::Text(text));
    }
    match part_type(part) {
        // A document may hold its text in the open, or as parts.
        "document" => match part.at("source.type").and_then(Json::as_str) {
            Some("text") => part.at("source.data").and_then(Json::as_str).map(PartContent::Text),
            Some("content") => part.at("source.content").map(PartContent::Parts),
            _ => None,
        },
        "search_result" => part.get("content").map(PartContent::Parts),
        "resource" => part.at("resource.text").and_then(Json::as_str).map(PartContent::Text),
        "resource_link" => part.text("description").map(PartContent::Text),
        "data" => part.get("data").map(PartContent::Data),
        _ => None,
    }
}

/// Returns the keys of texts that come before the content of a part: a title, a source.
pub(super) fn leading_fields(part: &Json) -> &'static [&'static str] {
    match part_type(part) {
        "document" => &["title", "context"],
        "search_result" => &["title", "source"],
        "resource_link" => &["title", "name"],
        _ => &[],
    }
}

/// Returns the type of a part, by the key that its format uses.
fn part_type(part: &Json) -> &str {
    if let Some(name) = part.text("type").or_else(|| part.text("kind")) {
        return name;
    }
    ["data", "file", "raw", "blob", "url", "image"].into_iter().find(|key| part.get(key).is_some()).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_json as json;

    #[test]
    fn content_is_read_from_text_null_or_parts() {
        let cases = [
            (r#""hello""#, Some("hello"), ""),
            ("null", None, ""),
            ("[]", None, ""),
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, Some("a|b"), ""),
            (r#"["a",{"type":"image","source":{}}]"#, Some("a"), "image"),
            (r#"[{"type":"document","source":{"type":"text","data":"d"}}]"#, Some("d"), ""),
            (r#"[{"type":"document","source":{"type":"base64","data":"d"}}]"#, None, "document"),
            (r#"[{"type":"search_result","content":[{"type":"text","text":"s"}]}]"#, Some("s"), ""),
            (r#"[{"type":"search_result","source":"u","title":"t","content":[]}]"#, Some("t|u"), ""),
            (r#"[{"type":"document","context":"c","source":{"type":"base64","data":"d"}}]"#, Some("c"), "document"),
            (r#"[{"type":"resource","resource":{"uri":"u","text":"r"}}]"#, Some("r"), ""),
            (r#"[{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d"}]"#, Some("t|n|d"), ""),
            (r#"[{"type":"resource_link","uri":"u","name":"n"}]"#, Some("n"), "resource_link"),
            (r#"[{"data":{"n":1}},{"url":"u"}]"#, Some(r#"{"n":1}"#), "url"),
        ];
        for (written, text, attachments) in cases {
            let content = Content::from_json(&json::parse_str(written).unwrap(), "|");
            assert_eq!(content.text.as_deref(), text, "{written}");
            assert_eq!(content.attachments.join(","), attachments, "{written}");
        }
    }
}
