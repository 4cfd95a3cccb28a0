//! A gateway as a process: a runtime, signals, and a small client for its own endpoints.

use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Uri};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::policy_watcher::watch;
use crate::reload::PolicySource;
use crate::server::Server;
use crate::start::{GatewayParts, StartError};
use crate::telemetry::Journal;
use crate::upstream::Upstream;

/// Serves until SIGTERM or SIGINT. SIGHUP reloads the policy, and so does a change of a watched file. `ready` is called
/// with the address that the gateway listens at.
pub fn serve(
    config: Config,
    parts: GatewayParts,
    source: Option<PolicySource>,
    watched: Vec<PathBuf>,
    journal: Journal,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), StartError> {
    runtime()?.block_on(async {
        let failed = |error: std::io::Error| StartError::new(format!("signals cannot be waited for: {error}"));
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let server = Server::bind(config, parts, source, journal).await?;
        ready(server.address());
        let reloader = server.reloader();
        let watching = tokio::spawn(watch(watched, reloader.clone()));
        let reloading = tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                // Errors of a policy are in the journal; the old policy stays active.
                let _ = reloader.reload().await;
            }
        });
        let served = server
            .run(async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            })
            .await;
        watching.abort();
        reloading.abort();
        served
    })
}

/// Lists the pending approvals of a running gateway, or answers one: `answer` is the id, whether the call is allowed,
/// and the reviewer. Returns the gateway's answer.
pub fn approvals(address: &Uri, key: &str, answer: Option<(&str, bool, &str)>) -> Result<String, StartError> {
    let mut headers = HeaderMap::new();
    let bearer = HeaderValue::from_str(&format!("Bearer {key}"));
    headers.insert(
        "authorization",
        bearer.map_err(|_| StartError::new("the control key may contain only visible ASCII characters"))?,
    );
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let (method, path, body) = match answer {
        None => (Method::GET, "/lictor/approvals".to_owned(), Bytes::new()),
        Some((id, ..)) if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let message = format!("`{id}` is no approval id; copy the id from the list that `lictor approvals` prints");
            return Err(StartError::new(message));
        }
        Some((id, allow, by)) => {
            let body = serde_json::json!({"allow": allow, "by": by}).to_string();
            (Method::POST, format!("/lictor/approvals/{id}"), Bytes::from(body))
        }
    };
    runtime()?.block_on(async {
        let upstream = Upstream::new(&Config::new(address.clone()))?;
        let asked = upstream.ask(address, method, &path, headers, body).await;
        let response = asked.map_err(|_| StartError::new(format!("no gateway answers at {address}")))?;
        let status = response.status();
        let bytes =
            response.into_body().collect().await.map_err(|error| StartError::new(error.to_string()))?.to_bytes();
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        match status.is_success() {
            true => Ok(text),
            false => Err(StartError::new(format!("the gateway answered {status}: {text}"))),
        }
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, StartError> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| StartError::new(format!("no runtime: {error}")))
}
