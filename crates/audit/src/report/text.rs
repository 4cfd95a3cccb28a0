//! A report for a terminal, in the manner of a compiler's diagnostics.
//!
//! A finding says what is broken and where, shows the events that prove it with their numbers in the margin, and closes
//! with what was owed, what would have been right, and where the property comes from. Findings of one event that differ
//! only in their values are told once. Color repeats what the words say.

use std::io::{self, BufWriter, Write};

use super::totals::{groups, tallies};
use super::words::{binding, event, grouped, is_deciding, moment, place, testimony, visible};
use super::{Report, SessionReport, words};
use lictor_decode::Fault;
use lictor_event::order::Gap;
use lictor_event::write_time;
use lictor_judge::finding::{Finding, WitnessEvent};
use lictor_policy::Severity;

/// How a report looks on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Whether to use colors.
    pub colour: bool,
    /// How many characters fit a line; sentences are broken to fit.
    pub width: usize,
}

/// No colors, a hundred characters.
impl Default for TerminalStyle {
    fn default() -> TerminalStyle {
        TerminalStyle { colour: false, width: 100 }
    }
}

/// Writes a report as text.
pub fn write(report: &Report, style: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { out: BufWriter::new(out), style };
    for group in groups(&report.findings) {
        page.findings(&group)?;
    }
    for fault in &report.faults {
        page.fault(fault)?;
    }
    for (session, gap) in report.gaps() {
        page.gap(session, gap)?;
    }
    if !report.faults.is_empty() || report.gaps().next().is_some() {
        page.line("")?;
    }
    page.summary(report)?;
    page.out.flush()
}

/// The text as it is written.
struct Page<'a> {
    out: BufWriter<&'a mut dyn Write>,
    style: TerminalStyle,
}

const BLUE: &str = "1;34";
const BOLD: &str = "1";
const DIM: &str = "2";
const YELLOW: &str = "1;33";
const GREEN: &str = "32";
const RED: &str = "31";

