//! Rows in the store for exchanges in flight: after a process was killed, the next one records those it left.
//!
//! A row is saved together with the decisions on the request, or, if there is nothing to decide, while the request is
//! forwarded and before the client is answered. It is marked finished after the exchange has its record. The rows
//! belong to a ledger, to which only one process at a time can write: the rows at the start of a gateway are of
//! exchanges that no process works on any more. Finished rows are deleted from time to time, many at once. So a row may
//! be left although its exchange has a record, and the ledger is searched for it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lictor_ledger::{Ledger, Reader};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::account::{Account, CUT_OFF};
use crate::judges::Judges;
use crate::sessions::Sessions;
use crate::start::StartError;
use crate::tenant_store::escaped;
use crate::unavailable::Unavailable;

/// How often finished rows are deleted.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);

/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 256;

/// The rows of exchanges in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// The prefix of the rows, and the ledger they belong to. Without a ledger there are no rows.
    place: Option<(String, Reader)>,
    /// The exchanges that have their record: the id, and the version of the row.
    finished: Mutex<Vec<(String, u64)>>,
    /// The records of exchanges that begin now are after this position of the ledger.
    from: AtomicU64,
}

/// The stored row of an exchange.
#[derive(Serialize, Deserialize)]
struct Row {
    from: u64,
    /// The record to write if the exchange has no other.
    record: Map<String, Value>,
}

impl Row {
    /// Returns the row for one that cannot be read: its key still names the exchange.
    fn damaged(key: &str) -> Row {
        let id = key.rsplit('/').next().unwrap_or_default();
        let member = |name: &str, value: &str| (name.to_owned(), Value::from(value));
        let record = [member("type", "exchange"), member("exchange", id), member("outcome", CUT_OFF)];
        Row { from: 0, record: record.into_iter().collect() }
    }
}

impl InFlight {
    pub(crate) fn new(ledger: Option<&Ledger>) -> Result<InFlight, StartError> {
        let wrong = |error: lictor_ledger::LedgerError| StartError::new(error.to_string());
        let place = ledger.map(|ledger| -> Result<_, StartError> {
            let reader = ledger.reader();
            let key = reader.first_key().map_err(wrong)?.to_string();
            Ok((format!("gateway/under-way/{}/", escaped(&key)), reader))
        });
        let place = place.transpose()?;
        let size = place.as_ref().and_then(|(_, reader)| reader.size().ok());
        Ok(InFlight { place, finished: Mutex::default(), from: AtomicU64::new(size.unwrap_or(0)) })
    }

    /// Returns the change that saves the row of an exchange, with the record for the case that it never ends; none if
    /// it has a row already, or there are no rows.
    pub(crate) fn row(&self, account: &Account, policy: &str) -> Result<Option<Change>, Unavailable> {
        let Some((place, _)) = &self.place else { return Ok(None) };
        if account.in_flight.load(Ordering::Relaxed) != 0 {
            return Ok(None);
        }
        let record = account.cut_off(policy);
        let row = Row { from: self.from.load(Ordering::Relaxed), record };
        let value = serde_json::to_vec(&row).map_err(|error| Unavailable { reason: error.to_string() })?;
        Ok(Some(Change::put(format!("{place}{}", account.id), ExpectedVersion::Absent, value)))
    }

    /// Saves the row of an exchange.
    pub(crate) async fn begin(&self, sessions: &Sessions, account: &Account, policy: &str) -> Result<(), Unavailable> {
        let Some(row) = self.row(account, policy)? else { return Ok(()) };
        let saved = sessions.blocking(move |store| store.save(&[row])).await?;
        account.in_flight.store(saved?, Ordering::Relaxed);
        Ok(())
    }

    /// Looks up whether an exchange has a row, after a save with an unknown result.
    pub(crate) async fn look_up(&self, sessions: &Sessions, account: &Account) -> Result<(), Unavailable> {
        let Some((place, _)) = &self.place else { return Ok(()) };
        let key = format!("{place}{}", account.id);
        let row = sessions.blocking(move |store| store.load(&key)).await??;
        account.in_flight.store(row.map_or(0, |row| row.version), Ordering::Relaxed);
        Ok(())
    }

    /// Marks the row of an exchange that has its record as finished.
    pub(crate) fn end(&self, id: &str, version: u64) {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push((id.to_owned(), version));
    }

