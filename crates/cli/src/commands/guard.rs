//! `lictor guard`: decides on events as they come, for a program in any language to drive.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use lictor::decode::{Fault, Record};
use lictor::event::Event;
use lictor::guard::{Action, Decision};
use lictor::json;
use lictor_warden::Answer;

use crate::args::GuardArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::opening::{self, now};

/// The longest line that is taken.
const MOST_BYTES: u64 = 64 << 20;

/// Decides on the events of standard input.
pub(crate) fn run(args: &GuardArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut warden = opening::open(&args.warden, Duration::ZERO)?;
    let mut lines = Lines { input: std::io::stdin().lock(), number: 0 };
    let mut outcome = Outcome::Compliant;
    let mut events = 0u64;
    while let Some(line) = lines.next().context("cannot read standard input")? {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        events += 1;
        let answer = match read(&line) {
            Ok(event) => warden.decide(&event, Some(now())),
            Err(fault) => {
                outcome = outcome.max(Outcome::Unjudged);
                let refused = warden.refuse(fault.code, &line.bytes, Some(now()));
                let said = refusal(fault.line, &format!("{}: {}", fault.code, fault.message)).to_string();
                refused.map(|()| Answer { line: said, decision: None })
            }
        };
        match answer {
            Ok(answer) => {
                outcome = outcome.max(answer.decision.as_ref().map_or(Outcome::Compliant, weight));
                writeln!(out, "{}", answer.line)?;
            }
            // What cannot be written down does not go on.
            Err(error) => {
                outcome = outcome.max(Outcome::Unjudged);
                complaint::error(&error.to_string());
                writeln!(out, "{}", refusal(line.number, &format!("audit.unavailable: {error}")))?;
            }
        }
        // Whoever drives the guard waits for the answer.
        out.flush()?;
    }
    warden.close()?;
    anyhow::ensure!(events > 0, "there was not a single event on standard input; write one JSON object a line");
    Ok(outcome)
}

/// A line of the input.
struct Line {
    bytes: Vec<u8>,
    number: u32,
}

struct Lines<R> {
    input: R,
    number: u32,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> std::io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let read = std::io::Read::take(&mut self.input, MOST_BYTES).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Line { bytes, number: self.number }))
    }
}

/// The event of a line.
fn read(line: &Line) -> Result<Event, Fault> {
    let file: Arc<str> = "-".into();
    let fault = |code: &'static str, message: String| Fault {
        file: Arc::clone(&file),
        line: line.number,
        column: None,
        code,
        message,
    };
    let value = json::parse(line.bytes.trim_ascii_end()).map_err(|error| fault(error.code, error.message))?;
    let index = line.number.saturating_sub(1);
    Record { value, file: Arc::clone(&file), line: line.number, index }.native_event()
}

/// The decision on a line that is no event: what cannot be understood does not go on.
fn refusal(line: u32, reason: &str) -> serde_json::Value {
    serde_json::json!({
        "lictor": 1,
        "type": "decision",
        "action": Action::Block.name(),
        "line": line,
        "step": null,
        "refused": reason,
    })
}

/// What a decision makes of the exit code.
fn weight(decision: &Decision) -> Outcome {
    let is_plain = decision.action == Action::Forward && decision.settled.iter().all(|it| it.action == Action::Forward);
    if is_plain { Outcome::Compliant } else { Outcome::Findings }
}
