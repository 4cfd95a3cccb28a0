//! Problems of a policy, shown at their place.
//!
//! A problem carries all that is needed to show it: the place, an excerpt of the line with a caret, what is wrong and
//! what to do. Nothing is printed here; callers format it.

use std::fmt;
use std::sync::Arc;

use lictor_logic::Excerpt;

use super::Place;

/// How many problems of each level are kept; more are only counted.
const MAX_PROBLEMS_PER_LEVEL: usize = 100;

/// The longest message that is shown, in characters.
const MAX_MESSAGE_CHARS: usize = 600;

/// Whether a problem makes the policy unusable.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemLevel {
    /// The policy cannot be used.
    Error,
    /// The policy can be used, but probably means something else than intended.
    Warning,
}

impl ProblemLevel {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ProblemLevel::Error => "error",
            ProblemLevel::Warning => "warning",
        }
    }
}

/// One problem of a policy.
///
/// It is shown as compilers do:
///
/// ```text
/// error[policy.unknown-key]: unknown key `serverity`
///   --> shop.yaml:12:5
///    |
/// 12 |     serverity: high
///    |     ^^^^^^^^^
///    = help: did you mean `severity`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, or the page of a pack.
    pub file: Arc<str>,
    /// The line, from one; zero if it concerns the file as a whole.
    pub line: u32,
    /// The column in characters, from one.
    pub column: u32,
    /// How many characters of the line it concerns; at least one.
    pub length: u32,
    /// Whether it makes the policy unusable.
    pub level: ProblemLevel,
    /// The kind of mistake, for programs: `policy.unknown-key`.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The way out.
    pub hint: Option<String>,
    /// The line with its caret, if the text is available.
    excerpt: Option<Excerpt>,
    /// The notes below the excerpt.
    notes: Vec<String>,
}

impl Problem {
    /// Creates an error at a place, without an excerpt.
    pub fn new(place: &Place, code: &'static str, message: impl Into<String>) -> Problem {
        Problem {
            file: Arc::clone(&place.file),
            line: place.line,
            column: place.column,
            length: 1,
            level: ProblemLevel::Error,
            code,
            message: message.into(),
            hint: None,
            excerpt: None,
            notes: Vec::new(),
        }
    }

    /// Returns this problem as a warning.
    #[must_use]
    pub fn into_warning(mut self) -> Problem {
        self.level = ProblemLevel::Warning;
        self
    }

    /// Returns this problem with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Returns this problem with another note below the line.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Problem {
        self.notes.push(note.into());
        self
    }

    pub(super) fn with_excerpt(mut self, length: u32, excerpt: Excerpt) -> Problem {
        self.length = length.max(1);
        self.excerpt = Some(excerpt);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.level.name(), self.code, SanitizedText(&self.message))?;
        let number = self.line.to_string();
        let gutter = " ".repeat(if self.line == 0 { 1 } else { number.len() });
        match self.line {
            0 => write!(f, "\n{gutter}--> {}", SanitizedText(&self.file))?,
            _ => write!(f, "\n{gutter}--> {}:{}:{}", SanitizedText(&self.file), self.line, self.column)?,
        }
        if let Some(Excerpt { text, indent, width }) = &self.excerpt {
            write!(f, "\n{gutter} |\n{number} | {text}\n{gutter} | {:indent$}{:^<width$}", "", "")?;
        }
        for note in &self.notes {
            let mut lines = note.lines();
            write!(f, "\n{gutter} = note: {}", SanitizedText(lines.next().unwrap_or_default()))?;
            for line in lines {
                write!(f, "\n{gutter}   {}", SanitizedText(line))?;
            }
        }
        match &self.hint {
            Some(hint) => write!(f, "\n{gutter} = help: {}", SanitizedText(hint)),
            None => Ok(()),
        }
    }
}

/// A text that may quote a policy, shown without control characters and cut to a maximum length.
struct SanitizedText<'a>(&'a str);

impl fmt::Display for SanitizedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let hidden = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(MAX_MESSAGE_CHARS) {
            f.write_char(if hidden(character) { char::REPLACEMENT_CHARACTER } else { character })?;
        }
        if characters.next().is_some() { f.write_char('…') } else { Ok(()) }
    }
}

/// The problems of a policy, in the order of their places; very many are only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    more: usize,
    /// How many more problems of each level are kept than [`MAX_PROBLEMS_PER_LEVEL`].
    extra_room: usize,
}

impl Problems {
    /// Returns the problems, file by file, the first in a file first.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.level == ProblemLevel::Error)
    }

    /// Returns no problems yet, with room for so many more of each level than usual.
    pub(crate) fn with_extra_room(extra_room: usize) -> Problems {
        Problems { extra_room, ..Problems::default() }
    }

    pub(crate) fn add(&mut self, problem: Problem) {
        if !self.is_full(problem.level) {
            self.list.push(problem);
        }
    }

    /// Whether further problems of a level are only counted. Counts one if so, which saves making it. Each level has
    /// its own room: warnings never crowd out errors.
    pub(crate) fn is_full(&mut self, level: ProblemLevel) -> bool {
        let full =
            self.list.iter().filter(|other| other.level == level).count() >= MAX_PROBLEMS_PER_LEVEL + self.extra_room;
        self.more += usize::from(full);
        full
    }

    pub(crate) fn sort(&mut self) {
        let mut files: Vec<Arc<str>> = Vec::new();
        for problem in &self.list {
            if !files.contains(&problem.file) {
                files.push(Arc::clone(&problem.file));
            }
        }
        let number = |problem: &Problem| files.iter().position(|file| *file == problem.file);
        self.list.sort_by_key(|problem| (number(problem), problem.line, problem.column));
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.list.iter().enumerate() {
            let gap = if place == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{problem}")?;
        }
        if self.more > 0 { write!(f, "\n\nand {} more", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for Problems {}
