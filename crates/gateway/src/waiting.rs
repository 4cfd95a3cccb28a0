//! Pending approvals in the store: any gateway over it may get the answer.

use lictor_event::{Event, Kind, parse_time};
use lictor_exchange::{ApprovalRequest, Grant, SessionMemory, denial_note};
use lictor_json::{Json, Text};
use lictor_store::{Change, ExpectedVersion, Store, StoreError, StoredValue};
use lictor_warden::DELIVERY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::now;
use crate::gateway::Gateway;
use crate::identity::{Namer, hex};
use crate::unavailable::Unavailable;

const PREFIX: &str = "gateway/waiting/";

/// The prefix of the keys that hold the approval id of a call, by the hash of the call.
const BY_CALL: &str = "gateway/waiting-call/";

/// The most approvals that one list has, and how many keys are counted at once.
const MAX_LISTED_APPROVALS: usize = 1000;
const KEYS_AT_ONCE: usize = 1000;

/// A call that waits for a reviewer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WaitingCall {
    pub(crate) tenant: String,
    pub(crate) session: String,
    /// The id by which the guard knows it.
    pub(crate) id: String,
    pub(crate) tool: Option<String>,
    /// The arguments as they would be forwarded, for the reviewer.
    pub(crate) args: Option<String>,
    /// The hash of its tool and arguments.
    pub(crate) call: String,
    /// The call as it would be forwarded, if it was rewritten.
    pub(crate) rewritten: Option<String>,
    pub(crate) until: Option<String>,
    /// The properties that the reviewer is asked about.
    pub(crate) properties: Vec<String>,
}

/// The outcome of a reviewer's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalOutcome {
    /// The call is allowed.
    Allowed,
    /// The call is denied.
    Denied,
    /// The call was allowed, but something else stops it now.
    StoppedAfterAll,
    /// The approval is unknown to the guard, or has expired.
    TooLate,
}

impl WaitingCall {
    pub(crate) fn new(tenant: &str, request: ApprovalRequest) -> WaitingCall {
        let ApprovalRequest { session, id, tool, args, call, rewritten, until, properties } = request;
        WaitingCall { tenant: tenant.to_owned(), session, id, tool, args, call, rewritten, until, properties }
    }

