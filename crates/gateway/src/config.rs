//! The configuration of a gateway: addresses, tenants, limits.

mod section;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;
use lictor_wire::UnknownFields;

use crate::identity::{KeyHash, SessionSource};
pub use section::ConfigErrors;

/// The configuration of a gateway.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The address it listens at.
    pub listen: SocketAddr,
    /// Its TLS certificate and private key, both in PEM; without them it serves plain HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The model's address: scheme, host, and a path prefix for every request.
    pub upstream: Uri,
    /// The address for Anthropic Messages, if it differs.
    pub messages_upstream: Option<Uri>,
    /// Root certificates for the upstream, in PEM, instead of those of the system.
    pub upstream_ca: Option<PathBuf>,
    /// The tenant for each hash of a credential. Credentials without an entry share one tenant.
    pub tenants: BTreeMap<KeyHash, String>,
    /// Whether credentials without an entry are refused.
    pub known_only: bool,
    /// The hashes of the keys for the control endpoints under `/lictor/`; without any, those endpoints are disabled.
    pub control_keys: Vec<KeyHash>,
    /// Paths that are forwarded unjudged, besides the known ones; `*` matches any characters.
    pub forward: Vec<String>,
    /// Whether everything is judged and recorded but forwarded unchanged (shadow mode).
    pub shadow: bool,
    /// What may name a session besides ids that are meant for it, in this order.
    pub session_from: Vec<SessionSource>,
    /// What happens to fields of replies that Lictor does not know.
    pub unknown_fields: UnknownFields,
    /// The address of the OTLP collector for spans, JSON over HTTP, such as `http://127.0.0.1:4318`.
    pub collector: Option<Uri>,
    /// Bounds on everything that comes from outside.
    pub limits: GatewayLimits,
}

/// Bounds on everything that comes from outside.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GatewayLimits {
    /// The largest body of a request, and of an answer that is judged as a whole, in bytes.
    pub body: usize,
    /// How many times larger than its compressed form a body may be.
    pub inflation: usize,
    /// Concurrent connections; more wait to be accepted.
    pub connections: usize,
    /// Exchanges in flight; more are answered with 503.
    pub exchanges: usize,
    /// Sessions in memory if the store is private; beyond that, those that were idle longest end.
    pub sessions: usize,
    /// Items of a session that are remembered by their hashes.
    pub items: usize,
    /// Bytes of text of one event that is judged. Media does not count.
    pub text: usize,
    /// Calls of one reply.
    pub calls: usize,
    /// Bytes of all bodies in flight together; more are answered with 503.
    pub bytes_in_flight: usize,
    /// Bytes of a stream that are buffered until they are decided on.
    pub held: usize,
    /// Bytes at the end of streamed text that are held back, since a chunk may end within a word.
    pub hold_back: usize,
    /// How often a model is asked again after all calls of its reply were denied.
    pub corrections: usize,
    /// How often that may happen in one session.
    pub session_corrections: usize,
    /// Timeout for the head of a request.
    pub head: Duration,
    /// Timeout between requests of a connection.
    pub idle: Duration,
    /// Timeout for the next bytes of a request body.
    pub body_idle: Duration,
    /// Timeout for a client that reads nothing.
    pub write: Duration,
    /// Timeout for connecting to the upstream.
    pub connect: Duration,
    /// Timeout for the upstream to begin its answer, and for its next bytes.
    pub answer: Duration,
    /// How long a call that waits for a reviewer keeps its exchange open.
    pub approval: Duration,
    /// How long the gateway still serves, though not ready, when it is to stop.
    pub grace: Duration,
    /// How long exchanges in flight may then take to finish.
    pub drain: Duration,
}

impl Default for GatewayLimits {
    fn default() -> GatewayLimits {
        GatewayLimits {
            body: 32 << 20,
            inflation: 100,
            connections: 10_000,
            exchanges: 4096,
            sessions: 100_000,
            items: 20_000,
            text: 1 << 20,
            calls: 256,
            bytes_in_flight: 512 << 20,
            held: 16 << 20,
            hold_back: 256,
            corrections: 2,
            session_corrections: 20,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_idle: Duration::from_secs(30),
            write: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(600),
            approval: Duration::ZERO,
            grace: Duration::ZERO,
            drain: Duration::from_secs(10),
        }
    }
}

impl Config {
    /// Returns the default configuration for an upstream.
    pub fn new(upstream: Uri) -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            tls: None,
            upstream,
            messages_upstream: None,
            upstream_ca: None,
            tenants: BTreeMap::new(),
            known_only: false,
            control_keys: Vec::new(),
            forward: Vec::new(),
            shadow: false,
            session_from: Vec::new(),
            unknown_fields: UnknownFields::default(),
            collector: None,
            limits: GatewayLimits::default(),
        }
    }
}
