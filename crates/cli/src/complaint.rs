//! Everything that goes to standard error: notes, warnings, and errors in a text, shown at their place.
//!
//! A complaint has the place, the error, the line with a caret, and a hint.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

/// The longest line that is shown in full, and the length of an excerpt of a longer one, in characters.
const MAX_SHOWN_CHARACTERS: usize = 120;
const EXCERPT_CHARACTERS: usize = 100;

/// An error in a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextFault {
    /// The part, as byte offsets in the line.
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl TextFault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> TextFault {
        TextFault { span, message: message.into(), hint: hint.into() }
    }
}

/// A fault with its file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    place: String,
    excerpt: Excerpt,
    message: String,
    hint: String,
}

impl Complaint {
    /// Returns the complaint about a line of a file; lines count from 1.
    pub(crate) fn new(file: &str, line: u64, text: &str, fault: TextFault) -> Complaint {
        let column = text.get(..fault.span.start.min(text.len())).unwrap_or(text).chars().count() + 1;
        Complaint {
            place: format!("{file}:{line}:{column}"),
            excerpt: Excerpt::new(text, &fault.span),
            message: fault.message,
            hint: fault.hint,
        }
    }

    /// Returns the place and the error on one line.
    pub(crate) fn short(&self) -> String {
        format!("{}: error: {}", self.place, self.message)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excerpt { text, indent, width } = &self.excerpt;
        writeln!(f, "{}", self.short())?;
        writeln!(f, "  {text}")?;
        writeln!(f, "  {:indent$}{:^<width$}", "", "")?;
        write!(f, "  hint: {}", self.hint)
    }
}

/// The shown part of a line, and the place of the caret.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    indent: usize,
    width: usize,
}

impl Excerpt {
    fn new(text: &str, span: &Range<usize>) -> Excerpt {
        let from = text.get(..span.start.min(text.len())).unwrap_or(text).chars().count();
        let marked = text.get(span.clone()).unwrap_or("").chars().count();
        let all: Vec<char> = text.chars().map(make_visible).collect();
        let shown = if all.len() <= MAX_SHOWN_CHARACTERS {
            0..all.len()
        } else {
            let start = from.saturating_sub(EXCERPT_CHARACTERS / 2).min(all.len() - EXCERPT_CHARACTERS);
            start..start + EXCERPT_CHARACTERS
        };
        let left = if shown.start > 0 { "…" } else { "" };
        let right = if shown.end < all.len() { "…" } else { "" };
        let middle: String = all.get(shown.clone()).unwrap_or(&[]).iter().collect();
        Excerpt {
            text: format!("{left}{middle}{right}"),
            indent: from - shown.start + left.chars().count(),
            width: marked.min(shown.end.saturating_sub(from)).max(1),
        }
    }
}

/// Replaces characters that move the cursor or change the writing direction.
fn make_visible(character: char) -> char {
    match character {
        '\t' => ' ',
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
            char::REPLACEMENT_CHARACTER
        }
        c => c,
    }
}

/// Whether one word is probably a typo of the other: one or two letters inserted, omitted, replaced or swapped.
pub(crate) fn is_near(word: &str, other: &str) -> bool {
    let (left, right) = (word.chars().count(), other.chars().count());
    let allowed = match left.min(right) {
        0..=3 => return false,
        4..=7 => 1,
        _ => 2,
    };
    left.abs_diff(right) <= allowed && left <= 60 && lictor_logic::distance(word, other) <= allowed
}

/// Returns an error with its causes on one line, and all hints after it. A cause that is part of the message before it
/// is not repeated.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let (mut message, mut hints) = (String::new(), String::new());
    for cause in error.chain() {
        let text = cause.to_string();
        let (said, hint) = text.split_at(text.find("\nhint: ").unwrap_or(text.len()));
        if message.is_empty() {
            message.push_str(said);
        } else if !message.ends_with(said) {
            message.push_str(&format!(": {said}"));
        }
        hints.push_str(hint);
    }
    message + &hints
}

/// Prints a note.
pub(crate) fn note(message: &str) {
    say(&format!("note: {message}"));
}

/// Prints an error.
pub(crate) fn error(message: &str) {
    say(&format!("error: {message}"));
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    say(&format!("warning: {message}"));
}

/// Prints a text to standard error. A failure to print is ignored.
pub(crate) fn say(text: &str) {
    let text: String = text.chars().map(|c| if c == '\n' { c } else { make_visible(c) }).collect();
    let _ = writeln!(io::stderr().lock(), "{text}");
}
