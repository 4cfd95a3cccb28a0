//! The HTTP client for the server.

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// The longest complete body in bytes.
pub(super) const MAX_BODY_BYTES: usize = 64 << 20;

/// The address of the server and the HTTP client for it.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Upstream {
    pub(super) fn new(uri: Uri) -> Result<Upstream, String> {
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(format!("`{uri}` is not an http:// or https:// URL"));
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("a URL with credentials is not allowed\nhint: pass them in a header".to_owned());
        }
        let roots = HttpsConnectorBuilder::new().with_native_roots();
        let roots = roots.map_err(|error| format!("cannot read the system certificates: {error}"))?;
        let connector = roots.https_or_http().enable_http1().build();
        Ok(Upstream { uri, client: Client::builder(TokioExecutor::new()).build(connector) })
    }

    /// Sends a request and returns the head of the response.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>, String> {
        let is_post = method == Method::POST;
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        if is_post {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if !request.headers().contains_key(ACCEPT) {
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        }
        self.client.request(request).await.map_err(|error| format!("cannot reach the server: {error}"))
    }
}

/// Reads a complete body, up to the limit.
pub(super) async fn read_body(body: Incoming) -> Result<Bytes, String> {
    let collected = Limited::new(body, MAX_BODY_BYTES).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| error.to_string())
}
