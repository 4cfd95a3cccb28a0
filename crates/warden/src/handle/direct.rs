//! A warden that callers call directly, one at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lictor_logic::Time;

use super::TICK_INTERVAL;
use crate::answer::Notice;
use crate::error::WardenError;
use crate::warden::Warden;

/// A warden behind a lock.
pub(super) struct Direct {
    state: Mutex<State>,
    clock: Box<dyn Fn() -> Time + Send + Sync>,
    /// Ends the thread that keeps time.
    end: SyncSender<()>,
}

struct State {
    /// None once the handle is closed.
    warden: Option<Warden>,
    /// Whether the state in memory may be incomplete, because a question ended in a panic.
    is_torn: bool,
}

impl Direct {
    pub(super) fn new(warden: Warden, clock: impl Fn() -> Time + Send + Sync + 'static) -> (Arc<Direct>, Receiver<()>) {
        let (end, ended) = sync_channel(1);
        let state = Mutex::new(State { warden: Some(warden), is_torn: false });
        (Arc::new(Direct { state, clock: Box::new(clock), end }), ended)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the warden and calls `then` with its answer. `then` is not called if the handle is closed, or if the
    /// question ends in a panic; after a panic the state is loaded again before the next answer.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&mut Warden, Time) -> Result<T, WardenError>,
        then: impl FnOnce(Result<T, Arc<WardenError>>),
    ) {
        // `then` may ask again at once, so it is called after the lock is released.
        if let Some(answer) = self.answer(question) {
            then(answer.map_err(Arc::new));
        }
    }

    fn answer<T>(
        &self,
        question: impl FnOnce(&mut Warden, Time) -> Result<T, WardenError>,
    ) -> Option<Result<T, WardenError>> {
        let mut state = self.state();
        let State { warden, is_torn } = &mut *state;
        let warden = warden.as_mut()?;
        if *is_torn {
            match catch_unwind(AssertUnwindSafe(|| warden.start_over())).ok()? {
                Ok(()) => *is_torn = false,
                Err(error) => return Some(Err(error)),
            }
        }
        let answer = catch_unwind(AssertUnwindSafe(|| question(warden, (self.clock)())));
        *is_torn = answer.is_err();
        answer.ok()
    }

    /// Lets time pass until the handle is closed.
    pub(super) fn keep_time(
        &self,
        ended: &Receiver<()>,
        mut on_notice: impl FnMut(Result<Notice, WardenError>),
    ) -> Result<(), WardenError> {
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK_INTERVAL) {
            match self.answer(Warden::tick) {
                Some(Ok(notices)) => notices.into_iter().for_each(|notice| on_notice(Ok(notice))),
                Some(Err(error)) => on_notice(Err(error)),
                None => on_notice(Err(WardenError::Broken)),
            }
        }
        let warden = self.state().warden.take();
        warden.map_or(Ok(()), Warden::close)
    }

    /// Ends the thread that keeps time. Questions after this may stay unanswered.
    pub(super) fn close(&self) {
        // The channel is full if the handle was closed before.
        let _ = self.end.try_send(());
    }
}
