//! The account of an exchange: its bytes, counted and hashed, for its record.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hmac::{Hmac, Mac};
use lictor_event::content_hash::to_hex;
use lictor_wire::Api;
use serde_json::{Map, Value, json};
use sha2::Sha256;
use tokio::time::Instant;

use crate::identity::{EVERYBODY, Origin};
use crate::telemetry::{Outcome, RouteLabel};

/// The outcome of an exchange whose process was killed.
pub(crate) const CUT_OFF: &str = "cut_off";

/// The account of an exchange, filled while it is in flight.
#[derive(Debug)]
pub(crate) struct Account {
    /// The id of the exchange.
    pub(crate) id: String,
    /// Bytes of the body that the client sent, and of the one that was forwarded.
    pub(crate) received: AtomicU64,
    pub(crate) sent_up: AtomicU64,
    /// Bytes of the body that the upstream sent, and of the one that the client got.
    pub(crate) got: AtomicU64,
    pub(crate) sent_down: AtomicU64,
    /// The status of the upstream, and the status that the client got; zero before there is one.
    pub(crate) upstream_status: AtomicU16,
    pub(crate) status: AtomicU16,
    /// How many events were decided on, and how many of them were not simply forwarded.
    pub(crate) decisions: AtomicU64,
    pub(crate) changed: AtomicU64,
    /// How many calls were made because of bad forecasts, and the tokens that they cost.
    pub(crate) extra_calls: AtomicU64,
    pub(crate) extra_tokens: AtomicU64,
    /// The version of its in-flight row in the store; zero without a row.
    pub(crate) in_flight: AtomicU64,
    /// When the request came.
    begun: Instant,
    more: Mutex<LateDetails>,
}

/// The facts about an exchange that are known only later.
#[derive(Debug)]
struct LateDetails {
    api: Option<Api>,
    route: RouteLabel,
    tenant: String,
    session: Option<(String, Origin)>,
    streams: bool,
    outcome: Option<Outcome>,
    code: Option<String>,
    /// How long the client waited for the first byte of a body.
    first_byte: Option<Duration>,
    /// What the model was told with the request, and which tools were removed.
    steered: Option<Map<String, Value>>,
    /// When the upstream was asked, until its reply has ended.
    upstream_asked: Option<Instant>,
    /// None if no record is kept.
    hashes: Option<Hashes>,
}

/// Hashes of the bytes in and out, under a key in the store: a reader of the ledger alone learns nothing from them.
#[derive(Debug)]
struct Hashes {
    received: Hmac<Sha256>,
    sent_down: Hmac<Sha256>,
}

