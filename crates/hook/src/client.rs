//! The supported clients, and their capabilities at each hook.

use lictor_judge::guard::Capabilities;

use crate::hook::Hook;

/// A coding agent that runs hooks.
// Exhaustive on purpose: a new client must be handled in every answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

/// Options for the answers to a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookOptions {
    /// Whether Codex may run calls with rewritten arguments. Old versions of Codex ignore new arguments and run the
    /// call unchanged, and a hook cannot see the version, so this is off by default.
    pub rewrites: bool,
}

impl HookClient {
    /// Returns the name of the client on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HookClient::Claude => "claude",
            HookClient::Codex => "codex",
        }
    }

    /// Returns what the client can do at a hook.
    pub(crate) fn capabilities(self, hook: Hook, options: HookOptions) -> Capabilities {
        match (self, hook) {
            (HookClient::Claude, Hook::PreToolUse) => Capabilities { rewrite: true, ask: true },
            (HookClient::Claude, Hook::PostToolUse) => Capabilities { rewrite: true, ask: false },
            (HookClient::Codex, Hook::PreToolUse) => Capabilities { rewrite: options.rewrites, ask: false },
            // Neither client can rewrite a message of the user or the model.
            _ => Capabilities { rewrite: false, ask: false },
        }
    }
}
