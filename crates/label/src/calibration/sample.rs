//! The labelled sample that a calibration is fitted on: answers of one labeler whose truth is known.

use std::fmt;

use lictor_event::{Answer, AnswerValue, Event, Kind};
use lictor_json::{Json, Text};

use super::error::CalibrationError;

/// An answer of a labeler about one event, and whether its fact really holds there.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledAnswer {
    /// The session of the event. Answers of one session hang together, so a session is in one half of the sample only.
    pub session: Text,
    /// The number of the event in its session, to find the answers about one event.
    pub event: u64,
    /// The kind and the tool of the event.
    pub stratum: Stratum,
    /// The answer.
    pub answer: Answer,
    /// Whether the fact holds.
    pub truth: bool,
}

/// The member of an event line with the truth: `"truth":{"threatens":true}`.
const TRUTH: &str = "truth";

impl LabelledAnswer {
    /// Returns the answers of an event whose truth it states in its member `truth`: an object of facts, each true or
    /// false. A fact is written as in the answer, with its values or as its name alone. Answers whose fact the member
    /// does not name are left out. `number` tells the event from others of its session, if it has no `seq`.
    pub fn from_event(event: &Event, number: u64) -> Result<Vec<LabelledAnswer>, CalibrationError> {
        let place = || format!("{}:{}", event.source.file, event.source.line);
        let Some(truth) = event.more.get(TRUTH) else { return Ok(Vec::new()) };
        let invalid = || {
            let message = "`truth` must be an object of facts, each true or false";
            CalibrationError::new(format!("{}: {message}\nhint: \"truth\":{{\"threatens\":true}}", place()))
        };
        let truth = truth.as_object().ok_or_else(invalid)?;
        if truth.iter().any(|(_, value)| value.as_bool().is_none()) {
            return Err(invalid());
        }
        let session = event.session.clone().unwrap_or_else(|| Text::from(&*event.source.file));
        let number = event.seq.and_then(|seq| u64::try_from(seq).ok()).unwrap_or(number);
        let label = |answer: &Answer| {
            let value = truth.get(&answer.fact.to_string()).or_else(|| truth.get(&answer.fact.name));
            Some(LabelledAnswer {
                session: session.clone(),
                event: number,
                stratum: Stratum::from_event(event),
                answer: answer.clone(),
                truth: value.and_then(Json::as_bool)?,
            })
        };
        Ok(event.answers.iter().filter_map(label).collect())
    }

    /// Whether it says yes; none if it says neither yes nor no.
    pub(super) fn says_yes(&self) -> Option<bool> {
        match self.answer.says {
            AnswerValue::Yes => Some(true),
            AnswerValue::No => Some(false),
            AnswerValue::Unclear | AnswerValue::Failed => None,
        }
    }

    /// Whether its session is in the half that checks: by the hash of the session's name, so that more sessions do not
    /// move those that are there.
    pub(super) fn is_held_out(&self) -> bool {
        blake3::hash(self.session.as_bytes()).as_bytes()[0] & 1 == 1
    }
}

/// A part of the traffic in which facts have one base rate: the kind of an event and its tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stratum {
    kind: Text,
    tool: Option<Text>,
}

impl Stratum {
    /// Returns the stratum of a kind of event and a tool.
    pub fn new(kind: &Kind, tool: Option<&str>) -> Stratum {
        Stratum { kind: kind.name().into(), tool: tool.map(Text::from) }
    }

    /// Returns the stratum of an event.
    pub fn from_event(event: &Event) -> Stratum {
        Stratum::new(&event.kind, event.tool.as_deref())
    }

    /// Returns the name of the kind of event.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the tool.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }
}

impl fmt::Display for Stratum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.tool.iter().try_for_each(|tool| write!(f, " of {tool}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_event::record::LogRecord;

    fn read(line: &str) -> Result<Vec<LabelledAnswer>, CalibrationError> {
        let value = lictor_json::parse_str(line).unwrap();
        let event = LogRecord { value, file: "day.jsonl".into(), line: 3, index: 2 }.native_event().unwrap();
        LabelledAnswer::from_event(&event, 2)
    }

    #[test]
    fn sample_takes_truth_of_event() {
        let line = r#"{"kind":"tool_result","tool":"mail","session":"s","seq":7,"answers":[
            {"fact":"angry","says":"yes"},{"fact":"paid(\"bob\",3)","says":"no"},{"fact":"rude","says":"no"}],
            "truth":{"angry":false,"paid(\"bob\",3)":true,"late":true}}"#;
        let found = read(line).unwrap();
        let facts: Vec<(&str, bool)> = found.iter().map(|it| (&*it.answer.fact.name, it.truth)).collect();
        assert_eq!(facts, [("angry", false), ("paid", true)]);
        assert_eq!((found[0].session.as_str(), found[0].event), ("s", 7));
        assert_eq!(found[0].stratum.to_string(), "tool_result of mail");
        assert_eq!(read(r#"{"kind":"user_message","answers":[{"fact":"angry","says":"yes"}]}"#), Ok(Vec::new()));
    }

    #[test]
    fn sample_without_session_is_one_by_file() {
        let line = r#"{"kind":"user_message","answers":[{"fact":"angry","says":"yes"}],"truth":{"angry":true}}"#;
        let found = read(line).unwrap();
        assert_eq!((found[0].session.as_str(), found[0].event), ("day.jsonl", 2));
    }

    #[test]
    fn sample_with_wrong_truth_names_its_place() {
        for truth in ["[\"angry\"]", "{\"angry\":\"yes\"}", "true"] {
            let error = read(&format!(r#"{{"kind":"user_message","truth":{truth}}}"#)).unwrap_err().to_string();
            assert!(error.starts_with("day.jsonl:3:") && error.contains("hint:"), "{error}");
        }
    }
}
