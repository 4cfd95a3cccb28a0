//! The rows of pending approvals in the store.
//!
//! Each approval has a row under its id, and an empty one under its session, by which the approvals of one session are
//! found. If no exchange stays open for approvals, a third row under the hash of the call holds the id.

use lictor_store::{Change, ExpectedVersion, Store, StoreError};

use super::WaitingCall;
use crate::identity::Namer;

const PREFIX: &str = "gateway/waiting/";
const BY_SESSION: &str = "gateway/waiting-session/";
const BY_CALL: &str = "gateway/waiting-call/";

/// The most approvals that one list has, and how many keys are read at once.
const MAX_LISTED_APPROVALS: usize = 1000;
const KEYS_AT_ONCE: usize = 1000;

/// Pending approvals with their ids, in the order of these.
#[derive(Debug, Default)]
pub(super) struct ApprovalPage {
    pub(super) waiting: Vec<(String, WaitingCall)>,
    /// Those that had expired and were deleted.
    pub(super) expired: Vec<(String, WaitingCall)>,
    /// The id of the last row that was read.
    pub(super) last: Option<String>,
    /// How many rows there are after it.
    pub(super) more: usize,
}

/// Returns the key of the row that holds the id of a call.
fn call_key(namer: &Namer, waiting: &WaitingCall) -> String {
    format!("{BY_CALL}{}", namer.hash(&[&waiting.tenant, &waiting.request.session, &waiting.request.call]))
}

/// Returns the prefix of the rows of a session.
fn session_prefix(namer: &Namer, tenant: &str, session: &str) -> String {
    format!("{BY_SESSION}{}/", namer.hash(&[tenant, session]))
}

/// Returns the approval with an id; none if its row cannot be read.
pub(super) fn load(store: &dyn Store, token: &str) -> Result<Option<WaitingCall>, StoreError> {
    let stored = store.load(&format!("{PREFIX}{token}"))?;
    Ok(stored.and_then(|stored| serde_json::from_slice(&stored.value).ok()))
}

