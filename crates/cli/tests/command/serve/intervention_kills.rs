//! A gateway that is killed within an intervention, at each point that a scripted model can see.
//!
//! The first reply to each request is risky, all others are not. The model stops at a point of one of its replies until the
//! gateway is dead. Afterwards each exchange has one record, each call that reached a client has a decision, nothing of a
//! dropped reply reached a client, and the session has asked for no more replies than it may.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lictor_ledger::{Reader, verify};
use serde_json::{Value, json};

use crate::serve::RunningGateway;
use crate::serve::kills::ask;
use crate::serve::model::{read_message, write_chunk};

/// How many replies a session may ask for.
const SESSION_CALLS: usize = 3;

/// How long a test waits for the model to reach a point before it fails.
const POINT_TIMEOUT: Duration = Duration::from_secs(60);

const POLICY: &str = r#"
lictor: 1
name: killed
properties:
  - {id: no-drop, formula: 'always !tool_call("drop")', respond: block}
predict: {chain: chain.json, within: 2, risk: 0.3, hold: 0.4, intervene: [resample], candidates: 3, session_calls: 3}
"#;

/// A point of a reply at which the gateway is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyPoint {
    /// The model has the request, and has sent nothing.
    Asked,
    /// Half of the reply is sent.
    Half,
    /// All of the reply is sent.
    Sent,
}

const POINTS: [ReplyPoint; 3] = [ReplyPoint::Asked, ReplyPoint::Half, ReplyPoint::Sent];

/// What the model does for one request of a client.
struct Script {
    /// How often it was asked.
    asked: usize,
    /// The reply, by its number, and the point in it at which the gateway is killed.
    death: Option<(usize, ReplyPoint)>,
}

/// A model that stops where its script says.
struct DeadlyModel {
    script: Mutex<Script>,
    reached: Mutex<Sender<()>>,
    killed: Mutex<Receiver<()>>,
}

impl DeadlyModel {
    /// Starts the model. Returns it, its address, and what reports that it waits, and takes that the gateway is dead.
    fn start() -> (Arc<DeadlyModel>, String, Receiver<()>, Sender<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let ((reached, is_reached), (kill, killed)) = (channel(), channel());
        let script = Mutex::new(Script { asked: 0, death: None });
        let model = Arc::new(DeadlyModel { script, reached: Mutex::new(reached), killed: Mutex::new(killed) });
        let served = Arc::clone(&model);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, model) = (stream.unwrap(), Arc::clone(&served));
                stream.set_nodelay(true).unwrap();
                std::thread::spawn(move || while model.play(&stream).is_some() {});
            }
        });
        (model, address, is_reached, kill)
    }

    /// Begins the next request of a client. Returns how often the model was asked for the last one.
    fn begin(&self, death: Option<(usize, ReplyPoint)>) -> usize {
        std::mem::replace(&mut *self.script.lock().unwrap(), Script { asked: 0, death }).asked
    }

    /// Waits until the gateway is dead, if it is to die at this point.
    fn pass(&self, number: usize, point: ReplyPoint) {
        if self.script.lock().unwrap().death == Some((number, point)) {
            self.reached.lock().unwrap().send(()).unwrap();
            self.killed.lock().unwrap().recv().unwrap();
        }
    }

    fn play(&self, stream: &TcpStream) -> Option<()> {
        let (_, body) = read_message(&mut BufReader::new(stream.try_clone().ok()?))?;
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let number = {
            let mut script = self.script.lock().unwrap();
            script.asked += 1;
            script.asked - 1
        };
        self.pass(number, ReplyPoint::Asked);
        let tool = if number == 0 { "open_shell" } else { "open_console" };
        let sent = match asked["stream"] == json!(true) {
            true => self.stream(stream, number, tool),
            false => self.reply(stream, number, tool),
        };
        self.pass(number, ReplyPoint::Sent);
        sent
    }

    fn reply(&self, mut stream: &TcpStream, number: usize, tool: &str) -> Option<()> {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call(number, tool)]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        let reply = json!({"id": format!("r{number}"), "object": "chat.completion", "created": 1, "model": "m",
            "choices": [choice]})
        .to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", reply.len());
        let (half, rest) = reply.split_at(reply.len() / 2);
        stream.write_all(format!("{head}{half}").as_bytes()).ok()?;
        self.pass(number, ReplyPoint::Half);
        stream.write_all(rest.as_bytes()).ok()
    }

    fn stream(&self, mut stream: &TcpStream, number: usize, tool: &str) -> Option<()> {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .ok()?;
        let mut indexed = call(number, tool);
        indexed["index"] = json!(0);
        let deltas = [
            (json!({"role": "assistant", "content": ""}), Value::Null),
            (json!({"content": format!("I use {tool}.")}), Value::Null),
            (json!({"tool_calls": [indexed]}), Value::Null),
            (json!({}), json!("tool_calls")),
        ];
        for (place, (delta, reason)) in deltas.into_iter().enumerate() {
            if place == 2 {
                self.pass(number, ReplyPoint::Half);
            }
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            let event = json!({"id": format!("r{number}"), "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": [choice]});
            write_chunk(stream, &format!("data: {event}\n\n"))?;
        }
        write_chunk(stream, "data: [DONE]\n\n")?;
        stream.write_all(b"0\r\n\r\n").ok()
    }
}

