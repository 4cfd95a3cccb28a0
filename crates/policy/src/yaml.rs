//! YAML as policies use it, with the place of everything.
//!
//! Policies come from colleagues and from the internet. A key that stands twice is an error; anchors, aliases and tags
//! are refused (a text that begins with `*`, `&` or `!` by accident is far more common than somebody who means them, and
//! without aliases a small file cannot become a large value); size, depth and number of values are bounded.

mod faults;
mod scalar;

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::source::PolicyText;
use super::{Place, Problem, ProblemLevel, Problems};
use lictor_json::{Json, Object};

/// The largest policy, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting.
const MAX_DEPTH: usize = 32;

/// The most values.
const MAX_VALUES: usize = 50_000;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The bytes of the whole text that it takes.
    pub(crate) span: Range<usize>,
    pub(crate) content: Content,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar {
        text: String,
        style: ScalarStyle,
    },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
    /// Something that was complained about already.
    Bad,
}

/// A key and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

impl Node {
    /// The value as JSON. What JSON cannot hold becomes its text.
    pub(crate) fn json(&self) -> Json {
        match &self.content {
            Content::Scalar { text, style: ScalarStyle::Plain } => scalar::resolve(text),
            Content::Scalar { text, .. } => Json::from(text.as_str()),
            Content::List(items) => Json::Array(items.iter().map(Node::json).collect()),
            Content::Map(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.text.as_str().into(), value.json())).collect::<Object>(),
            ),
            Content::Bad => Json::Null,
        }
    }

    /// What it is, in words: `a list`, `the number 5`.
    pub(crate) fn described(&self) -> String {
        match self.json() {
            Json::Null => "nothing".into(),
            Json::Bool(value) => format!("the truth value `{value}`"),
            Json::Number(number) => format!("the number {number}"),
            Json::String(_) => "a text".into(),
            Json::Array(_) => "a list".into(),
            Json::Object(_) => "a mapping".into(),
        }
    }

    /// Where a problem with all of it is shown: a mapping by its first key.
    pub(crate) fn head(&self) -> Range<usize> {
        match &self.content {
            Content::Map(entries) => entries.first().map_or(self.span.clone(), |(key, _)| key.span.clone()),
            Content::List(items) => items.first().map_or(self.span.clone(), Node::head),
            _ => self.span.clone(),
        }
    }

    /// The place where it begins.
    pub(crate) fn place(&self, source: &PolicyText) -> Place {
        source.place(self.head().start)
    }

    /// A part of a scalar's text, given in bytes, as a part of the file; the whole scalar if that cannot be told.
    pub(crate) fn inside(&self, source: &PolicyText, part: Range<usize>) -> Option<Range<usize>> {
        match &self.content {
            Content::Scalar { text, style } => scalar::locate(source.slice(self.span.clone()), text, *style, part)
                .map(|found| self.span.start + found.start..self.span.start + found.end),
            _ => None,
        }
    }
}

/// Reads a text; none if nothing can be told about its content.
pub(crate) fn read(source: &PolicyText, problems: &mut Problems) -> Option<Node> {
    let text = source.body();
    if text.len() > MAX_BYTES {
        let start = source.outer(0);
        let message = format!("the policy is larger than {} KiB", MAX_BYTES >> 10);
        let problem = source.problem(start..start, "yaml.too-large", message);
        problems.add(problem.help("split it, and list the parts under `uses:`"));
        return None;
    }
    let mut reader = Reader { source, bytes: byte_offsets(text), open: Vec::new(), root: None, values: 0, problems };
    match reader.run(text) {
        Ok(()) => reader.root,
        Err(problem) => {
            problems.add(*problem);
            None
        }
    }
}

/// The byte at which each character begins, and the end; empty where every character is a byte.
fn byte_offsets(text: &str) -> Vec<usize> {
    match text.is_ascii() {
        true => Vec::new(),
        false => text.char_indices().map(|(offset, _)| offset).chain([text.len()]).collect(),
    }
}

/// A value that is not complete yet.
enum Frame {
    List { start: usize, items: Vec<Node> },
    Map { start: usize, entries: Vec<(Key, Node)>, key: Option<Key> },
}

