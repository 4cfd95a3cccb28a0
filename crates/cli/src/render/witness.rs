//! A witness as data and as text: the lines of the trace that decided, each with what was there and what was not.

use lictor_logic::{Spelling, Value, Verdict, Witness, WitnessStep};
use serde::Serialize;

use crate::judge::{Finding, Judged};

/// A witness in JSON.
#[derive(Serialize)]
pub(crate) struct WitnessShape {
    verdict: Verdict,
    /// Does the verdict need the trace to end?
    at_end: bool,
    /// The values of quantified variables that brought the verdict.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    binding: serde_json::Map<String, serde_json::Value>,
    steps: Vec<StepShape>,
}

#[derive(Serialize)]
struct StepShape {
    step: usize,
    line: u64,
    present: Vec<String>,
    absent: Vec<String>,
    residual: String,
}

impl WitnessShape {
    /// The witness of a finding, if it has one.
    pub(crate) fn of(finding: &Finding, spelling: Spelling) -> Option<WitnessShape> {
        let witness = finding.witness.as_ref()?;
        let step = |(step, line): (&WitnessStep, &u64)| StepShape {
            step: step.position,
            line: *line,
            present: step.present.iter().map(ToString::to_string).collect(),
            absent: step.absent.iter().map(ToString::to_string).collect(),
            residual: step.residual.show(spelling).to_string(),
        };
        let value = |value: &Value| serde_json::to_value(value).unwrap_or(serde_json::Value::Null);
        Some(WitnessShape {
            verdict: witness.verdict,
            at_end: witness.at_end,
            binding: witness.binding.iter().map(|(name, bound)| (name.to_string(), value(bound))).collect(),
            steps: witness.steps.iter().zip(&finding.lines).map(step).collect(),
        })
    }
}

/// How often a formula was decided, in JSON.
#[derive(Serialize)]
pub(crate) struct CountsShape {
    satisfied: u32,
    violated: u32,
}

impl CountsShape {
    pub(crate) fn of(finding: &Finding) -> CountsShape {
        CountsShape { satisfied: finding.counts.satisfied, violated: finding.counts.violated }
    }
}

/// A finding as an excerpt of its trace: line numbers in the margin, what mattered beside them.
pub(crate) fn excerpt(finding: &Finding, judged: &Judged, trace: &str, spelling: Spelling) -> Vec<String> {
    let Some(witness) = &finding.witness else { return Vec::new() };
    let tick = finding.decision.as_ref().and_then(|decision| Some((decision.line, decision.tick?)));
    if witness.steps.is_empty() && tick.is_none() && !witness.at_end {
        return Vec::new();
    }
    let place = finding.decision.as_ref().map_or(judged.last_line, |decision| decision.line);
    let margin = judged.last_line.to_string().len();
    let mut text = vec![format!("{:margin$}--> {trace}:{place}", "")];
    let mut row = |line: Option<u64>, words: &str| {
        let number = line.map_or(String::new(), |line| line.to_string());
        text.push(format!("{number:>margin$} | {words}").trim_end().to_owned());
    };
    row(None, "");
    if !witness.binding.is_empty() {
        row(None, &format!("for {}", binding(witness)));
    }
    let mut said = String::new();
    let runs = runs(witness);
    for (index, run) in runs.iter().enumerate() {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let line = finding.lines.get(witness.steps.len() - left(&runs, index)).copied();
        let steps = steps(first, last);
        row(line, &format!("{steps}: {}", mattered(last)));
        let residual = last.residual.show(spelling).to_string();
        let is_last = index + 1 == runs.len() && tick.is_none() && !witness.at_end;
        if !is_last && residual != said {
            row(None, &format!("{:1$}still to hold: {residual}", "", steps.len() + 2));
        }
        said = residual;
    }
    if let Some((line, tick)) = tick {
        row(Some(line), &format!("then {} passes", judged.clock.show(tick)));
    }
    if witness.at_end {
        row(None, "then the trace ends");
    }
    text
}

/// The steps of a witness, those together that follow each other and tell the same.
pub(crate) fn runs(witness: &Witness) -> Vec<&[WitnessStep]> {
    let same = |a: &WitnessStep, b: &WitnessStep| a.position + 1 == b.position && mattered(a) == mattered(b);
    witness.steps.chunk_by(same).collect()
}

/// How many steps are in a run and all after it.
fn left(runs: &[&[WitnessStep]], from: usize) -> usize {
    runs.iter().skip(from).map(|run| run.len()).sum()
}

/// `step 3`, `steps 3 to 7`
pub(crate) fn steps(first: &WitnessStep, last: &WitnessStep) -> String {
    match first.position == last.position {
        true => format!("step {}", first.position),
        false => format!("steps {} to {}", first.position, last.position),
    }
}

/// `u = "alice"`
pub(crate) fn binding(witness: &Witness) -> String {
    let parts: Vec<String> = witness.binding.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    parts.join(", ")
}

/// What held and what did not, of all that matters at a step.
pub(crate) fn mattered(step: &WitnessStep) -> String {
    let list = |items: Vec<String>| match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    };
    let present = list(step.present.iter().map(ToString::to_string).collect());
    let absent = list(step.absent.iter().map(|atom| format!("no {atom}")).collect());
    match (present.is_empty(), absent.is_empty()) {
        (false, false) => format!("{present}, but {absent}"),
        (_, true) => present,
        (true, _) => absent,
    }
}
