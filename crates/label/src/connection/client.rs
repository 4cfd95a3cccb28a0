//! The HTTP client: one address, JSON in and out, everything bounded.

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{HeaderValue, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

use super::options::{ConnectionOptions, LabelerError};
use crate::meter::LabelFailure;

/// A client of one address.
pub(super) struct HttpClient {
    agent: Agent,
    uri: Uri,
    key: Option<HeaderValue>,
    max_reply: u64,
}

/// A reply with any status.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    /// The pause that the server asks for, in whole seconds. A date is not read.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl fmt::Debug for HttpClient {
    /// Leaves out the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl HttpClient {
    pub(super) fn new(options: &ConnectionOptions, path: &str) -> Result<HttpClient, LabelerError> {
        let uri = read_address(&options.url, path)?;
        let key = options.key_variable.as_deref().map(read_key).transpose()?;
        let proxy = match &options.proxy {
            None => None,
            Some(url) => {
                // The address may have a password, so the message does not repeat it.
                let wrong = || LabelerError::new("the proxy is no address; write it such as `http://proxy:3128`");
                Some(Proxy::new(url).map_err(|_| wrong())?)
            }
        };
        let mut config = Agent::config_builder()
            .proxy(proxy)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent("lictor")
            .max_idle_connections_per_host(options.concurrency.max(1));
        if uri.scheme_str() == Some("https") {
            config = config.tls_config(configure_tls(options)?);
        }
        Ok(HttpClient { agent: config.build().new_agent(), uri, key, max_reply: options.max_reply })
    }

    /// Posts a JSON text, and reads the reply within the time.
    pub(super) fn post(&self, body: &str, timeout: Duration) -> Result<HttpReply, LabelFailure> {
        let mut request = self.agent.post(self.uri.clone()).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", key.clone());
        }
        let response = request.config().timeout_global(Some(timeout)).build().send(body);
        let mut response = response.map_err(|error| read_error(&error))?;
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // One byte more than the limit shows that there is more.
        let mut reader = response.body_mut().as_reader().take(self.max_reply.saturating_add(1));
        if let Err(error) = reader.read_to_end(&mut body) {
            return Err(read_error(&ureq::Error::from(error)));
        }
        if body.len() as u64 > self.max_reply {
            return Err(LabelFailure::TooLarge);
        }
        Ok(HttpReply { status, retry_after, body })
    }
}

fn read_error(error: &ureq::Error) -> LabelFailure {
    match error {
        ureq::Error::Timeout(_) => LabelFailure::Timeout,
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => LabelFailure::Timeout,
        ureq::Error::RedirectFailed | ureq::Error::TooManyRedirects => LabelFailure::Redirected,
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) => LabelFailure::TooLarge,
        _ => LabelFailure::Unreachable,
    }
}

fn read_address(url: &str, path: &str) -> Result<Uri, LabelerError> {
    let wrong =
        |why: &str| LabelerError::new(format!("address `{url}` {why}; write it such as `http://127.0.0.1:8080/v1`"));
    // Those with a password are not repeated in a message.
    if url.contains('@') {
        return Err(LabelerError::new(
            "an address with a user or a password is refused; name the environment variable that holds the key: `key: NAME`",
        ));
    }
    if url.contains(['?', '#']) {
        return Err(wrong("has a query or a fragment"));
    }
    let whole = format!("{}{path}", url.trim_end_matches('/'));
    let uri: Uri = whole.parse().map_err(|_| wrong("is no address"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(uri),
        _ => Err(wrong("does not begin with http:// or https:// and a host")),
    }
}

fn read_key(variable: &str) -> Result<HeaderValue, LabelerError> {
    let missing = || {
        LabelerError::new(format!(
            "the environment variable `{variable}` is not set or empty\nhint: set it to the key of the server, correct \
             its name in `key`, or leave out `key` if the server needs none"
        ))
    };
    let key = std::env::var(variable).map_err(|_| missing())?;
    if key.trim().is_empty() {
        return Err(missing());
    }
    let header = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
    let mut header = header
        .map_err(|_| LabelerError::new(format!("the key in `{variable}` has a character that no header may have")))?;
    header.set_sensitive(true);
    Ok(header)
}

fn configure_tls(options: &ConnectionOptions) -> Result<TlsConfig, LabelerError> {
    let certificates: Vec<Certificate<'static>> = match &options.root_certificates {
        None => {
            let found = rustls_native_certs::load_native_certs();
            found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
        }
        Some(file) => {
            let wrong = |error: String| LabelerError::new(format!("root certificates {}: {error}", file.display()));
            let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
            let items = ureq::tls::parse_pem(&text).collect::<Result<Vec<_>, _>>();
            let items = items.map_err(|error| wrong(error.to_string()))?;
            let certificate = |item| match item {
                PemItem::Certificate(certificate) => Some(certificate),
                _ => None,
            };
            items.into_iter().filter_map(certificate).collect()
        }
    };
    if certificates.is_empty() {
        return Err(LabelerError::new(
            "no certificates of authorities were found; name a file with `root_certificates`",
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_host_or_scheme_is_refused() {
        let read = |url| read_address(url, "/chat/completions").map(|uri| uri.to_string());
        assert_eq!(read("http://127.0.0.1:8080/v1/").unwrap(), "http://127.0.0.1:8080/v1/chat/completions");
        for url in ["", "127.0.0.1:8080", "ftp://a/v1", "http://", "http://a/v1?key=3", "/v1", "http://a b/"] {
            let message = read(url).unwrap_err().to_string();
            assert!(message.contains("http://127.0.0.1:8080/v1"), "{message}");
        }
        assert!(!read("http://me:secret@a/v1").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn key_variable_must_be_set() {
        let options = ConnectionOptions::new("http://127.0.0.1:1").key_variable("LICTOR_TEST_NO_SUCH_KEY");
        let message = HttpClient::new(&options, "").unwrap_err().to_string();
        assert!(message.contains("LICTOR_TEST_NO_SUCH_KEY") && message.contains("hint:"), "{message}");
    }
}