struct Reader<'a> {
    source: &'a PolicyText,
    bytes: Vec<usize>,
    open: Vec<Frame>,
    root: Option<Node>,
    values: usize,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn run(&mut self, text: &str) -> Result<(), Box<Problem>> {
        for event in Parser::new_from_str(text) {
            // The parser repeats an error for ever, so the first one ends it.
            let (event, span) = event.map_err(|error| Box::new(faults::describe(self.source, &error, &self.bytes)))?;
            let span = self.span(span);
            self.take(event, span)?;
        }
        Ok(())
    }

    /// The bytes of the whole text that the parser means.
    fn span(&self, span: Span) -> Range<usize> {
        let byte = |index: usize| self.source.outer(faults::byte(&self.bytes, index, self.source.body().len()));
        byte(span.start.index())..byte(span.end.index())
    }

    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), Box<Problem>> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) if self.root.is_some() => {
                let problem = self.source.problem(span, "yaml.documents", "a second document begins here");
                return Err(Box::new(problem.help("write one policy a file, without `---`")));
            }
            Event::DocumentStart(_) => {}
            Event::Alias(_) => {
                self.problems.add(faults::alias(self.source, span.clone()));
                self.put(Node { span, content: Content::Bad })?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let refused = self.refuse(anchor, tag.is_some(), &span);
                let text = text.into_owned();
                let content = if refused { Content::Bad } else { Content::Scalar { text, style } };
                self.put(Node { span, content })?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse(anchor, tag.is_some(), &span);
                self.push(Frame::List { start: span.start, items: Vec::new() }, span)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse(anchor, tag.is_some(), &span);
                self.push(Frame::Map { start: span.start, entries: Vec::new(), key: None }, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Frame::List { start, items }) => {
                    self.put(Node { span: start..span.end, content: Content::List(items) })?;
                }
                Some(Frame::Map { start, entries, .. }) => {
                    let entries = self.without_repeats(entries);
                    self.put(Node { span: start..span.end, content: Content::Map(entries) })?;
                }
                None => {}
            },
        }
        Ok(())
    }

    /// Complains about an anchor or a tag.
    fn refuse(&mut self, anchor: usize, tagged: bool, span: &Range<usize>) -> bool {
        let refused = anchor != 0 || tagged;
        if refused {
            self.problems.add(faults::sign(self.source, span.clone(), tagged));
        }
        refused
    }

    fn push(&mut self, frame: Frame, span: Range<usize>) -> Result<(), Box<Problem>> {
        if self.open.len() >= MAX_DEPTH {
            let problem = self.source.problem(span, "yaml.too-deep", "this is nested too deeply");
            return Err(Box::new(problem.help(format!("no policy needs more than {MAX_DEPTH} levels"))));
        }
        self.open.push(frame);
        Ok(())
    }

    /// Puts a value where it belongs.
    fn put(&mut self, node: Node) -> Result<(), Box<Problem>> {
        self.values += 1;
        if self.values > MAX_VALUES {
            let problem = self.source.problem(node.span, "yaml.too-large", "there are too many values");
            return Err(Box::new(problem.help(format!("a policy may have {MAX_VALUES}; split it, and use `uses:`"))));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, key, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => match node.content {
                    Content::Scalar { text, .. } => *key = Some(Key { text, span: node.span }),
                    _ => {
                        // It has no name, so what belongs to it cannot be judged.
                        let problem = self.source.problem(node.head(), "yaml.key", "a key must be a text");
                        self.problems.add(problem.help("put it in quotes if it begins with `{`, `[` or `*`"));
                        *key = Some(Key { text: String::new(), span: node.span });
                    }
                },
            },
        }
        Ok(())
    }

    /// Complains about keys that stand twice; the first one counts.
    fn without_repeats(&mut self, entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut kept = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            if key.text.is_empty() && matches!(node.content, Content::Bad) {
                continue;
            }
            match seen.get(&key.text) {
                Some(line) => {
                    if !self.problems.is_full(ProblemLevel::Error) {
                        let message = format!("the key `{}` stands here for the second time", key.text);
                        let problem = self.source.problem(key.span, "yaml.duplicate-key", message);
                        self.problems.add(problem.help(format!("the first one is in line {line}; keep one of them")));
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
