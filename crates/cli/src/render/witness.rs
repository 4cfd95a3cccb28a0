//! A witness as JSON and as text: the deciding lines of the trace, with the facts that held and those that did not.

use lictor_logic::{Spelling, Value, Verdict, Witness, WitnessBasis, WitnessStep};
use serde::Serialize;

use crate::judge::{FormulaFinding, TraceResult};

/// A witness in JSON.
#[derive(Serialize)]
pub(crate) struct WitnessShape {
    verdict: Verdict,
    /// Whether the verdict depends on the end of the trace.
    at_end: bool,
    /// Only if the steps do not prove the verdict: they are the last ones at which the residual changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
    /// The values of quantified variables that decided the verdict.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    binding: serde_json::Map<String, serde_json::Value>,
    steps: Vec<WitnessStepShape>,
}

#[derive(Serialize)]
struct WitnessStepShape {
    step: usize,
    line: u64,
    present: Vec<String>,
    absent: Vec<String>,
    residual: String,
}

impl WitnessShape {
    /// Returns the witness of a finding, if it has one.
    pub(crate) fn from_finding(finding: &FormulaFinding, spelling: Spelling) -> Option<WitnessShape> {
        let witness = finding.witness.as_ref()?;
        let step = |(step, line): (&WitnessStep, &u64)| WitnessStepShape {
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
            basis: (witness.basis != WitnessBasis::Proof).then(|| witness.basis.name()),
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
    pub(crate) fn from_finding(finding: &FormulaFinding) -> CountsShape {
        CountsShape { satisfied: finding.counts.satisfied, violated: finding.counts.violated }
    }
}

/// Returns a finding as an excerpt of its trace, with line numbers and the facts that mattered.
pub(crate) fn excerpt(finding: &FormulaFinding, judged: &TraceResult, trace: &str, spelling: Spelling) -> Vec<String> {
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
    let runs = group_steps(witness);
    for (index, run) in runs.iter().enumerate() {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let line = finding.lines.get(witness.steps.len() - count_remaining(&runs, index)).copied();
        let steps = steps(first, last);
        row(line, &format!("{steps}: {}", relevant_facts(last)));
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
    if witness.basis != WitnessBasis::Proof {
        row(None, "(incomplete: the search reached its budget; these are the last steps that changed what must hold)");
    }
    text
}

/// Groups consecutive steps of a witness with the same facts.
pub(crate) fn group_steps(witness: &Witness) -> Vec<&[WitnessStep]> {
    let same =
        |a: &WitnessStep, b: &WitnessStep| a.position + 1 == b.position && relevant_facts(a) == relevant_facts(b);
    witness.steps.chunk_by(same).collect()
}

/// Returns how many steps are in a group and all later ones.
fn count_remaining(runs: &[&[WitnessStep]], from: usize) -> usize {
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

/// Returns the relevant facts of a step: those that held and those that did not.
pub(crate) fn relevant_facts(step: &WitnessStep) -> String {
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
