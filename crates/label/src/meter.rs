//! What labelers do, counted: questions, requests, failures by reason, tokens.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lictor_event::{Answer, AnswerValue};

/// Why a labeler did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelFailure {
    /// The time of the inquiry was over.
    Timeout,
    /// No connection, or one that broke.
    Unreachable,
    /// The server limits the rate (429), and the retries or the time were used up.
    RateLimited,
    /// The server failed (5xx), also when it was asked again.
    ServerError,
    /// The server refused the request (4xx).
    Refused,
    /// The server pointed elsewhere (3xx); labelers follow no redirect.
    Redirected,
    /// The reply was over the limit of its size.
    TooLarge,
    /// The budget is spent.
    OverBudget,
    /// The system gave no random numbers, without which no request is safe.
    NoRandomness,
    /// The server did not answer before, so it is not asked for a while.
    CircuitOpen,
}

impl LabelFailure {
    const ALL: [LabelFailure; 10] = [
        LabelFailure::Timeout,
        LabelFailure::Unreachable,
        LabelFailure::RateLimited,
        LabelFailure::ServerError,
        LabelFailure::Refused,
        LabelFailure::Redirected,
        LabelFailure::TooLarge,
        LabelFailure::OverBudget,
        LabelFailure::NoRandomness,
        LabelFailure::CircuitOpen,
    ];

    /// Returns its name, as counters show it.
    pub fn name(self) -> &'static str {
        match self {
            LabelFailure::Timeout => "timeout",
            LabelFailure::Unreachable => "unreachable",
            LabelFailure::RateLimited => "rate_limited",
            LabelFailure::ServerError => "server_error",
            LabelFailure::Refused => "refused",
            LabelFailure::Redirected => "redirected",
            LabelFailure::TooLarge => "too_large",
            LabelFailure::OverBudget => "over_budget",
            LabelFailure::NoRandomness => "no_randomness",
            LabelFailure::CircuitOpen => "circuit_open",
        }
    }
}

impl fmt::Display for LabelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why the answers of a reply that does not parse are unclear.
pub(crate) const UNREAD_REPLY: &str = "unread_reply";

/// Why the answers of a reply with a wrong answer to a control question are unclear.
pub(crate) const WRONG_CONTROL: &str = "wrong_control";

/// Counters of a labeler; its budget counts there too, a cache has its own.
#[derive(Debug, Default)]
pub struct LabelCounters {
    asked: AtomicU64,
    cached: AtomicU64,
    requests: AtomicU64,
    retries: AtomicU64,
    tokens: AtomicU64,
    wrong_controls: AtomicU64,
    unread_replies: AtomicU64,
    unclear: AtomicU64,
    store_errors: AtomicU64,
    is_circuit_open: AtomicBool,
    failed: [AtomicU64; LabelFailure::ALL.len()],
}

/// The counts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelCounts {
    /// Questions that reached the labeler, or the cache if these are its counters.
    pub asked: u64,
    /// Those that the cache answered.
    pub cached: u64,
    /// HTTP requests, retries among them.
    pub requests: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Tokens that the endpoint reports, of prompts and answers; estimated where it reports none.
    pub tokens: u64,
    /// Replies with a wrong answer to a control question.
    pub wrong_controls: u64,
    /// Replies that do not parse.
    pub unread_replies: u64,
    /// Questions whose answer is unclear, for whatever reason.
    pub unclear: u64,
    /// Answers that the store of the cache could not read or write.
    pub store_errors: u64,
    /// Whether the server is not asked at the moment, because it did not answer before.
    pub is_circuit_open: bool,
    failed: [u64; LabelFailure::ALL.len()],
}

impl LabelCounts {
    /// Returns the number of questions that failed for a reason.
    pub fn failed(&self, reason: LabelFailure) -> u64 {
        self.failed[reason as usize]
    }

    /// Returns the reasons with at least one failed question, and their numbers.
    pub fn failures(&self) -> impl Iterator<Item = (LabelFailure, u64)> + '_ {
        LabelFailure::ALL.into_iter().map(|reason| (reason, self.failed(reason))).filter(|(_, count)| *count > 0)
    }
}

impl LabelCounters {
    /// Returns the counts now.
    pub fn read(&self) -> LabelCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LabelCounts {
            asked: read(&self.asked),
            cached: read(&self.cached),
            requests: read(&self.requests),
            retries: read(&self.retries),
            tokens: read(&self.tokens),
            wrong_controls: read(&self.wrong_controls),
            unread_replies: read(&self.unread_replies),
            unclear: read(&self.unclear),
            store_errors: read(&self.store_errors),
            is_circuit_open: self.is_circuit_open.load(Ordering::Relaxed),
            failed: std::array::from_fn(|place| read(&self.failed[place])),
        }
    }

    pub(crate) fn count_asked(&self, questions: usize) {
        self.asked.fetch_add(questions as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_cached(&self, questions: usize) {
        self.cached.fetch_add(questions as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_request(&self, is_retry: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.retries.fetch_add(u64::from(is_retry), Ordering::Relaxed);
    }

    pub(crate) fn count_tokens(&self, tokens: u64) {
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    pub(crate) fn count_wrong_control(&self) {
        self.wrong_controls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_unread_reply(&self) {
        self.unread_replies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_unclear(&self, answers: &[Answer]) {
        let unclear = answers.iter().filter(|answer| answer.says == AnswerValue::Unclear).count();
        self.unclear.fetch_add(unclear as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_circuit_open(&self, is_open: bool) {
        self.is_circuit_open.store(is_open, Ordering::Relaxed);
    }

    pub(crate) fn count_store_error(&self) {
        self.store_errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_failed(&self, reason: LabelFailure, questions: usize) {
        self.failed[reason as usize].fetch_add(questions as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_counters_have_places_of_their_own() {
        let counters = LabelCounters::default();
        for (place, reason) in LabelFailure::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place, "{reason}");
            counters.count_failed(reason, place + 1);
        }
        let counts = counters.read();
        let found: Vec<u64> = counts.failures().map(|(_, count)| count).collect();
        assert_eq!(found, (1..=LabelFailure::ALL.len() as u64).collect::<Vec<_>>());
    }
}