fn call(number: usize, tool: &str) -> Value {
    json!({"id": format!("call-{number}"), "type": "function", "function": {"name": tool, "arguments": "{}"}})
}

/// What clients got, by exchange.
#[derive(Default)]
struct HeardExchanges {
    all: BTreeSet<String>,
    with_call: BTreeSet<String>,
}

impl HeardExchanges {
    /// Takes note of an answer. Returns whether the client has a call.
    fn note(&mut self, heard: &str) -> bool {
        let Some(rest) = heard.split("x-lictor-exchange: ").nth(1) else { return false };
        let exchange = rest.lines().next().unwrap().trim().to_owned();
        self.all.insert(exchange.clone());
        let has_call = heard.contains("\"name\":\"open_");
        if has_call {
            self.with_call.insert(exchange);
        }
        has_call
    }
}

#[test]
fn killed_intervention_keeps_records_and_budget() {
    let folder = tempfile::tempdir().unwrap();
    let (model, upstream, is_reached, kill) = DeadlyModel::start();
    let section = format!("gateway: {{listen: '127.0.0.1:0', upstream: 'http://{upstream}'}}\n");
    std::fs::write(folder.path().join("lictor.yaml"), format!("{POLICY}{section}")).unwrap();
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    std::fs::copy(chain, folder.path().join("chain.json")).unwrap();
    let start = || RunningGateway::start(folder.path(), &["serve", "--state", "state", "--log", "log", "--quiet"]);
    let (mut running, mut heard, mut cut) = (start(), HeardExchanges::default(), 0);
    let numbers = (0..=SESSION_CALLS).flat_map(|number| POINTS.map(|point| (number, point)));
    for (streams, (number, point)) in numbers.flat_map(|it| [(false, it), (true, it)]) {
        let about = format!("stream: {streams}, reply {number}, {point:?}");
        let session = format!("session-{number}-{point:?}-{streams}");
        model.begin(Some((number, point)));
        let (address, name) = (running.address.clone(), session.clone());
        let client = std::thread::spawn(move || ask(&address, &name, "Tidy up.", streams));
        is_reached.recv_timeout(POINT_TIMEOUT).unwrap_or_else(|_| panic!("the model is not asked: {about}"));
        running.signal("-KILL");
        running.child.wait().unwrap();
        kill.send(()).unwrap();
        let got = client.join().unwrap().unwrap();
        assert!(!got.contains("open_shell"), "{about}: {got}");
        let had_call = heard.note(&got);
        running = start();
        let before = model.begin(None) - 1;
        let got = ask(&running.address, &session, "Tidy up.", streams).unwrap();
        heard.note(&got);
        let again = model.begin(None) - 1;
        let candidates = before + again;
        assert!(candidates <= SESSION_CALLS, "{candidates} replies were asked for, {about}");
        // Replies that were counted and not asked for are lost with the process: streams are counted one by one, whole
        // replies all at once. The last one may have been judged.
        let lost = if streams { 1 } else { SESSION_CALLS };
        if number < SESSION_CALLS && !had_call {
            cut += 1;
            assert!(candidates + lost >= SESSION_CALLS, "{candidates} replies were asked for, {about}");
            assert_eq!(got.contains("open_shell"), again == 0, "{about}: {got}");
        }
    }
    running.signal("-TERM");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    // The gateway may answer before it is killed only where the model has sent its last reply but one.
    assert!(cut >= 16, "{cut}");

    let reader = Reader::open(folder.path().join("log"));
    verify(&folder.path().join("log"), &reader.first_key().unwrap()).unwrap();
    let (mut ends, mut calls) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    let mut interventions = BTreeMap::<String, usize>::new();
    for body in reader.records(0).unwrap().filter_map(|record| record.unwrap().body) {
        let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match text("type").as_str() {
            "decision" if text("kind") == "tool_call" && text("action") == "forward" => {
                calls.insert(text("exchange"));
            }
            "intervention" => *interventions.entry(text("exchange")).or_default() += 1,
            "exchange" => *ends.entry(text("exchange")).or_default() += 1,
            _ => {}
        }
    }
    assert!(ends.values().all(|count| *count == 1), "each exchange has one record: {ends:?}");
    assert!(interventions.values().all(|count| *count == 1), "{interventions:?}");
    let unrecorded: Vec<&String> = heard.all.iter().filter(|exchange| !ends.contains_key(*exchange)).collect();
    assert!(unrecorded.is_empty(), "clients heard of exchanges without a record: {unrecorded:?}");
    let undecided: Vec<&String> = heard.with_call.difference(&calls).collect();
    assert!(undecided.is_empty(), "calls reached a client without a decision: {undecided:?}");
    assert!(heard.with_call.len() >= 16, "{}", heard.with_call.len());
}
