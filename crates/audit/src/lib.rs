//! Judges whole logs: all sessions of all files, on all cores, in memory that does not grow with the logs.
//!
//! The first pass judges every session and keeps, for each, only its state and the numbers of its records. Sessions
//! with a violation are then replayed with their whole history for the witnesses.

mod answers;
mod approved;
mod batch;
mod closed_session;
pub mod comparison;
mod coverage;
mod deferred;
mod guarded_log;
mod inventory;
mod join;
mod log_reading;
mod noise;
mod options;
mod replay;
pub mod report;
mod sayings_spool;
mod session_key;
mod session_records;
mod sessions;
mod shard;
mod shared_history;
pub mod skew;
mod time_order;
pub mod trial;
mod worker_pool;

use std::collections::HashSet;
use std::fmt;
use std::hash::RandomState;
use std::sync::Arc;

use rayon::prelude::*;

use crate::report::{FileReport, Report, ReportOrigin};
pub use answers::AnswerBook;
use coverage::SeenFacts;
pub use coverage::{LogCoverage, MissingFact, RecordedContent, UnexercisedProperty, UnknownFact};
pub use guarded_log::{ApprovedFinding, GuardedLog, StoppedBy, Waiver};
pub use inventory::{Inventory, ToolUse, take_inventory};
use join::JoinEntries;
pub use join::{JoinReport, UnmatchedEntry};
use lictor_decode::Fault;
use lictor_decode::input::{Input, InputError};
use lictor_json::Text;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::SessionError;
use lictor_policy::Suppression;
use lictor_policy::glob::Glob;
pub use noise::{FindingNoise, TurningLabel};
pub use options::AuditOptions;
pub use sessions::{LogSessions, SessionEvents, sessions};

use batch::Batches;
use closed_session::ClosedSession;
use shard::Shard;
use shared_history::HistoryEntry;

/// The most threads; more only compete, since every batch is divided among all of them.
const MAX_THREADS: usize = 256;

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
    /// The entries of other systems cannot be joined, and why.
    Join(String),
    /// No record has the member that should name its session.
    SessionKey {
        /// The path of the member.
        key: Text,
        /// The paths of the members that may tell sessions.
        members: Vec<Text>,
    },
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
            AuditError::Join(message) => f.write_str(message),
            AuditError::SessionKey { key, members } => {
                write!(f, "no record of the logs has a member `{key}` that could name its session\nhint: ")?;
                match &members[..] {
                    [] => f.write_str(
                        "no other member reads like the name of a session; without a name, each file is one",
                    ),
                    members => write!(f, "members that may tell sessions are `{}`", members.join("`, `")),
                }
            }
        }
    }
}

impl std::error::Error for AuditError {
    /// Returns the source of the wrapped error, whose message is this error's own.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AuditError::Input(error) => error.source(),
            AuditError::Session(error) => error.source(),
            AuditError::NoEvents { .. }
            | AuditError::Threads(_)
            | AuditError::Join(_)
            | AuditError::SessionKey { .. } => None,
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

    /// Reports that witnesses were found in so many sessions, of all that have findings.
    fn explained(&self, _sessions: usize, _all: usize) {}
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
    session_key::check_session_key(inputs, options)?;
    let (entries, mut join_faults) = join::read_entries(&options.join, &options.limits)?;
    let joins = Arc::new(JoinEntries::new(entries, options.join.len()));
    let mut pass = judge_sessions(judge, inputs, options, &joins, progress, threads)?;
    if joins.exclude_ambiguous() {
        drop(pass);
        pass = judge_sessions(judge, inputs, options, &joins, &(), threads)?;
    }
    let FirstPass { mut shards, files, mut faults } = pass;
    faults.append(&mut join_faults);
    let history: Vec<HistoryEntry> = shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.history)).collect();
    let mut seen = SeenFacts::new(judge);
    for shard in &mut shards {
        seen.merge(std::mem::replace(&mut shard.seen, SeenFacts::new(judge)));
    }
    let closed: Result<Vec<Vec<ClosedSession>>, SessionError> =
        shards.into_par_iter().map(|shard| shard.close_sessions(options.as_of)).collect();
    let mut closed: Vec<ClosedSession> = closed?.into_iter().flatten().collect();
    closed.par_sort_unstable_by_key(|session| session.order);
    let is_judged = seen.judged_properties(judge);
    closed.par_iter_mut().for_each(|session| session.withdraw_unjudged(&is_judged));
    let joined = Some(&*joins).filter(|joins| !joins.is_empty());
    let (mut findings, mut noise) =
        replay::find_witnesses(judge, inputs, &files, &mut closed, options, joined, progress)?;
    let unjudged: HashSet<&str> = judge
        .properties()
        .iter()
        .zip(&is_judged)
        .filter(|(_, is_judged)| !**is_judged)
        .map(|(property, _)| property.id.as_str())
        .collect();
    findings.retain(|finding| !unjudged.contains(finding.property.id.as_str()));
    shared_history::judge_histories(judge, history, &mut closed, &mut findings, options.as_of)?;
    let silent_sessions = closed.iter().filter(|session| !session.has_facts).count();
    let mut report = Report {
        policy: judge.policy().clone(),
        properties: judge.properties().to_vec(),
        files: files.into_iter().flatten().collect(),
        sessions: closed.into_iter().map(|session| session.report).collect(),
        findings,
        faults,
        known: 0,
        coverage: seen.into_coverage(judge, silent_sessions),
        join: joins.report(),
        origin: ReportOrigin::default(),
        noise: Vec::new(),
        approved: Vec::new(),
        guarded: Vec::new(),
    };
    approved::separate_approved(&mut report, &options.guarded);
    (report.findings, report.known) = split_known(report.findings, &options.baseline);
    noise.retain(|rest| report.findings.iter().any(|finding| finding.fingerprint == rest.fingerprint));
    report.noise = noise;
    mark_accepted(&mut report.findings, judge.suppressions(), options.today);
    Ok(report)
}

/// All sessions after the first pass over the logs, not closed yet.
struct FirstPass {
    shards: Vec<Shard>,
    /// The report of each input; none for unreadable ones.
    files: Vec<Option<FileReport>>,
    faults: Vec<Fault>,
}

/// Judges all sessions once, without witnesses.
fn judge_sessions(
    judge: &Judge,
    inputs: &[Input],
    options: &AuditOptions,
    joins: &Arc<JoinEntries>,
    progress: &dyn Progress,
    threads: usize,
) -> Result<FirstPass, AuditError> {
    let mut batches = Batches::new(inputs, options);
    // Session names come from the log: with a random seed, no log can make their hashes collide.
    let hasher = RandomState::new();
    let joins = Some(joins).filter(|joins| !joins.is_empty());
    let start_shard = |_| Shard::new(judge.fork(), hasher.clone(), options, joins.cloned());
    let mut shards: Vec<Shard> = (0..threads).map(start_shard).collect();
    let mut faults = worker_pool::judge_all(&mut batches, &mut shards, &hasher, progress);
    let (files, mut unreadable) = batches.into_files();
    faults.append(&mut unreadable);
    if files.iter().flatten().all(|file| file.events == 0) {
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    faults.extend(batch::find_eventless(inputs, &files));
    shards.par_iter_mut().for_each(Shard::release_waiting);
    Ok(FirstPass { shards, files, faults })
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
