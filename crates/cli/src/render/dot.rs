//! An automaton for Graphviz.

use std::fmt::Write;

use lictor_logic::{Automaton, Spelling, Verdict};

use super::automaton::{condition, format_verdict};

/// Returns the automaton in the DOT language.
pub(crate) fn draw(automaton: &Automaton, spelling: Spelling) -> String {
    let mut text = String::from("digraph automaton {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    text.push_str("  start [shape=point];\n  start -> 0;\n");
    for (number, state) in automaton.states.iter().enumerate() {
        let label = format!("{number}: {}\n{}", format_verdict(state), state.residual.show(spelling));
        let color = match state.verdict {
            Verdict::Satisfied => ", color=darkgreen",
            Verdict::Inconclusive => "",
            Verdict::Violated => ", color=red3",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {number} [label=\"{}\"{color}];", escaped(&label));
    }
    for edge in &automaton.edges {
        let style = if edge.deadline { ", style=dashed" } else { "" };
        let label = escaped(&condition(edge, spelling));
        let _ = writeln!(text, "  {} -> {} [label=\"{label}\"{style}];", edge.from, edge.to);
    }
    text.push_str("}\n");
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
