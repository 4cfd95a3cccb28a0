//! Tells the files that labelers use from each other, so that an error can name the file that was given by mistake.

use std::fmt;

use lictor_json::{Json, Object};

/// The member `format` of a calibration.
pub(crate) const CALIBRATION_FORMAT: &str = "lictor-calibration";

/// The member `format` of a learnt model.
pub(crate) const MODEL_FORMAT: &str = "lictor-label-model";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Model,
    Calibration,
    Answers,
    Log,
}

impl FileKind {
    /// Returns what a file is by the members of its first value; none if it is no file of Lictor.
    pub(crate) fn find(bytes: &[u8]) -> Option<FileKind> {
        let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        let Ok(Json::Object(object)) = lictor_json::parse(bytes).or_else(|_| lictor_json::parse(line)) else {
            return None;
        };
        let has = |object: &Object, keys: &[&str]| keys.iter().all(|key| object.get(key).is_some());
        match object.get("format").and_then(Json::as_str) {
            Some(MODEL_FORMAT) => Some(FileKind::Model),
            Some(CALIBRATION_FORMAT) => Some(FileKind::Calibration),
            // The first version of calibrations had no `format`.
            _ if has(&object, &["labeler", "too_few"]) => Some(FileKind::Calibration),
            _ if has(&object, &["key", "answer"]) => Some(FileKind::Answers),
            _ if has(&object, &["kind"]) => Some(FileKind::Log),
            _ => None,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Model => "a learnt model",
            FileKind::Calibration => "a calibration",
            FileKind::Answers => "a file of answers",
            FileKind::Log => "a log",
        })
    }
}

/// Describes why a file cannot be read, and names the command that writes such a file if it is missing.
pub(crate) fn describe_missing(error: &std::io::Error, command: &str) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no such file\nhint: `{command}` writes one"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_kind_is_found_by_members() {
        for (text, kind) in [
            (r#"{"format":"lictor-label-model","facts":[]}"#, Some("a learnt model")),
            (r#"{"format":"lictor-calibration"}"#, Some("a calibration")),
            (r#"{"version":1,"labeler":"small@1","too_few":{}}"#, Some("a calibration")),
            ("\n{\"key\":\"1\",\"answer\":{}}\n{\"key\":\"2\",\"answer\":{}}\n", Some("a file of answers")),
            ("{\"kind\":\"user_message\"}\n{\"kind\":\"tool_call\"}", Some("a log")),
            (r#"{"version":2}"#, None),
            ("lictor: 1", None),
            ("", None),
        ] {
            let found = FileKind::find(text.as_bytes()).map(|kind| kind.to_string());
            assert_eq!(found.as_deref(), kind, "{text}");
        }
    }
}
