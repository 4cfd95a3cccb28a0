//! Servers over HTTP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc;

use crate::mcp::sdk::script;
use crate::mcp::{ChildGuard, Place, check_outcomes};
use crate::wait_until;

/// Returns a free port.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a server of an SDK.
pub(crate) fn start_server(place: &Place, mut words: Vec<String>) -> (ChildGuard, String) {
    let port = free_port();
    words.push(port.to_string());
    let mut command = place.program(&words);
    let running = ChildGuard(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until("the server of the SDK listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (running, format!("http://127.0.0.1:{port}/mcp"))
}

fn run_between(client: &str, mode: &str, server: &str) -> Option<()> {
    let (mut words, server) = (script(client)?, script(server)?);
    let place = Place::new();
    let (_server, upstream) = start_server(&place, server);
    let (running, url) = place.start_proxy(&upstream);
    words.extend([mode.to_owned(), url]);
    let outcomes = place.run_client(&words);
    drop(running);
    if mode != "-" && mode != "legacy" {
        assert_eq!(outcomes["version"], mode);
    }
    check_outcomes(&outcomes, &place);
    Some(())
}

#[test]
fn python_to_python_in_older_revision() {
    run_between("client.py", "legacy", "server.py");
}

#[test]
fn python_to_python_in_newer_revision() {
    run_between("client.py", "2026-07-28", "server.py");
}

#[test]
fn typescript_to_typescript() {
    run_between("client.mjs", "-", "server.mjs");
}

/// Starts a server with one fixed response, and returns the requests that it gets.
fn upstream(answer: &'static str) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            let mut part = [0; 4096];
            while !is_whole(&request) {
                match connection.read(&mut part) {
                    Ok(read) if read > 0 => request.extend_from_slice(&part[..read]),
                    _ => break,
                }
            }
            if sender.send(String::from_utf8_lossy(&request).into_owned()).is_err() {
                return;
            }
            connection.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, received)
}

/// Whether a request is complete.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// Sends a raw request and returns the response.
fn ask(url: &str, headers: &[(&str, &str)], body: &str) -> String {
    let address = url.split('/').nth(2).unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let mut head = "POST /mcp HTTP/1.1\r\nConnection: close\r\n".to_owned();
    let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !given("host") {
        head.push_str("Host: localhost\r\n");
    }
    if !given("content-type") {
        head.push_str("Content-Type: application/json\r\n");
    }
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

const WEATHER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 77\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"rain\"}]}}";

fn call(tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

const MODERN: [(&str, &str); 2] = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call")];

#[test]
fn headers_that_contradict_the_body_are_refused() {
    let (address, received) = upstream(WEATHER);
    let place = Place::new();
    let (_running, url) = place.start_proxy(&address);
    let good = [MODERN.to_vec(), vec![("Mcp-Name", "weather")]].concat();
    let answer = ask(&url, &good, &call("weather"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("rain"), "{answer}");
    let sent = received.recv().unwrap();
    assert!(sent.to_lowercase().contains("mcp-name: weather") && sent.ends_with(&call("weather")), "{sent}");
    let cases = [
        (vec![("Mcp-Name", "weather")], "deploy"),
        (vec![("Mcp-Name", "deploy")], "weather"),
        (vec![], "weather"),
        (vec![("Mcp-Name", "weather"), ("Mcp-Name", "deploy")], "weather"),
    ];
    for (headers, tool) in cases {
        let answer = ask(&url, &[MODERN.to_vec(), headers.clone()].concat(), &call(tool));
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("-32020"), "{headers:?}: {answer}");
    }
    assert!(received.try_recv().is_err(), "the server heard of none of them");
}

#[test]
fn denied_call_is_never_sent() {
    let (address, received) = upstream(WEATHER);
    let place = Place::new();
    let (_running, url) = place.start_proxy(&address);
    let headers = [MODERN.to_vec(), vec![("Mcp-Name", "deploy")]].concat();
    let answer = ask(&url, &headers, &call("deploy"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""isError":true"#), "{answer}");
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy"}}"#;
    assert!(ask(&url, &[], old).contains(r#""isError":true"#));
    let none: &[(&str, &str)] = &[];
    let cases = [
        (none, "[{}]", "400"),
        (none, "nonsense", "400"),
        (none, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","name":"deploy"}}"#, "400"),
        (&[("Content-Type", "text/plain")], old, "415"),
        (&[("Content-Encoding", "gzip")], old, "415"),
        (&[("Host", "attacker.example")], old, "403"),
        (&[("Origin", "https://attacker.example")], old, "403"),
        (&[("Mcp-Session-Id", "made-up")], old, "404"),
    ];
    for (headers, body, status) in cases {
        let answer = ask(&url, headers, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers:?} {body}: {answer}");
    }
    assert!(received.try_recv().is_err(), "the server heard of none of them");
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[]}}\n\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"to ann@example.com\"}]}}\n\n";

#[test]
fn stream_is_judged_message_by_message() {
    let (address, _received) = upstream(STREAM);
    let place = Place::new();
    let (_running, url) = place.start_proxy(&address);
    let headers = [MODERN.to_vec(), vec![("Mcp-Name", "find")]].concat();
    let answer = ask(&url, &headers, &call("find"));
    assert!(answer.contains("notifications/progress"), "{answer}");
    assert!(!answer.contains("\"id\":7"), "unsolicited: {answer}");
    assert!(!answer.contains("ann@") && answer.contains(r#""isError":true"#), "{answer}");
}
