//! Failures of the model, the client and the disk.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use lictor_ledger::{Disk, DiskFile, RealDisk};
use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::crossing::{NOTHING, POLICY, saying, told};
use crate::vendor::{Say, call, hear_stream, path, reply, request, stream, text};
use crate::world::{Ends, Model, Play, SeenRequest, World, of_type, plan, records};

/// Returns the only record of an exchange, once it is written.
async fn exchange(world: World) -> Value {
    let records = world.end().await;
    let exchanges = of_type(&records, "exchange");
    assert_eq!(exchanges.len(), 1, "{exchanges:#?}");
    exchanges[0].clone()
}

/// Waits until no exchange is in flight: all records are written.
pub(crate) async fn quiet(world: &World) {
    for _ in 0..500 {
        if world.figure("lictor_requests_in_flight").await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("exchanges do not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_cut_by_upstream_is_judged_as_truncated() {
    for api in Api::ALL {
        let model = Model::start(move |_| {
            let events = stream(
                api,
                &[text("The patient has diabetes and more"), call("c1", "drop", json!({"what": "all of it"}))],
                4,
            );
            Play { ends: Ends::Cut, ..Play::stream(&events[..events.len() - 4]) }
        })
        .await;
        let world = plan(&model, POLICY).start().await;
        let got = world.post(path(api), "s", &request(api, "hi", true)).await;
        assert!(!got.is_whole, "{api:?}: nobody takes a part for all");
        assert!(!got.text().contains("diab"), "{api:?}: {}", got.text());
        let heard = hear_stream(api, &got.body);
        assert!(heard.calls.is_empty(), "{api:?}: {heard:?}");
        assert_eq!(exchange(world).await["outcome"], "truncated", "{api:?}");
    }
}

/// The rest of the event is lost: that is no fault of its content.
#[tokio::test(flavor = "multi_thread")]
async fn stream_cut_within_event_is_truncated() {
    for api in Api::ALL {
        let model = Model::start(move |_| {
            let mut events = stream(api, &[text("Hello there, friend"), call("c1", "look", json!({"what": "x"}))], 4);
            let place = events.len() - 4;
            let torn = events[place][..events[place].len() / 2].to_owned();
            events.truncate(place);
            events.push(torn);
            Play { ends: Ends::Cut, ..Play::stream(&events) }
        })
        .await;
        let world = plan(&model, POLICY).start().await;
        let got = world.post(path(api), "s", &request(api, "hi", true)).await;
        assert!(!got.is_whole, "{api:?}: {}", got.text());
        assert!(got.text().contains("Hell") && !got.text().contains("error"), "{api:?}: {}", got.text());
        assert_eq!(exchange(world).await["outcome"], "truncated", "{api:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_unreachable_or_slow_gives_vendor_error() {
    for api in Api::ALL {
        let model = saying(Vec::new()).await;
        let mut unreachable = plan(&model, NOTHING);
        unreachable.config.upstream = "http://127.0.0.1:1".parse().unwrap();
        let world = unreachable.start().await;
        let got = world.post(path(api), "s", &request(api, "hi", false)).await;
        assert_eq!((got.status, got.code()), (502, "upstream.unreachable"));
        assert!(got.json()["error"]["message"].is_string());
        assert_eq!(exchange(world).await["outcome"], "upstream_gone");

        let model =
            Model::start(|_| Play { ends: Ends::Silent, pieces: Vec::new(), pause: Duration::ZERO, ..Play::json("") })
                .await;
        let mut slow = plan(&model, NOTHING);
        slow.config.limits.answer = Duration::from_millis(200);
        let world = slow.start().await;
        let got = world.post(path(api), "s", &request(api, "hi", false)).await;
        assert!(matches!(got.status, 502 | 504), "{}", got.text());
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_disconnect_ends_exchange_with_record() {
    let model = Model::start(|_| {
        let events = stream(Api::Chat, &[text(&"word ".repeat(2000))], 5);
        Play { pause: Duration::from_millis(5), ..Play::stream(&events) }
    })
    .await;
    let world = plan(&model, NOTHING).start().await;
    let body = request(Api::Chat, "hi", true).to_string();
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let head = format!("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", path(Api::Chat), body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut some = [0u8; 600];
    stream.read_exact(&mut some).await.unwrap();
    drop(stream);
    quiet(&world).await;
    let record = exchange(world).await;
    assert_eq!(record["outcome"], "client_gone");
    assert!(record["got"].as_u64().unwrap() < 100_000, "the upstream was cancelled: {record}");
}

#[tokio::test(flavor = "multi_thread")]
async fn body_limits_cover_compressed_bodies() {
    let model = saying(vec![text("hi")]).await;
    let mut bounded = plan(&model, NOTHING);
    bounded.config.limits.body = 100_000;
    let world = bounded.start().await;
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        Bytes::from(encoder.finish().unwrap())
    };
    let large = request(Api::Chat, &"x".repeat(200_000), false).to_string();
    let fine = request(Api::Chat, "hi", false).to_string();
    let post = |body: Bytes, encoding: &'static str| {
        let world = &world;
        async move { world.ask(Method::POST, path(Api::Chat), &[("content-encoding", encoding)], body).await }
    };
    for (body, encoding, wanted) in [
        (Bytes::from(large.clone()), "identity", "body.too_large"),
        (gzip(large.as_bytes()), "gzip", "body.too_large"),
        (gzip(&vec![b' '; 90_000]), "gzip", "body.too_large"),
        (Bytes::from(fine.clone()), "br", "body.encoding"),
        (Bytes::from(fine.clone()), "gzip", "body.damaged"),
    ] {
        let got = post(body, encoding).await;
        assert_eq!(got.code(), wanted, "{encoding}: {}", got.text());
    }
    assert!(model.seen().is_empty());
    let got = post(gzip(fine.as_bytes()), "gzip").await;
    assert_eq!(got.status, 200, "{}", got.text());
    let seen = model.seen().pop().unwrap();
    assert_eq!(seen.body, fine);
    assert!(!seen.headers.contains_key("content-encoding"));
    let nested = format!("{{\"model\":\"m\",\"messages\":[],\"x\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
    let got = world.ask(Method::POST, path(Api::Chat), &[], nested).await;
    assert_eq!(got.status, 400);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_failure_stops_forwarding() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let got = world.post(path(Api::Messages), "s", &request(Api::Messages, "hi", false)).await;
    assert_eq!(got.status, 200);
    quiet(&world).await;
    // The folder of the ledger is gone: nothing can be created there.
    let (log, away) = (world.log.clone(), world.log.with_extension("away"));
    std::fs::rename(&log, &away).unwrap();
    std::fs::write(&log, "in the way").unwrap();
    let before = model.seen().len();
    let mut statuses = Vec::new();
    for api in Api::ALL {
        let got = world.post(path(api), "t", &request(api, "hi", true)).await;
        statuses.push((got.status, got.code().to_owned()));
    }
    std::fs::remove_file(&log).unwrap();
    std::fs::rename(&away, &log).unwrap();
    // An open file can still be written after its folder moved. The invariant: nothing is forwarded without a record.
    let reached = model.seen().len() - before;
    let refused = statuses.iter().filter(|(status, code)| *status == 503 && code == "audit.unavailable").count();
    assert_eq!(reached + refused, 3, "{statuses:?}");
    let mut world = world;
    quiet(&world).await;
    world.stop().await;
    let records = records(&log);
    let forwarded = of_type(&records, "exchange").iter().filter(|record| record["sent_up"].as_u64() > Some(0)).count();
    assert_eq!(forwarded, before + reached);
}

/// Returns the model's reply to a request, by its number.
fn say(number: usize) -> Vec<Say> {
    match number % 4 {
        0 => vec![text(&"word ".repeat(number % 50))],
        1 => vec![call("c", "look", json!({"n": number}))],
        2 => vec![
            text("a\nb\u{e9}\u{1f600}"),
            call("c", "look", json!({"x": "y\"z"})),
            call("d", "see", json!({"n": [1]})),
        ],
        _ => vec![text("x")],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exchange_record_covers_every_byte() {
    let exchanges = crate::cases(250);
    let number = |seen: &SeenRequest| seen.headers["x-number"].to_str().unwrap().parse::<usize>().unwrap();
    let model = Model::start(move |seen| told(seen, &say(number(seen)))).await;
    let world = Arc::new(plan(&model, NOTHING).start().await);
    let mut workers = Vec::new();
    for worker in 0..16 {
        let world = Arc::clone(&world);
        workers.push(tokio::spawn(async move {
            let (mut sent, mut got_bytes) = (0, 0);
            for number in (worker..exchanges).step_by(16) {
                let (api, streams) = (Api::ALL[number % 3], number % 2 == 0);
                let body = request(api, &format!("say {number}"), streams).to_string();
                let (numbered, session) = (number.to_string(), format!("s{}", number % 7));
                let headers = [("x-number", numbered.as_str()), ("x-lictor-session", session.as_str())];
                let got = world.ask(Method::POST, path(api), &headers, body.clone()).await;
                assert_eq!(got.status, 200, "{}", got.text());
                let said = say(number);
                let wanted = if streams { stream(api, &said, 3).concat() } else { reply(api, &said) };
                assert_eq!(got.text(), wanted, "byte for byte");
                sent += body.len() as u64;
                got_bytes += got.body.len() as u64;
            }
            (sent, got_bytes)
        }));
    }
    let (mut sent, mut got_bytes) = (0, 0);
    for worker in workers {
        let (some, others) = worker.await.unwrap();
        (sent, got_bytes) = (sent + some, got_bytes + others);
    }
    for seen in model.seen() {
        let body = request(Api::ALL[number(&seen) % 3], &format!("say {}", number(&seen)), number(&seen) % 2 == 0);
        assert_eq!(seen.body, body.to_string());
    }
    let records = Arc::into_inner(world).unwrap().end().await;
    let recorded = of_type(&records, "exchange");
    let sum = |key: &str| recorded.iter().map(|record| record[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(recorded.len(), exchanges);
    assert_eq!((sum("received"), sum("sent_up")), (sent, sent));
    assert_eq!((sum("got"), sum("sent_down")), (got_bytes, got_bytes));
}

/// A disk that refuses writes while it is full, and makes them wait while it is stuck.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fills {
    pub(crate) is_full: Arc<AtomicBool>,
    pub(crate) is_stuck: Arc<AtomicBool>,
    /// Whether a write has waited.
    pub(crate) has_waited: Arc<AtomicBool>,
}

#[derive(Debug)]
struct FillsFile(Fills, Box<dyn DiskFile>);

impl Disk for Fills {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_folder(path)
    }

    fn open(&self, path: &Path, is_private: bool) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FillsFile(self.clone(), RealDisk.open(path, is_private)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_folder(path)
    }
}

impl DiskFile for FillsFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        while self.0.is_stuck.load(Ordering::SeqCst) {
            self.0.has_waited.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
        }
        match self.0.is_full.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => self.1.write_at(offset, bytes),
        }
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.1.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.sync()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unrecorded_decision_is_made_again_on_retry() {
    let disk = Fills::default();
    let (fills, is_armed) = (disk.clone(), AtomicBool::new(true));
    // While the model answers the second question, the disk fills up, once.
    let model = Model::start(move |seen| {
        if seen.json()["messages"].as_array().unwrap().len() == 3 && is_armed.swap(false, Ordering::SeqCst) {
            fills.is_full.store(true, Ordering::SeqCst);
        }
        Play::json(reply(Api::Chat, &[text("there")]).to_string())
    })
    .await;
    let mut small = plan(&model, POLICY);
    small.disk = Arc::new(disk.clone());
    let world = small.start().await;
    let ask = async |said: &[&str]| {
        let roles = ["user", "assistant"].into_iter().cycle();
        let messages = said.iter().zip(roles).map(|(text, role)| json!({"role": role, "content": text}));
        let body = json!({"model": "m", "messages": messages.collect::<Vec<_>>()});
        let got = world.post(path(Api::Chat), "s", &body).await;
        (got.status, got.code().to_owned())
    };
    let unavailable = (503, "audit.unavailable".to_owned());
    assert_eq!(ask(&["hi"]).await.0, 200);
    assert_eq!(ask(&["hi", "there", "again"]).await, unavailable, "nobody gets what is not written down");
    let reached = model.seen().len();
    assert_eq!(ask(&["hi", "there", "again"]).await, unavailable, "what cannot be written down does not go on");
    assert_eq!(model.seen().len(), reached);
    assert_eq!(world.ready_as(503).await, 503);
    disk.is_full.store(false, Ordering::SeqCst);
    assert_eq!(ask(&["hi", "there", "again"]).await.0, 200);
    assert_eq!(ask(&["hi", "there", "again", "there", "bye"]).await.0, 200);
    quiet(&world).await;
    assert_eq!(world.ready_as(200).await, 200);
    // The answer that the client did not get is not part of the history that it sends.
    assert_eq!(world.figure("lictor_histories_changed_total").await, 0);
    let records = world.end().await;
    let questions = of_type(&records, "decision").iter().filter(|record| record["kind"] == "user_message").count();
    assert_eq!(questions, 3, "each was decided once");
    let exchanges = of_type(&records, "exchange");
    let mut outcomes: Vec<&str> = exchanges.iter().map(|record| record["outcome"].as_str().unwrap()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["audit_unavailable", "audit_unavailable", "done", "done", "done"]);
}
