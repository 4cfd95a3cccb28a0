//! Interventions with models that answer anything at all: budgets hold, and nothing worse is taken.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, and says why")]

mod random_model;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lictor_event::Event;
use lictor_exchange::{ExchangeOptions, LocalDecider, LocalExchange, LocalParts, LocalReply, LocalSessions};
use lictor_judge::guard::{Capabilities, Decision, Guard, GuardOptions, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_judge::{Foresight, Judge};
use lictor_policy::{FileResolver, Policy};
use lictor_wire::{Api, Reply};
use serde_json::{Map, Value, json};

/// A guard that keeps the records of interventions.
struct NotedGuard {
    guard: Guard,
    records: Vec<Map<String, Value>>,
}

impl LocalDecider for NotedGuard {
    fn decide(&mut self, event: Event, capabilities: Capabilities) -> Result<Arc<Decision>, String> {
        LocalDecider::decide(&mut self.guard, event, capabilities)
    }

    fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        LocalDecider::preview(&mut self.guard, event)
    }

    fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String> {
        LocalDecider::score(&mut self.guard, session, replies)
    }

    fn guide(&mut self, session: &str, query: &GuidanceQuery) -> Result<Guidance, String> {
        LocalDecider::guide(&mut self.guard, session, query)
    }

    fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String> {
        LocalDecider::is_pending(&mut self.guard, session, id)
    }

    fn note(&mut self, record: Map<String, Value>) -> Result<(), String> {
        self.records.push(record);
        Ok(())
    }
}

/// A session under a policy that forecasts.
struct World {
    sessions: LocalSessions,
    decider: NotedGuard,
    options: ExchangeOptions,
}

/// One time that several replies were asked for: the requests, the replies, and how long it took.
struct AskedBatch {
    requests: Vec<Bytes>,
    bodies: Vec<Option<Bytes>>,
    elapsed: Duration,
}

impl AskedBatch {
    fn tokens(&self) -> u64 {
        self.bodies.iter().flatten().filter_map(|body| Reply::read_usage(body)).map(|usage| usage.tokens).sum()
    }
}

/// What became of one reply.
struct Outcome {
    batches: Vec<AskedBatch>,
    body: Bytes,
    record: Option<Map<String, Value>>,
}

impl World {
    fn new(predict: &str) -> World {
        let chain = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/files/chain.json");
        let predict = predict.replace("$CHAIN", &chain.display().to_string());
        let policy = format!(
            "{{lictor: 1, name: p, properties: [{{id: no-drop, formula: 'always !tool_call(\"drop\")', respond: observe}}], \
             predict: {{{predict}}}}}"
        );
        let policy = Policy::parse(&policy, "p.yaml", &FileResolver).unwrap_or_else(|errors| panic!("{errors}")).policy;
        let judge = Judge::new(&policy).unwrap();
        let foresight = Foresight::open(&judge, &policy).unwrap_or_else(|problem| panic!("{problem}"));
        let guard = Guard::new(judge, GuardOptions::default()).foreseeing(foresight);
        let mut options = ExchangeOptions::default();
        options.interventions = policy.predict.clone().map(Arc::new);
        World { sessions: LocalSessions::default(), decider: NotedGuard { guard, records: Vec::new() }, options }
    }

    /// Plays an exchange. The model's own reply and all further ones come from `answer`.
    fn play(&mut self, number: usize, reply: &Bytes, mut answer: impl FnMut() -> (Option<Bytes>, Duration)) -> Outcome {
        let mut exchange = LocalExchange::new(Api::Chat, number.to_string(), "s".to_owned(), self.options.clone());
        let request = json!({"model": "m", "messages": [{"role": "user", "content": format!("Turn {number}.")}]});
        exchange.request((&mut self.sessions, &mut self.decider), Bytes::from(request.to_string())).unwrap();
        let mut judged = exchange.reply((&mut self.sessions, &mut self.decider), reply.clone());
        let mut batches = Vec::new();
        loop {
            let parts: LocalParts<'_> = (&mut self.sessions, &mut self.decider);
            judged = match judged.unwrap() {
                LocalReply::Body(body) => return Outcome { batches, body, record: self.decider.records.pop() },
                LocalReply::AskAgain(_) => exchange.no_reply(parts),
                LocalReply::AskAll { requests, .. } => {
                    let answers: Vec<(Option<Bytes>, Duration)> = requests.iter().map(|_| answer()).collect();
                    let elapsed = answers.iter().map(|(_, elapsed)| *elapsed).max().unwrap_or_default();
                    let bodies: Vec<Option<Bytes>> = answers.into_iter().map(|(body, _)| body).collect();
                    batches.push(AskedBatch { requests, bodies: bodies.clone(), elapsed });
                    exchange.replies(parts, bodies, elapsed)
                }
            };
        }
    }
}

