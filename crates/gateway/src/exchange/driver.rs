//! Drives an exchange over HTTP: performs each step of [`lictor_exchange`].
//!
//! Sessions are in the store, decisions come from the warden of the tenant, the model is the upstream.

mod ask_all;
mod reply;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::response::Parts;
use lictor_event::Event;
use lictor_exchange::{
    DecideQuestion, Exchange, ExchangeCounts, ExchangeEnd, ExchangeFailure, ExchangeOptions, ExchangeStep, StepResult,
};
use lictor_judge::guard::Decision;
use lictor_logic::Time;
use lictor_warden::RefusedInput;
use lictor_wire::{Api, SessionHints, UnknownFields};
use tokio::time::Instant;

use super::{HttpExchange, Stop};
use crate::body::{self, BodyError};
use crate::bytes_in_flight::BytesRefused;
use crate::clock::now;
use crate::error_response::ErrorResponse;
use crate::identity::{Origin, SessionKey};
use crate::recent_requests::RecentRequests;
use crate::sessions::{Presence, StoredMemory, Turn};
use crate::telemetry::{Bound, DecisionSpan, Outcome, Span, SpanSubject};
use crate::unavailable::Unavailable;
use crate::waiting::WaitingCall;
use crate::work::LONG_WORK_BYTES;

/// How often a pending approval is looked up, since another gateway may get the answer.
const APPROVAL_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The state of the driver of one exchange.
#[derive(Default)]
struct Driver {
    session: String,
    /// Keeps the session from being ended meanwhile.
    presence: Option<Presence>,
    /// While the memory is loaded, no other exchange of this process changes it.
    turn: Option<Turn>,
    memory: StoredMemory,
    /// The head of the reply, and its body if that is a stream.
    head: Option<Parts>,
    stream: Option<Incoming>,
    /// The end of the stream, if it arrived together with bytes.
    stream_end: Option<StepResult>,
    counts: ExchangeCounts,
    /// How many bytes the steps read, search and edit: those of the request, and then those of the reply.
    work_bytes: usize,
    /// Whether the session of the response is remembered.
    is_linked: bool,
    /// How the exchange ends because of a failed step.
    outcome: Option<Outcome>,
}

impl HttpExchange {
    /// Handles an exchange with a model.
    pub(super) async fn handle_judged(&mut self, api: Api, judges_reply: bool, body: Incoming) -> Result<(), Stop> {
        let Some(bytes) = self.read_request(body).await? else { return Ok(()) };
        let config = &self.gateway.config;
        let active = self.gateway.judges.active();
        let previews_text = active.previews_text && !config.shadow;
        let mut options = ExchangeOptions::default();
        options.shadow = config.shadow;
        options.previews_text = previews_text;
        options.reads_texts = active.reads_texts;
        options.hold_back = if previews_text { config.limits.hold_back } else { 0 };
        options.held = config.limits.held;
        options.items = config.limits.items;
        options.text = config.limits.text;
        options.calls = config.limits.calls;
        options.unknown_fields = if config.shadow { UnknownFields::Pass } else { config.unknown_fields };
        options.corrections = config.limits.corrections;
        options.session_corrections = config.limits.session_corrections;
        options.judges_reply = judges_reply;
        options.interventions = self.gateway.judges.active().predict.clone();
        options.steering = active.steering;
        let key = RecentRequests::key(&self.caller, &self.head.headers);
        let mut driver = Driver { work_bytes: bytes.len(), ..Driver::default() };
        let (gateway, id) = (Arc::clone(&self.gateway), self.account.id.clone());
        let begin = move || {
            let earlier = gateway.recent_requests.find(&key, &bytes);
            let mut exchange = Exchange::after(earlier.clone(), api, id, options, bytes);
            let step = exchange.start();
            if let Some(request) = exchange.take_request() {
                gateway.recent_requests.add(key, request, earlier.as_ref());
            }
            (exchange, step)
        };
        let (exchange, step) = self.run_long(driver.work_bytes, begin).await;
        let mut exchange = Some(exchange);
        let driven = self.drive(&mut driver, api, &mut exchange, step).await;
        if driver.work_bytes >= LONG_WORK_BYTES {
            self.gateway.work.discard(exchange);
        }
        driven
    }

