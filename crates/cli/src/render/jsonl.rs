//! One object a step and formula, written as soon as the step is read; a last one for the end.

use std::io::{self, Write};

use lictor_logic::{Moment, Spelling, Verdict};
use serde::Serialize;

use super::Report;
use super::witness::{CountsShape, WitnessShape};
use crate::judge::{Judged, Step};

/// Writes objects, one a line.
pub(crate) struct Jsonl<'a> {
    out: &'a mut dyn Write,
    spelling: Spelling,
    /// Does every object say which formula it is about, and which trace?
    many_formulas: bool,
    many_traces: bool,
    resets: bool,
    /// Is somebody waiting for each line?
    is_live: bool,
    trace: String,
}

impl<'a> Jsonl<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, spelling: Spelling) -> Jsonl<'a> {
        let (many_formulas, many_traces, resets, is_live) = (false, false, false, false);
        Jsonl { out, spelling, many_formulas, many_traces, resets, is_live, trace: String::new() }
    }

    /// Formulas are told apart.
    pub(crate) fn many_formulas(self, many_formulas: bool) -> Jsonl<'a> {
        Jsonl { many_formulas, ..self }
    }

    /// Traces are told apart.
    pub(crate) fn many_traces(self, many_traces: bool) -> Jsonl<'a> {
        Jsonl { many_traces, ..self }
    }

    /// Formulas begin anew after each definite verdict.
    pub(crate) fn resets(self, resets: bool) -> Jsonl<'a> {
        Jsonl { resets, ..self }
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
    /// No step: time passed after it.
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

impl Report for Jsonl<'_> {
    fn begin(&mut self, trace: &str) -> io::Result<()> {
        self.is_live = trace == crate::trace::STDIN;
        self.trace = trace.to_owned();
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>) -> io::Result<()> {
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

    fn end(&mut self, judged: &Judged) -> io::Result<()> {
        for (index, finding) in judged.findings.iter().enumerate() {
            let Some(verdict) = finding.end else { continue };
            self.write(&EndObject {
                trace: self.trace(),
                end: true,
                formula: self.formula(index),
                verdict,
                counts: self.resets.then(|| CountsShape::of(finding)),
                witness: WitnessShape::of(finding, self.spelling),
            })?;
        }
        Ok(())
    }

    fn finish(&mut self, _worst: Option<Verdict>) -> io::Result<()> {
        Ok(())
    }
}
