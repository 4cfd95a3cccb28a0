//! The thread that writes: gathers what was appended meanwhile, makes it durable at once, acknowledges it together.
//!
//! INVARIANT: an acknowledgement is sent after the records are durable. After a failure nothing is written and nothing
//! is acknowledged until somebody recovers.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

use jiff::Timestamp;

use crate::draft::Prepared;
use crate::error::Error;
use crate::note::VerifierKey;
use crate::options::Options;
use crate::store::Store;

/// To whom the outcome of a command is told.
pub(crate) type Reply<T> = Sender<Result<T, Error>>;

/// What the writer is asked to do.
#[derive(Debug)]
pub(crate) enum Command {
    Append { prepared: Prepared, reply: Reply<u64> },
    Erase { subject: String, reply: Reply<u64> },
    Rotate { reply: Reply<VerifierKey> },
    DropBefore { time: Timestamp, reply: Reply<u64> },
    Sign { reply: Reply<()> },
    Recover { reply: Reply<()> },
}

/// The writer at work.
#[derive(Debug)]
struct Writer {
    store: Store,
    /// Why nothing more is written.
    failure: Option<Error>,
}

/// Writes until nobody can ask for anything any more, then signs a last checkpoint.
pub(crate) fn run(store: Store, options: &Options, commands: &Receiver<Command>) -> Result<(), Error> {
    let mut writer = Writer { store, failure: None };
    loop {
        let command = if writer.failure.is_none() && writer.store.has_unsigned() {
            commands.recv_timeout(options.checkpoint_interval)
        } else {
            commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match command {
            Ok(command) => writer.gather(command, options, commands),
            // Nobody wrote for as long as records may be without a checkpoint.
            Err(RecvTimeoutError::Timeout) => {
                let _ = writer.attempt(Store::sign);
            }
            Err(RecvTimeoutError::Disconnected) => return writer.attempt(Store::sign),
        }
    }
}

impl Writer {
    /// Takes what is waiting behind a command, as far as it can be written at once, and does all of it.
    fn gather(&mut self, command: Command, options: &Options, commands: &Receiver<Command>) {
        let (mut batch, mut replies, mut weight) = (Vec::new(), Vec::new(), 0);
        let mut next = Some(command);
        while let Some(Command::Append { prepared, reply }) = next {
            weight += prepared.weight();
            batch.push(prepared);
            replies.push(reply);
            let is_full = batch.len() >= options.batch_records || weight >= options.batch_bytes;
            next = if is_full { None } else { commands.try_recv().ok() };
        }
        if !batch.is_empty() {
            self.append(&batch, replies);
        }
        if let Some(command) = next {
            self.obey(command);
        }
    }

    fn append(&mut self, batch: &[Prepared], replies: Vec<Reply<u64>>) {
        let written = self.attempt(|store| store.append(batch));
        for (place, reply) in (0..).zip(replies) {
            // Whoever does not wait for the answer does not need it.
            let _ = reply.send(written.clone().map(|first| first + place));
        }
        let _ = self.attempt(Store::sign_if_due);
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Append { prepared, reply } => self.append(&[prepared], vec![reply]),
            Command::Erase { subject, reply } => {
                // A subject that nobody knows is no failure of the ledger.
                let result = match self.store.check_subject(&subject) {
                    Ok(()) => self.attempt(|store| store.erase(&subject)),
                    Err(error) => Err(error),
                };
                let _ = reply.send(result);
            }
            Command::Rotate { reply } => {
                let _ = reply.send(self.attempt(Store::rotate));
            }
            Command::DropBefore { time, reply } => {
                let _ = reply.send(self.attempt(|store| store.drop_before(time)));
            }
            Command::Sign { reply } => {
                let _ = reply.send(self.attempt(Store::sign));
            }
            Command::Recover { reply } => {
                let recovered = match &self.failure {
                    Some(_) => self.store.recover(),
                    None => Ok(()),
                };
                if recovered.is_ok() {
                    self.failure = None;
                }
                let _ = reply.send(recovered);
            }
        }
    }

    /// Does something with the files; after a failure nothing more until somebody recovers.
    fn attempt<T>(&mut self, change: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        if let Some(failure) = &self.failure {
            return Err(Error::stopped(failure.clone()));
        }
        let result = change(&mut self.store);
        if let Err(error) = &result {
            self.failure = Some(error.clone());
            // What was half written must not look like records to whoever opens the ledger next. If this fails too,
            // recovering will not succeed either.
            let _ = self.store.cut_back();
        }
        result
    }
}
