//! A report as JSON lines: an object for each file, session, finding and fault, and a summary at the end.
//!
//! Every line has the version of the shape in `lictor` and says in `type` what it is, so that a line is still
//! understood when it has been cut out or mixed with others.

use std::io::{self, BufWriter, Write};

use lictor_logic::Verdict;
use serde::Serialize;

use super::Report;
use super::inconclusive::describe_notes;
use super::json_layout::JsonLayout;
use super::totals::tally_properties;
use lictor_judge::finding::FindingView;

use super::view::{
    ApprovedView, FaultView, FileView, OriginView, PropertyView, SessionView, StoppedView, TotalsView, VERSION,
};

/// Writes a report as JSON lines.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for file in &report.files {
        write_line("file", FileView::new(file), &mut out)?;
    }
    for session in &report.sessions {
        write_line("session", SessionView::new(session, report), &mut out)?;
    }
    for finding in &report.findings {
        write_line("finding", FindingView::of(finding), &mut out)?;
    }
    for fault in &report.faults {
        write_line("fault", FaultView::new(fault), &mut out)?;
    }
    write_line("summary", ReportSummary::new(report), &mut out)?;
    out.flush()
}

#[derive(Serialize)]
struct ReportLine<T> {
    lictor: u32,
    #[serde(rename = "type")]
    sort: &'static str,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct ReportSummary<'a> {
    policy: &'a str,
    origin: OriginView<'a>,
    verdict: Option<Verdict>,
    totals: TotalsView,
    properties: Vec<PropertyView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approved: Vec<ApprovedView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stopped: Vec<StoppedView<'a>>,
    notes: Vec<String>,
}

impl<'a> ReportSummary<'a> {
    fn new(report: &'a Report) -> ReportSummary<'a> {
        ReportSummary {
            policy: &report.policy,
            origin: OriginView::new(report),
            verdict: report.verdict(),
            totals: TotalsView::new(report),
            properties: tally_properties(report).iter().map(PropertyView::new).collect(),
            approved: ApprovedView::list(report),
            stopped: StoppedView::list(report),
            notes: describe_notes(report),
        }
    }
}

fn write_line(sort: &'static str, content: impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    JsonLayout::with_line_levels(0).write(&ReportLine { lictor: VERSION, sort, content }, out)?;
    writeln!(out)
}
