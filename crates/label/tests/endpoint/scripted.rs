//! A server on loopback that follows a script.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use lictor_json::Json;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedRequest {
    /// The request line and the header fields.
    pub(crate) head: String,
    pub(crate) body: Json,
}

/// What the server does with a request.
pub(crate) enum Turn {
    /// Answers with a status, header lines and a body.
    Reply(u16, &'static str, String),
    /// Sends these bytes, and nothing more until the client leaves.
    Hold(String),
    /// Sends these bytes and closes the connection.
    Close(String),
    /// Sends the first bytes, and then the others without end.
    Endless(&'static str, &'static str),
}

impl Turn {
    pub(crate) fn ok(body: impl Into<String>) -> Turn {
        Turn::Reply(200, "", body.into())
    }
}

/// A server that runs until the test's process ends.
pub(crate) struct ScriptedServer {
    port: u16,
    requests: Arc<Mutex<Vec<ScriptedRequest>>>,
    most_at_once: Arc<AtomicUsize>,
}

type Script = dyn Fn(usize, &ScriptedRequest) -> Turn + Send + Sync;

impl ScriptedServer {
    /// Starts a server. The script gets each request with its number.
    pub(crate) fn start(script: impl Fn(usize, &ScriptedRequest) -> Turn + Send + Sync + 'static) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = ScriptedServer { port, requests: Arc::default(), most_at_once: Arc::default() };
        let (requests, most_at_once) = (server.requests.clone(), server.most_at_once.clone());
        let script: Arc<Script> = Arc::new(script);
        let running = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, script) = (requests.clone(), script.clone());
                let (running, most_at_once) = (running.clone(), most_at_once.clone());
                thread::spawn(move || {
                    let mut stream = stream;
                    while let Some(request) = read_request(&mut stream) {
                        most_at_once.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        let number = {
                            let mut requests = requests.lock().unwrap();
                            requests.push(request.clone());
                            requests.len() - 1
                        };
                        let turn = script(number, &request);
                        running.fetch_sub(1, Ordering::SeqCst);
                        if !play(&mut stream, turn) {
                            return;
                        }
                    }
                });
            }
        });
        server
    }

    /// Returns the base address of an endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<ScriptedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the most requests that the script handled at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

fn read_request(stream: &mut impl Read) -> Option<ScriptedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(ScriptedRequest { head, body: lictor_json::parse(&body).unwrap() })
}

/// Plays a turn; whether the connection stays open.
fn play(stream: &mut TcpStream, turn: Turn) -> bool {
    match turn {
        Turn::Reply(status, headers, body) => stream.write_all(reply(status, headers, &body).as_bytes()).is_ok(),
        Turn::Close(bytes) => {
            let _ = stream.write_all(bytes.as_bytes());
            false
        }
        Turn::Hold(bytes) => {
            let _ = stream.write_all(bytes.as_bytes());
            let _ = stream.read(&mut [0]);
            false
        }
        Turn::Endless(first, rest) => {
            let mut sent = stream.write_all(first.as_bytes());
            while sent.is_ok() {
                sent = stream.write_all(rest.as_bytes());
            }
            false
        }
    }
}

/// Returns an HTTP reply.
pub(crate) fn reply(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

/// Answers one request over any stream, such as one with TLS.
pub(crate) fn serve_once(stream: &mut (impl Read + Write), body: &str) {
    if read_request(stream).is_some() {
        let _ = stream.write_all(reply(200, "", body).as_bytes());
        let _ = stream.flush();
    }
}
