//! The report as text: every step as it is read, then the verdicts with their reasons.
//!
//! A verdict with a question mark is presumptive: the verdict if the trace ended at that step.

use std::io::{self, Write};

use lictor_logic::{Moment, Spelling, Verdict};

use super::paint::Paint;
use super::witness;
use crate::formulas::ListedFormula;
use crate::judge::{FormulaFinding, FormulaStatus, TraceReport, TraceResult, TraceStep};

/// The width of the facts column before the residual, where there is room.
const FACTS_WIDTH: usize = 30;

/// A report that writes text.
pub(crate) struct TextReport<'a> {
    out: &'a mut dyn Write,
    paint: Paint,
    formulas: &'a [ListedFormula],
    spelling: Spelling,
    many_traces: bool,
    quiet: bool,
    resets: bool,
    trace: String,
    /// The last output for each formula.
    said: Vec<(String, String)>,
    /// How many steps were not shown because every verdict was definite.
    silent: u64,
}

impl<'a> TextReport<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, formulas: &'a [ListedFormula], spelling: Spelling) -> TextReport<'a> {
        TextReport {
            out,
            paint: Paint::for_stdout(),
            formulas,
            spelling,
            many_traces: false,
            quiet: false,
            resets: false,
            trace: String::new(),
            said: Vec::new(),
            silent: 0,
        }
    }

    /// Sets whether there are several traces.
    pub(crate) fn many_traces(self, many_traces: bool) -> TextReport<'a> {
        TextReport { many_traces, ..self }
    }

    /// Sets whether only verdicts are written.
    pub(crate) fn quiet(self, quiet: bool) -> TextReport<'a> {
        TextReport { quiet, ..self }
    }

    /// Sets whether formulas restart after a definite verdict.
    pub(crate) fn resets(self, resets: bool) -> TextReport<'a> {
        TextReport { resets, ..self }
    }

    fn one(&mut self, step: &TraceStep<'_>, number: &str, facts: &str) -> io::Result<()> {
        let [reading] = step.readings else { return Ok(()) };
        let (word, residual) = self.words(reading);
        let changed = self.said.first().is_none_or(|(_, said)| *said != residual);
        let verdict = self.verdict(reading, &word);
        let width = facts.chars().count();
        // The residual is beside the facts, or below them if that would be too far to the right.
        let left = match (changed && !residual.is_empty(), width <= FACTS_WIDTH) {
            (false, _) => String::new(),
            (true, true) => format!("{:1$}  {residual}", "", FACTS_WIDTH - width),
            (true, false) => format!("\n{:20}  {residual}", ""),
        };
        writeln!(self.out, "{number:>4}  {verdict}  {facts}{left}")?;
        self.said = vec![(word, residual)];
        Ok(())
    }

    fn many(&mut self, step: &TraceStep<'_>, number: &str, facts: &str) -> io::Result<()> {
        writeln!(self.out, "{number:>4}  {facts}")?;
        for (index, reading) in step.readings.iter().enumerate() {
            let (word, residual) = self.words(reading);
            let now = (word, residual);
            if self.said.get(index) != Some(&now) || self.resets && reading.verdict.is_definite() {
                let verdict = self.verdict(reading, &now.0);
                let line = format!("      {:>3}. {verdict}  {}", index + 1, now.1);
                writeln!(self.out, "{}", line.trim_end())?;
            }
            match self.said.get_mut(index) {
                Some(said) => *said = now,
                None => self.said.push(now),
            }
        }
        Ok(())
    }

    fn words(&self, reading: &FormulaStatus) -> (String, String) {
        let word = match reading.presumptive {
            Some(Verdict::Satisfied) => "satisfied?".to_owned(),
            Some(Verdict::Violated) => "violated?".to_owned(),
            _ => reading.verdict.to_string(),
        };
        let residual = reading.residual.as_ref().map(|residual| residual.show(self.spelling).to_string());
        (word, residual.unwrap_or_default())
    }

    fn verdict(&self, reading: &FormulaStatus, word: &str) -> String {
        self.paint.verdict(reading.verdict, &format!("{word:12}"))
    }

    fn finding(&mut self, index: usize, finding: &FormulaFinding, judged: &TraceResult) -> io::Result<()> {
        let Some(listed) = self.formulas.get(index) else { return Ok(()) };
        let number = if self.formulas.len() > 1 { format!("{:>3}. ", listed.number) } else { String::new() };
        let verdict = self.paint.verdict(finding.verdict, &finding.verdict.to_string());
        let when = describe_moment(finding, judged);
        let counts = match finding.counts {
            counts if self.resets => format!(" (satisfied {}, violated {} times)", counts.satisfied, counts.violated),
            _ => String::new(),
        };
        writeln!(self.out, "{number}{verdict}{when}{counts}: {}", self.paint.bold(&listed.show(self.spelling)))?;
        for line in witness::excerpt(finding, judged, &self.trace, self.spelling) {
            writeln!(self.out, "  {line}")?;
        }
        if finding.too_long {
            writeln!(self.out, "  no witness: the trace is too long to search for one")?;
        }
        Ok(())
    }
}

