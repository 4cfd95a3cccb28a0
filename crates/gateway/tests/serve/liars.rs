//! An upstream that lies, against real clients: whatever it sends, no client sees a call or a text that the policy stops.
//!
//! The upstream takes a true reply with a forbidden call or text and changes it at random: other letters in keys, values
//! of other types, members elsewhere, events twice, in another order or with another name. A seed gives the same changes
//! again. Each client reads lies of its own; `LICTOR_LIES` says how many.

mod listed;

use std::io::Write;
use std::process::Command;

use lictor_wire::Api;
use serde_json::{Map, Value, json};

use crate::crossing::POLICY;
use crate::libraries::{node_script, python_script, run};
use crate::vendor::{Say, call, reply, stream, text};
use crate::world::{Model, Play, SeenRequest, plan};

/// How many lies each client reads, unless the environment says otherwise.
const LIES: u64 = 24;

/// What must not be seen, and what may be.
const FORBIDDEN: [(&str, &str); 2] = [("drop", "look"), ("diabetes", "sunshine")];

/// Pseudorandom numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (limit.max(1) as u64)).unwrap()
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Returns the paths of all objects in a value, as JSON pointers.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            members.iter().for_each(|(key, value)| objects(value, &format!("{at}/{key}"), found));
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(place, value)| objects(value, &format!("{at}/{place}"), found));
        }
        _ => {}
    }
}

fn harmless(value: &Value) -> Value {
    let mut text = value.to_string();
    FORBIDDEN.iter().for_each(|(bad, good)| text = text.replace(bad, good));
    serde_json::from_str(&text).unwrap()
}

fn other_case(key: &str, random: &mut Random) -> String {
    match random.below(3) {
        0 => key.to_uppercase(),
        1 => key.replacen('s', "\u{17f}", 1),
        _ => key.chars().take(1).flat_map(char::to_uppercase).chain(key.chars().skip(1)).collect(),
    }
}

/// Changes a value at one place.
fn lie(value: &mut Value, random: &mut Random) {
    let mut places = Vec::new();
    objects(value, "", &mut places);
    let place = random.pick(&places).clone();
    let elsewhere = random.pick(&places).clone();
    let Some(Value::Object(object)) = value.pointer_mut(&place) else { return };
    let keys: Vec<String> = object.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let key = random.pick(&keys).clone();
    let old = object[&key].clone();
    match random.below(9) {
        0 => drop(object.remove(&key).map(|old| object.insert(other_case(&key, random), old))),
        1 => {
            object.insert(other_case(&key, random), old.clone());
            object.insert(key, harmless(&old));
        }
        2 => drop(object.insert(key, json!([old]))),
        3 => drop(object.insert(key, json!({"0": old}))),
        4 => {
            object.insert(key.clone(), harmless(&old));
            if let Some(Value::Object(other)) = value.pointer_mut(&elsewhere) {
                other.insert(key, old);
            }
        }
        5 => drop(object.insert(key, json!(5))),
        6 => {
            let name =
                *random.pick(&["content", "text", "tool_calls", "delta", "message", "refusal", "custom", "input"]);
            object.insert(name.into(), old);
        }
        7 => drop(object.insert(key, harmless(&old))),
        _ => {
            let forbidden = json!({"name": "drop", "arguments": "{}", "input": "{}"});
            object.insert((*random.pick(&["function", "custom", "function_call"])).into(), forbidden);
        }
    }
}

/// Changes the order of events, or their number.
fn lie_about_events(events: &mut Vec<String>, random: &mut Random) {
    let (one, other) = (random.below(events.len()), random.below(events.len()));
    match random.below(4) {
        0 => events.swap(one, other),
        1 => events.insert(one, events[other].clone()),
        2 => drop(events.remove(one)),
        _ => {
            let text = harmless(&json!(events[one])).as_str().unwrap().to_owned();
            events.insert(other, text);
        }
    }
}

/// Returns a reply that lies, always the same for a seed.
fn lying(api: Api, streams: bool, seed: u64) -> Play {
    let mut random = Random(seed.wrapping_mul(1_000_003) + u64::from(streams));
    let said: Vec<Say> = match random.below(3) {
        0 => vec![call("c1", "drop", json!({"x": 1}))],
        1 => vec![text("The patient has diabetes, I think.")],
        _ => vec![text("Wait, the diabetes."), call("c1", "look", json!({})), call("c2", "drop", json!({"x": 1}))],
    };
    let times = 1 + random.below(3);
    if !streams {
        let mut body: Value = serde_json::from_str(&reply(api, &said)).unwrap();
        (0..times).for_each(|_| lie(&mut body, &mut random));
        return Play::json(body.to_string());
    }
    let pieces = 1 + random.below(40);
    let mut events = stream(api, &said, pieces);
    for _ in 0..times {
        if random.below(3) == 0 {
            lie_about_events(&mut events, &mut random);
            continue;
        }
        let place = random.below(events.len());
        let Some((head, data)) = events[place].split_once("data: ") else { continue };
        let Ok(mut payload) = serde_json::from_str::<Value>(data.trim()) else { continue };
        let head = head.to_owned();
        lie(&mut payload, &mut random);
        events[place] = format!("{head}data: {payload}\n\n");
    }
    Play::stream(&events)
}

/// Starts an upstream that lies; the request says which lie it wants.
async fn liar() -> Model {
    Model::start(|seen: &SeenRequest| {
        let body = seen.json();
        let api = match seen.path.as_str() {
            path if path.ends_with("/chat/completions") => Api::Chat,
            path if path.ends_with("/responses") => Api::Responses,
            _ => Api::Messages,
        };
        let text = body.to_string();
        let number = text.split("lie number ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        // A model that is asked again tells another lie.
        let items = body["messages"].as_array().or(body["input"].as_array()).map_or(0, Vec::len) as u64;
        lying(api, body["stream"] == json!(true), number.unwrap().parse::<u64>().unwrap() + 100_000 * items)
    })
    .await
}

fn lies() -> u64 {
    std::env::var("LICTOR_LIES").ok().and_then(|text| text.parse().ok()).unwrap_or(LIES)
}

/// Runs clients against the liar, and fails if one saw what it must not. Prints how many replies and errors each read.
async fn is_never_seen(clients: Command, least: usize) {
    let model = liar().await;
    let mut plan = plan(&model, POLICY);
    plan.records = false;
    plan.config.limits.corrections = 2;
    plan.config.limits.session_corrections = usize::MAX;
    let world = plan.start().await;
    let told = run(clients, json!({"address": format!("http://{}", world.address), "lies": lies()})).await;
    assert!(told.len() >= least, "{told:?}");
    let mut read = Map::new();
    for line in &told {
        assert_eq!(line["seen"], json!([]), "{line}");
        read.insert(line["client"].to_string(), json!([line["replies"], line["errors"]]));
    }
    // Written directly, since the test harness would capture it.
    let summary = format!("{} lies for each of {} clients, [replies, errors]: {read:?}\n", lies(), told.len());
    std::io::stderr().write_all(summary.as_bytes()).unwrap();
    // A client that gets nothing but errors shows nothing.
    assert!(told.iter().all(|line| line["replies"].as_u64() > Some(0)), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lies_reach_no_python_client() {
    let Some(clients) = python_script("liars.py") else { return };
    is_never_seen(clients, 17).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lies_reach_no_javascript_client() {
    let Some(clients) = node_script("liars.mjs") else { return };
    is_never_seen(clients, 8).await;
}
