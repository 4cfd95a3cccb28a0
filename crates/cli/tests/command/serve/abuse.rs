//! Abusive clients with handmade HTTP/2 frames. The gateway closes their connections or tolerates them; its memory
//! stays bounded, and other clients are served.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::serve::RunningGateway;
use crate::serve::model::model;
use crate::wait_until;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACKNOWLEDGED: u8 = 1;

/// How much memory may grow, in bytes: far less than any of the attacks asks for.
const GROWTH: u64 = 64 << 20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns the header fields of a request, in HPACK with the static table only.
fn fields(path: &str, session: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let own = [vec![0x00], text("x-lictor-session"), text(session)].concat();
    [vec![0x83, 0x86, 0x04], text(path), vec![0x01], text("a"), own].concat()
}

/// Returns the frames of a request for a call, on a stream of its own.
fn request(stream: u32, session: &str, tool: &str, streams: bool) -> Vec<u8> {
    let body = json!({"model": "m", "stream": streams, "messages": [{"role": "user", "content": tool}]}).to_string();
    let head = frame(HEADERS, END_HEADERS, stream, &fields("/v1/chat/completions", session));
    [head, frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
}

/// An HTTP/2 connection with handmade frames.
struct Attacker(TcpStream);

impl Attacker {
    fn connect(address: &str, settings: &[u8]) -> Attacker {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        let hello = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, settings)].concat();
        stream.write_all(&hello).unwrap();
        Attacker(stream)
    }

    /// Sends bytes; returns whether the gateway accepted all of them.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Reads frames until `patience` reads have timed out. Returns them as kind, stream and payload, and whether the
    /// connection was closed.
    fn hear(&mut self, mut patience: u32) -> (Vec<(u8, u32, Vec<u8>)>, bool) {
        let (mut bytes, mut chunk) = (Vec::new(), [0u8; 16 << 10]);
        let is_over = loop {
            match self.0.read(&mut chunk) {
                Ok(0) => break true,
                Ok(length) => bytes.extend_from_slice(&chunk[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    patience -= 1;
                    if patience == 0 {
                        break false;
                    }
                }
                Err(_) => break true,
            }
        };
        let (mut frames, mut rest) = (Vec::new(), bytes.as_slice());
        while let [a, b, c, kind, _, d, e, f, g, more @ ..] = rest {
            let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap();
            let Some(payload) = more.get(..length) else { break };
            if *kind == PING {
                self.send(&frame(PING, ACKNOWLEDGED, 0, payload));
            }
            frames.push((*kind, u32::from_be_bytes([*d, *e, *f, *g]), payload.to_vec()));
            rest = &more[length..];
        }
        (frames, is_over)
    }

    /// Returns the error with which the connection was closed: the code of the last GOAWAY.
    fn ended_with(&mut self) -> Option<u32> {
        let (frames, is_over) = self.hear(200);
        assert!(is_over, "the connection was not ended");
        let last = frames.iter().rfind(|(kind, _, _)| *kind == GO_AWAY)?;
        Some(u32::from_be_bytes(last.2[4..8].try_into().unwrap()))
    }
}

/// A gateway to attack, with its resident memory after a warm-up.
struct AttackTarget {
    running: RunningGateway,
    before: u64,
    _folder: tempfile::TempDir,
}

impl AttackTarget {
    fn start() -> AttackTarget {
        let folder = tempfile::tempdir().unwrap();
        let limits = "{write: 1}";
        let section = format!("gateway: {{listen: '127.0.0.1:0', upstream: 'http://{}', limits: {limits}}}\n", model());
        std::fs::write(folder.path().join("lictor.yaml"), format!("lictor: 1\nname: p\n{section}")).unwrap();
        let running = RunningGateway::start(folder.path(), &["serve", "--state", "state", "--log", "log", "--quiet"]);
        let mut attacked = AttackTarget { running, before: 0, _folder: folder };
        (0..5).for_each(|_| attacked.serves());
        attacked.before = attacked.memory();
        attacked
    }

