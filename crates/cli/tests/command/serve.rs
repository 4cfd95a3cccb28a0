//! `lictor serve` as a process: start-up errors, start, reload and shutdown.

mod abuse;
mod intervention_kills;
mod kills;
mod model;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

fn lictor(folder: &std::path::Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lictor"));
    command.current_dir(folder).args(args).env_remove("LICTOR_CONTROL_KEY");
    command
}

fn refused(folder: &std::path::Path, args: &[&str], key: Option<&str>) -> String {
    let mut command = lictor(folder, args);
    command.envs(key.map(|key| ("LICTOR_CONTROL_KEY", key)));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// `lictor check` and systemd accept the files of `deploy/`.
#[test]
fn deploy_files_are_valid() {
    let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let checked = lictor(&deploy, &["check", "lictor.yaml"]).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    // systemd checks that the program exists.
    let unit = std::fs::read_to_string(deploy.join("lictor.service")).unwrap();
    let (installed, built) = ("/usr/local/bin/lictor", env!("CARGO_BIN_EXE_lictor"));
    assert!(unit.contains(installed));
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("lictor.service");
    std::fs::write(&copy, unit.replace(installed, built)).unwrap();
    match Command::new("systemd-analyze").arg("verify").arg(&copy).output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr);
            assert!(verified.status.success() && !said.contains("lictor.service"), "{said}");
        }
        // Not with `eprintln!`, which the test harness would capture.
        Err(error) => {
            let message = format!("\nSKIPPED: systemd-analyze cannot be run, so the unit is not verified: {error}\n");
            std::io::stderr().write_all(message.as_bytes()).unwrap();
        }
    }
}

#[test]
fn serve_reports_startup_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("plain.yaml", "lictor: 1\nname: p\nuses: [agent-safety]\n");
    file(
        "wrong.yaml",
        "lictor: 1\nname: p\nuses: [agent-safety]\ngateway: {upstream: api, control_keys: [secret], prt: 1}\n",
    );
    file("key.pem", "not a key");
    let said = refused(folder.path(), &["serve", "--policy", "plain.yaml"], None);
    assert!(said.contains("--upstream"), "{said}");
    let said = refused(folder.path(), &["serve", "--policy", "wrong.yaml"], None);
    for wanted in ["wrong.yaml: `gateway.upstream`", "sha256:", "`gateway.prt`"] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    let plain = ["serve", "--policy", "plain.yaml", "--upstream", "http://127.0.0.1:1"];
    assert!(refused(folder.path(), &plain, Some("short")).contains("LICTOR_CONTROL_KEY"));
    let with = |more: &[&'static str]| [&plain[..], more].concat();
    let said = refused(folder.path(), &with(&["--certificate", "key.pem", "--private-key", "key.pem"]), None);
    assert!(said.contains("key.pem: the private key is readable by other users"), "{said}");
    assert!(refused(folder.path(), &["serve", "--upstream", "ftp://a"], None).contains("`ftp://a`"));
    let forward = with(&["--forward", "v1/files"]);
    assert!(refused(folder.path(), &forward, None).contains("--forward v1/files: a path starts with `/`"));
    let shared = with(&["--state", "state", "--log", "state/log"]);
    assert!(refused(folder.path(), &shared, None).contains("share a folder"));
    assert!(refused(folder.path(), &["approvals"], None).contains("LICTOR_CONTROL_KEY"));
    assert!(refused(folder.path(), &["approvals"], Some("")).contains("LICTOR_CONTROL_KEY, which is not set"));
}

#[test]
fn check_reports_gateway_section_errors() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "lictor: 1\nname: p\nuses: [gdpr]\ngateway: {listn: '127.0.0.1:0', limits: {body: much}}\n";
    std::fs::write(folder.path().join("p.yaml"), policy).unwrap();
    let checked = lictor(folder.path(), &["check", "p.yaml"]).output().unwrap();
    let said = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(said.contains("p.yaml: `gateway.listn`") && said.contains("p.yaml: `gateway.limits.body`"), "{said}");
    assert!(said.contains("2 errors"), "{said}");
}

/// Returns what `lictor serve` says until it listens.
fn said_at_start(folder: &std::path::Path, args: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = lictor(folder, args);
    let mut child = command.envs(variables.iter().copied()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("listening on ") && lines.read_line(&mut said).unwrap() > 0 {}
    let _ = child.kill();
    let _ = child.wait();
    assert!(said.contains("listening on "), "{said}");
    said
}

#[test]
fn serve_reads_options_from_environment() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("LICTOR_POLICY", "agent-safety"),
        ("LICTOR_UPSTREAM", "http://127.0.0.1:1"),
        ("LICTOR_LISTEN", "127.0.0.1:0"),
        ("LICTOR_STATE", "from-environment"),
        ("LICTOR_LOG", "log"),
        ("LICTOR_SHADOW", "1"),
        // Flags that are off, and variables that are empty, count as unset.
        ("LICTOR_KEEP_CONTENT", "false"),
        ("LICTOR_COLLECTOR", ""),
    ];
    let said = said_at_start(folder.path(), &["serve"], &variables);
    assert!(said.contains("forwarding to http://127.0.0.1:1"), "{said}");
    assert!(folder.path().join("from-environment").is_dir() && folder.path().join("log").is_dir());
    let said = said_at_start(folder.path(), &["serve", "--upstream", "http://127.0.0.1:2", "--state", "s"], &variables);
    assert!(said.contains("forwarding to http://127.0.0.1:2"), "the command line wins: {said}");
    assert!(folder.path().join("s").is_dir());

    let refused = |name: &str, value: &str, args: &[&str]| {
        let output = lictor(folder.path(), args).envs(variables).env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (name, value) in [
        ("LICTOR_LISTEN", "nowhere"),
        ("LICTOR_SHADOW", "perhaps"),
        ("LICTOR_PATIENCE", "long"),
        ("LICTOR_UPSTREAM", "ftp://a"),
        ("LICTOR_FORWARD", "/v1/files,v1/x"),
    ] {
        let said = refused(name, value, &["serve"]);
        assert!(said.contains(name), "{name} in {said}");
    }
    let said = refused("LICTOR_LISTEN", "127.0.0.1:0", &["serve", "--listen", "nowhere"]);
    assert!(!said.contains("LICTOR_LISTEN"), "the command line is wrong: {said}");
    let secret = "postgres://lictor:secret@db.internal/lictor";
    let help = lictor(folder.path(), &["serve", "--help"]).env("LICTOR_STATE", secret).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("[env: LICTOR_STATE]") && !help.contains("secret"), "{help}");
}

