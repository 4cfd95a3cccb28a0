//! Exchanges under way, as the store knows them: what a process that was killed has left unfinished, the next one tells.
//!
//! An exchange is put down together with what is decided on its request, or, where there is nothing to decide, while that
//! goes on and before anything comes back. It is crossed out behind its record. The rows are those of a ledger, to which one
//! process at a time can write: what stands there when a gateway begins, nobody is at any more. What is crossed out is
//! forgotten from time to time, many at once; so a row may be left of an exchange that has its record, and the ledger itself
//! says which.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lictor_ledger::{Ledger, Reader};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::account::Account;
use crate::gateway::Gateway;
use crate::judges::Unavailable;
use crate::sessions::unavailable;
use crate::start::StartError;
use crate::tenant_store::escaped;

/// How an exchange ended whose process was killed.
pub(crate) const CUT_OFF: &str = "cut_off";

/// How often what was crossed out is forgotten.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);

/// How many rows are looked at in one go.
const AT_ONCE: usize = 256;

/// Exchanges under way.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Where they stand. Nothing is put down where nothing is written down.
    place: Option<(String, Reader)>,
    /// Those that have their record: the id, and the version of the row.
    finished: Mutex<Vec<(String, u64)>>,
    /// The records of those that begin now are behind this place of the ledger.
    from: AtomicU64,
}

/// What is put down of an exchange.
#[derive(Serialize, Deserialize)]
struct Row {
    from: u64,
    /// The record to be written if no other is.
    record: Map<String, Value>,
}

impl Row {
    /// What a row that cannot be read still says: which exchange it was.
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

    /// The change that puts an exchange down, with the record that is written if it never ends; none if it is put down
    /// already, or nothing is.
    pub(crate) fn row(gateway: &Gateway, account: &Account) -> Result<Option<Change>, Unavailable> {
        let in_flight = &gateway.in_flight;
        let Some((place, _)) = &in_flight.place else { return Ok(None) };
        if account.in_flight.load(Ordering::Relaxed) != 0 {
            return Ok(None);
        }
        let record = account.cut_off(&gateway.judges.active().fingerprint);
        let row = Row { from: in_flight.from.load(Ordering::Relaxed), record };
        let value = serde_json::to_vec(&row).map_err(|error| Unavailable { reason: error.to_string() })?;
        Ok(Some(Change::put(format!("{place}{}", account.id), ExpectedVersion::Absent, value)))
    }

    /// Puts an exchange down by itself.
    pub(crate) async fn begin(gateway: &Gateway, account: &Account) -> Result<(), Unavailable> {
        let Some(row) = InFlight::row(gateway, account)? else { return Ok(()) };
        let saved = gateway.sessions.blocking(move |store| store.save(&[row])).await?;
        account.in_flight.store(saved.map_err(unavailable)?, Ordering::Relaxed);
        Ok(())
    }

    /// Looks whether an exchange was put down by a save of which nobody knows how it ended.
    pub(crate) async fn look_up(gateway: &Gateway, account: &Account) -> Result<(), Unavailable> {
        let Some((place, _)) = &gateway.in_flight.place else { return Ok(()) };
        let key = format!("{place}{}", account.id);
        let row = gateway.sessions.blocking(move |store| store.load(&key)).await?.map_err(unavailable)?;
        account.in_flight.store(row.map_or(0, |row| row.version), Ordering::Relaxed);
        Ok(())
    }

    /// Crosses out an exchange that has its record.
    pub(crate) fn end(&self, id: &str, version: u64) {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push((id.to_owned(), version));
    }

    /// Forgets what was crossed out, from time to time.
    pub(crate) async fn clean_up(gateway: &Gateway) {
        loop {
            tokio::time::sleep(CLEANUP_INTERVAL).await;
            gateway.in_flight.forget(gateway).await;
        }
    }

    /// Forgets what was crossed out. What cannot be forgotten now is forgotten at the next start.
    pub(crate) async fn forget(&self, gateway: &Gateway) {
        let finished = std::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner));
        let Some((place, reader)) = self.place.clone().filter(|_| !finished.is_empty()) else { return };
        let row =
            |(id, version): (String, u64)| Change::delete(format!("{place}{id}"), ExpectedVersion::Version(version));
        let changes: Vec<Change> = finished.into_iter().map(row).collect();
        let forgotten = gateway.sessions.blocking(move |store| (store.save(&changes).is_ok(), reader.size().ok()));
        if let Ok((_, Some(size))) = forgotten.await {
            self.from.store(size, Ordering::Relaxed);
        }
    }

    /// Writes a record for each exchange that a process before this one left without. Says how many there were.
    pub(crate) async fn cut_off(gateway: &Gateway) -> Result<usize, Unavailable> {
        let Some((place, reader)) = gateway.in_flight.place.clone() else { return Ok(0) };
        let rows = gateway.sessions.blocking(move |store| left(store, &place)).await?.map_err(unavailable)?;
        let from = rows.iter().map(|(_, _, row)| row.from).min();
        let recorded = match from {
            Some(from) => tokio::task::spawn_blocking(move || recorded(&reader, from)).await,
            None => return Ok(0),
        };
        let recorded = recorded.map_err(|_| Unavailable { reason: "the ledger cannot be read".to_owned() })??;
        let mut count = 0;
        for (key, version, row) in rows {
            if !row.record.get("exchange").and_then(Value::as_str).is_some_and(|id| recorded.contains(id)) {
                gateway.judges.note_late(row.record).await?;
                count += 1;
            }
            let gone = Change::delete(key, ExpectedVersion::Version(version));
            gateway.sessions.blocking(move |store| store.save(&[gone])).await?.map_err(unavailable)?;
        }
        Ok(count)
    }
}

/// The rows that are left, with their keys and versions.
fn left(store: &dyn Store, place: &str) -> Result<Vec<(String, u64, Row)>, StoreError> {
    let (mut rows, mut last) = (Vec::new(), None);
    loop {
        let keys = store.keys(place, last.as_deref(), AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok(rows) };
        last = Some(end.clone());
        for key in keys {
            let Some(stored) = store.load(&key)? else { continue };
            let row = serde_json::from_slice(&stored.value).unwrap_or_else(|_| Row::damaged(&key));
            rows.push((key, stored.version, row));
        }
    }
}

/// The exchanges that have a record from a place of the ledger on.
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