/// Stores a pending approval, and returns its id and whether that is new. With `is_named`, a call that waits already keeps
/// its id.
pub(super) fn keep(
    store: &dyn Store,
    namer: &Namer,
    token: String,
    waiting: &WaitingCall,
    is_named: bool,
) -> Result<(String, bool), StoreError> {
    // Strings and lists of them: this cannot fail.
    let value = serde_json::to_vec(waiting).unwrap_or_default();
    let by_call = is_named.then(|| call_key(namer, waiting));
    loop {
        let named = by_call.as_ref().map(|key| store.load(key)).transpose()?.flatten();
        let known = named.as_ref().map(|named| String::from_utf8_lossy(&named.value).into_owned());
        let kept = known.as_ref().map(|known| store.load(&format!("{PREFIX}{known}"))).transpose()?.flatten();
        let kept =
            kept.filter(|kept| !serde_json::from_slice(&kept.value).is_ok_and(|kept: WaitingCall| kept.is_late()));
        let (token, changes, is_new) = match (known, kept) {
            (Some(known), Some(kept)) => {
                let expected = ExpectedVersion::Version(kept.version);
                let change = Change::put(format!("{PREFIX}{known}"), expected, value.clone());
                (known, vec![change], false)
            }
            _ => {
                let by_session = session_prefix(namer, &waiting.tenant, &waiting.request.session);
                let mut changes = vec![
                    Change::put(format!("{PREFIX}{token}"), ExpectedVersion::Absent, value.clone()),
                    Change::put(format!("{by_session}{token}"), ExpectedVersion::Absent, ""),
                ];
                let expected = ExpectedVersion::of(named.as_ref());
                changes.extend(by_call.as_ref().map(|key| Change::put(key.clone(), expected, token.as_str())));
                (token.clone(), changes, true)
            }
        };
        match store.save(&changes) {
            Ok(_) => return Ok((token, is_new)),
            // Another gateway stores the same call, or it has just been answered.
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the pending approvals after an id. Expired ones are deleted.
pub(super) fn list(store: &dyn Store, namer: &Namer, after: Option<String>) -> Result<ApprovalPage, StoreError> {
    let mut page = ApprovalPage::default();
    let mut last = after.map(|id| format!("{PREFIX}{id}"));
    loop {
        let keys = store.keys(PREFIX, last.as_deref(), KEYS_AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok(page) };
        last = Some(end.clone());
        for key in keys {
            if page.waiting.len() == MAX_LISTED_APPROVALS {
                page.more += 1;
                continue;
            }
            let Some(token) = key.strip_prefix(PREFIX) else { continue };
            page.last = Some(token.to_owned());
            match load(store, token)? {
                Some(waiting) if !waiting.is_late() => page.waiting.push((token.to_owned(), waiting)),
                Some(waiting) if forget(store, namer, token, Some(&waiting))? => {
                    page.expired.push((token.to_owned(), waiting));
                }
                Some(_) => {}
                // It cannot be read, or was deleted meanwhile.
                None => drop(forget(store, namer, token, None)?),
            }
        }
    }
}

/// Returns how many approvals are pending.
pub(super) fn count(store: &dyn Store) -> Result<u64, StoreError> {
    let (mut count, mut last) = (0, None);
    loop {
        let keys = store.keys(PREFIX, last.as_deref(), KEYS_AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok(count) };
        count += keys.len() as u64;
        last = Some(end.clone());
    }
}

/// Deletes the approvals of a session, and returns them. Approvals without a row under their session were stored by an
/// earlier version; the next list deletes them.
pub(super) fn forget_session(
    store: &dyn Store,
    namer: &Namer,
    tenant: &str,
    session: &str,
) -> Result<Vec<(String, WaitingCall)>, StoreError> {
    let prefix = session_prefix(namer, tenant, session);
    let (mut forgotten, mut last) = (Vec::new(), None);
    loop {
        let keys = store.keys(&prefix, last.as_deref(), KEYS_AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok(forgotten) };
        last = Some(end.clone());
        for key in keys {
            let Some(token) = key.strip_prefix(&prefix) else { continue };
            match load(store, token)? {
                Some(waiting) if forget(store, namer, token, Some(&waiting))? => {
                    forgotten.push((token.to_owned(), waiting));
                }
                _ => delete(store, &key)?,
            }
        }
    }
}

/// Deletes a pending approval with all its rows. Returns whether it was there.
pub(super) fn forget(
    store: &dyn Store,
    namer: &Namer,
    token: &str,
    waiting: Option<&WaitingCall>,
) -> Result<bool, StoreError> {
    let own = format!("{PREFIX}{token}");
    loop {
        let Some(stored) = store.load(&own)? else { return Ok(false) };
        let mut changes = vec![Change::delete(&own, ExpectedVersion::Version(stored.version))];
        if let Some(waiting) = waiting {
            let by_session = format!("{}{token}", session_prefix(namer, &waiting.tenant, &waiting.request.session));
            let by_call = call_key(namer, waiting);
            let of_session = store.load(&by_session)?.map(|row| (by_session, row));
            // A later call of the same kind may wait under another id.
            let of_call = store.load(&by_call)?.filter(|row| row.value == token.as_bytes()).map(|row| (by_call, row));
            let rows = of_session.into_iter().chain(of_call);
            changes.extend(rows.map(|(key, row)| Change::delete(key, ExpectedVersion::Version(row.version))));
        }
        match store.save(&changes) {
            Ok(_) => return Ok(true),
            // The same call was made again, or another gateway deletes it.
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Deletes a row, unless it was deleted or changed meanwhile.
pub(super) fn delete(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    let Some(stored) = store.load(key)? else { return Ok(()) };
    match store.save(&[Change::delete(key, ExpectedVersion::Version(stored.version))]) {
        Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
