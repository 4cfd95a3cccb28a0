//! Connections: accepted, bounded, checked, and served.

mod chunks;
mod head;
mod strict_stream;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use lictor_warden::RefusedInput;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::body::AnswerBody;
use crate::control;
use crate::error_response::ErrorResponse;
use crate::exchange;
use crate::gateway::Gateway;
use crate::identity::{Caller, EVERYBODY, has_two_credentials, identity_headers};
use crate::work::Flow;
use strict_stream::{Gate, Patience, StrictStream};

/// The connection preface of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Concurrent streams of one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;

/// Accepts connections until this is dropped. Connections that are accepted after the gateway was told to stop serve one
/// request each: a probe must learn that the gateway is not ready.
pub(crate) async fn accept(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stopping: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(gateway.config.limits.connections));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Probably too many open files; some will be closed.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Otherwise small pieces would wait for more. On an error the connection is dead anyway.
        let _ = stream.set_nodelay(true);
        let (gateway, tls, stopping) = (Arc::clone(&gateway), tls.clone(), stopping.clone());
        tokio::spawn(async move {
            gateway.metrics.connections.fetch_add(1, Ordering::Relaxed);
            let limit = gateway.config.limits.head;
            // Boxed, so that a connection takes only the memory that its protocol needs.
            let served = match tls {
                None => Box::pin(serve(&gateway, stream, stopping)).await,
                Some(tls) => match tokio::time::timeout(limit, Box::pin(tls.accept(stream))).await {
                    Ok(Ok(stream)) => Box::pin(serve(&gateway, stream, stopping)).await,
                    Ok(Err(error)) => Err(error),
                    Err(_) => Err(io::ErrorKind::TimedOut.into()),
                },
            };
            // A failed connection affects no other.
            drop(served);
            gateway.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(place);
        });
    }
}

/// Serves a connection: detects its version of HTTP, and answers its requests.
async fn serve<T>(gateway: &Arc<Gateway>, mut stream: T, mut stopping: watch::Receiver<bool>) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = gateway.config.limits;
    let begun = tokio::time::timeout(limits.idle, beginning(&mut stream)).await??;
    let is_second = begun == PREFACE;
    let patience = Patience { head: limits.head, idle: limits.idle, write: limits.write };
    let gate = Gate::new()?;
    let vetted = match is_second {
        true => StrictStream::open(stream, begun, gate.clone(), patience),
        false => StrictStream::new(stream, begun, gate.clone(), patience),
    };
    let (shared, (began, mut has_begun)) = (Arc::clone(gateway), watch::channel(false));
    let service = service_fn(move |request: Request<Incoming>| {
        let (gateway, gate) = (Arc::clone(&shared), gate.clone());
        // There is no receiver once the connection is being shut down.
        let _ = began.send(true);
        async move {
            let _answering = gate.answering();
            Ok::<_, Infallible>(answer(&gateway, &gate, request).await)
        }
    });
    let stream = TokioIo::new(vetted);
    if is_second {
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(64 << 10)
            .max_pending_accept_reset_streams(20)
            .keep_alive_interval(limits.idle)
            .keep_alive_timeout(limits.head)
            .serve_connection(stream, service);
        let mut connection = Box::pin(connection);
        until(connection.as_mut(), &mut stopping, &mut has_begun, |connection| connection.graceful_shutdown()).await
    } else {
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            // The strict stream has the timeout for heads.
            .header_read_timeout(None)
            .max_headers(128)
            .serve_connection(stream, service);
        let mut connection = pin!(connection);
        until(connection.as_mut(), &mut stopping, &mut has_begun, |connection| connection.graceful_shutdown()).await
    }
    .map_err(io::Error::other)
}

/// Drives a connection. When the gateway stops, requests in flight are finished and no new ones are accepted.
///
/// The first request is always answered, because a graceful shutdown would close the connection before it: a probe that
/// connects while the gateway stops learns that it is not ready.
async fn until<C: Future>(
    mut connection: std::pin::Pin<&mut C>,
    stopping: &mut watch::Receiver<bool>,
    has_begun: &mut watch::Receiver<bool>,
    stop: impl FnOnce(std::pin::Pin<&mut C>),
) -> C::Output {
    let stop_is_due = async {
        // A sender that is gone changes nothing any more.
        let _ = stopping.wait_for(|stopped| *stopped).await;
        let _ = has_begun.wait_for(|begun| *begun).await;
    };
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = stop_is_due => {}
    }
    stop(connection.as_mut());
    connection.await
}

