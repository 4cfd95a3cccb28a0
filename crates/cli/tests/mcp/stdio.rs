//! Servers that are processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::sdk::script;
use crate::{Place, check};

/// Runs a client against a server, with us in between.
fn between(client: &str, mode: &str, server: &str) -> Option<()> {
    let (client, server) = (script(client)?, script(server)?);
    let place = Place::new();
    let mut words = client;
    words.push(mode.to_owned());
    // The SDK for Python hands few variables on: the server gets its own by `env`.
    words.extend(place.between());
    let entered = format!("ENTERED={}", place.path().join("entered").display());
    words.extend(["--".to_owned(), "env".to_owned(), entered]);
    words.extend(server);
    let outcomes = place.outcomes(&words);
    if mode != "-" && mode != "legacy" {
        assert_eq!(outcomes["version"], mode);
    }
    check(&outcomes, &place);
    Some(())
}

#[test]
fn python_and_python_in_the_older_revision() {
    between("client.py", "legacy", "server.py");
}

#[test]
fn python_and_python_in_the_newer_revision() {
    between("client.py", "2026-07-28", "server.py");
}

#[test]
fn typescript_and_typescript() {
    between("client.mjs", "-", "server.mjs");
}

#[test]
fn typescript_and_python() {
    between("client.mjs", "-", "server.py");
}

#[test]
fn python_and_typescript() {
    between("client.py", "legacy", "server.mjs");
}

/// A server in a shell: what it says, its errors and its exit code are passed on.
#[test]
#[cfg(unix)]
fn the_end_of_a_server_is_ours() {
    let place = Place::new();
    let mut words = place.between();
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
fn a_server_does_not_outlive_its_client() {
    let place = Place::new();
    let mut words = place.between();
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
fn a_server_that_cannot_be_run_is_told() {
    let place = Place::new();
    let mut words = place.between();
    words.extend(["--", "no-such-server"].map(str::to_owned));
    let output = place.program(&words).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-server"));
}
