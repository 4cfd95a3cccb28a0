//! `lictor mcp` between unmodified clients and servers of the official SDKs.

mod http;
mod lies;
mod sdk;
mod stdio;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const POLICY: &str = r#"
lictor: 1
name: tools
uses: [owasp-agentic/asi04-tool-definition-pinned]
properties:
  - {id: no-deploy, says: Nothing is deployed., formula: 'always !tool_call("deploy")', respond: block}
  - {id: ask-delete, says: A person allows what deletes., formula: 'always !tool_call("delete")', respond: ask}
  - {id: no-address-out, says: No address leaves., formula: 'always (tool_call("send") -> !carries("email"))', respond: redact}
  - {id: unread, says: Addresses are not read., formula: 'always !(tool_result("find") & carries("email"))', respond: block}
  - {id: resources, says: No addresses from resources., formula: 'always !(retrieval & carries("email"))', respond: redact}
"#;

/// A folder with a policy, where servers record which tools were entered.
struct Place {
    folder: TempDir,
}

/// A process that ends with the test.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
        Place { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the command line of the proxy.
    fn proxy_command(&self) -> Vec<String> {
        let file = |name: &str| self.path().join(name).display().to_string();
        let words = [env!("CARGO_BIN_EXE_lictor"), "mcp", "--policy", &file("policy.yaml"), "--state", &file("state")];
        words.into_iter().map(str::to_owned).chain(["--log".to_owned(), file("log")]).collect()
    }

    /// Returns the names of the entered tools.
    fn entered(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path().join("entered")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the command of a program, with the path that servers write to.
    fn program(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("ENTERED", self.path().join("entered"));
        command
    }

    /// Runs a client and returns the outcomes of its calls.
    fn run_client(&self, words: &[String]) -> Value {
        let output = self.program(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let printed = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str(printed.trim()).unwrap_or_else(|_| panic!("{printed}\n{said}"))
    }

    /// Starts the proxy for a server, and returns its URL.
    fn start_proxy(&self, upstream: &str) -> (ChildGuard, String) {
        let mut words = self.proxy_command();
        words.extend(["--http", upstream, "--listen", "127.0.0.1:0"].map(str::to_owned));
        let mut child = self.program(&words).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // The key of a new ledger is named first.
        while !line.contains("http://") && said.read_line(&mut line).unwrap() > 0 {}
        let place =
            line.split("http://").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_else(|| panic!("{line}"));
        let path = upstream.splitn(4, '/').nth(3).unwrap_or_default();
        let url = format!("http://{place}/{path}");
        // Keep reading, or the process blocks on a full pipe.
        std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(drop));
        (ChildGuard(child), url)
    }

    /// Returns the bodies of the ledger's records; it must verify.
    fn records(&self) -> Vec<Value> {
        let log = self.path().join("log").display().to_string();
        let run = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_lictor")).args(arguments).output().unwrap();
        let key = String::from_utf8(run(&["log", "key", &log]).stdout).unwrap();
        let verified = run(&["verify", &log, "--key", key.trim()]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        let shown = String::from_utf8(run(&["log", "show", &log, "--format", "jsonl"]).stdout).unwrap();
        shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].take()).collect()
    }
}

/// Checks the outcomes, which are the same for every client and server.
fn check_outcomes(outcomes: &Value, place: &Place) {
    let failed = |name: &str| outcomes[name]["failed"].as_bool().unwrap();
    let text = |name: &str| outcomes[name]["text"].as_str().unwrap();
    assert_eq!(outcomes["tools"].as_array().unwrap().len(), 6, "{outcomes}");
    assert!(!failed("allowed") && text("allowed") == "rain in Graz", "{outcomes}");
    assert!(failed("blocked") && text("blocked").contains("no-deploy"), "{outcomes}");
    assert!(!failed("redacted") && text("redacted").contains("sent hello [redacted]"), "{outcomes}");
    assert!(failed("withheld") && !text("withheld").contains("ann@"), "{outcomes}");
    assert!(!failed("asked") && text("asked") == "deleted x", "{outcomes}");
    assert!(outcomes["questions"][0].as_str().unwrap().contains("ask-delete"), "{outcomes}");
    assert_eq!(outcomes["resource"], "of [redacted]");
    assert!(!failed("change"), "{outcomes}");
    assert!(failed("changed") && text("changed").contains("asi04"), "{outcomes}");
    // Denied calls were never entered.
    let entered = place.entered();
    assert_eq!(entered, ["weather", "send hello [redacted]", "find", "delete x", "change", "address"]);
    let records = place.records();
    for action in ["forward", "redact", "ask", "block"] {
        assert!(records.iter().any(|record| record["action"] == action), "{action}: {records:?}");
    }
    // A message without events has a record too.
    let listed = |record: &&Value| record["type"] == "passed" && record["method"] == "tools/list";
    let from: Vec<&Value> = records.iter().filter(listed).map(|record| &record["from"]).collect();
    assert!(!from.is_empty() && from.iter().all(|side| **side == "client"), "the answer is an event: {records:?}");
}

fn report_skipped(reason: &str) {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no SDK of the protocol to test with: {reason}");
    eprintln!("SKIPPED: a test with an SDK of the protocol: {reason}");
}
