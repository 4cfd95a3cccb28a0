//! Parse errors: every error of a text at once, each with its place, the source line and a hint.

use std::fmt;
use std::ops::Range;

/// How many errors of a text are reported; the others are counted.
const MAX_REPORTED_ERRORS: usize = 20;

/// The longest source line that is shown whole, and the part of a longer one that is shown, in characters.
const MAX_LINE_CHARS: usize = 120;
const LINE_WINDOW_CHARS: usize = 100;

/// The longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 240;

/// The errors of a text, in the order of their places.
///
/// ```
/// use lictor_logic::Arena;
/// let errors = Arena::new().parse("alwyas (a -> b)").unwrap_err();
/// assert_eq!(errors.iter().count(), 1);
/// assert!(errors.to_string().contains("hint: did you mean `always`?"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseErrors {
    errors: Vec<ParseError>,
    more: usize,
}

impl ParseErrors {
    pub(crate) fn new(source: &str, faults: Faults) -> ParseErrors {
        let Faults { mut list, mut more } = faults;
        list.sort_by_key(|fault| fault.span.start);
        more += list.len().saturating_sub(MAX_REPORTED_ERRORS);
        list.truncate(MAX_REPORTED_ERRORS);
        ParseErrors { errors: list.into_iter().map(|fault| ParseError::new(source, fault)).collect(), more }
    }

    /// Returns the errors, the first in the text first: at least one and at most twenty.
    pub fn iter(&self) -> std::slice::Iter<'_, ParseError> {
        self.errors.iter()
    }
}

impl<'a> IntoIterator for &'a ParseErrors {
    type Item = &'a ParseError;
    type IntoIter = std::slice::Iter<'a, ParseError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for ParseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{error}")?;
        }
        if self.more > 0 { write!(f, "\nand {} more", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for ParseErrors {}

/// One error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    fault: Fault,
    line: usize,
    column: usize,
    excerpt: Excerpt,
}

impl ParseError {
    fn new(source: &str, fault: Fault) -> ParseError {
        let place = fault.span.start.min(source.len());
        let before = source.get(..place).unwrap_or(source);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = source.get(start..).unwrap_or("").split('\n').next().unwrap_or("").trim_end_matches('\r');
        let excerpt = Excerpt::new(line, place - start..fault.span.end.saturating_sub(start));
        let column = before.get(start..).unwrap_or("").chars().count().min(line.chars().count()) + 1;
        ParseError { line: before.matches('\n').count() + 1, column, excerpt, fault }
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.fault.message
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> &str {
        &self.fault.hint
    }

    /// Returns its place, in bytes of the text.
    pub fn span(&self) -> Range<usize> {
        self.fault.span.clone()
    }

    /// Returns the line it begins in, the first being 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the character of that line it begins with, the first being 1.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.line, self.column, self.fault.message)?;
        let Excerpt { text, indent, width } = &self.excerpt;
        writeln!(f, "  {text}")?;
        writeln!(f, "  {:indent$}{:^<width$}", "", "")?;
        write!(f, "  hint: {}", self.fault.hint)
    }
}

impl std::error::Error for ParseError {}

/// The part of a source line that is shown, and the place of the caret beneath it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or the part of a long one around the caret, without control characters.
    pub text: String,
    /// How far the caret is indented, in columns of a terminal.
    pub indent: usize,
    /// How wide it is; at least one.
    pub width: usize,
}

impl Excerpt {
    /// Returns the excerpt that marks a part of a line, given in bytes.
    pub fn new(line: &str, span: Range<usize>) -> Excerpt {
        let text: Vec<char> = line.chars().collect();
        let count = |end: usize| line.get(..end.min(line.len())).unwrap_or(line).chars().count();
        let (first, last) = (count(span.start), count(span.end));
        let shown = if text.len() <= MAX_LINE_CHARS {
            0..text.len()
        } else {
            let from = first.saturating_sub(LINE_WINDOW_CHARS / 2).min(text.len() - LINE_WINDOW_CHARS);
            from..from + LINE_WINDOW_CHARS
        };
        let cut_left = if shown.start > 0 { "…" } else { "" };
        let cut_right = if shown.end < text.len() { "…" } else { "" };
        let draw = |range: Range<usize>| draw_characters(text.get(range).unwrap_or(&[]));
        Excerpt {
            text: format!("{cut_left}{}{cut_right}", draw(shown.clone())),
            indent: terminal_columns(cut_left) + terminal_columns(&draw(shown.start..first)),
            width: terminal_columns(&draw(first..last.min(shown.end))).max(1),
        }
    }
}

/// An error whose line is not yet looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    span: Range<usize>,
    message: String,
    hint: String,
}

/// The errors found so far; beyond the first twenty they are only counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    list: Vec<Fault>,
    more: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.list.push(Fault {
                span,
                message: shorten_message(&message.into()),
                hint: shorten_message(&hint.into()),
            });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether further errors are only counted, so that no hint is needed.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MAX_REPORTED_ERRORS
    }

    pub(crate) fn join(mut self, other: Faults) -> Faults {
        self.list.extend(other.list);
        Faults { list: self.list, more: self.more + other.more }
    }
}

/// Returns the candidate that a misspelt word probably means.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = word.to_lowercase();
    let length = wanted.chars().count();
    // Longer words than these are no operators, and comparing them would cost.
    if length > 40 {
        return None;
    }
    let allowed = match length {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    };
    let near = |candidate: &&str| candidate.chars().count().abs_diff(length) <= allowed;
    let distances =
        candidates.into_iter().filter(near).map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate));
    distances.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, found)| found)
}

/// Returns the edit distance of two words: insertions, deletions, replacements and swaps of neighbors.
pub fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

/// Returns a message in one line, without control characters and of limited length, for any text of the user.
fn shorten_message(message: &str) -> String {
    let mut characters: Vec<char> = message.chars().take(MAX_MESSAGE_CHARS + 1).collect();
    if characters.len() > MAX_MESSAGE_CHARS {
        characters.truncate(MAX_MESSAGE_CHARS);
        characters.push('…');
    }
    draw_characters(&characters)
}

/// Returns characters for display, without those that move the cursor or change the direction of writing.
fn draw_characters(characters: &[char]) -> String {
    let mut drawn = String::with_capacity(characters.len());
    for character in characters {
        match character {
            '\t' => drawn.push_str("    "),
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                drawn.push(char::REPLACEMENT_CHARACTER);
            }
            c => drawn.push(*c),
        }
    }
    drawn
}

/// Returns how many columns of a terminal a text takes.
fn terminal_columns(text: &str) -> usize {
    let width = |character| match character {
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' => 0,
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{feff}' => 0,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => 2,
        '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' => 2,
        '\u{1f300}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1f9ff}' => 2,
        '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    };
    text.chars().map(width).sum()
}
