//! How a labeler's server is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a labeler's server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionOptions {
    /// The base address, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The environment variable that holds the key of the server, which is sent as a bearer token.
    pub key_variable: Option<String>,
    /// The time for a whole inquiry: waiting, retries and pauses included.
    pub timeout: Duration,
    /// How often a request is sent again.
    pub retries: u32,
    /// Requests in flight at once.
    pub concurrency: usize,
    /// The largest reply in bytes.
    pub max_reply: u64,
    /// The address of an HTTP proxy. Proxies that the environment names are ignored.
    pub proxy: Option<String>,
    /// A file of certificates in PEM that replaces those of the system, for servers with a private authority.
    pub root_certificates: Option<PathBuf>,
    /// Whether a server that does not answer is not asked for a while, for callers that cannot wait each time.
    pub breaks_circuit: bool,
}

impl ConnectionOptions {
    /// Returns the options for a base address: two seconds, two retries, four requests in flight, replies up to 1 MiB.
    pub fn new(url: impl Into<String>) -> ConnectionOptions {
        ConnectionOptions {
            url: url.into(),
            key_variable: None,
            timeout: Duration::from_secs(2),
            retries: 2,
            concurrency: 4,
            max_reply: 1 << 20,
            proxy: None,
            root_certificates: None,
            breaks_circuit: false,
        }
    }

    /// Sets the environment variable that holds the key.
    #[must_use]
    pub fn key_variable(mut self, name: impl Into<String>) -> ConnectionOptions {
        self.key_variable = Some(name.into());
        self
    }

    /// Sets the time for a whole inquiry.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> ConnectionOptions {
        self.timeout = timeout;
        self
    }

    /// Sets how often a request is sent again.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> ConnectionOptions {
        self.retries = retries;
        self
    }

    /// Sets how many requests are in flight at once.
    #[must_use]
    pub fn concurrency(mut self, requests: usize) -> ConnectionOptions {
        self.concurrency = requests;
        self
    }

    /// Sets the largest reply in bytes.
    #[must_use]
    pub fn max_reply(mut self, bytes: u64) -> ConnectionOptions {
        self.max_reply = bytes;
        self
    }

    /// Sets the proxy.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> ConnectionOptions {
        self.proxy = Some(url.into());
        self
    }

    /// Sets whether a server that does not answer is not asked for a while.
    #[must_use]
    pub fn breaks_circuit(mut self, breaks: bool) -> ConnectionOptions {
        self.breaks_circuit = breaks;
        self
    }

    /// Sets the file of certificates of authorities.
    #[must_use]
    pub fn root_certificates(mut self, file: impl Into<PathBuf>) -> ConnectionOptions {
        self.root_certificates = Some(file.into());
        self
    }
}

/// Why a labeler cannot be made of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelerError {
    message: String,
}

impl LabelerError {
    pub(crate) fn new(message: impl Into<String>) -> LabelerError {
        LabelerError { message: message.into() }
    }
}

impl fmt::Display for LabelerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LabelerError {}
