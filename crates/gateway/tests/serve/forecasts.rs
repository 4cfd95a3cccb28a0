//! Interventions over HTTP: what the ledger, the metrics and the list of approvals say about them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::crossing::{saying, told};
use crate::faults::quiet;
use crate::vendor::{Say, call, path, request, text};
use crate::world::{Ends, Model, Play, of_type, plan};

/// Returns a policy that forecasts by a chain: after `open_shell`, `drop` mostly follows.
fn policy(predict: &str) -> String {
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    format!(
        "lictor: 1\nname: shop\nproperties:\n  - {{id: no-drop, formula: 'always !tool_call(\"drop\")', respond: block, \
         remedy: Archive it.}}\npredict: {{chain: '{chain}', within: 2, {predict}}}\n"
    )
}

/// Returns a model that replies in turn.
async fn saying_in_turn(replies: Vec<Vec<Say>>) -> Model {
    let asked = Arc::new(AtomicUsize::new(0));
    Model::start(move |seen| {
        let place = asked.fetch_add(1, Ordering::Relaxed);
        told(seen, &replies[place.min(replies.len() - 1)])
    })
    .await
}

fn every_interface() -> impl Iterator<Item = (Api, bool)> {
    Api::ALL.into_iter().flat_map(|api| [(api, false), (api, true)])
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_forecast_is_recorded_counted_and_listed() {
    for (api, streams) in every_interface() {
        let model = saying(vec![call("c", "open_shell", json!({}))]).await;
        let world = plan(&model, &policy("risk: 0.6, intervene: [ask]")).start().await;
        let got = world.post(path(api), "s", &request(api, "Tidy up.", streams)).await;
        assert!(got.text().contains("Approval id: "), "{api:?} {}", got.text());
        let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
        let waiting = &listed["waiting"][0];
        assert!(waiting["forecast"].as_str().unwrap().starts_with("a violation is forecast within 2"), "{waiting}");
        assert_eq!(waiting["properties"], json!([]));
        assert_eq!(world.figure("lictor_forecast_asked_total").await, 1);
        assert_eq!(world.figure("lictor_forecast_stopped_total").await, 0);
        let records = world.end().await;
        let asked: Vec<&Value> =
            of_type(&records, "decision").into_iter().filter(|record| record["action"] == "ask").collect();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0]["forecast"]["response"], "ask");
        assert!(asked[0]["forecast"]["risk"]["chance"].as_f64().unwrap() > 0.6, "{}", asked[0]);
        assert_eq!(asked[0]["forecast"]["at_risk"], json!(["no-drop"]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_forecast_is_recorded_and_counted() {
    for (api, streams) in every_interface() {
        let model = saying(vec![call("c", "open_shell", json!({}))]).await;
        let world = plan(&model, &policy("risk: 0.6, intervene: [stop]")).start().await;
        let got = world.post(path(api), "s", &request(api, "Tidy up.", streams)).await;
        assert!(got.text().contains("Archive it.") && !got.text().contains("open_shell"), "{api:?} {}", got.text());
        assert_eq!(world.figure("lictor_forecast_stopped_total").await, 1);
        let records = world.end().await;
        let blocked = of_type(&records, "decision").into_iter().find(|record| record["action"] == "block").unwrap();
        assert_eq!((&blocked["forecast"]["response"], &blocked["forecast"]["within"]), (&json!("block"), &json!(2)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn held_stream_is_recorded_and_counted() {
    for api in Api::ALL {
        let shell = vec![text("I open a shell."), call("a", "open_shell", json!({}))];
        let model = saying_in_turn(vec![shell, vec![call("b", "open_console", json!({}))]]).await;
        let predict = "risk: 0.3, hold: 0.4, intervene: [inject, resample], candidates: 1";
        let world = plan(&model, &policy(predict)).start().await;
        let got = world.post(path(api), "s", &request(api, "Tidy up.", true)).await;
        assert!(got.is_whole && got.text().contains("open_console") && !got.text().contains("shell"), "{}", got.text());
        let seen = model.seen();
        assert_eq!(seen.len(), 2);
        assert!(seen[0].json().to_string().contains("Archive it."));
        assert_eq!(seen[0].json(), seen[1].json(), "the model is reminded once");
        for (name, count) in [("reminded", 1), ("streams_held", 1), ("candidates", 1), ("replaced", 1)] {
            assert_eq!(world.figure(&format!("lictor_{name}_total")).await, count, "{name}");
        }
        let records = world.end().await;
        let interventions = of_type(&records, "intervention");
        assert_eq!(interventions.len(), 2);
        assert_eq!((&interventions[0]["at"], &interventions[0]["by"]), (&json!("request"), &json!("inject")));
        assert_eq!((&interventions[1]["at"], &interventions[1]["taken"]), (&json!("reply"), &json!(0)));
        assert_eq!(interventions[1]["candidates"][0]["by"], "resample");
        let exchanges = of_type(&records, "exchange");
        assert_eq!(exchanges.len(), 1);
        assert_eq!(exchanges[0]["exchange"], interventions[1]["exchange"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn held_stream_over_limit_is_sent_unreplaced() {
    for api in Api::ALL {
        let words = "word ".repeat(200);
        let model = saying(vec![text(&words), call("a", "open_shell", json!({}))]).await;
        let mut plan = plan(&model, &policy("risk: 0.3, hold: 0.4, intervene: [resample]"));
        // The text fits, and the events of its pieces do not.
        plan.config.limits.held = 8000;
        let world = plan.start().await;
        let got = world.post(path(api), "s", &request(api, "Tidy up.", true)).await;
        assert!(got.is_whole && got.text().contains("open_shell"), "{api:?} {}", got.text());
        assert_eq!(model.seen().len(), 1, "no other stream is asked for");
        assert_eq!(world.figure("lictor_streams_held_total").await, 1);
        assert!(of_type(&world.end().await, "intervention").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn held_candidate_over_limit_is_dropped() {
    let long = vec![text(&"word ".repeat(200)), call("b", "open_console", json!({}))];
    let replies = vec![vec![call("a", "open_shell", json!({}))], long, vec![call("d", "open_console", json!({}))]];
    let model = saying_in_turn(replies).await;
    let mut plan = plan(&model, &policy("risk: 0.3, hold: 0.4, intervene: [resample], candidates: 2"));
    plan.config.limits.held = 8000;
    let world = plan.start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "Tidy up.", true)).await;
    assert!(got.text().contains("open_console") && !got.text().contains("word"), "{}", got.text());
    let records = world.end().await;
    let intervention = of_type(&records, "intervention")[0];
    assert_eq!((&intervention["taken"], &intervention["candidates"][0]["risk"]), (&json!(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_mode_records_forecasts_and_asks_nothing() {
    for (api, streams) in every_interface() {
        let model = saying(vec![call("c", "open_shell", json!({}))]).await;
        let mut watching = plan(&model, &policy("risk: 0.3, intervene: [inject, resample]"));
        watching.config.shadow = true;
        let world = watching.start().await;
        let got = world.post(path(api), "s", &request(api, "Tidy up.", streams)).await;
        assert!(got.text().contains("open_shell"), "{api:?} {}", got.text());
        assert_eq!(model.seen().len(), 1, "{api:?}: no other reply is asked for");
        assert!(!model.seen()[0].json().to_string().contains("Archive it."), "{api:?}: the request is as it came");
        let records = world.end().await;
        let noted = of_type(&records, "intervention");
        assert_eq!(noted.len(), 1, "{api:?} {streams}");
        assert_eq!((&noted[0]["shadow"], &noted[0]["at_risk"][0]["property"]), (&json!(true), &json!("no-drop")));
        assert_eq!(noted[0]["at"], if streams { "request" } else { "reply" });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_forecasts_are_counted() {
    let model = saying(vec![call("c", "never_seen_before", json!({}))]).await;
    let world = plan(&model, &policy("risk: 0.3, intervene: [resample]")).start().await;
    for turn in 0..8 {
        let mut asked = request(Api::Chat, "Tidy up.", false);
        for _ in 0..turn * 3 {
            let calls =
                json!([{"id": "c", "type": "function", "function": {"name": "never_seen_before", "arguments": "{}"}}]);
            asked["messages"].as_array_mut().unwrap().extend([
                json!({"role": "assistant", "content": null, "tool_calls": calls}),
                json!({"role": "tool", "tool_call_id": "c", "content": "done"}),
            ]);
        }
        world.post(path(Api::Chat), "s", &asked).await;
    }
    assert!(world.figure("lictor_forecasts_missing_total").await > 0);
    assert_eq!(world.figure("lictor_candidates_total").await, 0, "without a forecast nothing is replaced");
    world.end().await;
}

/// A candidate that never comes does not hold the reply for longer than the policy says.
#[tokio::test(flavor = "multi_thread")]
async fn slow_candidate_is_not_waited_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = Model::start(move |seen| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => told(seen, &[call("a", "open_shell", json!({}))]),
        _ => Play { ends: Ends::Silent, pieces: Vec::new(), ..told(seen, &[]) },
    })
    .await;
    let world = plan(&model, &policy("risk: 0.3, intervene: [resample], candidates: 2, time: 300ms")).start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "Tidy up.", false)).await;
    assert!(got.text().contains("open_shell"), "{}", got.text());
    let records = world.end().await;
    assert_eq!(of_type(&records, "intervention")[0]["calls"], json!(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_intervention_is_recorded() {
    for (api, streams) in every_interface() {
        let by_plans = "by: [chain, sample], samples: 4, risk: 0.3, intervene: [resample], candidates: 1";
        let by_chain = "risk: 0.3, hold: 0.4, intervene: [resample], candidates: 1";
        let predicts = if streams { vec![by_chain] } else { vec![by_chain, by_plans] };
        for predict in predicts {
            let asked = Arc::new(AtomicUsize::new(0));
            let model = Model::start(move |seen| match asked.fetch_add(1, Ordering::Relaxed) {
                0 => told(seen, &[call("a", "open_shell", json!({}))]),
                _ => Play { ends: Ends::Silent, pieces: Vec::new(), ..told(seen, &[]) },
            })
            .await;
            let world = plan(&model, &policy(predict)).start().await;
            let body = request(api, "Tidy up.", streams).to_string();
            let mut connection = TcpStream::connect(world.address).await.unwrap();
            let head =
                format!("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", path(api), body.len());
            connection.write_all(head.as_bytes()).await.unwrap();
            while model.seen().len() < 2 {
                tokio::task::yield_now().await;
            }
            // The record has at least the time that the client waited for the candidate.
            tokio::time::sleep(Duration::from_millis(5)).await;
            drop(connection);
            quiet(&world).await;
            let records = world.end().await;
            let interventions = of_type(&records, "intervention");
            assert_eq!(interventions.len(), 1, "{api:?} {streams} {predict}: {records:#?}");
            assert_eq!(interventions[0]["interrupted"], true, "{api:?} {streams} {predict}");
            assert!(interventions[0]["calls"].as_u64().unwrap() > 0, "{}", interventions[0]);
            // The time of streamed candidates is not known.
            assert!(streams || interventions[0]["milliseconds"].as_u64().unwrap() >= 5, "{}", interventions[0]);
            assert_eq!(of_type(&records, "exchange")[0]["outcome"], "client_gone");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interventions_have_spans() {
    let spans: Arc<Mutex<Vec<Value>>> = Arc::default();
    let taken = Arc::clone(&spans);
    let collector = Model::start(move |seen| {
        let batch = seen.json()["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        taken.lock().unwrap().extend(batch);
        Play::json("{}")
    })
    .await;
    let shell = vec![call("a", "open_shell", json!({}))];
    let model = saying_in_turn(vec![shell, vec![call("b", "open_console", json!({}))]]).await;
    let mut traced = plan(&model, &policy("risk: 0.3, intervene: [resample], candidates: 1"));
    traced.config.collector = Some(format!("http://{}", collector.address).parse().unwrap());
    let world = traced.start().await;
    world.post(path(Api::Chat), "s", &request(Api::Chat, "Tidy up.", false)).await;
    let find = || spans.lock().unwrap().iter().find(|span| span["name"] == "intervene lictor").cloned();
    while find().is_none() {
        tokio::task::yield_now().await;
    }
    let listed = find().unwrap()["attributes"].clone();
    let value = |key: &str| {
        let named = format!("lictor.intervention.{key}");
        listed.as_array().unwrap().iter().find(|it| it["key"] == named.as_str()).map(|it| it["value"].clone()).unwrap()
    };
    assert_eq!(value("replaced"), json!({"boolValue": true}));
    assert_eq!(value("calls"), json!({"intValue": "1"}));
    assert_eq!(value("at_risk"), json!({"arrayValue": {"values": [{"stringValue": "no-drop"}]}}));
    assert!(value("chance")["doubleValue"].as_f64().unwrap() > 0.3);
    world.end().await;
}
