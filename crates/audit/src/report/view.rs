//! The parts of a report as JSON objects, shared by the JSON and the JSON Lines format.

use lictor_logic::Verdict;
use serde::Serialize;

use super::totals::Tally;
use super::{FileReport, Report, ReportOrigin, SessionReport};
use crate::coverage::MissingFact;
use crate::guarded_log::{ApprovedFinding, GuardedLog, StoppedBy};
use crate::noise::{FindingNoise, TurningLabel};
use lictor_decode::Fault;
use lictor_event::order::Gap;
use lictor_json::Text;
use lictor_judge::finding::as_object;
use lictor_policy::{Mode, Property};

/// The version of every JSON shape of a report.
pub(super) const VERSION: u32 = 1;

/// The numbers of a report.
#[derive(Debug, Serialize)]
pub(super) struct TotalsView {
    files: usize,
    sessions: usize,
    satisfied: usize,
    inconclusive: usize,
    violated: usize,
    events: u64,
    findings: usize,
    suppressed: usize,
    #[serde(skip_serializing_if = "is_zero")]
    approved: u64,
    #[serde(skip_serializing_if = "is_zero")]
    stopped: u64,
    known: usize,
    faults: usize,
    silent: usize,
    unexercised: usize,
    joined: usize,
    unmatched: usize,
    #[serde(serialize_with = "as_object")]
    severities: Vec<(&'static str, usize)>,
}

impl TotalsView {
    pub(super) fn new(report: &Report) -> TotalsView {
        let totals = report.totals();
        TotalsView {
            files: totals.files,
            sessions: totals.sessions,
            satisfied: totals.satisfied,
            inconclusive: totals.inconclusive,
            violated: totals.violated,
            events: totals.events,
            findings: totals.findings,
            suppressed: totals.suppressed,
            approved: totals.approved as u64,
            stopped: totals.stopped,
            known: totals.known,
            faults: totals.faults,
            silent: totals.silent,
            unexercised: totals.unexercised,
            joined: totals.joined,
            unmatched: totals.unmatched,
            severities: totals.severities.iter().map(|&(name, count)| (name.name(), count)).collect(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A finding that a person allowed when its event was decided.
#[derive(Debug, Serialize)]
pub(super) struct ApprovedView<'a> {
    property: &'a str,
    session: &'a str,
    step: u32,
    file: &'a str,
    line: u32,
    by: &'a str,
    time: Option<&'a str>,
}

impl<'a> ApprovedView<'a> {
    pub(super) fn list(report: &'a Report) -> Vec<ApprovedView<'a>> {
        report.approved.iter().map(ApprovedView::new).collect()
    }

    fn new(ApprovedFinding { finding, waiver }: &'a ApprovedFinding) -> ApprovedView<'a> {
        ApprovedView {
            property: &finding.property.id,
            session: &finding.session,
            step: finding.step,
            file: &finding.source.file,
            line: finding.source.line,
            by: &waiver.by,
            time: waiver.time.as_deref(),
        }
    }
}

/// Events of a log that a guard stopped, in one way and because of one property.
#[derive(Debug, Serialize)]
pub(super) struct StoppedView<'a> {
    file: &'a str,
    by: &'static str,
    property: Option<&'a str>,
    events: u64,
}

impl<'a> StoppedView<'a> {
    pub(super) fn list(report: &'a Report) -> Vec<StoppedView<'a>> {
        let of_log = |log: &'a GuardedLog| log.stopped.iter().map(|stopped| StoppedView::new(&log.file, stopped));
        report.guarded.iter().flat_map(of_log).collect()
    }

    fn new(file: &'a str, ((by, property), events): (&'a (StoppedBy, Option<Text>), &'a u64)) -> StoppedView<'a> {
        StoppedView { file, by: by.name(), property: property.as_deref(), events: *events }
    }
}

/// A property and how it fared.
#[derive(Debug, Serialize)]
pub(super) struct PropertyView<'a> {
    id: &'a str,
    says: &'a str,
    formula: &'a str,
    severity: &'static str,
    mode: &'static str,
    source: Option<&'a str>,
    remedy: Option<&'a str>,
    findings: usize,
    suppressed: usize,
    satisfied: usize,
    inconclusive: usize,
    violated: usize,
    /// Sessions in which it was not judged, as the logs lack the evidence it needs.
    unjudged: usize,
    exercised: bool,
    /// The evidence that it needs, if the logs state none of it.
    lacking: &'a [Text],
    /// The facts that it asks for and that never occur.
    missing: Vec<MissingFactView<'a>>,
}

/// A fact that never occurs, and the name in the log that is nearest.
#[derive(Debug, Serialize)]
struct MissingFactView<'a> {
    fact: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<&'a str>,
}

impl<'a> PropertyView<'a> {
    pub(super) fn new(tally: &Tally<'a>) -> PropertyView<'a> {
        let property: &'a Property = tally.property;
        PropertyView {
            id: &property.id,
            says: &property.says,
            formula: &property.formula,
            severity: property.severity.name(),
            mode: match property.mode {
                Mode::Enforce => "enforce",
                Mode::Shadow => "shadow",
            },
            source: property.source.as_deref(),
            remedy: property.remedy.as_deref(),
            findings: tally.findings,
            suppressed: tally.suppressed,
            satisfied: tally.satisfied,
            inconclusive: tally.inconclusive,
            violated: tally.violated,
            unjudged: tally.unjudged,
            lacking: tally.gap.map_or(&[][..], |gap| &gap.lacking),
            exercised: tally.gap.is_none_or(|gap| !gap.entirely),
            missing: tally.gap.map_or(&[][..], |gap| &gap.missing).iter().map(MissingFactView::new).collect(),
        }
    }
}

impl<'a> MissingFactView<'a> {
    fn new(missing: &'a MissingFact) -> MissingFactView<'a> {
        MissingFactView { fact: &missing.fact, nearest: missing.nearest.as_deref() }
    }
}

/// Where a report comes from.
#[derive(Debug, Serialize)]
pub(super) struct OriginView<'a> {
    fingerprint: Option<&'a str>,
    command: Option<&'a str>,
}

impl<'a> OriginView<'a> {
    pub(super) fn new(report: &'a Report) -> OriginView<'a> {
        let ReportOrigin { fingerprint, command } = &report.origin;
        OriginView { fingerprint: fingerprint.as_deref(), command: command.as_deref() }
    }
}

/// A file.
#[derive(Debug, Serialize)]
pub(super) struct FileView<'a> {
    name: &'a str,
    format: &'static str,
    events: u64,
}

impl<'a> FileView<'a> {
    pub(super) fn new(file: &'a FileReport) -> FileView<'a> {
        FileView { name: &file.name, format: file.format.name(), events: file.events }
    }
}

/// A session and what came out for each property.
#[derive(Debug, Serialize)]
pub(super) struct SessionView<'a> {
    name: &'a str,
    file: &'a str,
    steps: u32,
    verdict: Verdict,
    #[serde(serialize_with = "as_object")]
    outcomes: Vec<(&'a str, OutcomeView)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<GapView<'a>>,
}

/// Events that could not be judged in their place.
#[derive(Debug, Serialize)]
struct GapView<'a> {
    cause: &'static str,
    first: i64,
    last: i64,
    file: &'a str,
    line: u32,
    message: String,
}

impl<'a> GapView<'a> {
    fn new(gap: &'a Gap) -> GapView<'a> {
        let Gap { cause, first, last, source } = gap;
        let (file, line) = (&*source.file, source.line);
        GapView { cause: cause.name(), first: *first, last: *last, file, line, message: gap.to_string() }
    }
}

#[derive(Debug, Serialize)]
struct OutcomeView {
    verdict: OutcomeVerdict,
    live: bool,
    violated_at_step: Option<u32>,
    violations: u32,
    /// Present if it was not judged, as the logs lack the evidence it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged: Option<bool>,
}

/// A verdict, or `unjudged` if the logs lack the evidence that the property needs.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum OutcomeVerdict {
    Judged(Verdict),
    Unjudged(&'static str),
}

impl<'a> SessionView<'a> {
    pub(super) fn new(session: &'a SessionReport, report: &'a Report) -> SessionView<'a> {
        let outcomes = report.properties.iter().zip(&session.outcomes).map(|(property, outcome)| {
            let view = OutcomeView {
                verdict: match outcome.is_judged {
                    true => OutcomeVerdict::Judged(outcome.verdict),
                    false => OutcomeVerdict::Unjudged("unjudged"),
                },
                live: outcome.live,
                violated_at_step: outcome.violated_at_step,
                violations: outcome.violations,
                judged: (!outcome.is_judged).then_some(false),
            };
            (property.id.as_str(), view)
        });
        SessionView {
            name: &session.name,
            file: &session.file,
            steps: session.steps,
            verdict: session.verdict(),
            outcomes: outcomes.collect(),
            gaps: session.gaps.iter().map(GapView::new).collect(),
        }
    }
}

/// A place that could not be read.
#[derive(Debug, Serialize)]
pub(super) struct FaultView<'a> {
    file: &'a str,
    line: u32,
    column: Option<u32>,
    code: &'static str,
    message: &'a str,
}

impl<'a> FaultView<'a> {
    pub(super) fn new(fault: &'a Fault) -> FaultView<'a> {
        FaultView {
            file: &fault.file,
            line: fault.line,
            column: fault.column,
            code: fault.code,
            message: &fault.message,
        }
    }
}

/// The labels on which a finding rests alone.
#[derive(Serialize)]
pub(super) struct NoiseView<'a> {
    fingerprint: &'a str,
    complete: bool,
    turning: Vec<TurningLabelView<'a>>,
}

#[derive(Serialize)]
struct TurningLabelView<'a> {
    step: u32,
    fact: &'a str,
    says: &'static str,
    by: Option<&'a str>,
    score: Option<f64>,
}

impl<'a> NoiseView<'a> {
    pub(super) fn new(noise: &'a FindingNoise) -> NoiseView<'a> {
        let view = |label: &'a TurningLabel| TurningLabelView {
            step: label.step,
            fact: &label.fact,
            says: label.says.name(),
            by: label.by.as_deref(),
            score: label.score,
        };
        let turning = noise.turning.iter().map(view).collect();
        NoiseView { fingerprint: &noise.fingerprint, complete: noise.is_complete, turning }
    }
}
