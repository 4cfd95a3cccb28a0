//! The shop's agent with the vendors' own client libraries.

use std::process::Command;

use serde_json::{Value, json};

use crate::libraries::{node_script, python_script, run};
use crate::shopper::{example, model, turns};
use crate::world::plan;

const LOG: &str = "consent-bypass.jsonl";

/// Runs the agent with the model alone, and through the gateway; none if it cannot be run here.
async fn both(command: impl Fn() -> Option<Command>) -> Option<(Vec<Value>, Vec<Value>)> {
    let turns: Vec<Value> = turns(LOG).iter().map(|(user, steps)| json!([user, steps.len()])).collect();
    let given =
        |address, is_strict: bool| json!({"address": format!("http://{address}"), "strict": is_strict, "turns": turns});
    let model = model(LOG).await;
    let without = run(command()?, given(model.address, false)).await;
    let world = plan(&model, &example("policy.yaml")).start().await;
    let with = run(command()?, given(world.address, true)).await;
    world.end().await;
    Some((without, with))
}

#[tokio::test(flavor = "multi_thread")]
async fn python_agent_continues_after_denial() {
    let Some((without, with)) = both(|| python_script("agent.py")).await else { return };
    assert_eq!(without.len(), 6);
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
    let Some((without, with)) = both(|| node_script("agent.mjs")).await else { return };
    assert_eq!((without.len(), with.len()), (4, 4));
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without["tools"], json!(["lookup_customer", "refund_item", "send_marketing_email"]));
        assert_eq!(with["tools"], json!(["lookup_customer", "refund_item"]), "{with}");
    }
}