/// Reads the first bytes: as many as are needed to recognise the preface of HTTP/2.
async fn beginning(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut begun = Vec::with_capacity(PREFACE.len());
    while begun.len() < PREFACE.len() && PREFACE.starts_with(&begun) {
        let mut byte = [0u8; 24];
        let room = byte.get_mut(..PREFACE.len() - begun.len()).unwrap_or_default();
        let read = stream.read(room).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        begun.extend_from_slice(byte.get(..read).unwrap_or_default());
    }
    Ok(begun)
}

/// Answers one request.
async fn answer(gateway: &Arc<Gateway>, gate: &Gate, request: Request<Incoming>) -> Response<AnswerBody> {
    let fault = gate.refusal(request.uri().path()).or_else(|| {
        let is_second = request.version() == Version::HTTP_2;
        is_second.then(|| two_hosts(&request)).flatten()
    });
    // In shadow mode the first credential counts, unless it decides who may use the gateway.
    let is_watched =
        gateway.config.shadow && !gateway.config.known_only && !request.uri().path().starts_with(control::PREFIX);
    let callers = two_callers(&request);
    gateway.metrics.unchecked.fetch_add(u64::from(is_watched && callers.is_some()), Ordering::Relaxed);
    let fault = fault.or(callers.filter(|_| !is_watched));
    if let Some(fault) = fault {
        gateway.metrics.malformed.fetch_add(1, Ordering::Relaxed);
        let refused = RefusedInput::new(fault.code, &[]);
        let told = match Box::pin(gateway.judges.refuse(EVERYBODY, Flow::default(), refused)).await {
            Ok(()) => ErrorResponse::new(fault.status, fault.code, fault.message),
            Err(_) => ErrorResponse::unavailable(),
        };
        gateway.journal.say(&gateway.metrics, "malformed", json!({"code": fault.code}));
        gateway.metrics.error_response(EVERYBODY, &told.code);
        let mut response = told.response(None);
        close_connection(&request, &mut response);
        return response;
    }
    if request.uri().path().starts_with(control::PREFIX) {
        return Box::pin(control::answer(gateway, request)).await;
    }
    if gateway.is_draining() {
        let told = ErrorResponse::draining();
        let tenant = Caller::of(request.headers(), &gateway.config.tenants).tenant;
        gateway.metrics.error_response(&tenant, &told.code);
        let mut response = told.response(exchange::api(&request));
        close_connection(&request, &mut response);
        return response;
    }
    exchange::answer(gateway, request).await
}

/// Closes the connection after the answer; in HTTP/2 other requests share it.
fn close_connection(request: &Request<Incoming>, response: &mut Response<AnswerBody>) {
    if request.version() != Version::HTTP_2 {
        response.headers_mut().insert("connection", HeaderValue::from_static("close"));
    }
}

/// Returns the fault of a request with duplicate or contradictory credentials or session headers.
fn two_callers(request: &Request<Incoming>) -> Option<head::Fault> {
    let is_twice = |name: &HeaderName| request.headers().get_all(name).iter().nth(1).is_some();
    let fault = head::Fault::new("http.identity", "duplicate credential or session header");
    (identity_headers().any(is_twice) || has_two_credentials(request.headers())).then_some(fault)
}

/// Returns the fault of an HTTP/2 request that names two hosts.
fn two_hosts(request: &Request<Incoming>) -> Option<head::Fault> {
    let fault = head::Fault::new("http.host", "request names two hosts");
    let mut hosts = request.headers().get_all("host").iter();
    let (first, second) = (hosts.next(), hosts.next());
    let differs = match (request.uri().authority(), first) {
        (Some(authority), Some(host)) => host.as_bytes() != authority.as_str().as_bytes(),
        _ => false,
    };
    let has_user = request.uri().authority().is_some_and(|authority| authority.as_str().contains('@'));
    (second.is_some() || differs || has_user).then_some(fault)
}
