//! The shop's agent once more, with the vendors' own libraries between it and the gateway.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::shopper::{example, model, turns};
use crate::world::plan;

/// The libraries, pinned.
const OF_PYTHON: [&str; 2] = ["openai==3.49.0", "anthropic==2.8.0"];
const OF_NODE: [&str; 1] = ["openai@6.49.0"];

const LOG: &str = "consent-bypass.jsonl";

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Makes a folder once; a mark in it, written last, says what is in it.
fn made_once(name: &str, holds: &str, make: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mark = folder.join("libraries");
    if std::fs::read_to_string(&mark).ok().as_deref() != Some(holds) {
        std::fs::create_dir_all(&folder).unwrap();
        if !make(&folder) {
            // Past the test harness, which would keep it to itself.
            let message = format!("\nSKIPPED: {holds} cannot be had here\n");
            std::io::stderr().write_all(message.as_bytes()).unwrap();
            return None;
        }
        std::fs::write(&mark, holds).unwrap();
    }
    Some(folder)
}

/// What a script says, line by line.
fn run(mut command: Command, address: &str, is_strict: bool) -> Vec<Value> {
    let turns: Vec<Value> = turns(LOG).iter().map(|(user, steps)| json!([user, steps.len()])).collect();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let given = json!({"address": address, "strict": is_strict, "turns": turns}).to_string();
    child.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the script failed: {}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the agent with the model alone, and with the gateway before it.
async fn both(command: impl Fn() -> Command + Send + Clone + 'static) -> (Vec<Value>, Vec<Value>) {
    let model = model(LOG).await;
    let (direct, script) = (format!("http://{}", model.address), command.clone());
    let without = tokio::task::spawn_blocking(move || run(script(), &direct, false)).await.unwrap();
    let world = plan(&model, &example("policy.yaml")).start().await;
    let address = format!("http://{}", world.address);
    let with = tokio::task::spawn_blocking(move || run(command(), &address, true)).await.unwrap();
    world.end().await;
    (without, with)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/clients").join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_python_goes_on_without_what_was_denied() {
    let made = made_once("sdk-venv", &OF_PYTHON.join(" "), |folder| {
        succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))
            && succeeds(
                Command::new(folder.join("bin/python")).args(["-m", "pip", "install", "--quiet"]).args(OF_PYTHON),
            )
    });
    let Some(folder) = made else { return };
    let command = move || {
        let mut command = Command::new(folder.join("bin/python"));
        command.arg(script("agent.py"));
        command
    };
    let (without, with) = both(command).await;
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
async fn an_agent_in_javascript_goes_on_without_what_was_denied() {
    let made = made_once("sdk-node", &OF_NODE.join(" "), |folder| {
        succeeds(Command::new("npm").args(["install", "--silent", "--prefix"]).arg(folder).args(OF_NODE))
    });
    let Some(folder) = made else { return };
    let copied = folder.join("agent.mjs");
    // Modules are looked for beside the script.
    std::fs::copy(script("agent.mjs"), &copied).unwrap();
    let command = move || {
        let mut command = Command::new("node");
        command.arg(&copied);
        command
    };
    let (without, with) = both(command).await;
    assert_eq!((without.len(), with.len()), (4, 4));
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without["tools"], json!(["lookup_customer", "refund_item", "send_marketing_email"]));
        assert_eq!(with["tools"], json!(["lookup_customer", "refund_item"]), "{with}");
    }
}