    /// Returns the resident memory in bytes.
    fn memory(&self) -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.running.child.id())).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    /// Checks that another client is served.
    fn serves(&self) {
        let mut client = Attacker::connect(&self.running.address, &[]);
        client.send(&request(1, "well-meaning", "look", false));
        let (mut heard, mut rounds) = (Vec::new(), 0);
        while !heard.iter().any(|(kind, stream, payload): &(u8, u32, Vec<u8>)| {
            (*kind, *stream) == (DATA, 1) && String::from_utf8_lossy(payload).contains("call-look")
        }) {
            rounds += 1;
            assert!(rounds < 1000, "no other client is served: {heard:?}");
            heard.extend(client.hear(1).0);
        }
    }

    /// Checks that memory has not grown too much and that other clients are served.
    fn bears(&self, attack: &str) {
        self.bears_within(attack, GROWTH);
    }

    fn bears_within(&self, attack: &str, growth: u64) {
        let now = self.memory();
        assert!(now < self.before + growth, "{attack}: {} KiB became {} KiB", self.before >> 10, now >> 10);
        self.serves();
    }
}

#[test]
fn flood_of_cheap_frames_closes_connection() {
    let attacked = AttackTarget::start();
    let address = attacked.running.address.clone();

    // Streams that are opened and reset at once (rapid reset).
    let mut attacker = Attacker::connect(&address, &[]);
    let pair = |stream: u32| {
        let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields("/v1/models", "s"));
        [head, frame(RESET, 0, stream, &8u32.to_be_bytes())].concat()
    };
    let resets: Vec<u8> = (0..20_000).flat_map(|number| pair(2 * number + 1)).collect();
    attacker.send(&resets);
    assert_eq!(attacker.ended_with(), Some(0xb), "rapid reset: enhance your calm");
    attacked.bears("rapid reset");

    // A header block that never ends.
    let mut attacker = Attacker::connect(&address, &[]);
    attacker.send(&frame(HEADERS, 0, 1, &fields("/v1/models", "s")));
    let more =
        frame(CONTINUATION, 0, 1, &[[0, 1, b'a', 127, 0x81, 0x7e].as_slice(), &[b'x'; 16_256]].concat()[..16_000]);
    let took_all = (0..4_000).all(|_| attacker.send(&more));
    assert!(!took_all, "64 MB of one head were taken");
    attacked.bears("continuation");

    // A small header block that unpacks to 64 MB.
    let mut attacker = Attacker::connect(&address, &[]);
    let entry = [&[0x40, 1, b'a', 0x7f, 0xa1, 0x1e], [b'x'; 4000].as_slice()].concat();
    for stream in 0..50u32 {
        let fields = [fields("/v1/models", "s"), entry.clone(), vec![0xbe; 12_000]].concat();
        if !attacker.send(&frame(HEADERS, END_HEADERS | END_STREAM, 2 * stream + 1, &fields)) {
            break;
        }
    }
    let (frames, is_over) = attacker.hear(20);
    let answered = frames.iter().any(|(kind, _, _)| *kind == HEADERS);
    assert!(is_over || answered, "heads that are too large are answered or end the connection");
    attacked.bears("hpack");

    // Frames that need an answer, from a client that does not read.
    let mut attacker = Attacker::connect(&address, &[]);
    let pings: Vec<u8> = (0..10_000).flat_map(|_| frame(PING, 0, 0, &[0; 8])).collect();
    (0..20).all(|_| attacker.send(&pings));
    attacked.bears("ping");
}

#[test]
fn stalled_client_is_closed() {
    let attacked = AttackTarget::start();
    let address = attacked.running.address.clone();
    // No window: 100 answers of four megabytes each, of which nothing may be sent.
    let no_window = [0, 4, 0, 0, 0, 0];
    let mut attackers: Vec<Attacker> = (0..4).map(|_| Attacker::connect(&address, &no_window)).collect();
    for (place, attacker) in attackers.iter_mut().enumerate() {
        for number in 0..25 {
            assert!(attacker.send(&request(2 * number + 1, &format!("second-{place}-{number}"), "long", true)));
        }
    }
    attacked.serves();
    let figure = |name: &str| {
        let metrics = attacked.running.ask("GET /lictor/metrics");
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_owned);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(u64::MAX)
    };
    wait_until("exchanges of stalled clients are closed", || figure("lictor_requests_in_flight") == 0);
    // All of it would be 400 MB. A hundred exchanges in flight buffer less, and the allocator keeps that memory.
    attacked.bears_within("zero window", 160 << 20);
    drop(attackers);
}
