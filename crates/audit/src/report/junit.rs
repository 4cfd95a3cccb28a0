//! A report as JUnit XML, for build servers.
//!
//! Readers of JUnit show a tree of suites with their failures on top, so a property is a suite, and each session that
//! breaks it is a failed test with the witness as its text. A session all of whose findings are accepted is skipped.
//! The sessions that break nothing are one passed test for each property, named alike in every run: a test for each
//! would be hundreds of thousands. Files that could not be read whole are errors in a suite of their own.

use std::io::{self, BufWriter, Write};

use super::totals::{SessionPlaces, places};
use super::words::{binding, count, event, grouped, moment, place, step, testimony, visible};
use super::{Report, SessionReport};
use lictor_decode::Fault;
use lictor_judge::finding::Finding;
use lictor_policy::Property;

/// Writes a report as JUnit XML.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let suites = suites(report);
    let (tests, failures, errors, skipped) = suites.iter().fold((0, 0, 0, 0), |sum, suite| {
        let (tests, failures, errors, skipped) = suite.counts();
        (sum.0 + tests, sum.1 + failures, sum.2 + errors, sum.3 + skipped)
    });
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    let name = attribute(&format!("lictor: {}", report.policy));
    writeln!(
        out,
        "<testsuites name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
    )?;
    for suite in &suites {
        suite.write(&mut out)?;
    }
    writeln!(out, "</testsuites>")?;
    out.flush()
}

/// A property with its sessions, or the input with its files.
struct Suite<'a> {
    name: &'a str,
    /// What the suite is about, with names.
    properties: Vec<(&'static str, &'a str)>,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    file: String,
    line: u32,
    result: CaseResult,
}

enum CaseResult {
    Passed { note: String },
    Skipped { reason: String },
    Failed { message: String, kind: &'static str, text: String },
    Error { message: String, kind: &'static str, text: String },
}

impl Suite<'_> {
    fn counts(&self) -> (usize, usize, usize, usize) {
        let of = |is_such: fn(&CaseResult) -> bool| self.cases.iter().filter(|case| is_such(&case.result)).count();
        (
            self.cases.len(),
            of(|result| matches!(result, CaseResult::Failed { .. })),
            of(|result| matches!(result, CaseResult::Error { .. })),
            of(|result| matches!(result, CaseResult::Skipped { .. })),
        )
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (tests, failures, errors, skipped) = self.counts();
        let name = attribute(self.name);
        writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
        )?;
        if !self.properties.is_empty() {
            writeln!(out, "    <properties>")?;
            for (key, value) in &self.properties {
                writeln!(out, "      <property name=\"{key}\" value=\"{}\"/>", attribute(value))?;
            }
            writeln!(out, "    </properties>")?;
        }
        for case in &self.cases {
            case.write(&name, out)?;
        }
        writeln!(out, "  </testsuite>")
    }
}

impl Case {
    fn write(&self, class: &str, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "    <testcase classname=\"{class}\" name=\"{}\"", attribute(&self.name))?;
        if !self.file.is_empty() {
            write!(out, " file=\"{}\"", attribute(&self.file))?;
        }
        if self.line > 0 {
            write!(out, " line=\"{}\"", self.line)?;
        }
        writeln!(out, ">")?;
        match &self.result {
            CaseResult::Passed { note } => writeln!(out, "      <system-out>{}</system-out>", escaped(note))?,
            CaseResult::Skipped { reason } => writeln!(out, "      <skipped message=\"{}\"/>", attribute(reason))?,
            CaseResult::Failed { message, kind, text } => complaint("failure", message, kind, text, out)?,
            CaseResult::Error { message, kind, text } => complaint("error", message, kind, text, out)?,
        }
        writeln!(out, "    </testcase>")
    }
}

fn complaint(tag: &str, message: &str, kind: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let (message, kind) = (attribute(message), attribute(kind));
    writeln!(out, "      <{tag} message=\"{message}\" type=\"{kind}\">{}</{tag}>", escaped(text))
}

fn suites(report: &Report) -> Vec<Suite<'_>> {
    let sessions = SessionPlaces::of(&report.sessions);
    let places = places(report);
    let mut found: Vec<Vec<&Finding>> = vec![Vec::new(); report.properties.len()];
    for finding in &report.findings {
        if let Some(findings) = places.get(finding.property.id.as_str()).and_then(|place| found.get_mut(*place)) {
            findings.push(finding);
        }
    }
    let properties = report.properties.iter().zip(&found).enumerate();
    let mut suites: Vec<Suite<'_>> =
        properties.map(|(place, (property, findings))| suite(report, property, place, findings, &sessions)).collect();
    if !report.faults.is_empty() {
        suites.push(input(report));
    }
    if report.gaps().next().is_some() {
        suites.push(order(report));
    }
    suites
}

