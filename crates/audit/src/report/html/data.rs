//! The data that the page's script draws: the report in a compact form, with indices instead of names.

use crate::report::headline::write_headline;
use std::collections::{HashMap, HashSet};

use lictor_logic::Verdict;
use serde::{Serialize, Serializer};

use crate::report::totals::{SessionPlaces, property_places};
use crate::report::words;
use crate::report::{PropertyOutcome, Report};
use lictor_event::write_time;
use lictor_judge::finding::{Finding, WitnessEvent};
use lictor_policy::Property;

/// The whole report for the script.
#[derive(Serialize)]
pub(super) struct ReportData<'a> {
    properties: Vec<PropertyData<'a>>,
    files: Vec<&'a str>,
    sessions: SessionRows<'a>,
    /// The violations of a property: session, property, step (zero if unknown), how often.
    broken: Vec<(usize, usize, u32, u32)>,
    findings: Vec<FindingData<'a>>,
}

#[derive(Serialize)]
struct PropertyData<'a> {
    id: &'a str,
    says: &'a str,
    formula: &'a str,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

/// A finding; empty fields are left out.
#[derive(Serialize)]
struct FindingData<'a> {
    property: usize,
    /// What happened.
    headline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<usize>,
    /// The session's name, for a session that the report does not list.
    #[serde(skip_serializing_if = "Option::is_none")]
    stray: Option<&'a str>,
    step: u32,
    decided: &'static str,
    file: usize,
    line: u32,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    binding: String,
    witness: Vec<ProofData<'a>>,
    /// A note if the witness is no proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owed: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressed: Option<&'a str>,
    id: &'a str,
}

#[derive(Serialize)]
struct ProofData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    step: u32,
    file: usize,
    line: u32,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    present: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    absent: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

/// Sessions as rows: name, file, steps, and a letter for each property.
struct SessionRows<'a> {
    report: &'a Report,
    files: HashMap<&'a str, usize>,
    /// Cells all of whose findings are accepted.
    accepted: HashSet<(usize, usize)>,
    /// Cells with a finding that is not accepted.
    open: HashSet<(usize, usize)>,
}

impl<'a> ReportData<'a> {
    /// Returns the data of a report.
    pub(super) fn new(report: &'a Report) -> ReportData<'a> {
        let (places, sessions) = (property_places(report), SessionPlaces::new(&report.sessions));
        let mut files = FileTable::default();
        let (mut open, mut accepted) = (HashSet::new(), HashSet::new());
        let mut findings = Vec::with_capacity(report.findings.len());
        for finding in &report.findings {
            let Some(&property) = places.get(finding.property.id.as_str()) else { continue };
            let session = sessions.find(finding);
            if let Some(session) = session {
                let cells = if finding.suppressed.is_some() { &mut accepted } else { &mut open };
                cells.insert((session, property));
            }
            findings.push(FindingData::new(finding, property, session, &mut files));
        }
        for session in &report.sessions {
            files.place(&session.file);
        }
        ReportData {
            properties: report.properties.iter().map(|property| PropertyData::new(property)).collect(),
            files: files.names,
            sessions: SessionRows { report, files: files.places, accepted, open },
            broken: broken_cells(report),
            findings,
        }
    }
}

/// The names of files in the order in which they were met.
#[derive(Default)]
struct FileTable<'a> {
    names: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

impl<'a> FileTable<'a> {
    fn place(&mut self, name: &'a str) -> usize {
        *self.places.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

fn broken_cells(report: &Report) -> Vec<(usize, usize, u32, u32)> {
    let mut broken = Vec::new();
    for (row, session) in report.sessions.iter().enumerate() {
        for (column, outcome) in session.outcomes.iter().enumerate() {
            if outcome.is_broken() {
                broken.push((row, column, outcome.violated_at_step.unwrap_or(0), outcome.violations.max(1)));
            }
        }
    }
    broken
}

impl Serialize for SessionRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.report.sessions.iter().enumerate().map(|(row, session)| {
            let letters: String = session
                .outcomes
                .iter()
                .enumerate()
                .map(|(column, outcome)| self.outcome_letter((row, column), outcome))
                .collect();
            let file = self.files.get(&*session.file).copied().unwrap_or(0);
            (session.name.as_str(), file, session.steps, letters)
        }))
    }
}

impl SessionRows<'_> {
    /// `v` violated, `a` violated but accepted or known, `i` inconclusive, `s` satisfied; a capital was definite before
    /// the end of the session.
    fn outcome_letter(&self, cell: (usize, usize), outcome: &PropertyOutcome) -> char {
        let is_accepted = !self.open.contains(&cell) && (self.accepted.contains(&cell) || self.report.known > 0);
        let letter = match outcome.verdict {
            _ if outcome.is_broken() && is_accepted => 'a',
            _ if outcome.is_broken() => 'v',
            Verdict::Inconclusive => 'i',
            Verdict::Satisfied | Verdict::Violated => 's',
        };
        if outcome.live { letter.to_ascii_uppercase() } else { letter }
    }
}

impl<'a> PropertyData<'a> {
    fn new(property: &'a Property) -> PropertyData<'a> {
        PropertyData {
            id: &property.id,
            says: &property.says,
            formula: &property.formula,
            severity: property.severity.name(),
            source: property.source.as_deref(),
            remedy: property.remedy.as_deref(),
        }
    }
}

impl<'a> FindingData<'a> {
    fn new(
        finding: &'a Finding,
        property: usize,
        session: Option<usize>,
        files: &mut FileTable<'a>,
    ) -> FindingData<'a> {
        FindingData {
            property,
            headline: write_headline(finding),
            session,
            stray: session.is_none().then_some(finding.session.as_str()),
            step: finding.step,
            decided: finding.decided.name(),
            file: files.place(&finding.source.file),
            line: finding.source.line,
            kind: finding.kind.name(),
            tool: finding.tool.as_deref(),
            binding: words::format_binding(finding),
            witness: finding.witness.iter().map(|proof| ProofData::new(proof, files)).collect(),
            basis: finding.basis_note(),
            risk: finding.risk_note(),
            owed: finding.owed.as_deref(),
            suppressed: finding.suppressed.as_deref(),
            id: &finding.fingerprint,
        }
    }
}

impl<'a> ProofData<'a> {
    fn new(proof: &'a WitnessEvent, files: &mut FileTable<'a>) -> ProofData<'a> {
        ProofData {
            session: proof.session.as_deref(),
            step: proof.step,
            file: files.place(&proof.source.file),
            line: proof.source.line,
            kind: proof.kind.name(),
            tool: proof.tool.as_deref(),
            time: proof.time.map(write_time),
            present: &proof.present,
            absent: &proof.absent,
            content: proof.content.as_deref(),
        }
    }
}
