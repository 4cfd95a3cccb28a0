//! Servers as child processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::mcp::sdk::script;
use crate::mcp::{Place, check_outcomes};

/// Runs a client against a server, with the proxy between them.
fn run_between(client: &str, mode: &str, server: &str) -> Option<()> {
    let (client, server) = (script(client)?, script(server)?);
    let place = Place::new();
    let mut words = client;
    words.push(mode.to_owned());
    // The SDK for Python passes on few variables: the server gets its own by `env`.
    words.extend(place.proxy_command());
    let entered = format!("ENTERED={}", place.path().join("entered").display());
    words.extend(["--".to_owned(), "env".to_owned(), entered]);
    words.extend(server);
    let outcomes = place.run_client(&words);
    if mode != "-" && mode != "legacy" {
        assert_eq!(outcomes["version"], mode);
    }
    check_outcomes(&outcomes, &place);
    Some(())
}

#[test]
fn python_to_python_in_older_revision() {
    run_between("client.py", "legacy", "server.py");
}

#[test]
fn python_to_python_in_newer_revision() {
    run_between("client.py", "2026-07-28", "server.py");
}

#[test]
fn typescript_to_typescript() {
    run_between("client.mjs", "-", "server.mjs");
}

#[test]
fn typescript_to_python() {
    run_between("client.mjs", "-", "server.py");
}

#[test]
fn python_to_typescript() {
    run_between("client.py", "legacy", "server.mjs");
}

/// A server in a shell: its output, its errors and its exit code are forwarded.
#[test]
#[cfg(unix)]
fn exit_code_of_server_is_returned() {
    let place = Place::new();
    let mut words = place.proxy_command();
    words.extend(["--", "/bin/sh", "-c", "echo trouble >&2; read line; echo 'no message'; exit 7"].map(str::to_owned));
    let mut child =
        place.program(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&output.stderr).contains("trouble"));
    assert!(output.stdout.is_empty(), "what is no message does not pass");
}

#[test]
#[cfg(unix)]
fn server_stops_when_client_disconnects() {
    let place = Place::new();
    let mut words = place.proxy_command();
    words.extend(["--", "/bin/sh", "-c", "echo $$ >&2; trap '' TERM; while :; do sleep 1; done"].map(str::to_owned));
    let mut child =
        place.program(&words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let alive =
        Command::new("/bin/sh").args(["-c", &format!("kill -0 {}", line.trim())]).stderr(Stdio::null()).status();
    assert!(!alive.unwrap().success());
}

#[test]
fn missing_server_program_is_reported() {
    let place = Place::new();
    let mut words = place.proxy_command();
    words.extend(["--", "no-such-server"].map(str::to_owned));
    let output = place.program(&words).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-server"));
}

/// A call that violates nothing yet, and mostly leads to a violation.
#[test]
#[cfg(unix)]
fn stopping_forecast_denies_call_of_mcp() {
    let place = Place::new();
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    let policy = format!(
        "lictor: 1\nname: shop\nproperties:\n  - {{id: no-drop, formula: 'always !tool_call(\"drop\")', respond: block, \
         remedy: Archive it.}}\npredict: {{chain: '{chain}', within: 2, risk: 0.6, intervene: [stop]}}\n"
    );
    std::fs::write(place.path().join("policy.yaml"), policy).unwrap();
    let mut words = place.proxy_command();
    // The server answers what reaches it.
    words.extend(
        ["--", "/bin/sh", "-c", r#"read line; echo '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}'"#]
            .map(str::to_owned),
    );
    let mut child =
        place.program(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (id, tool, wanted) in [(1, "open_shell", "Archive it."), (2, "open_console", r#""content":[]"#)] {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains(wanted), "{tool}: {line}");
    }
    drop(input);
    child.wait().unwrap();
}
