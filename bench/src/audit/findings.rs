//! Audits of logs in which findings are frequent, against the same logs without any.
//!
//! The log holds OpenAI messages one a line, eight a session. In 37 % of the sessions the agent refunds without checking
//! the identity first. The sessions come one after the other, or are interleaved at random over the whole file.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use lictor::audit::{AuditOptions, audit};
use lictor::input::{self, InputLimits};
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};

use super::{cpu, peak};
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

/// How many sessions are audited for the times, and for the memory.
const SESSIONS: u64 = 80_000;
const LARGE_SESSIONS: u64 = 400_000;

/// How many of a hundred sessions break the policy.
const BROKEN_PERCENT: u64 = 37;

/// Measured rounds; the best one is reported.
const ROUNDS: usize = 3;

const POLICY: &str = r#"
lictor: 1
name: findings
properties:
  - id: verified
    formula: 'always (tool_call("refund") implies once tool_call("verify_identity"))'
    after: each
  - id: answered
    formula: 'always (user_message implies eventually (assistant_message or user_message))'
"#;

/// The order of the messages.
#[derive(Clone, Copy)]
enum MessageOrder {
    Sorted,
    Interleaved,
}

impl MessageOrder {
    fn slug(self) -> &'static str {
        match self {
            MessageOrder::Sorted => "sorted",
            MessageOrder::Interleaved => "interleaved",
        }
    }
}

/// What one audit took.
#[derive(Clone, Copy)]
struct AuditCost {
    peak_bytes: f64,
    processor_seconds: f64,
    findings: f64,
}

/// Measures logs with and without findings.
pub(super) fn measure(table: &mut Table) -> Result<(), Box<dyn Error>> {
    for order in [MessageOrder::Sorted, MessageOrder::Interleaved] {
        let with = LogFile::write("with", SESSIONS, BROKEN_PERCENT, order)?;
        let without = LogFile::write("without", SESSIONS, 0, order)?;
        let (mut found, mut none) = (with.audit()?, without.audit()?);
        for _ in 1..ROUNDS {
            found = found.best(with.audit()?);
            none = none.best(without.audit()?);
        }
        let slug = order.slug();
        let title = format!("audit of {} messages, {slug}, {} findings", SESSIONS * 8, found.findings);
        let mut section = Section::new(title);
        let ratio = found.processor_seconds / none.processor_seconds;
        section.figure("with findings to without", ratio, "x", "processor time");
        section.target(Target::AtMost(1.5));
        section.figure("most resident memory", found.peak_bytes / 1e6, "MB", "with findings");
        section.figure("most resident memory", none.peak_bytes / 1e6, "MB", "without");
        section.ratio(format!("findings/{slug}/with-to-without"), ratio, Better::Lower);
        section.ratio(format!("findings/{slug}/memory-to-without"), found.peak_bytes / none.peak_bytes, Better::Lower);
        if matches!(order, MessageOrder::Sorted) {
            drop((with, without));
            let large = LogFile::write("large", LARGE_SESSIONS, BROKEN_PERCENT, order)?.audit()?;
            let sessions = LARGE_SESSIONS as f64 / SESSIONS as f64;
            section.figure("most resident memory", large.peak_bytes / 1e6, "MB", "five times as many sessions");
            section.target(Target::AtMost(400.0));
            let growth = large.processor_seconds / found.processor_seconds / sessions;
            section.figure("time of a session to that of a fifth as many", growth, "x", "1 is linear");
            section.ratio(format!("findings/{slug}/time-of-large-to-small"), growth, Better::Lower);
        }
        table.print(&section);
    }
    Ok(())
}

impl AuditCost {
    fn best(self, other: AuditCost) -> AuditCost {
        AuditCost {
            peak_bytes: self.peak_bytes.min(other.peak_bytes),
            processor_seconds: self.processor_seconds.min(other.processor_seconds),
            ..self
        }
    }
}

/// A log on disk, removed when it is dropped.
struct LogFile(PathBuf);

impl LogFile {
    fn write(name: &str, sessions: u64, broken_percent: u64, order: MessageOrder) -> Result<LogFile, Box<dyn Error>> {
        let file = format!("lictor-bench-findings-{name}-{}.jsonl", std::process::id());
        let log = LogFile(std::env::temp_dir().join(file));
        let mut out = BufWriter::new(File::create(&log.0)?);
        let is_broken = |session: u64| session * 61 % 100 < broken_percent;
        match order {
            MessageOrder::Sorted => {
                for session in 0..sessions {
                    (0..8).try_for_each(|at| writeln!(out, "{}", message(session, at, is_broken(session))))?;
                }
            }
            MessageOrder::Interleaved => {
                let mut places: Vec<u32> = (0..sessions as u32).flat_map(|session| [session; 8]).collect();
                let mut random = Random::new(1);
                for place in (1..places.len()).rev() {
                    places.swap(place, random.below(place as u64 + 1) as usize);
                }
                let mut written = vec![0u8; sessions as usize];
                for session in places {
                    let at = &mut written[session as usize];
                    let session = u64::from(session);
                    writeln!(out, "{}", message(session, *at, is_broken(session)))?;
                    *at += 1;
                }
            }
        }
        out.flush()?;
        Ok(log)
    }

    /// Audits it in a process of its own.
    fn audit(&self) -> Result<AuditCost, Box<dyn Error>> {
        let output = Command::new(std::env::current_exe()?).arg("audit-messages").arg(&self.0).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let text = String::from_utf8(output.stdout)?;
        let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match figures[..] {
            [peak_bytes, processor_seconds, findings] => Ok(AuditCost { peak_bytes, processor_seconds, findings }),
            _ => Err("the audit in a process of its own has not said what it took".into()),
        }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // What is left in the folder of temporary files does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns a message of a session.
fn message(session: u64, at: u8, is_broken: bool) -> String {
    let said = |role: &str, text: &str| format!(r#""role":"{role}","content":"{text}""#);
    let called = |id: char, tool: &str| {
        let function = format!(r#"{{"name":"{tool}","arguments":"{{\"order\":{session}}}"}}"#);
        let call = format!(r#"{{"id":"c{session}{id}","type":"function","function":{function}}}"#);
        format!(r#""role":"assistant","content":null,"tool_calls":[{call}]"#)
    };
    let answered =
        |id: char, text: &str| format!(r#""role":"tool","tool_call_id":"c{session}{id}","content":"{text}""#);
    let rest = match at {
        0 => said("user", &format!("Please refund my order {session} of last week, it came damaged.")),
        1 => said("assistant", "I look at it first."),
        2 => called('a', if is_broken { "lookup" } else { "verify_identity" }),
        3 => answered('a', "found, paid by card, delivered on monday"),
        4 => called('b', "refund"),
        5 => answered('b', "done"),
        6 => said("assistant", "Your refund is on its way."),
        _ => said("user", "Thank you, that was quick."),
    };
    format!(r#"{{"session_id":"session-{session:07}",{rest}}}"#)
}

/// Audits a log, and prints its peak memory, its processor time and the number of its findings.
pub(crate) fn file(path: &str) -> Result<(), Box<dyn Error>> {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    let mut judge = Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}"))?;
    let inputs = input::find(&[path.to_owned()], &InputLimits::default())?;
    let mut findings = 0;
    let seconds = cpu(|| {
        let report = audit(&mut judge, &inputs, &AuditOptions::default().threads(Some(2)), &())?;
        findings = report.findings.len();
        Ok(())
    })?;
    println!("{} {seconds} {findings}", peak(Path::new("/proc/self/status"))?);
    Ok(())
}
