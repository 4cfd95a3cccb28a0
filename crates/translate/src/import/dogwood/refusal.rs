//! Refusals: what cannot be imported, where, and why.

use lictor_policy::{Place, PolicyText, Problem};

/// A syntax error.
pub(super) const SYNTAX: &str = "dogwood.syntax";
/// The value of an information provider, which is a program of its own.
pub(super) const PROVIDER: &str = "dogwood.provider";
/// A template with slots that are filled in later.
pub(super) const TEMPLATE: &str = "dogwood.template";
/// A type or function of Cedar that has no counterpart here: dates, addresses, tags.
pub(super) const EXTENSION: &str = "dogwood.extension";
/// Entities with attributes or parents, which Dogwood checks by a schema before it decides.
pub(super) const ENTITIES: &str = "dogwood.entities";
/// A macro that is not defined, or is used other than it is defined.
pub(super) const MACRO: &str = "dogwood.macro";
/// A number that is computed at one time and compared at another.
pub(super) const MOVED: &str = "dogwood.moved-number";
/// A value of another type than the policy uses it as.
pub(super) const TYPE: &str = "dogwood.type";
/// A time that goes back, or is out of range.
pub(super) const TIME: &str = "dogwood.time";
/// A property that the logic cannot monitor; the message is that of the logic.
pub(super) const LOGIC: &str = "dogwood.logic";

/// Every reason for which something is refused.
pub const REASONS: [&str; 10] = [SYNTAX, PROVIDER, TEMPLATE, EXTENSION, ENTITIES, MACRO, MOVED, TYPE, TIME, LOGIC];

/// A place in one of the files that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) file: usize,
    /// In bytes from the beginning.
    pub(super) offset: usize,
}

/// One thing that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) at: Location,
    pub(super) reason: &'static str,
    message: String,
    hint: Option<String>,
}

/// Returns a refusal without a hint.
pub(super) fn refuse(at: Location, reason: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { at, reason, message: message.into(), hint: None }
}

impl Refusal {
    /// Adds a hint.
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the refusal as a problem at its place in one of the files.
    pub(super) fn into_problem(self, files: &[PolicyText]) -> Problem {
        let problem = match files.get(self.at.file) {
            Some(file) => {
                let offset = file.file_offset(self.at.offset);
                file.problem(offset..offset + 1, self.reason, self.message)
            }
            None => Problem::new(&Place::default(), self.reason, self.message),
        };
        match self.hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    }
}
