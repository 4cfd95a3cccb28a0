//! The texts of a content, and what is attached to them.

use lictor_decode::piece;
use lictor_event::content_hash::{self, ContentHash};
use lictor_json::{Json, JsonPath, Text, join_path, json_path};

/// A text in the body.
#[derive(Clone, Debug)]
pub(crate) struct TextPart {
    pub(crate) at: JsonPath,
    pub(crate) text: Text,
    /// The separator before it, if another text comes before it.
    pub(crate) joint: &'static str,
}

/// Adds the texts of a content, in the order in which a reader joins them.
pub(crate) fn collect_texts(value: &Json, at: JsonPath, joint: &'static str, texts: &mut Vec<TextPart>) {
    match value {
        Json::String(text) => texts.push(TextPart { at, text: text.clone(), joint }),
        Json::Array(parts) => {
            for (place, part) in parts.iter().enumerate() {
                collect_texts(part, join_path(&at, [place.into()]), joint, texts);
            }
        }
        Json::Object(_) => {
            for key in piece::leading_fields(value) {
                if let Some(leading) = value.get(key).filter(|leading| leading.as_str().is_some()) {
                    collect_texts(leading, join_path(&at, [(*key).into()]), joint, texts);
                }
            }
            let inner = match ["text", "refusal", "transcript"].into_iter().find(|key| value.text(key).is_some()) {
                Some(key) => json_path![key],
                None => match value.text("type") {
                    Some("document") => match value.at("source.type").and_then(Json::as_str) {
                        Some("text") => json_path!["source", "data"],
                        _ => json_path!["source", "content"],
                    },
                    Some("search_result") => json_path!["content"],
                    _ => return,
                },
            };
            if let Some(inner_value) = value.find(&inner) {
                collect_texts(inner_value, join_path(&at, inner), joint, texts);
            }
        }
        _ => {}
    }
}

/// Returns the hash of the pictures and files of a content; none if there are none.
pub(crate) fn hash_attachments(content: &Json) -> Option<ContentHash> {
    let files: Vec<Json> = content.as_array()?.iter().filter_map(read_attachment).collect();
    (!files.is_empty()).then(|| content_hash::hash_json(&files.into()))
}

/// Returns a part that holds something else than text; it may have a title.
fn read_attachment(part: &Json) -> Option<Json> {
    let mut texts = Vec::new();
    collect_texts(part, Vec::new(), "", &mut texts);
    let is_leading = |text: &TextPart| piece::leading_fields(part).iter().any(|key| text.at == json_path![*key]);
    if !texts.iter().all(is_leading) {
        return None;
    }
    let mut attachment = part.as_object()?.clone();
    // Where a vendor may cache it is no content, and changes from request to request.
    attachment.remove("cache_control");
    Some(attachment.into())
}
