//! Between those who append and the thread that writes: drafts gather here in the order in which they came.
//!
//! Whoever appends while the disk is busy finds a chunk to join, and all of a chunk are told their outcome at once: one
//! lock and one waking for thousands of records. Commands keep their place between the drafts before and behind them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::draft::Prepared;
use crate::error::LedgerError;
use crate::options::LedgerOptions;
use crate::writer::{Command, Home};

/// What waits to be written.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something came for the writer.
    arrived: Condvar,
    /// There is room for drafts again.
    room: Condvar,
    /// How many drafts may wait, and what one chunk holds at most.
    most_waiting: usize,
    chunk_records: usize,
    chunk_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Entry>,
    /// How many drafts are among what waits.
    drafts: usize,
    /// The store, when the thread of the disk is done with it.
    home: Option<Home>,
    /// Nobody will send anything any more.
    is_closed: bool,
    /// Nobody will take anything any more.
    is_gone: bool,
    /// Whether the writer sleeps, and how many drafts are worth waking it; how many wait for room. Waking somebody costs
    /// more than composing a record.
    is_asleep: bool,
    least: usize,
    held_up: usize,
}

#[derive(Debug)]
enum Entry {
    Chunk(Chunk),
    Command(Command),
}

/// Drafts that came one after the other, and whom to tell.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) drafts: Vec<Prepared>,
    pub(crate) promise: Promise,
    weight: usize,
}

/// What the writer gets next.
#[derive(Debug)]
pub(crate) enum Next {
    Chunk(Chunk),
    Command(Command),
    Home(Home),
    /// Nothing came for a while.
    Silence,
    /// Nothing will come any more.
    End,
}

/// The index of the first record of a chunk, or why none of it is acknowledged; both unknown at first.
#[derive(Debug, Default)]
pub(crate) struct Outcome(OnceLock<Result<u64, LedgerError>>);

impl Outcome {
    /// Waits until the outcome is known.
    pub(crate) fn wait(&self) -> Result<u64, LedgerError> {
        self.0.wait().clone()
    }
}

/// The duty to tell an outcome. Dropped without being kept, it tells that the writer has stopped.
#[derive(Debug, Default)]
pub(crate) struct Promise(Arc<Outcome>);

impl Promise {
    pub(crate) fn keep(self, outcome: Result<u64, LedgerError>) {
        // Nobody else tells it.
        let _ = self.0.0.set(outcome);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let _ = self.0.0.set(Err(LedgerError::gone()));
    }
}

impl Queue {
    pub(crate) fn new(options: &LedgerOptions) -> Queue {
        Queue {
            state: Mutex::default(),
            arrived: Condvar::new(),
            room: Condvar::new(),
            most_waiting: options.queue,
            chunk_records: options.batch_records,
            chunk_bytes: options.batch_bytes,
        }
    }

    /// Adds a draft, when there is room; gives its outcome and its place there.
    pub(crate) fn append(&self, draft: Prepared) -> Result<(Arc<Outcome>, u64), LedgerError> {
        let mut state = lock(&self.state);
        while state.drafts >= self.most_waiting && !state.is_gone {
            state.held_up += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.held_up -= 1;
        }
        if state.is_gone {
            return Err(LedgerError::gone());
        }
        let is_open = |chunk: &Chunk| chunk.drafts.len() < self.chunk_records && chunk.weight < self.chunk_bytes;
        if !matches!(state.waiting.back(), Some(Entry::Chunk(chunk)) if is_open(chunk)) {
            let chunk = Chunk { drafts: Vec::new(), promise: Promise::default(), weight: 0 };
            state.waiting.push_back(Entry::Chunk(chunk));
        }
        state.drafts += 1;
        if state.drafts >= state.least {
            self.wake(&mut state);
        }
        let Some(Entry::Chunk(chunk)) = state.waiting.back_mut() else { return Err(LedgerError::gone()) };
        let place = chunk.drafts.len() as u64;
        chunk.weight += draft.weight();
        chunk.drafts.push(draft);
        Ok((chunk.promise.0.clone(), place))
    }

    /// Adds a command behind all that waits.
    pub(crate) fn command(&self, command: Command) -> Result<(), LedgerError> {
        let mut state = lock(&self.state);
        if state.is_gone {
            return Err(LedgerError::gone());
        }
        state.waiting.push_back(Entry::Command(command));
        self.wake(&mut state);
        Ok(())
    }

    /// Nobody will send anything any more.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.wake(&mut state);
    }

    /// The store comes back from the thread of the disk.
    pub(crate) fn bring_home(&self, home: Home) {
        let mut state = lock(&self.state);
        state.home = Some(home);
        self.wake(&mut state);
    }

    /// What comes next; a chunk only if it has no more drafts than there is room for, and if at least so many wait or
    /// nobody will join them.
    pub(crate) fn next(&self, room: usize, least: usize, patience: Option<Duration>) -> Next {
        let mut state = lock(&self.state);
        state.least = least;
        loop {
            if let Some(home) = state.home.take() {
                return Next::Home(home);
            }
            match state.waiting.front() {
                Some(Entry::Chunk(chunk)) if chunk.drafts.len() > room => {}
                Some(Entry::Chunk(_)) if state.drafts < least && state.waiting.len() == 1 && !state.is_closed => {}
                None if state.is_closed => return Next::End,
                None => {}
                Some(_) => return self.take(state),
            }
            state.is_asleep = true;
            let is_late;
            (state, is_late) = match patience {
                Some(patience) => {
                    let slept = self.arrived.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
                    (slept.0, slept.1.timed_out())
                }
                None => (self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner), false),
            };
            state.is_asleep = false;
            if is_late && state.waiting.is_empty() && state.home.is_none() && !state.is_closed {
                return Next::Silence;
            }
        }
    }

    /// Waits for the store to come back, whatever else has come.
    pub(crate) fn home(&self) -> Home {
        let mut state = lock(&self.state);
        loop {
            if let Some(home) = state.home.take() {
                return home;
            }
            state.is_asleep = true;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_asleep = false;
        }
    }

    fn take(&self, mut state: MutexGuard<'_, State>) -> Next {
        match state.waiting.pop_front() {
            Some(Entry::Chunk(chunk)) => {
                state.drafts -= chunk.drafts.len();
                if state.held_up > 0 {
                    self.room.notify_all();
                }
                Next::Chunk(chunk)
            }
            Some(Entry::Command(command)) => Next::Command(command),
            None => Next::End,
        }
    }

    /// Nobody will take anything any more: all that waits is told so.
    pub(crate) fn leave(&self) {
        let mut state = lock(&self.state);
        state.is_gone = true;
        let left = std::mem::take(&mut state.waiting);
        self.room.notify_all();
        drop(state);
        drop(left);
    }

    fn wake(&self, state: &mut State) {
        if std::mem::take(&mut state.is_asleep) {
            self.arrived.notify_one();
        }
    }
}

/// Nobody panics while holding one of these locks; should it happen, what they guard is whole all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
