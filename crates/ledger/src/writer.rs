//! The two threads that write. One composes: it gives drafts their index, time, commitment and hash, for as long as the
//! disk is busy with the batch before. The other owns the store meanwhile: it makes a batch durable, acknowledges it,
//! and signs a checkpoint when one is due.
//!
//! INVARIANT: an acknowledgement is sent after the records are durable, and batches are written in the order in which
//! they were composed, one at a time. After a failure nothing is written and nothing is acknowledged until somebody
//! recovers; what was composed meanwhile is thrown away.

use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::time::Duration;

use jiff::Timestamp;

use crate::compose::{Batch, Composer};
use crate::error::LedgerError;
use crate::note::VerifierKey;
use crate::options::LedgerOptions;
use crate::queue::{Chunk, Next, Promise, Queue};
use crate::store::Store;

/// How many drafts are worth composing while the disk is busy anyway.
const COMPANY: usize = 128;

/// To whom the outcome of a command is told.
pub(crate) type Reply<T> = Sender<Result<T, LedgerError>>;

/// What the writer is asked to do besides appending.
#[derive(Debug)]
pub(crate) enum Command {
    Erase { subject: String, reply: Reply<u64> },
    Rotate { reply: Reply<VerifierKey> },
    DropBefore { time: Timestamp, reply: Reply<u64> },
    Sign { reply: Reply<()> },
    Recover { reply: Reply<()> },
}

/// A batch for the thread of the disk, with the store to write it to and those whom it concerns.
#[derive(Debug)]
struct Task {
    store: Box<Store>,
    batch: Batch,
    promises: Vec<(Promise, u64)>,
}

/// The store comes back, with a batch whose memory can be used again, and with how it went. Without a store: the thread
/// of the disk has ended.
#[derive(Debug)]
pub(crate) struct Home {
    store: Option<Box<Store>>,
    batch: Batch,
    written: Result<(), LedgerError>,
}

/// The thread that composes.
#[derive(Debug)]
struct Writer<'a> {
    queue: &'a Queue,
    /// The store, unless the thread of the disk has it.
    store: Option<Box<Store>>,
    composer: Composer,
    /// The batch that is being composed, and with which index the drafts of each promise begin.
    open: Batch,
    promises: Vec<(Promise, u64)>,
    /// A batch that is not used.
    spare: Batch,
    disk: SyncSender<Task>,
    /// Why nothing more is written.
    failure: Option<LedgerError>,
    batch_records: usize,
    batch_bytes: usize,
    checkpoint_interval: Duration,
}

/// Writes until nobody can ask for anything any more, then signs a last checkpoint.
pub(crate) fn run(store: Store, composer: Composer, options: &LedgerOptions, queue: &Queue) -> Result<(), LedgerError> {
    let _leaving = Leaving(queue);
    let (disk, tasks) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("ledger disk".to_owned())
            .spawn_scoped(scope, move || write_batches(&tasks, queue))
            .map_err(|error| LedgerError::refused(format!("no thread can be started for the ledger: {error}")))?;
        let writer = Writer {
            queue,
            store: Some(Box::new(store)),
            composer,
            open: Batch::default(),
            promises: Vec::new(),
            spare: Batch::default(),
            disk,
            failure: None,
            batch_records: options.batch_records,
            batch_bytes: options.batch_bytes,
            checkpoint_interval: options.checkpoint_interval,
        };
        writer.run()
    })
}

/// However the writer ends: nobody waits for it in vain.
struct Leaving<'a>(&'a Queue);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The thread of the disk.
fn write_batches(tasks: &Receiver<Task>, queue: &Queue) {
    let _ending = Ending(queue);
    for Task { mut store, mut batch, promises } in tasks {
        let written = store.write(&batch);
        for (promise, first) in promises {
            promise.keep(written.clone().map(|()| first));
        }
        let written = written.and_then(|()| store.sign_if_due()).inspect_err(|_| store.give_up());
        batch.clear();
        queue.bring_home(Home { store: Some(store), batch, written });
    }
}

/// However the thread of the disk ends: the writer does not wait for it in vain.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.bring_home(Home { store: None, batch: Batch::default(), written: Err(LedgerError::gone()) });
    }
}

