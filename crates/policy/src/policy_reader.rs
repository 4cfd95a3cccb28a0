//! Reads YAML values by their expected types and keys, and reports everything else with a suggestion.

use std::ops::Range;

use lictor_logic::nearest;

use super::pattern_parts::PatternParts;
use super::policy_text::PolicyText;
use super::yaml::{Content, Key, YamlNode};
use super::{Problem, ProblemLevel, Problems};
use lictor_json::{Json, Text};

/// Reads the values of one text and collects the problems.
pub(crate) struct PolicyReader<'a> {
    pub(crate) source: &'a PolicyText,
    pub(crate) problems: &'a mut Problems,
    /// The named parts of regular expressions that were read so far.
    pub(crate) parts: PatternParts,
}

/// The values of a mapping under known keys.
pub(crate) struct Fields<'n> {
    entries: Vec<(&'n Key, &'n YamlNode)>,
}

impl<'n> Fields<'n> {
    /// Returns the entries of a mapping, with any keys.
    pub(crate) fn new(entries: &'n [(Key, YamlNode)]) -> Fields<'n> {
        Fields { entries: entries.iter().map(|(key, node)| (key, node)).collect() }
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'n YamlNode> {
        self.entries.iter().find(|(name, _)| name.text == key).map(|(_, node)| *node)
    }

    /// Returns the span of a key.
    pub(crate) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.entries.iter().find(|(name, _)| name.text == key).map(|(name, _)| name.span.clone())
    }
}

