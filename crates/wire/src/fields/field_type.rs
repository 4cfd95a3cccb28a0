//! The types of members of replies, as the tables name them.

use std::fmt;

use lictor_json::Json;

use super::{ObjectFields, ObjectPlace, find_object};

/// The words of enumerations, by the name of their type. The first one takes the place of a word that is not known.
const ENUMERATIONS: [(&str, &[&str]); 6] = [
    (
        "finish",
        &[
            "stop",
            "length",
            "tool_calls",
            "function_call",
            "content_filter",
            "error",
            "model_length",
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "eos",
            "eos_token",
            "abort",
            "cancelled",
            "safety",
            "sensitive",
            "network_error",
            "repetition",
            "insufficient_system_resource",
            "malformed_function_call",
            "refusal",
        ],
    ),
    (
        "stop",
        &[
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
            "compaction",
        ],
    ),
    ("image", &["image_url"]),
    ("image_action", &["auto", "generate", "edit"]),
    ("phase", &["final_answer", "commentary"]),
    (
        "thought",
        &[
            "thinking",
            "redacted_thinking",
            "text",
            "reasoning",
            "reasoning_text",
            "summary_text",
            "reasoning.text",
            "reasoning.summary",
            "reasoning.encrypted",
        ],
    ),
];

/// A type of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldType {
    Text,
    /// A list of texts.
    Texts,
    Number,
    Flag,
    AnyObject,
    /// A text without spaces.
    Name,
    /// A text without blanks, with any signs: an id that the client or the vendor chose.
    Id,
    /// The type of an object that is no call.
    Label,
    /// One of these words.
    Enumeration(&'static [&'static str]),
    /// Numbers and settings, without texts.
    Counts,
    /// A value whose texts are judged.
    Quoted,
    /// A value that the reader of the interface judges as a whole, or refuses.
    Value,
    /// The result of a tool, which is judged and holds no call.
    Result,
    /// Tokens with their probabilities.
    Tokens,
    /// What the service repeats of the request.
    Echo,
    Object(ObjectPlace),
    List(ObjectPlace),
}

impl FieldType {
    pub(super) fn parse(text: &'static str, objects: &[ObjectFields]) -> FieldType {
        let inside = |open: char, close: char| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        match text {
            "text" => FieldType::Text,
            "number" => FieldType::Number,
            "flag" => FieldType::Flag,
            "texts" => FieldType::Texts,
            "object" => FieldType::AnyObject,
            "label" => FieldType::Label,
            "value" => FieldType::Value,
            "result" => FieldType::Result,
            "tokens" => FieldType::Tokens,
            "name" => FieldType::Name,
            "id" => FieldType::Id,
            "counts" => FieldType::Counts,
            "quoted" => FieldType::Quoted,
            _ => {
                let object = |name: Option<&str>| name.and_then(|name| find_object(objects, name));
                let words = inside('<', '>').and_then(find_words);
                match (object(inside('{', '}')), object(inside('[', ']')), words) {
                    (Some(place), ..) => FieldType::Object(place),
                    (_, Some(place), _) => FieldType::List(place),
                    (_, _, Some(words)) => FieldType::Enumeration(words),
                    _ => FieldType::Echo,
                }
            }
        }
    }

    pub(super) fn fits(self, value: &Json) -> bool {
        matches!(
            (self, value),
            (FieldType::Counts | FieldType::Quoted | FieldType::Value, _)
                | (FieldType::Result | FieldType::Tokens | FieldType::Echo, _)
                | (FieldType::Text | FieldType::Name | FieldType::Id, Json::String(_))
                | (FieldType::Label | FieldType::Enumeration(_), Json::String(_))
                | (FieldType::Number, Json::Number(_))
                | (FieldType::Flag, Json::Bool(_))
                | (FieldType::AnyObject | FieldType::Object(_), Json::Object(_))
                | (FieldType::List(_), Json::Array(_))
        ) || self == FieldType::Texts && is_text_list(value)
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FieldType::Text | FieldType::Name | FieldType::Id | FieldType::Label | FieldType::Enumeration(_) => {
                "a text"
            }
            FieldType::Texts => "a list of texts",
            FieldType::Number => "a number",
            FieldType::Flag => "true or false",
            FieldType::Counts | FieldType::Quoted | FieldType::Value => "a value",
            FieldType::Result | FieldType::Tokens | FieldType::Echo => "a value",
            FieldType::AnyObject | FieldType::Object(_) => "an object",
            FieldType::List(_) => "a list",
        })
    }
}

/// Returns the words of an enumeration.
pub(super) fn find_words(name: &str) -> Option<&'static [&'static str]> {
    ENUMERATIONS.into_iter().find(|(known, _)| *known == name).map(|(_, words)| words)
}

/// Returns the types of a member in words.
pub(super) fn describe(types: &[FieldType]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

fn is_text_list(value: &Json) -> bool {
    value.as_array().is_some_and(|values| values.iter().all(|value| value.as_str().is_some()))
}
