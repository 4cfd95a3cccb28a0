//! A server over HTTP: one endpoint, requests by POST, responses as JSON or as server-sent events.
//!
//! The operator configures the address of the server; requests cannot change it. The headers of a request must match
//! its body. Each session of the protocol has one [`Relay`]; a request without a session gets its own, so that the ids
//! of two clients never mix.

mod client_request;
mod endpoint;
mod headers;
mod in_flight;
mod response;
mod response_body;
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
use crate::tool_schemas::ToolSchemas;
use response_body::ResponseBody;
use upstream::Upstream;

/// How long a client has to send the headers of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The most sessions, and the most calls that wait for approval.
const MAX_SESSIONS: usize = 10_000;

/// A session that several requests share.
type SharedSession = Arc<Mutex<McpSession>>;

/// A proxy between clients and one server.
pub struct McpService {
    upstream: Upstream,
    options: RelayOptions,
    warden: Mutex<Warden>,
    clock: fn() -> Time,
    note: fn(&str),
    /// Sessions of older protocol revisions, by their ids from the server.
    sessions: Mutex<HashMap<String, SharedSession>>,
    /// Calls of newer revisions that wait for approval, by the state that the client sends back.
    pending: Mutex<HashMap<String, SharedSession>>,
    session_count: Mutex<u64>,
    /// Digests that the operator approved for every session.
    approved: Vec<String>,
    /// What the tools of the server take, for all sessions.
    schemas: ToolSchemas,
    /// Host names that a request may use besides those of this machine.
    hosts: Vec<String>,
}

/// A session of the protocol.
#[derive(Debug)]
struct McpSession {
    relay: Relay,
    /// Streams of calls that wait for approval, by the ids of their requests.
    parked: HashMap<Text, mpsc::UnboundedSender<OutgoingMessage>>,
}

impl std::fmt::Debug for McpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpService").field("upstream", &self.upstream.uri).finish_non_exhaustive()
    }
}

impl McpService {
    /// Returns a proxy for a server, with tool definitions that the operator has approved.
    pub fn new(
        upstream: Uri,
        options: RelayOptions,
        hosts: Vec<String>,
        approved: Vec<String>,
        mut warden: Warden,
        clock: fn() -> Time,
        note: fn(&str),
    ) -> Result<McpService, String> {
        let approved_before = Relay::new(options.clone()).approve(&mut warden, &approved, clock());
        approved_before.map_err(|error| error.to_string())?;
        Ok(McpService {
            upstream: Upstream::new(upstream)?,
            options,
            warden: Mutex::new(warden),
            clock,
            note,
            sessions: Mutex::default(),
            pending: Mutex::default(),
            session_count: Mutex::default(),
            approved,
            schemas: ToolSchemas::default(),
            hosts,
        })
    }

    /// Returns a session for one request. Its events belong to the session that the operator named.
    fn create_request_session(&self) -> SharedSession {
        Arc::new(Mutex::new(McpSession { relay: self.open_relay(self.options.clone()), parked: HashMap::new() }))
    }

    fn open_relay(&self, options: RelayOptions) -> Relay {
        Relay::new(options).with_schemas(self.schemas.clone())
    }

    /// Creates a session; none if there are too many or it cannot be recorded.
    fn create_session(&self) -> Option<SharedSession> {
        let mut options = self.options.clone();
        {
            let mut session_count = lock(&self.session_count);
            *session_count += 1;
            options.session = format!("{}/{}", options.session, *session_count);
        }
        if lock(&self.sessions).len() >= MAX_SESSIONS {
            return None;
        }
        let mut relay = self.open_relay(options);
        let approved =
            tokio::task::block_in_place(|| relay.approve(&mut lock(&self.warden), &self.approved, (self.clock)()));
        approved.ok()?;
        Some(Arc::new(Mutex::new(McpSession { relay, parked: HashMap::new() })))
    }

    fn client_sent(&self, session: &SharedSession, bytes: &[u8]) -> Vec<OutgoingMessage> {
        self.run_decision(|warden, now| lock(session).relay.client_sent(warden, bytes, now))
    }

    fn server_sent(&self, session: &SharedSession, bytes: &[u8]) -> Vec<OutgoingMessage> {
        self.run_decision(|warden, now| lock(session).relay.server_sent(warden, bytes, now))
    }

    fn refuse(&self, reason: &str, bytes: &[u8]) {
        self.run_decision(|warden, now| match warden.refuse(&RefusedInput::new(reason, bytes), Some(now)) {
            Ok(()) => Vec::new(),
            Err(error) => vec![OutgoingMessage::Note(format!("audit.unavailable: {error}"))],
        });
    }

    /// Runs a decision, one at a time. It may block on the disk, so other requests run on other threads meanwhile.
    fn run_decision(&self, decide: impl FnOnce(&mut Warden, Time) -> Vec<OutgoingMessage>) -> Vec<OutgoingMessage> {
        let outs = tokio::task::block_in_place(|| decide(&mut lock(&self.warden), (self.clock)()));
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
                async move { Ok::<Response<ResponseBody>, Infallible>(endpoint::respond(service, request).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADER_READ_TIMEOUT);
            // Protocol errors and disconnects of a client are not errors of the proxy.
            let _ = server.serve_connection(TokioIo::new(connection), respond).await;
        }));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the bytes of a body.
fn to_bytes(text: impl Into<Vec<u8>>) -> Bytes {
    Bytes::from(text.into())
}
