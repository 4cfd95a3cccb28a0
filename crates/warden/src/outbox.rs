//! Records on their way to the ledger: they wait in the store, so that no crash loses one or writes one twice.

use std::collections::HashSet;

use crate::error::WardenError;
use crate::kept;
use crate::record::{OutgoingRecord, WaitingRecord};
use crate::warden::Warden;

/// How far back the ledger is searched for records that were written just before a crash.
const MAX_SEARCHED_RECORDS: u64 = 100_000;

impl Warden {
    /// Writes records to the ledger; once they are durable there, the next save deletes them from the store. Failed
    /// writes are retried before anything else is decided.
    pub(crate) fn write(&mut self, outgoing: Vec<WaitingRecord>) -> Result<(), WardenError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let keep = self.options.keep;
        let begun: Vec<_> =
            outgoing.into_iter().map(|waiting| (ledger.append(waiting.record.clone().draft(keep)), waiting)).collect();
        let mut failure = None;
        for (ticket, waiting) in begun {
            match ticket.and_then(|ticket| ticket.wait()) {
                Ok(_) if self.live.is_some() => {}
                Ok(_) => self.written.push((waiting.key, waiting.version)),
                Err(error) => {
                    self.unwritten.push(waiting);
                    failure = Some(error);
                }
            }
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Retries the records that the ledger failed to write.
    pub(crate) fn flush_outbox(&mut self) -> Result<(), WardenError> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        if let Some(ledger) = &self.ledger {
            ledger.recover()?;
        }
        let rest = std::mem::take(&mut self.unwritten);
        self.write(rest)
    }

    /// Writes the records that are in the store but not in the ledger after a crash; no record is written twice.
    pub(crate) fn catch_up(&mut self) -> Result<(), WardenError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let mut waiting = Vec::new();
        for (key, stored) in self.store.scan(&self.outboxes)? {
            let record: OutgoingRecord = kept::read(&stored.value, &key)?;
            waiting.push(WaitingRecord { key, version: stored.version, record });
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let reader = ledger.reader();
        let from = reader.size()?.saturating_sub(MAX_SEARCHED_RECORDS);
        let mut known = HashSet::new();
        for record in reader.records(from)? {
            let record = record?;
            known.extend(record.body.and_then(|body| body.get("id")?.as_str().map(str::to_owned)));
        }
        let (done, missing): (Vec<WaitingRecord>, Vec<WaitingRecord>) =
            waiting.into_iter().partition(|waiting| known.contains(waiting.record.id()));
        self.written.extend(done.into_iter().map(|waiting| (waiting.key, waiting.version)));
        self.write(missing)
    }
}
