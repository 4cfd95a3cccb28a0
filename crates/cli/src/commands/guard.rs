//! `lictor guard`: decides on events as they come, for a program in any language to drive.

use std::io::{BufRead, Write};
use std::sync::Arc;

use anyhow::Context;
use lictor::decode::{Decoded, Fault, Format, Record};
use lictor::event::Event;
use lictor::guard::{Action, Decision, Guard, Options};
use lictor::json;
use lictor::judge::Judge;
use lictor_logic::{Span, Time};

use crate::args::GuardArgs;
use crate::exit::Outcome;
use crate::policies;

/// The longest line that is taken.
const MOST_BYTES: u64 = 64 << 20;

/// Decides on the events of standard input.
pub(crate) fn run(args: &GuardArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.policy.as_deref(), &args.only)?;
    let judge = Judge::new(&policy).map_err(|problems| anyhow::anyhow!("{}", policies::render(&problems)))?;
    let patience = Span(u64::from(args.patience) * 1_000_000_000);
    let mut guard = Guard::new(judge, Options { patience, content: args.show_content });
    let mut lines = Lines { input: std::io::stdin().lock(), number: 0 };
    let mut outcome = Outcome::Compliant;
    let mut events = 0u64;
    while let Some(line) = lines.next().context("cannot read standard input")? {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        events += 1;
        match read(&line) {
            Ok(event) => {
                let decision = guard.decide(&event, Some(now()));
                outcome = outcome.max(weight(&decision));
                writeln!(out, "{}", decision.line())?;
            }
            Err(fault) => {
                outcome = outcome.max(Outcome::Unjudged);
                writeln!(out, "{}", refusal(&fault))?;
            }
        }
        // Whoever drives the guard waits for the answer.
        out.flush()?;
    }
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
    let mut decoded = Decoded::default();
    let index = line.number.saturating_sub(1);
    let record = Record { value, file: Arc::clone(&file), line: line.number, index };
    Format::Native.decoder().record(record, &mut decoded);
    match (decoded.events.pop(), decoded.faults.pop()) {
        (Some(event), None) => Ok(event),
        (_, Some(fault)) => Err(fault),
        (None, None) => Err(fault("native.record", "this is no event".to_owned())),
    }
}

/// The decision on a line that is no event: what cannot be understood does not go on.
fn refusal(fault: &Fault) -> serde_json::Value {
    serde_json::json!({
        "lictor": 1,
        "type": "decision",
        "action": Action::Block.name(),
        "line": fault.line,
        "step": null,
        "refused": format!("{}: {}", fault.code, fault.message),
    })
}

/// What a decision makes of the exit code.
fn weight(decision: &Decision) -> Outcome {
    let is_plain = decision.action == Action::Forward && decision.settled.iter().all(|it| it.action == Action::Forward);
    if is_plain { Outcome::Compliant } else { Outcome::Findings }
}

fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}