#[test]
fn serve_prints_verifier_key_of_new_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["serve", "--policy", "agent-safety", "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"];
    let args = [&args[..], &["--log", "log", "--quiet"]].concat();
    let said = said_at_start(folder.path(), &args, &[]);
    let key = lictor(folder.path(), &["log", "key", "log"]).output().unwrap();
    let key = String::from_utf8(key.stdout).unwrap().trim().to_owned();
    assert!(said.contains(&format!("its verifier key is {key}\n")), "{said}");
    assert!(said.contains(&format!("lictor verify log --key '{key}'")), "{said}");
    let said = said_at_start(folder.path(), &args, &[]);
    assert!(!said.contains("verifier key"), "it is printed once: {said}");
}

#[test]
fn serve_warns_of_approvals_without_control_key() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: ask-a-person, formula: 'always !tool_call(\"pay\")', respond: ask}\n";
    std::fs::write(folder.path().join("p.yaml"), policy).unwrap();
    let args = ["serve", "--policy", "p.yaml", "--upstream", "http://127.0.0.1:1/v1", "--listen", "127.0.0.1:0"];
    let said = said_at_start(folder.path(), &args, &[]);
    assert!(said.contains("the property ask-a-person asks a person") && said.contains("LICTOR_CONTROL_KEY"), "{said}");
    assert!(said.contains("ends in /v1"), "{said}");
    let said = said_at_start(folder.path(), &args, &[("LICTOR_CONTROL_KEY", "0123456789abcdef")]);
    assert!(!said.contains("asks a person"), "{said}");
}

/// A running gateway, which is stopped when this is dropped.
struct RunningGateway {
    child: Child,
    lines: BufReader<ChildStderr>,
    address: String,
}

impl RunningGateway {
    fn start(folder: &std::path::Path, args: &[&str]) -> RunningGateway {
        let mut command = lictor(folder, args);
        let mut child = command.env("LICTOR_CONTROL_KEY", "0123456789abcdef").stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on ") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended before it listened");
        }
        let address = line.split("listening on ").nth(1).unwrap().split(',').next().unwrap().to_owned();
        RunningGateway { child, lines, address }
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer 0123456789abcdef\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, name: &str) {
        let told = Command::new("kill").arg(name).arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
    }

    /// Returns the next log line with an event.
    fn wait_for_event(&mut self, event: &str) -> String {
        let mut line = String::new();
        while !line.contains(&format!("\"event\":\"{event}\"")) {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended before it said `{event}`");
        }
        line
    }
}

impl Drop for RunningGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_starts_reloads_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lictor.yaml");
    let policy =
        "lictor: 1\nname: p\nuses: [agent-safety]\ngateway: {listen: '127.0.0.1:0', upstream: 'http://127.0.0.1:1'}\n";
    std::fs::write(&file, policy).unwrap();
    let mut running = RunningGateway::start(folder.path(), &["serve", "--state", "state", "--log", "log"]);
    assert!(running.ask("GET /lictor/health").contains("alive"));
    let before = running.ask("GET /lictor/ready");
    std::fs::write(&file, policy.replace("agent-safety", "no-such-pack")).unwrap();
    running.signal("-HUP");
    assert!(running.wait_for_event("policy_refused").contains("no-such-pack"));
    assert_eq!(running.ask("GET /lictor/ready").lines().last(), before.lines().last(), "the old policy stays");
    std::fs::write(&file, policy.replace("agent-safety", "gdpr").replace(":1'", ":2'")).unwrap();
    running.signal("-HUP");
    assert!(running.wait_for_event("policy_refused").contains("the section `gateway` of lictor.yaml has changed"));
    std::fs::write(&file, policy.replace("agent-safety", "gdpr")).unwrap();
    running.signal("-HUP");
    running.wait_for_event("policy");
    assert_ne!(running.ask("GET /lictor/ready").lines().last(), before.lines().last());
    let listed = Command::new(env!("CARGO_BIN_EXE_lictor"))
        .args(["approvals", "--gateway", &format!("http://{}", running.address)])
        .env("LICTOR_CONTROL_KEY", "0123456789abcdef")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "{\"waiting\":[]}\n");
    running.signal("-TERM");
    running.wait_for_event("stopped");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}
