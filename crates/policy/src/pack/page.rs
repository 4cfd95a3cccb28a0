//! Reading a page: headings, paragraphs, fenced blocks.

use std::ops::Range;

use super::remark::{self, Remark};
use super::{ExampleLine, Page, Trace};
use crate::{PolicyText, Problems};
use lictor_json::parse_str;

/// A fenced block.
struct Block {
    /// What stands behind the opening fence.
    info: String,
    /// The opening fence.
    fence: Range<usize>,
    /// What is inside.
    body: Range<usize>,
}

/// A part of a page.
enum Part {
    Heading {
        level: usize,
        title: String,
        span: Range<usize>,
    },
    Block(Block),
    /// A line of text.
    Text(Range<usize>),
}

/// Reads a page and notes what is wrong with it; what its policy says is not judged here.
pub fn read_page(source: &PolicyText, problems: &mut Problems) -> Page {
    let mut reader = Reader { source, problems, page: empty(), title: None, section: String::new() };
    let parts = parts(source.body());
    parts.iter().for_each(|part| reader.take(part));
    let mut page = reader.page;
    page.about = paragraph(source.body(), &parts).into();
    page.prose = prose(source.body(), &parts).into();
    if page.id.is_empty() {
        let problem = source.problem(0..0, "page.heading", "the page has no heading");
        problems.add(problem.help("begin with `# name`"));
    }
    page
}

fn empty() -> Page {
    Page {
        id: Default::default(),
        about: Default::default(),
        prose: Default::default(),
        policy: None,
        setup: None,
        traces: Vec::new(),
    }
}

struct Reader<'a> {
    source: &'a PolicyText,
    problems: &'a mut Problems,
    page: Page,
    /// The `###` heading of the trace that comes next.
    title: Option<(String, Range<usize>)>,
    section: String,
}

impl Reader<'_> {
    fn complain(&mut self, span: Range<usize>, code: &'static str, message: impl Into<String>, hint: &str) {
        self.problems.add(self.source.problem(span, code, message).help(hint));
    }

    fn take(&mut self, part: &Part) {
        match part {
            Part::Heading { level: 1, title, .. } if self.page.id.is_empty() => self.page.id = title.as_str().into(),
            Part::Heading { level: 2, title, .. } => {
                self.section.clone_from(title);
                self.title = None;
            }
            Part::Heading { level: 3, title, span } => self.title = Some((title.clone(), span.clone())),
            Part::Heading { .. } | Part::Text(_) => {}
            Part::Block(block) => self.block(block),
        }
    }

    fn block(&mut self, block: &Block) {
        let words: Vec<&str> = block.info.split_whitespace().collect();
        match words[..] {
            ["yaml", "policy"] => self.fragment(block, "policy"),
            ["yaml", "setup"] => self.fragment(block, "setup"),
            ["jsonl"] => self.trace(block),
            ["yaml", word] => {
                let message = format!("a block of `yaml {word}` means nothing here");
                self.complain(block.fence.clone(), "page.block", message, "write `yaml policy` or `yaml setup`");
            }
            _ => {}
        }
    }

    fn fragment(&mut self, block: &Block, word: &str) {
        let part = self.source.part(block.body.clone());
        let slot = if word == "policy" { &mut self.page.policy } else { &mut self.page.setup };
        match slot {
            None => *slot = Some(part),
            Some(_) => {
                let message = format!("there is a second block of `yaml {word}`");
                self.complain(block.fence.clone(), "page.block", message, "put everything into one");
            }
        }
    }

    fn trace(&mut self, block: &Block) {
        let Some((title, span)) = self.title.take() else {
            let hint = "write a line `### what it shows` above it";
            return self.complain(block.fence.clone(), "page.trace", "the trace has no title", hint);
        };
        let place = self.source.place(span.start);
        let mut trace = Trace { title: title.into(), place, lines: Vec::new(), later: Vec::new(), end: Vec::new() };
        let text = self.source.body();
        for span in lines(text, block.body.clone()) {
            let line = text.get(span.clone()).unwrap_or_default();
            if !line.trim().is_empty() {
                self.line(line, span, &mut trace);
            }
        }
        if trace.lines.is_empty() {
            self.complain(
                block.fence.clone(),
                "page.trace",
                "the trace has no events",
                "write one event a line, as JSON",
            );
        }
        self.page.traces.push(trace);
    }

    /// An event with its remark, or a remark about what follows.
    fn line(&mut self, line: &str, span: Range<usize>, trace: &mut Trace) {
        let (event, remark) = remark::split(line);
        let remarks = remark::read(remark);
        let at = span.start + event.len()..span.end;
        let told = match remarks {
            Ok(told) => told,
            Err(message) => {
                let hint = "such as `# violated`, `# violated p=\"marketing\"`, `# violated: gdpr/data-minimisation`, \
                            `# end: violated`, `# after 31d: violated`";
                return self.complain(at, "page.remark", message, hint);
            }
        };
        if event.trim().is_empty() {
            for remark in told {
                match remark {
                    Remark::Here(_) => {
                        let hint = "write it behind the event, or `# end: violated` for the end";
                        self.complain(at.clone(), "page.remark", "there is no event in this line", hint);
                    }
                    Remark::End(expected) => trace.end.extend(expected),
                    Remark::After(span, expected) => trace.later.push((span, expected)),
                }
            }
            return;
        }
        if !trace.later.is_empty() || !trace.end.is_empty() {
            self.complain(span, "page.trace", "an event after the end", "`# end` and `# after` come last");
            return;
        }
        let mut expected = Vec::new();
        for remark in told {
            match remark {
                Remark::Here(list) => expected.extend(list),
                Remark::End(_) | Remark::After(..) => {
                    let hint = "write it in a line of its own, after the last event";
                    self.complain(at.clone(), "page.remark", "this says what comes after the event", hint);
                }
            }
        }
        if let Err(error) = parse_str(event.trim()) {
            let indent = event.len() - event.trim_start().len();
            let start = (span.start + indent + error.offset).min(span.end);
            self.complain(start..start + 1, "page.json", error.message, "an event is one line of JSON");
        }
        let line = self.source.place(span.start).line;
        trace.lines.push(ExampleLine { line, text: event.trim().into(), expected });
    }
}

