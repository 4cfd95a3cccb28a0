//! Steering and objectives over HTTP: what the model is told, what is recorded, and what the application changes.

use std::sync::Arc;

use hyper::Method;
use lictor_gateway::KeyHash;
use lictor_store::{MemoryStore, Store};
use lictor_wire::Api;
use serde_json::{Value, json};

use crate::crossing::{NOTHING, saying};
use crate::libraries::{python_script, run};
use crate::shopper::{example, model, turns};
use crate::vendor::{call, hear, history, path, request, result_item, said_items, text};
use crate::world::{World, of_type, plan};

const STEERED: &str = r#"
lictor: 1
name: steered
steer: [owed, shield]
properties:
  - {id: logged, says: Sales are logged., formula: 'always (tool_call("sell") -> eventually tool_call("log"))'}
  - {id: checked, says: Checked first., formula: 'always (tool_call("pay") -> once tool_call("check"))', respond: block}
"#;

fn tool(api: Api, name: &str) -> Value {
    match api {
        Api::Chat => json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}),
        Api::Responses => json!({"type": "function", "name": name, "parameters": {"type": "object"}}),
        Api::Messages => json!({"name": name, "input_schema": {"type": "object"}}),
    }
}

/// Returns the note in the vendor's own place.
fn note(api: Api, sent: &Value) -> String {
    let place = match api {
        Api::Chat => sent["messages"].as_array().unwrap().last().unwrap()["content"].clone(),
        Api::Responses => sent["instructions"].clone(),
        Api::Messages => sent["system"].clone(),
    };
    place.as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn steered_exchange_is_recorded_and_counted() {
    for (api, streams) in Api::ALL.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let said = [call("c", "sell", json!({}))];
        let model = saying(said.to_vec()).await;
        let world = plan(&model, STEERED).start().await;
        let first = json!({"role": "user", "content": "Sell it."});
        let tools = json!([tool(api, "pay"), tool(api, "check")]);
        let mut body = history(api, std::slice::from_ref(&first), streams);
        body["tools"] = tools.clone();
        assert_eq!(world.post(path(api), "s", &body).await.status, 200);
        let mut items = vec![first];
        items.extend(said_items(api, &said));
        items.push(result_item(api, "c", "sold"));
        let mut body = history(api, &items, streams);
        body["tools"] = tools;
        for _ in 0..2 {
            assert_eq!(world.post(path(api), "s", &body).await.status, 200);
        }
        let seen = model.seen();
        assert!(!seen[0].json().to_string().contains("Still to be done"), "nothing is owed yet");
        for seen in &seen {
            let sent = seen.json();
            assert_eq!(sent["tools"].as_array().unwrap().len(), 1, "{sent}");
            assert_eq!(sent["x_unknown"], json!({"kept": [1, 2.5]}));
        }
        for seen in &seen[1..] {
            let said = note(api, &seen.json());
            assert!(said.contains("logged: Sales are logged."), "{api:?} {said}");
            assert_eq!(seen.json().to_string().matches("Still to be done").count(), 1, "a retry is told once");
        }
        assert_eq!(world.figure("lictor_obligations_told_total").await, 2);
        assert_eq!(world.figure("lictor_tools_removed_total").await, 3);
        let records = world.end().await;
        let exchanges = of_type(&records, "exchange");
        let removed = json!([{"tool": "pay", "properties": ["checked"]}]);
        assert_eq!(exchanges[0]["steered"], json!({"owed": [], "removed": removed, "named": []}));
        assert_eq!(exchanges[1]["steered"], json!({"owed": ["logged"], "removed": removed, "named": []}));
        assert!(!records.iter().any(|record| record.to_string().contains("Sales are logged")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsteered_exchange_has_no_steered_record() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let body = request(Api::Chat, "Hello.", false);
    assert_eq!(world.post(path(Api::Chat), "s", &body).await.status, 200);
    assert_eq!(model.seen()[0].json(), body);
    assert!(of_type(&world.end().await, "exchange")[0].get("steered").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn steered_python_agent_makes_no_stopped_call() {
    const LOG: &str = "consent-bypass.jsonl";
    let turns: Vec<Value> = turns(LOG).iter().map(|(user, steps)| json!([user, steps.len()])).collect();
    let model = model(LOG).await;
    let policy = format!("{}\nsteer: [owed, shield]\n", example("policy.yaml"));
    let world = plan(&model, &policy).start().await;
    let given = json!({"runs": [{"address": format!("http://{}", world.address), "strict": true}], "turns": turns});
    let Some(command) = python_script("agent.py") else { return };
    let lines = run(command, given).await;
    let dialogues: Vec<&Value> = lines.iter().filter(|line| line["tools"].is_array()).collect();
    assert_eq!(dialogues.len(), 6);
    for line in dialogues {
        assert_eq!(line["tools"], json!(["lookup_customer", "refund_item"]), "{line}");
    }
    world.end().await;
}

async fn change(world: &World, mut body: Value) -> (u16, Value) {
    body["session"] = json!("s");
    body["key"] = json!(KeyHash::of("key").to_string());
    let got = world.control(Method::POST, "/lictor/objectives", &body).await;
    (got.status, got.json())
}

async fn calls(world: &World, said: &str) -> usize {
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, said, false)).await;
    assert_eq!(got.status, 200, "{}", got.text());
    hear(Api::Chat, &got.body).calls.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn objective_of_running_session_changes_and_survives_restart() {
    let model = saying(vec![call("c", "mail", json!({}))]).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let start = async || {
        let mut plan = plan(&model, NOTHING);
        plan.store = Some(Arc::clone(&store));
        plan.start().await
    };
    let world = start().await;
    assert_eq!(calls(&world, "Mail it.").await, 1);
    let added =
        json!({"add": {"id": "no-mail", "formula": "always !tool_call(\"mail\")", "respond": "block"}, "by": "ann"});
    let (status, answer) = change(&world, added.clone()).await;
    assert_eq!((status, &answer["note"]), (200, &Value::Null));
    let misspelt = json!({"session_name": "0".repeat(32), "add": added["add"]});
    let misspelt = world.control(Method::POST, "/lictor/objectives", &misspelt).await.json();
    assert_eq!(misspelt["note"], "no request of this session was seen yet");
    assert_eq!(calls(&world, "Mail it again.").await, 0);
    let (status, answer) = change(&world, added).await;
    assert_eq!(status, 409);
    assert!(answer["message"].as_str().unwrap().contains("has a property `no-mail` already"), "{answer}");
    let records = world.end().await;
    let objective = of_type(&records, "decision").into_iter().find(|record| record["objective"].is_object()).unwrap();
    assert_eq!(objective["objective"], json!({"change": "add", "property": "no-mail"}));
    let world = start().await;
    assert_eq!(calls(&world, "And now?").await, 0);
    let name = answer["session_name"].as_str().unwrap();
    let listed = async |query: &str| {
        let got = world.control(Method::GET, &format!("/lictor/objectives{query}"), &json!({})).await;
        (got.status, got.json())
    };
    let (status, objectives) = listed(&format!("?session_name={name}")).await;
    assert_eq!((status, &objectives["objectives"][0]["id"]), (200, &json!("no-mail")), "{objectives}");
    assert_eq!(listed(&format!("?session_name={}", "0".repeat(32))).await.0, 404);
    assert_eq!(listed("").await.0, 400);
    assert_eq!(listed("?session=s").await.0, 400);
    assert_eq!(change(&world, json!({"change": "no-mail", "respond": "warn", "priority": 2})).await.0, 200);
    assert_eq!(calls(&world, "Please.").await, 1);
    assert_eq!(change(&world, json!({"remove": "no-mail"})).await.0, 200);
    assert_eq!(change(&world, json!({"remove": "no-mail"})).await.0, 409);
    let keyless = world.ask(Method::POST, "/lictor/objectives", &[], "{}").await;
    assert_eq!(keyless.status, 401);
    world.end().await;
}
