//! Reads YAML as policies use it, with the place of every value.
//!
//! Policies come from colleagues and from the internet. A duplicate key is an error; anchors, aliases and tags
//! are refused (texts that begin with `*`, `&` or `!` by accident are far more common than intended ones, and
//! without aliases a small file cannot become a large value); size, depth and number of values are bounded.

mod scalar;
mod syntax_problem;

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::policy_text::PolicyText;
use super::{Place, Problem, ProblemLevel, Problems};
use lictor_json::{Json, Object};

/// The largest policy, in bytes.
const MAX_POLICY_BYTES: usize = 1 << 20;

/// The deepest nesting.
const MAX_DEPTH: usize = 32;

/// The most values.
const MAX_VALUES: usize = 50_000;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct YamlNode {
    /// The bytes of the whole text that it takes.
    pub(crate) span: Range<usize>,
    pub(crate) content: Content,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar {
        text: String,
        style: ScalarStyle,
    },
    List(Vec<YamlNode>),
    Map(Vec<(Key, YamlNode)>),
    /// A value that was already reported.
    Bad,
}

/// A key and its place.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

impl YamlNode {
    /// Returns the value as JSON. What JSON cannot hold becomes its text.
    pub(crate) fn to_json(&self) -> Json {
        match &self.content {
            Content::Scalar { text, style: ScalarStyle::Plain } => scalar::resolve_plain(text),
            Content::Scalar { text, .. } => Json::from(text.as_str()),
            Content::List(items) => Json::Array(items.iter().map(YamlNode::to_json).collect()),
            Content::Map(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.text.as_str().into(), value.to_json())).collect::<Object>(),
            ),
            Content::Bad => Json::Null,
        }
    }

    /// Returns what it is, in words: `a list`, `the number 5`.
    pub(crate) fn describe(&self) -> String {
        match self.to_json() {
            Json::Null => "nothing".into(),
            Json::Bool(value) => format!("the truth value `{value}`"),
            Json::Number(number) => format!("the number {number}"),
            Json::String(_) => "a text".into(),
            Json::Array(_) => "a list".into(),
            Json::Object(_) => "a mapping".into(),
        }
    }

    /// Returns where a problem with all of it is shown: a mapping by its first key.
    pub(crate) fn head_span(&self) -> Range<usize> {
        match &self.content {
            Content::Map(entries) => entries.first().map_or(self.span.clone(), |(key, _)| key.span.clone()),
            Content::List(items) => items.first().map_or(self.span.clone(), YamlNode::head_span),
            _ => self.span.clone(),
        }
    }

    /// Returns the place where it begins.
    pub(crate) fn place(&self, source: &PolicyText) -> Place {
        source.place(self.head_span().start)
    }

    /// Returns the span in the file of a part of a scalar's text, given in bytes; none if the style hides it.
    pub(crate) fn span_inside(&self, source: &PolicyText, part: Range<usize>) -> Option<Range<usize>> {
        match &self.content {
            Content::Scalar { text, style } => scalar::locate(source.slice(self.span.clone()), text, *style, part)
                .map(|found| self.span.start + found.start..self.span.start + found.end),
            _ => None,
        }
    }
}

/// Reads a text; none if it is too large or not YAML.
pub(crate) fn read(source: &PolicyText, problems: &mut Problems) -> Option<YamlNode> {
    let text = source.body();
    if text.len() > MAX_POLICY_BYTES {
        let start = source.file_offset(0);
        let (size, limit) = (text.len().div_ceil(1 << 10), MAX_POLICY_BYTES >> 10);
        let message = format!("policy of {size} KiB is over the limit of {limit} KiB");
        let problem = source.problem(start..start, "yaml.too-large", message);
        problems.add(problem.with_hint("split it, and list the parts under `uses:`"));
        return None;
    }
    let mut reader =
        YamlReader { source, bytes: byte_offsets(text), open: Vec::new(), root: None, values: 0, problems };
    match reader.read_events(text) {
        Ok(()) => reader.root,
        Err(problem) => {
            problems.add(*problem);
            None
        }
    }
}

/// Returns the byte at which each character begins, and the end; empty where every character is a byte.
fn byte_offsets(text: &str) -> Vec<usize> {
    match text.is_ascii() {
        true => Vec::new(),
        false => text.char_indices().map(|(offset, _)| offset).chain([text.len()]).collect(),
    }
}

/// A list or mapping that is still being read.
enum OpenCollection {
    List { start: usize, items: Vec<YamlNode> },
    Map { start: usize, entries: Vec<(Key, YamlNode)>, key: Option<Key> },
}

struct YamlReader<'a> {
    source: &'a PolicyText,
    bytes: Vec<usize>,
    open: Vec<OpenCollection>,
    root: Option<YamlNode>,
    values: usize,
    problems: &'a mut Problems,
}

