//! The report as JSON lines: one object per step and formula, written at once, and one for the end.

use std::io::{self, Write};

use lictor_logic::{Moment, Spelling, Verdict};
use serde::Serialize;

use super::witness::{CountsShape, WitnessShape};
use crate::judge::{TraceReport, TraceResult, TraceStep};

/// A report that writes one object per line.
pub(crate) struct JsonlReport<'a> {
    out: &'a mut dyn Write,
    spelling: Spelling,
    /// Whether every object names its formula and its trace.
    many_formulas: bool,
    many_traces: bool,
    resets: bool,
    /// Whether to flush after each line.
    is_live: bool,
    trace: String,
}

impl<'a> JsonlReport<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, spelling: Spelling) -> JsonlReport<'a> {
        let (many_formulas, many_traces, resets, is_live) = (false, false, false, false);
        JsonlReport { out, spelling, many_formulas, many_traces, resets, is_live, trace: String::new() }
    }

    /// Sets whether objects name their formula.
    pub(crate) fn many_formulas(self, many_formulas: bool) -> JsonlReport<'a> {
        JsonlReport { many_formulas, ..self }
    }

    /// Sets whether objects name their trace.
    pub(crate) fn many_traces(self, many_traces: bool) -> JsonlReport<'a> {
        JsonlReport { many_traces, ..self }
    }

    /// Sets whether formulas restart after a definite verdict.
    pub(crate) fn resets(self, resets: bool) -> JsonlReport<'a> {
        JsonlReport { resets, ..self }
    }

    fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    fn formula(&self, index: usize) -> Option<usize> {
        self.many_formulas.then_some(index + 1)
    }

    fn trace(&self) -> Option<String> {
        self.many_traces.then(|| self.trace.clone())
    }
}

#[derive(Serialize)]
struct StepObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<usize>,
    /// Whether it is a tick after the step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tick: bool,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    residual: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presumptive: Option<Verdict>,
}

#[derive(Serialize)]
struct EndObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<usize>,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<CountsShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<WitnessShape>,
}

impl TraceReport for JsonlReport<'_> {
    fn begin(&mut self, trace: &str) -> io::Result<()> {
        self.is_live = trace == crate::trace::STDIN;
        self.trace = trace.to_owned();
        Ok(())
    }

    fn step(&mut self, step: &TraceStep<'_>) -> io::Result<()> {
        for (index, reading) in step.readings.iter().enumerate() {
            let residual = reading.residual.as_ref().map(|residual| residual.show(self.spelling).to_string());
            self.write(&StepObject {
                trace: self.trace(),
                step: step.position,
                formula: self.formula(index),
                tick: matches!(step.moment, Moment::Tick(_)),
                verdict: reading.verdict,
                residual,
                presumptive: reading.presumptive,
            })?;
        }
        if self.is_live { self.out.flush() } else { Ok(()) }
    }

    fn end(&mut self, judged: &TraceResult) -> io::Result<()> {
        for (index, finding) in judged.findings.iter().enumerate() {
            let Some(verdict) = finding.end else { continue };
            self.write(&EndObject {
                trace: self.trace(),
                end: true,
                formula: self.formula(index),
                verdict,
                counts: self.resets.then(|| CountsShape::from_finding(finding)),
                witness: WitnessShape::from_finding(finding, self.spelling),
            })?;
        }
        Ok(())
    }

    fn finish(&mut self, _worst: Option<Verdict>) -> io::Result<()> {
        Ok(())
    }
}
