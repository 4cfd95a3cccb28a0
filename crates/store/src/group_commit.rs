//! Group commit: saves that arrive while another is being made durable share the next one.
//!
//! Making something durable costs one wait for the disk or the server, however much it is. So the first thread that
//! finds nobody at work takes all saves that wait, makes them durable at once and hands out the results; the others
//! sleep. A single thread pays nothing for it: it finds its own save alone in the queue.

use std::collections::HashMap;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;
use crate::store::Change;

/// What became of one save: the version it gave, or why not.
type Outcome = Result<u64, StoreError>;

/// Where saves of several threads meet. The commit itself is given with every save and must always be the same.
#[derive(Debug, Default)]
pub struct GroupCommit {
    queue: Mutex<Queue>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Waiting>,
    outcomes: HashMap<u64, Outcome>,
    next_ticket: u64,
    is_committing: bool,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    changes: Vec<Change>,
}

impl GroupCommit {
    /// A place where nobody waits.
    pub fn new() -> GroupCommit {
        GroupCommit::default()
    }

    /// Makes the changes together with those of other threads, by this thread or another.
    ///
    /// `commit` gets saves in the order in which they are to be made, and returns the outcome of each in that order.
    /// Never more than one commit runs at a time.
    pub fn save(&self, changes: &[Change], commit: impl FnOnce(&[Vec<Change>]) -> Vec<Outcome>) -> Outcome {
        let mut queue = self.queue();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push(Waiting { ticket, changes: changes.to_vec() });
        while queue.is_committing {
            queue = self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner);
            if let Some(outcome) = queue.outcomes.remove(&ticket) {
                return outcome;
            }
        }
        queue.is_committing = true;
        let (tickets, saves) = mem::take(&mut queue.waiting).into_iter().map(|one| (one.ticket, one.changes)).unzip();
        drop(queue);
        let mut turn = Turn { group: self, tickets, outcomes: Vec::new() };
        let saves: Vec<Vec<Change>> = saves;
        turn.outcomes = commit(&saves);
        drop(turn);
        self.queue().outcomes.remove(&ticket).unwrap_or_else(|| Err(lost()))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code of others runs while it is locked, so it is whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of one thread. Ends when dropped, also by a panic: those who wait are always told.
struct Turn<'a> {
    group: &'a GroupCommit,
    tickets: Vec<u64>,
    outcomes: Vec<Outcome>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.group.queue();
        let outcomes = mem::take(&mut self.outcomes).into_iter().chain(std::iter::repeat_with(|| Err(lost())));
        queue.outcomes.extend(self.tickets.drain(..).zip(outcomes));
        queue.is_committing = false;
        self.group.finished.notify_all();
    }
}

/// What is told to those whose save was taken along by a thread that did not come back.
fn lost() -> StoreError {
    let reason = "the thread that saved for several others stopped midway".to_string();
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
    fn saves_that_arrive_during_a_commit_share_the_next_one() {
        let group = GroupCommit::new();
        let commits = AtomicU64::new(0);
        let others = 8;
        let started = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                group.save(&[], |saves| {
                    started.wait();
                    // The first commit lasts until all others wait.
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
    fn a_thread_that_stops_midway_leaves_the_others_told_and_the_group_usable() {
        let group = GroupCommit::new();
        thread::scope(|scope| {
            let stopped = scope.spawn(|| group.save(&[], |_| panic!("on purpose")));
            assert!(stopped.join().is_err());
        });
        assert_eq!(group.save(&[], |_| vec![Ok(7)]), Ok(7));
        assert!(matches!(group.save(&[], |_| Vec::new()), Err(StoreError::Uncertain { .. })));
    }
}
