//! A report as one JSON document.
//!
//! `lictor` is the version of the shape and `kind` says which shape it is. Fields may be added in a version; none is
//! taken away or given another meaning. A session, a finding, a property has a line of its own.

use std::io::{self, Write};

use lictor_logic::Verdict;
use serde::{Serialize, Serializer};

use super::Report;
use super::inconclusive::describe_notes;
use super::json_layout::JsonLayout;
use super::totals::tally_properties;
use lictor_judge::finding::FindingView;

use super::view::{
    ApprovedView, FaultView, FileView, NoiseView, OriginView, PropertyView, SessionView, StoppedView, TotalsView,
    VERSION,
};

/// Writes a report as JSON.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    JsonLayout::with_line_levels(2).write(&ReportDocument::new(report), out)?;
    writeln!(out)
}

#[derive(Serialize)]
struct ReportDocument<'a> {
    lictor: u32,
    kind: &'static str,
    policy: &'a str,
    origin: OriginView<'a>,
    verdict: Option<Verdict>,
    totals: TotalsView,
    properties: Vec<PropertyView<'a>>,
    files: Vec<FileView<'a>>,
    sessions: SessionList<'a>,
    findings: FindingList<'a>,
    faults: Vec<FaultView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approved: Vec<ApprovedView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stopped: Vec<StoppedView<'a>>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    noise: Vec<NoiseView<'a>>,
}

impl<'a> ReportDocument<'a> {
    fn new(report: &'a Report) -> ReportDocument<'a> {
        ReportDocument {
            lictor: VERSION,
            kind: "report",
            policy: &report.policy,
            origin: OriginView::new(report),
            verdict: report.verdict(),
            totals: TotalsView::new(report),
            properties: tally_properties(report).iter().map(PropertyView::new).collect(),
            files: report.files.iter().map(FileView::new).collect(),
            sessions: SessionList(report),
            findings: FindingList(report),
            faults: report.faults.iter().map(FaultView::new).collect(),
            approved: ApprovedView::list(report),
            stopped: StoppedView::list(report),
            notes: describe_notes(report),
            noise: report.noise.iter().map(NoiseView::new).collect(),
        }
    }
}

/// The sessions, each made into an object only when it is written: there may be very many.
struct SessionList<'a>(&'a Report);

impl Serialize for SessionList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.sessions.iter().map(|session| SessionView::new(session, self.0)))
    }
}

/// The findings, each made into an object only when it is written.
struct FindingList<'a>(&'a Report);

impl Serialize for FindingList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.findings.iter().map(FindingView::of))
    }
}
