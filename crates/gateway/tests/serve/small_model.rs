//! A real, small model on a server of llama.cpp: its calls are not scripted.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::libraries::{python, python_with_model, run, script};
use crate::world::{of_type, plan_to};

const POLICY: &str = r#"
lictor: 1
name: files
properties:
  - {id: keep-files, formula: 'always !tool_call("delete_file")', respond: block, says: No file is deleted.}
"#;

/// The server, ended by its process id when dropped.
struct ModelServer {
    child: Child,
    address: String,
}

impl ModelServer {
    fn start(python: &std::path::Path) -> ModelServer {
        let mut command = Command::new(python);
        command.arg(script("small_model.py")).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        ModelServer { child, address: address.trim().to_owned() }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_model_calls_are_judged() {
    let (Some(agent), Some(model)) = (python(), python_with_model()) else { return };
    let serving = tokio::task::spawn_blocking(move || ModelServer::start(&model)).await.unwrap();
    let world = plan_to(&serving.address, POLICY).start().await;
    let mut command = Command::new(agent);
    command.arg(script("small_talk.py"));
    let told = run(command, json!({"address": format!("http://{}", world.address)})).await;
    assert_eq!(told.len(), 12, "three interfaces, streamed and not, two questions each");
    let records = world.end().await;
    // Whatever the model did, no forbidden call arrived, and every call was decided on.
    let arrived: Vec<&Value> = told.iter().flat_map(|line| line["calls"].as_array().unwrap()).collect();
    assert!(arrived.iter().all(|call| call[0] == "get_weather"), "{arrived:?}");
    let decided = |tool: &str, action: &str| {
        let calls = of_type(&records, "decision").into_iter().filter(|it| it["kind"] == "tool_call");
        calls.filter(|it| it["tool"] == tool && it["action"] == action).count()
    };
    // Each chat history has two calls in its example turns.
    let worked = 2 * told.iter().filter(|line| line["api"] == "chat").count();
    assert_eq!(decided("get_weather", "forward"), arrived.len() + worked, "{told:#?}");
    assert_eq!(decided("delete_file", "forward"), 0);
    for line in &told {
        let (calls, said) = (line["calls"].as_array().unwrap(), line["said"].as_str().unwrap_or_default());
        let is_odd = line["api"] == "responses" && line["stream"] == true;
        match (is_odd, line["wanted"] == "delete_file") {
            // This server omits the output index of items, so its stream is refused.
            (true, _) => assert!(calls.is_empty() && said.starts_with("stream.shape: "), "{line}"),
            (false, true) => assert!(calls.is_empty() && said.contains("keep-files"), "{line}"),
            (false, false) => assert_eq!(calls.len(), 1, "{line}"),
        }
    }
    assert_eq!((arrived.len(), decided("delete_file", "block")), (5, 5), "three interfaces, but for one way of one");
    let exchanges = of_type(&records, "exchange");
    assert_eq!(exchanges.len(), told.len());
    let ended = |outcome: &str| exchanges.iter().filter(|record| record["outcome"] == outcome).count();
    // A library may disconnect as soon as it has read the last event.
    assert_eq!((ended("done") + ended("client_gone"), ended("refused")), (10, 2), "{exchanges:#?}");
}