/// Returns when a verdict became definite, in words.
pub(crate) fn describe_moment(finding: &FormulaFinding, judged: &TraceResult) -> String {
    match (&finding.decision, finding.end) {
        (Some(decision), _) if decision.position == 0 && decision.tick.is_none() => ", whatever the trace".to_owned(),
        (Some(decision), _) => match decision.tick {
            Some(tick) => format!(" after step {}, at {}", decision.position, judged.clock.show(tick)),
            None => format!(" at step {}", decision.position),
        },
        (None, Some(_)) => " at the end".to_owned(),
        (None, None) => " so far".to_owned(),
    }
}

impl TraceReport for TextReport<'_> {
    fn begin(&mut self, trace: &str) -> io::Result<()> {
        if self.many_traces {
            let gap = if self.trace.is_empty() || self.quiet { "" } else { "\n" };
            writeln!(self.out, "{gap}{}", self.paint.bold(trace))?;
        }
        self.trace = trace.to_owned();
        self.said.clear();
        self.silent = 0;
        Ok(())
    }

    fn step(&mut self, step: &TraceStep<'_>) -> io::Result<()> {
        let latched = !self.resets && !self.said.is_empty() && self.said.iter().all(|(word, _)| is_definite(word));
        if latched {
            self.silent += 1;
            return Ok(());
        }
        let (number, facts) = match step.moment {
            Moment::Position(facts) => {
                let time = facts.time.map_or(String::new(), |time| format!(" at {}", step.clock.show(time)));
                (step.position.to_string(), format!("{facts}{time}"))
            }
            Moment::Tick(now) => (String::new(), format!("{} passes", step.clock.show(*now))),
        };
        match step.readings.len() {
            1 => self.one(step, &number, &facts),
            _ => self.many(step, &number, &facts),
        }?;
        if self.trace == crate::trace::STDIN { self.out.flush() } else { Ok(()) }
    }

    fn end(&mut self, judged: &TraceResult) -> io::Result<()> {
        if self.silent > 0 {
            let lines = if self.silent == 1 { "line changes" } else { "lines change" };
            writeln!(self.out, "      {} more {lines} nothing", self.silent)?;
        }
        if !self.quiet && judged.positions > 0 {
            writeln!(self.out)?;
        }
        for (index, finding) in judged.findings.iter().enumerate() {
            let gap = index > 0 && (finding.witness.is_some() || judged.findings[index - 1].witness.is_some());
            if gap {
                writeln!(self.out)?;
            }
            self.finding(index, finding, judged)?;
        }
        Ok(())
    }

    fn finish(&mut self, _worst: Option<Verdict>) -> io::Result<()> {
        Ok(())
    }
}

fn is_definite(word: &str) -> bool {
    word == "satisfied" || word == "violated"
}
