//! The requests that were read last, since most requests begin like an earlier one of their conversation.
//!
//! The reading of a request depends on its bytes alone, so any earlier request would do, and none changes a result. But
//! callers with different credentials share nothing here: how long a reading takes must not tell one of them what another
//! has sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use lictor_wire::Request;
use tokio::time::Instant;

use crate::identity::{Caller, session_bytes};

/// How many bytes a generation keeps, roughly, and for how long.
const MAX_GENERATION_BYTES: usize = 32 << 20;
const MAX_GENERATION_TIME: Duration = Duration::from_secs(300);

/// How many requests of one caller are kept, where no header tells its conversations apart.
const MAX_CANDIDATES: usize = 8;

/// The name of a conversation as far as the head of a request tells it: the credential and the session's id.
pub(crate) type ConversationKey = Vec<u8>;

/// The requests that were read last, in two generations: a request is dropped when its generation is the older one and
/// another begins.
#[derive(Debug)]
pub(crate) struct RecentRequests(Mutex<Generations>);

#[derive(Debug)]
struct Generations {
    young: HashMap<ConversationKey, Vec<Arc<Request>>>,
    old: HashMap<ConversationKey, Vec<Arc<Request>>>,
    /// How many bytes the young generation keeps, and when it began.
    bytes: usize,
    begun: Instant,
}

impl Default for RecentRequests {
    fn default() -> RecentRequests {
        let (young, old) = (HashMap::new(), HashMap::new());
        RecentRequests(Mutex::new(Generations { young, old, bytes: 0, begun: Instant::now() }))
    }
}

impl RecentRequests {
    /// Returns the key of a request.
    pub(crate) fn key(caller: &Caller, headers: &HeaderMap) -> ConversationKey {
        [caller.credential.as_bytes(), session_bytes(headers)].concat()
    }

    /// Returns the request that shares the most bytes with a body, if one shares a message.
    pub(crate) fn find(&self, key: &ConversationKey, body: &[u8]) -> Option<Arc<Request>> {
        // Long bodies are compared without the lock.
        let shared = self.candidates(key).into_iter().map(|request| (request.shared_length(body), request));
        let (length, longest) = shared.max_by_key(|(length, _)| *length)?;
        (length > 0).then_some(longest)
    }

    fn candidates(&self, key: &ConversationKey) -> Vec<Arc<Request>> {
        let generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = [&generations.young, &generations.old].into_iter().filter_map(|requests| requests.get(key));
        known.flatten().cloned().collect()
    }

    /// Adds a request in the place of an earlier one that it continues.
    pub(crate) fn add(&self, key: ConversationKey, request: Arc<Request>, earlier: Option<&Arc<Request>>) {
        // A whole generation takes long to drop, so that is done without the lock.
        drop(self.replace(key, request, earlier));
    }

    /// Adds a request, and returns the requests that are dropped.
    fn replace(
        &self,
        key: ConversationKey,
        request: Arc<Request>,
        earlier: Option<&Arc<Request>>,
    ) -> HashMap<ConversationKey, Vec<Arc<Request>>> {
        let mut dropped = HashMap::new();
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = request.size() + key.len();
        if size > MAX_GENERATION_BYTES {
            return dropped;
        }
        let Generations { young, old, bytes, begun } = &mut *generations;
        if *bytes + size > MAX_GENERATION_BYTES || begun.elapsed() > MAX_GENERATION_TIME {
            dropped = std::mem::replace(old, std::mem::take(young));
            (*bytes, *begun) = (0, Instant::now());
        }
        let requests = young.entry(key).or_default();
        let before = requests.iter().map(|request| request.size()).sum::<usize>();
        requests.retain(|known| earlier.is_none_or(|earlier| !Arc::ptr_eq(known, earlier)));
        requests.push(request);
        let surplus = requests.len().saturating_sub(MAX_CANDIDATES);
        requests.drain(..surplus);
        let after = requests.iter().map(|request| request.size()).sum::<usize>();
        *bytes = bytes.saturating_sub(before) + after;
        dropped
    }
}

#[cfg(test)]
mod tests {
    use lictor_wire::Api;

    use super::*;

    fn request(texts: &[&str]) -> (Vec<u8>, Arc<Request>) {
        let message = |text: &&str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}");
        let messages: Vec<String> = texts.iter().map(message).collect();
        let body = format!("{{\"messages\":[{}]}}", messages.join(",")).into_bytes();
        let request = Request::read(Api::Chat, &body).unwrap();
        (body, Arc::new(request))
    }

    #[test]
    fn recent_request_with_longest_beginning_is_found() {
        let recent = RecentRequests::default();
        let key = || b"one".to_vec();
        let (short, long) = (request(&["a"]).1, request(&["a", "b"]).1);
        recent.add(key(), Arc::clone(&short), None);
        recent.add(key(), Arc::clone(&long), None);
        assert!(Arc::ptr_eq(&recent.find(&key(), &request(&["a", "b", "c"]).0).unwrap(), &long));
        assert!(recent.find(&key(), &request(&["x", "b"]).0).is_none(), "no message is shared");
        assert!(recent.find(&b"two".to_vec(), &request(&["a"]).0).is_none(), "another caller");
        recent.add(key(), request(&["a", "b", "c"]).1, Some(&long));
        assert_eq!(recent.0.lock().unwrap().young[&key()].len(), 2, "the longer one takes its place");
    }

    #[test]
    fn recent_requests_are_bounded() {
        let recent = RecentRequests::default();
        let long = "x".repeat(1 << 20);
        for number in 0..100 {
            recent.add(vec![number], request(&[&long]).1, None);
        }
        let generations = recent.0.lock().unwrap();
        assert!(generations.bytes <= MAX_GENERATION_BYTES);
        assert!(generations.young.len() + generations.old.len() < 30, "{}", generations.young.len());
        assert!(generations.young.contains_key(&vec![99]));
        drop(generations);
        let huge = "x".repeat(MAX_GENERATION_BYTES);
        recent.add(vec![100], request(&[&huge]).1, None);
        assert!(recent.candidates(&vec![100]).is_empty());
        assert_eq!(recent.candidates(&vec![99]).len(), 1, "a request that is too large takes no room from others");
    }

    #[test]
    fn recent_requests_of_one_key_are_few() {
        let recent = RecentRequests::default();
        for number in 0..100 {
            recent.add(Vec::new(), request(&[&number.to_string()]).1, None);
        }
        assert_eq!(recent.0.lock().unwrap().young[&Vec::new()].len(), MAX_CANDIDATES);
    }
}
