//! Which session a response belongs to, for requests that continue a response which the vendor keeps.
//!
//! Such a request has neither an id of its own nor a history. A response that is not known here, since it is old or from
//! before a restart, is continued in the session of the caller: too much is together then, never too little.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The most responses that are remembered.
const MAX_RESPONSES: usize = 100_000;

/// The sessions of responses.
#[derive(Debug, Default)]
pub struct Continuations(Mutex<ResponseSessions>);

#[derive(Debug, Default)]
struct ResponseSessions {
    sessions: HashMap<String, String>,
    /// The responses in the order in which they came.
    order: VecDeque<String>,
}

impl Continuations {
    /// Returns the session of a response.
    pub fn session(&self, response: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sessions.get(response).cloned()
    }

    /// Remembers the session of a response.
    pub fn add(&self, response: String, session: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.sessions.insert(response.clone(), session.to_owned()).is_none() {
            known.order.push_back(response);
        }
        while known.order.len() > MAX_RESPONSES
            && let Some(oldest) = known.order.pop_front()
        {
            known.sessions.remove(&oldest);
        }
    }
}
