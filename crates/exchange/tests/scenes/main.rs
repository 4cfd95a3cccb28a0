//! The scenes in `scenes/`, driven by a guard in this process. The gateway and the Python package run the same files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod check;

use std::path::Path;

use bytes::Bytes;
use lictor_event::{Event, Kind};
use lictor_exchange::{ExchangeFailure, ExchangeOptions, LocalExchange, LocalSessions, changes_texts};
use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_policy::{FileResolver, Policy};
use lictor_wire::{Api, Route};
use serde_json::Value;

use check::{Seen, approval_id, strings};

const SESSION: &str = "s";

struct Scene {
    guard: Guard,
    sessions: LocalSessions,
    options: ExchangeOptions,
}

impl Scene {
    fn new(scene: &Value) -> Scene {
        let policy = Policy::parse(&check::policy(scene), "scene.yaml", &FileResolver)
            .unwrap_or_else(|errors| panic!("{errors}"))
            .policy;
        let guard = Guard::new(Judge::new(&policy).unwrap(), GuardOptions::default());
        let previews_text = changes_texts(&policy);
        let hold_back = if previews_text { 256 } else { 0 };
        let options = ExchangeOptions { previews_text, hold_back, ..ExchangeOptions::default() };
        Scene { guard, sessions: LocalSessions::default(), options }
    }

    fn play(&mut self, number: usize, turn: &Value) -> Seen {
        let Route::Judged(api) = Api::route("POST", turn["path"].as_str().unwrap()) else { panic!("{turn}") };
        let mut exchange = LocalExchange::new(api, format!("{number:032x}"), SESSION.to_owned(), self.options);
        let request = Bytes::from(turn["request"].to_string());
        let upstream = match exchange.request((&mut self.sessions, &mut self.guard), request) {
            Ok(upstream) => Some(text(&upstream)),
            Err(failure) => return failed(api, &failure, None),
        };
        if turn["stream"].is_array() {
            return Seen { upstream, status: 200, client: text(&self.stream(&mut exchange, turn)), ..Seen::default() };
        }
        let reply = Bytes::from(turn["reply"].to_string());
        match exchange.reply((&mut self.sessions, &mut self.guard), reply) {
            Ok(body) => Seen { upstream, status: 200, client: text(&body), ..Seen::default() },
            Err(failure) => failed(api, &failure, upstream),
        }
    }

    fn stream(&mut self, exchange: &mut LocalExchange, turn: &Value) -> Vec<u8> {
        let leaves = turn["leave_after"].as_u64().map_or(usize::MAX, |count| count as usize);
        let mut client = Vec::new();
        for (place, piece) in strings(&turn["stream"]).enumerate() {
            if place == leaves {
                exchange.close((&mut self.sessions, &mut self.guard));
                return client;
            }
            client.extend(exchange.push((&mut self.sessions, &mut self.guard), Bytes::from(piece.to_owned())));
        }
        client.extend(exchange.end((&mut self.sessions, &mut self.guard), turn["cut"] == true));
        client
    }

    /// Answers the approval whose id the client got.
    fn answer(&mut self, seen: &Seen, answer: &str) {
        let id = approval_id(seen);
        let mut event = Event::new(if answer == "approve" { Kind::Approval } else { Kind::Denial });
        event.session = Some(SESSION.into());
        event.id = Some(id.into());
        let decision = self.guard.decide(event, None);
        assert_eq!(decision.settled.len(), 1, "{id}");
        self.sessions.settle(SESSION, &decision);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn failed(api: Api, failure: &ExchangeFailure, upstream: Option<String>) -> Seen {
    let client = text(&api.error(failure.status, &failure.code, &failure.message));
    Seen { upstream, status: failure.status.into(), code: failure.code.clone(), client }
}

#[test]
fn scenes_play_with_local_driver() {
    let mut complaints = Vec::new();
    for (name, scene) in check::scenes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes")) {
        let mut played = Scene::new(&scene);
        for (number, turn) in scene["turns"].as_array().unwrap().iter().enumerate() {
            let seen = played.play(number, turn);
            if let Err(complaint) = check::check(turn, &seen) {
                complaints.push(format!("{name}, turn {number}: {complaint}"));
                break;
            }
            if let Some(answer) = turn["then"].as_str() {
                played.answer(&seen, answer);
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
