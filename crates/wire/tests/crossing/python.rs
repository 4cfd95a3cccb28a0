//! A Python with the vendors' libraries in it, made once under the target folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The libraries, pinned.
const LIBRARIES: [&str; 2] = ["openai==3.49.0", "anthropic==2.8.0"];

/// Runs a script with the libraries at hand and gives its output; none, loudly, where they cannot be had.
pub(crate) fn run(script: &str, input: &str) -> Option<String> {
    let Some(python) = with_libraries() else {
        let missing = format!("no Python with {} can be had here", LIBRARIES.join(" and "));
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{missing}");
        eprintln!("SKIPPED: {missing}");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crossing").join(script);
    let piped = || Stdio::piped();
    let mut child = Command::new(python).arg(script).stdin(piped()).stdout(piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the script failed");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn with_libraries() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk-venv");
    let python = folder.join("bin/python");
    // Written last, so that a folder that was left half made is made again.
    let mark = folder.join("libraries");
    // The tests of the gateway make the same folder, with more in it.
    if std::fs::read_to_string(&mark).is_ok_and(|held| held.starts_with(&LIBRARIES.join(" "))) {
        return Some(python);
    }
    let succeeds = |command: &mut Command| command.stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    let made = succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        && succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(LIBRARIES));
    made.then(|| std::fs::write(&mark, LIBRARIES.join(" ")).unwrap()).map(|()| python)
}