impl Page<'_> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style.colour && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.into(),
        }
    }

    /// Findings of one event that differ only in their values.
    fn findings(&mut self, group: &[&Finding]) -> io::Result<()> {
        let Some((first, others)) = group.split_first() else { return Ok(()) };
        let property = &first.property;
        let (word, color) = match first.suppressed {
            Some(_) => ("suppressed", DIM),
            None => ("violation", color_of(property.severity)),
        };
        let label = format!("{word}[{}]", visible(&property.id));
        let says = self.wrapped(&visible(&property.says), label.chars().count() + 2, 2);
        let head = format!("{}{}", self.paint(color, &label), self.paint(BOLD, &format!(": {says}")));
        self.line(&head)?;

        let margin = first.witness.iter().map(|proof| proof.step).max().unwrap_or(0).to_string().len();
        let arrow = self.paint(BLUE, &format!("{:margin$}-->", ""));
        let source = place(&first.source.file, first.source.line);
        self.line(&format!("{arrow} {source} (session {}, {})", visible(&first.session), moment(first)))?;
        if first.suppressed.is_none() {
            self.witness(first, margin)?;
        }
        self.notes(first, others, margin)?;
        self.line("")
    }

    fn witness(&mut self, finding: &Finding, margin: usize) -> io::Result<()> {
        let bar = self.paint(BLUE, &format!("{:margin$} |", ""));
        if finding.witness.is_empty() {
            return Ok(());
        }
        self.line(&bar)?;
        let mut last: Option<&WitnessEvent> = None;
        for proof in &finding.witness {
            if last.is_some_and(|last| last.session != proof.session || proof.step > last.step + 1) {
                let gap = self.paint(BLUE, "...");
                self.line(&gap)?;
            }
            last = Some(proof);
            self.proof(finding, proof, margin, &bar)?;
        }
        self.line(&bar)
    }

    fn proof(&mut self, finding: &Finding, proof: &WitnessEvent, margin: usize, bar: &str) -> io::Result<()> {
        let number = self.paint(BLUE, &format!("{:>margin$} |", proof.step));
        let event = event(proof.kind.name(), proof.tool.as_deref());
        let mut where_and_when: Vec<String> =
            proof.session.iter().map(|session| format!("session {}", visible(session))).collect();
        match proof.source.file == finding.source.file {
            true if proof.source == finding.source => {}
            true => where_and_when.push(format!("line {}", proof.source.line)),
            false => where_and_when.push(place(&proof.source.file, proof.source.line)),
        }
        where_and_when.extend(proof.time.map(write_time));
        let aside = match where_and_when.is_empty() {
            true => String::new(),
            false => self.paint(DIM, &format!("  ({})", where_and_when.join(", "))),
        };
        self.line(&format!("{number} {event}{aside}"))?;

        let (mark, color) = match is_deciding(finding, proof) {
            true => ("^", color_of(finding.property.severity)),
            false => ("-", BLUE),
        };
        let length = event.chars().count();
        let mut underline = self.paint(color, &mark.repeat(length));
        for statement in testimony(proof) {
            let statement = self.statement(&statement);
            self.line(&format!("{bar} {underline} {statement}"))?;
            underline = " ".repeat(length);
        }
        if !underline.trim().is_empty() {
            self.line(&format!("{bar} {underline}"))?;
        }
        Ok(())
    }

    fn statement(&self, statement: &str) -> String {
        match statement.split_once(": ") {
            Some(("holds", fact)) => format!("{} {fact}", self.paint(GREEN, "holds:")),
            Some(("absent", fact)) => format!("{} {fact}", self.paint(RED, "absent:")),
            _ => statement.into(),
        }
    }

    fn notes(&mut self, finding: &Finding, others: &[&Finding], margin: usize) -> io::Result<()> {
        let property = &finding.property;
        if let Some(reason) = &finding.suppressed {
            self.note("reason", &visible(reason), margin)?;
        }
        self.note("severity", property.severity.name(), margin)?;
        self.note("for", &binding(finding), margin)?;
        for other in others {
            self.note("also for", &binding(other), margin)?;
        }
        if finding.suppressed.is_some() {
            return Ok(());
        }
        self.note("owed", &visible(finding.owed.as_deref().unwrap_or_default()), margin)?;
        self.note("help", &visible(property.remedy.as_deref().unwrap_or_default()), margin)?;
        self.note("source", &visible(property.source.as_deref().unwrap_or_default()), margin)
    }

    /// A note at the end of a finding; nothing if there is nothing to say.
    fn note(&mut self, name: &str, text: &str, margin: usize) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let indent = margin + 3 + name.chars().count() + 2;
        let text = self.wrapped(text, indent, indent);
        let sign = self.paint(BLUE, &format!("{:margin$} =", ""));
        let name = self.paint(BOLD, &format!("{name}:"));
        self.line(&format!("{sign} {name} {text}"))
    }

    fn fault(&mut self, fault: &Fault) -> io::Result<()> {
        let word = self.paint(YELLOW, "warning");
        let mut source = place(&fault.file, fault.line);
        if let Some(column) = fault.column {
            source = format!("{source}:{column}");
        }
        self.line(&format!("{word}: {source}: {} [{}]", visible(&fault.message), fault.code))
    }

    fn gap(&mut self, session: &SessionReport, gap: &Gap) -> io::Result<()> {
        let (word, source) = (self.paint(YELLOW, "warning"), place(&gap.source.file, gap.source.line));
        self.line(&format!("{word}: {source}: {} [{}]", words::gap(session, gap), words::gap_code(gap)))
    }

    fn summary(&mut self, report: &Report) -> io::Result<()> {
        let totals = report.totals();
        let head = self.paint(BOLD, &format!("policy {}: {}", visible(&report.policy), totals.result()));
        self.line(&head)?;
        self.line("")?;
        for (name, text) in totals.figures() {
            self.line(&format!("  {name:<12}{text}"))?;
        }

        let mut broken: Vec<_> = tallies(report).into_iter().filter(|tally| tally.findings > 0).collect();
        if broken.is_empty() {
            return Ok(());
        }
        // The sort is stable: equals stay in the order of the policy.
        broken.sort_by_key(|tally| std::cmp::Reverse((tally.property.severity, tally.findings)));
        let name_of = |id: &str| visible(id).into_owned();
        let width = broken.iter().map(|tally| name_of(&tally.property.id).chars().count()).max().unwrap_or(0).max(17);
        self.line("")?;
        let head = format!("  {:<width$}  {:<8}  findings  sessions", "broken properties", "severity");
        let head = self.paint(BOLD, &head);
        self.line(&head)?;
        for tally in broken {
            let (id, level) = (name_of(&tally.property.id), tally.property.severity.name());
            let level = self.paint(color_of(tally.property.severity), &format!("{level:<8}"));
            let (findings, sessions) = (grouped(tally.findings as u64), grouped(tally.sessions as u64));
            self.line(&format!("  {id:<width$}  {level}  {findings:>8}  {sessions:>8}"))?;
        }
        Ok(())
    }

    /// A text broken between words so that no line is longer than the page, where words allow.
    fn wrapped(&self, text: &str, first_indent: usize, indent: usize) -> String {
        let mut lines = String::with_capacity(text.len() + 16);
        let mut column = first_indent;
        for (place, word) in text.split(' ').enumerate() {
            let length = word.chars().count();
            if place > 0 && column + 1 + length > self.style.width {
                lines.push('\n');
                lines.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else if place > 0 {
                lines.push(' ');
                column += 1;
            }
            lines.push_str(word);
            column += length;
        }
        lines
    }
}

fn color_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "1;35",
        Severity::High => "1;31",
        Severity::Medium => "1;33",
        Severity::Low => "1;36",
        Severity::Info => "1;32",
    }
}
