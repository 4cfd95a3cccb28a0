//! A report as JSON lines: an object for each file, session, finding and fault, and a summary at the end.
//!
//! Every line has the version of the shape in `lictor` and says in `type` what it is, so that a line is still understood
//! when it has been cut out or mixed with others.

use std::io::{self, BufWriter, Write};

use lictor_logic::Verdict;
use serde::Serialize;

use super::Report;
use super::lines::Lines;
use super::totals::tallies;
use lictor_judge::finding::FindingView;

use super::view::{FaultView, FileView, PropertyView, SessionView, TotalsView, VERSION};

/// Writes a report as JSON lines.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for file in &report.files {
        line("file", FileView::of(file), &mut out)?;
    }
    for session in &report.sessions {
        line("session", SessionView::of(session, report), &mut out)?;
    }
    for finding in &report.findings {
        line("finding", FindingView::of(finding), &mut out)?;
    }
    for fault in &report.faults {
        line("fault", FaultView::of(fault), &mut out)?;
    }
    line("summary", Summary::of(report), &mut out)?;
    out.flush()
}

#[derive(Serialize)]
struct Line<T> {
    lictor: u32,
    #[serde(rename = "type")]
    sort: &'static str,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct Summary<'a> {
    policy: &'a str,
    verdict: Option<Verdict>,
    totals: TotalsView,
    properties: Vec<PropertyView<'a>>,
}

impl<'a> Summary<'a> {
    fn of(report: &'a Report) -> Summary<'a> {
        Summary {
            policy: &report.policy,
            verdict: report.verdict(),
            totals: TotalsView::of(report),
            properties: tallies(report).iter().map(PropertyView::of).collect(),
        }
    }
}

fn line(sort: &'static str, content: impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    Lines::of(0).write(&Line { lictor: VERSION, sort, content }, out)?;
    writeln!(out)
}
