//! How long one user waits while another client sends hostile bodies, against an idle gateway beside it.
//!
//! `cargo run --release -p lictor-gateway --example fairness [CASE …]` starts a model of constant replies and two gateways
//! with a ledger and a store on disk, each in a process of its own. A user asks both gateways in turn while one of them
//! gets the bodies of a case. The figures are the longest waits of the user at both, in milliseconds, and the resident
//! memory of the attacked gateway.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example measures and prints")]

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lictor_gateway::{Config, GatewayParts, Journal, Server};
use lictor_ledger::{Ledger, LedgerOptions};
use lictor_policy::{FileResolver, Policy};
use lictor_store::EmbeddedStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

/// The policy of both gateways.
const POLICY: &str = r#"{"lictor": 1, "name": "fairness", "properties": [
    {"id": "no-mail", "formula": "always !carries(\"email\")", "respond": "redact"},
    {"id": "no-drop", "formula": "always !tool_call(\"drop\")", "respond": "block"}]}"#;

/// How often the user asks, and for how long at least.
const ASK_INTERVAL: Duration = Duration::from_millis(20);
const CASE_TIME: Duration = Duration::from_secs(3);

/// A client that disturbs others.
struct Case {
    name: &'static str,
    /// The path, by which the model knows what to reply.
    path: String,
    body: Bytes,
    /// How many requests are sent at once.
    clients: usize,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match words.as_slice() {
        ["model", port] => runtime.block_on(run_model(port.parse()?)),
        ["gateway", port, upstream, folder, limits] => {
            runtime.block_on(run_gateway(port.parse()?, upstream, Path::new(folder), limits))
        }
        wanted => runtime.block_on(measure(wanted)),
    }
}

