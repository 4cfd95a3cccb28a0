//! Taking values apart: known keys, expected types, and a complaint with a suggestion for everything else.

use std::ops::Range;

use lictor_logic::nearest;

use super::source::PolicyText;
use super::yaml::{Content, Key, Node};
use super::{Problem, ProblemLevel, Problems};
use lictor_json::{Json, Text};

/// Reads the values of one text and collects what is wrong with them.
pub(crate) struct Form<'a> {
    pub(crate) source: &'a PolicyText,
    pub(crate) problems: &'a mut Problems,
}

/// The values of a mapping under known keys.
pub(crate) struct Fields<'n> {
    entries: Vec<(&'n Key, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// All entries, whatever their keys.
    pub(crate) fn of(entries: &'n [(Key, Node)]) -> Fields<'n> {
        Fields { entries: entries.iter().map(|(key, node)| (key, node)).collect() }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|(name, _)| name.text == key).map(|(_, node)| *node)
    }

    /// Where a key stands.
    pub(crate) fn key(&self, key: &str) -> Option<Range<usize>> {
        self.entries.iter().find(|(name, _)| name.text == key).map(|(name, _)| name.span.clone())
    }
}

impl Form<'_> {
    /// Notes a problem with a part of the text.
    pub(crate) fn complain(&mut self, span: Range<usize>, code: &'static str, message: String, hint: Option<String>) {
        if !self.problems.is_full(ProblemLevel::Error) {
            let mut problem = self.source.problem(span, code, message);
            problem.hint = hint;
            self.problems.add(problem);
        }
    }

    /// Notes something that is probably not meant.
    pub(crate) fn warn(&mut self, span: Range<usize>, code: &'static str, message: String, hint: Option<String>) {
        if !self.problems.is_full(ProblemLevel::Warning) {
            let mut problem = self.source.problem(span, code, message).warning();
            problem.hint = hint;
            self.problems.add(problem);
        }
    }

    /// Notes that a value is of the wrong type.
    pub(crate) fn expected(&mut self, node: &Node, what: &str, wanted: &str, example: &str) {
        if !matches!(node.content, Content::Bad) {
            let message = match node.json() {
                Json::Null => format!("{what} must be {wanted}, and nothing is given"),
                _ => format!("{what} must be {wanted}, not {}", node.described()),
            };
            self.complain(node.head(), "policy.type", message, Some(example.to_owned()));
        }
    }

    /// The entries of a mapping.
    pub(crate) fn entries<'n>(&mut self, node: &'n Node, what: &str, example: &str) -> &'n [(Key, Node)] {
        match &node.content {
            Content::Map(entries) => entries,
            _ => {
                self.expected(node, what, "a mapping", example);
                &[]
            }
        }
    }

    /// A mapping with known keys.
    pub(crate) fn fields<'n>(&mut self, node: &'n Node, what: &str, known: &[&str], example: &str) -> Fields<'n> {
        let entries = self.entries(node, what, example);
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) {
                self.unknown_key(key, known);
            }
        }
        Fields::of(entries)
    }

    pub(crate) fn unknown_key(&mut self, key: &Key, known: &[&str]) {
        let hint = match nearest(&key.text, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known here: {}", listed(known)),
        };
        self.complain(key.span.clone(), "policy.unknown-key", format!("unknown key `{}`", key.text), Some(hint));
    }

    /// A key that must be there.
    pub(crate) fn required<'n>(&mut self, node: &Node, fields: &Fields<'n>, key: &str, help: &str) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() && matches!(node.content, Content::Map(_)) {
            let message = format!("the key `{key}` is missing");
            self.complain(node.head(), "policy.missing-key", message, Some(help.to_owned()));
        }
        found
    }

    /// The elements of a list.
    pub(crate) fn items<'n>(&mut self, node: &'n Node, what: &str, example: &str) -> &'n [Node] {
        match &node.content {
            Content::List(items) => items,
            _ => {
                self.expected(node, what, "a list", example);
                &[]
            }
        }
    }

    /// A text that is not empty.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let Content::Scalar { text, .. } = &node.content else {
            self.expected(node, what, "a text", "write it on one line, in quotes if it has special characters");
            return None;
        };
        match node.json() {
            Json::String(_) if text.trim().is_empty() => {
                self.complain(node.head(), "policy.empty", format!("{what} is empty"), None);
                None
            }
            Json::String(_) => Some(text),
            _ => {
                let example = if text.is_empty() { "write a text here" } else { "put it in quotes" };
                self.expected(node, what, "a text", example);
                None
            }
        }
    }

    /// A text or a number or a truth value, as it was written: an expression.
    pub(crate) fn scalar<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.content {
            Content::Scalar { text, .. } if !text.trim().is_empty() && !node.json().is_null() => Some(text),
            _ => {
                self.expected(
                    node,
                    what,
                    "an expression",
                    "such as `args.amount > 100`; in quotes if it has special characters",
                );
                None
            }
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, node: &Node, what: &str, example: &str) -> Vec<Text> {
        let items = self.items(node, what, example);
        items.iter().filter_map(|item| self.text(item, &format!("an entry of {what}")).map(Text::from)).collect()
    }

    /// `true` or `false`.
    pub(crate) fn truth(&mut self, node: &Node, what: &str) -> Option<bool> {
        match node.json() {
            Json::Bool(value) => Some(value),
            _ => {
                self.expected(node, what, "`true` or `false`", "write it without quotes");
                None
            }
        }
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&mut self, node: &Node, what: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, what)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let hint = match nearest(text, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("one of {}", listed(&known)),
        };
        self.complain(node.span.clone(), "policy.unknown-word", format!("{what} cannot be `{text}`"), Some(hint));
        None
    }

    /// Notes a problem inside a scalar, as exactly as its style allows; if it does not, the text is shown below.
    pub(crate) fn complain_inside(&mut self, node: &Node, part: Range<usize>, mut problem: InsideProblem) {
        if self.problems.is_full(ProblemLevel::Error) {
            return;
        }
        let (span, note) = match (node.inside(self.source, part.clone()), &node.content) {
            (Some(span), _) => (span, None),
            (None, Content::Scalar { text, .. }) => (node.head(), Some(excerpt(text, part))),
            (None, _) => (node.head(), None),
        };
        let mut shown: Problem = self.source.problem(span, problem.code, problem.message);
        shown.hint = problem.hint.take();
        self.problems.add(match note {
            Some(note) => shown.note(note),
            None => shown,
        });
    }
}

/// A problem whose place is given inside a scalar.
pub(crate) struct InsideProblem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// The line of a text with a caret beneath.
fn excerpt(text: &str, part: Range<usize>) -> String {
    let start = text.get(..part.start).unwrap_or(text).rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let inside = part.start.saturating_sub(start)..part.end.saturating_sub(start);
    let lictor_logic::Excerpt { text, indent, width } = lictor_logic::Excerpt::new(line, inside);
    format!("in the text\n{text}\n{:indent$}{:^<width$}", "", "")
}

/// Words for a sentence: `a`, `b` or `c`.
pub(crate) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
