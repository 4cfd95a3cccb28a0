//! A ledger that is open for writing: anybody may append, one thread writes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use jiff::Timestamp;

use crate::draft::{Draft, Prepared};
use crate::error::Error;
use crate::note::VerifierKey;
use crate::options::Options;
use crate::reader::Reader;
use crate::store::Store;
use crate::writer::{self, Command, Reply};

/// A ledger that is open for writing.
///
/// Threads share it by reference. What they append at the same time is made durable together.
///
/// ```
/// use lictor_ledger::{Draft, Ledger, Options, verify};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("log");
/// let ledger = Ledger::create(&folder, "example.com/agents", Options::new(jiff::Timestamp::now))?;
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
    commands: Option<SyncSender<Command>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
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
    answer: Receiver<Result<u64, Error>>,
}

impl Ticket {
    /// Waits until the record is durable, or will not be.
    pub fn wait(self) -> Result<Receipt, Error> {
        answer(&self.answer).map(|index| Receipt { index })
    }
}

impl Ledger {
    /// Creates a ledger in a folder that holds none. The origin names it in checkpoints: `example.com/agents`.
    pub fn create(folder: impl AsRef<Path>, origin: &str, options: Options) -> Result<Ledger, Error> {
        let store = Store::create(folder.as_ref(), origin, options.clone())?;
        Ledger::start(folder.as_ref(), store, options)
    }

    /// Opens a ledger, verifies it, and mends what a crash left. Refuses one that does not verify.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Ledger, Error> {
        let store = Store::open(folder.as_ref(), options.clone())?;
        Ledger::start(folder.as_ref(), store, options)
    }

    /// Opens the ledger in a folder, or creates one if there is none.
    pub fn open_or_create(folder: impl AsRef<Path>, origin: &str, options: Options) -> Result<Ledger, Error> {
        let folder = folder.as_ref();
        if folder.join(crate::keyfile::SIGNING).exists() {
            Ledger::open(folder, options)
        } else {
            Ledger::create(folder, origin, options)
        }
    }

    fn start(folder: &Path, store: Store, options: Options) -> Result<Ledger, Error> {
        let (sender, receiver) = mpsc::sync_channel(options.queue);
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || writer::run(store, &options, &receiver))
            .map_err(|error| Error::file("start the writer of", folder, error))?;
        Ok(Ledger { folder: folder.to_owned(), commands: Some(sender), thread: Some(thread) })
    }

    /// Hands a record to the writer. Waits only if very many are on their way.
    pub fn append(&self, draft: Draft) -> Result<Ticket, Error> {
        let prepared = Prepared::draft(draft)?;
        let (reply, answer) = mpsc::channel();
        self.send(Command::Append { prepared, reply })?;
        Ok(Ticket { answer })
    }

    /// Forgets a person: destroys their key and records that this was done. Waits until both are durable.
    pub fn erase(&self, subject: &str) -> Result<Receipt, Error> {
        let subject = subject.to_owned();
        self.ask(|reply| Command::Erase { subject, reply }).map(|index| Receipt { index })
    }

    /// Replaces the signing key by a new one, and gives that.
    pub fn rotate(&self) -> Result<VerifierKey, Error> {
        self.ask(|reply| Command::Rotate { reply })
    }

    /// Drops whole segments with records older than a time, and gives the first index that is still kept.
    pub fn drop_before(&self, time: Timestamp) -> Result<u64, Error> {
        self.ask(|reply| Command::DropBefore { time, reply })
    }

    /// Signs a checkpoint of all that was acknowledged, and gives it.
    pub fn checkpoint(&self) -> Result<String, Error> {
        self.ask(|reply| Command::Sign { reply })?;
        self.reader().checkpoint()
    }

    /// Takes the ledger up again after a failure of the disk. What was acknowledged is there.
    pub fn recover(&self) -> Result<(), Error> {
        self.ask(|reply| Command::Recover { reply })
    }

    /// Reads the ledger while it is being written.
    pub fn reader(&self) -> Reader {
        Reader::open(&self.folder)
    }

    /// Writes what is on its way, signs a last checkpoint and lets the ledger go.
    pub fn close(mut self) -> Result<(), Error> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), Error> {
        // The writer ends when nobody can send any more and all that was sent is written.
        drop(self.commands.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(gone()),
            None => Ok(()),
        }
    }

    fn send(&self, command: Command) -> Result<(), Error> {
        self.commands.as_ref().and_then(|commands| commands.send(command).ok()).ok_or_else(gone)
    }

    fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Error> {
        let (reply, receiver) = mpsc::channel();
        self.send(command(reply))?;
        answer(&receiver)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls `close`.
        let _ = self.stop();
    }
}

fn answer<T>(receiver: &Receiver<Result<T, Error>>) -> Result<T, Error> {
    receiver.recv().unwrap_or_else(|_| Err(gone()))
}

fn gone() -> Error {
    Error::refused("the writer of the ledger has stopped\nhint: open the ledger again")
}
