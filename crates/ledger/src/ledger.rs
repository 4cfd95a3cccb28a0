//! A ledger that is open for writing: anybody may append, one batch at a time is written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use jiff::Timestamp;

use crate::compose::Composer;
use crate::draft::{Draft, Prepared};
use crate::error::LedgerError;
use crate::note::VerifierKey;
use crate::options::LedgerOptions;
use crate::queue::{Outcome, Queue};
use crate::reader::Reader;
use crate::store::Store;
use crate::writer::{self, Command, Reply};

/// A ledger that is open for writing.
///
/// Threads share it by reference. What they append at the same time is made durable together.
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
/// // The record is on the disk when `wait` returns, whatever happens to the machine then.
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

/// What was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The index of the record.
    pub index: u64,
}

/// A record on its way to the disk.
#[derive(Debug)]
#[must_use = "a record is not durable before its ticket says so"]
pub struct Ticket {
    /// What becomes of all that were handed over together, and which of them this one is.
    outcome: Arc<Outcome>,
    place: u64,
}

impl Ticket {
    /// Waits until the record is durable, or will not be.
    pub fn wait(self) -> Result<Receipt, LedgerError> {
        self.outcome.wait().map(|first| Receipt { index: first + self.place })
    }
}

impl Ledger {
    /// Creates a ledger in a folder that holds none. The origin names it in checkpoints: `example.com/agents`.
    pub fn create(folder: impl AsRef<Path>, origin: &str, options: LedgerOptions) -> Result<Ledger, LedgerError> {
        let made = Store::create(folder.as_ref(), origin, options.clone(), None)?;
        Ledger::start(folder.as_ref(), made, options)
    }

    /// As [`Ledger::create`], to take the place of a ledger whose signing key was lost: the second record holds the last
    /// checkpoint of that one, a signed note, so that both can be verified one after the other.
    pub fn create_after(
        folder: impl AsRef<Path>,
        origin: &str,
        options: LedgerOptions,
        checkpoint: &str,
    ) -> Result<Ledger, LedgerError> {
        let made = Store::create(folder.as_ref(), origin, options.clone(), Some(checkpoint))?;
        Ledger::start(folder.as_ref(), made, options)
    }

    /// Opens a ledger, verifies its end, and mends what a crash left. Refuses one whose end does not verify: the newest
    /// checkpoint, the right edge of the tree, and all records since the ledger was last settled, some hundred after a
    /// clean end. What is further back is not read; [`crate::verify`] goes over all of it.
    pub fn open(folder: impl AsRef<Path>, options: LedgerOptions) -> Result<Ledger, LedgerError> {
        let opened = Store::open(folder.as_ref(), options.clone())?;
        Ledger::start(folder.as_ref(), opened, options)
    }

    /// Opens the ledger in a folder, or creates one if there is none.
    pub fn open_or_create(
        folder: impl AsRef<Path>,
        origin: &str,
        options: LedgerOptions,
    ) -> Result<Ledger, LedgerError> {
        let folder = folder.as_ref();
        if folder.join(crate::keyfile::SIGNING).exists() {
            Ledger::open(folder, options)
        } else {
            Ledger::create(folder, origin, options)
        }
    }

    fn start(
        folder: &Path,
        (store, composer): (Store, Composer),
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

    /// Hands a record to the writer. Waits only if very many are on their way.
    pub fn append(&self, draft: Draft) -> Result<Ticket, LedgerError> {
        let (outcome, place) = self.queue.append(Prepared::draft(draft)?)?;
        Ok(Ticket { outcome, place })
    }

    /// Forgets a person: destroys their key and records that this was done. Waits until both are durable.
    pub fn erase(&self, subject: &str) -> Result<Receipt, LedgerError> {
        let subject = subject.to_owned();
        self.ask(|reply| Command::Erase { subject, reply }).map(|index| Receipt { index })
    }

    /// Replaces the signing key by a new one, and gives that.
    pub fn rotate(&self) -> Result<VerifierKey, LedgerError> {
        self.ask(|reply| Command::Rotate { reply })
    }

    /// Drops whole segments with records older than a time, and gives the first index that is still kept.
    pub fn drop_before(&self, time: Timestamp) -> Result<u64, LedgerError> {
        self.ask(|reply| Command::DropBefore { time, reply })
    }

    /// Signs a checkpoint of all that was acknowledged, and gives it.
    pub fn checkpoint(&self) -> Result<String, LedgerError> {
        self.ask(|reply| Command::Sign { reply })?;
        self.reader().checkpoint()
    }

    /// Takes the ledger up again after a failure of the disk. What was acknowledged is there.
    pub fn recover(&self) -> Result<(), LedgerError> {
        self.ask(|reply| Command::Recover { reply })
    }

    /// Reads the ledger while it is being written.
    pub fn reader(&self) -> Reader {
        Reader::open(&self.folder)
    }

    /// Writes what is on its way, signs a last checkpoint and lets the ledger go.
    pub fn close(mut self) -> Result<(), LedgerError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), LedgerError> {
        // The writer ends when nobody can send any more and all that was sent is written.
        self.queue.close();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(LedgerError::gone()),
            None => Ok(()),
        }
    }

    fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, LedgerError> {
        let (reply, answer) = mpsc::channel();
        self.queue.command(command(reply))?;
        answer.recv().unwrap_or_else(|_| Err(LedgerError::gone()))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls `close`.
        let _ = self.stop();
    }
}
