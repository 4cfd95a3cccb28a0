//! The load: keep-alive connections, each with one exchange after the other, each exchange timed.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::contender::KEY;
use super::conversation;

/// An error that can come from another task.
pub(super) type Failure = Box<dyn Error + Send + Sync>;

/// Numbers conversations, so that all differ.
static CONVERSATIONS: AtomicU64 = AtomicU64::new(0);

/// The times of exchanges in microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// Until the first byte of the answer's body.
    pub(super) first: Vec<f64>,
    /// Until the whole answer.
    pub(super) whole: Vec<f64>,
}

impl Times {
    pub(super) fn sort(&mut self) {
        self.first.sort_unstable_by(f64::total_cmp);
        self.whole.sort_unstable_by(f64::total_cmp);
    }

    fn extend(&mut self, other: Times) {
        self.first.extend(other.first);
        self.whole.extend(other.whole);
    }
}

/// Returns the value below which this share of sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted.get((sorted.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    sender: SendRequest<Full<Bytes>>,
    port: u16,
}

impl Client {
    pub(super) async fn connect(port: u16) -> Result<Client, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Client { sender, port })
    }

    /// Runs one conversation. Stops after an exchange that ends after `until`.
    pub(super) async fn converse(&mut self, bodies: &[Bytes], until: Instant) -> Result<Times, Failure> {
        let session = format!("conversation-{}", CONVERSATIONS.fetch_add(1, Ordering::Relaxed));
        let mut times = Times::default();
        for body in bodies {
            let begun = Instant::now();
            let mut answer = self.ask(&session, body.clone()).await?;
            let mut first = None;
            while let Some(frame) = answer.frame().await {
                frame?;
                first = first.or(Some(begun.elapsed()));
            }
            let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
            times.first.push(micros(first.ok_or("an answer is empty")?));
            times.whole.push(micros(begun.elapsed()));
            if Instant::now() >= until {
                break;
            }
        }
        Ok(times)
    }

    async fn ask(&mut self, session: &str, body: Bytes) -> Result<Incoming, Failure> {
        let request = Request::post("/v1/chat/completions")
            .header("host", format!("127.0.0.1:{}", self.port))
            .header("authorization", format!("Bearer {KEY}"))
            .header("content-type", "application/json")
            .header("x-lictor-session", session)
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let answer = response.into_body();
        if status.is_success() {
            return Ok(answer);
        }
        let said = answer.collect().await?.to_bytes();
        Err(format!("port {} answers {status}: {}", self.port, String::from_utf8_lossy(&said)).into())
    }

    /// Sends one request, and fails unless the response is the model's reply.
    pub(super) async fn check(&mut self) -> Result<(), Failure> {
        let body = conversation::requests(false).into_iter().next().unwrap_or_default();
        let answer = self.ask("check", body).await?.collect().await?.to_bytes();
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        match answer["choices"][0]["message"]["content"].as_str() {
            Some(said) if said == conversation::said() => Ok(()),
            _ => Err(format!("port {} does not hand on what the model says: {answer}", self.port).into()),
        }
    }
}

/// Runs conversations on several connections for a time.
pub(super) async fn drive(
    port: u16,
    connections: usize,
    bodies: &Arc<Vec<Bytes>>,
    time: Duration,
) -> Result<Times, Failure> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(Client::connect(port).await?);
    }
    let until = Instant::now() + time;
    let converse = |mut client: Client| {
        let bodies = Arc::clone(bodies);
        async move {
            let mut times = Times::default();
            while Instant::now() < until {
                times.extend(client.converse(&bodies, until).await?);
            }
            Ok::<_, Failure>(times)
        }
    };
    let running: Vec<_> = clients.into_iter().map(|client| tokio::spawn(converse(client))).collect();
    let mut times = Times::default();
    for task in running {
        times.extend(task.await??);
    }
    times.sort();
    Ok(times)
}

/// Opens connections, some at a time, each with a new session and its first exchange; all stay open.
pub(super) async fn open(port: u16, connections: usize, at_once: usize) -> Result<Vec<Client>, Failure> {
    let bodies = Arc::new(conversation::requests(false));
    let share = connections.div_ceil(at_once);
    let shares = (0..at_once).map(|place| share.min(connections.saturating_sub(place * share)));
    let running: Vec<_> = shares
        .map(|count| {
            let bodies = Arc::clone(&bodies);
            tokio::spawn(async move {
                let mut opened = Vec::with_capacity(count);
                for _ in 0..count {
                    let mut client = Client::connect(port).await?;
                    client.converse(bodies.get(..1).unwrap_or_default(), Instant::now()).await?;
                    opened.push(client);
                }
                Ok::<_, Failure>(opened)
            })
        })
        .collect();
    let mut opened = Vec::new();
    for task in running {
        opened.extend(task.await??);
    }
    Ok(opened)
}
