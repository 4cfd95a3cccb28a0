//! Reading a page: headings, paragraphs, fenced blocks.

use std::ops::Range;

use super::remark::{self, Remark};
use super::{ExampleLine, Page, Trace};
use crate::{PolicyText, Problems};
use lictor_json::parse_str;

/// A fenced block.
struct FencedBlock {
    /// The text after the opening fence.
    info: String,
    /// The opening fence.
    fence: Range<usize>,
    /// The text inside.
    body: Range<usize>,
}

/// A part of a page.
enum PagePart {
    Heading {
        level: usize,
        title: String,
        span: Range<usize>,
    },
    Block(FencedBlock),
    /// A line of text.
    Text(Range<usize>),
}

/// Reads a page and reports its problems; its policy is not checked here.
pub fn read_page(source: &PolicyText, problems: &mut Problems) -> Page {
    let mut reader = PageReader { source, problems, page: empty_page(), title: None, section: String::new() };
    let parts = split_parts(source.body());
    parts.iter().for_each(|part| reader.read_part(part));
    let mut page = reader.page;
    page.about = first_paragraph(source.body(), &parts).into();
    page.prose = collect_prose(source.body(), &parts).into();
    if page.id.is_empty() {
        let problem = source.problem(0..0, "page.heading", "the page has no heading");
        problems.add(problem.with_hint("begin with `# name`"));
    }
    page
}

fn empty_page() -> Page {
    Page {
        id: Default::default(),
        about: Default::default(),
        prose: Default::default(),
        policy: None,
        setup: None,
        traces: Vec::new(),
    }
}

struct PageReader<'a> {
    source: &'a PolicyText,
    problems: &'a mut Problems,
    page: Page,
    /// The `###` heading of the trace that comes next.
    title: Option<(String, Range<usize>)>,
    section: String,
}

impl PageReader<'_> {
    fn report_error(&mut self, span: Range<usize>, code: &'static str, message: impl Into<String>, hint: &str) {
        self.problems.add(self.source.problem(span, code, message).with_hint(hint));
    }

    fn read_part(&mut self, part: &PagePart) {
        match part {
            PagePart::Heading { level: 1, title, .. } if self.page.id.is_empty() => {
                self.page.id = title.as_str().into()
            }
            PagePart::Heading { level: 2, title, .. } => {
                self.section.clone_from(title);
                self.title = None;
            }
            PagePart::Heading { level: 3, title, span } => self.title = Some((title.clone(), span.clone())),
            PagePart::Heading { .. } | PagePart::Text(_) => {}
            PagePart::Block(block) => self.read_block(block),
        }
    }

    fn read_block(&mut self, block: &FencedBlock) {
        let words: Vec<&str> = block.info.split_whitespace().collect();
        match words[..] {
            ["yaml", "policy"] => self.read_fragment(block, "policy"),
            ["yaml", "setup"] => self.read_fragment(block, "setup"),
            ["jsonl"] => self.read_trace(block),
            ["yaml", word] => {
                let message = format!("a block of `yaml {word}` means nothing here");
                self.report_error(block.fence.clone(), "page.block", message, "write `yaml policy` or `yaml setup`");
            }
            _ => {}
        }
    }

    fn read_fragment(&mut self, block: &FencedBlock, word: &str) {
        let part = self.source.with_body(block.body.clone());
        let slot = if word == "policy" { &mut self.page.policy } else { &mut self.page.setup };
        match slot {
            None => *slot = Some(part),
            Some(_) => {
                let message = format!("there is a second block of `yaml {word}`");
                self.report_error(block.fence.clone(), "page.block", message, "put everything into one");
            }
        }
    }

    fn read_trace(&mut self, block: &FencedBlock) {
        let Some((title, span)) = self.title.take() else {
            let hint = "write a line `### what it shows` above it";
            return self.report_error(block.fence.clone(), "page.trace", "the trace has no title", hint);
        };
        let place = self.source.place(span.start);
        let mut trace = Trace { title: title.into(), place, lines: Vec::new(), later: Vec::new(), end: Vec::new() };
        let text = self.source.body();
        for span in line_ranges(text, block.body.clone()) {
            let line = text.get(span.clone()).unwrap_or_default();
            if !line.trim().is_empty() {
                self.read_line(line, span, &mut trace);
            }
        }
        if trace.lines.is_empty() {
            self.report_error(
                block.fence.clone(),
                "page.trace",
                "the trace has no events",
                "write one event a line, as JSON",
            );
        }
        self.page.traces.push(trace);
    }

    /// Reads an event with its remark, or a remark about what follows.
    fn read_line(&mut self, line: &str, span: Range<usize>, trace: &mut Trace) {
        let (event, remark) = remark::split_remark(line);
        let at = span.start + event.len()..span.end;
        let remarks = match remark::parse_remarks(remark) {
            Ok(remarks) => remarks,
            Err(message) => {
                let hint = "such as `# violated: gdpr/data-minimisation`, `# violated: ID p=\"marketing\"`, \
                            `# end: violated: ID`, `# after 31d: violated: ID`; without `: ID` only on a page that \
                            defines the property of its heading";
                return self.report_error(at, "page.remark", message, hint);
            }
        };
        if event.trim().is_empty() {
            for remark in remarks {
                match remark {
                    Remark::Here(_) => {
                        let hint = "write it after the event, or `# end: violated: ID` for the end";
                        self.report_error(at.clone(), "page.remark", "there is no event in this line", hint);
                    }
                    Remark::End(expected) => trace.end.extend(expected),
                    Remark::After(span, expected) => trace.later.push((span, expected)),
                }
            }
            return;
        }
        if !trace.later.is_empty() || !trace.end.is_empty() {
            self.report_error(span, "page.trace", "an event after the end", "`# end` and `# after` come last");
            return;
        }
        let mut expected = Vec::new();
        for remark in remarks {
            match remark {
                Remark::Here(list) => expected.extend(list),
                Remark::End(_) | Remark::After(..) => {
                    let hint = "write it in a line of its own, after the last event";
                    self.report_error(at.clone(), "page.remark", "this says what comes after the event", hint);
                }
            }
        }
        if let Err(error) = parse_str(event.trim()) {
            let indent = event.len() - event.trim_start().len();
            let start = (span.start + indent + error.offset).min(span.end);
            self.report_error(start..start + 1, "page.json", error.message, "an event is one line of JSON");
        }
        let line = self.source.place(span.start).line;
        trace.lines.push(ExampleLine { line, text: event.trim().into(), expected });
    }
}

