//! The labelled sample that a calibration is fitted on: answers of one labeler whose truth is known.

use std::fmt;

use lictor_event::{Answer, AnswerValue, Event, Kind};
use lictor_json::Text;

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

impl LabelledAnswer {
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
