//! Judges whole logs: all sessions of all files, on all cores, in memory that does not grow with the logs.
//!
//! The first reading moves every session along and keeps, for each, only where it stands and which records it was made
//! of. Sessions that broke something are then read a second time, with their history at hand, for the witnesses.

mod batch;
pub mod comparison;
mod coverage;
mod crew;
pub mod report;
mod second;
mod sessions;
mod shard;
pub mod skew;
pub mod trial;
mod wide;

use std::collections::HashSet;
use std::fmt;
use std::hash::RandomState;

use lictor_logic::Time;
use rayon::prelude::*;

use crate::report::{FileReport, Report};
pub use coverage::{UnexercisedProperty, untested};
use lictor_decode::input::{Input, InputError, InputLimits};
use lictor_decode::{Fault, Format};
use lictor_event::order::ReorderWindow;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_policy::Suppression;
use lictor_policy::glob::Glob;
pub use sessions::{SessionEvents, sessions};

use batch::Batches;
use shard::{Closed, Shard};
use wide::Seen;

/// More threads than this only stand in each other's way: what is read is divided among all of them.
const MOST_THREADS: usize = 256;

/// How an audit is done.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// The format of all files; none is found out for each.
    pub format: Option<Format>,
    /// How many threads work, 256 at most; none is one for each core.
    pub threads: Option<usize>,
    /// Whether witnesses show what was said.
    pub content: bool,
    /// Up to when time has passed behind the last event; none is not at all.
    pub as_of: Option<Time>,
    /// Today, for suppressions that expire.
    pub today: Option<jiff::civil::Date>,
    /// How far numbered events may come out of order; none if their numbers are not looked at, and events are judged as
    /// they come.
    pub reorder: Option<ReorderWindow>,
    /// Fingerprints of findings that are known and not told again.
    pub baseline: HashSet<String>,
    /// What is too much.
    pub limits: InputLimits,
}

impl Default for AuditOptions {
    fn default() -> AuditOptions {
        AuditOptions {
            format: None,
            threads: None,
            content: false,
            as_of: None,
            today: None,
            reorder: Some(ReorderWindow::default()),
            baseline: HashSet::new(),
            limits: InputLimits::default(),
        }
    }
}

/// Why nothing could be judged.
#[derive(Debug)]
pub enum AuditError {
    /// An input cannot be read at all.
    Input(InputError),
    /// There was not a single event.
    NoEvents {
        /// What was wrong with what was read.
        faults: Vec<Fault>,
        /// What was read.
        files: Vec<FileReport>,
    },
    /// The threads could not be started.
    Threads(String),
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditError::Input(error) => error.fmt(f),
            AuditError::NoEvents { faults, .. } => {
                f.write_str("there is not a single event to judge")?;
                match faults.len() {
                    0 => f.write_str("; are these the right files, and the right --input-format?"),
                    1 => f.write_str("; one place could not be read"),
                    count => write!(f, "; {count} places could not be read"),
                }
            }
            AuditError::Threads(message) => write!(f, "cannot start threads: {message}"),
        }
    }
}

impl std::error::Error for AuditError {}

impl From<InputError> for AuditError {
    fn from(error: InputError) -> AuditError {
        AuditError::Input(error)
    }
}

/// What happens while an audit runs.
pub trait Progress: Sync {
    /// So many more bytes were read and events judged.
    fn advanced(&self, bytes: u64, events: u64);
}

/// Nobody watches.
impl Progress for () {
    fn advanced(&self, _bytes: u64, _events: u64) {}
}

/// Judges all sessions of the inputs.
///
/// Histories that go on across sessions are judged in the order of time, whatever order the files have, and go on with
/// what the judge remembers of earlier audits.
pub fn audit(
    judge: &mut Judge,
    inputs: &[Input],
    options: &AuditOptions,
    progress: &dyn Progress,
) -> Result<Report, AuditError> {
    let threads = options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let threads = threads.clamp(1, MOST_THREADS);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| AuditError::Threads(error.to_string()))?;
    pool.install(|| run(judge, inputs, options, progress, threads))
}

fn run(
    judge: &mut Judge,
    inputs: &[Input],
    options: &AuditOptions,
    progress: &dyn Progress,
    threads: usize,
) -> Result<Report, AuditError> {
    let mut batches = Batches::new(inputs, options);
    // Session names come from the log: with a seed of its own, nobody can make them collide.
    let hasher = RandomState::new();
    let mut shards: Vec<Shard> = (0..threads).map(|_| Shard::new(judge.fork(), hasher.clone(), options)).collect();
    let mut faults = crew::work(&mut batches, &mut shards, &hasher, progress);
    let (files, mut unreadable) = batches.into_files();
    faults.append(&mut unreadable);
    if files.iter().flatten().all(|file| file.events == 0) {
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    shards.par_iter_mut().for_each(Shard::settle);
    let seen: Vec<Seen> = shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.seen)).collect();
    let mut closed: Vec<Closed> = shards.into_par_iter().flat_map_iter(|shard| shard.close(options.as_of)).collect();
    closed.par_sort_unstable_by_key(|session| session.order);
    let mut findings = second::findings(judge, inputs, &files, &mut closed, options)?;
    wide::judge(judge, seen, &mut closed, &mut findings, options.as_of);
    let (findings, known) = without_known(findings, &options.baseline);
    let mut report = Report {
        policy: judge.policy().clone(),
        properties: judge.properties().to_vec(),
        files: files.into_iter().flatten().collect(),
        sessions: closed.into_iter().map(|session| session.report).collect(),
        findings,
        faults,
        known,
    };
    suppress(&mut report.findings, judge.suppressions(), options.today);
    Ok(report)
}

fn without_known(findings: Vec<Finding>, baseline: &HashSet<String>) -> (Vec<Finding>, usize) {
    let count = findings.len();
    let fresh: Vec<Finding> = findings.into_iter().filter(|finding| !baseline.contains(&finding.fingerprint)).collect();
    let known = count - fresh.len();
    (fresh, known)
}

/// Marks the findings that somebody answers for, on this day.
fn suppress(findings: &mut [Finding], suppressions: &[Suppression], today: Option<jiff::civil::Date>) {
    for suppression in suppressions {
        if let (Some(until), Some(today)) = (suppression.until, today)
            && today > until
        {
            continue;
        }
        let property = Glob::new(&suppression.property);
        let session = suppression.session.as_ref().map(|session| Glob::new(session));
        for finding in findings.iter_mut().filter(|finding| finding.suppressed.is_none()) {
            let fits = session.as_ref().is_none_or(|session| session.matches(&finding.session));
            if fits && property.matches(&finding.property.id) {
                finding.suppressed = Some(suppression.reason.clone());
            }
        }
    }
}
