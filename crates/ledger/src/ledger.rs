//! A ledger open for writing: any thread may append, one batch at a time is written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use jiff::Timestamp;

use crate::command::{Command, ReplySender};
use crate::compose::Composer;
use crate::draft::{Draft, PreparedDraft};
use crate::error::LedgerError;
use crate::files::LedgerFiles;
use crate::note::VerifierKey;
use crate::options::LedgerOptions;
use crate::queue::{Outcome, Queue};
use crate::reader::Reader;
use crate::writer;

/// A ledger open for writing.
///
/// Threads share it by reference. Records that are appended at the same time are synced together.
///
/// ```
/// use lictor_ledger::{Draft, Ledger, LedgerOptions, verify};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("log");
/// let ledger = Ledger::create(&folder, "example.com/agents", LedgerOptions::new(jiff::Timestamp::now))?;
/// let key = ledger.reader().first_key()?;
///
/// let mut draft = Draft { subjects: vec!["ada@example.com".into()], ..Draft::default() };
/// draft.body.insert("decision".into(), "allow".into());
/// let ticket = ledger.append(draft)?;
/// // The record is on the disk when `wait` returns.
/// assert_eq!(ticket.wait()?.index, 1);
/// ledger.close()?;
///
/// assert_eq!(verify(&folder, &key)?.records, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<Result<(), LedgerError>>>,
}

/// The acknowledgement of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The index of the record.
    pub index: u64,
}

/// A record that waits to become durable.
#[derive(Debug)]
#[must_use = "a record is not durable before its ticket says so"]
pub struct Ticket {
    /// The outcome of the chunk, and the place of this record in it.
    outcome: Arc<Outcome>,
    place: u64,
}

impl Ticket {
    /// Waits until the record is durable, or returns why it will not be.
    pub fn wait(self) -> Result<Receipt, LedgerError> {
        self.outcome.wait().map(|first| Receipt { index: first + self.place })
    }
}

impl Ledger {
    /// Creates a ledger in a folder that holds none. The origin names it in checkpoints: `example.com/agents`.
    pub fn create(folder: impl AsRef<Path>, origin: &str, options: LedgerOptions) -> Result<Ledger, LedgerError> {
        let created = LedgerFiles::create(folder.as_ref(), origin, options.clone(), None)?;
        Ledger::start(folder.as_ref(), created, options)
    }

    /// Creates a ledger that replaces one whose signing key was lost. Unlike [`Ledger::create`], its second record
    /// holds the last checkpoint of the old one, a signed note, so that both can be verified one after the other.
    pub fn create_after(
        folder: impl AsRef<Path>,
        origin: &str,
        options: LedgerOptions,
        checkpoint: &str,
    ) -> Result<Ledger, LedgerError> {
        let created = LedgerFiles::create(folder.as_ref(), origin, options.clone(), Some(checkpoint))?;
        Ledger::start(folder.as_ref(), created, options)
    }

    /// Opens a ledger, verifies its end, and repairs an unfinished write after a crash. Returns an error if the end
    /// does not verify: the newest checkpoint, the right edge of the tree, and all records since the ledger was last
    /// settled, a few hundred after a clean shutdown. Older records are not read; [`crate::verify`] checks all of them.
    pub fn open(folder: impl AsRef<Path>, options: LedgerOptions) -> Result<Ledger, LedgerError> {
        let opened = LedgerFiles::open(folder.as_ref(), options.clone())?;
        Ledger::start(folder.as_ref(), opened, options)
    }

    /// Opens the ledger in a folder, or creates one if there is none.
    pub fn open_or_create(
        folder: impl AsRef<Path>,
        origin: &str,
        options: LedgerOptions,
    ) -> Result<Ledger, LedgerError> {
        let folder = folder.as_ref();
        if folder.join(crate::signing_key::SIGNING_KEY_FILE).exists() {
            Ledger::open(folder, options)
        } else {
            Ledger::create(folder, origin, options)
        }
    }

    fn start(
        folder: &Path,
        (store, composer): (LedgerFiles, Composer),
        options: LedgerOptions,
    ) -> Result<Ledger, LedgerError> {
        let queue = Arc::new(Queue::new(&options));
        let taken = queue.clone();
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || writer::run(store, composer, &options, &taken))
            .map_err(|error| LedgerError::file("start the writer of", folder, error))?;
        Ok(Ledger { folder: folder.to_owned(), queue, thread: Some(thread) })
    }

    /// Sends a record to the writer. Blocks only while the queue is full.
    pub fn append(&self, draft: Draft) -> Result<Ticket, LedgerError> {
        let (outcome, place) = self.queue.append(PreparedDraft::new(draft)?)?;
        Ok(Ticket { outcome, place })
    }

    /// Erases a subject: destroys their key and records the erasure. Returns when both are durable.
    pub fn erase(&self, subject: &str) -> Result<Receipt, LedgerError> {
        let subject = subject.to_owned();
        self.send_command(|reply| Command::Erase { subject, reply }).map(|index| Receipt { index })
    }

    /// Replaces the signing key, and returns the new one.
    pub fn rotate(&self) -> Result<VerifierKey, LedgerError> {
        self.send_command(|reply| Command::Rotate { reply })
    }

    /// Drops whole segments with records older than a time, and returns the first index that is still kept.
    pub fn drop_before(&self, time: Timestamp) -> Result<u64, LedgerError> {
        self.send_command(|reply| Command::DropBefore { time, reply })
    }

    /// Signs a checkpoint of all acknowledged records, and returns it.
    pub fn checkpoint(&self) -> Result<String, LedgerError> {
        self.send_command(|reply| Command::Sign { reply })?;
        self.reader().checkpoint()
    }

    /// Resumes writing after a failure of the disk. Acknowledged records are kept.
    pub fn recover(&self) -> Result<(), LedgerError> {
        self.send_command(|reply| Command::Recover { reply })
    }

    /// Returns a reader, which works while the ledger is written.
    pub fn reader(&self) -> Reader {
        Reader::open(&self.folder)
    }

    /// Writes all queued records, signs a last checkpoint and releases the lock.
    pub fn close(mut self) -> Result<(), LedgerError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), LedgerError> {
        // The writer ends when the queue is closed and every queued record is written.
        self.queue.close();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(LedgerError::writer_stopped()),
            None => Ok(()),
        }
    }

    fn send_command<T>(&self, command: impl FnOnce(ReplySender<T>) -> Command) -> Result<T, LedgerError> {
        let (reply, answer) = mpsc::channel();
        self.queue.push_command(command(reply))?;
        answer.recv().unwrap_or_else(|_| Err(LedgerError::writer_stopped()))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Callers that need the outcome call `close`.
        let _ = self.stop();
    }
}
