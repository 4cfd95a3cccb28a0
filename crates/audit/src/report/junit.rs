//! A report as JUnit XML, for build servers.
//!
//! Readers of JUnit show a tree of suites with their failures on top, so a property is a suite, and each session that
//! violates it is a failed test with the witness as its text. A session all of whose findings are accepted is skipped.
//! The sessions without violations are one passed test for each property, named alike in every run: a test for each
//! would be hundreds of thousands. Sessions in which a property is inconclusive are one skipped test, and so are the
//! sessions that did not exercise it or could not judge it: neither passed. Files that could not be read whole are errors in a suite of their own.

use std::io::{self, BufWriter, Write};

use super::Report;
use super::coverage_words::describe_needs;
use super::headline::write_headline;
use super::inconclusive::{OpenProperty, find_open};
use super::totals::{SessionPlaces, property_places};
use super::words::{
    describe_event, describe_moment, describe_proof, describe_step, escape_hidden, format_binding, format_count,
    format_place, group_digits,
};
use lictor_decode::Fault;
use lictor_judge::finding::Finding;
use lictor_policy::Property;

/// Writes a report as JUnit XML.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let suites = build_suites(report);
    let (tests, failures, errors, skipped) = suites.iter().fold((0, 0, 0, 0), |sum, suite| {
        let (tests, failures, errors, skipped) = suite.counts();
        (sum.0 + tests, sum.1 + failures, sum.2 + errors, sum.3 + skipped)
    });
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    let name = escape_attribute(&format!("lictor: {}", report.policy));
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
struct TestSuite<'a> {
    name: &'a str,
    /// Properties of the suite: name and value.
    properties: Vec<(&'static str, &'a str)>,
    cases: Vec<TestCase>,
}

struct TestCase {
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

impl TestSuite<'_> {
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
        let name = escape_attribute(self.name);
        writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
        )?;
        if !self.properties.is_empty() {
            writeln!(out, "    <properties>")?;
            for (key, value) in &self.properties {
                writeln!(out, "      <property name=\"{key}\" value=\"{}\"/>", escape_attribute(value))?;
            }
            writeln!(out, "    </properties>")?;
        }
        for case in &self.cases {
            case.write(&name, out)?;
        }
        writeln!(out, "  </testsuite>")
    }
}

impl TestCase {
    fn write(&self, class: &str, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "    <testcase classname=\"{class}\" name=\"{}\"", escape_attribute(&self.name))?;
        if !self.file.is_empty() {
            write!(out, " file=\"{}\"", escape_attribute(&self.file))?;
        }
        if self.line > 0 {
            write!(out, " line=\"{}\"", self.line)?;
        }
        writeln!(out, ">")?;
        match &self.result {
            CaseResult::Passed { note } => writeln!(out, "      <system-out>{}</system-out>", escape_text(note))?,
            CaseResult::Skipped { reason } => {
                writeln!(out, "      <skipped message=\"{}\"/>", escape_attribute(reason))?
            }
            CaseResult::Failed { message, kind, text } => write_complaint("failure", message, kind, text, out)?,
            CaseResult::Error { message, kind, text } => write_complaint("error", message, kind, text, out)?,
        }
        writeln!(out, "    </testcase>")
    }
}

fn write_complaint(tag: &str, message: &str, kind: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let (message, kind) = (escape_attribute(message), escape_attribute(kind));
    writeln!(out, "      <{tag} message=\"{message}\" type=\"{kind}\">{}</{tag}>", escape_text(text))
}

fn build_suites(report: &Report) -> Vec<TestSuite<'_>> {
    let sessions = SessionPlaces::new(&report.sessions);
    let places = property_places(report);
    let mut found: Vec<Vec<&Finding>> = vec![Vec::new(); report.properties.len()];
    for finding in &report.findings {
        if let Some(findings) = places.get(finding.property.id.as_str()).and_then(|place| found.get_mut(*place)) {
            findings.push(finding);
        }
    }
    let open = find_open(report);
    let find_open = |property: &Property| open.iter().find(|open| open.property.id == property.id);
    let properties = report.properties.iter().zip(&found).enumerate();
    let mut suites: Vec<TestSuite<'_>> = properties
        .map(|(place, (property, findings))| {
            property_suite(report, property, place, findings, &sessions, find_open(property))
        })
        .collect();
    if !report.faults.is_empty() {
        suites.push(input_suite(report));
    }
    if report.gaps().next().is_some() {
        suites.push(order_suite(report));
    }
    suites
}

fn property_suite<'a>(
    report: &'a Report,
    property: &'a Property,
    place: usize,
    findings: &[&Finding],
    sessions: &SessionPlaces<'_>,
    open: Option<&OpenProperty<'_>>,
) -> TestSuite<'a> {
    let mut properties = vec![("says", property.says.as_str()), ("formula", property.formula.as_str())];
    properties.push(("severity", property.severity.name()));
    properties.extend(property.source.as_ref().map(|source| ("source", source.as_str())));
    // Findings come in the order of their sessions, so those of one session are neighbors.
    let groups: Vec<_> =
        findings.chunk_by(|a, b| a.session == b.session && sessions.find(a) == sessions.find(b)).collect();
    let mut cases: Vec<TestCase> = groups.iter().filter_map(|group| session_case(property, group)).collect();
    cases.extend(other_cases(report, place, groups.len(), open));
    TestSuite { name: &property.id, properties, cases }
}

