//! A report for a terminal, in the manner of a compiler's diagnostics.
//!
//! A finding says what happened, which property that violates and where, shows the events that prove it with their
//! numbers in the margin, and closes with what was owed, what to do instead, and the property's source. Findings that
//! repeat are folded. Color only repeats the words.

use std::io::{self, BufWriter, Write};

use super::fold::{FoldedFindings, fold_findings};
use super::headline::write_headline;
use super::inconclusive::describe_notes;
use super::noise::write_noise;
use super::origin::describe_origin;
use super::totals::tally_properties;
use super::words::{
    describe_event, describe_proof, escape_hidden, format_binding, format_count, format_place, group_digits,
    is_deciding,
};
use super::{Report, SessionReport, words};
use lictor_decode::Fault;
use lictor_event::order::Gap;
use lictor_event::write_time;
use lictor_judge::finding::{Finding, WitnessEvent};
use lictor_policy::Severity;

/// How many faults are shown.
const MAX_FAULTS_SHOWN: usize = 50;

/// How a report looks on a terminal. What is not set keeps its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TerminalStyle {
    colour: bool,
    width: usize,
    max_sessions: Option<usize>,
}

impl TerminalStyle {
    /// Sets whether to use colors; not by default.
    #[must_use]
    pub fn colour(self, colour: bool) -> TerminalStyle {
        TerminalStyle { colour, ..self }
    }

    /// Sets how many characters fit a line, a hundred by default; sentences are broken to fit.
    #[must_use]
    pub fn width(self, width: usize) -> TerminalStyle {
        TerminalStyle { width, ..self }
    }

    /// Sets in how many sessions the findings of a property are shown, five by default. Repeated ones of a session are
    /// then shown once. None shows every finding by itself.
    #[must_use]
    pub fn max_sessions(self, max_sessions: Option<usize>) -> TerminalStyle {
        TerminalStyle { max_sessions, ..self }
    }
}

impl Default for TerminalStyle {
    fn default() -> TerminalStyle {
        TerminalStyle { colour: false, width: 100, max_sessions: Some(5) }
    }
}

/// Writes a report as text.
pub fn write(report: &Report, style: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut report_text = TextReport { out: BufWriter::new(out), style };
    let findings = fold_findings(&report.findings, style.max_sessions);
    for folded in &findings.shown {
        report_text.write_findings(folded)?;
    }
    for (property, count, sessions) in findings.hidden {
        report_text.write_hidden(property, count, sessions)?;
    }
    for fault in report.faults.iter().take(MAX_FAULTS_SHOWN) {
        report_text.write_fault(fault)?;
    }
    if let Some(more @ 1..) = report.faults.len().checked_sub(MAX_FAULTS_SHOWN) {
        let places = format_count(more as u64, "more place");
        report_text.write_line(&format!("warning: {places} could not be read, not shown"))?;
    }
    for (session, gap) in report.gaps() {
        report_text.write_gap(session, gap)?;
    }
    if !report.faults.is_empty() || report.gaps().next().is_some() {
        report_text.write_line("")?;
    }
    report_text.write_summary(report)?;
    if !report.noise.is_empty() {
        write_noise(&report.noise, &mut report_text.out)?;
    }
    report_text.out.flush()
}

/// Writes the summary of a report alone, for a report whose findings are in a file.
pub fn write_summary(report: &Report, style: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut report_text = TextReport { out: BufWriter::new(out), style };
    report_text.write_summary(report)?;
    if !report.noise.is_empty() {
        write_noise(&report.noise, &mut report_text.out)?;
    }
    report_text.out.flush()
}

/// The text as it is written.
struct TextReport<'a> {
    out: BufWriter<&'a mut dyn Write>,
    style: TerminalStyle,
}

const BLUE: &str = "1;34";
const BOLD: &str = "1";
const DIM: &str = "2";
const YELLOW: &str = "1;33";
const GREEN: &str = "32";
const RED: &str = "31";

