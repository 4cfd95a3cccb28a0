//! The shop's agent with the vendors' own client libraries.

use std::process::Command;

use serde_json::{Value, json};

use crate::libraries::{node_script, python_script, run};
use crate::shopper::{example, model, turns};
use crate::world::plan;

const LOG: &str = "consent-bypass.jsonl";

/// Runs an agent with the model alone, and through the gateway; each prints so many lines with the model alone.
async fn both(command: Command, lines: usize) -> (Vec<Value>, Vec<Value>) {
    let turns: Vec<Value> = turns(LOG).iter().map(|(user, steps)| json!([user, steps.len()])).collect();
    let model = model(LOG).await;
    let world = plan(&model, &example("policy.yaml")).start().await;
    let runs = [(model.address, false), (world.address, true)]
        .map(|(address, is_strict)| json!({"address": format!("http://{address}"), "strict": is_strict}));
    let mut without = run(command, json!({"runs": runs, "turns": turns})).await;
    let with = without.split_off(lines);
    world.end().await;
    (without, with)
}

#[tokio::test(flavor = "multi_thread")]
async fn python_agent_continues_after_denial() {
    let Some(agent) = python_script("agent.py") else { return };
    let (without, with) = both(agent, 6).await;
    for line in without {
        assert_eq!(line["tools"], json!(["lookup_customer", "refund_item", "send_marketing_email"]), "{line}");
    }
    let dialogues: Vec<&Value> = with.iter().filter(|line| line["tools"].is_array()).collect();
    assert_eq!(dialogues.len(), 6);
    for line in dialogues {
        assert_eq!(line["tools"], json!(["lookup_customer", "refund_item"]), "{line}");
    }
    let errors: Vec<&Value> = with.iter().filter(|line| line["error"] == 400).collect();
    assert_eq!(errors.len(), 3, "{with:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_agent_continues_after_denial() {
    let Some(agent) = node_script("agent.mjs") else { return };
    let (without, with) = both(agent, 4).await;
    assert_eq!(with.len(), 4);
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without["tools"], json!(["lookup_customer", "refund_item", "send_marketing_email"]));
        assert_eq!(with["tools"], json!(["lookup_customer", "refund_item"]), "{with}");
    }
}