impl Writer<'_> {
    fn run(mut self) -> Result<(), LedgerError> {
        loop {
            let is_idle = self.failure.is_none() && self.store.as_ref().is_some_and(|store| store.has_unsigned());
            let is_full = self.open.text.len() >= self.batch_bytes;
            let room = if is_full { 0 } else { self.batch_records.saturating_sub(self.open.leaves.len()) };
            let least = if self.store.is_some() { 1 } else { COMPANY };
            match self.queue.next(room, least, is_idle.then_some(self.checkpoint_interval)) {
                Next::Chunk(chunk) => self.compose(chunk),
                Next::Home(home) => self.welcome(home)?,
                Next::Command(command) => {
                    self.finish()?;
                    self.obey(command);
                }
                // Nobody wrote for as long as records may be without a checkpoint.
                Next::Silence => {
                    let _ = self.attempt(|store, _| store.rest());
                }
                Next::End => {
                    self.finish()?;
                    return self.attempt(|store, _| store.rest());
                }
            }
            self.send();
        }
    }

    /// Adds drafts to the batch that is being composed.
    fn compose(&mut self, chunk: Chunk) {
        if let Some(failure) = &self.failure {
            return chunk.promise.keep(Err(LedgerError::stopped(failure.clone())));
        }
        let first = self.composer.next_index();
        match self.composer.compose(&chunk.drafts, &mut self.open) {
            Ok(()) => self.promises.push((chunk.promise, first)),
            Err(error) => {
                chunk.promise.keep(Err(error.clone()));
                self.fail(error);
            }
        }
    }

    /// Hands the batch over if there is one and the disk is free.
    fn send(&mut self) {
        if self.open.leaves.is_empty() {
            return;
        }
        if let Some(store) = self.store.take() {
            let batch = std::mem::replace(&mut self.open, std::mem::take(&mut self.spare));
            let promises = std::mem::take(&mut self.promises);
            // Should the other thread have ended, the promises in the task tell so.
            let _ = self.disk.send(Task { store, batch, promises });
        }
    }

    fn welcome(&mut self, home: Home) -> Result<(), LedgerError> {
        let Some(store) = home.store else { return Err(LedgerError::gone()) };
        self.store = Some(store);
        self.spare = home.batch;
        if let Err(error) = home.written {
            self.fail(error);
        }
        Ok(())
    }

    /// Nothing more is written, and what was composed is not acknowledged.
    fn fail(&mut self, error: LedgerError) {
        let failure = self.failure.get_or_insert(error);
        for (promise, _) in self.promises.drain(..) {
            promise.keep(Err(LedgerError::stopped(failure.clone())));
        }
        self.open.clear();
    }

    /// Waits until all that was composed is written and the store is here.
    fn finish(&mut self) -> Result<(), LedgerError> {
        loop {
            self.send();
            if self.store.is_some() {
                return Ok(());
            }
            let home = self.queue.home();
            self.welcome(home)?;
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Erase { subject, reply } => {
                let _ = reply.send(self.erase(&subject));
            }
            Command::Rotate { reply } => {
                let _ = reply.send(self.attempt(|store, _| store.rotate()));
            }
            Command::DropBefore { time, reply } => {
                let _ = reply.send(self.attempt(|store, _| store.drop_before(time)));
            }
            Command::Sign { reply } => {
                let _ = reply.send(self.attempt(|store, _| store.sign()));
            }
            Command::Recover { reply } => {
                let _ = reply.send(self.recover());
            }
        }
    }

    fn erase(&mut self, subject: &str) -> Result<u64, LedgerError> {
        // A subject that nobody knows is no failure of the ledger.
        let pseudonym = self.composer.subjects.pseudonym(subject).ok_or_else(|| {
            LedgerError::refused(format!(
                "no record names the subject `{subject}`, or it was erased before\nhint: subjects are compared letter by \
                 letter"
            ))
        })?;
        self.attempt(|store, composer| store.erase(&mut composer.subjects, pseudonym))
    }

    fn recover(&mut self) -> Result<(), LedgerError> {
        if self.failure.is_some()
            && let Some(store) = &mut self.store
        {
            self.composer = store.recover()?;
            self.failure = None;
        }
        Ok(())
    }

    /// Does something with the files; after a failure nothing more until somebody recovers.
    fn attempt<T>(
        &mut self,
        change: impl FnOnce(&mut Store, &mut Composer) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if let Some(failure) = &self.failure {
            return Err(LedgerError::stopped(failure.clone()));
        }
        let Some(store) = &mut self.store else { return Err(LedgerError::gone()) };
        let result = change(store, &mut self.composer);
        if let Err(error) = &result {
            self.failure = Some(error.clone());
            store.give_up();
        }
        self.composer.follow(store.size(), store.time());
        result
    }
}
