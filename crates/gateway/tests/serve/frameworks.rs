//! Agents of several frameworks with only their base URL changed: asynchronous clients, OpenAI's Agents SDK, LangGraph,
//! Vercel's AI SDK.
//!
//! The model finds its next step from the history of the request. Each agent first runs with the model alone, to show
//! the calls that the gateway must prevent.

use std::process::Command;

use serde_json::{Value, json};

use crate::crossing::{POLICY, told};
use crate::libraries::{node_script, python_script, run};
use crate::vendor::{call, text};
use crate::world::{Model, SeenRequest, of_type, plan};

/// Starts a model that takes three steps and then a final text. It counts the tool results to find its step. If it reads
/// why a step was denied, it takes another.
async fn model() -> Model {
    Model::start(|seen: &SeenRequest| {
        let step = answers(&seen.json());
        let is_corrected = String::from_utf8_lossy(&seen.body).contains("What would be right: Archive it.");
        let said = match step {
            _ if is_corrected => call("c4", "look", json!({"what": "archive"})),
            0 => call("c1", "look", json!({"what": "orders"})),
            1 => call("c2", "note", json!({"text": "three", "diagnosis": "asthma"})),
            2 => call("c3", "drop", json!({"x": 1})),
            _ => text("Done."),
        };
        // A library may treat two replies of one id as the same.
        let mut play = told(seen, &[said]);
        for piece in &mut play.pieces {
            let text = std::str::from_utf8(piece).unwrap();
            let number = if is_corrected { 9 } else { step };
            *piece = text.replace("\"resp_1\"", &format!("\"resp_{number}\"")).into();
        }
        play
    })
    .await
}

/// Returns how many tool results a request has, in any API.
fn answers(body: &Value) -> usize {
    let items = body["messages"].as_array().or(body["input"].as_array()).unwrap();
    let parts = items.iter().filter_map(|item| item["content"].as_array()).flatten();
    let is_answer = |item: &&Value| item["role"] == "tool" || item["type"] == "function_call_output";
    items.iter().filter(is_answer).count() + parts.filter(|part| part["type"] == "tool_result").count()
}

/// Runs an agent without and with the gateway, which must enforce the policy and change nothing else.
async fn is_held_to_the_policy(name: &str, runs: usize) {
    let Some(agent) = python_script(name) else { return };
    let model = model().await;
    let world = plan(&model, POLICY).start().await;
    let addresses = [format!("http://{}", model.address), format!("http://{}", world.address)];
    let told = run(agent, json!({"addresses": addresses})).await;
    assert_eq!(told.len(), 2 * runs);
    let (without, with) = told.split_at(runs);
    let look = json!(["look", {"what": "orders"}]);
    for line in without {
        let note = json!(["note", {"text": "three", "diagnosis": "asthma"}]);
        assert_eq!(line["entered"], json!([look, note, ["drop", {"x": 1}]]), "{line}");
        assert_eq!(line["said"], "Done.", "{line}");
    }
    for line in with {
        let note = json!(["note", {"text": "three", "diagnosis": "[redacted]"}]);
        assert_eq!(line["entered"], json!([look, note]), "{line}");
        let said = line["said"].as_str().unwrap();
        assert!(said.contains("no-drop") && said.contains("Archive it."), "{line}");
    }
    let records = world.end().await;
    let decided = |action: &str| of_type(&records, "decision").iter().filter(|it| it["action"] == action).count();
    assert_eq!((decided("redact"), decided("block")), (runs, runs), "{records:#?}");
    assert_eq!(of_type(&records, "exchange").len(), 3 * runs, "one for each step that was taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_is_enforced_for_asynchronous_clients() {
    is_held_to_the_policy("asynchronous.py", 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_is_enforced_for_agents_sdk() {
    is_held_to_the_policy("openai_agents.py", 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_is_enforced_for_langgraph() {
    is_held_to_the_policy("langgraph_agent.py", 4).await;
}

/// Runs an agent whose third call is denied. The model reads why, takes another step, and the agent ends its task.
async fn ends_its_task(mut agent: Command, runs: usize) {
    let model = model().await;
    let mut plan = plan(&model, POLICY);
    plan.config.limits.corrections = 2;
    let world = plan.start().await;
    agent.env("LICTOR_STREAMS", "0");
    let told = run(agent, json!({"addresses": [format!("http://{}", world.address)]})).await;
    assert_eq!(told.len(), runs);
    for line in told {
        let (look, note) =
            (json!(["look", {"what": "orders"}]), json!(["note", {"text": "three", "diagnosis": "[redacted]"}]));
        assert_eq!(line["entered"], json!([look, note, ["look", {"what": "archive"}]]), "{line}");
        assert_eq!(line["said"], "Done.", "{line}");
    }
    assert_eq!(world.figure("lictor_corrections_total").await, runs as u64);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_sdk_ends_its_task_after_denial() {
    let Some(agent) = python_script("openai_agents.py") else { return };
    ends_its_task(agent, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraph_ends_its_task_after_denial() {
    let Some(agent) = python_script("langgraph_agent.py") else { return };
    ends_its_task(agent, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vercel_ends_its_task_after_denial() {
    let Some(agent) = node_script("vercel_agent.mjs") else { return };
    ends_its_task(agent, 2).await;
}
