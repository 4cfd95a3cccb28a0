//! `lictor guard`: decides on events from standard input, for a program in any language.
//!
//! One thread reads lines, another decides on them, and this one writes the answers in order. The caller may wait for
//! each answer or send many lines at once: those are decided in order and recorded together. Notices such as missed
//! deadlines are written between the answers, when they are due.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use anyhow::Context;
use lictor::decode::{Fault, LogRecord};
use lictor::event::Event;
use lictor::guard::{Action, Decision};
use lictor::json;
use lictor_warden::{Notice, RefusedInput, TimeOutcome, WardenAnswer, WardenError, WardenHandle};

use crate::args::GuardArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::{policies, wardens};

/// The longest line in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// How many lines may be in flight.
const MAX_LINES_IN_FLIGHT: usize = 1024;

/// A line of output, with its effect on the exit code.
struct OutputLine {
    text: String,
    outcome: Outcome,
    /// An internal error for the operator.
    complaint: Option<String>,
    /// Whether it answers an input line.
    is_answer: bool,
}

/// Decides on the events of standard input.
pub(crate) fn run(args: &GuardArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.by.policy.as_deref(), &args.by.only)?;
    let warden = wardens::open(&args.warden, &policy, Duration::ZERO)?;
    let (said, to_say) = channel();
    let (waiting, answered) = sync_channel(MAX_LINES_IN_FLIGHT);
    let notices = Sender::clone(&said);
    // Sending fails only if the answers cannot be written, which is reported below.
    let told = move |notice| notices.send(format_notice(notice)).unwrap_or_default();
    let desk = WardenHandle::open(warden, wardens::now, told)?;
    let reader = std::thread::spawn(move || read_all(desk, &said, &waiting));
    let mut outcome = Outcome::Compliant;
    for said in to_say {
        outcome = outcome.max(said.outcome);
        said.complaint.iter().for_each(|text| complaint::error(text));
        writeln!(out, "{}", said.text)?;
        // The caller waits for the answer.
        out.flush()?;
        if said.is_answer {
            answered.recv().unwrap_or_default();
        }
    }
    let lines = reader.join().map_err(|_| anyhow::anyhow!("the thread that reads standard input has panicked"))??;
    anyhow::ensure!(lines > 0, "there was not a single event on standard input; write one JSON object a line");
    Ok(outcome)
}

/// Submits every line, and returns how many there were.
fn read_all(desk: WardenHandle, said: &Sender<OutputLine>, waiting: &SyncSender<()>) -> anyhow::Result<u64> {
    let mut lines = LineReader { input: std::io::stdin().lock(), number: 0 };
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
        match parse_event(&line) {
            Ok(event) => desk.decide(vec![event], move |answers| {
                for answer in answer(number, answers) {
                    said.send(answer).unwrap_or_default();
                }
            }),
            Err(fault) => {
                let refused = RefusedInput::new(fault.code, &line.bytes);
                desk.refuse(refused, move |written| said.send(refuse_line(&fault, written)).unwrap_or_default());
            }
        }
    }
    desk.close()?;
    Ok(count)
}

/// Returns the answer to a line, and the findings if it ends a session.
fn answer(line: u32, answers: Result<Vec<WardenAnswer>, Arc<WardenError>>) -> Vec<OutputLine> {
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => return vec![unavailable(line, &error)],
    };
    let said = |answer: WardenAnswer| {
        let outcome = if answer.is_duplicate { Outcome::Compliant } else { outcome_of(&answer.decision) };
        let first = OutputLine { text: answer.line(), outcome, complaint: None, is_answer: true };
        std::iter::once(first).chain(answer.owed.into_iter().map(|notice| format_notice(Ok(notice))))
    };
    answers.into_iter().flat_map(said).collect()
}

/// Returns the answer to an invalid line: it is blocked.
fn refuse_line(fault: &Fault, written: Result<(), Arc<WardenError>>) -> OutputLine {
    if let Err(error) = written {
        return unavailable(fault.line, &error);
    }
    let text = refusal(fault.line, &format!("{}: {}", fault.code, fault.message));
    OutputLine { text, outcome: Outcome::Unjudged, complaint: None, is_answer: true }
}

/// Returns the answer to a line whose decision cannot be recorded: it is blocked.
fn unavailable(line: u32, error: &WardenError) -> OutputLine {
    let text = refusal(line, &format!("audit.unavailable: {error}"));
    OutputLine { text, outcome: Outcome::Unjudged, complaint: Some(error.to_string()), is_answer: true }
}

/// Returns the output for a notice, such as a missed deadline.
fn format_notice(notice: Result<Notice, WardenError>) -> OutputLine {
    match notice {
        Ok(Notice { line, news: TimeOutcome::Late(_) | TimeOutcome::Settled(_) }) => {
            OutputLine { text: line, outcome: Outcome::Findings, complaint: None, is_answer: false }
        }
        Err(error) => OutputLine { is_answer: false, ..unavailable(0, &error) },
    }
}

/// A line of standard input.
struct InputLine {
    bytes: Vec<u8>,
    number: u32,
}

struct LineReader<R> {
    input: R,
    number: u32,
}

impl<R: BufRead> LineReader<R> {
    fn next(&mut self) -> std::io::Result<Option<InputLine>> {
        let mut bytes = Vec::new();
        let read = std::io::Read::take(&mut self.input, MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(InputLine { bytes, number: self.number }))
    }
}

/// Parses the event of a line.
fn parse_event(line: &InputLine) -> Result<Event, Fault> {
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

/// Returns the effect of a decision on the exit code.
fn outcome_of(decision: &Decision) -> Outcome {
    let is_plain = decision.action == Action::Forward && decision.settled.iter().all(|it| it.action == Action::Forward);
    if is_plain { Outcome::Compliant } else { Outcome::Findings }
}