    /// Stores it, and returns the approval id. If no exchange stays open for approvals, a call that is made again while
    /// it is pending keeps its id: the reviewer is asked once.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Result<String, Unavailable> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| Unavailable { reason: error.to_string() })?;
        let token = hex(&random);
        let value = serde_json::to_vec(self).map_err(|error| Unavailable { reason: error.to_string() })?;
        let by_call = gateway.config.limits.approval.is_zero().then(|| self.by_call(&gateway.namer));
        let kept = gateway.sessions.blocking(move |store| keep(store, token, &value, by_call.as_deref()));
        kept.await?.map_err(Unavailable::from)
    }

    /// Returns the key that holds the approval id of this call.
    fn by_call(&self, namer: &Namer) -> String {
        format!("{BY_CALL}{}", namer.hash(&[&self.tenant, &self.session, &self.call]))
    }

    /// Returns the pending approval with this id.
    pub(crate) async fn load(gateway: &Gateway, token: &str) -> Result<Option<WaitingCall>, Unavailable> {
        if !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let key = format!("{PREFIX}{token}");
        let stored = gateway.sessions.blocking(move |store| store.load(&key)).await??;
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored.value).ok()))
    }

    /// Returns the pending approvals after an id, as a reviewer sees them, and how many more there are. Expired ones
    /// are deleted, and those of sessions that have ended.
    pub(crate) async fn list(gateway: &Gateway, after: Option<&str>) -> Result<(Vec<Value>, usize), Unavailable> {
        let (namer, after) = (gateway.namer.clone(), after.map(|id| format!("{PREFIX}{id}")));
        let listed = gateway.sessions.blocking(move |store| list(store, &namer, after)).await?;
        let (listed, more) = listed?;
        let mut shown = Vec::new();
        for (key, waiting) in listed {
            let Some(id) = key.strip_prefix(PREFIX) else { continue };
            if gateway.sessions.is_over(&waiting.tenant, &waiting.session).await? {
                waiting.forget(gateway, id).await?;
                continue;
            }
            let WaitingCall { tenant, session, tool, args, until, properties, .. } = waiting;
            shown.push(json!({
                "id": id, "tenant": tenant, "session": session, "tool": tool, "args": args, "until": until,
                "properties": properties,
            }));
        }
        Ok((shown, more))
    }

    /// Deletes the pending approvals of a session that was ended: they cannot be answered any more.
    pub(crate) async fn forget_session(gateway: &Gateway, tenant: &str, session: &str) -> Result<(), Unavailable> {
        let (namer, tenant, session) = (gateway.namer.clone(), tenant.to_owned(), session.to_owned());
        let forgotten = gateway.sessions.blocking(move |store| {
            let mut last = None;
            loop {
                let (listed, more) = list(store, &namer, last.clone())?;
                last = listed.last().map(|(key, _)| key.clone());
                for (key, waiting) in listed {
                    if waiting.tenant == tenant && waiting.session == session {
                        forget(store, &key, Some(&waiting.by_call(&namer)))?;
                    }
                }
                if more == 0 {
                    return Ok::<_, StoreError>(());
                }
            }
        });
        forgotten.await?.map_err(Unavailable::from)
    }

    fn is_late(&self) -> bool {
        self.until.as_deref().and_then(parse_time).is_some_and(|until| until < now())
    }

    /// Takes a reviewer's answer.
    pub(crate) async fn answer(
        self,
        gateway: &Gateway,
        token: &str,
        by: &str,
        allow: bool,
    ) -> Result<ApprovalOutcome, Unavailable> {
        let mut event = Event::new(if allow { Kind::Approval } else { Kind::Denial });
        event.session = Some(self.session.as_str().into());
        event.id = Some(self.id.as_str().into());
        event.more.insert("by", Json::from(by));
        // Random, so that it is never a duplicate of an earlier answer.
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(|error| Unavailable { reason: error.to_string() })?;
        event.more.insert(DELIVERY, Json::from(u64::from_be_bytes(random).to_string().as_str()));
        let decisions = gateway.judges.decide(&self.tenant, vec![event]).await?;
        let settled = decisions.iter().flat_map(|decision| &decision.settled);
        let settled = settled.into_iter().find(|settled| settled.settles.as_deref() == Some(self.id.as_str()));
        let grant = settled.and_then(|settled| Grant::of(&self.id, &self.call, self.rewritten.as_deref(), settled));
        let answered = match (settled, grant) {
            (None, _) => ApprovalOutcome::TooLate,
            (Some(settled), Some(grant)) if allow => {
                // The call is part of the trace now: a property that allows it once objects to it from here on.
                let preview = gateway.judges.preview(&self.tenant, settled.event.clone()).await?;
                let grant = Grant { excused: self.properties.clone(), until: self.until.clone(), ..grant };
                self.store_grant(gateway, grant.excusing(preview.properties.iter().map(Text::as_str))).await?;
                ApprovalOutcome::Allowed
            }
            (Some(_), _) if allow => ApprovalOutcome::StoppedAfterAll,
            (Some(_), _) => {
                self.note_denial(gateway).await?;
                ApprovalOutcome::Denied
            }
        };
        self.forget(gateway, token).await?;
        gateway.answered.notify_waiters();
        Ok(answered)
    }

    async fn store_grant(&self, gateway: &Gateway, grant: Grant) -> Result<(), Unavailable> {
        self.change_memory(gateway, |memory| memory.grant(grant.clone())).await
    }

    /// Lets the model know with its next request, if no exchange waits for the answer.
    async fn note_denial(&self, gateway: &Gateway) -> Result<(), Unavailable> {
        if !gateway.config.limits.approval.is_zero() {
            return Ok(());
        }
        self.change_memory(gateway, |memory| memory.note(denial_note(self.tool.as_deref()))).await
    }

    async fn change_memory(&self, gateway: &Gateway, change: impl Fn(&mut SessionMemory)) -> Result<(), Unavailable> {
        loop {
            let _turn = gateway.sessions.turn(&self.session).await;
            let loaded = gateway.sessions.load(&self.tenant, &self.session).await?;
            let mut memory = (*loaded.memory).clone();
            change(&mut memory);
            if gateway.sessions.save(&self.tenant, &self.session, &loaded, memory.into()).await?.is_some() {
                return Ok(());
            }
        }
    }

    async fn forget(&self, gateway: &Gateway, token: &str) -> Result<(), Unavailable> {
        let (key, by_call) = (format!("{PREFIX}{token}"), self.by_call(&gateway.namer));
        gateway.sessions.blocking(move |store| forget(store, &key, Some(&by_call))).await?.map_err(Unavailable::from)
    }
}

