//! A scripted model, a gateway and a client, on loopback.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lictor_gateway::{Config, GatewayParts, Journal, KeyHash, PolicySource, Reloader, Server};
use lictor_ledger::{Disk, Ledger, Reader, RealDisk, verify};
use lictor_policy::{FileResolver, Policy};
use lictor_store::{EmbeddedStore, MemoryStore, Store};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// A request that the model received.
#[derive(Clone, Debug)]
pub(crate) struct SeenRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl SeenRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The model's scripted answer.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) pause: Duration,
    /// Notified when the pieces may begin; none: they begin at once.
    pub(crate) start: Option<Arc<Notify>>,
    pub(crate) ends: Ends,
}

/// How the model's answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Whole,
    /// The connection is cut after the pieces.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Silent,
}

impl Play {
    pub(crate) fn json(body: impl Into<String>) -> Play {
        Play {
            status: 200,
            headers: vec![("content-type", "application/json".into())],
            pieces: vec![Bytes::from(body.into())],
            pause: Duration::ZERO,
            start: None,
            ends: Ends::Whole,
        }
    }

    pub(crate) fn stream(events: &[String]) -> Play {
        let pieces = events.iter().map(|event| Bytes::from(event.clone())).collect();
        Play { headers: vec![("content-type", "text/event-stream".into())], pieces, ..Play::json("") }
    }
}

type Script = dyn Fn(&SeenRequest) -> Play + Send + Sync;

/// A scripted model.
pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    task: JoinHandle<()>,
}

impl Model {
    pub(crate) async fn start(script: impl Fn(&SeenRequest) -> Play + Send + Sync + 'static) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<SeenRequest>>> = Arc::default();
        let (script, noted): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, noted) = (Arc::clone(&script), Arc::clone(&noted));
                tokio::spawn(async move {
                    let service = service_fn(move |request| play(request, Arc::clone(&script), Arc::clone(&noted)));
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Model { address, seen, task }
    }

    pub(crate) fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Piece = Result<Frame<Bytes>, std::io::Error>;

async fn play(
    request: Request<Incoming>,
    script: Arc<Script>,
    noted: Arc<Mutex<Vec<SeenRequest>>>,
) -> Result<Response<http_body_util::combinators::UnsyncBoxBody<Bytes, std::io::Error>>, std::io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let path = head.uri.path_and_query().unwrap().to_string();
    let seen = SeenRequest { method: head.method, path, headers: head.headers, body };
    noted.lock().unwrap().push(seen.clone());
    let play = script(&seen);
    let (sender, receiver) = mpsc::channel::<Piece>(1);
    let (pieces, pause, start, ends) = (play.pieces, play.pause, play.start, play.ends);
    let is_whole = pieces.len() == 1 && ends == Ends::Whole;
    let first = pieces.first().cloned().unwrap_or_default();
    if !is_whole {
        tokio::spawn(async move {
            if let Some(start) = start {
                start.notified().await;
            }
            for piece in pieces {
                tokio::time::sleep(pause).await;
                if sender.send(Ok(Frame::data(piece))).await.is_err() {
                    return;
                }
            }
            match ends {
                Ends::Whole => {}
                Ends::Cut => drop(sender.send(Err(std::io::Error::other("cut"))).await),
                Ends::Silent => tokio::time::sleep(Duration::from_secs(600)).await,
            }
        });
    }
    let body = match is_whole {
        true => Full::new(first).map_err(|never| match never {}).boxed_unsync(),
        false => Pieces(receiver).boxed_unsync(),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(play.status).unwrap();
    for (name, value) in play.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    Ok(response)
}

/// A body that comes in pieces.
struct Pieces(mpsc::Receiver<Piece>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(context)
    }
}

/// The control key of all gateways here.
pub(crate) const CONTROL: &str = "the control key of tests";

/// A running gateway.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) reloader: Reloader,
    pub(crate) log: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    folder: Arc<tempfile::TempDir>,
}

/// The settings of a gateway.
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) policy: String,
    pub(crate) source: Option<PolicySource>,
    pub(crate) keeps: bool,
    /// Whether there is a ledger, and its disk.
    pub(crate) records: bool,
    pub(crate) disk: Arc<dyn Disk>,
    /// A store that is shared with another gateway.
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) idle: Option<lictor_logic::Span>,
    /// How long a reviewer has to answer.
    pub(crate) patience: Option<lictor_logic::Span>,
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) journal: Journal,
}

