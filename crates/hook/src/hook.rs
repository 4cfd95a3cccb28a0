//! The hooks: the moments at which a client runs a command.

/// The moment at which a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hook {
    /// Before a tool call, which can be denied.
    PreToolUse,
    /// After a tool call, before the model reads the result.
    PostToolUse,
    /// Before the client asks the user to allow a call.
    PermissionRequest,
    /// Before the model reads a prompt of the user.
    UserPromptSubmit,
    /// Before the agent stops.
    Stop,
    /// Before a subagent stops.
    SubagentStop,
    /// When a session starts or resumes.
    SessionStart,
    /// When a session ends.
    SessionEnd,
    /// Any other hook, which only gets notes.
    Quiet,
}
