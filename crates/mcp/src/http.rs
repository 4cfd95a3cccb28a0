//! A server that is reached by HTTP: one endpoint, requests by POST, answers as JSON or as a stream of events.
//!
//! Where the client sends comes from the operator and never from the request. What a client says in headers must be what
//! it says in the body. A session of the protocol has one [`Relay`]; a request that belongs to none has one of its own,
//! so that the ids of one client never meet those of another.

mod endpoint;
mod headers;
mod stream;
mod upstream;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use lictor_json::Text;
use lictor_logic::Time;
use lictor_warden::{RefusedInput, Warden};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::relay::{OutgoingMessage, Relay, RelayOptions};
use stream::Streamed;
use upstream::Upstream;

/// How long a client has to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// How many sessions there may be, and how many calls that a person is asked about.
const MOST: usize = 10_000;

/// A connection that several requests share.
type Shared = Arc<Mutex<Session>>;

/// What stands between clients and one server.
pub struct McpService {
    upstream: Upstream,
    terms: RelayOptions,
    warden: Mutex<Warden>,
    clock: fn() -> Time,
    note: fn(&str),
    /// Sessions of the older revisions, by the ids that the server gave them.
    sessions: Mutex<HashMap<String, Shared>>,
    /// Calls of the newer revisions that a person is asked about, by the state that the client sends back.
    asked: Mutex<HashMap<String, Shared>>,
    counted: Mutex<u64>,
    /// Digests that the operator approved, in every session.
    approved: Vec<String>,
    /// Hosts that a request may name beside those of this machine.
    hosts: Vec<String>,
}

/// A session of the protocol.
#[derive(Debug)]
struct Session {
    relay: Relay,
    /// Streams of calls that wait for a person, by the ids of their requests.
    parked: HashMap<Text, mpsc::UnboundedSender<OutgoingMessage>>,
}

impl std::fmt::Debug for McpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("upstream", &self.upstream.uri).finish_non_exhaustive()
    }
}

impl McpService {
    /// A service in front of a server, with definitions that the operator approved beforehand.
    pub fn new(
        upstream: Uri,
        terms: RelayOptions,
        hosts: Vec<String>,
        approved: Vec<String>,
        mut warden: Warden,
        clock: fn() -> Time,
        note: fn(&str),
    ) -> Result<McpService, String> {
        let begun = Relay::new(terms.clone()).approve(&mut warden, &approved, clock());
        begun.map_err(|error| error.to_string())?;
        Ok(McpService {
            upstream: Upstream::new(upstream)?,
            terms,
            warden: Mutex::new(warden),
            clock,
            note,
            sessions: Mutex::default(),
            asked: Mutex::default(),
            counted: Mutex::default(),
            approved,
            hosts,
        })
    }

    /// A request by itself. It belongs to the session that the operator named.
    fn alone(&self) -> Shared {
        Arc::new(Mutex::new(Session { relay: Relay::new(self.terms.clone()), parked: HashMap::new() }))
    }

    /// A session that begins; none if there are too many, or it cannot be written down.
    fn session(&self) -> Option<Shared> {
        let mut terms = self.terms.clone();
        {
            let mut counted = locked(&self.counted);
            *counted += 1;
            terms.session = format!("{}/{}", terms.session, *counted);
        }
        if locked(&self.sessions).len() >= MOST {
            return None;
        }
        let mut relay = Relay::new(terms);
        let approved =
            tokio::task::block_in_place(|| relay.approve(&mut locked(&self.warden), &self.approved, (self.clock)()));
        approved.ok()?;
        Some(Arc::new(Mutex::new(Session { relay, parked: HashMap::new() })))
    }

    fn client_sent(&self, session: &Shared, bytes: &[u8]) -> Vec<OutgoingMessage> {
        self.decided(|warden, now| locked(session).relay.client_sent(warden, bytes, now))
    }

    fn server_sent(&self, session: &Shared, bytes: &[u8]) -> Vec<OutgoingMessage> {
        self.decided(|warden, now| locked(session).relay.server_sent(warden, bytes, now))
    }

    fn refuse(&self, reason: &str, bytes: &[u8]) {
        self.decided(|warden, now| match warden.refuse(&RefusedInput::new(reason, bytes), Some(now)) {
            Ok(()) => Vec::new(),
            Err(error) => vec![OutgoingMessage::Note(format!("audit.unavailable: {error}"))],
        });
    }

    /// Decides: one after the other, and with the disk, so that other requests go on meanwhile.
    fn decided(&self, decide: impl FnOnce(&mut Warden, Time) -> Vec<OutgoingMessage>) -> Vec<OutgoingMessage> {
        let outs = tokio::task::block_in_place(|| decide(&mut locked(&self.warden), (self.clock)()));
        let (notes, outs): (Vec<OutgoingMessage>, Vec<OutgoingMessage>) =
            outs.into_iter().partition(|out| matches!(out, OutgoingMessage::Note(_)));
        for out in notes {
            if let OutgoingMessage::Note(text) = out {
                (self.note)(&text);
            }
        }
        outs
    }
}

/// Serves clients until the process ends.
pub async fn serve(service: Arc<McpService>, listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (connection, _) = listener.accept().await?;
        let service = Arc::clone(&service);
        drop(tokio::spawn(async move {
            let respond = service_fn(move |request: Request<Incoming>| {
                let service = Arc::clone(&service);
                async move { Ok::<Response<Streamed>, Infallible>(endpoint::respond(service, request).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD);
            // A client that breaks the protocol, or is gone, is no failure of ours.
            let _ = server.serve_connection(TokioIo::new(connection), respond).await;
        }));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of a body.
fn bytes(text: impl Into<Vec<u8>>) -> Bytes {
    Bytes::from(text.into())
}
