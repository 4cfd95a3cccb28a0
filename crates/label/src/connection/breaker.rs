//! A circuit breaker: a server that does not answer is not asked for a while.
//!
//! After some failures in a row the circuit is open, and every call fails at once. When the pause is over, one call tries
//! the server. If that fails as well, the next pause is twice as long.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many calls in a row fail before the circuit opens.
const MAX_FAILURES: u32 = 3;

/// The first pause, and the longest.
const MIN_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// A circuit breaker for one server.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    /// How often a pause has begun since the last success.
    pauses: u32,
    /// When the next call may try the server, if the circuit is open.
    open_until: Option<Instant>,
}

impl BreakerState {
    fn pause(&mut self, now: Instant) {
        let pause = MIN_PAUSE.saturating_mul(2_u32.saturating_pow(self.pauses)).min(MAX_PAUSE);
        self.pauses += 1;
        self.open_until = now.checked_add(pause);
    }
}

impl Breaker {
    /// Whether a call may be made now. Of the calls after a pause only the first may.
    pub(crate) fn admit(&self, now: Instant) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open_until {
            Some(until) if now < until => false,
            Some(_) => {
                state.pause(now);
                true
            }
            None => true,
        }
    }

    /// Notes how a call ended. Returns whether the circuit is open now.
    pub(crate) fn note(&self, is_answered: bool, now: Instant) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_answered {
            *state = BreakerState::default();
            return false;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= MAX_FAILURES && state.open_until.is_none() {
            state.pause(now);
        }
        state.open_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[test]
    fn breaker_opens_after_failures_and_tries_again() {
        let (breaker, begun) = (Breaker::default(), now());
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        assert!(!breaker.note(false, at(0)) && !breaker.note(false, at(0)));
        assert!(breaker.admit(at(0)), "two failures are not enough");
        assert!(breaker.note(false, at(0)));
        assert!(!breaker.admit(at(4)));
        assert!(breaker.admit(at(5)), "one call tries the server");
        assert!(!breaker.admit(at(5)), "the others do not");
        assert!(breaker.note(false, at(7)));
        assert!(!breaker.admit(at(14)), "the second pause is longer");
        assert!(breaker.admit(at(15)));
        assert!(!breaker.note(true, at(15)));
        assert!(breaker.admit(at(15)) && breaker.admit(at(15)));
        assert!(!breaker.note(false, at(16)), "failures are counted anew");
    }
}
