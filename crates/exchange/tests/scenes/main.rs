//! The scenes in `scenes/`, driven by a guard in this process. The gateway and the Python package run the same files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod check;
mod conversations;
mod held;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lictor_event::{Event, Kind};
use lictor_exchange::{
    Exchange, ExchangeFailure, ExchangeOptions, ExchangeStep, LocalExchange, LocalParts, LocalReply, LocalSessions,
    StepResult, changes_texts, reads_texts,
};
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::{Foresight, Judge};
use lictor_policy::{FileResolver, Policy};
use lictor_wire::{Api, Route};
use serde_json::Value;

use check::{TurnResult, approval_id, strings};

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
        let judge = Judge::new(&policy).unwrap();
        let foresight = Foresight::open(&judge, &policy).unwrap_or_else(|problem| panic!("{problem}"));
        let guard = Guard::new(judge, GuardOptions::default()).foreseeing(foresight);
        let previews_text = changes_texts(&policy);
        let hold_back = if previews_text { 256 } else { 0 };
        let mut options = ExchangeOptions::default();
        options.previews_text = previews_text;
        options.reads_texts = reads_texts(&policy);
        options.hold_back = hold_back;
        options.interventions = policy.predict.clone().map(Arc::new);
        options.steering = policy.steering;
        Scene { guard, sessions: LocalSessions::default(), options }
    }

    fn play(&mut self, number: usize, turn: &Value) -> TurnResult {
        let Route::Judged(api) = Api::route("POST", turn["path"].as_str().unwrap()) else { panic!("{turn}") };
        let mut exchange = LocalExchange::new(api, format!("{number:032x}"), SESSION.to_owned(), self.options.clone());
        let request = Bytes::from(turn["request"].to_string());
        let upstream = match exchange.request((&mut self.sessions, &mut self.guard), request) {
            Ok(upstream) => Some(text(&upstream)),
            Err(failure) => return failed(api, &failure, None),
        };
        if turn["stream"].is_array() {
            let mut client = self.stream(&mut exchange, turn, &turn["stream"]);
            let mut again = Vec::new();
            while let Some(request) = exchange.take_next_request() {
                match turn["again"].get(again.len()) {
                    Some(stream) => {
                        again.push(text(&request));
                        client.extend(self.stream(&mut exchange, turn, stream));
                    }
                    None => client.extend(exchange.no_stream((&mut self.sessions, &mut self.guard))),
                }
            }
            return TurnResult { upstream, again, status: 200, client: text(&client), ..TurnResult::default() };
        }
        let reply = Bytes::from(turn["reply"].to_string());
        let mut judged = exchange.reply((&mut self.sessions, &mut self.guard), reply);
        let mut again = Vec::new();
        let mut answer = |request: &Bytes| {
            let reply = turn["again"].get(again.len())?;
            again.push(text(request));
            Some(Bytes::from(reply.to_string()))
        };
        loop {
            let parts: LocalParts<'_> = (&mut self.sessions, &mut self.guard);
            judged = match judged {
                Ok(LocalReply::Body(body)) => {
                    return TurnResult { upstream, again, status: 200, client: text(&body), ..TurnResult::default() };
                }
                Ok(LocalReply::AskAll { requests, .. }) => {
                    exchange.replies(parts, requests.iter().map(&mut answer).collect(), Duration::ZERO)
                }
                Ok(LocalReply::AskAgain(request)) => match answer(&request) {
                    Some(reply) => exchange.reply(parts, reply),
                    None => exchange.no_reply(parts),
                },
                Err(failure) => return failed(api, &failure, upstream),
            };
        }
    }

    fn stream(&mut self, exchange: &mut LocalExchange, turn: &Value, stream: &Value) -> Vec<u8> {
        let leaves = turn["leave_after"].as_u64().map_or(usize::MAX, |count| count as usize);
        let mut client = Vec::new();
        for (place, piece) in strings(stream).enumerate() {
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
    fn answer(&mut self, seen: &TurnResult, answer: &str) {
        let id = approval_id(seen);
        let mut event = Event::new(if answer == "approve" { Kind::Approval } else { Kind::Denial });
        event.session = Some(SESSION.into());
        event.id = Some(id.into());
        let decision = self.guard.decide(event, None);
        assert_eq!(decision.settled.len(), 1, "{id}");
        self.sessions.settle(SESSION, &decision, &mut self.guard).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn failed(api: Api, failure: &ExchangeFailure, upstream: Option<String>) -> TurnResult {
    let client = text(&api.error(failure.status, &failure.code, &failure.message));
    TurnResult { upstream, status: failure.status.into(), code: failure.code.clone(), client, ..TurnResult::default() }
}

/// A request with many new messages is decided on in parts, so that other sessions get their turn.
#[test]
fn long_request_is_decided_in_parts() {
    let policy = "{lictor: 1, name: p, properties: [{id: a, formula: 'always !tool_call(\"x\")', respond: block}]}";
    let policy = Policy::parse(policy, "p.yaml", &FileResolver).unwrap().policy;
    let mut guard = Guard::new(Judge::new(&policy).unwrap(), GuardOptions::default());
    let role = |number: usize| if number.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |number: usize| serde_json::json!({"role": role(number), "content": format!("message {number}")});
    let body = serde_json::json!({"model": "m", "messages": (0..1000).map(message).collect::<Vec<_>>()});
    let body = Bytes::from(body.to_string());
    let mut exchange = Exchange::new(Api::Chat, "1", ExchangeOptions::default(), body.clone());
    let (mut step, mut parts) = (exchange.start(), Vec::new());
    let sent = loop {
        let result = match step {
            ExchangeStep::Identify(_) => StepResult::Identity { session: SESSION.into(), principal: None },
            ExchangeStep::Load { .. } => StepResult::Memory(Arc::default()),
            ExchangeStep::Decide(question) => {
                parts.push(question.events.len());
                let decide = |event| Arc::new(guard.decide(event, None));
                let is_next = question.next.is_some();
                StepResult::Decided { decisions: question.events.into_iter().map(decide).collect(), is_next }
            }
            ExchangeStep::SendUpstream(bytes) => break bytes,
            other => panic!("{other:?}"),
        };
        step = exchange.resume(result);
    };
    assert_eq!((parts.iter().sum::<usize>(), sent), (1000, body));
    assert!(parts.iter().all(|part| *part <= 128), "{parts:?}");
}

#[test]
fn split_word_passes_if_no_property_reads_texts() {
    let scenes = check::scenes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes"));
    let (_, mut scene) = scenes.into_iter().find(|(name, _)| name == "split-word-refused").unwrap();
    scene["policy"] = serde_json::json!([
        "{lictor: 1, name: p, properties: [{id: a, formula: 'always !tool_call(\"x\")', respond: block}]}"
    ]);
    let seen = Scene::new(&scene).play(0, &scene["turns"][0]);
    assert_eq!((seen.status, seen.client), (200, scene["turns"][0]["reply"].to_string()));
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
