//! Sessions over HTTP: a request is in flight only until its exchange ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};

use lictor_logic::Time;
use lictor_mcp::{McpService, RelayOptions, serve};
use lictor_store::MemoryStore;

use crate::{POLICY, call, open_warden, result};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#;

/// Returns a response of the server.
fn response(status: &str, media: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nMcp-Session-Id: s1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Reads an HTTP message with a length from a connection.
fn read_request(connection: &mut TcpStream) -> String {
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
            if body.len() >= head.lines().find_map(length).unwrap_or(0_usize) {
                return text.into_owned();
            }
        }
        match connection.read(&mut part).unwrap() {
            0 => return String::from_utf8_lossy(&request).into_owned(),
            read => request.extend_from_slice(&part[..read]),
        }
    }
}

/// A proxy with a server that gives one response after the other.
struct HttpProxy {
    _runtime: tokio::runtime::Runtime,
    address: std::net::SocketAddr,
    received: mpsc::Receiver<String>,
}

impl HttpProxy {
    fn start(responses: Vec<String>) -> HttpProxy {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/mcp", server.local_addr().unwrap()).parse().unwrap();
        let (sender, received) = mpsc::channel();
        std::thread::spawn(move || {
            for response in responses {
                let mut connection = server.accept().unwrap().0;
                sender.send(read_request(&mut connection)).unwrap();
                connection.write_all(response.as_bytes()).unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let warden = open_warden(POLICY, Arc::new(MemoryStore::new()));
        let options = RelayOptions::new("server", "s");
        let service =
            McpService::new(uri, options, Vec::new(), Vec::new(), warden, || Time(0), |_| {}).map(Arc::new).unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(service, listener));
        HttpProxy { _runtime: runtime, address, received }
    }

    /// Sends a message of the session and returns the response.
    fn post(&self, body: &str) -> String {
        self.send("POST", body)
    }

    fn send(&self, method: &str, body: &str) -> String {
        let mut connection = TcpStream::connect(self.address).unwrap();
        let session = if body == INITIALIZE { "" } else { "Mcp-Session-Id: s1\r\n" };
        let length = body.len();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{session}Content-Length: {length}\r\n\r\n"
        );
        connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[test]
fn retry_after_failed_response_reaches_server() {
    let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n";
    let failures = [
        response("200 OK", "text/html", "<html>busy</html>"),
        response("503 Service Unavailable", "text/plain", "busy"),
        response("429 Too Many Requests", "application/json", r#"{"message":"busy"}"#),
        response("200 OK", "application/json", ""),
        response("200 OK", "application/json", &result("77", "another id")),
        response("200 OK", "application/json", r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#),
        response("200 OK", "text/event-stream", progress),
        response("200 OK", "text/event-stream", &format!("id: e1\n{progress}")),
        String::new(),
    ];
    let mut responses = vec![response("200 OK", "application/json", INITIALIZED)];
    let fine = response("200 OK", "application/json", &result("1", "fine"));
    responses.extend(failures.iter().flat_map(|failure| [failure.clone(), fine.clone()]));
    let proxy = HttpProxy::start(responses);
    assert!(proxy.post(INITIALIZE).contains("serverInfo"));
    proxy.received.recv().unwrap();
    for failure in failures {
        let first = proxy.post(&call("1", "weather", "{}"));
        assert!(!first.contains("fine"), "{failure}: {first}");
        let retry = proxy.post(&call("1", "weather", "{}"));
        assert!(retry.contains("fine"), "{failure}: {retry}");
        assert_eq!(proxy.received.iter().take(2).filter(|sent| sent.contains("weather")).count(), 2);
    }
}

#[test]
fn resumed_stream_carries_the_response() {
    let progress = "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n";
    let proxy = HttpProxy::start(vec![
        response("200 OK", "application/json", INITIALIZED),
        response("200 OK", "text/event-stream", progress),
        response("200 OK", "text/event-stream", &format!("data: {}\n\n", result("1", "late"))),
    ]);
    assert!(proxy.post(INITIALIZE).contains("serverInfo"));
    assert!(proxy.post(&call("1", "weather", "{}")).contains("notifications/progress"));
    assert!(proxy.send("GET", "").contains("late"));
}
