//! Bounds that refuse: texts, calls and bytes in flight; and replies of many calls, which are decided on part by part.

use lictor_wire::Api;
use serde_json::{Value, json};

use crate::crossing::{NOTHING, POLICY, saying};
use crate::vendor::{Say, call, path, request, text};
use crate::world::{World, of_type, plan};

/// Returns a request with the result of a call.
fn request_with_result(result: &str) -> Value {
    let called = json!({"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    json!({"model": "m", "messages": [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": null, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]})
}

async fn bound(world: &World, metric: &str, bound: &str) -> u64 {
    world.figure(&format!("lictor_bound_{metric}{{tenant=\"everybody\",bound=\"{bound}\"}}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn text_bound_withholds_results_and_refuses_messages() {
    let model = saying(vec![text("Well.")]).await;
    let mut kept = plan(&model, POLICY);
    kept.config.limits.text = 100;
    let world = kept.start().await;
    let long = request_with_result(&"word ".repeat(30));
    let mut longer = long.clone();
    longer["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Go on."}));
    for request in [&long, &longer, &longer] {
        let got = world.post(path(Api::Chat), "s", request).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    let seen = model.seen();
    let denials: Vec<Value> = seen.iter().map(|seen| seen.json()["messages"][2]["content"].clone()).collect();
    assert!(denials[0].as_str().unwrap().contains("too long to be checked (limit 100 bytes)"), "{denials:?}");
    assert!(denials.iter().all(|denial| *denial == denials[0]), "{denials:?}");
    let refused = world.post(path(Api::Chat), "t", &request(Api::Chat, &"x".repeat(101), false)).await;
    assert_eq!((refused.status, refused.code()), (413, "request.text_too_large"), "{}", refused.text());
    assert!(refused.text().contains("101 bytes is over the limit of 100"), "{}", refused.text());
    let exact = world.post(path(Api::Chat), "u", &request(Api::Chat, &"x".repeat(100), false)).await;
    assert_eq!(exact.status, 200, "{}", exact.text());
    assert_eq!((bound(&world, "refusals_total", "text").await, bound(&world, "highest", "text").await), (2, 150));
    let records = world.end().await;
    let refusals = records.iter().filter(|record| record["refused"] == "request.text_too_large").count();
    assert_eq!(refusals, 2, "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_bound_refuses_reply_whole_and_streamed() {
    let calls: Vec<Say> = (0..3).map(|number| call(&format!("c{number}"), "look", json!({}))).collect();
    let model = saying(calls).await;
    let mut kept = plan(&model, NOTHING);
    kept.config.limits.calls = 2;
    let world = kept.start().await;
    for api in Api::ALL {
        let got = world.post(path(api), "s", &request(api, "go", false)).await;
        assert_eq!((got.status, got.code()), (502, "reply.too_many_calls"), "{}", got.text());
        let streamed = world.post(path(api), "s", &request(api, "go", true)).await;
        assert!(streamed.text().contains("more calls than the limit of 2"), "{}", streamed.text());
    }
    assert_eq!(bound(&world, "highest", "calls").await, 3);
    assert_eq!(bound(&world, "refusals_total", "calls").await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_in_flight_bound_answers_busy() {
    let model = saying(vec![text("Well.")]).await;
    let mut kept = plan(&model, NOTHING);
    kept.config.limits.bytes_in_flight = 2000;
    let world = kept.start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, &"x".repeat(2000), false)).await;
    assert_eq!((got.status, got.code()), (503, "gateway.busy"), "{}", got.text());
    for _ in 0..20 {
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
        assert_eq!(got.status, 200, "bytes are returned: {}", got.text());
    }
    assert_eq!(bound(&world, "refusals_total", "bytes_in_flight").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_passes_what_is_over_bounds() {
    let calls: Vec<Say> = (0..3).map(|number| call(&format!("c{number}"), "drop", json!({}))).collect();
    let model = saying(calls).await;
    let mut shadow = plan(&model, POLICY);
    shadow.config.shadow = true;
    (shadow.config.limits.text, shadow.config.limits.calls) = (100, 2);
    let world = shadow.start().await;
    let long = request_with_result(&"word ".repeat(30));
    let got = world.post(path(Api::Chat), "s", &long).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.text().matches("\"drop\"").count(), 3, "{}", got.text());
    assert_eq!(model.seen()[0].json(), long);
    assert_eq!(bound(&world, "refusals_total", "text").await, 1);
    assert_eq!(bound(&world, "refusals_total", "calls").await, 1);
    assert_eq!(world.figure("lictor_forwarded_unchecked_total").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn reply_of_many_calls_is_decided_in_parts() {
    let mail = |number: usize| json!({"to": format!("bob{number}@example.org")});
    let calls: Vec<Say> = (0..100).map(|number| call(&format!("c{number}"), "send", mail(number))).collect();
    let model = saying(calls).await;
    let policy =
        "lictor: 1\nname: p\nproperties: [{id: no-mail, formula: 'always !carries(\"email\")', respond: redact}]";
    let world = plan(&model, policy).start().await;
    let first = request(Api::Chat, "go", false);
    let got = world.post(path(Api::Chat), "s", &first).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.text().matches("[redacted]").count(), 100);
    assert!(!got.text().contains("example.org"));
    // The client sends the reply back, and nothing of it is judged again.
    let mut next = first.clone();
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(got.json()["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "Thanks."}));
    assert_eq!(world.post(path(Api::Chat), "s", &next).await.status, 200);
    let records = world.end().await;
    let kinds: Vec<&Value> = of_type(&records, "decision").iter().map(|record| &record["kind"]).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "user_message").count(), 2, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool_call").count(), 200, "{kinds:?}");
}
