//! Plans of the model over HTTP: asked for at once, recorded, counted, and limited.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::world::{Model, Play, of_type, plan};

const PATH: &str = "/v1/chat/completions";

fn policy(more: &str) -> String {
    format!(
        "{{lictor: 1, name: p, properties: [{{id: no-drop, formula: 'always !tool_call(\"drop\")', respond: block}}], \
         predict: {{by: [sample], risk: 0.5, samples: 8, candidates: 2, intervene: [resample]{more}}}}}"
    )
}

fn request(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

fn reply(message: &Value) -> String {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage})
        .to_string()
}

fn call(tool: &str) -> String {
    let call = json!({"id": "a", "type": "function", "function": {"name": tool, "arguments": "{}"}});
    reply(&json!({"role": "assistant", "content": null, "tool_calls": [call]}))
}

fn text(said: &str) -> String {
    reply(&json!({"role": "assistant", "content": said}))
}

/// Holds answers back until a whole batch was asked for.
#[derive(Default)]
struct Gate {
    waiting: Mutex<Vec<Arc<Notify>>>,
}

impl Gate {
    /// Returns an answer that begins when `size` of them were asked for.
    fn hold(&self, body: &str, size: usize) -> Play {
        let start = Arc::new(Notify::new());
        let mut waiting = self.waiting.lock().unwrap();
        waiting.push(Arc::clone(&start));
        if waiting.len() == size {
            waiting.drain(..).for_each(|start| start.notify_one());
        }
        // A body in two pieces waits for its start.
        let (first, second) = body.split_at(1);
        let pieces = [first, second].map(|piece| Bytes::from(piece.to_owned())).to_vec();
        Play { pieces, start: Some(start), ..Play::json("") }
    }
}

/// Returns a model that says `open_shell` and plans badly after it, and says `open_console` when it is asked again. Each
/// batch of requests is answered when all of it was asked for.
async fn planner() -> Model {
    let (gate, asked) = (Gate::default(), Mutex::new(0));
    Model::start(move |_| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        match *asked {
            1 => Play::json(call("open_shell")),
            2..=9 => gate.hold(&text(r#"[{"tool": "drop"}]"#), 8),
            10..=11 => gate.hold(&call("open_console"), 2),
            _ => gate.hold(&text("[]"), 8),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_are_asked_at_once_and_recorded() {
    let model = planner().await;
    let mut plan = plan(&model, &policy(""));
    // Requests one after another would wait for each other until this timeout.
    plan.config.limits.answer = Duration::from_secs(20);
    let world = plan.start().await;
    let got = world.post(PATH, "s", &request("Tidy up.")).await;
    assert_eq!((got.status, got.text()), (200, call("open_console").as_str()));
    assert_eq!(got.headers["x-lictor-extra-calls"], "26");
    assert_eq!(got.headers["x-lictor-extra-tokens"], "260");
    for (name, wanted) in
        [("samples", 24), ("candidates", 2), ("extra_calls", 26), ("extra_tokens", 260), ("replaced", 1)]
    {
        assert_eq!(world.figure(&format!("lictor_{name}_total")).await, wanted, "{name}");
    }
    let seen = model.seen();
    assert!(seen.iter().all(|seen| seen.headers["authorization"] == "Bearer key"));
    let records = world.end().await;
    let told = of_type(&records, "intervention")[0];
    assert_eq!((&told["method"], &told["taken"], &told["equal"]), (&json!("sample"), &json!(0), &json!(1)));
    assert_eq!((&told["calls"], &told["tokens"]), (&json!(26), &json!(260)));
    assert_eq!(of_type(&records, "exchange").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_of_hour_are_limited_across_sessions() {
    let model = Model::start(|seen| match String::from_utf8_lossy(&seen.body).contains("question about your plan") {
        true => Play::json(text("I do not plan.")),
        false => Play::json(call("open_shell")),
    })
    .await;
    let world = plan(&model, &policy(", hour_calls: 10")).start().await;
    for session in ["a", "b", "c"] {
        let got = world.post(PATH, session, &request("Tidy up.")).await;
        assert_eq!((got.status, got.text()), (200, call("open_shell").as_str()));
    }
    assert_eq!(model.seen().len(), 3 + 10);
    let records = world.end().await;
    let told: Vec<(&Value, &Value)> =
        of_type(&records, "intervention").iter().map(|it| (&it["calls"], &it["exhausted"])).collect();
    let calls = json!("calls");
    assert_eq!(told, [(&json!(8), &Value::Null), (&json!(2), &calls), (&json!(0), &calls)]);
}