/// Returns one session that violates a property.
fn session_case(property: &Property, findings: &[&Finding]) -> Option<TestCase> {
    let open: Vec<&Finding> = findings.iter().copied().filter(|finding| finding.suppressed.is_none()).collect();
    let shown = open.first().or(findings.first())?;
    let result = match (open.first(), &shown.suppressed) {
        (None, Some(reason)) => CaseResult::Skipped { reason: format!("suppressed: {}", escape_hidden(reason)) },
        _ => CaseResult::Failed {
            message: format!("{} (step {}): {}", write_headline(shown), shown.step, escape_hidden(&property.says)),
            kind: property.severity.name(),
            text: open.iter().map(|finding| describe_finding(finding)).collect::<Vec<_>>().join("\n\n"),
        },
    };
    let name = format!("session {}", escape_hidden(&shown.session));
    Some(TestCase { name, file: shown.source.file.to_string(), line: shown.source.line, result })
}

/// Describes a finding in lines.
fn describe_finding(finding: &Finding) -> String {
    let property = &finding.property;
    let mut lines =
        vec![format!("{}: {}", format_place(&finding.source.file, finding.source.line), describe_moment(finding))];
    let binding = format_binding(finding);
    if !binding.is_empty() {
        lines.push(format!("for: {binding}"));
    }
    for proof in &finding.witness {
        let event = describe_event(proof.kind.name(), proof.tool.as_deref());
        let at = format_place(&proof.source.file, proof.source.line);
        lines.push(format!("  {}: {event} ({at})", describe_step(proof)));
        lines.extend(describe_proof(proof).iter().map(|statement| format!("    {statement}")));
    }
    lines.extend(finding.risk_note().map(|risk| format!("risk: {risk}")));
    lines.extend(finding.basis_note().map(str::to_owned));
    lines.extend(finding.owed.as_ref().map(|owed| format!("owed: {}", escape_hidden(owed))));
    lines.extend(property.remedy.as_ref().map(|remedy| format!("help: {}", escape_hidden(remedy))));
    lines.extend(property.source.as_ref().map(|source| format!("source: {}", escape_hidden(source))));
    lines.join("\n")
}

/// Returns the sessions without findings: one test for those in which the property is inconclusive, and one for the
/// rest, which is skipped if they did not exercise it or could not judge it.
fn other_cases(report: &Report, place: usize, with_findings: usize, open: Option<&OpenProperty<'_>>) -> Vec<TestCase> {
    let mut cases = Vec::new();
    if let Some(open) = open {
        let (file, line) = open.source;
        let result = CaseResult::Skipped { reason: open.describe() };
        cases.push(TestCase { name: "inconclusive sessions".into(), file: file.into(), line, result });
    }
    let rest = report.sessions.len().saturating_sub(with_findings + open.map_or(0, |open| open.sessions));
    let Some(property) = report.properties.get(place).filter(|_| rest > 0) else { return cases };
    let (name, result) = match report.coverage.unexercised().find(|gap| gap.property.id == property.id) {
        Some(gap) => {
            let reason = match gap.lacking.is_empty() {
                true => "not exercised: nothing occurs that could violate it".to_owned(),
                false => format!("not judged: {}, which the logs never state", describe_needs(gap)),
            };
            ("all sessions", CaseResult::Skipped { reason })
        }
        None => {
            let note = format!("{} without findings", format_count(rest as u64, "session"));
            ("all other sessions", CaseResult::Passed { note })
        }
    };
    cases.push(TestCase { name: name.into(), file: String::new(), line: 0, result });
    cases
}

/// Returns the files that could not be read whole.
fn input_suite(report: &Report) -> TestSuite<'_> {
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
            more => format!(", and {} more", group_digits(more as u64)),
        };
        let lines = faults
            .iter()
            .map(|fault| format!("{}: {}", format_place(&fault.file, fault.line), escape_hidden(&fault.message)));
        let result = CaseResult::Error {
            message: format!("{}{more}", escape_hidden(&first.message)),
            kind: first.code,
            text: lines.collect::<Vec<_>>().join("\n"),
        };
        Some(TestCase { name: escape_hidden(name).into_owned(), file: (*name).into(), line: first.line, result })
    });
    TestSuite { name: "input", properties: Vec::new(), cases: cases.collect() }
}

/// Returns the sessions whose events could not all be judged in their place. They did not fail: it is not known whether
/// they do.
fn order_suite(report: &Report) -> TestSuite<'_> {
    let sessions = report.sessions.iter().filter_map(|session| {
        let first = session.gaps.first()?;
        let gaps: Vec<String> = session.gaps.iter().map(ToString::to_string).collect();
        Some(TestCase {
            name: format!("session {}", escape_hidden(&session.name)),
            file: first.source.file.to_string(),
            line: first.source.line,
            result: CaseResult::Skipped { reason: format!("inconclusive: {}", gaps.join("; ")) },
        })
    });
    TestSuite { name: "order", properties: Vec::new(), cases: sessions.collect() }
}

/// Escapes a text for an element. XML 1.0 cannot represent most control characters, so they are shown instead.
fn escape_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push_str(&escape_hidden(other.encode_utf8(&mut [0; 4]))),
        }
    }
    escaped
}

/// Escapes a text for an attribute, where a reader would turn line breaks into spaces.
fn escape_attribute(text: &str) -> String {
    escape_text(text).replace('\n', "&#10;")
}