/// The lines of a part of a text, without their breaks.
fn lines(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = part.start;
    for line in text.get(part).unwrap_or_default().split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        lines.push(start..start + bare.len());
        start += line.len();
    }
    lines
}

/// Cuts a page into headings, blocks and lines.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for span in lines(text, 0..text.len()) {
        let line = text.get(span.clone()).unwrap_or_default();
        let ticks = line.len() - line.trim_start_matches('`').len();
        match open.take() {
            Some((fence, mut block)) => match ticks >= fence && line.trim_start_matches('`').trim().is_empty() {
                true => parts.push(Part::Block(block)),
                false => {
                    // With the break behind it, so that the text inside is as it was written.
                    block.body.end = (span.end + 1).min(text.len());
                    open = Some((fence, block));
                }
            },
            None if ticks >= 3 => {
                let info = line.trim_start_matches('`').trim().to_owned();
                let start = (span.end + 1).min(text.len());
                open = Some((ticks, Block { info, fence: span, body: start..start }));
            }
            None => {
                let level = line.len() - line.trim_start_matches('#').len();
                let title = line.trim_start_matches('#');
                parts.push(match title.starts_with(' ') && level > 0 {
                    true => Part::Heading { level, title: title.trim().to_owned(), span },
                    false => Part::Text(span),
                });
            }
        }
    }
    // A block that is not closed ends with the page, as in Markdown.
    parts.extend(open.map(|(_, block)| Part::Block(block)));
    parts
}

/// The first paragraph, on one line.
fn paragraph(text: &str, parts: &[Part]) -> String {
    let lines = parts.iter().map(|part| match part {
        Part::Text(span) => text.get(span.clone()).unwrap_or_default().trim(),
        _ => "",
    });
    let words: Vec<&str> = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    words.join(" ")
}

/// Everything but the sections of policy and examples, and blocks that programs read.
fn prose(text: &str, parts: &[Part]) -> String {
    let mut prose = String::new();
    let mut skipping = false;
    for part in parts {
        if let Part::Heading { level, title, .. } = part {
            skipping = match level {
                1 | 2 => matches!(title.as_str(), "Policy" | "Examples"),
                _ => skipping,
            };
        }
        let span = match part {
            Part::Heading { span, .. } | Part::Text(span) => span.clone(),
            Part::Block(block) if is_read(&block.info) => continue,
            Part::Block(block) => block.fence.start..closing(text, block.body.end),
        };
        if !skipping {
            prose.push_str(text.get(span).unwrap_or_default());
            prose.push('\n');
        }
    }
    // Where a block was taken out, two empty lines meet.
    while prose.contains("\n\n\n") {
        prose = prose.replace("\n\n\n", "\n\n");
    }
    prose.trim().to_owned()
}

fn is_read(info: &str) -> bool {
    matches!(info, "jsonl" | "yaml policy" | "yaml setup")
}

/// The end of the fence that closes a block.
fn closing(text: &str, body_end: usize) -> usize {
    let rest = text.get(body_end..).unwrap_or_default();
    body_end + rest.lines().next().map_or(0, str::len)
}