fn suite<'a>(
    report: &'a Report,
    property: &'a Property,
    place: usize,
    findings: &[&Finding],
    sessions: &SessionPlaces<'_>,
) -> Suite<'a> {
    let mut properties = vec![("says", property.says.as_str()), ("formula", property.formula.as_str())];
    properties.push(("severity", property.severity.name()));
    properties.extend(property.source.as_ref().map(|source| ("source", source.as_str())));
    // Findings come in the order of their sessions, so those of one session are neighbors.
    let groups: Vec<_> =
        findings.chunk_by(|a, b| a.session == b.session && sessions.find(a) == sessions.find(b)).collect();
    let mut cases: Vec<Case> = groups.iter().filter_map(|group| case(property, group)).collect();
    if let Some(others) = others(report, place, groups.len()) {
        cases.push(others);
    }
    Suite { name: &property.id, properties, cases }
}

/// One session that breaks a property.
fn case(property: &Property, findings: &[&Finding]) -> Option<Case> {
    let open: Vec<&Finding> = findings.iter().copied().filter(|finding| finding.suppressed.is_none()).collect();
    let told = open.first().or(findings.first())?;
    let result = match (open.first(), &told.suppressed) {
        (None, Some(reason)) => CaseResult::Skipped { reason: format!("suppressed: {}", visible(reason)) },
        _ => CaseResult::Failed {
            message: format!("{} ({})", visible(&property.says), moment(told)),
            kind: property.severity.name(),
            text: open.iter().map(|finding| account(finding)).collect::<Vec<_>>().join("\n\n"),
        },
    };
    let name = format!("session {}", visible(&told.session));
    Some(Case { name, file: told.source.file.to_string(), line: told.source.line, result })
}

/// A finding in lines.
fn account(finding: &Finding) -> String {
    let property = &finding.property;
    let mut lines = vec![format!("{}: {}", place(&finding.source.file, finding.source.line), moment(finding))];
    let binding = binding(finding);
    if !binding.is_empty() {
        lines.push(format!("for: {binding}"));
    }
    for proof in &finding.witness {
        let event = event(proof.kind.name(), proof.tool.as_deref());
        let at = place(&proof.source.file, proof.source.line);
        lines.push(format!("  {}: {event} ({at})", step(proof)));
        lines.extend(testimony(proof).iter().map(|statement| format!("    {statement}")));
    }
    lines.extend(finding.owed.as_ref().map(|owed| format!("owed: {}", visible(owed))));
    lines.extend(property.remedy.as_ref().map(|remedy| format!("help: {}", visible(remedy))));
    lines.extend(property.source.as_ref().map(|source| format!("source: {}", visible(source))));
    lines.join("\n")
}

/// The sessions without findings, as one test; none if every session has some.
fn others(report: &Report, place: usize, told: usize) -> Option<Case> {
    let rest = report.sessions.len().saturating_sub(told);
    if rest == 0 {
        return None;
    }
    let open = |session: &&SessionReport| {
        session.outcomes.get(place).is_some_and(|outcome| !outcome.verdict.is_definite() && !outcome.is_broken())
    };
    let open = report.sessions.iter().filter(open).count();
    let mut note = format!("{} without findings", count(rest as u64, "session"));
    if open > 0 {
        note = format!("{note}, {} of them inconclusive", grouped(open as u64));
    }
    Some(Case { name: "all other sessions".into(), file: String::new(), line: 0, result: CaseResult::Passed { note } })
}

/// The files that could not be read whole.
fn input(report: &Report) -> Suite<'_> {
    let mut files: Vec<(&str, Vec<&Fault>)> = Vec::new();
    for fault in &report.faults {
        match files.iter_mut().find(|(name, _)| *name == &*fault.file) {
            Some((_, faults)) => faults.push(fault),
            None => files.push((&fault.file, vec![fault])),
        }
    }
    let cases = files.iter().filter_map(|(name, faults)| {
        let first = faults.first()?;
        let more = match faults.len() - 1 {
            0 => String::new(),
            more => format!(", and {} more", grouped(more as u64)),
        };
        let lines =
            faults.iter().map(|fault| format!("{}: {}", place(&fault.file, fault.line), visible(&fault.message)));
        let result = CaseResult::Error {
            message: format!("{}{more}", visible(&first.message)),
            kind: first.code,
            text: lines.collect::<Vec<_>>().join("\n"),
        };
        Some(Case { name: visible(name).into_owned(), file: (*name).into(), line: first.line, result })
    });
    Suite { name: "input", properties: Vec::new(), cases: cases.collect() }
}

/// The sessions whose events could not all be judged in their place. They did not fail: it is not known whether they do.
fn order(report: &Report) -> Suite<'_> {
    let sessions = report.sessions.iter().filter_map(|session| {
        let first = session.gaps.first()?;
        let gaps: Vec<String> = session.gaps.iter().map(ToString::to_string).collect();
        Some(Case {
            name: format!("session {}", visible(&session.name)),
            file: first.source.file.to_string(),
            line: first.source.line,
            result: CaseResult::Skipped { reason: format!("inconclusive: {}", gaps.join("; ")) },
        })
    });
    Suite { name: "order", properties: Vec::new(), cases: sessions.collect() }
}

/// A text inside an element. XML 1.0 has no way to write most control characters, so they are shown instead.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push_str(&visible(other.encode_utf8(&mut [0; 4]))),
        }
    }
    escaped
}

/// A text inside an attribute, where a reader would turn line breaks into spaces.
fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;")
}
