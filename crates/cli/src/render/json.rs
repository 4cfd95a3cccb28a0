//! Everything in one document, written at the end.

use std::io::{self, Write};

use lictor_logic::{Moment, Spelling, Verdict};
use serde::Serialize;

use super::Report;
use super::witness::{CountsShape, WitnessShape};
use crate::formulas::Listed;
use crate::judge::{Finding, Judged, Step};

/// The version of the document's shape.
const VERSION: u32 = 1;

/// Collects a document.
pub(crate) struct Json<'a> {
    out: &'a mut dyn Write,
    formulas: &'a [Listed],
    spelling: Spelling,
    traces: Vec<TraceShape>,
    steps: Vec<Vec<StepShape>>,
    resets: bool,
}

impl<'a> Json<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, formulas: &'a [Listed], spelling: Spelling, resets: bool) -> Json<'a> {
        Json { out, formulas, spelling, traces: Vec::new(), steps: Vec::new(), resets }
    }

    fn finding(&self, listed: &Listed, finding: &Finding, steps: Vec<StepShape>) -> FindingShape {
        let decision = finding.decision.as_ref();
        let violated = decision.filter(|decision| decision.verdict == Verdict::Violated);
        FindingShape {
            formula: listed.number,
            verdict: finding.verdict,
            live: finding.live,
            end: finding.end,
            violated_at_step: violated.map(|decision| decision.position),
            violated_at_line: violated.map(|decision| decision.line),
            violated_by_tick: violated.is_some_and(|decision| decision.tick.is_some()),
            counts: self.resets.then(|| CountsShape::of(finding)),
            witness: WitnessShape::of(finding, self.spelling),
            steps,
        }
    }
}

#[derive(Serialize)]
struct DocumentShape {
    v: u32,
    /// The worst verdict of all formulas on all traces; null if nothing was judged.
    verdict: Option<Verdict>,
    formulas: Vec<FormulaShape>,
    traces: Vec<TraceShape>,
}

#[derive(Serialize)]
struct FormulaShape {
    formula: usize,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

#[derive(Default, Serialize)]
struct TraceShape {
    trace: String,
    /// Could it not even be opened?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unreadable: bool,
    positions: u64,
    ticks: u64,
    bad_lines: u64,
    verdict: Option<Verdict>,
    findings: Vec<FindingShape>,
}

#[derive(Serialize)]
struct FindingShape {
    formula: usize,
    verdict: Verdict,
    live: Verdict,
    end: Option<Verdict>,
    violated_at_step: Option<u64>,
    violated_at_line: Option<u64>,
    violated_by_tick: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<CountsShape>,
    witness: Option<WitnessShape>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepShape>,
}

#[derive(Serialize)]
struct StepShape {
    step: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tick: bool,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    residual: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presumptive: Option<Verdict>,
}

impl Report for Json<'_> {
    fn begin(&mut self, trace: &str) -> io::Result<()> {
        self.steps = self.formulas.iter().map(|_| Vec::new()).collect();
        self.traces.push(TraceShape { trace: trace.to_owned(), ..TraceShape::default() });
        Ok(())
    }

    fn unreadable(&mut self, trace: &str) -> io::Result<()> {
        self.traces.push(TraceShape { trace: trace.to_owned(), unreadable: true, ..TraceShape::default() });
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>) -> io::Result<()> {
        for (steps, reading) in self.steps.iter_mut().zip(step.readings) {
            steps.push(StepShape {
                step: step.position,
                tick: matches!(step.moment, Moment::Tick(_)),
                verdict: reading.verdict,
                residual: reading.residual.as_ref().map(|residual| residual.show(self.spelling).to_string()),
                presumptive: reading.presumptive,
            });
        }
        Ok(())
    }

    fn end(&mut self, judged: &Judged) -> io::Result<()> {
        let steps = std::mem::take(&mut self.steps);
        let findings = self.formulas.iter().zip(&judged.findings).zip(steps);
        let findings = findings.map(|((listed, finding), steps)| self.finding(listed, finding, steps)).collect();
        if let Some(shape) = self.traces.last_mut() {
            shape.positions = judged.positions;
            shape.ticks = judged.ticks;
            shape.bad_lines = judged.bad_lines;
            shape.verdict = (judged.positions > 0).then(|| judged.worst());
            shape.findings = findings;
        }
        Ok(())
    }

    fn finish(&mut self, worst: Option<Verdict>) -> io::Result<()> {
        let formula = |listed: &Listed| FormulaShape {
            formula: listed.number,
            text: listed.show(self.spelling),
            place: listed.place.clone(),
        };
        let document = DocumentShape {
            v: VERSION,
            verdict: worst,
            formulas: self.formulas.iter().map(formula).collect(),
            traces: std::mem::take(&mut self.traces),
        };
        serde_json::to_writer_pretty(&mut self.out, &document)?;
        self.out.write_all(b"\n")
    }
}
