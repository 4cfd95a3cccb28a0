//! The scenes of `lictor-exchange`, over HTTP: the same files as its own driver and the Python package play.

use std::path::Path;
use std::sync::{Arc, Mutex};

use hyper::Method;
use serde_json::{Value, json};

use crate::check::{self, TurnResult, approval_id, strings};
use crate::leaving::read_until;
use crate::world::{Ends, Model, Play, World, plan};

const SESSION: &str = "s";

/// Returns the model's script of a turn.
fn script(turn: &Value) -> Play {
    if !turn["stream"].is_array() {
        return Play::json(turn["reply"].to_string());
    }
    let leaves = turn["leave_after"].as_u64().map_or(usize::MAX, |count| count as usize);
    let pieces: Vec<String> = strings(&turn["stream"]).take(leaves).map(str::to_owned).collect();
    let ends = match (leaves < usize::MAX, turn["cut"] == true) {
        (true, _) => Ends::Silent,
        (false, true) => Ends::Cut,
        (false, false) => Ends::Whole,
    };
    Play { ends, ..Play::stream(&pieces) }
}

async fn play(world: &World, model: &Model, turn: &Value) -> TurnResult {
    let (path, request) = (turn["path"].as_str().unwrap(), &turn["request"]);
    let before = model.seen().len();
    let upstream = || model.seen().get(before).map(|seen| String::from_utf8_lossy(&seen.body).into_owned());
    if turn["leave_after"].is_u64() {
        let last = script(turn).pieces.pop().unwrap();
        let client = read_until(world, path, request, std::str::from_utf8(&last).unwrap()).await;
        return TurnResult { upstream: upstream(), status: 200, client, ..TurnResult::default() };
    }
    let got = world.post(path, SESSION, request).await;
    assert_eq!(got.is_whole, turn["cut"] != true, "{}", got.text());
    // A request to which the scene has no reply was answered with an error.
    let asked = turn["again"].as_array().map_or(0, Vec::len);
    let seen = model.seen();
    let again = seen.iter().skip(before + 1).take(asked).map(|seen| String::from_utf8_lossy(&seen.body).into_owned());
    TurnResult {
        upstream: upstream(),
        again: again.collect(),
        status: got.status.into(),
        code: got.code().to_owned(),
        client: got.text().to_owned(),
    }
}

/// Answers the pending approval.
async fn answer(world: &World, seen: &TurnResult, answer: &str) {
    let target = format!("/lictor/approvals/{}", approval_id(seen));
    let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": answer == "approve"})).await;
    assert_eq!(got.status, 200, "{}", got.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn scenes_play_over_http() {
    let mut complaints = Vec::new();
    for (name, scene) in check::scenes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/scenes")) {
        // The turn, and how many requests of it the model has seen.
        let next: Arc<Mutex<(Value, usize)>> = Arc::default();
        let scripted = Arc::clone(&next);
        let model = Model::start(move |_| {
            let (turn, asked) = &mut *scripted.lock().unwrap();
            *asked += 1;
            match (*asked, turn["again"].get(asked.wrapping_sub(2))) {
                (1, _) => script(turn),
                (_, Some(stream @ Value::Array(_))) => {
                    Play::stream(&strings(stream).map(str::to_owned).collect::<Vec<_>>())
                }
                (_, Some(reply)) => Play::json(reply.to_string()),
                (_, None) => Play { status: 500, ..Play::json("{}") },
            }
        })
        .await;
        let mut plan = plan(&model, &check::policy(&scene));
        plan.config.limits.corrections = 2;
        let world = plan.start().await;
        for (number, turn) in scene["turns"].as_array().unwrap().iter().enumerate() {
            *next.lock().unwrap() = (turn.clone(), 0);
            let seen = play(&world, &model, turn).await;
            if let Err(complaint) = check::check(turn, &seen) {
                complaints.push(format!("{name}, turn {number}: {complaint}"));
                break;
            }
            if let Some(said) = turn["then"].as_str() {
                answer(&world, &seen, said).await;
            }
        }
        world.end().await;
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
