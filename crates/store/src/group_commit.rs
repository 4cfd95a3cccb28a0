//! Group commit: saves that arrive while another is being made durable share the next one.
//!
//! A commit costs one wait for the disk or the server, however many saves it has. So the first thread that finds no
//! commit running takes all waiting saves, commits them together and distributes the outcomes; the others sleep. A
//! single thread pays nothing for it: its own save is alone in the queue.

use std::collections::HashMap;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;
use crate::store::Change;

/// The outcome of one save: its version, or why it failed.
type SaveOutcome = Result<u64, StoreError>;

/// Combines saves of several threads into one commit. Every save must pass the same commit function.
#[derive(Debug, Default)]
pub struct GroupCommit {
    queue: Mutex<Queue>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<QueuedSave>,
    outcomes: HashMap<u64, SaveOutcome>,
    next_ticket: u64,
    is_committing: bool,
}

#[derive(Debug)]
struct QueuedSave {
    ticket: u64,
    changes: Vec<Change>,
}

impl GroupCommit {
    /// Returns an empty group.
    pub fn new() -> GroupCommit {
        GroupCommit::default()
    }

    /// Commits the changes together with those of other threads, on this thread or another.
    ///
    /// `commit` gets the saves in order and returns the outcome of each in the same order. Only one commit runs at a
    /// time.
    pub fn save(&self, changes: &[Change], commit: impl FnOnce(&[Vec<Change>]) -> Vec<SaveOutcome>) -> SaveOutcome {
        let mut queue = self.queue();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push(QueuedSave { ticket, changes: changes.to_vec() });
        while queue.is_committing {
            queue = self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner);
            if let Some(outcome) = queue.outcomes.remove(&ticket) {
                return outcome;
            }
        }
        queue.is_committing = true;
        let (tickets, saves) = mem::take(&mut queue.waiting).into_iter().map(|one| (one.ticket, one.changes)).unzip();
        drop(queue);
        let mut running = RunningCommit { group: self, tickets, outcomes: Vec::new() };
        let saves: Vec<Vec<Change>> = saves;
        running.outcomes = commit(&saves);
        drop(running);
        self.queue().outcomes.remove(&ticket).unwrap_or_else(|| Err(abandoned_commit()))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No foreign code runs under this lock, so a poisoned queue is still consistent.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The commit of one thread. Its drop, also by a panic, delivers an outcome to every waiting thread.
struct RunningCommit<'a> {
    group: &'a GroupCommit,
    tickets: Vec<u64>,
    outcomes: Vec<SaveOutcome>,
}

impl Drop for RunningCommit<'_> {
    fn drop(&mut self) {
        let mut queue = self.group.queue();
        let outcomes =
            mem::take(&mut self.outcomes).into_iter().chain(std::iter::repeat_with(|| Err(abandoned_commit())));
        queue.outcomes.extend(self.tickets.drain(..).zip(outcomes));
        queue.is_committing = false;
        self.group.finished.notify_all();
    }
}

/// Returns the error for saves whose committing thread panicked.
fn abandoned_commit() -> StoreError {
    let reason = "the thread that committed for several others panicked".to_string();
    StoreError::Uncertain { place: "this process".into(), reason }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;
    use crate::store::ExpectedVersion;

    #[test]
    fn group_commit_combines_waiting_saves() {
        let group = GroupCommit::new();
        let commits = AtomicU64::new(0);
        let others = 8;
        let started = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                group.save(&[], |saves| {
                    started.wait();
                    // The first commit runs until all others wait.
                    while group.queue().waiting.len() < others {
                        thread::yield_now();
                    }
                    saves.iter().map(|_| Ok(commits.fetch_add(1, Ordering::Relaxed))).collect()
                })
            });
            started.wait();
            for number in 0..others {
                let (group, commits) = (&group, &commits);
                scope.spawn(move || {
                    let change = Change::put(number.to_string(), ExpectedVersion::Absent, "");
                    let outcome = group.save(&[change], |saves| {
                        commits.fetch_add(1, Ordering::Relaxed);
                        saves.iter().map(|save| Ok(save[0].key.parse().unwrap())).collect()
                    });
                    assert_eq!(outcome, Ok(number as u64));
                });
            }
        });
        assert_eq!(commits.into_inner(), 2);
    }

    #[test]
    fn group_commit_survives_a_panic() {
        let group = GroupCommit::new();
        thread::scope(|scope| {
            let stopped = scope.spawn(|| group.save(&[], |_| panic!("on purpose")));
            assert!(stopped.join().is_err());
        });
        assert_eq!(group.save(&[], |_| vec![Ok(7)]), Ok(7));
        assert!(matches!(group.save(&[], |_| Vec::new()), Err(StoreError::Uncertain { .. })));
    }
}