impl TextReport<'_> {
    fn write_line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style.colour && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.into(),
        }
    }

    /// Writes how many findings of a property are not shown.
    fn write_hidden(&mut self, property: &str, count: usize, sessions: usize) -> io::Result<()> {
        let (findings, sessions) =
            (format_count(count as u64, "more finding"), format_count(sessions as u64, "session"));
        let label = self.paint(BOLD, &format!("violation[{}]", escape_hidden(property)));
        self.write_line(&format!("{label}: {findings} in {sessions} not shown (--all-findings, or another format)"))?;
        self.write_line("")
    }

    /// Writes the findings of one property in one session.
    fn write_findings(&mut self, folded: &FoldedFindings<'_>) -> io::Result<()> {
        let Some((first, others)) = folded.first.split_first() else { return Ok(()) };
        let property = &first.property;
        let (word, color) = match first.suppressed {
            Some(_) => ("suppressed", DIM),
            None => ("violation", severity_color(property.severity)),
        };
        let label = format!("{word}[{}]", escape_hidden(&property.id));
        let headline = write_headline(first);
        let headline = self.wrap(&headline, label.chars().count() + 2, 2);
        let head = format!("{}{}", self.paint(color, &label), self.paint(BOLD, &format!(": {headline}")));
        self.write_line(&head)?;

        let margin = first.witness.iter().map(|proof| proof.step).max().unwrap_or(0).to_string().len();
        let arrow = self.paint(BLUE, &format!("{:margin$}-->", ""));
        let source = format_place(&first.source.file, first.source.line);
        let session = escape_hidden(&first.session);
        self.write_line(&format!("{arrow} {source} (session {session}, step {})", first.step))?;
        if first.suppressed.is_none() {
            self.write_witness(first, margin)?;
        }
        self.write_notes(first, others, margin)?;
        self.write_note("again at", &list_steps(&folded.later_steps), margin)?;
        self.write_line("")
    }

    fn write_witness(&mut self, finding: &Finding, margin: usize) -> io::Result<()> {
        let bar = self.paint(BLUE, &format!("{:margin$} |", ""));
        if finding.witness.is_empty() {
            return Ok(());
        }
        self.write_line(&bar)?;
        let mut last: Option<&WitnessEvent> = None;
        for proof in &finding.witness {
            if last.is_some_and(|last| last.session != proof.session || proof.step > last.step + 1) {
                let gap = self.paint(BLUE, "...");
                self.write_line(&gap)?;
            }
            last = Some(proof);
            self.write_proof(finding, proof, margin, &bar)?;
        }
        self.write_line(&bar)
    }

    fn write_proof(&mut self, finding: &Finding, proof: &WitnessEvent, margin: usize, bar: &str) -> io::Result<()> {
        let number = self.paint(BLUE, &format!("{:>margin$} |", proof.step));
        let event = describe_event(proof.kind.name(), proof.tool.as_deref());
        let mut where_and_when: Vec<String> =
            proof.session.iter().map(|session| format!("session {}", escape_hidden(session))).collect();
        match proof.source.file == finding.source.file {
            true if proof.source == finding.source => {}
            true => where_and_when.push(format!("line {}", proof.source.line)),
            false => where_and_when.push(format_place(&proof.source.file, proof.source.line)),
        }
        where_and_when.extend(proof.time.map(write_time));
        let aside = match where_and_when.is_empty() {
            true => String::new(),
            false => self.paint(DIM, &format!("  ({})", where_and_when.join(", "))),
        };
        self.write_line(&format!("{number} {event}{aside}"))?;

        let (mark, color) = match is_deciding(finding, proof) {
            true => ("^", severity_color(finding.property.severity)),
            false => ("-", BLUE),
        };
        let length = event.chars().count();
        let mut underline = self.paint(color, &mark.repeat(length));
        for statement in describe_proof(proof) {
            let statement = self.paint_statement(&statement);
            self.write_line(&format!("{bar} {underline} {statement}"))?;
            underline = " ".repeat(length);
        }
        if !underline.trim().is_empty() {
            self.write_line(&format!("{bar} {underline}"))?;
        }
        Ok(())
    }

    fn paint_statement(&self, statement: &str) -> String {
        match statement.split_once(": ") {
            Some(("holds", fact)) => format!("{} {fact}", self.paint(GREEN, "holds:")),
            Some(("absent", fact)) => format!("{} {fact}", self.paint(RED, "absent:")),
            _ => statement.into(),
        }
    }

    fn write_notes(&mut self, finding: &Finding, others: &[&Finding], margin: usize) -> io::Result<()> {
        let property = &finding.property;
        if let Some(reason) = &finding.suppressed {
            self.write_note("reason", &escape_hidden(reason), margin)?;
        }
        self.write_note("property", &escape_hidden(&property.says), margin)?;
        self.write_note("severity", property.severity.name(), margin)?;
        self.write_note("for", &format_binding(finding), margin)?;
        for other in others {
            self.write_note("also for", &format_binding(other), margin)?;
        }
        if finding.suppressed.is_some() {
            return Ok(());
        }
        self.write_note("risk", &finding.risk_note().unwrap_or_default(), margin)?;
        self.write_note("witness", finding.basis_note().unwrap_or_default(), margin)?;
        self.write_note("owed", &escape_hidden(finding.owed.as_deref().unwrap_or_default()), margin)?;
        self.write_note("help", &escape_hidden(property.remedy.as_deref().unwrap_or_default()), margin)?;
        self.write_note("source", &escape_hidden(property.source.as_deref().unwrap_or_default()), margin)
    }

    /// Writes a note at the end of a finding; nothing if there is nothing to say.
    fn write_note(&mut self, name: &str, text: &str, margin: usize) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let indent = margin + 3 + name.chars().count() + 2;
        let text = self.wrap(text, indent, indent);
        let sign = self.paint(BLUE, &format!("{:margin$} =", ""));
        let name = self.paint(BOLD, &format!("{name}:"));
        self.write_line(&format!("{sign} {name} {text}"))
    }

    fn write_fault(&mut self, fault: &Fault) -> io::Result<()> {
        let word = self.paint(YELLOW, "warning");
        let mut source = format_place(&fault.file, fault.line);
        if let Some(column) = fault.column {
            source = format!("{source}:{column}");
        }
        self.write_line(&format!("{word}: {source}: {} [{}]", escape_hidden(&fault.message), fault.code))
    }

    fn write_gap(&mut self, session: &SessionReport, gap: &Gap) -> io::Result<()> {
        let (word, source) = (self.paint(YELLOW, "warning"), format_place(&gap.source.file, gap.source.line));
        self.write_line(&format!("{word}: {source}: {} [{}]", words::describe_gap(session, gap), words::gap_code(gap)))
    }

    fn write_summary(&mut self, report: &Report) -> io::Result<()> {
        let totals = report.totals();
        let head = self.paint(BOLD, &format!("policy {}: {}", escape_hidden(&report.policy), totals.result()));
        self.write_line(&head)?;
        self.write_line("")?;
        for (name, text) in totals.figures() {
            self.write_line(&format!("  {name:<12}{text}"))?;
        }
        // The fingerprint is for programs, which read another format.
        for (name, text) in describe_origin(report).into_iter().filter(|(name, _)| *name != "fingerprint") {
            self.write_line(&format!("  {name:<12}{text}"))?;
        }

        for sentence in describe_notes(report) {
            let text = self.wrap(&sentence, 8, 8);
            let name = self.paint(YELLOW, "note");
            self.write_line(&format!("  {name}: {text}"))?;
        }

        let mut broken: Vec<_> = tally_properties(report).into_iter().filter(|tally| tally.findings > 0).collect();
        if broken.is_empty() {
            return Ok(());
        }
        // The sort is stable: equals stay in the order of the policy.
        broken.sort_by_key(|tally| std::cmp::Reverse((tally.property.severity, tally.findings)));
        let name_of = |id: &str| escape_hidden(id).into_owned();
        let width = broken.iter().map(|tally| name_of(&tally.property.id).chars().count()).max().unwrap_or(0).max(17);
        self.write_line("")?;
        let head = format!("  {:<width$}  {:<8}  findings  sessions", "broken properties", "severity");
        let head = self.paint(BOLD, &head);
        self.write_line(&head)?;
        for tally in broken {
            let (id, level) = (name_of(&tally.property.id), tally.property.severity.name());
            let level = self.paint(severity_color(tally.property.severity), &format!("{level:<8}"));
            let (findings, sessions) = (group_digits(tally.findings as u64), group_digits(tally.sessions as u64));
            self.write_line(&format!("  {id:<width$}  {level}  {findings:>8}  {sessions:>8}"))?;
        }
        Ok(())
    }

    /// Returns a text broken between words so that no line is longer than the page, where words allow.
    fn wrap(&self, text: &str, first_indent: usize, indent: usize) -> String {
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

/// Lists the first of some steps: `steps 4, 9 and 12 more`.
fn list_steps(steps: &[u32]) -> String {
    const MAX_SHOWN_STEPS: usize = 8;
    let shown: Vec<String> = steps.iter().take(MAX_SHOWN_STEPS).map(ToString::to_string).collect();
    match (steps.len(), steps.len() - shown.len()) {
        (0, _) => String::new(),
        (1, _) => format!("step {}", shown.join("")),
        (_, 0) => format!("steps {}", shown.join(", ")),
        (_, more) => format!("steps {} and {} more", shown.join(", "), group_digits(more as u64)),
    }
}

fn severity_color(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "1;35",
        Severity::High => "1;31",
        Severity::Medium => "1;33",
        Severity::Low => "1;36",
        Severity::Info => "1;32",
    }
}
