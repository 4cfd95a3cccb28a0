//! Allowed calls that were not made since: a reviewer can still take the approval back.
//!
//! Each has a row under the id of its approval. The grant in the session's memory is what lets the call pass; a row whose
//! grant was used, or has expired, is deleted when the rows are read.

use lictor_exchange::{Grant, SessionMemory};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use serde_json::Value;

use super::{ApprovalOutcome, WaitingCall};
use crate::clock::now;
use crate::gateway::Gateway;
use crate::unavailable::Unavailable;
use crate::work::Flow;

const PREFIX: &str = "gateway/allowed/";

/// How many keys are read at once.
const KEYS_AT_ONCE: usize = 1000;

impl WaitingCall {
    /// Remembers that it was allowed.
    pub(super) async fn keep_allowed(&self, gateway: &Gateway, token: &str) -> Result<(), Unavailable> {
        // Strings and lists of them: this cannot fail.
        let value = serde_json::to_vec(self).unwrap_or_default();
        let key = format!("{PREFIX}{token}");
        let keep = move |store: &dyn Store| match store.save(&[Change::put(key, ExpectedVersion::Absent, value)]) {
            // The same answer was given twice at once.
            Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        };
        Ok(gateway.sessions.blocking(keep).await??)
    }

    /// Returns the allowed calls that were not made since, as a reviewer sees them.
    pub(crate) async fn list_allowed(gateway: &Gateway) -> Result<Vec<Value>, Unavailable> {
        let mut listed = Vec::new();
        for (token, allowed) in gateway.sessions.blocking(read_all).await?? {
            match allowed {
                Some(allowed) if allowed.is_granted(gateway).await? => listed.push(allowed.show(&token)),
                // The answer is being taken: the grant comes next.
                Some(_) if WaitingCall::load(gateway, &token).await?.is_some() => {}
                _ => forget(gateway, &token).await?,
            }
        }
        Ok(listed)
    }

    /// Takes the approval of an allowed call back. Returns the outcome, or none if no such call can still be made.
    pub(crate) async fn revoke(
        gateway: &Gateway,
        token: &str,
        by: &str,
    ) -> Result<Option<ApprovalOutcome>, Unavailable> {
        if !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let own = token.to_owned();
        let Some(allowed) = gateway.sessions.blocking(move |store| load(store, &own)).await?? else { return Ok(None) };
        // The grant goes first: from here on the call does not pass, whatever fails below.
        let was_granted = allowed.change_memory(gateway, |memory| memory.revoke(|grant| allowed.is_own(grant))).await?;
        if was_granted {
            gateway.judges.decide(&allowed.tenant, Flow::default(), vec![allowed.answer_event(by, false)?]).await?;
            allowed.report(gateway, token, ApprovalOutcome::Revoked, false);
        }
        forget(gateway, token).await?;
        Ok(was_granted.then_some(ApprovalOutcome::Revoked))
    }

    /// Whether a grant is that of this call.
    fn is_own(&self, grant: &Grant) -> bool {
        grant.id == self.request.id && grant.call == self.request.call
    }

    /// Whether the call would still pass.
    async fn is_granted(&self, gateway: &Gateway) -> Result<bool, Unavailable> {
        let stored = gateway.sessions.load_fresh(&self.tenant, &self.request.session).await?;
        let memory: &SessionMemory = &stored.memory;
        Ok(memory.has_grant(now(), |grant| self.is_own(grant)))
    }
}

/// Returns all rows: the ids of the approvals, and the calls; none if a row cannot be read.
fn read_all(store: &dyn Store) -> Result<Vec<(String, Option<WaitingCall>)>, StoreError> {
    let (mut rows, mut last) = (Vec::new(), None);
    loop {
        let keys = store.keys(PREFIX, last.as_deref(), KEYS_AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok(rows) };
        last = Some(end.clone());
        for token in keys.iter().filter_map(|key| key.strip_prefix(PREFIX)) {
            rows.push((token.to_owned(), load(store, token)?));
        }
    }
}

/// Returns the allowed call of an approval; none if its row cannot be read.
fn load(store: &dyn Store, token: &str) -> Result<Option<WaitingCall>, StoreError> {
    let stored = store.load(&format!("{PREFIX}{token}"))?;
    Ok(stored.and_then(|stored| serde_json::from_slice(&stored.value).ok()))
}

/// Deletes the row of an approval.
async fn forget(gateway: &Gateway, token: &str) -> Result<(), Unavailable> {
    let key = format!("{PREFIX}{token}");
    Ok(gateway.sessions.blocking(move |store| super::rows::delete(store, &key)).await??)
}
