//! The clients whose hooks are understood, and what each can do about an event.

use lictor_judge::guard::Capabilities;

use crate::call::Hook;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

/// How a client is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookOptions {
    /// Let Codex carry out calls with other arguments. Versions of Codex that do not know how carry the call out as it
    /// was, and a hook is not told the version; so this is off unless somebody who knows it says so.
    pub rewrites: bool,
}

impl HookClient {
    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HookClient::Claude => "claude",
            HookClient::Codex => "codex",
        }
    }

    /// What it can do about the event of a hook.
    pub(crate) fn means(self, hook: Hook, options: HookOptions) -> Capabilities {
        match (self, hook) {
            (HookClient::Claude, Hook::PreToolUse) => Capabilities { rewrite: true, ask: true },
            (HookClient::Claude, Hook::PostToolUse) => Capabilities { rewrite: true, ask: false },
            (HookClient::Codex, Hook::PreToolUse) => Capabilities { rewrite: options.rewrites, ask: false },
            // Neither can change what a person or a model has said.
            _ => Capabilities { rewrite: false, ask: false },
        }
    }
}
