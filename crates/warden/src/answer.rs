//! What a warden answers, and what it is asked beside events.

use std::sync::Arc;

use lictor_judge::finding::Finding;
use lictor_judge::guard::{Action, Decision};
use lictor_store::Change;

/// The decision on an event, and whether it was decided before.
#[derive(Debug)]
pub struct WardenAnswer {
    /// The decision.
    pub decision: Arc<Decision>,
    /// Whether the event is a duplicate, and this is the earlier decision.
    pub is_duplicate: bool,
    /// The unmet obligations of the session, if the event was its end.
    pub owed: Vec<Notice>,
    /// The line of a decision that was read back from the store.
    pub(crate) stored: Option<String>,
}

impl WardenAnswer {
    /// Returns the decision as a line of JSON; for a duplicate, the same line as before.
    pub fn line(&self) -> String {
        self.stored.clone().unwrap_or_else(|| self.decision.line())
    }

    /// Whether the event is no duplicate and is forwarded unchanged.
    pub fn is_forwarded(&self) -> bool {
        !self.is_duplicate && self.decision.action == Action::Forward
    }
}

/// Refused input that is no event.
#[derive(Clone, Debug, Default)]
pub struct RefusedInput {
    /// The reason: a code that reveals nothing of the content.
    pub reason: String,
    /// The input as it came: the record commits to it.
    pub bytes: Vec<u8>,
    /// The exchange that it came with.
    pub exchange: Option<String>,
}

impl RefusedInput {
    /// Creates refused input that belongs to no exchange.
    pub fn new(reason: &str, bytes: &[u8]) -> RefusedInput {
        RefusedInput { reason: reason.to_owned(), bytes: bytes.to_vec(), exchange: None }
    }
}

/// Returns extra changes to save atomically with decisions. It may be called several times, and must not use the
/// warden's own keys. If one of its keys conflicts, nothing is decided and the conflict is returned.
pub type ExtraChanges<'a> = dyn Fn(&[WardenAnswer]) -> Vec<Change> + 'a;

/// Something that happened because time passed, without an event.
#[derive(Debug)]
pub struct Notice {
    /// The notice as a line of JSON.
    pub line: String,
    /// The missed deadline or the settled approval.
    pub news: TimeOutcome,
}

/// The outcome of passing time.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Debug)]
pub enum TimeOutcome {
    /// A deadline was missed.
    Late(Box<Finding>),
    /// An approval timed out.
    Settled(Box<Decision>),
}

/// The answers, and the version of the save, if there was one.
pub(crate) type DecidedBatch = (Vec<WardenAnswer>, Option<u64>);

/// The open questions about an event, for labelers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenQuestions {
    /// The questions.
    pub asked: Vec<lictor_event::labeler::Question>,
    /// The events right before it, as far as the questions look back.
    pub before: Vec<lictor_event::Event>,
}
