//! The threads for long work.
//!
//! They have a lower priority than the threads of the runtime and of the wardens, and end when they are idle, which
//! returns the memory that their work has left behind.

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::fair_gate::FairGate;
use super::fair_queue::Flow;

/// How much lower the priority of the threads is.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// How long an idle thread is kept.
const THREAD_IDLE_TIME: Duration = Duration::from_secs(2);

/// How many threads are kept for short work.
const SHORT_WORK_THREADS: usize = 2;

/// Up to how many bytes work is short: it takes some milliseconds, and does not wait for long work.
const MAX_SHORT_WORK_BYTES: usize = 128 << 10;

/// Threads for work that takes long.
#[derive(Debug)]
pub(crate) struct WorkPool {
    /// None while it is dropped.
    threads: Option<Runtime>,
    gate: FairGate,
}

impl WorkPool {
    /// Returns a pool with as many threads for long work as there are processors.
    pub(crate) fn new() -> Result<WorkPool, std::io::Error> {
        let long = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = Builder::new_current_thread()
            .max_blocking_threads(long + SHORT_WORK_THREADS)
            .thread_keep_alive(THREAD_IDLE_TIME)
            .thread_name("lictor-work")
            .on_thread_start(lower_priority)
            .build()?;
        Ok(WorkPool { threads: Some(threads), gate: FairGate::new(long) })
    }

    /// Runs work on about this many bytes for a client, and returns its result. A panic of the work continues here.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        flow: Flow,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let place = match bytes > MAX_SHORT_WORK_BYTES {
            true => Some(self.gate.enter(flow, bytes).await),
            false => None,
        };
        let Some(threads) = &self.threads else { return work() };
        let done = threads.spawn_blocking(move || {
            let _place = place;
            work()
        });
        match done.await.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => resume_unwind(panic),
            // The threads are gone: the process ends.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Drops a value that takes long to drop, without waiting for it.
    pub(crate) fn discard<T: Send + 'static>(&self, value: T) {
        if let Some(threads) = &self.threads {
            threads.spawn_blocking(move || drop(value));
        }
    }
}

/// Lowers the priority of this thread. Elsewhere than on Linux it would be that of the process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

impl Drop for WorkPool {
    fn drop(&mut self) {
        // The last owner may be a task, which must not wait for the threads.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}