    /// Runs work on about this many bytes: here if it is short, else on a thread for long work, when it is the client's turn.
    pub(super) async fn run_long<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        match bytes >= LONG_WORK_BYTES {
            true => self.gateway.work.run(self.flow, bytes, work).await,
            false => work(),
        }
    }

    /// Performs the steps of an exchange until its end. The exchange is gone if a step of it has panicked.
    async fn drive(
        &mut self,
        driver: &mut Driver,
        api: Api,
        place: &mut Option<Exchange>,
        mut step: ExchangeStep,
    ) -> Result<(), Stop> {
        while let Some(mut exchange) = place.take() {
            let counts = exchange.counts();
            if counts.stripped > driver.counts.stripped {
                self.gateway.stripped.log(
                    api,
                    exchange.take_stripped_names(),
                    &self.gateway.journal,
                    &self.gateway.metrics,
                );
            }
            self.count(driver, counts);
            if api == Api::Responses && matches!(step, ExchangeStep::SendBody(_) | ExchangeStep::SendPiece(_)) {
                self.link_response(driver, exchange.reply_id());
            }
            // The request is judged once it is sent.
            if matches!(step, ExchangeStep::SendUpstream(_)) {
                driver.work_bytes = 0;
            }
            let done = match step {
                ExchangeStep::Done(end) => {
                    *place = Some(exchange);
                    return self.finish(end).await;
                }
                ExchangeStep::Fail(failure) => {
                    *place = Some(exchange);
                    return Err(stop(driver, failure));
                }
                step => self.perform(driver, step).await,
            };
            let done = done.unwrap_or_else(|stop| match stop {
                Stop::Gone => {
                    // The upstream stops as soon as its connection is closed.
                    driver.stream = None;
                    StepResult::ClientGone
                }
                Stop::Tell(outcome, ErrorResponse { status, code, message, reason }) => {
                    driver.outcome = Some(outcome);
                    self.log_reason(reason.as_deref());
                    StepResult::Failed(ExchangeFailure::failed(status, code, message))
                }
            });
            // The pieces of a stream are short; its end is about all of it.
            let bytes = match &done {
                StepResult::Reply(bytes) => {
                    driver.work_bytes += bytes.len();
                    driver.work_bytes
                }
                StepResult::Bytes(bytes) => {
                    driver.work_bytes += bytes.len();
                    bytes.len()
                }
                StepResult::Replies { bodies, .. } => {
                    driver.work_bytes + bodies.iter().flatten().map(Bytes::len).sum::<usize>()
                }
                StepResult::Done | StepResult::ClientGone if self.pieces.is_some() => 0,
                _ => driver.work_bytes,
            };
            let resume = move || {
                let step = exchange.resume(done);
                (exchange, step)
            };
            let (exchange, next) = self.run_long(bytes, resume).await;
            (*place, step) = (Some(exchange), next);
        }
        Ok(())
    }

    /// Remembers the session of the response before the client can continue it.
    fn link_response(&self, driver: &mut Driver, id: Option<String>) {
        if let Some(id) = id.filter(|_| !driver.is_linked) {
            self.gateway.continuations.add(&self.response_key(&id), self.caller.principal.as_deref(), &driver.session);
            driver.is_linked = true;
        }
    }

    /// Performs a step.
    async fn perform(&mut self, driver: &mut Driver, step: ExchangeStep) -> Result<StepResult, Stop> {
        if !matches!(step, ExchangeStep::Load { .. } | ExchangeStep::Decide(_) | ExchangeStep::Save(_)) {
            driver.turn = None;
        }
        let tenant = &self.caller.tenant;
        match step {
            ExchangeStep::Identify(hints) => Ok(self.identify(driver, &hints)),
            ExchangeStep::Load { is_fresh } => self.load(driver, is_fresh).await,
            ExchangeStep::Decide(question) => Ok(self.decide(driver, *question).await?),
            ExchangeStep::Save(memory) => {
                let saved = self.gateway.sessions.save(tenant, &driver.session, &driver.memory, memory).await?;
                let Some(saved) = saved else { return Ok(StepResult::Conflict) };
                driver.memory = saved;
                Ok(StepResult::Done)
            }
            ExchangeStep::Preview(event) => {
                Ok(StepResult::Preview(Box::new(self.gateway.judges.preview(tenant, *event).await?)))
            }
            ExchangeStep::Score(replies) => {
                let session = driver.session.clone();
                Ok(StepResult::Scores(Box::new(self.gateway.judges.score(tenant, session, replies).await?)))
            }
            ExchangeStep::Guide(query) => {
                let guidance = self.gateway.judges.guide(tenant, &driver.session, *query).await?;
                Ok(StepResult::Guidance(Box::new(guidance)))
            }
            ExchangeStep::Ask(request) => {
                Ok(StepResult::Approval(WaitingCall::new(tenant, *request).keep(&self.gateway).await?))
            }
            ExchangeStep::Wait(ids) => self.wait(&ids).await,
            ExchangeStep::LookUp(id) => Ok(StepResult::Pending(WaitingCall::load(&self.gateway, &id).await?.is_some())),
            ExchangeStep::Note(record) => {
                match record.get("type").and_then(serde_json::Value::as_str) {
                    // It becomes part of the record of the exchange.
                    Some("steered") => self.account.is_steered(record),
                    Some("intervention") => {
                        self.add_intervention_span(&driver.session, &record);
                        self.gateway.judges.note(tenant, record).await?;
                    }
                    _ => self.gateway.judges.note(tenant, record).await?,
                }
                Ok(StepResult::Done)
            }
            ExchangeStep::NoteShown(shown) => {
                self.gateway.judges.note_shown(tenant, &shown).await?;
                Ok(StepResult::Done)
            }
            ExchangeStep::Refuse { code, bytes } => {
                let exchange = Some(self.account.id.clone());
                let refused = RefusedInput { reason: code, bytes: bytes.to_vec(), exchange };
                self.gateway.judges.refuse(tenant, self.flow, refused).await?;
                Ok(StepResult::Done)
            }
            ExchangeStep::SendUpstream(bytes) => {
                let response = self.ask_upstream(bytes).await?;
                self.receive(driver, response).await
            }
            ExchangeStep::AskAgain(bytes) => self.ask_again(driver, bytes).await,
            ExchangeStep::Reserve { calls, hour_calls } => {
                Ok(StepResult::Reserved(self.gateway.reserve_calls(tenant, calls, hour_calls)))
            }
            ExchangeStep::AskAll { requests, wait } => Ok(self.ask_all(requests, wait).await),
            ExchangeStep::Read => self.read_stream(driver).await,
            ExchangeStep::SendBody(bytes) => {
                if let Some(head) = driver.head.take() {
                    self.send_body(head.status, &head.headers, bytes).await?;
                }
                Ok(StepResult::Done)
            }
            ExchangeStep::SendPiece(bytes) => self.send_piece(bytes).await,
            ExchangeStep::Abort(failure, bytes) => {
                if let Stop::Tell(outcome, response) = stop(driver, failure) {
                    self.account.ends(outcome, Some(&response.code));
                }
                self.send_piece(bytes).await
            }
            ExchangeStep::Fail(_) | ExchangeStep::Done(_) => Ok(StepResult::Done),
        }
    }

    /// Ends the answer.
    async fn finish(&mut self, end: ExchangeEnd) -> Result<(), Stop> {
        if matches!(end, ExchangeEnd::Truncated | ExchangeEnd::Cut) {
            self.account.ends(Outcome::Truncated, None);
        }
        if end == ExchangeEnd::ClientGone {
            return Err(Stop::Gone);
        }
        // Pieces that are dropped without an end break the client's connection, too.
        let Some(pieces) = self.pieces.take().filter(|_| end != ExchangeEnd::Cut) else { return Ok(()) };
        match pieces.end().await {
            Err(_) if end == ExchangeEnd::Truncated => Err(Stop::Gone),
            // A client that has the whole answer may have disconnected.
            _ => Ok(()),
        }
    }

    fn count(&self, driver: &mut Driver, counts: ExchangeCounts) {
        // Most steps count nothing, and each counter below is shared by all cores.
        if counts == driver.counts {
            return;
        }
        let (account, metrics, before) = (&self.account, &self.gateway.metrics, driver.counts);
        for (bound, now, before) in [
            (Bound::Text, counts.text, before.text),
            (Bound::Calls, counts.calls, before.calls),
            (Bound::Items, counts.items, before.items),
            (Bound::Held, counts.held, before.held),
        ] {
            if now != before {
                metrics.bound(&self.caller.tenant, bound, now.refused - before.refused, now.highest);
            }
        }
        account.decisions.fetch_add(counts.decisions - before.decisions, Ordering::Relaxed);
        account.changed.fetch_add(counts.changed - before.changed, Ordering::Relaxed);
        metrics.unchecked.fetch_add(counts.unchecked - before.unchecked, Ordering::Relaxed);
        metrics.corrections.fetch_add(counts.corrections - before.corrections, Ordering::Relaxed);
        metrics.candidates.fetch_add(counts.candidates - before.candidates, Ordering::Relaxed);
        metrics.samples.fetch_add(counts.samples - before.samples, Ordering::Relaxed);
        metrics.extra_calls.fetch_add(counts.extra_calls - before.extra_calls, Ordering::Relaxed);
        metrics.extra_tokens.fetch_add(counts.extra_tokens - before.extra_tokens, Ordering::Relaxed);
        account.extra_calls.store(counts.extra_calls, Ordering::Relaxed);
        account.extra_tokens.store(counts.extra_tokens, Ordering::Relaxed);
        metrics.replaced.fetch_add(counts.replaced - before.replaced, Ordering::Relaxed);
        metrics.reminded.fetch_add(counts.reminded - before.reminded, Ordering::Relaxed);
        metrics.streams_held.fetch_add(counts.streams_held - before.streams_held, Ordering::Relaxed);
        metrics.forecast_asked.fetch_add(counts.forecast_asked - before.forecast_asked, Ordering::Relaxed);
        metrics.forecast_stopped.fetch_add(counts.forecast_stopped - before.forecast_stopped, Ordering::Relaxed);
        metrics.forecasts_missing.fetch_add(counts.forecasts_missing - before.forecasts_missing, Ordering::Relaxed);
        metrics.obligations_told.fetch_add(counts.obligations_told - before.obligations_told, Ordering::Relaxed);
        metrics.tools_removed.fetch_add(counts.tools_removed - before.tools_removed, Ordering::Relaxed);
        metrics.tools_named.fetch_add(counts.tools_named - before.tools_named, Ordering::Relaxed);
        metrics.stripped.fetch_add(counts.stripped - before.stripped, Ordering::Relaxed);
        let is_changed = counts.history_changed && !before.history_changed;
        metrics.histories_changed.fetch_add(u64::from(is_changed), Ordering::Relaxed);
        driver.counts = counts;
    }

    /// Reads the body of the request, decompressed; none if it could not be, and was forwarded as it came, in shadow mode.
    async fn read_request(&mut self, body: Incoming) -> Result<Option<Bytes>, Stop> {
        let limits = self.gateway.config.limits;
        let (bytes, read) = body::read(body, limits.body, limits.body_idle, &self.held).await;
        let (account, received) = (Arc::clone(&self.account), bytes.clone());
        self.run_long(bytes.len(), move || account.received(&received)).await;
        let header = |name: &str| self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let has_other_charset = body::has_other_charset(header("content-type"));
        let content_type = header("content-type").split(';').next().unwrap_or_default().trim();
        let is_json = content_type.is_empty() || content_type.eq_ignore_ascii_case("application/json");
        let unpacked = match (read, is_json) {
            (Err(unread), _) => Err(unread),
            (Ok(()), false) => Err(BodyError::Type),
            (Ok(()), true) if has_other_charset => Err(BodyError::Charset),
            (Ok(()), true) => self.unpack(header("content-encoding"), &bytes).await,
        };
        self.note_body(unpacked.as_ref().unwrap_or(&bytes).len(), unpacked.as_ref().err().copied());
        match unpacked {
            Ok(bytes) => Ok(Some(bytes)),
            // An overloaded gateway must not do more work.
            Err(unread @ BodyError::Busy) => Err(Stop::Tell(unread.outcome(), unread.response().into())),
            Err(BodyError::Type | BodyError::Charset | BodyError::Encoding | BodyError::Damaged)
                if self.gateway.config.shadow =>
            {
                self.gateway.metrics.unchecked.fetch_add(1, Ordering::Relaxed);
                self.pass_on(bytes).await?;
                Ok(None)
            }
            Err(unread) => {
                let response = ErrorResponse::from(unread.response());
                self.record_refusal(&response.code, bytes.to_vec()).await?;
                Err(Stop::Tell(Outcome::Refused, response))
            }
        }
    }

    /// Decompresses a body within the limits.
    pub(super) async fn unpack(&self, encoding: &str, packed: &Bytes) -> Result<Bytes, BodyError> {
        if matches!(encoding.trim(), "" | "identity") {
            return Ok(packed.clone());
        }
        let (limits, encoding, packed) = (self.gateway.config.limits, encoding.to_owned(), packed.clone());
        // A few bytes may become many.
        let bytes = packed.len().saturating_mul(limits.inflation.max(1)).min(limits.body);
        let unpack = move || body::unpack(&encoding, &packed, limits.body, limits.inflation);
        let unpacked = self.run_long(bytes, unpack).await?;
        self.held.add(unpacked.len()).map_err(|BytesRefused| BodyError::Busy)?;
        Ok(unpacked)
    }

    fn identify(&mut self, driver: &mut Driver, hints: &SessionHints) -> StepResult {
        if self.caller.principal.is_none() {
            self.caller.principal = hints.user.as_ref().map(ToString::to_string);
        }
        let id = hints.session_id();
        let sources = &self.gateway.config.session_from;
        let mut session = self.gateway.namer.session(&self.caller, &self.head.headers, id.as_deref(), hints, sources);
        let principal = self.caller.principal.as_deref();
        let find = |id: &str| self.gateway.continuations.session(&self.response_key(id), principal);
        if session.origin == Origin::Principal
            && let Some(name) = hints.previous_response.as_deref().and_then(find)
        {
            session = SessionKey { name, origin: Origin::Previous };
        }
        self.account.belongs_to(&self.caller.tenant, Some((session.name.clone(), session.origin)));
        driver.session.clone_from(&session.name);
        driver.presence = Some(self.gateway.sessions.enter(&session.name));
        StepResult::Identity { session: session.name, principal: self.caller.principal.clone() }
    }

    /// Returns the key of a response of this caller.
    fn response_key(&self, id: &str) -> String {
        self.gateway.namer.name(&self.caller, Origin::Previous, id)
    }

    async fn load(&self, driver: &mut Driver, is_fresh: bool) -> Result<StepResult, Stop> {
        let (sessions, tenant) = (&self.gateway.sessions, &self.caller.tenant);
        if driver.turn.is_none() {
            driver.turn = Some(match &driver.presence {
                Some(presence) => presence.turn().await,
                None => sessions.turn(&driver.session).await,
            });
        }
        driver.memory = match is_fresh {
            true => sessions.load_fresh(tenant, &driver.session).await?,
            false => sessions.load(tenant, &driver.session).await?,
        };
        Ok(StepResult::Memory(Arc::clone(&driver.memory.memory).without_expired_grants(now())))
    }

    /// Decides on events; they are recorded when this returns.
    async fn decide(&self, driver: &mut Driver, question: DecideQuestion) -> Result<StepResult, Unavailable> {
        let DecideQuestion { events, is_request, is_atomic, next } = question;
        let (gateway, tenant, session) = (&self.gateway, &self.caller.tenant, &driver.session);
        let (from, about) = (now(), self.about(&events));
        if !is_atomic {
            let decisions = gateway.judges.decide(tenant, self.flow, events).await?;
            self.add_spans(session, from, is_request, about, &decisions);
            return Ok(StepResult::Decided { decisions, is_next: false });
        }
        if is_request && driver.memory.is_new() {
            gateway.metrics.sessions_begun.fetch_add(1, Ordering::Relaxed);
        }
        let row = gateway.in_flight.row(&self.account, &gateway.judges.active().fingerprint)?;
        let has_row = row.is_some();
        let save = Arc::new(gateway.sessions.saving(session, &driver.memory, next, row));
        let decided = match gateway.judges.decide_saving(tenant, self.flow, events, &save).await {
            Ok(Some(decided)) => decided,
            Ok(None) => {
                gateway.sessions.load_fresh(tenant, session).await?;
                return Ok(StepResult::Conflict);
            }
            // The memory is rolled back, so that a retry finds the same state.
            Err(unavailable) => {
                gateway.in_flight.look_up(&gateway.sessions, &self.account).await?;
                gateway.sessions.roll_back(tenant, session, &driver.memory).await?;
                return Err(unavailable);
            }
        };
        if has_row {
            self.account.in_flight.store(decided.version, Ordering::Relaxed);
        }
        self.add_spans(session, from, is_request, about, &decided.decisions);
        let (saved, is_next) = gateway.sessions.saved(tenant, session, &save, decided.all_forwarded, decided.version);
        driver.memory = saved;
        Ok(StepResult::Decided { decisions: decided.decisions, is_next })
    }

    /// Returns the kinds and ids of events, for spans.
    fn about(&self, events: &[Event]) -> Vec<(String, Option<String>)> {
        let about = |event: &Event| (event.kind.name().to_owned(), event.id.as_ref().map(ToString::to_string));
        match self.gateway.spans.are_wanted() {
            true => events.iter().map(about).collect(),
            false => Vec::new(),
        }
    }

    fn add_spans(
        &self,
        session: &str,
        from: Time,
        is_input: bool,
        about: Vec<(String, Option<String>)>,
        decisions: &[Arc<Decision>],
    ) {
        if about.is_empty() {
            return;
        }
        let parent = self.trace_parent();
        let policy = self.gateway.judges.active().name.to_string();
        for ((kind, id), decision) in about.into_iter().zip(decisions) {
            let properties = decision.objections.iter().map(|objection| objection.property.id.to_string());
            self.gateway.spans.add(Span {
                parent: parent.clone(),
                from: from.0,
                to: now().0,
                policy: policy.clone(),
                session: session.to_owned(),
                subject: SpanSubject::Decision(DecisionSpan {
                    is_input,
                    kind,
                    id,
                    action: decision.action,
                    properties: properties.collect(),
                }),
            });
        }
    }

    /// Adds the span of an intervention, which took as long as its record says.
    fn add_intervention_span(&self, session: &str, record: &serde_json::Map<String, serde_json::Value>) {
        if !self.gateway.spans.are_wanted() {
            return;
        }
        let milliseconds = record.get("milliseconds").and_then(serde_json::Value::as_i64).unwrap_or_default();
        let to = now().0;
        self.gateway.spans.add(Span {
            parent: self.trace_parent(),
            from: to.saturating_sub(milliseconds.saturating_mul(1_000_000)),
            to,
            policy: self.gateway.judges.active().name.to_string(),
            session: session.to_owned(),
            subject: SpanSubject::Intervention(Box::new(record.clone())),
        });
    }

    /// Returns the trace of the request and the span that sent it, if it names them.
    fn trace_parent(&self) -> Option<(String, String)> {
        let header = self.head.headers.get("traceparent")?.to_str().ok()?;
        let mut parts = header.split('-').skip(1);
        Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
    }

    /// Waits until reviewers have answered, for as long as an exchange may stay open.
    async fn wait(&self, ids: &[String]) -> Result<StepResult, Stop> {
        let until = Instant::now() + self.gateway.config.limits.approval;
        for id in ids {
            while Instant::now() < until {
                // The grant is kept for the retry of a client that has disconnected.
                if self.is_gone() {
                    return Err(Stop::Gone);
                }
                let answered = self.gateway.answered.notified();
                if WaitingCall::load(&self.gateway, id).await?.is_none() {
                    break;
                }
                tokio::select! {
                    () = answered => {}
                    () = tokio::time::sleep(APPROVAL_POLL_INTERVAL) => {}
                    () = tokio::time::sleep_until(until) => {}
                }
            }
        }
        Ok(StepResult::Done)
    }

    async fn send_piece(&self, bytes: Bytes) -> Result<StepResult, Stop> {
        let Some(pieces) = &self.pieces else { return Err(Stop::Gone) };
        let counted = bytes.clone();
        // A client that reads nothing until the timeout counts as disconnected.
        match tokio::time::timeout(self.gateway.config.limits.write, pieces.send(bytes)).await {
            Ok(Ok(())) => self.account.sent_down(&counted),
            Ok(Err(_)) | Err(_) => return Err(Stop::Gone),
        }
        Ok(StepResult::Done)
    }
}

/// Returns the reason to stop, with the outcome.
fn stop(driver: &mut Driver, failure: ExchangeFailure) -> Stop {
    let outcome = match failure.end {
        ExchangeEnd::Refused => Outcome::Refused,
        _ => driver.outcome.take().unwrap_or(Outcome::Failed),
    };
    Stop::Tell(outcome, ErrorResponse::new(failure.status, failure.code, failure.message))
}
