//! Labelers behind the gateway: they are asked before a decision, and nobody else waits for them.

use std::sync::Arc;

use hyper::Method;
use lictor_event::labeler::Labeler;
use lictor_event::{Answer, AnswerValue, Kind};
use lictor_label::connection::ConnectionOptions;
use lictor_label::service::{ServiceLabeler, ServiceOptions};
use lictor_label::{Calibration, LabelledAnswer, Stratum};
use lictor_logic::Fact;
use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::crossing::saying;
use crate::vendor::{call, path, request};
use crate::world::{Model, Play, SeenRequest, plan};

/// Returns a policy whose question is asked of a service at this address.
fn policy(labeler: &Model) -> String {
    format!(
        r#"
lictor: 1
name: threats
labelers: {{words: {{service: "http://{}/label", timeout: 20s}}}}
facts: {{threatens: {{ask: the user threatens somebody, of: user_message, by: words}}}}
properties:
  - {{id: no-payment-after-threat, formula: 'always (tool_call("pay") implies not once threatens)', respond: block}}
"#,
        labeler.address
    )
}

/// Answers a question by a word in the text, in the contract of label services.
fn answer(seen: &SeenRequest) -> Play {
    let body: Value = seen.json();
    let says = if body["text"].as_str().unwrap().contains("or else") { "yes" } else { "no" };
    let facts = body["questions"].as_array().unwrap().iter();
    let answers: Vec<Value> = facts.map(|it| json!({"fact": it["fact"], "says": says, "score": 0.9})).collect();
    Play::json(json!({"answers": answers}).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_asks_labelers_before_it_decides() {
    let labeler = Model::start(answer).await;
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let world = plan(&model, &policy(&labeler)).start().await;
    let paid = world.post(path(Api::Chat), "kind", &request(Api::Chat, "please pay", false)).await;
    assert!(paid.text().contains("\"pay\""), "{}", paid.text());
    let blocked = world.post(path(Api::Chat), "rude", &request(Api::Chat, "pay, or else", false)).await;
    assert!(!blocked.text().contains("\"pay\""), "{}", blocked.text());
    assert_eq!(labeler.seen().len(), 2, "one question for each message");
    let records = world.end().await;
    let answers: Vec<&Value> = records.iter().filter_map(|record| record.get("answers")).collect();
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[1][0]["fact"], &answers[1][0]["says"]), (&json!("threatens"), &json!("yes")));
    assert!(answers[1][0]["by"].as_str().unwrap().starts_with("words@"), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_labeler_holds_up_its_session_alone() {
    let released = Arc::new(Notify::new());
    let start = Arc::clone(&released);
    let labeler = Model::start(move |seen| match seen.json()["text"].as_str().unwrap().contains("slow") {
        // The reply waits until the other session has been served.
        true => {
            let mut play = answer(seen);
            play.pieces = play.pieces.iter().flat_map(|piece| [piece.slice(..1), piece.slice(1..)]).collect();
            Play { start: Some(Arc::clone(&start)), ..play }
        }
        false => answer(seen),
    })
    .await;
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let world = Arc::new(plan(&model, &policy(&labeler)).start().await);
    let slow = tokio::spawn({
        let world = Arc::clone(&world);
        async move { world.post(path(Api::Chat), "slow", &request(Api::Chat, "a slow one", false)).await }
    });
    while labeler.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    let quick = world.post(path(Api::Chat), "quick", &request(Api::Chat, "please pay", false)).await;
    assert!(quick.text().contains("\"pay\""), "{}", quick.text());
    assert!(!slow.is_finished(), "its labeler has not answered yet");
    released.notify_one();
    let slow = slow.await.unwrap();
    assert!(slow.text().contains("\"pay\""), "{}", slow.text());
    Arc::into_inner(world).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_labeler_leaves_the_fact_unknown() {
    let labeler = Model::start(|_| Play { status: 500, ..Play::json("{}") }).await;
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let world = plan(&model, &policy(&labeler)).start().await;
    // Unknown gets the response of the property: it is blocked.
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "please pay", false)).await;
    assert!(!got.text().contains("\"pay\""), "{}", got.text());
    let records = world.end().await;
    let answers: Vec<&Value> = records.iter().filter_map(|record| record.get("answers")).collect();
    assert_eq!(answers[0][0]["says"], "failed");
}

/// The calibration of a service that says yes to one message in four, and errs in one of nineteen.
fn calibrate(version: &str) -> Calibration {
    let sample = (0..2000u64).map(|k| {
        let (truth, is_wrong) = (k % 4 == 0, k % 19 == 0);
        let says = if truth != is_wrong { AnswerValue::Yes } else { AnswerValue::No };
        LabelledAnswer {
            session: format!("s{}", k / 20).into(),
            event: k % 20,
            stratum: Stratum::new(&Kind::UserMessage, None),
            answer: Answer::new(Fact::new("threatens", []), says).by(version),
            truth,
        }
    });
    Calibration::fit(version, "2026-11-17T12:00:00Z", &sample.collect::<Vec<_>>()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_suspends_risk_and_shows_in_metrics() {
    let labeler = Model::start(answer).await;
    let url = format!("http://{}/label", labeler.address);
    let options = ServiceOptions::new("words", "7", ConnectionOptions::new(url.as_str()));
    let calibration = calibrate(ServiceLabeler::new(options).unwrap().version());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words.json");
    std::fs::write(&file, calibration.to_file()).unwrap();
    let source = format!("service: \"{url}\", version: 7, calibration: \"{}\", timeout: 20s", file.display());
    let policy = policy(&labeler);
    let start = policy.find("service:").unwrap();
    let end = start + policy[start..].find('}').unwrap();
    let policy = format!("{}{source}{}", &policy[..start], &policy[end..])
        .replace("respond: block}", "respond: block, risk: 0.5}");
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let world = plan(&model, &policy).start().await;
    let metric =
        |value: u8| format!("lictor_label_drift{{tenant=\"everybody\",labeler=\"words\",fact=\"threatens\"}} {value}");
    let metrics = world.control(Method::GET, "/lictor/metrics", &json!({})).await.text().to_owned();
    assert!(metrics.lines().any(|line| line == metric(0)), "{metrics}");
    for number in 0..40 {
        let text = format!("pay {number}, or else");
        world.post(path(Api::Chat), &format!("rude {number}"), &request(Api::Chat, &text, false)).await;
    }
    let metrics = world.control(Method::GET, "/lictor/metrics", &json!({})).await.text().to_owned();
    assert!(metrics.lines().any(|line| line == metric(1)), "{metrics}");
    // Yes and no are unknown now, which is as bad as a violation unless the property says otherwise.
    for (session, text) in [("last", "pay at last, or else"), ("kind", "please pay")] {
        let blocked = world.post(path(Api::Chat), session, &request(Api::Chat, text, false)).await;
        assert!(!blocked.text().contains("\"pay\""), "{}", blocked.text());
    }
    let records = world.end().await;
    let answers: Vec<&Value> = records.iter().filter_map(|record| record.get("answers")).collect();
    assert!(answers[0][0]["chance"].is_number() && answers[0][0]["why"].is_null(), "{}", answers[0]);
    let last = answers[answers.len() - 2];
    assert!(last[0]["chance"].is_null() && last[0]["why"] == "drift", "{last}");
}