impl Account {
    /// Creates the account of an exchange. The bytes are hashed with `mac`, if a record will be kept.
    pub(crate) fn new(id: String, mac: Option<Hmac<Sha256>>) -> Account {
        let hashes = mac.map(|mac| Hashes { received: mac.clone(), sent_down: mac });
        let zero = || AtomicU64::new(0);
        Account {
            id,
            received: zero(),
            sent_up: zero(),
            got: zero(),
            sent_down: zero(),
            upstream_status: AtomicU16::new(0),
            status: AtomicU16::new(0),
            decisions: zero(),
            changed: zero(),
            extra_calls: zero(),
            extra_tokens: zero(),
            in_flight: zero(),
            begun: Instant::now(),
            more: Mutex::new(LateDetails {
                api: None,
                route: RouteLabel::default(),
                tenant: EVERYBODY.to_owned(),
                session: None,
                streams: false,
                outcome: None,
                code: None,
                first_byte: None,
                steered: None,
                upstream_asked: None,
                hashes,
            }),
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut LateDetails) -> T) -> T {
        change(&mut self.more.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes the API whose errors the client reads, and the route.
    pub(crate) fn is_about(&self, api: Api, route: RouteLabel) {
        self.with(|more| (more.api, more.route) = (Some(api), route));
    }

    /// Notes that the upstream is asked now.
    pub(crate) fn asks_upstream(&self) {
        self.with(|more| more.upstream_asked = Some(Instant::now()));
    }

    /// Returns how long ago the upstream was asked, unless its reply has ended.
    pub(crate) fn upstream_time(&self) -> Option<Duration> {
        self.with(|more| more.upstream_asked.map(|asked| asked.elapsed()))
    }

    /// Notes that the reply of the upstream has ended. Returns how long it took, at the first call.
    pub(crate) fn ends_upstream(&self) -> Option<Duration> {
        self.with(|more| more.upstream_asked.take().map(|asked| asked.elapsed()))
    }

    /// Notes the tenant and the session.
    pub(crate) fn belongs_to(&self, tenant: &str, session: Option<(String, Origin)>) {
        self.with(|more| {
            more.tenant = tenant.to_owned();
            more.session = session;
        });
    }

    /// Notes that the answer is a stream.
    pub(crate) fn streams(&self) {
        self.with(|more| more.streams = true);
    }

    /// Notes what the model was told with the request, and which tools were removed.
    pub(crate) fn is_steered(&self, mut record: Map<String, Value>) {
        record.retain(|key, _| key != "type" && key != "exchange");
        self.with(|more| more.steered = Some(record));
    }

    /// Notes how it ended; only the first call counts.
    pub(crate) fn ends(&self, outcome: Outcome, code: Option<&str>) {
        self.with(|more| {
            if more.outcome.is_none() {
                more.outcome = Some(outcome);
                more.code = code.map(str::to_owned);
            }
        });
    }

    /// Counts bytes from the client.
    pub(crate) fn received(&self, bytes: &[u8]) {
        self.received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.with(|more| more.hashes.iter_mut().for_each(|hashes| hashes.received.update(bytes)));
    }

    /// Counts bytes to the client.
    pub(crate) fn sent_down(&self, bytes: &[u8]) {
        self.sent_down.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.with(|more| {
            if more.first_byte.is_none() && !bytes.is_empty() {
                more.first_byte = Some(self.begun.elapsed());
            }
            more.hashes.iter_mut().for_each(|hashes| hashes.sent_down.update(bytes));
        });
    }

    pub(crate) fn api(&self) -> Option<Api> {
        self.with(|more| more.api)
    }

    pub(crate) fn route(&self) -> RouteLabel {
        self.with(|more| more.route)
    }

    /// Returns the code of the error that the gateway itself answered with.
    pub(crate) fn code(&self) -> Option<String> {
        self.with(|more| more.code.clone())
    }

    /// Returns how long the client waited for the first byte of a body.
    pub(crate) fn first_byte(&self) -> Option<Duration> {
        self.with(|more| more.first_byte)
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.with(|more| more.session.as_ref().map(|(name, _)| name.clone()))
    }

    pub(crate) fn tenant(&self) -> String {
        self.with(|more| more.tenant.clone())
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.with(|more| more.outcome).unwrap_or(Outcome::Failed)
    }

    /// Returns the record for the case that the process is killed: with the facts that are known now, and no others.
    pub(crate) fn cut_off(&self, policy: &str) -> Map<String, Value> {
        const UNKNOWN: [&str; 9] = [
            "sent_up",
            "got",
            "sent_down",
            "sent_hash",
            "upstream_status",
            "status",
            "decisions",
            "changed",
            "streams",
        ];
        let mut body = self.record(policy);
        body.retain(|key, _| !UNKNOWN.contains(&key.as_str()));
        body.insert("outcome".into(), json!(CUT_OFF));
        body
    }

    /// Returns the record, which has nothing of the content.
    pub(crate) fn record(&self, policy: &str) -> Map<String, Value> {
        let count = |counter: &AtomicU64| json!(counter.load(Ordering::Relaxed));
        let status = |status: &AtomicU16| match status.load(Ordering::Relaxed) {
            0 => Value::Null,
            status => json!(status),
        };
        let mut body = Map::new();
        let mut add = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
        add("type", json!("exchange"));
        add("exchange", json!(self.id));
        add("policy", json!(policy));
        add("received", count(&self.received));
        add("sent_up", count(&self.sent_up));
        add("got", count(&self.got));
        add("sent_down", count(&self.sent_down));
        add("upstream_status", status(&self.upstream_status));
        add("status", status(&self.status));
        add("decisions", count(&self.decisions));
        add("changed", count(&self.changed));
        self.with(|more| {
            let route = Some(more.route).filter(|route| *route != RouteLabel::Unjudged);
            add("api", json!(route.map(RouteLabel::name)));
            add("tenant", json!(more.tenant));
            add("session", json!(more.session.as_ref().map(|(name, _)| name)));
            add("session_from", json!(more.session.as_ref().map(|(_, origin)| origin.name())));
            add("streams", json!(more.streams));
            more.steered.iter().for_each(|steered| add("steered", Value::Object(steered.clone())));
            add("outcome", json!(more.outcome.unwrap_or(Outcome::Failed).name()));
            add("code", json!(more.code));
            let hash =
                |mac: &Hmac<Sha256>| json!(format!("hmac-sha256:{}", to_hex(&mac.clone().finalize().into_bytes())));
            if let Some(hashes) = &more.hashes {
                add("received_hash", hash(&hashes.received));
                add("sent_hash", hash(&hashes.sent_down));
            }
        });
        body
    }
}
