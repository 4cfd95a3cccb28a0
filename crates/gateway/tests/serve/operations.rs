//! Operation: several gateways as one, TLS on both sides, spans, graceful shutdown.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Method;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lictor_store::{Change, MemoryStore, Store, StoreError, StoredValue};
use lictor_store_postgres::PostgresStore;
use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::crossing::{NOTHING, POLICY, saying};
use crate::server::TestServer;
use crate::vendor::{call, hear, history, path, reply, request, result_item, said_items, stream, text};
use crate::world::{Model, Play, World, ask_at, of_type, plan};

async fn pays(world: &World, items: &[Value]) -> usize {
    let got = world.post(path(Api::Messages), "s", &history(Api::Messages, items, false)).await;
    assert_eq!(got.status, 200, "{}", got.text());
    hear(Api::Messages, &got.body).calls.len()
}

/// Two gateways over one store share their sessions.
async fn behave_as_one(store: impl Fn() -> Arc<dyn Store>) {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let [mut one, mut other] = [plan(&model, POLICY), plan(&model, POLICY)];
    (one.store, other.store) = (Some(store()), Some(store()));
    let (one, other) = (one.start().await, other.start().await);
    let mut items = vec![json!({"role": "user", "content": "hi"})];
    assert_eq!(pays(&one, &items).await, 1);
    items.extend(said_items(Api::Messages, &[call("c", "pay", json!({}))]));
    items.push(result_item(Api::Messages, "c", "ok"));
    assert_eq!(pays(&other, &items).await, 0, "it was paid through the other");
    let [of_one, of_other] = [one.end().await, other.end().await];
    let kinds =
        |records: &[Value]| of_type(records, "decision").iter().map(|it| it["kind"].to_string()).collect::<Vec<_>>();
    assert_eq!(kinds(&of_one), ["\"user_message\"", "\"tool_call\""]);
    assert_eq!(kinds(&of_other), ["\"tool_result\"", "\"tool_call\""], "what was sent again is not judged again");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_over_one_store_behave_as_one() {
    let shared: Arc<dyn Store> = Arc::new(MemoryStore::new());
    behave_as_one(move || Arc::clone(&shared)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_over_one_postgresql_behave_as_one() {
    let Some(server) = tokio::task::spawn_blocking(TestServer::start).await.unwrap() else { return };
    let address = server.address();
    // The client of PostgreSQL has a runtime of its own, which must not run within ours.
    let open = move || {
        let address = address.clone();
        let opened = std::thread::spawn(move || PostgresStore::open(&address).unwrap()).join().unwrap();
        Arc::new(opened) as Arc<dyn Store>
    };
    behave_as_one(open).await;
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
}

/// Creates a certificate for loopback and its key, as files.
fn certificate(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

/// Starts a model with TLS, with this certificate and these protocols.
async fn secure_model(certificate: &Path, key: &Path, alpn: &[u8]) -> std::net::SocketAddr {
    let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap())
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let is_second = alpn == b"h2";
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper::service::service_fn(|_| async {
                    let body = Full::new(Bytes::from(reply(Api::Chat, &[text("over TLS")])));
                    Ok::<_, std::convert::Infallible>(hyper::Response::new(body))
                });
                let stream = TokioIo::new(stream);
                if is_second {
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(stream, service)
                        .await;
                } else {
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_tls_certificate_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, key) = certificate(folder.path());
    for alpn in [&b"http/1.1"[..], b"h2"] {
        let address = secure_model(&ca, &key, alpn).await;
        let unused = saying(Vec::new()).await;
        for is_trusted in [true, false] {
            let mut secure = plan(&unused, NOTHING);
            secure.config.upstream = format!("https://localhost:{}", address.port()).parse().unwrap();
            secure.config.upstream_ca = is_trusted.then(|| ca.clone());
            if !is_trusted {
                let other = folder.path().join("other");
                std::fs::create_dir_all(&other).unwrap();
                secure.config.upstream_ca = Some(certificate(&other).0);
            }
            let world = secure.start().await;
            let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
            match is_trusted {
                true => assert_eq!(hear(Api::Chat, &got.body).text, "over TLS"),
                false => assert_eq!((got.status, got.code()), (502, "upstream.unreachable")),
            }
            world.end().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_tls_negotiates_http_version() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let model = saying(vec![text("hi")]).await;
    let mut secure = plan(&model, NOTHING);
    secure.config.tls = Some((certificate.clone(), key));
    let world = secure.start().await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(world.address).await.unwrap();
    let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let body = Full::<Bytes>::from(request(Api::Chat, "hi", false).to_string());
    let asked = hyper::Request::post(format!("https://localhost{}", path(Api::Chat))).body(body).unwrap();
    let response = sender.send_request(asked).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(hear(Api::Chat, &body).text, "hi");
    drop(sender);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_cover_decisions_and_survive_dead_collector() {
    let spans: Arc<Mutex<Vec<Value>>> = Arc::default();
    let taken = Arc::clone(&spans);
    let collector = Model::start(move |seen| {
        assert_eq!(seen.path, "/v1/traces");
        taken.lock().unwrap().push(seen.json());
        Play::json("{}")
    })
    .await;
    let model = saying(vec![call("c1", "drop", json!({"mail": "alice@example.com"}))]).await;
    let mut traced = plan(&model, POLICY);
    traced.config.collector = Some(format!("http://{}", collector.address).parse().unwrap());
    let world = traced.start().await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let asked = request(Api::Chat, "I am bob@example.com", false).to_string();
    world.ask(Method::POST, path(Api::Chat), &[("traceparent", parent)], asked).await;
    let mut found = Vec::new();
    for _ in 0..200 {
        found = spans
            .lock()
            .unwrap()
            .iter()
            .flat_map(|it| it["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone())
            .collect();
        if found.len() >= 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(found.len(), 2);
    let attribute = |span: &Value, key: &str| {
        let listed = span["attributes"].as_array().unwrap();
        listed.iter().find(|it| it["key"] == key).map(|it| it["value"]["stringValue"].as_str().unwrap().to_owned())
    };
    let blocked = &found[1];
    assert_eq!(blocked["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(blocked["parentSpanId"], "b7ad6b7169203331");
    for (key, wanted) in [
        ("gen_ai.operation.name", "run_guardrail"),
        ("gen_ai.guardrail.target.type", "output"),
        ("gen_ai.guardrail.target.subtype", "tool_call"),
        ("gen_ai.guardrail.target.id", "c1"),
        ("gen_ai.guardrail.verdict.type", "deny"),
        ("gen_ai.guardrail.action.type", "block"),
        ("gen_ai.guardrail.security.policy.id", "policy"),
    ] {
        assert_eq!(attribute(blocked, key).as_deref(), Some(wanted), "{key}");
    }
    assert_eq!(blocked["events"][0]["name"], "gen_ai.guardrail.security.finding");
    assert!(!Value::Array(found).to_string().contains("example.com"), "nothing of a person is in spans");
    world.end().await;

    let mut dead = plan(&model, POLICY);
    dead.config.collector = Some("http://127.0.0.1:1".parse().unwrap());
    let world = dead.start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!(got.status, 200);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_finish_on_shutdown() {
    let model = Model::start(|_| {
        let events = stream(Api::Chat, &[text(&"word ".repeat(40))], 5);
        Play { pause: Duration::from_millis(20), ..Play::stream(&events) }
    })
    .await;
    let world = plan(&model, NOTHING).start().await;
    let address = world.address;
    let asked = tokio::spawn(async move {
        crate::world::ask_at(address, Method::POST, path(Api::Chat), &[], request(Api::Chat, "hi", true).to_string())
            .await
    });
    while model.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let records = world.end().await;
    let got = asked.await.unwrap();
    assert!(got.is_whole && got.text().ends_with("data: [DONE]\n\n"));
    assert_eq!(of_type(&records, "exchange")[0]["outcome"], "done");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_over_in_flight_limit_are_refused() {
    let model = Model::start(|_| {
        let events = stream(Api::Chat, &[text(&"word ".repeat(100))], 5);
        Play { pause: Duration::from_millis(5), ..Play::stream(&events) }
    })
    .await;
    let mut narrow = plan(&model, NOTHING);
    narrow.config.limits.exchanges = 1;
    let world = narrow.start().await;
    let address = world.address;
    let body = request(Api::Chat, "hi", true).to_string();
    let asked = tokio::spawn(async move { ask_at(address, Method::POST, path(Api::Chat), &[], body).await });
    while model.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let got = world.post(path(Api::Messages), "t", &request(Api::Messages, "hi", false)).await;
    assert_eq!((got.status, got.code()), (503, "gateway.busy"), "{}", got.text());
    assert_eq!(got.json()["type"], "error", "in the vendor's own shape");
    assert_eq!(model.seen().len(), 1);
    let busy = format!(r#"lictor_exchanges_total{{api="{}",outcome="busy"}}"#, Api::Messages.name());
    assert_eq!(world.figure(&busy).await, 1);
    assert!(asked.await.unwrap().is_whole, "whoever was there first is not disturbed");
    assert_eq!(of_type(&world.end().await, "exchange").len(), 1);
}

/// A store that fails on demand, with an error or a panic.
struct FailingStore {
    inner: MemoryStore,
    mode: Arc<Mutex<&'static str>>,
}

impl FailingStore {
    fn fail(&self, key: &str) -> Result<(), StoreError> {
        let mode = *self.mode.lock().unwrap();
        match mode {
            "panic" if key.contains("session") => panic!("as told"),
            "panic while deciding" if key.starts_with("tenant/") => panic!("as told"),
            "error" => Err(StoreError::Unavailable { place: "store".into(), reason: "as told".into() }),
            _ => Ok(()),
        }
    }
}

impl Store for FailingStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        self.fail(key)?;
        self.inner.load(key)
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        self.inner.scan(prefix)
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        self.inner.keys(prefix, after, limit)
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        self.fail(changes.first().map_or("", |change| change.key.as_str()))?;
        self.inner.save(changes)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn store_failure_fails_requests_until_it_recovers() {
    let mode = Arc::new(Mutex::new(""));
    let model = saying(vec![text("hi")]).await;
    let mut failing = plan(&model, NOTHING);
    failing.store = Some(Arc::new(FailingStore { inner: MemoryStore::new(), mode: Arc::clone(&mode) }));
    let world = failing.start().await;
    let ask = async |api: Api| world.post(path(api), "s", &request(api, "hi", false)).await;
    assert_eq!(ask(Api::Chat).await.status, 200);
    let reached = model.seen().len();
    *mode.lock().unwrap() = "error";
    for api in Api::ALL {
        let got = ask(api).await;
        assert_eq!((got.status, got.code()), (503, "audit.unavailable"), "{}", got.text());
    }
    assert_eq!(world.ask(Method::GET, "/lictor/ready", &[], "").await.status, 503);
    assert_eq!(world.ask(Method::GET, "/lictor/health", &[], "").await.status, 200);
    *mode.lock().unwrap() = "panic";
    assert_eq!(ask(Api::Messages).await.status, 503);
    assert_eq!(model.seen().len(), reached, "nothing went on");
    *mode.lock().unwrap() = "";
    assert_eq!(ask(Api::Chat).await.status, 200, "it goes on when the store does");
    assert_eq!(world.ready_as(200).await, 200, "once the records are written that could not be");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_while_deciding_fails_one_request() {
    let mode = Arc::new(Mutex::new(""));
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut failing = plan(&model, POLICY);
    failing.store = Some(Arc::new(FailingStore { inner: MemoryStore::new(), mode: Arc::clone(&mode) }));
    let world = failing.start().await;
    let user = json!({"role": "user", "content": "hi"});
    assert_eq!(pays(&world, std::slice::from_ref(&user)).await, 1);
    for streams in [false, true] {
        *mode.lock().unwrap() = "panic while deciding";
        let reached = model.seen().len();
        for _ in 0..3 {
            let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "again", streams)).await;
            assert_eq!((got.status, got.code()), (503, "audit.unavailable"), "{}", got.text());
        }
        assert_eq!(model.seen().len(), reached, "nothing went on");
        *mode.lock().unwrap() = "";
        // The gateway continues, with the earlier sessions.
        let got = world.post(path(Api::Chat), "t", &request(Api::Chat, "hello", streams)).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(pays(&world, std::slice::from_ref(&user)).await, 0, "it was paid before");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_session_begins_again() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut short = plan(&model, POLICY);
    short.idle = Some(lictor_logic::Span(5_000_000_000));
    let world = short.start().await;
    let items = [json!({"role": "user", "content": "hi"})];
    assert_eq!(pays(&world, &items).await, 1);
    assert_eq!(pays(&world, &items).await, 0);
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(pays(&world, &items).await, 1);
    world.end().await;
}