/// Replies with as many calls as the first part of the path says.
async fn run_model(port: u16) -> Result<(), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let service = service_fn(reply);
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn reply(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    let words: Vec<&str> = path.split('/').collect();
    let count = words.get(1).and_then(|word| word.strip_prefix("calls-")).and_then(|count| count.parse().ok());
    let large: Option<usize> =
        words.get(1).and_then(|word| word.strip_prefix("text-")).and_then(|count| count.parse().ok());
    let message = match (count, large) {
        (Some(count), _) => {
            let calls: Vec<Value> = (0..count)
                .map(|number: usize| {
                    let arguments = json!({"to": format!("bob{number}@example.org")}).to_string();
                    json!({"id": format!("c{number}"), "type": "function", "function": {"name": "send", "arguments": arguments}})
                })
                .collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        }
        (None, Some(bytes)) => json!({"role": "assistant", "content": "a@a.a-".repeat(bytes / 6)}),
        (None, None) => json!({"role": "assistant", "content": "Hello."}),
    };
    let reply = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": if count.is_some() { "tool_calls" } else { "stop" }}]});
    let mut response = Response::new(Full::new(Bytes::from(reply.to_string())));
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn run_gateway(port: u16, upstream: &str, folder: &Path, limits: &str) -> Result<(), Failure> {
    let mut config = Config::new(upstream.parse()?);
    config.listen = format!("127.0.0.1:{port}").parse()?;
    let section = lictor_json::parse_str(&format!("{{\"limits\":{limits}}}")).map_err(|error| error.to_string())?;
    config.take_over(&section).map_err(|mistakes| mistakes.join("\n"))?;
    let policy = Policy::parse(POLICY, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?.policy;
    let mut parts = GatewayParts::new(policy, Arc::new(EmbeddedStore::open(&folder.join("state"))?));
    let options = LedgerOptions::new(jiff::Timestamp::now);
    parts.ledger = Some(Ledger::open_or_create(folder.join("log"), "example/fairness", options)?);
    let server = Server::bind(config, parts, None, Journal::silent()).await?;
    Ok(server.run(std::future::pending()).await?)
}

/// A process that ends with this value.
struct Process(Child);

impl Process {
    fn start(arguments: &[&str]) -> Result<Process, Failure> {
        Ok(Process(Command::new(std::env::current_exe()?).args(arguments).stdin(Stdio::null()).spawn()?))
    }

    /// Returns its resident memory in megabytes.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) / 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn measure(wanted: &[&str]) -> Result<(), Failure> {
    let limits = std::env::var("FAIRNESS_LIMITS").unwrap_or_else(|_| "{}".to_owned());
    let folder = std::env::temp_dir().join(format!("lictor-fairness-{}", std::process::id()));
    let [model, attacked, idle] = [17_001, 17_002, 17_003];
    let upstream = format!("http://127.0.0.1:{model}");
    let (one, two) = (folder.join("attacked"), folder.join("idle"));
    std::fs::create_dir_all(&one)?;
    std::fs::create_dir_all(&two)?;
    let _model = Process::start(&["model", &model.to_string()])?;
    let gateway = Process::start(&["gateway", &attacked.to_string(), &upstream, &one.to_string_lossy(), &limits])?;
    let _idle = Process::start(&["gateway", &idle.to_string(), &upstream, &two.to_string_lossy(), &limits])?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ask_user(attacked).await?;
    let before = gateway.resident();
    println!("{:<28} {:>9} {:>9} {:>9} {:>9} {:>8}", "case", "requests", "attacked", "idle", "worse by", "MB");
    for case in cases().into_iter().filter(|case| wanted.is_empty() || wanted.contains(&case.name)) {
        let (requests, waits) = run_case(&case, attacked, idle).await?;
        let [here, there] = waits.map(|wait| wait.as_secs_f64() * 1e3);
        println!(
            "{:<28} {requests:>9} {here:>9.0} {there:>9.0} {:>9.0} {:>8}",
            case.name,
            here - there,
            gateway.resident()
        );
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    println!("resident memory before {before} MB, 30 s after {} MB", gateway.resident());
    drop(std::fs::remove_dir_all(&folder));
    Ok(())
}

/// Returns how many requests were answered, and the longest waits of the user at both gateways.
async fn run_case(case: &Case, attacked: u16, idle: u16) -> Result<(String, [Duration; 2]), Failure> {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..case.clients {
        let (is_over, body, path) = (Arc::clone(&is_over), case.body.clone(), case.path.clone());
        clients.spawn(async move {
            let mut statuses = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let session = format!("{number}-{}-{:?}", statuses.len(), Instant::now());
                statuses.push(ask(attacked, &path, "attacker", &session, body.clone()).await.unwrap_or(0));
            }
            statuses
        });
    }
    let mut longest = [Duration::ZERO; 2];
    let begun = Instant::now();
    while begun.elapsed() < CASE_TIME {
        for (place, port) in [attacked, idle].into_iter().enumerate() {
            let asked = Instant::now();
            ask_user(port).await?;
            longest[place] = longest[place].max(asked.elapsed());
        }
        tokio::time::sleep(ASK_INTERVAL).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let statuses: Vec<u16> = clients.join_all().await.into_iter().flatten().collect();
    let good = statuses.iter().filter(|status| **status == 200).count();
    Ok((format!("{good}/{}", statuses.len()), longest))
}

async fn ask_user(port: u16) -> Result<(), Failure> {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi."}]}).to_string();
    match ask(port, "/v1/chat/completions", "user", &format!("{:?}", Instant::now()), body.into()).await? {
        200 => Ok(()),
        status => Err(format!("the user got {status}").into()),
    }
}

async fn ask(port: u16, path: &str, key: &str, session: &str, body: Bytes) -> Result<u16, Failure> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(format!("http://127.0.0.1:{port}{path}"))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {key}"))
        .header("x-lictor-session", session)
        .body(Full::new(body))?;
    let response = client.request(request).await?;
    let status = response.status().as_u16();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(status)
}

/// Returns a request of messages.
fn chat(messages: Vec<Value>) -> Bytes {
    json!({"model": "m", "messages": messages}).to_string().into()
}

fn say(text: String) -> Value {
    json!({"role": "user", "content": text})
}

/// Returns a request that brings the result of a call.
fn result(text: String) -> Bytes {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let asked = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    chat(vec![say("Read.".into()), asked, json!({"role": "tool", "tool_call_id": "c1", "content": text})])
}

fn cases() -> Vec<Case> {
    const MIB: usize = 1 << 20;
    let words = |bytes: usize| "The words go on and on. ".repeat(bytes / 24);
    let signs = |bytes: usize| "a@a.a-".repeat(bytes / 6);
    let mails = |bytes: usize| "ann@example.org, ".repeat(bytes / 17);
    let plain = "/v1/chat/completions".to_owned();
    let hello = || chat(vec![say("Send.".into())]);
    let calls = |count: usize| format!("/calls-{count}/v1/chat/completions");
    let many = |count: usize, text: &str| chat((0..count).map(|number| say(format!("{text} {number}"))).collect());
    let case = |name, path: &str, body, clients| Case { name, path: path.to_owned(), body, clients };
    vec![
        case("calls-256", &calls(256), hello(), 1),
        case("calls-256-by-32", &calls(256), hello(), 32),
        case("calls-1000", &calls(1000), hello(), 1),
        case("calls-4000", &calls(4000), hello(), 1),
        case("calls-4000-by-32", &calls(4000), hello(), 32),
        case("words-1m", &plain, chat(vec![say(words(MIB - 64))]), 1),
        case("words-1m-by-32", &plain, chat(vec![say(words(MIB - 64))]), 32),
        case("signs-1m-by-32", &plain, chat(vec![say(signs(MIB - 64))]), 32),
        case("mails-1m-by-32", &plain, chat(vec![say(mails(MIB - 64))]), 32),
        case("results-1m-by-32", &plain, result(mails(MIB - 64)), 32),
        case("texts-28-of-1m", &plain, chat((0..28).map(|_| say(words(MIB - 64))).collect()), 4),
        case("words-30m", &plain, chat(vec![say(words(29 * MIB))]), 1),
        case("words-30m-by-4", &plain, chat(vec![say(words(29 * MIB))]), 4),
        case("signs-30m-by-4", &plain, chat(vec![say(signs(29 * MIB))]), 4),
        case("mails-8m-by-8", &plain, chat(vec![say(mails(8 * MIB))]), 8),
        case("words-3m-by-8", &plain, chat(vec![say(words(3 * MIB))]), 8),
        case("items-10000-by-8", &plain, many(10_000, "ann@example.org"), 8),
        case("items-19000-by-32", &plain, many(19_000, "words"), 32),
        case("reply-1m-by-32", "/text-1000000/v1/chat/completions", hello(), 32),
        case("reply-28m-by-4", "/text-28000000/v1/chat/completions", hello(), 4),
        case("deep-by-32", &plain, result(format!("{}{}", "[".repeat(100), "]".repeat(100)).repeat(5000)), 32),
        case("damaged-30m-by-8", &plain, Bytes::from("[".repeat(30 * MIB)), 8),
    ]
}
