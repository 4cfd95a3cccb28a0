//! What is wrong with a text, shown at its place, and talk in general: everything that goes to standard error.
//!
//! A complaint names the place first, then what is wrong, then shows the line with a caret and says what to do.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

/// The longest line that is shown whole, and how much of a longer one is shown, in characters.
const WHOLE: usize = 120;
const WINDOW: usize = 100;

/// What is wrong with a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The part, in bytes of the line.
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Fault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault { span, message: message.into(), hint: hint.into() }
    }
}

/// A fault together with the file and the line it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    place: String,
    excerpt: Excerpt,
    message: String,
    hint: String,
}

impl Complaint {
    /// A fault in a line of a file, the first line being 1.
    pub(crate) fn new(file: &str, line: u64, text: &str, fault: Fault) -> Complaint {
        let column = text.get(..fault.span.start.min(text.len())).unwrap_or(text).chars().count() + 1;
        Complaint {
            place: format!("{file}:{line}:{column}"),
            excerpt: Excerpt::new(text, &fault.span),
            message: fault.message,
            hint: fault.hint,
        }
    }

    /// The place and what is wrong, on one line.
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

/// What is shown of a line, and where the caret goes.
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
        let all: Vec<char> = text.chars().map(visible).collect();
        let shown = if all.len() <= WHOLE {
            0..all.len()
        } else {
            let start = from.saturating_sub(WINDOW / 2).min(all.len() - WINDOW);
            start..start + WINDOW
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

/// A character as an excerpt shows it: nothing that moves the cursor or turns the direction of writing.
fn visible(character: char) -> char {
    match character {
        '\t' => ' ',
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
            char::REPLACEMENT_CHARACTER
        }
        c => c,
    }
}

/// Is one word probably a slip for the other: a letter or two put in, left out or replaced, or two swapped?
pub(crate) fn is_near(word: &str, other: &str) -> bool {
    let (left, right) = (word.chars().count(), other.chars().count());
    let allowed = match left.min(right) {
        0..=3 => return false,
        4..=7 => 1,
        _ => 2,
    };
    left.abs_diff(right) <= allowed && left <= 60 && lictor_logic::distance(word, other) <= allowed
}

/// Says something in passing.
pub(crate) fn note(message: &str) {
    say(&format!("note: {message}"));
}

/// Says that something went wrong.
pub(crate) fn error(message: &str) {
    say(&format!("error: {message}"));
}

/// Says that something is odd.
pub(crate) fn warn(message: &str) {
    say(&format!("warning: {message}"));
}

/// Says something to a person. If nobody listens, that is no reason to stop.
pub(crate) fn say(text: &str) {
    let text: String = text.chars().map(|c| if c == '\n' { c } else { visible(c) }).collect();
    let _ = writeln!(io::stderr().lock(), "{text}");
}
