//! Pending approvals in the store: any gateway over it may get the answer.

mod allowed;
mod rows;

use std::sync::atomic::Ordering;

use lictor_event::content_hash::to_hex;
use lictor_event::{Event, Kind, parse_time};
use lictor_exchange::{ApprovalRequest, Grant, SessionMemory, denial_note};
use lictor_json::Json;
use lictor_warden::DELIVERY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::now;
use crate::gateway::Gateway;
use crate::telemetry::approval_line;
use crate::unavailable::Unavailable;
use crate::work::Flow;
use rows::ApprovalPage;

/// A call that waits for a reviewer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WaitingCall {
    pub(crate) tenant: String,
    #[serde(flatten)]
    pub(crate) request: ApprovalRequest,
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
    /// The call was allowed before, and the approval is taken back.
    Revoked,
    /// The approval is unknown to the guard, or has expired.
    TooLate,
}

impl ApprovalOutcome {
    /// Returns the name in answers and in the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ApprovalOutcome::Allowed => "allowed",
            ApprovalOutcome::Denied => "denied",
            ApprovalOutcome::StoppedAfterAll => "stopped",
            ApprovalOutcome::Revoked => "revoked",
            ApprovalOutcome::TooLate => "expired",
        }
    }
}

impl WaitingCall {
    pub(crate) fn new(tenant: &str, request: ApprovalRequest) -> WaitingCall {
        WaitingCall { tenant: tenant.to_owned(), request }
    }

