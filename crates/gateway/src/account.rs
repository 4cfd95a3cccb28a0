//! What crossed in an exchange, counted and hashed: the record that covers every byte of it.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, Mac};
use lictor_wire::Api;
use serde_json::{Map, Value, json};
use sha2::Sha256;

use crate::identity::{EVERYBODY, Origin, hex};

use crate::in_flight::CUT_OFF;
use crate::telemetry::Outcome;

/// What crossed in an exchange.
#[derive(Debug)]
pub(crate) struct Account {
    /// By which it is known.
    pub(crate) id: String,
    /// Bytes of the body that the client sent, and of the one that went on.
    pub(crate) received: AtomicU64,
    pub(crate) sent_up: AtomicU64,
    /// Bytes of the body that the upstream sent, and of the one that the client got.
    pub(crate) got: AtomicU64,
    pub(crate) sent_down: AtomicU64,
    /// The status of the upstream, and that which the client got; zero before there is one.
    pub(crate) upstream_status: AtomicU16,
    pub(crate) status: AtomicU16,
    /// How many events were decided on, and how many of them did not simply go on.
    pub(crate) decisions: AtomicU64,
    pub(crate) changed: AtomicU64,
    /// The version of the row by which the store knows that it is under way; zero while it does not.
    pub(crate) in_flight: AtomicU64,
    more: Mutex<More>,
}

/// What is learnt of an exchange on the way.
#[derive(Debug)]
struct More {
    api: Option<Api>,
    tenant: String,
    session: Option<(String, Origin)>,
    streams: bool,
    outcome: Option<Outcome>,
    code: Option<String>,
    /// None where nobody will ever see them.
    hashes: Option<Hashes>,
}

/// Hashes of what went in and out, under a key that is in the store: they show nothing to whoever has only the ledger.
#[derive(Debug)]
struct Hashes {
    received: Hmac<Sha256>,
    sent_down: Hmac<Sha256>,
}

impl Account {
    /// Of an exchange with this id. What crosses is hashed by `mac` if there will be a record of it.
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
            in_flight: zero(),
            more: Mutex::new(More {
                api: None,
                tenant: EVERYBODY.to_owned(),
                session: None,
                streams: false,
                outcome: None,
                code: None,
                hashes,
            }),
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut More) -> T) -> T {
        change(&mut self.more.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says what it is about.
    pub(crate) fn is_about(&self, api: Api) {
        self.with(|more| more.api = Some(api));
    }

    /// Says whose it is.
    pub(crate) fn belongs_to(&self, tenant: &str, session: Option<(String, Origin)>) {
        self.with(|more| {
            more.tenant = tenant.to_owned();
            more.session = session;
        });
    }

    /// Says that the answer is a stream.
    pub(crate) fn streams(&self) {
        self.with(|more| more.streams = true);
    }

    /// Says how it ended; the first to say so is right.
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
        self.with(|more| more.hashes.iter_mut().for_each(|hashes| hashes.sent_down.update(bytes)));
    }

    pub(crate) fn api(&self) -> Option<Api> {
        self.with(|more| more.api)
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

    /// The record of an exchange of which nothing more will be known than what is known now.
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

    /// The record of it. There is nothing in it of what was said.
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
            add("api", json!(more.api.map(Api::name)));
            add("tenant", json!(more.tenant));
            add("session", json!(more.session.as_ref().map(|(name, _)| name)));
            add("session_from", json!(more.session.as_ref().map(|(_, origin)| origin.name())));
            add("streams", json!(more.streams));
            add("outcome", json!(more.outcome.unwrap_or(Outcome::Failed).name()));
            add("code", json!(more.code));
            let hash = |mac: &Hmac<Sha256>| json!(format!("hmac-sha256:{}", hex(&mac.clone().finalize().into_bytes())));
            if let Some(hashes) = &more.hashes {
                add("received_hash", hash(&hashes.received));
                add("sent_hash", hash(&hashes.sent_down));
            }
        });
        body
    }
}