/// Returns the pending approvals after a key, with their keys, and how many more keys there are. Expired ones are
/// deleted.
fn list(
    store: &dyn Store,
    namer: &Namer,
    mut last: Option<String>,
) -> Result<(Vec<(String, WaitingCall)>, usize), StoreError> {
    let (mut listed, mut more) = (Vec::new(), 0);
    loop {
        let keys = store.keys(PREFIX, last.as_deref(), KEYS_AT_ONCE)?;
        let Some(end) = keys.last() else { return Ok((listed, more)) };
        last = Some(end.clone());
        for key in keys {
            if listed.len() == MAX_LISTED_APPROVALS {
                more += 1;
                continue;
            }
            let Some(stored) = store.load(&key)? else { continue };
            // Another gateway may delete it at the same time.
            match serde_json::from_slice::<WaitingCall>(&stored.value) {
                Ok(waiting) if !waiting.is_late() => listed.push((key, waiting)),
                Ok(waiting) => drop(forget(store, &key, Some(&waiting.by_call(namer)))),
                Err(_) => drop(forget(store, &key, None)),
            }
        }
    }
}

/// Deletes a pending approval, and the key that holds its id.
fn forget(store: &dyn Store, key: &str, by_call: Option<&str>) -> Result<(), StoreError> {
    let mut changes = Vec::new();
    if let Some(stored) = store.load(key)? {
        changes.push(Change::delete(key, ExpectedVersion::Version(stored.version)));
    }
    if let Some(by_call) = by_call
        && let Some(named) = store.load(by_call)?
        && key.strip_prefix(PREFIX).is_some_and(|token| token.as_bytes() == &*named.value)
    {
        changes.push(Change::delete(by_call, ExpectedVersion::Version(named.version)));
    }
    if !changes.is_empty() {
        store.save(&changes)?;
    }
    Ok(())
}

/// Stores a pending approval, under the id that `by_call` holds, or under a new one.
fn keep(store: &dyn Store, token: String, value: &[u8], by_call: Option<&str>) -> Result<String, StoreError> {
    loop {
        let named = by_call.map(|key| store.load(key)).transpose()?.flatten();
        let known = named.as_ref().map(|named| String::from_utf8_lossy(&named.value).into_owned());
        let kept = known.as_ref().map(|known| store.load(&format!("{PREFIX}{known}"))).transpose()?.flatten();
        let is_late =
            |kept: &StoredValue| serde_json::from_slice(&kept.value).is_ok_and(|kept: WaitingCall| kept.is_late());
        let (token, change) = match (known, kept) {
            (Some(known), Some(kept)) if !is_late(&kept) => (
                known.clone(),
                vec![Change::put(format!("{PREFIX}{known}"), ExpectedVersion::Version(kept.version), value)],
            ),
            _ => {
                let name = |key: &str| {
                    let expected = ExpectedVersion::of_version(named.as_ref().map(|named| named.version));
                    Change::put(key.to_owned(), expected, token.as_str())
                };
                let own = Change::put(format!("{PREFIX}{token}"), ExpectedVersion::Absent, value);
                (token.clone(), std::iter::once(own).chain(by_call.map(name)).collect())
            }
        };
        match store.save(&change) {
            Ok(_) => return Ok(token),
            // Another gateway stores the same call, or it has just been answered.
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}
