//! Which session a response belongs to, for requests that continue a response which the vendor keeps.
//!
//! Such a request has neither an id of its own nor a history. A response that is not known here, since it is old or from
//! before a restart, is continued in the session of the caller: too much is together then, never too little.
//!
//! Some servers use an id of a response twice. So a request that names its principal never continues a response of another
//! principal.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The most responses that are remembered.
const MAX_RESPONSES: usize = 100_000;

/// The sessions of responses.
#[derive(Debug, Default)]
pub struct Continuations(Mutex<ResponseSessions>);

#[derive(Debug, Default)]
struct ResponseSessions {
    sessions: HashMap<ResponseKey, String>,
    /// The keys in the order in which they came.
    order: VecDeque<ResponseKey>,
}

/// A response, and the requests that may continue it.
type ResponseKey = (String, Continuing);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Continuing {
    /// Those of the principal of the response.
    Principal(String),
    /// Those of all principals: the response has none.
    All,
    /// Those that name no principal.
    Unnamed,
}

impl Continuations {
    /// Returns the session of a response that a request of this principal continues.
    pub fn session(&self, response: &str, principal: Option<&str>) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |continuing: Continuing| known.sessions.get(&(response.to_owned(), continuing)).cloned();
        let own = principal.map_or(Continuing::Unnamed, |name| Continuing::Principal(name.to_owned()));
        find(own).or_else(|| find(Continuing::All))
    }

    /// Remembers the session of a response to a request of this principal.
    pub fn add(&self, response: &str, principal: Option<&str>, session: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = principal.map_or(Continuing::All, |name| Continuing::Principal(name.to_owned()));
        for continuing in [own, Continuing::Unnamed] {
            let key = (response.to_owned(), continuing);
            if known.sessions.insert(key.clone(), session.to_owned()).is_none() {
                known.order.push_back(key);
            }
        }
        while known.order.len() > 2 * MAX_RESPONSES
            && let Some(oldest) = known.order.pop_front()
        {
            known.sessions.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuation_stays_with_its_principal() {
        let known = Continuations::default();
        known.add("resp", Some("ann"), "of-ann");
        known.add("resp", Some("bob"), "of-bob");
        known.add("open", None, "of-all");
        let session = |response: &str, principal: Option<&str>| known.session(response, principal);
        assert_eq!(session("resp", Some("ann")).as_deref(), Some("of-ann"), "the server used the id twice");
        assert_eq!(session("resp", Some("bob")).as_deref(), Some("of-bob"));
        assert_eq!(session("resp", Some("eve")), None);
        assert_eq!(session("resp", None).as_deref(), Some("of-bob"), "a request that names no principal");
        assert_eq!(session("open", Some("ann")).as_deref(), Some("of-all"), "a response without a principal");
        assert_eq!(session("open", None).as_deref(), Some("of-all"));
    }
}
