//! `lictor guard`: decides on events as they come, for a program in any language to drive.
//!
//! Lines are read on one thread, decided on by the desk on another, and answered here, in the order in which they came.
//! Whoever drives the guard may wait for each answer or send many lines at once: those are decided one after the other
//! and written down together. What time brings about is said between the answers, when it is due.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use anyhow::Context;
use lictor::decode::{Fault, LogRecord};
use lictor::event::Event;
use lictor::guard::{Action, Decision};
use lictor::json;
use lictor_warden::{Answer, Notice, RefusedInput, TimeOutcome, WardenError, WardenHandle};

use crate::args::GuardArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::{policies, wardens};

/// The longest line that is taken.
const MOST_BYTES: u64 = 64 << 20;

/// How many lines may wait for their answers.
const MOST_WAITING: usize = 1024;

/// What is to be said, and what it makes of the exit code.
struct Said {
    text: String,
    outcome: Outcome,
    /// What went wrong on our side, for whoever looks after the guard.
    complaint: Option<String>,
    /// Whether it answers a line.
    is_answer: bool,
}

/// Decides on the events of standard input.
pub(crate) fn run(args: &GuardArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.by.policy.as_deref(), &args.by.only)?;
    let warden = wardens::open(&args.warden, &policy, Duration::ZERO)?;
    let (said, to_say) = channel();
    let (waiting, answered) = sync_channel(MOST_WAITING);
    let notices = Sender::clone(&said);
    // Nobody listens any more only if the answers cannot be written, which is found out there.
    let told = move |notice| notices.send(news(notice)).unwrap_or_default();
    let desk = WardenHandle::open(warden, wardens::now, told)?;
    let reader = std::thread::spawn(move || read_all(desk, &said, &waiting));
    let mut outcome = Outcome::Compliant;
    for said in to_say {
        outcome = outcome.max(said.outcome);
        said.complaint.iter().for_each(|text| complaint::error(text));
        writeln!(out, "{}", said.text)?;
        // Whoever drives the guard waits for the answer.
        out.flush()?;
        if said.is_answer {
            answered.recv().unwrap_or_default();
        }
    }
    let lines = reader.join().map_err(|_| anyhow::anyhow!("the thread that reads standard input has died"))??;
    anyhow::ensure!(lines > 0, "there was not a single event on standard input; write one JSON object a line");
    Ok(outcome)
}

/// Asks about every line, and tells how many there were.
fn read_all(desk: WardenHandle, said: &Sender<Said>, waiting: &SyncSender<()>) -> anyhow::Result<u64> {
    let mut lines = Lines { input: std::io::stdin().lock(), number: 0 };
    let mut count = 0;
    while let Some(line) = lines.next().context("cannot read standard input")? {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        count += 1;
        if waiting.send(()).is_err() {
            break;
        }
        let (said, number) = (Sender::clone(said), line.number);
        match read(&line) {
            Ok(event) => desk.decide(vec![event], move |answers| {
                for answer in answer(number, answers) {
                    said.send(answer).unwrap_or_default();
                }
            }),
            Err(fault) => {
                let refused = RefusedInput::new(fault.code, &line.bytes);
                desk.refuse(refused, move |written| said.send(refusing(&fault, written)).unwrap_or_default());
            }
        }
    }
    desk.close()?;
    Ok(count)
}

/// The answer to a line, and what the end of a session leaves behind it.
fn answer(line: u32, answers: Result<Vec<Answer>, Arc<WardenError>>) -> Vec<Said> {
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => return vec![unavailable(line, &error)],
    };
    let said = |answer: Answer| {
        let outcome = if answer.is_duplicate { Outcome::Compliant } else { weight(&answer.decision) };
        let first = Said { text: answer.line(), outcome, complaint: None, is_answer: true };
        std::iter::once(first).chain(answer.owed.into_iter().map(|notice| news(Ok(notice))))
    };
    answers.into_iter().flat_map(said).collect()
}

/// The answer to a line that is no event: what cannot be understood does not go on.
fn refusing(fault: &Fault, written: Result<(), Arc<WardenError>>) -> Said {
    if let Err(error) = written {
        return unavailable(fault.line, &error);
    }
    let text = refusal(fault.line, &format!("{}: {}", fault.code, fault.message));
    Said { text, outcome: Outcome::Unjudged, complaint: None, is_answer: true }
}

/// The answer to a line when a decision cannot be kept: what cannot be written down does not go on.
fn unavailable(line: u32, error: &WardenError) -> Said {
    let text = refusal(line, &format!("audit.unavailable: {error}"));
    Said { text, outcome: Outcome::Unjudged, complaint: Some(error.to_string()), is_answer: true }
}

/// What time brought about.
fn news(notice: Result<Notice, WardenError>) -> Said {
    match notice {
        Ok(Notice { line, news: TimeOutcome::Late(_) | TimeOutcome::Settled(_) }) => {
            Said { text: line, outcome: Outcome::Findings, complaint: None, is_answer: false }
        }
        Err(error) => Said { is_answer: false, ..unavailable(0, &error) },
    }
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
    LogRecord { value, file: Arc::clone(&file), line: line.number, index }.native_event()
}

fn refusal(line: u32, reason: &str) -> String {
    let refusal = serde_json::json!({
        "lictor": 1,
        "type": "decision",
        "action": Action::Block.name(),
        "line": line,
        "step": null,
        "refused": reason,
    });
    refusal.to_string()
}

/// What a decision makes of the exit code.
fn weight(decision: &Decision) -> Outcome {
    let is_plain = decision.action == Action::Forward && decision.settled.iter().all(|it| it.action == Action::Forward);
    if is_plain { Outcome::Compliant } else { Outcome::Findings }
}
