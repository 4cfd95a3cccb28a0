//! How a gateway works: where it listens, to whom it speaks, what it bears.

mod section;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;

use crate::identity::KeyHash;
pub use section::ConfigErrors;

/// How a gateway works.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The certificate and the key it shows, both in PEM; without them it speaks plain HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The model's address: scheme, host, and a path that every request is put behind.
    pub upstream: Uri,
    /// The address for Anthropic Messages, where it is another.
    pub messages_upstream: Option<Uri>,
    /// Certificates that the upstream may be known by, in PEM, instead of those of the system.
    pub upstream_ca: Option<PathBuf>,
    /// Whose keys are whose: a tenant for each hash of a credential. Credentials without an entry share one tenant.
    pub tenants: BTreeMap<KeyHash, String>,
    /// Whether credentials without an entry are refused.
    pub known_only: bool,
    /// The hashes of the keys that open the endpoints under `/lictor/`; without any, those endpoints are closed.
    pub control_keys: Vec<KeyHash>,
    /// Paths that are forwarded unjudged, beside the known ones; `*` stands for any characters.
    pub forward: Vec<String>,
    /// Whether nothing is stopped: everything is judged and written down, and goes on as it came.
    pub shadow: bool,
    /// Where spans go: the address of an OTLP collector that takes JSON over HTTP, such as `http://127.0.0.1:4318`.
    pub collector: Option<Uri>,
    /// Bounds on everything that comes from outside.
    pub limits: GatewayLimits,
}

/// Bounds on everything that comes from outside.
#[derive(Clone, Copy, Debug)]
pub struct GatewayLimits {
    /// The largest body of a request, and of an answer that is judged as a whole, in bytes.
    pub body: usize,
    /// How many times larger than its compressed form a body may be.
    pub inflation: usize,
    /// Connections at once; more wait to be accepted.
    pub connections: usize,
    /// Exchanges at once; more are told to come again.
    pub exchanges: usize,
    /// Items of a session that are remembered by their hashes.
    pub items: usize,
    /// Bytes of a stream that are held until they are decided on.
    pub held: usize,
    /// Bytes of text at the end of what has come that are held back, for what is cut by the border of a chunk.
    pub hold_back: usize,
    /// For the head of a request.
    pub head: Duration,
    /// Between requests of a connection.
    pub idle: Duration,
    /// For the next bytes of a body, in either direction.
    pub body_idle: Duration,
    /// For a client to take what is written.
    pub write: Duration,
    /// For the upstream to accept a connection.
    pub connect: Duration,
    /// For the upstream to begin its answer.
    pub answer: Duration,
    /// How long a call that waits for a person keeps its exchange open.
    pub approval: Duration,
    /// For exchanges under way when the gateway is told to end.
    pub drain: Duration,
}

impl Default for GatewayLimits {
    fn default() -> GatewayLimits {
        GatewayLimits {
            body: 32 << 20,
            inflation: 100,
            connections: 10_000,
            exchanges: 4096,
            items: 20_000,
            held: 16 << 20,
            hold_back: 256,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_idle: Duration::from_secs(30),
            write: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(600),
            approval: Duration::ZERO,
            drain: Duration::from_secs(10),
        }
    }
}

impl Config {
    /// A gateway to an upstream, as it is by default.
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
            collector: None,
            limits: GatewayLimits::default(),
        }
    }
}