/// Returns the lines of a part of a text, without their breaks.
fn line_ranges(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
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
fn split_parts(text: &str) -> Vec<PagePart> {
    let mut parts = Vec::new();
    let mut open: Option<(usize, FencedBlock)> = None;
    for span in line_ranges(text, 0..text.len()) {
        let line = text.get(span.clone()).unwrap_or_default();
        let ticks = line.len() - line.trim_start_matches('`').len();
        match open.take() {
            Some((fence, mut block)) => match ticks >= fence && line.trim_start_matches('`').trim().is_empty() {
                true => parts.push(PagePart::Block(block)),
                false => {
                    // With its line break, so that the text inside is as it was written.
                    block.body.end = (span.end + 1).min(text.len());
                    open = Some((fence, block));
                }
            },
            None if ticks >= 3 => {
                let info = line.trim_start_matches('`').trim().to_owned();
                let start = (span.end + 1).min(text.len());
                open = Some((ticks, FencedBlock { info, fence: span, body: start..start }));
            }
            None => {
                let level = line.len() - line.trim_start_matches('#').len();
                let title = line.trim_start_matches('#');
                parts.push(match title.starts_with(' ') && level > 0 {
                    true => PagePart::Heading { level, title: title.trim().to_owned(), span },
                    false => PagePart::Text(span),
                });
            }
        }
    }
    // A block that is not closed ends with the page, as in Markdown.
    parts.extend(open.map(|(_, block)| PagePart::Block(block)));
    parts
}

/// Returns the first paragraph, on one line.
fn first_paragraph(text: &str, parts: &[PagePart]) -> String {
    let lines = parts.iter().map(|part| match part {
        PagePart::Text(span) => text.get(span.clone()).unwrap_or_default().trim(),
        _ => "",
    });
    let words: Vec<&str> = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    words.join(" ")
}

/// Returns the page without the policy and example sections and without the blocks that programs read.
fn collect_prose(text: &str, parts: &[PagePart]) -> String {
    let mut prose = String::new();
    let mut skipping = false;
    for part in parts {
        if let PagePart::Heading { level, title, .. } = part {
            skipping = match level {
                1 | 2 => matches!(title.as_str(), "Policy" | "Examples"),
                _ => skipping,
            };
        }
        let span = match part {
            PagePart::Heading { span, .. } | PagePart::Text(span) => span.clone(),
            PagePart::Block(block) if is_program_block(&block.info) => continue,
            PagePart::Block(block) => block.fence.start..closing_fence_end(text, block.body.end),
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

fn is_program_block(info: &str) -> bool {
    matches!(info, "jsonl" | "yaml policy" | "yaml setup")
}

/// Returns the end of the fence that closes a block.
fn closing_fence_end(text: &str, body_end: usize) -> usize {
    let rest = text.get(body_end..).unwrap_or_default();
    body_end + rest.lines().next().map_or(0, str::len)
}
