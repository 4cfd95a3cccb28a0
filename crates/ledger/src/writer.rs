//! The two writer threads. One composes the next batch while the disk is busy: drafts get their index, time, commitment
//! and hash. The other owns the files meanwhile: it makes a batch durable, acknowledges it, and signs a checkpoint when
//! one is due.
//!
//! INVARIANT: an acknowledgement is sent after the records are durable, and batches are written in the order in which
//! they were composed, one at a time. After a failure nothing is written or acknowledged until the ledger is recovered;
//! drafts composed meanwhile are discarded.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use crate::command::{Command, ReturnedStore};
use crate::compose::{Batch, Composer};
use crate::error::LedgerError;
use crate::files::LedgerFiles;
use crate::options::LedgerOptions;
use crate::queue::{Chunk, Promise, Queue, QueueItem};

/// How many drafts must wait before composing starts while the disk is busy.
const MIN_DRAFTS_WHILE_BUSY: usize = 128;

/// A batch for the disk thread, with the files to write it to and the promises to resolve.
#[derive(Debug)]
struct BatchTask {
    store: Box<LedgerFiles>,
    batch: Batch,
    promises: Vec<(Promise, u64)>,
}

/// The state of the composing thread.
#[derive(Debug)]
struct Writer<'a> {
    queue: &'a Queue,
    /// The files, unless the disk thread has them.
    store: Option<Box<LedgerFiles>>,
    composer: Composer,
    /// The batch that is being composed, and for each promise the index of its first draft.
    open: Batch,
    promises: Vec<(Promise, u64)>,
    /// An unused batch.
    spare: Batch,
    disk: SyncSender<BatchTask>,
    /// The failure that stopped writing.
    failure: Option<LedgerError>,
    batch_records: usize,
    batch_bytes: usize,
    checkpoint_interval: Duration,
}

/// Writes until the queue is closed, then signs a last checkpoint.
pub(crate) fn run(
    store: LedgerFiles,
    composer: Composer,
    options: &LedgerOptions,
    queue: &Queue,
) -> Result<(), LedgerError> {
    let _shutdown = QueueShutdown(queue);
    let (disk, tasks) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("ledger disk".to_owned())
            .spawn_scoped(scope, move || write_batches(&tasks, queue))
            .map_err(|error| LedgerError::refused(format!("cannot start the disk thread of the ledger: {error}")))?;
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

/// Shuts the queue down when the writer ends, also by a panic, so that no caller waits forever.
struct QueueShutdown<'a>(&'a Queue);

impl Drop for QueueShutdown<'_> {
    fn drop(&mut self) {
        self.0.shut_down();
    }
}

/// Runs the disk thread.
fn write_batches(tasks: &Receiver<BatchTask>, queue: &Queue) {
    let _end = DiskThreadEnd(queue);
    for BatchTask { mut store, mut batch, promises } in tasks {
        let written = store.write(&batch);
        for (promise, first) in promises {
            promise.resolve(written.clone().map(|()| first));
        }
        let written = written.and_then(|()| store.sign_if_due()).inspect_err(|_| store.discard_unacknowledged());
        batch.clear();
        queue.return_store(ReturnedStore { store: Some(store), batch, written });
    }
}

/// Reports the end of the disk thread, also by a panic, so that the writer does not wait forever.
struct DiskThreadEnd<'a>(&'a Queue);

impl Drop for DiskThreadEnd<'_> {
    fn drop(&mut self) {
        self.0.return_store(ReturnedStore {
            store: None,
            batch: Batch::default(),
            written: Err(LedgerError::writer_stopped()),
        });
    }
}