    /// Deletes finished rows from time to time.
    pub(crate) async fn clean_up(&self, sessions: &Sessions) {
        loop {
            tokio::time::sleep(CLEANUP_INTERVAL).await;
            self.forget(sessions).await;
        }
    }

    /// Deletes finished rows. Rows that cannot be deleted now are deleted at the next start.
    pub(crate) async fn forget(&self, sessions: &Sessions) {
        let finished = std::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner));
        let Some((place, reader)) = self.place.clone().filter(|_| !finished.is_empty()) else { return };
        let row =
            |(id, version): (String, u64)| Change::delete(format!("{place}{id}"), ExpectedVersion::Version(version));
        let changes: Vec<Change> = finished.into_iter().map(row).collect();
        let forgotten = sessions.blocking(move |store| (store.save(&changes).is_ok(), reader.size().ok()));
        if let Ok((_, Some(size))) = forgotten.await {
            self.from.store(size, Ordering::Relaxed);
        }
    }

    /// Writes a record for each exchange that an earlier process left without one. Returns how many there were.
    pub(crate) async fn cut_off(&self, sessions: &Sessions, judges: &Judges) -> Result<usize, Unavailable> {
        let Some((place, reader)) = self.place.clone() else { return Ok(0) };
        let rows = sessions.blocking(move |store| left(store, &place)).await??;
        let from = rows.iter().map(|(_, _, row)| row.from).min();
        let recorded = match from {
            Some(from) => tokio::task::spawn_blocking(move || recorded(&reader, from)).await,
            None => return Ok(0),
        };
        let recorded = recorded.map_err(|_| Unavailable { reason: "the ledger cannot be read".to_owned() })??;
        let mut count = 0;
        for (key, version, row) in rows {
            if !row.record.get("exchange").and_then(Value::as_str).is_some_and(|id| recorded.contains(id)) {
                judges.note_late(row.record).await?;
                count += 1;
            }
            let gone = Change::delete(key, ExpectedVersion::Version(version));
            sessions.blocking(move |store| store.save(&[gone])).await??;
        }
        Ok(count)
    }
}

/// Returns the rows in the store, with their keys and versions.
fn left(store: &dyn Store, place: &str) -> Result<Vec<(String, u64, Row)>, StoreError> {
    let (mut rows, mut last) = (Vec::new(), None);
    loop {
        let keys = store.keys(place, last.as_deref(), ROWS_AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok(rows) };
        last = Some(end.clone());
        for key in keys {
            let Some(stored) = store.load(&key)? else { continue };
            let row = serde_json::from_slice(&stored.value).unwrap_or_else(|_| Row::damaged(&key));
            rows.push((key, stored.version, row));
        }
    }
}

/// Returns the ids of the exchanges that have a record at or after a position of the ledger.
fn recorded(reader: &Reader, from: u64) -> Result<HashSet<String>, Unavailable> {
    let wrong = |error: lictor_ledger::LedgerError| Unavailable { reason: error.to_string() };
    let mut ids = HashSet::new();
    for record in reader.records(from).map_err(wrong)? {
        let Some(body) = record.map_err(wrong)?.body else { continue };
        if body.get("type").and_then(Value::as_str) == Some("exchange")
            && let Some(id) = body.get("exchange").and_then(Value::as_str)
        {
            ids.insert(id.to_owned());
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use lictor_store::MemoryStore;

    use super::*;

    #[test]
    fn damaged_in_flight_row_names_its_exchange() {
        let store = MemoryStore::new();
        let row = Row { from: 7, record: [("exchange".to_owned(), "a".into())].into_iter().collect() };
        let whole = Change::put("rows/a", ExpectedVersion::Absent, serde_json::to_vec(&row).unwrap());
        let damaged = Change::put("rows/b", ExpectedVersion::Absent, "{");
        store.save(&[whole, damaged, Change::put("rowt/c", ExpectedVersion::Absent, "{")]).unwrap();
        let rows = left(&store, "rows/").unwrap();
        let told: Vec<_> = rows.iter().map(|(_, _, row)| (row.from, row.record["exchange"].as_str())).collect();
        assert_eq!(told, [(7, Some("a")), (0, Some("b"))]);
        assert_eq!(rows[1].2.record["outcome"], CUT_OFF);
    }
}