    /// Stores it, and returns the approval id. If no exchange stays open for approvals, a call that is made again while
    /// it is pending keeps its id: the reviewer is asked once.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Result<String, Unavailable> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| Unavailable { reason: error.to_string() })?;
        let token = to_hex(&random);
        let is_named = gateway.config.limits.approval.is_zero();
        let (waiting, namer) = (self.clone(), gateway.namer.clone());
        let kept = gateway.sessions.blocking(move |store| rows::keep(store, &namer, token, &waiting, is_named));
        let (token, is_new) = kept.await??;
        if is_new {
            gateway.metrics.approvals_asked.fetch_add(1, Ordering::Relaxed);
            gateway.metrics.approvals_waiting.fetch_add(1, Ordering::Relaxed);
        }
        Ok(token)
    }

    /// Returns the pending approval with this id.
    pub(crate) async fn load(gateway: &Gateway, token: &str) -> Result<Option<WaitingCall>, Unavailable> {
        if !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let token = token.to_owned();
        Ok(gateway.sessions.blocking(move |store| rows::load(store, &token)).await??)
    }

    /// Returns the pending approvals after an id, as a reviewer sees them, and how many more there are. Expired ones
    /// are deleted, and those of sessions that have ended.
    pub(crate) async fn list(gateway: &Gateway, after: Option<&str>) -> Result<(Vec<Value>, usize), Unavailable> {
        let page = WaitingCall::read_page(gateway, after.map(str::to_owned)).await?;
        Ok((page.waiting.iter().map(|(id, waiting)| waiting.show(id)).collect(), page.more))
    }

    /// Returns it as a reviewer sees it.
    fn show(&self, id: &str) -> Value {
        let WaitingCall { tenant, request } = self;
        let ApprovalRequest { session, tool, args, context, until, properties, forecast, .. } = request;
        let mut shown = json!({
            "id": id, "tenant": tenant, "session": session, "tool": tool, "args": args, "until": until,
            "properties": properties,
        });
        if let Some(context) = context {
            shown["context"] = json!(context);
        }
        if let Some(forecast) = forecast {
            shown["forecast"] = json!(forecast);
        }
        shown
    }

    /// Deletes all approvals that have expired, and those of sessions that have ended. Counts the others.
    pub(crate) async fn expire_all(gateway: &Gateway) -> Result<(), Unavailable> {
        let mut last = None;
        loop {
            let page = WaitingCall::read_page(gateway, last).await?;
            if page.more == 0 {
                WaitingCall::list_allowed(gateway).await?;
                return WaitingCall::count(gateway).await;
            }
            last = page.last;
        }
    }

    /// Counts the pending approvals, as other gateways over the same store may ask for some and get answers.
    pub(crate) async fn count(gateway: &Gateway) -> Result<(), Unavailable> {
        let count = gateway.sessions.blocking(rows::count).await??;
        gateway.metrics.approvals_waiting.store(count, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the pending approvals after an id, without those of sessions that have ended.
    async fn read_page(gateway: &Gateway, after: Option<String>) -> Result<ApprovalPage, Unavailable> {
        let namer = gateway.namer.clone();
        let mut page = gateway.sessions.blocking(move |store| rows::list(store, &namer, after)).await??;
        for (id, waiting) in std::mem::take(&mut page.waiting) {
            match gateway.sessions.is_over(&waiting.tenant, &waiting.request.session).await? {
                true if waiting.forget(gateway, &id).await? => page.expired.push((id, waiting)),
                true => {}
                false => page.waiting.push((id, waiting)),
            }
        }
        for (id, waiting) in &page.expired {
            waiting.report(gateway, id, ApprovalOutcome::TooLate, true);
        }
        Ok(page)
    }

    /// Deletes the pending approvals of a session that was ended: they cannot be answered any more.
    pub(crate) async fn forget_session(gateway: &Gateway, tenant: &str, session: &str) -> Result<(), Unavailable> {
        let (namer, tenant, session) = (gateway.namer.clone(), tenant.to_owned(), session.to_owned());
        let forget = move |store: &dyn lictor_store::Store| rows::forget_session(store, &namer, &tenant, &session);
        for (id, waiting) in gateway.sessions.blocking(forget).await?? {
            waiting.report(gateway, &id, ApprovalOutcome::TooLate, true);
        }
        Ok(())
    }

    /// Counts and logs what became of it. The log has no arguments, no session and no reviewer, which may be personal.
    fn report(&self, gateway: &Gateway, id: &str, outcome: ApprovalOutcome, is_deleted: bool) {
        let metrics = &gateway.metrics;
        let counter = match outcome {
            ApprovalOutcome::Allowed | ApprovalOutcome::StoppedAfterAll => &metrics.approvals_allowed,
            ApprovalOutcome::Denied | ApprovalOutcome::Revoked => &metrics.approvals_denied,
            ApprovalOutcome::TooLate => &metrics.approvals_expired,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if is_deleted {
            let fewer = |count: u64| count.checked_sub(1);
            let _ = metrics.approvals_waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        }
        let line =
            approval_line(&self.tenant, id, self.request.tool.as_deref(), &self.request.properties, outcome.name());
        gateway.journal.say(metrics, "approval", line);
    }

    fn is_late(&self) -> bool {
        self.request.until.as_deref().and_then(parse_time).is_some_and(|until| until < now())
    }

    /// Takes a reviewer's answer.
    pub(crate) async fn answer(
        self,
        gateway: &Gateway,
        token: &str,
        by: &str,
        allow: bool,
    ) -> Result<ApprovalOutcome, Unavailable> {
        let decisions =
            gateway.judges.decide(&self.tenant, Flow::default(), vec![self.answer_event(by, allow)?]).await?;
        let settled = decisions.iter().flat_map(|decision| &decision.settled);
        let settled = settled.into_iter().find(|settled| settled.settles.as_deref() == Some(self.request.id.as_str()));
        let grant = settled.and_then(|settled| self.request.grant(settled));
        let answered = match (settled, grant) {
            (None, _) => ApprovalOutcome::TooLate,
            (Some(settled), Some(grant)) if allow => {
                // The call is part of the trace now: a property that allows it once objects to it from here on.
                let preview = gateway.judges.preview(&self.tenant, settled.event.clone()).await?;
                self.store_grant(gateway, token, grant.excusing(&preview)).await?;
                ApprovalOutcome::Allowed
            }
            (Some(_), _) if allow => ApprovalOutcome::StoppedAfterAll,
            (Some(_), _) => {
                self.note_denial(gateway).await?;
                ApprovalOutcome::Denied
            }
        };
        let is_deleted = self.forget(gateway, token).await?;
        gateway.answered.notify_waiters();
        // Another gateway may have found it expired at the same time.
        if is_deleted || answered != ApprovalOutcome::TooLate {
            self.report(gateway, token, answered, is_deleted);
        }
        Ok(answered)
    }

    /// Returns the event of a reviewer's answer.
    fn answer_event(&self, by: &str, allow: bool) -> Result<Event, Unavailable> {
        let mut event = Event::new(if allow { Kind::Approval } else { Kind::Denial });
        event.session = Some(self.request.session.as_str().into());
        event.id = Some(self.request.id.as_str().into());
        event.more.insert("by", Json::from(by));
        // Random, so that it is never a duplicate of an earlier answer.
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(|error| Unavailable { reason: error.to_string() })?;
        event.more.insert(DELIVERY, Json::from(u64::from_be_bytes(random).to_string().as_str()));
        Ok(event)
    }

    /// Stores the grant, and its row first: a grant without a row could not be taken back.
    async fn store_grant(&self, gateway: &Gateway, token: &str, grant: Grant) -> Result<(), Unavailable> {
        self.keep_allowed(gateway, token).await?;
        self.change_memory(gateway, |memory| memory.grant(grant.clone())).await
    }

    /// Lets the model know with its next request, if no exchange waits for the answer.
    async fn note_denial(&self, gateway: &Gateway) -> Result<(), Unavailable> {
        if !gateway.config.limits.approval.is_zero() {
            return Ok(());
        }
        self.change_memory(gateway, |memory| memory.note(denial_note(self.request.tool.as_deref()))).await
    }

    /// Changes the memory of its session, and returns the result of the change.
    async fn change_memory<T>(
        &self,
        gateway: &Gateway,
        change: impl Fn(&mut SessionMemory) -> T,
    ) -> Result<T, Unavailable> {
        loop {
            let _turn = gateway.sessions.turn(&self.request.session).await;
            let loaded = gateway.sessions.load(&self.tenant, &self.request.session).await?;
            let mut memory = (*loaded.memory).clone();
            let changed = change(&mut memory);
            if gateway.sessions.save(&self.tenant, &self.request.session, &loaded, memory.into()).await?.is_some() {
                return Ok(changed);
            }
        }
    }

    /// Deletes it, and returns whether it was there.
    async fn forget(&self, gateway: &Gateway, token: &str) -> Result<bool, Unavailable> {
        let (waiting, namer, token) = (self.clone(), gateway.namer.clone(), token.to_owned());
        let forget = move |store: &dyn lictor_store::Store| rows::forget(store, &namer, &token, Some(&waiting));
        Ok(gateway.sessions.blocking(forget).await??)
    }
}
