//! Asks the upstream for several replies at once, none of which reaches the client as it is.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use lictor_exchange::StepResult;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::body;
use crate::bytes_in_flight::HeldBytes;
use crate::exchange::{HttpExchange, disconnected};
use crate::gateway::Gateway;
use crate::upstream;

/// How many requests of one exchange are in flight at once, apart from the client's own.
const MAX_PARALLEL_CALLS: usize = 8;

/// A request to the upstream, without its body.
#[derive(Clone)]
struct CallHead {
    gateway: Arc<Gateway>,
    address: Uri,
    method: Method,
    path: String,
    headers: HeaderMap,
    held: Arc<HeldBytes>,
}

impl CallHead {
    /// Returns the whole reply to a request, decompressed; none if there is none to judge.
    async fn ask(mut self, bytes: Bytes) -> Option<Bytes> {
        let limits = self.gateway.config.limits;
        self.headers.insert("content-length", HeaderValue::from(bytes.len()));
        let upstream = &self.gateway.upstream;
        let response = upstream.ask(&self.address, self.method, &self.path, self.headers, bytes).await.ok()?;
        let (head, body) = response.into_parts();
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = header("content-type").trim().to_ascii_lowercase();
        let is_stream = content_type.starts_with("text/event-stream");
        if head.status != StatusCode::OK || is_stream || body::has_other_charset(&content_type) {
            return None;
        }
        let (bytes, read) = body::read(body, limits.body, limits.answer, &self.held).await;
        read.ok()?;
        body::unpack(header("content-encoding"), &bytes, limits.body, limits.inflation).ok()
    }
}

impl HttpExchange {
    /// Sends several requests to the upstream, some of them at once, and returns their replies in order. They stop if the
    /// client disconnects, or after `wait`.
    pub(super) async fn ask_all(&mut self, requests: Vec<Bytes>, wait: Option<Duration>) -> StepResult {
        let begun = Instant::now();
        let until = wait.and_then(|wait| begun.checked_add(wait));
        let head = CallHead {
            gateway: Arc::clone(&self.gateway),
            address: self.upstream_address().clone(),
            method: self.head.method.clone(),
            path: self.head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            headers: upstream::request_headers(&self.head.headers),
            held: Arc::clone(&self.held),
        };
        let mut bodies: Vec<Option<Bytes>> = vec![None; requests.len()];
        let mut waiting = requests.into_iter().enumerate();
        let mut calls = JoinSet::new();
        let mut is_interrupted = false;
        loop {
            while calls.len() < MAX_PARALLEL_CALLS
                && let Some((place, request)) = waiting.next()
            {
                self.account.sent_up.fetch_add(request.len() as u64, Ordering::Relaxed);
                let head = head.clone();
                calls.spawn(async move { (place, head.ask(request).await) });
            }
            let joined = tokio::select! {
                biased;
                // Dropping the calls closes their connections.
                () = disconnected(&mut self.client, self.pieces.as_ref()) => {
                    is_interrupted = true;
                    break;
                }
                joined = calls.join_next() => joined,
                () = wait_until(until) => break,
            };
            let Some(joined) = joined else { break };
            // A call that panicked has no reply.
            let Ok((place, body)) = joined else { continue };
            self.account.got.fetch_add(body.as_ref().map_or(0, Bytes::len) as u64, Ordering::Relaxed);
            if let Some(place) = bodies.get_mut(place) {
                *place = body;
            }
        }
        StepResult::Replies { bodies, elapsed: begun.elapsed(), is_interrupted }
    }
}

/// Waits until a time; without one, for ever.
async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
