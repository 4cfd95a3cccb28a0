//! The report as one JSON document, written at the end.

use std::io::{self, Write};

use lictor_logic::{Moment, Spelling, Verdict};
use serde::Serialize;

use super::witness::{CountsShape, WitnessShape};
use crate::formulas::ListedFormula;
use crate::judge::{FormulaFinding, TraceReport, TraceResult, TraceStep};

/// The version of the document format.
const DOCUMENT_VERSION: u32 = 1;

/// A report that collects one document.
pub(crate) struct JsonReport<'a> {
    out: &'a mut dyn Write,
    formulas: &'a [ListedFormula],
    spelling: Spelling,
    traces: Vec<TraceShape>,
    steps: Vec<Vec<StepShape>>,
    resets: bool,
}

impl<'a> JsonReport<'a> {
    pub(crate) fn new(
        out: &'a mut dyn Write,
        formulas: &'a [ListedFormula],
        spelling: Spelling,
        resets: bool,
    ) -> JsonReport<'a> {
        JsonReport { out, formulas, spelling, traces: Vec::new(), steps: Vec::new(), resets }
    }

    fn finding(&self, listed: &ListedFormula, finding: &FormulaFinding, steps: Vec<StepShape>) -> FindingShape {
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
            counts: self.resets.then(|| CountsShape::from_finding(finding)),
            witness: WitnessShape::from_finding(finding, self.spelling),
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
    /// Whether it could not be opened.
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

impl TraceReport for JsonReport<'_> {
    fn begin(&mut self, trace: &str) -> io::Result<()> {
        self.steps = self.formulas.iter().map(|_| Vec::new()).collect();
        self.traces.push(TraceShape { trace: trace.to_owned(), ..TraceShape::default() });
        Ok(())
    }

    fn unreadable(&mut self, trace: &str) -> io::Result<()> {
        self.traces.push(TraceShape { trace: trace.to_owned(), unreadable: true, ..TraceShape::default() });
        Ok(())
    }

    fn step(&mut self, step: &TraceStep<'_>) -> io::Result<()> {
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

    fn end(&mut self, judged: &TraceResult) -> io::Result<()> {
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
        let formula = |listed: &ListedFormula| FormulaShape {
            formula: listed.number,
            text: listed.show(self.spelling),
            place: listed.place.clone(),
        };
        let document = DocumentShape {
            v: DOCUMENT_VERSION,
            verdict: worst,
            formulas: self.formulas.iter().map(formula).collect(),
            traces: std::mem::take(&mut self.traces),
        };
        serde_json::to_writer_pretty(&mut self.out, &document)?;
        self.out.write_all(b"\n")
    }
}