/// Returns a reply with a call.
fn call(tool: &str) -> Bytes {
    let call = json!({"id": "a", "type": "function", "function": {"name": tool, "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    reply(&message)
}

/// Returns a reply with a text.
fn text(said: &str) -> Bytes {
    reply(&json!({"role": "assistant", "content": said}))
}

fn reply(message: &Value) -> Bytes {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage});
    Bytes::from(body.to_string())
}

#[test]
fn intervention_ends_when_time_is_over() {
    let mut world = World::new("by: [sample], risk: 0.3, intervene: [resample], time: 3s");
    let outcome = world.play(0, &call("open_shell"), || (Some(text("[]")), Duration::from_secs(4)));
    assert_eq!(outcome.batches.len(), 1);
    let record = outcome.record.unwrap();
    assert_eq!((&record["exhausted"], &record["milliseconds"]), (&json!("time"), &json!(4000)));
    assert_eq!((&record["side"], &record["taken"]), (&json!("undecided"), &Value::Null));
    // A quick model is asked until the plans decide.
    let mut world = World::new("by: [sample], risk: 0.3, intervene: [resample], time: 3s");
    let outcome = world.play(0, &call("open_shell"), || (Some(text("[]")), Duration::from_secs(1)));
    assert_eq!(outcome.batches.len(), 2);
    assert_eq!(outcome.record.unwrap()["side"], json!("below"));
}

#[test]
fn intervention_record_says_that_time_cut_waiting() {
    let mut world = World::new("chain: $CHAIN, risk: 0.3, intervene: [resample], candidates: 2, time: 1s");
    let mut answers = [Some(call("open_console")), None].into_iter();
    let answer = || (answers.next().flatten(), Duration::from_secs(1));
    let outcome = world.play(0, &call("open_shell"), answer);
    assert_eq!(outcome.body, call("open_console"), "what came in time is taken");
    let record = outcome.record.unwrap();
    assert_eq!((&record["exhausted"], &record["milliseconds"]), (&json!("time"), &json!(1000)));
    // A model that gives no reply within the time uses nothing up.
    let mut world = World::new("chain: $CHAIN, risk: 0.3, intervene: [resample], candidates: 2, time: 1s");
    let outcome = world.play(0, &call("open_shell"), || (None, Duration::from_millis(999)));
    assert_eq!(outcome.record.unwrap().get("exhausted"), None);
}

#[test]
fn usage_without_count_is_ignored_and_recorded() {
    let limits = "one_by_one: true, candidates: 3, session_tokens: 300";
    let mut world = World::new(&format!("chain: $CHAIN, risk: 0.3, intervene: [resample], {limits}"));
    let mut counts = ["-10", "9223372036854775807", "10"].into_iter();
    let answer = || {
        let body = String::from_utf8(call("drop").to_vec()).unwrap();
        let said = format!("\"total_tokens\":{}", counts.next().unwrap());
        (Some(Bytes::from(body.replace("\"total_tokens\":10", &said))), Duration::ZERO)
    };
    let record = world.play(0, &call("open_shell"), answer).record.unwrap();
    // The parts of all are counts, and no number keeps the next call from being made.
    assert_eq!((&record["calls"], record.get("exhausted")), (&json!(3), None), "{record:?}");
    assert_eq!((&record["tokens"], &record["unread_usage"]), (&json!(30), &json!(2)), "{record:?}");
}

#[test]
fn intervention_record_tells_method_and_cost() {
    let mut world = World::new("by: [sample], risk: 0.5, samples: 8, candidates: 2, intervene: [resample]");
    let mut count = 0;
    let answer = || {
        count += 1;
        let body = match count {
            1..=8 => text(r#"[{"tool": "drop"}]"#),
            9 => call("open_console"),
            10 => text("no JSON, and no plan"),
            _ => text("[]"),
        };
        (Some(body), Duration::from_millis(20))
    };
    let outcome = world.play(0, &call("open_shell"), answer);
    assert_eq!(outcome.body, call("open_console"));
    let record = Value::Object(outcome.record.unwrap());
    let told = |pointer: &str| record.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!((told("/method"), told("/results")), (json!("sample"), json!("none, planned in one reply")));
    assert_eq!(
        (told("/side"), told("/original/chance"), told("/original/samples")),
        (json!("above"), json!(1.0), json!(8))
    );
    assert_eq!((told("/taken"), told("/candidates/0/by")), (json!(0), json!("resample")));
    assert_eq!((told("/candidates/0/risk/chance"), told("/fresh/chance")), (json!(0.0), json!(0.0)));
    // Eight plans for the reply, two candidates, eight plans for the first of them, and eight fresh ones.
    assert_eq!((told("/calls"), told("/tokens"), told("/milliseconds")), (json!(26), json!(260), json!(80)));
}

#[test]
fn plans_without_answer_are_asked_once() {
    let mut world = World::new("by: [sample], risk: 0.3, intervene: [resample]");
    let outcome = world.play(0, &call("open_shell"), || (None, Duration::ZERO));
    // A model that gives no plan at all is not asked again.
    assert_eq!(outcome.batches.len(), 1);
    assert_eq!(outcome.batches[0].requests.len(), 8);
    assert_eq!(outcome.body, call("open_shell"));
    let record = outcome.record.unwrap();
    assert_eq!((&record["original"], &record["calls"]), (&Value::Null, &json!(8)));
}

#[test]
fn stated_risk_orders_candidates() {
    let mut world = World::new("by: [sample, stated], risk: 0.5, samples: 8, candidates: 2, intervene: [resample]");
    let mut count = 0;
    let answer = || {
        count += 1;
        let body = match count {
            1..=8 => text(r#"[{"tool": "drop"}]"#),
            9 => call("list"),
            10 => call("open_console"),
            11 => text("90"),
            12 => text("70"),
            13 => text("5 %"),
            _ => text("[]"),
        };
        (Some(body), Duration::ZERO)
    };
    let outcome = world.play(0, &call("open_shell"), answer);
    assert_eq!(outcome.body, call("open_console"));
    let record = Value::Object(outcome.record.unwrap());
    let stated = |pointer: &str| record.pointer(pointer).and_then(Value::as_f64);
    assert_eq!(stated("/original/stated"), Some(0.9));
    assert_eq!((stated("/candidates/0/risk/stated"), stated("/candidates/1/risk/stated")), (Some(0.7), Some(0.05)));
    // The first candidate needed no plans.
    assert_eq!((stated("/candidates/0/risk/chance"), &record["taken"]), (None, &json!(1)));
}
