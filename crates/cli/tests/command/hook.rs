//! The hooks of coding agents, as the clients run them: one process per call.

mod client;
mod contracts;
mod failures;
mod forecasts;
#[cfg(unix)]
mod keeper;
mod together;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const POLICY: &str = r#"
lictor: 1
name: coding
properties:
  - {id: no-deploy, says: Nothing is deployed from here., formula: 'always !tool_call("Deploy")', respond: block}
  - {id: ask-delete, says: A person allows what deletes., formula: 'always !tool_call("Delete")', respond: ask}
  - {id: no-addresses, says: No address leaves., formula: 'always (tool_call("Send") -> !carries("email"))', respond: redact}
  - {id: no-slow, says: There is a faster way., formula: 'always !tool_call("Slow")', respond: steer}
  - {id: few, says: Three times are enough., formula: 'at_most(3, tool_call("Limited"))', respond: block}
  - {id: unread, says: Addresses are not read., formula: 'always !(tool_result("Read") & carries("email"))', respond: block}
  - {id: masked, says: Addresses are masked., formula: 'always !(tool_result("Fetch") & carries("email"))', respond: redact}
  - {id: unsaid, says: No addresses in prompts., formula: 'always !(user_message & carries("email"))', respond: block}
  - {id: unwritten, says: No addresses in answers., formula: 'always !(assistant_message & carries("email"))', respond: block}
  - {id: tested, says: What was edited is tested., formula: 'always (tool_call("Edit") -> eventually tool_call("Test"))', remedy: Run the tests.}
"#;

/// A project with a policy.
struct Project {
    folder: TempDir,
    client: &'static str,
    /// Whether calls start a keeper for the next ones.
    has_keeper: bool,
}

/// The answer of a hook.
#[derive(Debug)]
struct Answer {
    exit: Option<i32>,
    output: String,
    complaint: String,
}

impl Project {
    fn new(client: &'static str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lictor.yaml"), POLICY).unwrap();
        Project { folder, client, has_keeper: false }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lictor"));
        command.args(["hook", self.client]).args(arguments).current_dir(std::env::temp_dir());
        if !self.has_keeper {
            command.arg("--no-keeper");
        }
        command.env_remove("CLAUDE_PROJECT_DIR").env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns the input of a hook call, including the fields that every call has.
    fn input(&self, hook: &str, more: Value) -> Value {
        let mut input = json!({
            "session_id": "s1",
            "transcript_path": null,
            "cwd": self.path(),
            "permission_mode": "default",
            "hook_event_name": hook,
        });
        if self.client == "codex" {
            input["model"] = json!("gpt-5");
            input["turn_id"] = json!("t1");
        }
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    }

    fn before_call(&self, id: &str, tool: &str, arguments: Value) -> Value {
        self.input("PreToolUse", json!({"tool_name": tool, "tool_input": arguments, "tool_use_id": id}))
    }

    fn after_call(&self, id: &str, tool: &str, response: Value) -> Value {
        let call = json!({"tool_name": tool, "tool_input": {}, "tool_use_id": id, "tool_response": response});
        self.input("PostToolUse", call)
    }

    fn stop(&self, is_kept_going: bool, said: &str) -> Value {
        self.input("Stop", json!({"stop_hook_active": is_kept_going, "last_assistant_message": said}))
    }

    fn ask(&self, input: &Value) -> Answer {
        self.ask_with(&[], &input.to_string())
    }

    fn ask_with(&self, arguments: &[&str], input: &str) -> Answer {
        let mut child = self.command(arguments).spawn().unwrap();
        // A hook that fails early may not read all of it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// Returns the records of the ledger.
    fn records(&self) -> Vec<Value> {
        let log = self.path().join(".lictor/log");
        let shown = lictor(&["log", "show", log.to_str().unwrap(), "--format", "jsonl"]);
        let lines = String::from_utf8(shown.stdout).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns how many decisions the ledger holds; it must verify.
    fn decisions(&self) -> usize {
        let log = self.path().join(".lictor/log");
        let log = log.to_str().unwrap();
        let key = String::from_utf8(lictor(&["log", "key", log]).stdout).unwrap();
        let verified = lictor(&["verify", log, "--key", key.trim()]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        self.records().iter().filter(|record| record.to_string().contains(r#""type":"decision""#)).count()
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Answer {
        Answer {
            exit: output.status.code(),
            output: String::from_utf8(output.stdout).unwrap(),
            complaint: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Answer {
    /// Returns the JSON output, which the client reads.
    fn json(&self) -> Value {
        assert_eq!(self.exit, Some(0), "{self:?}");
        serde_json::from_str(&self.output).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn is_silent(&self) -> bool {
        self.exit == Some(0) && self.output.is_empty()
    }

    /// Returns the part of the answer about the hook.
    fn specific(&self) -> Value {
        self.json()["hookSpecificOutput"].clone()
    }

    /// Whether the call is denied with a reason.
    fn is_denied(&self) -> bool {
        let said = self.specific();
        said["permissionDecision"] == "deny" && !said["permissionDecisionReason"].as_str().unwrap().trim().is_empty()
    }
}

fn lictor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lictor")).args(arguments).output().unwrap()
}

/// Returns a reference file that is not part of the project, if it exists.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/formats").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there, so nothing was held against it", path.display());
    None
}
