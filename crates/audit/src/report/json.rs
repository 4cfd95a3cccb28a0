//! A report as one JSON document.
//!
//! `lictor` is the version of the shape and `kind` says which shape it is. Fields may be added in a version; none is
//! taken away or given another meaning. A session, a finding, a property has a line of its own.

use std::io::{self, Write};

use lictor_logic::Verdict;
use serde::{Serialize, Serializer};

use super::Report;
use super::lines::Lines;
use super::totals::tallies;
use lictor_judge::finding::FindingView;

use super::view::{FaultView, FileView, PropertyView, SessionView, TotalsView, VERSION};

/// Writes a report as JSON.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    Lines::of(2).write(&Document::of(report), out)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Document<'a> {
    lictor: u32,
    kind: &'static str,
    policy: &'a str,
    verdict: Option<Verdict>,
    totals: TotalsView,
    properties: Vec<PropertyView<'a>>,
    files: Vec<FileView<'a>>,
    sessions: Sessions<'a>,
    findings: Findings<'a>,
    faults: Vec<FaultView<'a>>,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report) -> Document<'a> {
        Document {
            lictor: VERSION,
            kind: "report",
            policy: &report.policy,
            verdict: report.verdict(),
            totals: TotalsView::of(report),
            properties: tallies(report).iter().map(PropertyView::of).collect(),
            files: report.files.iter().map(FileView::of).collect(),
            sessions: Sessions(report),
            findings: Findings(report),
            faults: report.faults.iter().map(FaultView::of).collect(),
        }
    }
}

/// The sessions, each made into an object only when it is written: there may be very many.
struct Sessions<'a>(&'a Report);

impl Serialize for Sessions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.sessions.iter().map(|session| SessionView::of(session, self.0)))
    }
}

/// The findings, likewise.
struct Findings<'a>(&'a Report);

impl Serialize for Findings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.findings.iter().map(FindingView::of))
    }
}
