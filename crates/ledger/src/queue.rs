//! The queue between callers that append and the writer thread, in order of arrival.
//!
//! Drafts that arrive while the disk is busy join one chunk, and a chunk gets one outcome: one lock and one wake-up for
//! thousands of records. Commands keep their place between the drafts before and after them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::command::{Command, ReturnedStore};
use crate::draft::PreparedDraft;
use crate::error::LedgerError;
use crate::options::LedgerOptions;

/// Drafts and commands that wait for the writer thread.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    /// Signals the writer that an entry has arrived.
    arrived: Condvar,
    /// Signals blocked callers that there is room for drafts again.
    room: Condvar,
    /// The most drafts that may wait, and the limits of one chunk.
    max_waiting: usize,
    chunk_records: usize,
    chunk_bytes: usize,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Entry>,
    /// How many drafts wait.
    drafts: usize,
    /// The files, once the disk thread has returned them.
    returned: Option<ReturnedStore>,
    /// Whether the senders are gone.
    is_closed: bool,
    /// Whether the writer is gone.
    is_shut_down: bool,
    /// Whether the writer sleeps, how many drafts are worth waking it, and how many callers wait for room. Waking a
    /// thread costs more than composing a record.
    is_asleep: bool,
    min_drafts: usize,
    blocked_appends: usize,
}

#[derive(Debug)]
enum Entry {
    Chunk(Chunk),
    Command(Command),
}

/// Consecutive drafts that share one outcome.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) drafts: Vec<PreparedDraft>,
    pub(crate) promise: Promise,
    weight: usize,
}

/// The next thing for the writer to do.
#[derive(Debug)]
pub(crate) enum QueueItem {
    Chunk(Chunk),
    Command(Command),
    Store(ReturnedStore),
    /// Nothing arrived before the timeout.
    Idle,
    /// The queue is empty and the senders are gone.
    Closed,
}

/// The outcome of a chunk, once known: the index of its first record, or why none of it is acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Outcome(OnceLock<Result<u64, LedgerError>>);

impl Outcome {
    /// Waits until the outcome is known.
    pub(crate) fn wait(&self) -> Result<u64, LedgerError> {
        self.0.wait().clone()
    }
}

/// The duty to set an [`Outcome`]. Dropped without being resolved, it reports that the writer has stopped.
#[derive(Debug, Default)]
pub(crate) struct Promise(Arc<Outcome>);

impl Promise {
    pub(crate) fn resolve(self, outcome: Result<u64, LedgerError>) {
        // This is the only place that sets it.
        let _ = self.0.0.set(outcome);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let _ = self.0.0.set(Err(LedgerError::writer_stopped()));
    }
}

impl Queue {
    pub(crate) fn new(options: &LedgerOptions) -> Queue {
        Queue {
            state: Mutex::default(),
            arrived: Condvar::new(),
            room: Condvar::new(),
            max_waiting: options.queue,
            chunk_records: options.batch_records,
            chunk_bytes: options.batch_bytes,
        }
    }

    /// Adds a draft as soon as there is room; returns its chunk's outcome and its place in the chunk.
    pub(crate) fn append(&self, draft: PreparedDraft) -> Result<(Arc<Outcome>, u64), LedgerError> {
        let mut state = lock(&self.state);
        while state.drafts >= self.max_waiting && !state.is_shut_down {
            state.blocked_appends += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.blocked_appends -= 1;
        }
        if state.is_shut_down {
            return Err(LedgerError::writer_stopped());
        }
        let is_open = |chunk: &Chunk| chunk.drafts.len() < self.chunk_records && chunk.weight < self.chunk_bytes;
        if !matches!(state.waiting.back(), Some(Entry::Chunk(chunk)) if is_open(chunk)) {
            let chunk = Chunk { drafts: Vec::new(), promise: Promise::default(), weight: 0 };
            state.waiting.push_back(Entry::Chunk(chunk));
        }
        state.drafts += 1;
        if state.drafts >= state.min_drafts {
            self.wake(&mut state);
        }
        let Some(Entry::Chunk(chunk)) = state.waiting.back_mut() else { return Err(LedgerError::writer_stopped()) };
        let place = chunk.drafts.len() as u64;
        chunk.weight += draft.weight();
        chunk.drafts.push(draft);
        Ok((chunk.promise.0.clone(), place))
    }

    /// Adds a command at the end of the queue.
    pub(crate) fn push_command(&self, command: Command) -> Result<(), LedgerError> {
        let mut state = lock(&self.state);
        if state.is_shut_down {
            return Err(LedgerError::writer_stopped());
        }
        state.waiting.push_back(Entry::Command(command));
        self.wake(&mut state);
        Ok(())
    }

    /// Closes the sending side.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.wake(&mut state);
    }

    /// Gives the files back to the writer; called by the disk thread.
    pub(crate) fn return_store(&self, returned: ReturnedStore) {
        let mut state = lock(&self.state);
        state.returned = Some(returned);
        self.wake(&mut state);
    }

    /// Waits for the next item. Returns a chunk only if it fits into `room`, and if at least `min_drafts` wait or no
    /// more can join them.
    pub(crate) fn next(&self, room: usize, min_drafts: usize, timeout: Option<Duration>) -> QueueItem {
        let mut state = lock(&self.state);
        state.min_drafts = min_drafts;
        loop {
            if let Some(returned) = state.returned.take() {
                return QueueItem::Store(returned);
            }
            match state.waiting.front() {
                Some(Entry::Chunk(chunk)) if chunk.drafts.len() > room => {}
                Some(Entry::Chunk(_)) if state.drafts < min_drafts && state.waiting.len() == 1 && !state.is_closed => {}
                None if state.is_closed => return QueueItem::Closed,
                None => {}
                Some(_) => return self.take_front(state),
            }
            state.is_asleep = true;
            let is_late;
            (state, is_late) = match timeout {
                Some(timeout) => {
                    let slept = self.arrived.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner);
                    (slept.0, slept.1.timed_out())
                }
                None => (self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner), false),
            };
            state.is_asleep = false;
            if is_late && state.waiting.is_empty() && state.returned.is_none() && !state.is_closed {
                return QueueItem::Idle;
            }
        }
    }

    /// Waits for the disk thread to return the files, and leaves other entries in the queue.
    pub(crate) fn wait_for_store(&self) -> ReturnedStore {
        let mut state = lock(&self.state);
        loop {
            if let Some(returned) = state.returned.take() {
                return returned;
            }
            state.is_asleep = true;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_asleep = false;
        }
    }

    fn take_front(&self, mut state: MutexGuard<'_, QueueState>) -> QueueItem {
        match state.waiting.pop_front() {
            Some(Entry::Chunk(chunk)) => {
                state.drafts -= chunk.drafts.len();
                if state.blocked_appends > 0 {
                    self.room.notify_all();
                }
                QueueItem::Chunk(chunk)
            }
            Some(Entry::Command(command)) => QueueItem::Command(command),
            None => QueueItem::Closed,
        }
    }

    /// Closes the receiving side: every waiting caller gets an error.
    pub(crate) fn shut_down(&self) {
        let mut state = lock(&self.state);
        state.is_shut_down = true;
        let left = std::mem::take(&mut state.waiting);
        self.room.notify_all();
        drop(state);
        drop(left);
    }

    fn wake(&self, state: &mut QueueState) {
        if std::mem::take(&mut state.is_asleep) {
            self.arrived.notify_one();
        }
    }
}

/// Locks a mutex and ignores poisoning: no code that holds one of these locks can panic halfway through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