impl Writer<'_> {
    fn run(mut self) -> Result<(), LedgerError> {
        loop {
            let is_idle = self.failure.is_none() && self.store.as_ref().is_some_and(|store| store.has_unsigned());
            let is_full = self.open.text.len() >= self.batch_bytes;
            let room = if is_full { 0 } else { self.batch_records.saturating_sub(self.open.leaves.len()) };
            let min_drafts = if self.store.is_some() { 1 } else { MIN_DRAFTS_WHILE_BUSY };
            match self.queue.next(room, min_drafts, is_idle.then_some(self.checkpoint_interval)) {
                QueueItem::Chunk(chunk) => self.compose(chunk),
                QueueItem::Store(returned) => self.accept_store(returned)?,
                QueueItem::Command(command) => {
                    self.finish()?;
                    self.execute(command);
                }
                // Nothing was written for as long as records may lack a checkpoint.
                QueueItem::Idle => {
                    let _ = self.change_files(|store, _| store.sign_and_settle());
                }
                QueueItem::Closed => {
                    self.finish()?;
                    return self.change_files(|store, _| store.sign_and_settle());
                }
            }
            self.send();
        }
    }

    /// Adds drafts to the batch that is being composed.
    fn compose(&mut self, chunk: Chunk) {
        if let Some(failure) = &self.failure {
            return chunk.promise.resolve(Err(LedgerError::stopped(failure.clone())));
        }
        let first = self.composer.next_index();
        match self.composer.compose(&chunk.drafts, &mut self.open) {
            Ok(()) => self.promises.push((chunk.promise, first)),
            Err(error) => {
                chunk.promise.resolve(Err(error.clone()));
                self.fail(error);
            }
        }
    }

    /// Sends the batch to the disk thread if there is one and the disk is free.
    fn send(&mut self) {
        if self.open.leaves.is_empty() {
            return;
        }
        if let Some(store) = self.store.take() {
            let batch = std::mem::replace(&mut self.open, std::mem::take(&mut self.spare));
            let promises = std::mem::take(&mut self.promises);
            // If the other thread has ended, dropping the task resolves its promises with an error.
            let _ = self.disk.send(BatchTask { store, batch, promises });
        }
    }

    fn accept_store(&mut self, returned: ReturnedStore) -> Result<(), LedgerError> {
        let Some(store) = returned.store else { return Err(LedgerError::writer_stopped()) };
        self.store = Some(store);
        self.spare = returned.batch;
        if let Err(error) = returned.written {
            self.fail(error);
        }
        Ok(())
    }

    /// Stops writing; composed drafts are not acknowledged.
    fn fail(&mut self, error: LedgerError) {
        let failure = self.failure.get_or_insert(error);
        for (promise, _) in self.promises.drain(..) {
            promise.resolve(Err(LedgerError::stopped(failure.clone())));
        }
        self.open.clear();
    }

    /// Waits until all composed drafts are written and the files are back.
    fn finish(&mut self) -> Result<(), LedgerError> {
        loop {
            self.send();
            if self.store.is_some() {
                return Ok(());
            }
            let returned = self.queue.wait_for_store();
            self.accept_store(returned)?;
        }
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Erase { subject, reply } => {
                let _ = reply.send(self.erase(&subject));
            }
            Command::Rotate { reply } => {
                let _ = reply.send(self.change_files(|store, _| store.rotate()));
            }
            Command::DropBefore { time, reply } => {
                let _ = reply.send(self.change_files(|store, _| store.drop_before(time)));
            }
            Command::Sign { reply } => {
                let _ = reply.send(self.change_files(|store, _| store.sign()));
            }
            Command::Recover { reply } => {
                let _ = reply.send(self.recover());
            }
        }
    }

    fn erase(&mut self, subject: &str) -> Result<u64, LedgerError> {
        // An unknown subject is not a failure of the ledger.
        let pseudonym = self.composer.subjects.pseudonym(subject).ok_or_else(|| {
            LedgerError::refused(format!(
                "no record names the subject `{subject}`, or it was already erased\nhint: the name must match exactly, \
                 including upper and lower case"
            ))
        })?;
        self.change_files(|store, composer| store.erase(&mut composer.subjects, pseudonym))
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

    /// Changes the files; after a failure returns an error until the ledger is recovered.
    fn change_files<T>(
        &mut self,
        change: impl FnOnce(&mut LedgerFiles, &mut Composer) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if let Some(failure) = &self.failure {
            return Err(LedgerError::stopped(failure.clone()));
        }
        let Some(store) = &mut self.store else { return Err(LedgerError::writer_stopped()) };
        let result = change(store, &mut self.composer);
        if let Err(error) = &result {
            self.failure = Some(error.clone());
            store.discard_unacknowledged();
        }
        self.composer.continue_from(store.size(), store.time());
        result
    }
}