impl<'a> PolicyReader<'a> {
    pub(crate) fn new(source: &'a PolicyText, problems: &'a mut Problems) -> PolicyReader<'a> {
        PolicyReader { source, problems, parts: PatternParts::default() }
    }

    /// Reports an error in a part of the text.
    pub(crate) fn report_error(
        &mut self,
        span: Range<usize>,
        code: &'static str,
        message: String,
        hint: Option<String>,
    ) {
        if !self.problems.is_full(ProblemLevel::Error) {
            let mut problem = self.source.problem(span, code, message);
            problem.hint = hint;
            self.problems.add(problem);
        }
    }

    /// Reports a warning about a part of the text.
    pub(crate) fn report_warning(
        &mut self,
        span: Range<usize>,
        code: &'static str,
        message: String,
        hint: Option<String>,
    ) {
        if !self.problems.is_full(ProblemLevel::Warning) {
            let mut problem = self.source.problem(span, code, message).into_warning();
            problem.hint = hint;
            self.problems.add(problem);
        }
    }

    /// Reports a value of the wrong type.
    pub(crate) fn report_type(&mut self, node: &YamlNode, what: &str, wanted: &str, example: &str) {
        if !matches!(node.content, Content::Bad) {
            let message = match node.to_json() {
                Json::Null => format!("{what} must be {wanted}, and nothing is given"),
                _ => format!("{what} must be {wanted}, not {}", node.describe()),
            };
            self.report_error(node.head_span(), "policy.type", message, Some(example.to_owned()));
        }
    }

    /// Reads the entries of a mapping.
    pub(crate) fn read_entries<'n>(&mut self, node: &'n YamlNode, what: &str, example: &str) -> &'n [(Key, YamlNode)] {
        match &node.content {
            Content::Map(entries) => entries,
            _ => {
                self.report_type(node, what, "a mapping", example);
                &[]
            }
        }
    }

    /// Reads a mapping with known keys.
    pub(crate) fn read_fields<'n>(
        &mut self,
        node: &'n YamlNode,
        what: &str,
        known: &[&str],
        example: &str,
    ) -> Fields<'n> {
        let entries = self.read_entries(node, what, example);
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) {
                self.report_unknown_key(key, known);
            }
        }
        Fields::new(entries)
    }

    pub(crate) fn report_unknown_key(&mut self, key: &Key, known: &[&str]) {
        let hint = match nearest(&key.text, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known here: {}", quote_words(known)),
        };
        self.report_error(key.span.clone(), "policy.unknown-key", format!("unknown key `{}`", key.text), Some(hint));
    }

    /// Returns the value of a required key; reports it if it is missing.
    pub(crate) fn require_key<'n>(
        &mut self,
        node: &YamlNode,
        fields: &Fields<'n>,
        key: &str,
        help: &str,
    ) -> Option<&'n YamlNode> {
        let found = fields.get(key);
        if found.is_none() && matches!(node.content, Content::Map(_)) {
            let message = format!("the key `{key}` is missing");
            self.report_error(node.head_span(), "policy.missing-key", message, Some(help.to_owned()));
        }
        found
    }

    /// Reads the elements of a list.
    pub(crate) fn read_items<'n>(&mut self, node: &'n YamlNode, what: &str, example: &str) -> &'n [YamlNode] {
        match &node.content {
            Content::List(items) => items,
            _ => {
                self.report_type(node, what, "a list", example);
                &[]
            }
        }
    }

    /// Reads a text that is not empty.
    pub(crate) fn read_text<'n>(&mut self, node: &'n YamlNode, what: &str) -> Option<&'n str> {
        let Content::Scalar { text, .. } = &node.content else {
            self.report_type(node, what, "a text", "write it on one line, in quotes if it has special characters");
            return None;
        };
        match node.to_json() {
            Json::String(_) if text.trim().is_empty() => {
                self.report_error(node.head_span(), "policy.empty", format!("{what} is empty"), None);
                None
            }
            Json::String(_) => Some(text),
            _ => {
                let example = if text.is_empty() { "write a text here" } else { "put it in quotes" };
                self.report_type(node, what, "a text", example);
                None
            }
        }
    }

    /// Reads a text or a number or a truth value, as it was written: an expression.
    pub(crate) fn read_scalar<'n>(&mut self, node: &'n YamlNode, what: &str) -> Option<&'n str> {
        match &node.content {
            Content::Scalar { text, .. } if !text.trim().is_empty() && !node.to_json().is_null() => Some(text),
            _ => {
                self.report_type(
                    node,
                    what,
                    "an expression",
                    "such as `args.amount > 100`; in quotes if it has special characters",
                );
                None
            }
        }
    }

    /// Reads a list of texts.
    pub(crate) fn read_texts(&mut self, node: &YamlNode, what: &str, example: &str) -> Vec<Text> {
        let items = self.read_items(node, what, example);
        items.iter().filter_map(|item| self.read_text(item, &format!("an entry of {what}")).map(Text::from)).collect()
    }

    /// Reads `true` or `false`.
    pub(crate) fn read_bool(&mut self, node: &YamlNode, what: &str) -> Option<bool> {
        match node.to_json() {
            Json::Bool(value) => Some(value),
            given => {
                let example = match given.as_str().map(str::to_ascii_lowercase).as_deref() {
                    Some("true" | "false") => "write it without quotes",
                    // Older versions of YAML take these for truth values.
                    Some("yes" | "y" | "on") => "write `true`",
                    Some("no" | "n" | "off") => "write `false`",
                    _ => "write `true` or `false`, without quotes",
                };
                self.report_type(node, what, "`true` or `false`", example);
                None
            }
        }
    }

    /// Reads one of a few words.
    pub(crate) fn read_word<T: Copy>(&mut self, node: &YamlNode, what: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.read_text(node, what)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let hint = match nearest(text, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("one of {}", quote_words(&known)),
        };
        self.report_error(node.span.clone(), "policy.unknown-word", format!("{what} cannot be `{text}`"), Some(hint));
        None
    }

    /// Reports an error inside a scalar, as exactly as its style allows; if it does not, the text is shown below.
    pub(crate) fn report_in_scalar(&mut self, node: &YamlNode, part: Range<usize>, mut problem: ScalarProblem) {
        if self.problems.is_full(ProblemLevel::Error) {
            return;
        }
        let (span, note) = match (node.span_inside(self.source, part.clone()), &node.content) {
            (Some(span), _) => (span, None),
            (None, Content::Scalar { text, .. }) => (node.head_span(), Some(draw_excerpt(text, part))),
            (None, _) => (node.head_span(), None),
        };
        let mut shown: Problem = self.source.problem(span, problem.code, problem.message);
        shown.hint = problem.hint.take();
        self.problems.add(match note {
            Some(note) => shown.with_note(note),
            None => shown,
        });
    }
}

/// A problem whose place is given inside a scalar.
pub(crate) struct ScalarProblem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Returns the line of a text with a caret beneath.
fn draw_excerpt(text: &str, part: Range<usize>) -> String {
    let start = text.get(..part.start).unwrap_or(text).rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let inside = part.start.saturating_sub(start)..part.end.saturating_sub(start);
    let lictor_logic::Excerpt { text, indent, width } = lictor_logic::Excerpt::new(line, inside);
    format!("in the text\n{text}\n{:indent$}{:^<width$}", "", "")
}

/// Returns words in backticks with commas between them.
pub(crate) fn quote_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
