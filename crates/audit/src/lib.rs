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
mod error;
mod guarded_log;
mod inventory;
mod join;
mod log_reading;
mod noise;
mod options;
mod progress;
mod replay;
pub mod report;
mod session;
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
use std::hash::RandomState;
use std::sync::Arc;

use rayon::prelude::*;

use crate::report::{FileReport, Interruption, Report, ReportOrigin};
pub use answers::AnswerBook;
use coverage::SeenFacts;
pub use coverage::{LogCoverage, MissingFact, RecordedContent, UnexercisedProperty, UnknownFact};
pub use error::AuditError;
pub use guarded_log::{ApprovedFinding, GuardedLog, StoppedBy, Waiver};
pub use inventory::{Inventory, ToolUse, take_inventory};
use join::JoinEntries;
pub use join::{JoinReport, UnmatchedEntry};
use lictor_decode::Fault;
use lictor_decode::input::Input;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::SessionError;
use lictor_policy::Suppression;
use lictor_policy::glob::Glob;
pub use noise::{FindingNoise, TurningLabel};
pub use options::AuditOptions;
pub use progress::Progress;
pub use sessions::{LogSessions, SessionEvents, sessions};

use batch::{Batches, LogCut};
use closed_session::{ClosedSession, LogEnd};
use replay::ReplayedLog;
use shard::{JudgedShard, Shard};
use shared_history::HistoryEntry;

/// The most threads; more only compete, since every batch is divided among all of them.
const MAX_THREADS: usize = 256;

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
    let FirstPass { shards, files, mut faults, cut } = pass;
    faults.append(&mut join_faults);
    let end = if cut.is_some() { LogEnd::Cut } else { LogEnd::Reached(options.as_of) };
    let judged: Result<Vec<JudgedShard>, SessionError> = shards.into_par_iter().map(|shard| shard.close(end)).collect();
    let (mut closed, mut history): (Vec<ClosedSession>, Vec<HistoryEntry>) = (Vec::new(), Vec::new());
    let mut seen = SeenFacts::new(judge);
    for mut shard in judged? {
        closed.append(&mut shard.sessions);
        history.append(&mut shard.history);
        seen.merge(shard.seen);
    }
    closed.par_sort_unstable_by_key(|session| session.order);
    let is_judged = seen.judged_properties(judge);
    closed.par_iter_mut().for_each(|session| session.withdraw_unjudged(&is_judged));
    let joined = Some(&*joins).filter(|joins| !joins.is_empty());
    let log = ReplayedLog { inputs, files: &files, cut, end };
    let (mut findings, mut noise, unexplained) =
        replay::find_witnesses(judge, log, &mut closed, options, joined, progress)?;
    let unjudged: HashSet<&str> = judge
        .properties()
        .iter()
        .zip(&is_judged)
        .filter(|(_, is_judged)| !**is_judged)
        .map(|(property, _)| property.id.as_str())
        .collect();
    findings.retain(|finding| !unjudged.contains(finding.property.id.as_str()));
    let as_of = options.as_of.filter(|_| cut.is_none());
    shared_history::judge_histories(judge, history, &mut closed, &mut findings, as_of)?;
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
        interruption: Interruption::new(cut.is_some(), unexplained),
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
    /// Where reading was stopped before the end of the logs.
    cut: Option<LogCut>,
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
    let cut = batches.cut();
    let (files, mut unreadable) = batches.into_files();
    faults.append(&mut unreadable);
    if files.iter().flatten().all(|file| file.events == 0) {
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    if cut.is_none() {
        faults.extend(batch::find_eventless(inputs, &files));
        shards.par_iter_mut().for_each(Shard::release_waiting);
    }
    Ok(FirstPass { shards, files, faults, cut })
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
