//! A gateway that is killed repeatedly under load.
//!
//! Clients ask a model for tool calls, streamed and not. Each call has a tool name of its own, so that the ledger
//! identifies it. Some of the calls are forbidden. Afterwards every call that reached a client has a decision, no
//! forbidden one reached a client, every answered exchange has one record, and sessions still know the events before
//! the first kill. `LICTOR_KILLS` is the number of kills, 12 by default.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lictor_ledger::{Reader, verify};
use serde_json::{Value, json};

use crate::serve::RunningGateway;
use crate::serve::model::model;
use crate::wait_until;

const KILLS: u64 = 12;
const CLIENTS: u64 = 6;

const POLICY: &str = r#"
lictor: 1
name: killed
properties:
  - {id: no-drop, formula: 'always !tool_call("drop")', respond: block}
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block}
"#;

/// Returns the response, as far as it was received.
pub(super) fn ask(address: &str, session: &str, tool: &str, streams: bool) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let body = json!({"model": "m", "stream": streams, "messages": [{"role": "user", "content": tool}]}).to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
         x-lictor-session: {session}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut heard = Vec::new();
    // Bytes that were received before the disconnect count.
    let _ = stream.read_to_end(&mut heard);
    Some(String::from_utf8(heard).unwrap())
}

/// The responses of all clients.
#[derive(Default)]
struct ClientResponses {
    tools: BTreeSet<String>,
    exchanges: BTreeSet<String>,
    whole: u64,
}

impl ClientResponses {
    fn hear(&mut self, tool: &str, heard: &str) {
        assert!(!heard.contains("\"name\":\"drop\""), "a forbidden call crossed: {heard}");
        if heard.contains(&format!("\"name\":\"{tool}\"")) {
            self.tools.insert(tool.to_owned());
        }
        if let Some(rest) = heard.split("x-lictor-exchange: ").nth(1) {
            self.exchanges.insert(rest.lines().next().unwrap().trim().to_owned());
        }
        self.whole += u64::from(heard.ends_with("0\r\n\r\n") || heard.contains("\"object\":\"chat.completion\""));
    }
}

/// Sends requests until the test is over.
fn run_client(number: u64, address: &Mutex<String>, got: &Mutex<ClientResponses>, is_over: &AtomicBool) {
    for round in 0u64.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let tool = if round % 3 == 2 { "drop".to_owned() } else { format!("look-{number}-{round}") };
        let at = address.lock().unwrap().clone();
        match ask(&at, &format!("client-{number}-{}", round % 7), &tool, number.is_multiple_of(2)) {
            Some(heard) => got.lock().unwrap().hear(&tool, &heard),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Checks that the session that has paid cannot pay again.
fn check_payment_is_remembered(address: &str) {
    let heard = ask(address, "payer", "pay", false).unwrap();
    assert!(heard.contains("pay-once") && !heard.contains("\"name\":\"pay\""), "{heard}");
}

#[test]
fn killed_gateway_loses_nothing_and_leaks_nothing() {
    let kills = std::env::var("LICTOR_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    // The session that pays is corrected after every kill.
    let limits = "limits: {session_corrections: 1000}";
    let section = format!("gateway: {{listen: '127.0.0.1:0', upstream: 'http://{}', {limits}}}\n", model());
    std::fs::write(folder.path().join("lictor.yaml"), format!("{POLICY}{section}")).unwrap();
    let start = || RunningGateway::start(folder.path(), &["serve", "--state", "state", "--log", "log", "--quiet"]);
    let mut running = start();
    let heard = ask(&running.address, "payer", "pay", false).unwrap();
    assert!(heard.contains("\"name\":\"pay\""), "{heard}");
    let address = Arc::new(Mutex::new(running.address.clone()));
    let (got, is_over): (Arc<Mutex<ClientResponses>>, Arc<AtomicBool>) = Default::default();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (address, got, is_over) = (Arc::clone(&address), Arc::clone(&got), Arc::clone(&is_over));
            std::thread::spawn(move || run_client(number, &address, &got, &is_over))
        })
        .collect();
    for kill in 0..kills {
        // At a different moment each time, and always after some responses.
        let wanted = got.lock().unwrap().whole + CLIENTS + kill % 5;
        wait_until(&format!("clients are answered after kill {kill}"), || got.lock().unwrap().whole >= wanted);
        running.signal("-KILL");
        running.child.wait().unwrap();
        running = start();
        check_payment_is_remembered(&running.address);
        running.address.clone_into(&mut address.lock().unwrap());
    }
    is_over.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().unwrap());
    running.signal("-TERM");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));

    let reader = Reader::open(folder.path().join("log"));
    verify(&folder.path().join("log"), &reader.first_key().unwrap()).unwrap();
    let (mut forwarded, mut outcomes) = (BTreeSet::new(), BTreeMap::<String, Vec<String>>::new());
    for body in reader.records(0).unwrap().filter_map(|record| record.unwrap().body) {
        let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match text("type").as_str() {
            "decision" if text("kind") == "tool_call" && text("action") == "forward" => {
                forwarded.insert(text("tool"));
            }
            "exchange" => outcomes.entry(text("exchange")).or_default().push(text("outcome")),
            _ => {}
        }
    }
    let got = got.lock().unwrap();
    let unjudged: Vec<&String> = got.tools.difference(&forwarded).collect();
    assert!(unjudged.is_empty(), "calls reached a client without a decision: {unjudged:?}");
    assert!(!forwarded.contains("drop"));
    for exchange in &got.exchanges {
        let ended = outcomes.get(exchange).map_or(0, Vec::len);
        assert_eq!(ended, 1, "records of exchange {exchange}, of which a client heard: {:?}", outcomes.get(exchange));
    }
    assert!(outcomes.values().all(|ended| ended.len() == 1), "each exchange has one record");
    let cut_off = outcomes.values().flatten().filter(|outcome| *outcome == "cut_off").count();
    assert!(cut_off > 0, "no kill hit an exchange");
    assert!(got.tools.len() as u64 > kills && got.whole > kills * CLIENTS, "the clients got on");
}
