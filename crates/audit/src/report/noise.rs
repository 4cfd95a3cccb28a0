//! The labels on which findings rest, in words.

use std::io::{self, Write};

use super::words::escape_hidden;
use crate::noise::{FindingNoise, TurningLabel};

/// The most findings that are listed.
const MAX_LISTED: usize = 50;

/// Writes for each finding the labels each of which, if it alone were wrong, would turn it.
pub(super) fn write_noise(noise: &[FindingNoise], out: &mut dyn Write) -> io::Result<()> {
    let resting: Vec<&FindingNoise> = noise.iter().filter(|it| !it.turning.is_empty()).collect();
    writeln!(out, "\n  noise       {} of {} findings rest on a single label", resting.len(), noise.len())?;
    for it in resting.iter().take(MAX_LISTED) {
        let (property, session) = (escape_hidden(&it.property), escape_hidden(&it.session));
        writeln!(out, "  {property}, session {session}, step {}: turns if wrong", it.step)?;
        for label in &it.turning {
            writeln!(out, "    {}", describe_label(label))?;
        }
    }
    if resting.len() > MAX_LISTED {
        writeln!(out, "  and {} more; --format json has all", resting.len() - MAX_LISTED)?;
    }
    let untried = noise.iter().filter(|it| !it.is_complete).count();
    if untried > 0 {
        writeln!(out, "  not all labels were tried for {untried} findings: their sessions are too long")?;
    }
    Ok(())
}

fn describe_label(label: &TurningLabel) -> String {
    let TurningLabel { step, fact, says, by, score } = label;
    let by = by.as_ref().map_or("in the log".to_owned(), |by| format!("by {}", escape_hidden(by)));
    let score = score.map(|score| format!(", score {score:.3}")).unwrap_or_default();
    format!("{} at step {step}: {} {by}{score}", escape_hidden(fact), says.name())
}
