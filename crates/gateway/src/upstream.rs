//! Connections to the model, at the address of the configuration; no client can change it.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use lictor_wire::HopByHopFields;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::config::{Config, GatewayLimits};
use crate::start::StartError;

/// A pool of connections to the model.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    limits: GatewayLimits,
}

/// Why the upstream gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// No connection: it received nothing.
    Unreachable,
    /// It disconnected.
    BrokeOff,
    /// It timed out.
    TooSlow,
}

impl NoAnswer {
    /// Returns the status, the code for programs and the message for people.
    pub(crate) fn response(self) -> (u16, &'static str, &'static str) {
        match self {
            NoAnswer::Unreachable => (502, "upstream.unreachable", "upstream is unreachable"),
            NoAnswer::BrokeOff => (502, "upstream.broken_off", "the upstream closed the connection without an answer"),
            NoAnswer::TooSlow => (504, "upstream.too_slow", "upstream timeout"),
        }
    }
}

impl Upstream {
    pub(crate) fn new(config: &Config) -> Result<Upstream, StartError> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(config.limits.connect));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(trust(config.upstream_ca.as_deref())?)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(std::time::Duration::from_secs(30))
            .build(connector);
        Ok(Upstream { client, limits: config.limits })
    }

    /// Sends a request to the upstream at this address, and returns its answer.
    pub(crate) async fn ask(
        &self,
        base: &Uri,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let target = address(base, path).ok_or(NoAnswer::Unreachable)?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target;
        *request.headers_mut() = headers;
        match tokio::time::timeout(self.limits.answer, self.client.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => Err(NoAnswer::Unreachable),
            Ok(Err(_)) => Err(NoAnswer::BrokeOff),
            Err(_) => Err(NoAnswer::TooSlow),
        }
    }
}

/// Returns the address for a path: scheme, authority and prefix from the configuration, path and query from the client.
/// A `/v1` at the end of the prefix and at the start of the path is one.
fn address(base: &Uri, path: &str) -> Option<Uri> {
    let prefix = base.path().trim_end_matches('/');
    let prefix = prefix.strip_suffix("/v1").filter(|_| path.starts_with("/v1/")).unwrap_or(prefix);
    let whole = format!("{}://{}{prefix}{path}", base.scheme_str()?, base.authority()?);
    whole.parse().ok()
}

/// Returns the TLS configuration, with the root certificates of a file or of the system.
fn trust(ca: Option<&Path>) -> Result<ClientConfig, StartError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StartError::new(format!("TLS is not available: {error}")))?;
    let builder = match ca {
        None => builder
            .with_native_roots()
            .map_err(|error| StartError::new(format!("no certificates of the system are found: {error}")))?,
        Some(path) => {
            let wrong = |error: String| StartError::new(format!("{}: {error}", path.display()));
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
            builder.with_root_certificates(roots)
        }
    };
    Ok(builder.with_no_client_auth())
}

/// Fields that the gateway sets itself when it forwards a request.
const OURS: [&str; 5] = ["host", "content-length", "accept-encoding", "content-encoding", "expect"];

/// Returns the fields of a request for the upstream, without hop-by-hop fields and those for the gateway. Asks for
/// uncompressed answers, since the gateway reads them.
pub(crate) fn request_headers(headers: &HeaderMap) -> HeaderMap {
    let mut kept = without(headers, |name| OURS.contains(&name) || name.starts_with("x-lictor-"));
    kept.insert("accept-encoding", HeaderValue::from_static("identity"));
    kept
}

/// Fields of a reply by which an upstream sends the client elsewhere, past the gateway.
const DIVERTING: [&str; 2] = ["alt-svc", "refresh"];

/// Returns the fields of an answer for the client.
pub(crate) fn response_headers(headers: &HeaderMap) -> HeaderMap {
    // Fields of this name are the gateway's own; an upstream could pretend a session or a decision.
    let is_ours = |name: &str| name == "content-length" || name.starts_with("x-lictor-");
    without(headers, |name| is_ours(name) || DIVERTING.contains(&name))
}

fn without(headers: &HeaderMap, gone: impl Fn(&str) -> bool) -> HeaderMap {
    let hop_by_hop = HopByHopFields::read(headers.get_all("connection").iter().map(HeaderValue::as_bytes));
    let is_gone = |name: &HeaderName| hop_by_hop.contains(name.as_str()) || gone(name.as_str());
    headers.iter().filter(|(name, _)| !is_gone(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_authority_comes_from_configuration() {
        let base: Uri = "https://models.example/prefix/".parse().unwrap();
        let of = |path: &str| address(&base, path).unwrap().to_string();
        assert_eq!(of("/v1/models?limit=2"), "https://models.example/prefix/v1/models?limit=2");
        let versioned: Uri = "https://models.example/api/v1/".parse().unwrap();
        for (path, wanted) in [("/v1/models", "/api/v1/models"), ("/models", "/api/v1/models"), ("/v1", "/api/v1/v1")] {
            assert_eq!(address(&versioned, path).unwrap().path(), wanted);
        }
        assert_eq!(of("//evil.example/x"), "https://models.example/prefix//evil.example/x");
        assert_eq!(of("/@evil.example/x"), "https://models.example/prefix/@evil.example/x");
    }

    #[test]
    fn hop_by_hop_headers_are_stripped() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "a"),
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("proxy-authorization", "p"),
            ("x-lictor-session", "s"),
            ("authorization", "Bearer k"),
            ("x-stainless-lang", "python"),
            ("accept-encoding", "br"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let kept = request_headers(&headers);
        let mut names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept-encoding", "authorization", "x-stainless-lang"]);
        assert_eq!(kept["accept-encoding"], "identity");
    }

    #[test]
    fn reply_headers_to_other_addresses_are_stripped() {
        let fields =
            [("alt-svc", "h2=\"evil.example:443\""), ("refresh", "0; url=//evil.example"), ("x-request-id", "r1")];
        let headers = fields.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let kept = response_headers(&headers.into_iter().collect());
        assert_eq!(kept.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-request-id"]);
    }
}
