//! Example traces: `{request} {} {answer} @5s`, or as lines for `lictor eval`.

use lictor_logic::analysis::Lasso;
use lictor_logic::{Facts, Span};
use serde::Serialize;

/// Formats a finite trace.
pub(crate) fn trace(trace: &[Facts]) -> String {
    trace.iter().map(position).collect::<Vec<_>>().join(" ")
}

/// Formats an infinite trace; the repeated part is in parentheses.
pub(crate) fn lasso(lasso: &Lasso) -> String {
    let cycle = format!("({})*", trace(&lasso.cycle));
    if lasso.stem.is_empty() { cycle } else { format!("{} {cycle}", trace(&lasso.stem)) }
}

fn position(facts: &Facts) -> String {
    match facts.time {
        Some(time) => format!("{facts}@{}", Span(time.0.unsigned_abs())),
        None => facts.to_string(),
    }
}

/// A position as a line of a trace.
#[derive(Serialize)]
pub(crate) struct PositionShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    facts: Vec<String>,
}

/// Returns a finite trace as lines.
pub(crate) fn shape(trace: &[Facts]) -> Vec<PositionShape> {
    let position = |facts: &Facts| PositionShape {
        time: facts.time.map(|time| time.0 as f64 / 1e9),
        facts: facts.known.iter().map(ToString::to_string).collect(),
    };
    trace.iter().map(position).collect()
}
