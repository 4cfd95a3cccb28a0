//! Streams that are held whole: what is taken is judged as if it had just arrived, however it was cut into pieces.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lictor_exchange::{ExchangeOptions, LocalExchange, LocalSessions, changes_texts};
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::{Foresight, Judge};
use lictor_policy::{FileResolver, Policy};
use lictor_wire::Api;
use serde_json::Value;

use crate::check;

const PROPERTIES: &str = r#"
lictor: 1
name: shop
properties:
  - {id: no-drop, formula: 'always !tool_call("drop")', respond: block}
  - {id: no-mail, formula: 'always !(assistant_message & carries("email"))', respond: redact}
"#;

const PREDICT: &str =
    "predict: {chain: $FILES/chain.json, within: 2, risk: 0.3, hold: 0.4, intervene: [resample], candidates: 1}\n";

/// A guard and its sessions, with one exchange.
struct Played {
    guard: Guard,
    sessions: LocalSessions,
    exchange: LocalExchange,
}

impl Played {
    fn new(policy: &str, api: Api, request: &Value) -> Played {
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/files").display().to_string();
        let policy = Policy::parse(&policy.replace("$FILES", &files), "p.yaml", &FileResolver).unwrap().policy;
        let judge = Judge::new(&policy).unwrap();
        let foresight = Foresight::open(&judge, &policy).unwrap();
        let mut options = ExchangeOptions::default();
        options.previews_text = changes_texts(&policy);
        options.hold_back = 256;
        options.interventions = policy.predict.clone().map(Arc::new);
        let mut played = Played {
            guard: Guard::new(judge, GuardOptions::default()).foreseeing(foresight),
            sessions: LocalSessions::default(),
            exchange: LocalExchange::new(api, "1".into(), "s".to_owned(), options),
        };
        let parts = (&mut played.sessions, &mut played.guard as _);
        played.exchange.request(parts, Bytes::from(request.to_string())).unwrap();
        played
    }

    /// Hands over a stream in pieces of `size` bytes, and returns what the client gets.
    fn stream(&mut self, stream: &str, size: usize) -> Vec<u8> {
        let mut client = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            let parts = (&mut self.sessions, &mut self.guard as _);
            client.extend(self.exchange.push(parts, Bytes::copy_from_slice(piece)));
        }
        client.extend(self.exchange.end((&mut self.sessions, &mut self.guard), false));
        client
    }
}

#[test]
fn held_stream_is_judged_like_any_stream() {
    for (api, name) in [(Api::Chat, "chat"), (Api::Responses, "responses"), (Api::Messages, "messages")] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenes/forecast-held-{name}-stream.json"));
        let scene: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let turn = &scene["turns"][0];
        let risky: String = check::strings(&turn["stream"]).collect();
        let other: String = check::strings(&turn["again"][0]).collect();
        // The address is cut between two events.
        let other = other.replace("I open the ", "ann@exam").replace("console now.", "ple.org");
        assert!(other.contains("ann@exam") && other.contains("ple.org"), "{other}");
        for size in [1, 2, 3, 7, 64, 1000, usize::MAX] {
            let plain = Played::new(PROPERTIES, api, &turn["request"]).stream(&other, size);
            let mut held = Played::new(&format!("{PROPERTIES}{PREDICT}"), api, &turn["request"]);
            assert!(held.stream(&risky, size).is_empty(), "{name}: nothing is sent before the choice");
            assert!(held.exchange.take_next_request().is_some());
            let taken = held.stream(&other, size);
            let (plain, taken) = (String::from_utf8(plain).unwrap(), String::from_utf8(taken).unwrap());
            assert_eq!(taken, plain, "{name}, pieces of {size} bytes");
            assert!(taken.contains("[redacted]") && taken.contains("open_console"), "{taken}");
            assert!(held.exchange.is_complete());
        }
    }
}

#[test]
fn client_that_leaves_held_stream_gets_nothing() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/forecast-held-chat-stream.json");
    let scene: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let turn = &scene["turns"][0];
    let risky: Vec<&str> = check::strings(&turn["stream"]).collect();
    for place in 0..=risky.len() {
        let mut held = Played::new(&format!("{PROPERTIES}{PREDICT}"), Api::Chat, &turn["request"]);
        for piece in &risky[..place] {
            let parts = (&mut held.sessions, &mut held.guard as _);
            assert!(held.exchange.push(parts, Bytes::from((*piece).to_owned())).is_empty());
        }
        held.exchange.close((&mut held.sessions, &mut held.guard));
        assert!(held.exchange.take_next_request().is_none() && !held.exchange.is_complete());
    }
}
