//! The shop's agent as a live loop: the marketing mail is sent without Lictor, and blocked with it.
//!
//! The dialogues are those of the example; a scripted model plays the agent's side of them, and the agent carries out
//! every call that reaches it.

use std::net::SocketAddr;

use hyper::Method;
use lictor_wire::Api;
use serde_json::{Value, json};

use crate::vendor::{Say, call, hear, hear_stream, path, result_item, said_items, text};
use crate::world::{Model, SeenRequest, ask_at, plan};

pub(crate) fn example(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../examples/shopper/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Returns the turns of a dialogue: the user's text, and the model's steps after it.
pub(crate) fn turns(log: &str) -> Vec<(String, Vec<Say>)> {
    let mut turns: Vec<(String, Vec<Say>)> = Vec::new();
    for line in example(log).lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let said = || event["text"].as_str().unwrap().to_owned();
        match event["kind"].as_str().unwrap() {
            "user_message" => turns.push((said(), Vec::new())),
            "assistant_message" => turns.last_mut().unwrap().1.push(text(&said())),
            "tool_call" => {
                let name = |key: &str| event[key].as_str().unwrap();
                turns.last_mut().unwrap().1.push(call(name("id"), name("tool"), event["args"].clone()));
            }
            _ => {}
        }
    }
    turns
}

/// Starts a model that continues after the history of the request: the tool results count its steps.
pub(crate) async fn model(log: &str) -> Model {
    let turns = turns(log);
    Model::start(move |seen: &SeenRequest| {
        let step = seen.headers["x-step"].to_str().unwrap().split_once('.').unwrap();
        let (turn, step): (usize, usize) = (step.0.parse().unwrap(), step.1.parse().unwrap());
        let said = turns[turn].1.get(step).cloned().unwrap_or_else(|| text("Anything else?"));
        crate::crossing::told(seen, &[said])
    })
    .await
}

/// Runs the dialogue. Returns the tools that the agent executed, in order.
async fn run(ask: impl AsyncFn(&[(&str, &str)], String) -> Vec<u8>, api: Api, streams: bool, log: &str) -> Vec<String> {
    let (mut items, mut done): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
    for (turn, (user, steps)) in turns(log).into_iter().enumerate() {
        items.push(json!({"role": "user", "content": user}));
        for step in 0..=steps.len() {
            let body = crate::vendor::history(api, &items, streams).to_string();
            let numbered = format!("{turn}.{step}");
            let answer = ask(&[("x-step", &numbered), ("x-lictor-session", "shop")], body).await;
            let heard = if streams { hear_stream(api, &answer) } else { hear(api, &answer) };
            let mut said: Vec<Say> = Vec::new();
            if !heard.text.is_empty() {
                said.push(text(&heard.text));
            }
            said.extend(heard.calls.iter().map(|(id, tool, args)| call(id, tool, args.clone())));
            items.extend(said_items(api, &said));
            for (id, tool, _) in &heard.calls {
                done.push(tool.clone());
                items.push(result_item(api, id, "ok"));
            }
            if heard.calls.is_empty() {
                break;
            }
        }
    }
    done
}

/// Runs the dialogue with the server at an address.
async fn at(address: SocketAddr, api: Api, streams: bool, log: &str) -> Vec<String> {
    let ask = async |headers: &[(&str, &str)], body: String| {
        let got = ask_at(address, Method::POST, path(api), headers, body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        got.body.to_vec()
    };
    run(ask, api, streams, log).await
}

#[tokio::test(flavor = "multi_thread")]
async fn marketing_mail_is_blocked_with_lictor_only() {
    let log = "consent-bypass.jsonl";
    for api in Api::ALL {
        for streams in [false, true] {
            let model = model(log).await;
            let without = at(model.address, api, streams, log).await;
            assert_eq!(without, ["lookup_customer", "refund_item", "send_marketing_email"], "{api:?} {streams}");
            let world = plan(&model, &example("policy.yaml")).start().await;
            let with = at(world.address, api, streams, log).await;
            assert_eq!(with, ["lookup_customer", "refund_item"], "{api:?} {streams}");
            world.end().await;
        }
    }
}