impl YamlReader<'_> {
    fn read_events(&mut self, text: &str) -> Result<(), Box<Problem>> {
        for event in Parser::new_from_str(text) {
            // The parser repeats an error for ever, so the first one ends it.
            let (event, span) = event
                .map_err(|error| Box::new(syntax_problem::describe_scan_error(self.source, &error, &self.bytes)))?;
            let span = self.byte_range(span);
            self.handle_event(event, span)?;
        }
        Ok(())
    }

    /// Returns the bytes of the whole text that the parser means.
    fn byte_range(&self, span: Span) -> Range<usize> {
        let byte = |index: usize| {
            self.source.file_offset(syntax_problem::byte_offset(&self.bytes, index, self.source.body().len()))
        };
        byte(span.start.index())..byte(span.end.index())
    }

    fn handle_event(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), Box<Problem>> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) if self.root.is_some() => {
                let problem = self.source.problem(span, "yaml.documents", "a second document begins here");
                return Err(Box::new(problem.with_hint("write one policy a file, without `---`")));
            }
            Event::DocumentStart(_) => {}
            Event::Alias(_) => {
                self.problems.add(syntax_problem::alias_problem(self.source, span.clone()));
                self.place_node(YamlNode { span, content: Content::Bad })?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let refused = self.refuse_anchor_or_tag(anchor, tag.is_some(), &span);
                let text = text.into_owned();
                let content = if refused { Content::Bad } else { Content::Scalar { text, style } };
                self.place_node(YamlNode { span, content })?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_anchor_or_tag(anchor, tag.is_some(), &span);
                self.open_collection(OpenCollection::List { start: span.start, items: Vec::new() }, span)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_anchor_or_tag(anchor, tag.is_some(), &span);
                self.open_collection(OpenCollection::Map { start: span.start, entries: Vec::new(), key: None }, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(OpenCollection::List { start, items }) => {
                    self.place_node(YamlNode { span: start..span.end, content: Content::List(items) })?;
                }
                Some(OpenCollection::Map { start, entries, .. }) => {
                    let entries = self.drop_duplicate_keys(entries);
                    self.place_node(YamlNode { span: start..span.end, content: Content::Map(entries) })?;
                }
                None => {}
            },
        }
        Ok(())
    }

    /// Reports an anchor or a tag; true if there was one.
    fn refuse_anchor_or_tag(&mut self, anchor: usize, tagged: bool, span: &Range<usize>) -> bool {
        let refused = anchor != 0 || tagged;
        if refused {
            self.problems.add(syntax_problem::sign_problem(self.source, span.clone(), tagged));
        }
        refused
    }

    fn open_collection(&mut self, frame: OpenCollection, span: Range<usize>) -> Result<(), Box<Problem>> {
        if self.open.len() >= MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            let problem = self.source.problem(span, "yaml.too-deep", message);
            return Err(Box::new(problem.with_hint("move the inner values into a table or a fact of their own")));
        }
        self.open.push(frame);
        Ok(())
    }

    /// Adds a value to the innermost open collection.
    fn place_node(&mut self, node: YamlNode) -> Result<(), Box<Problem>> {
        self.values += 1;
        if self.values > MAX_VALUES {
            let message = format!("policy has more than {MAX_VALUES} values");
            let problem = self.source.problem(node.span, "yaml.too-large", message);
            return Err(Box::new(problem.with_hint("split it, and list the parts under `uses:`")));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenCollection::List { items, .. }) => items.push(node),
            Some(OpenCollection::Map { entries, key, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => match node.content {
                    Content::Scalar { text, .. } => *key = Some(Key { text, span: node.span }),
                    _ => {
                        // It has no name, so its value cannot be checked.
                        let problem = self.source.problem(node.head_span(), "yaml.key", "a key must be a text");
                        self.problems.add(problem.with_hint("put it in quotes if it begins with `{`, `[` or `*`"));
                        *key = Some(Key { text: String::new(), span: node.span });
                    }
                },
            },
        }
        Ok(())
    }

    /// Reports duplicate keys and drops all but the first.
    fn drop_duplicate_keys(&mut self, entries: Vec<(Key, YamlNode)>) -> Vec<(Key, YamlNode)> {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut kept = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            if key.text.is_empty() && matches!(node.content, Content::Bad) {
                continue;
            }
            match seen.get(&key.text) {
                Some(line) => {
                    if !self.problems.is_full(ProblemLevel::Error) {
                        let message = format!("duplicate key `{}`", key.text);
                        let problem = self.source.problem(key.span, "yaml.duplicate-key", message);
                        self.problems
                            .add(problem.with_hint(format!("the first one is in line {line}; keep one of them")));
                    }
                }
                None => {
                    seen.insert(key.text.clone(), self.source.line_number(key.span.start));
                    kept.push((key, node));
                }
            }
        }
        kept
    }
}
