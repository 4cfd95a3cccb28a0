//! Terminal colors, unless they are turned off. No information is conveyed by color alone.

use std::io::IsTerminal;

use lictor_logic::Verdict;

/// Colors text, or leaves it plain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Returns colors if standard output is a terminal.
    pub(crate) fn for_stdout() -> Paint {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Paint { is_on: std::io::stdout().is_terminal() && !refused && !dumb }
    }

    /// Whether there are colors.
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    /// Returns a text in the color of a verdict.
    pub(crate) fn verdict(self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Satisfied => "32",
            Verdict::Inconclusive => "33",
            Verdict::Violated => "31",
        };
        self.code(code, text)
    }

    /// Returns a text in bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.is_on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
