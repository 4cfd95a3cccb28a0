//! An automaton as text and as JSON. States have numbers; the start is 0.

use std::io::{self, Write};

use lictor_logic::{Automaton, AutomatonEdge, AutomatonState, Spelling, Verdict};
use serde::Serialize;

/// Returns the verdict of a state, with a question mark if it is presumptive.
pub(crate) fn format_verdict(state: &AutomatonState) -> String {
    match (state.verdict, state.at_end) {
        (Verdict::Inconclusive, Verdict::Inconclusive) => "inconclusive".to_owned(),
        (Verdict::Inconclusive, presumptive) => format!("{presumptive}?"),
        (verdict, _) => verdict.to_string(),
    }
}

/// Returns the condition of an edge.
pub(crate) fn condition(edge: &AutomatonEdge, spelling: Spelling) -> String {
    if edge.deadline { "deadline passes".to_owned() } else { edge.guard.show(spelling).to_string() }
}

/// Writes the states with their outgoing edges.
pub(crate) fn write(out: &mut dyn Write, automaton: &Automaton, spelling: Spelling) -> io::Result<()> {
    for (number, state) in automaton.states.iter().enumerate() {
        let start = if number == 0 { " (start)" } else { "" };
        writeln!(out, "  {number}{start}  {}: {}", format_verdict(state), state.residual.show(spelling))?;
        let edges: Vec<&AutomatonEdge> = automaton.edges.iter().filter(|edge| edge.from == number).collect();
        if state.verdict.is_definite() {
            continue;
        }
        for edge in edges {
            writeln!(out, "      {} -> {}", condition(edge, spelling), edge.to)?;
        }
    }
    Ok(())
}

/// An automaton in JSON.
#[derive(Serialize)]
pub(crate) struct AutomatonShape {
    states: Vec<StateShape>,
    edges: Vec<EdgeShape>,
}

#[derive(Serialize)]
struct StateShape {
    state: usize,
    residual: String,
    verdict: Verdict,
    at_end: Verdict,
}

#[derive(Serialize)]
struct EdgeShape {
    from: usize,
    to: usize,
    guard: String,
    deadline: bool,
}

impl AutomatonShape {
    pub(crate) fn new(automaton: &Automaton, spelling: Spelling) -> AutomatonShape {
        let state = |(state, it): (usize, &AutomatonState)| StateShape {
            state,
            residual: it.residual.show(spelling).to_string(),
            verdict: it.verdict,
            at_end: it.at_end,
        };
        let edge = |edge: &AutomatonEdge| EdgeShape {
            from: edge.from,
            to: edge.to,
            guard: edge.guard.show(spelling).to_string(),
            deadline: edge.deadline,
        };
        AutomatonShape {
            states: automaton.states.iter().enumerate().map(state).collect(),
            edges: automaton.edges.iter().map(edge).collect(),
        }
    }
}
