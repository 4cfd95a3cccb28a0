//! What is not carried over, where it stands, and why.

use lictor_policy::{Place, PolicyText, Problem};

/// The text is not of the language.
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
/// A value that is of another type than the policy takes it for.
pub(super) const TYPE: &str = "dogwood.type";
/// A time that goes back, or is out of range.
pub(super) const TIME: &str = "dogwood.time";
/// A property that the logic cannot follow; the message is that of the logic.
pub(super) const LOGIC: &str = "dogwood.logic";

/// Every reason for which something is refused.
pub const REASONS: [&str; 10] = [SYNTAX, PROVIDER, TEMPLATE, EXTENSION, ENTITIES, MACRO, MOVED, TYPE, TIME, LOGIC];

/// A place in one of the files that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub(super) file: usize,
    /// In bytes from the beginning.
    pub(super) offset: usize,
}

/// One thing that is not carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) at: At,
    pub(super) reason: &'static str,
    message: String,
    hint: Option<String>,
}

/// A refusal without a way out.
pub(super) fn refused(at: At, reason: &'static str, message: impl Into<String>) -> Refused {
    Refused { at, reason, message: message.into(), hint: None }
}

impl Refused {
    /// The same with a way out.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Refused {
        self.hint = Some(hint.into());
        self
    }

    /// The refusal, shown at its place in one of the files.
    pub(super) fn problem(self, files: &[PolicyText]) -> Problem {
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
