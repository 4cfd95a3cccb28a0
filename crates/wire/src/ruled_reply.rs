//! A reply with the rulings on its events, for the interface that carries them out.

use lictor_json::{Json, JsonEdit, JsonStep, join_path};

use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::segment::{Edits, Segment};

/// A reply with the rulings on its events.
#[derive(Debug)]
pub(crate) struct RuledReply<'a> {
    pub(crate) body: &'a Json,
    pub(crate) segments: Vec<RuledSegment<'a>>,
    /// How many choices the model gave.
    pub(crate) choices: usize,
    /// Whether the request asked for structured output, which a denial is not: a denial becomes a refusal.
    pub(crate) is_structured: bool,
}

/// A segment of a reply with its ruling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuledSegment<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) ruling: &'a Ruling,
    /// The number of its choice.
    pub(crate) choice: usize,
}

impl RuledReply<'_> {
    /// Returns the text of the first denial.
    pub(crate) fn find_denial(&self) -> Option<&str> {
        self.segments.iter().find_map(|ruled| match ruled.ruling {
            Ruling::Deny { text } => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the edits that empty members of an object which could leak the original text.
    pub(crate) fn empty_members(&self, at: &[JsonStep], keys: &[&str]) -> Edits {
        let edit = |key: &&str| {
            let place = join_path(at, [(*key).into()]);
            let edit = JsonEdit::to_empty(self.body.find(&place)?)?;
            Some((place, edit))
        };
        keys.iter().filter_map(edit).collect()
    }
}

/// Returns the refusal of a reply with a wrong shape.
pub(crate) fn shape(message: &str) -> WireRefusal {
    WireRefusal::new("reply.shape", message)
}
