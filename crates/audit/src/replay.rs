//! Replays sessions with a violation from their beginning, for the witnesses.
//!
//! The log is read once more, and each session is replayed when its last event was read. So time and memory do not
//! depend on how many sessions are replayed.

mod event_spool;
mod log_events;
mod session_run;
mod waiting_sessions;

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use self::log_events::LogEvents;
use self::session_run::{ReplayedFindings, replay_session};
use self::waiting_sessions::{CompleteSession, WaitingSessions};
use super::batch::LogCut;
use super::closed_session::{ClosedSession, LogEnd};
use super::join::JoinEntries;
use super::noise::FindingNoise;
use super::{AuditError, AuditOptions, Progress};
use crate::report::FileReport;
use lictor_decode::input::Input;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::SessionError;

/// The log of the first pass.
#[derive(Clone, Copy)]
pub(super) struct ReplayedLog<'a> {
    pub(super) inputs: &'a [Input],
    /// The report of each input; none for unreadable ones.
    pub(super) files: &'a [Option<FileReport>],
    /// Where it was cut, if it was.
    pub(super) cut: Option<LogCut>,
    pub(super) end: LogEnd,
}

/// Returns the findings of the sessions with their witnesses, in the order of the sessions, and how many of the sessions were not
/// replayed since the audit was stopped.
pub(super) fn find_witnesses(
    judge: &Judge,
    log: ReplayedLog<'_>,
    sessions: &mut [ClosedSession],
    options: &AuditOptions,
    joins: Option<&JoinEntries>,
    progress: &dyn Progress,
) -> Result<(Vec<Finding>, Vec<FindingNoise>, usize), AuditError> {
    let suspects: Vec<&mut ClosedSession> = sessions.iter_mut().filter(|session| session.is_suspect).collect();
    let all = suspects.len();
    progress.explained(0, all);
    let was_stopped = progress.is_stopped();
    let end = log.end;
    let mut log = LogEvents::new(log, suspects.iter().map(|session| &**session), options);
    let mut waiting = WaitingSessions::new(suspects);
    let replayer = Replayer::new(judge, options, joins, end);
    let (mut found, mut complete) = (Vec::with_capacity(all), Vec::new());
    loop {
        // The next part of the log is read while the sessions of the last one are replayed.
        let (read, replayed) = rayon::join(|| log.read_next(), || replayer.replay_all(std::mem::take(&mut complete)));
        found.append(&mut replayed?);
        progress.explained(found.len(), all);
        if progress.is_stopped() && !was_stopped {
            break;
        }
        match read? {
            Some(read) => complete = waiting.add(read).map_err(AuditError::Spool)?,
            None => break,
        }
    }
    while found.len() < all && (was_stopped || !progress.is_stopped()) {
        let Some(left) = waiting.take_left().map_err(AuditError::Spool)? else { break };
        found.append(&mut replayer.replay_all(left)?);
        progress.explained(found.len(), all);
    }
    let unexplained = all - found.len();
    found.sort_unstable_by_key(|(number, _)| *number);
    let (mut findings, mut noise) = (Vec::new(), Vec::new());
    for (_, (mut of_session, mut rests)) in found {
        findings.append(&mut of_session);
        noise.append(&mut rests);
    }
    Ok((findings, noise, unexplained))
}

/// Replays sessions on all threads.
struct Replayer<'a> {
    /// A judge for each thread.
    judges: Vec<Mutex<Judge>>,
    options: &'a AuditOptions,
    joins: Option<&'a JoinEntries>,
    end: LogEnd,
}

impl<'a> Replayer<'a> {
    fn new(judge: &Judge, options: &'a AuditOptions, joins: Option<&'a JoinEntries>, end: LogEnd) -> Replayer<'a> {
        let judges = (0..rayon::current_num_threads()).map(|_| Mutex::new(judge.fork())).collect();
        Replayer { judges, options, joins, end }
    }

    /// Returns the findings of some sessions, by their numbers.
    fn replay_all(&self, sessions: Vec<CompleteSession<'_>>) -> Result<Vec<(u32, ReplayedFindings)>, SessionError> {
        let replay = |CompleteSession { number, session, events }: CompleteSession<'_>| {
            let thread = rayon::current_thread_index().unwrap_or_default() % self.judges.len();
            let mut judge = self.judges[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let found = replay_session(&mut judge, session, &events, self.options, self.joins, self.end)?;
            Ok((number, found))
        };
        sessions.into_par_iter().map(replay).collect()
    }
}
