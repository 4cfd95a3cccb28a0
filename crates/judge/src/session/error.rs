//! Why a session refuses a call.

use std::fmt;

use lictor_json::Text;

use super::Proposal;

/// Why a session refuses a call; nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionError {
    kind: SessionErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SessionErrorKind {
    /// The proposal was made for another session, or for another state of the same one.
    Stale { session: Text, step: u32 },
    /// The session, or the state of one, belongs to another judge.
    ForeignJudge { session: Option<Text> },
    /// The event was labeled by another policy.
    ForeignPolicy,
}

impl SessionError {
    pub(super) fn stale(proposal: &Proposal) -> SessionError {
        let (session, step) = (proposal.session().clone(), proposal.step());
        SessionError { kind: SessionErrorKind::Stale { session, step } }
    }

    pub(crate) fn foreign_judge(session: Option<&Text>) -> SessionError {
        SessionError { kind: SessionErrorKind::ForeignJudge { session: session.cloned() } }
    }

    pub(crate) fn foreign_policy() -> SessionError {
        SessionError { kind: SessionErrorKind::ForeignPolicy }
    }

    /// Whether a proposal was made for another session, or for another state of this one. Propose its event again.
    pub fn is_stale(&self) -> bool {
        matches!(self.kind, SessionErrorKind::Stale { .. })
    }

    /// Whether the judge is not the one that the session belongs to.
    pub fn is_foreign(&self) -> bool {
        !self.is_stale()
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SessionErrorKind::Stale { session, step } => write!(
                f,
                "the proposal was made for step {step} of session `{session}`: this is another session, or it has \
                 changed since; propose the event again"
            ),
            SessionErrorKind::ForeignJudge { session } => {
                match session {
                    Some(session) => write!(f, "session `{session}` belongs to another judge")?,
                    None => f.write_str("the state belongs to another judge")?,
                }
                f.write_str("; use the judge that began it, or save the session there and restore it with this judge")
            }
            SessionErrorKind::ForeignPolicy => f.write_str(
                "the event was labeled by another policy; use the judge that labeled it, or a fork of that judge",
            ),
        }
    }
}

impl std::error::Error for SessionError {}