pub(crate) fn policy(text: &str) -> Policy {
    Policy::parse(text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy
}

/// Returns the plan of a gateway to this model.
pub(crate) fn plan(model: &Model, policy: &str) -> Plan {
    plan_to(&format!("http://{}", model.address), policy)
}

/// Returns the plan of a gateway to the server at this address.
pub(crate) fn plan_to(upstream: &str, policy: &str) -> Plan {
    let mut config = Config::new(upstream.parse().unwrap());
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.control_keys = vec![KeyHash::of(CONTROL)];
    config.limits.drain = Duration::from_secs(2);
    // Most models here say the same each time.
    config.limits.corrections = 0;
    let folder = Arc::new(tempfile::tempdir().unwrap());
    Plan {
        config,
        policy: policy.to_owned(),
        source: None,
        keeps: false,
        records: true,
        disk: Arc::new(RealDisk),
        store: None,
        idle: None,
        patience: None,
        folder,
        journal: Journal::silent(),
    }
}

impl Plan {
    pub(crate) async fn start(self) -> World {
        let log = self.folder.path().join("log");
        let store: Arc<dyn Store> = match (self.store, self.keeps) {
            (Some(store), _) => store,
            (None, true) => Arc::new(EmbeddedStore::open(&self.folder.path().join("state")).unwrap()),
            (None, false) => Arc::new(MemoryStore::new()),
        };
        let options = lictor_ledger::LedgerOptions::new(jiff::Timestamp::now).disk(self.disk);
        let ledger = self.records.then(|| Ledger::open_or_create(&log, "test.example/gateway", options).unwrap());
        let policy = policy(&self.policy);
        let mut parts = GatewayParts::new(policy, store);
        parts.ledger = ledger;
        parts.warden.max_sessions = 1000;
        parts.warden.idle = self.idle;
        if let Some(patience) = self.patience {
            parts.guard = parts.guard.patience(patience);
        }
        let server = Server::bind(self.config, parts, self.source, self.journal).await.unwrap();
        let (address, reloader) = (server.address(), server.reloader());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move { server.run(async { drop(stopped.await) }).await.unwrap() });
        World { address, reloader, log, stop: Some(stop), running: Some(running), folder: self.folder }
    }
}

/// The answer that a client got.
#[derive(Clone, Debug)]
pub(crate) struct ClientAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the body is complete.
    pub(crate) is_whole: bool,
}

impl ClientAnswer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn code(&self) -> &str {
        self.headers.get("x-lictor-code").map_or("", |code| code.to_str().unwrap())
    }
}

impl World {
    /// Sends a request to the gateway.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> ClientAnswer {
        ask_at(self.address, method, path, headers, body).await
    }

    /// Posts JSON, with a credential and a session.
    pub(crate) async fn post(&self, path: &str, session: &str, body: &Value) -> ClientAnswer {
        let headers = [("authorization", "Bearer key"), ("x-lictor-session", session)];
        self.ask(Method::POST, path, &headers, body.to_string()).await
    }

    /// Sends a request to a control endpoint.
    pub(crate) async fn control(&self, method: Method, path: &str, body: &Value) -> ClientAnswer {
        let bearer = format!("Bearer {CONTROL}");
        self.ask(method, path, &[("authorization", &bearer)], body.to_string()).await
    }

    /// Returns the status of its readiness, once it is the wanted one or after a timeout.
    pub(crate) async fn ready_as(&self, wanted: u16) -> u16 {
        let mut status = 0;
        for _ in 0..250 {
            status = self.ask(Method::GET, "/lictor/ready", &[], "").await.status;
            if status == wanted {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        status
    }

    /// Returns a metric of the gateway.
    pub(crate) async fn figure(&self, name: &str) -> u64 {
        let got = self.ask(Method::GET, "/lictor/metrics", &[], "").await;
        let line = got.text().lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{name}")).rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Waits until a metric has a value.
    pub(crate) async fn figure_becomes(&self, name: &str, wanted: u64) {
        for _ in 0..250 {
            if self.figure(name).await == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{name} is {}, not {wanted}", self.figure(name).await);
    }

    /// Stops the gateway, verifies its ledger, and returns the bodies of all records.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        self.stop().await;
        records(&self.log)
    }

    /// Tells the gateway to stop, and does not wait for it.
    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops the gateway and returns its folder, for the next one.
    pub(crate) async fn stop(&mut self) -> Arc<tempfile::TempDir> {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
        Arc::clone(&self.folder)
    }
}

/// Sends a request to the server at an address.
pub(crate) async fn ask_at(
    address: SocketAddr,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> ClientAnswer {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut request = Request::new(Full::new(body.into()));
    *request.method_mut() = method;
    *request.uri_mut() = format!("http://{}{path}", address).parse().unwrap();
    for (name, value) in headers {
        let name: hyper::header::HeaderName = name.parse().unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    request.headers_mut().entry("content-type").or_insert("application/json".parse().unwrap());
    let response = client.request(request).await.unwrap();
    let (head, mut body) = response.into_parts();
    let (mut bytes, mut is_whole) = (Vec::new(), true);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => bytes.extend_from_slice(frame.data_ref().unwrap()),
            Err(_) => is_whole = false,
        }
    }
    ClientAnswer { status: head.status.as_u16(), headers: head.headers, body: bytes.into(), is_whole }
}

/// Verifies a ledger and returns the bodies of all records.
pub(crate) fn records(log: &std::path::Path) -> Vec<Value> {
    let reader = Reader::open(log);
    verify(log, &reader.first_key().unwrap()).unwrap();
    let bodies = reader.records(0).unwrap().map(|record| record.unwrap().body);
    bodies.flatten().map(|body| serde_json::to_value(body).unwrap()).collect()
}

/// Returns the records of a type.
pub(crate) fn of_type<'a>(records: &'a [Value], sort: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == sort).collect()
}
