//! `lictor-bench audit`: a whole audit against only parsing the same bytes.

pub(crate) mod findings;
mod parse;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use lictor::audit::{AuditOptions, audit};
use lictor::input::{self, Input, InputLimits};
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use rustix::time::{ClockId, clock_gettime};

use crate::log::{Annotations, Log};
use crate::table::{Better, Section, Table, Target};

/// Measured rounds; the best one is reported.
const ROUNDS: usize = 7;

/// How much is audited for the times, and for the memory.
const MEGABYTES: usize = 64;
const LARGE_MEGABYTES: usize = 2048;

/// The policy of the simulated agents: their purposes and tools, judged by two packs.
const POLICY: &str = include_str!("audit/policy.yaml");

/// The properties that are judged.
#[derive(Clone, Copy)]
enum Properties {
    /// Those of both packs.
    All,
    /// Those without a sliding window: all but `bounded-retries`, which counts calls.
    WithoutCounts,
}

impl Properties {
    /// Returns the policy with these properties.
    fn policy(self) -> String {
        match self {
            Properties::All => POLICY.to_owned(),
            Properties::WithoutCounts => POLICY.replace(
                "agent-safety]",
                "agent-safety/tool-calls-are-verified, agent-safety/handoff-is-coherence-checked, \
                 agent-safety/no-output-after-injection, agent-safety/fact-claims-are-grounded, \
                 agent-safety/no-action-after-injection, agent-safety/denial-is-respected, \
                 agent-safety/injection-is-reported, agent-safety/no-catastrophic-command, \
                 agent-safety/irreversible-needs-approval, \
                 agent-safety/no-sink-after-taint]",
            ),
        }
    }

    fn slug(self) -> &'static str {
        match self {
            Properties::All => "",
            Properties::WithoutCounts => "-without-counts",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Properties::All => "gdpr and agent-safety",
            Properties::WithoutCounts => "the same without bounded-retries",
        }
    }
}

/// Measures all of it.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::default();
    for annotations in [Annotations::Given, Annotations::Absent] {
        let bytes: Arc<[u8]> = Log::new(annotations).take(MEGABYTES << 20).into();
        for properties in [Properties::All, Properties::WithoutCounts] {
            time(&mut table, &bytes, annotations, properties)?;
        }
    }
    memory(&mut table)?;
    findings::measure(&mut table)?;
    table.finish();
    Ok(())
}

fn judge(properties: Properties) -> Result<Judge, Box<dyn Error>> {
    let loaded =
        Policy::parse(&properties.policy(), "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}").into())
}

fn time(
    table: &mut Table,
    bytes: &Arc<[u8]>,
    annotations: Annotations,
    properties: Properties,
) -> Result<(), Box<dyn Error>> {
    let events = bytes.iter().filter(|byte| **byte == b'\n').count();
    let mut judge = judge(properties)?;
    let input = Input::from_bytes("log.jsonl", Arc::clone(bytes));
    let mut once = |threads: usize| -> Result<usize, Box<dyn Error>> {
        let options = AuditOptions::default().threads(Some(threads));
        let report = audit(&mut judge, std::slice::from_ref(&input), &options, &())?;
        if report.files.first().map(|file| file.events) != Some(events as u64) {
            return Err("the audit has not read every event".into());
        }
        Ok(report.findings.len())
    };
    let title =
        format!("audit of {events} events of {} bytes, {annotations}, {}", bytes.len() / events, properties.describe());
    let mut section = Section::new(title);
    let (mut floor, mut one) = (f64::MAX, f64::MAX);
    let (mut floors, mut walls) = ([f64::MAX; 2], [f64::MAX; 2]);
    let mut findings = 0;
    for _ in 0..ROUNDS {
        // Rounds take turns, so that a slow phase of the machine affects all.
        floor = floor.min(cpu(|| parse::all(bytes))?);
        one = one.min(cpu(|| once(1).map(|count| findings = count))?);
        for threads in [1, 2] {
            let shortest = |best: &mut f64, start: Instant| *best = best.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            once(threads)?;
            shortest(&mut walls[threads - 1], start);
            let start = Instant::now();
            parse::split(bytes, threads)?;
            shortest(&mut floors[threads - 1], start);
        }
    }
    let per_event = |seconds: f64| seconds * 1e9 / events as f64;
    section.time("sonic-rs, the same fields", per_event(floor), "parsing alone");
    section.time("lictor audit, one core", per_event(one), format!("{}, {findings} findings", properties.describe()));
    section.figure("lictor audit to sonic-rs", one / floor, "x", "");
    section.target(Target::AtMost(2.0));
    section.figure("two cores to one", walls[0] / walls[1], "x", "by the clock on the wall");
    section.target(Target::AtLeast(1.8));
    section.figure(
        "two cores to one, sonic-rs",
        floors[0] / floors[1],
        "x",
        "halves that share nothing: the ceiling here",
    );
    let slug = format!("{}{}", annotations.slug(), properties.slug());
    section.ratio(format!("{slug}/lictor-to-sonic"), one / floor, Better::Lower);
    section.ratio(format!("{slug}/two-cores-to-one"), walls[0] / walls[1], Better::Higher);
    table.print(&section);
    Ok(())
}

/// Returns the processor time of `work`, over all threads of this process.
fn cpu(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let start = now();
    work()?;
    Ok(now() - start)
}

/// Measures the peak memory of an audit of a large file, in a separate process.
fn memory(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!("audit of a file of {LARGE_MEGABYTES} MB"));
    let path = std::env::temp_dir().join(format!("lictor-bench-{}.jsonl", std::process::id()));
    {
        let mut file = BufWriter::new(File::create(&path)?);
        let mut log = Log::new(Annotations::Given);
        for _ in 0..LARGE_MEGABYTES / MEGABYTES {
            file.write_all(&log.take(MEGABYTES << 20))?;
        }
        file.flush()?;
    }
    for properties in [Properties::All, Properties::WithoutCounts] {
        let output =
            Command::new(std::env::current_exe()?).arg("audit-file").arg(&path).arg(properties.slug()).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let text = String::from_utf8(output.stdout)?;
        let mut figures = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
        let (Some(peak), Some(seconds)) = (figures.next(), figures.next()) else {
            return Err("the audit in a process of its own has not said what it took".into());
        };
        let note = format!("{}, two threads, {seconds:.1} s", properties.describe());
        section.figure("most resident memory", peak / 1e6, "MB", note);
        section.target(Target::AtMost(200.0));
    }
    std::fs::remove_file(&path)?;
    table.print(&section);
    Ok(())
}

/// Audits a file and prints its peak memory and its time.
pub(crate) fn file(path: &str, slug: &str) -> Result<(), Box<dyn Error>> {
    let known = [Properties::All, Properties::WithoutCounts].into_iter().find(|properties| properties.slug() == slug);
    let properties = known.ok_or("no such set of properties")?;
    let start = Instant::now();
    let inputs = input::find(&[path.to_owned()], &InputLimits::default())?;
    audit(&mut judge(properties)?, &inputs, &AuditOptions::default().threads(Some(2)), &())?;
    println!("{} {}", peak(Path::new("/proc/self/status"))?, start.elapsed().as_secs_f64());
    Ok(())
}

fn peak(status: &Path) -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string(status)?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).ok_or("the system does not tell memory")?;
    let kilobytes: u64 = line.split_whitespace().nth(1).ok_or("the system does not tell memory")?.parse()?;
    Ok(kilobytes * 1024)
}
