//! Judges whole logs: all sessions of all files, on all cores, in memory that does not grow with the logs.
//!
//! The first pass judges every session and keeps, for each, only its state and the numbers of its records. Sessions
//! with a violation are then replayed with their whole history for the witnesses.

mod batch;
mod closed_session;
pub mod comparison;
mod coverage;
mod replay;
pub mod report;
mod session_records;
mod sessions;
mod shard;
mod shared_history;
pub mod skew;
pub mod trial;
mod worker_pool;

use std::collections::HashSet;
use std::fmt;
use std::hash::RandomState;

use lictor_logic::Time;
use rayon::prelude::*;

use crate::report::{FileReport, Report};
pub use coverage::{UnexercisedProperty, find_unexercised};
use lictor_decode::input::{Input, InputError, InputLimits};
use lictor_decode::{Fault, Format};
use lictor_event::order::ReorderWindow;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::SessionError;
use lictor_policy::Suppression;
use lictor_policy::glob::Glob;
pub use sessions::{SessionEvents, sessions};

use batch::Batches;
use closed_session::ClosedSession;
use shard::Shard;
use shared_history::HistoryEntry;

/// The most threads; more only compete, since every batch is divided among all of them.
const MAX_THREADS: usize = 256;

/// The options of an audit.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// The format of all files; none detects it for each.
    pub format: Option<Format>,
    /// The number of threads, 256 at most; none means one for each core.
    pub threads: Option<usize>,
    /// Whether witnesses show content: texts, arguments and results.
    pub content: bool,
    /// Evaluates deadlines as of this time; none evaluates them up to the last event.
    pub as_of: Option<Time>,
    /// Today, by which suppressions expire.
    pub today: Option<jiff::civil::Date>,
    /// How far numbered events may come out of order; none ignores the numbers and judges events as
    /// they come.
    pub reorder: Option<ReorderWindow>,
    /// Fingerprints of known findings, which are not reported again.
    pub baseline: HashSet<String>,
    /// The limits of the inputs.
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

/// Why an audit failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuditError {
    /// An input cannot be read at all.
    Input(InputError),
    /// The inputs have no events.
    NoEvents {
        /// The places that could not be read.
        faults: Vec<Fault>,
        /// The files that were read.
        files: Vec<FileReport>,
    },
    /// The threads could not be started.
    Threads(String),
    /// The judge refused a session.
    Session(SessionError),
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditError::Input(error) => error.fmt(f),
            AuditError::NoEvents { faults, .. } => {
                f.write_str("no events to judge")?;
                match faults.len() {
                    0 => f.write_str("; check the files and --input-format"),
                    1 => f.write_str("; one place could not be read"),
                    count => write!(f, "; {count} places could not be read"),
                }
            }
            AuditError::Threads(message) => write!(f, "cannot start threads: {message}"),
            AuditError::Session(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AuditError {
    /// Returns the source of the wrapped error, whose message is this error's own.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AuditError::Input(error) => error.source(),
            AuditError::Session(error) => error.source(),
            AuditError::NoEvents { .. } | AuditError::Threads(_) => None,
        }
    }
}

impl From<SessionError> for AuditError {
    fn from(error: SessionError) -> AuditError {
        AuditError::Session(error)
    }
}

impl From<InputError> for AuditError {
    fn from(error: InputError) -> AuditError {
        AuditError::Input(error)
    }
}

/// Receives the progress of a running audit.
pub trait Progress: Sync {
    /// Reports that so many more bytes were read and events judged.
    fn advanced(&self, bytes: u64, events: u64);
}

/// Ignores the progress.
impl Progress for () {
    fn advanced(&self, _bytes: u64, _events: u64) {}
}

/// Judges all sessions of the inputs.
///
/// Shared histories are judged in the order of time, not of files, and continue with the histories that the judge keeps
/// from earlier audits.
pub fn audit(
    judge: &mut Judge,
    inputs: &[Input],
    options: &AuditOptions,
    progress: &dyn Progress,
) -> Result<Report, AuditError> {
    let threads = options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let threads = threads.clamp(1, MAX_THREADS);
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
    // Session names come from the log: with a random seed, no log can make their hashes collide.
    let hasher = RandomState::new();
    let mut shards: Vec<Shard> = (0..threads).map(|_| Shard::new(judge.fork(), hasher.clone(), options)).collect();
    let mut faults = worker_pool::judge_all(&mut batches, &mut shards, &hasher, progress);
    let (files, mut unreadable) = batches.into_files();
    faults.append(&mut unreadable);
    if files.iter().flatten().all(|file| file.events == 0) {
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    shards.par_iter_mut().for_each(Shard::release_waiting);
    let history: Vec<HistoryEntry> = shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.history)).collect();
    let closed: Result<Vec<Vec<ClosedSession>>, SessionError> =
        shards.into_par_iter().map(|shard| shard.close_sessions(options.as_of)).collect();
    let mut closed: Vec<ClosedSession> = closed?.into_iter().flatten().collect();
    closed.par_sort_unstable_by_key(|session| session.order);
    let mut findings = replay::find_witnesses(judge, inputs, &files, &mut closed, options)?;
    shared_history::judge_histories(judge, history, &mut closed, &mut findings, options.as_of)?;
    let (findings, known) = split_known(findings, &options.baseline);
    let mut report = Report {
        policy: judge.policy().clone(),
        properties: judge.properties().to_vec(),
        files: files.into_iter().flatten().collect(),
        sessions: closed.into_iter().map(|session| session.report).collect(),
        findings,
        faults,
        known,
    };
    mark_accepted(&mut report.findings, judge.suppressions(), options.today);
    Ok(report)
}

fn split_known(findings: Vec<Finding>, baseline: &HashSet<String>) -> (Vec<Finding>, usize) {
    let count = findings.len();
    let fresh: Vec<Finding> = findings.into_iter().filter(|finding| !baseline.contains(&finding.fingerprint)).collect();
    let known = count - fresh.len();
    (fresh, known)
}

/// Marks the findings that a suppression accepts on this day.
fn mark_accepted(findings: &mut [Finding], suppressions: &[Suppression], today: Option<jiff::civil::Date>) {
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
