//! `lictor-bench gateway-plain PORT UPSTREAM`: a reverse proxy that does nothing, on the HTTP library of the gateway.
//!
//! Its cost is that of any proxy on this library: two connections, two heads, and bodies forwarded piece by piece.

use std::error::Error;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

type Upstream = Client<HttpConnector, Incoming>;

/// Serves until it is killed.
pub(crate) fn run(port: u16, upstream: u16) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Upstream = Client::builder(TokioExecutor::new()).build(connector);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let client = client.clone();
            let service = service_fn(move |request| forward(client.clone(), request, upstream));
            tokio::spawn(async move {
                // A client may disconnect; the server ignores that.
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

async fn forward(
    client: Upstream,
    mut request: Request<Incoming>,
    upstream: u16,
) -> Result<Response<Incoming>, Box<dyn Error + Send + Sync>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = format!("http://127.0.0.1:{upstream}{path}").parse()?;
    request.headers_mut().remove(HOST);
    request.headers_mut().remove(CONNECTION);
    let mut response = client.request(request).await?;
    response.headers_mut().remove(CONNECTION);
    Ok(response)
}
