//! Connections to labelers over HTTP: timeouts, retries, concurrency, limits.
//!
//! A request is sent again after 429, 5xx and broken connections, after the time that `Retry-After` names or a growing
//! pause, as long as the time of the whole inquiry lasts. Where events wait for the answers, a circuit breaker ends the
//! waiting for a server that does not answer. Redirects are not followed: text that must be labeled goes to
//! the configured server only. Proxies of the environment are ignored. The certificates of servers are verified.

mod breaker;
mod client;
mod options;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use lictor_json::Json;

use self::breaker::Breaker;
use self::client::{HttpClient, HttpReply};
use crate::budget::Allowance;
use crate::clock::{Deadline, now};
use crate::meter::{LabelCounters, LabelFailure};

pub use self::options::{ConnectionOptions, LabelerError};
pub(crate) use self::slots::Slots;

/// The pause before the first retry; it doubles with each.
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Bytes of text that are one token at least, for estimates. Texts in English have about four.
const BYTES_PER_TOKEN: u64 = 3;

/// A server that is asked by posting JSON.
#[derive(Debug)]
pub(crate) struct Connection {
    client: HttpClient,
    slots: Slots,
    retries: u32,
    timeout: Duration,
    counters: Arc<LabelCounters>,
    /// None if every call waits for the server.
    breaker: Option<Breaker>,
}

/// Why a call has no reply, with the start of what the server said.
#[derive(Debug)]
pub(crate) struct CallFailure {
    pub(crate) reason: LabelFailure,
    pub(crate) status: Option<u16>,
    pub(crate) message: String,
}

impl From<LabelFailure> for CallFailure {
    fn from(reason: LabelFailure) -> CallFailure {
        CallFailure { reason, status: None, message: String::new() }
    }
}

impl Connection {
    /// Prepares a connection to a path below the base address of the options.
    pub(crate) fn open(options: &ConnectionOptions, path: &str) -> Result<Connection, LabelerError> {
        Ok(Connection {
            client: HttpClient::new(options, path)?,
            slots: Slots::new(options.concurrency),
            retries: options.retries,
            timeout: options.timeout,
            counters: Arc::default(),
            breaker: options.breaks_circuit.then(Breaker::default),
        })
    }

    pub(crate) fn counters(&self) -> &LabelCounters {
        &self.counters
    }

    /// Returns the deadline of an inquiry that begins now.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::begin(self.timeout)
    }

    /// Posts a JSON value, and returns the body of the reply. `answer_tokens` estimates the tokens of the reply, and
    /// `count` reads from a body how many tokens were used. It fails at once while the circuit is open.
    pub(crate) fn post(
        &self,
        body: &Json,
        answer_tokens: u64,
        deadline: Deadline,
        allowance: &Allowance<'_>,
        count: fn(&[u8]) -> Option<u64>,
    ) -> Result<Vec<u8>, CallFailure> {
        let Some(breaker) = &self.breaker else {
            return self.post_and_retry(body, answer_tokens, deadline, allowance, count);
        };
        if !breaker.admit(now()) {
            return Err(LabelFailure::CircuitOpen.into());
        }
        let reply = self.post_and_retry(body, answer_tokens, deadline, allowance, count);
        let is_silent = reply.as_ref().is_err_and(|failure| {
            matches!(failure.reason, LabelFailure::Timeout | LabelFailure::Unreachable | LabelFailure::ServerError)
        });
        self.counters.set_circuit_open(breaker.note(!is_silent, now()));
        reply
    }

    fn post_and_retry(
        &self,
        body: &Json,
        answer_tokens: u64,
        deadline: Deadline,
        allowance: &Allowance<'_>,
        count: fn(&[u8]) -> Option<u64>,
    ) -> Result<Vec<u8>, CallFailure> {
        let body = body.to_string();
        let estimate = match answer_tokens {
            // A service that generates no text has no tokens.
            0 => 0,
            answer => answer + body.len() as u64 / BYTES_PER_TOKEN,
        };
        let mut attempt = 0;
        loop {
            let result = self.post_once(&body, estimate, attempt > 0, deadline, allowance, count);
            let (failure, pause) = match result {
                Ok(HttpReply { status: 200..=299, body, .. }) => return Ok(body),
                Ok(reply) => read_status(reply),
                Err(reason) => (CallFailure::from(reason), None),
            };
            let may_pass = matches!(
                failure.reason,
                LabelFailure::RateLimited | LabelFailure::ServerError | LabelFailure::Unreachable
            );
            if !may_pass || attempt >= self.retries {
                return Err(failure);
            }
            let pause = pause.unwrap_or(FIRST_RETRY_PAUSE * 2_u32.pow(attempt.min(8)));
            // A pause that outlasts the inquiry is not begun: its end is known now.
            if deadline.time_left().is_none_or(|left| left <= pause) {
                return Err(failure);
            }
            std::thread::sleep(pause);
            attempt += 1;
        }
    }

    fn post_once(
        &self,
        body: &str,
        estimate: u64,
        is_retry: bool,
        deadline: Deadline,
        allowance: &Allowance<'_>,
        count: fn(&[u8]) -> Option<u64>,
    ) -> Result<HttpReply, LabelFailure> {
        let _slot = self.slots.take(deadline).ok_or(LabelFailure::Timeout)?;
        let permit = allowance.take_call(estimate)?;
        let left = deadline.time_left().ok_or(LabelFailure::Timeout)?;
        let timeout = permit.time_left().map_or(left, |most| most.min(left));
        self.counters.count_request(is_retry);
        let reply = self.client.post(body, timeout);
        let used = reply.as_ref().ok().and_then(|reply| count(&reply.body));
        // A request that was refused used nothing; one without a reply may have used all.
        let used = match &reply {
            Ok(reply) if !(200..=299).contains(&reply.status) => Some(0),
            _ => used,
        };
        self.counters.count_tokens(used.unwrap_or(estimate));
        permit.close(used);
        reply
    }
}

/// Returns what a status other than success means, and the pause that the server asks for.
fn read_status(reply: HttpReply) -> (CallFailure, Option<Duration>) {
    let reason = match reply.status {
        300..=399 => LabelFailure::Redirected,
        429 => LabelFailure::RateLimited,
        400..=499 => LabelFailure::Refused,
        // 501 says that a feature is missing; asking again does not help.
        501 => LabelFailure::Refused,
        _ => LabelFailure::ServerError,
    };
    let message = String::from_utf8_lossy(&reply.body).chars().take(2000).collect();
    (CallFailure { reason, status: Some(reply.status), message }, reply.retry_after)
}
