//! The official SDKs, installed once into the build folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Held during an installation, so that there is one at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

const PYTHON: &str = "mcp==2.3.0";
const NODE: [&str; 2] = ["@modelcontextprotocol/sdk@1.32.2", "zod@4"];

/// Returns the command that runs a script of ours with an SDK; none if the SDK cannot be installed here.
pub(crate) fn script(name: &str) -> Option<Vec<String>> {
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/mcp/sdk").join(name);
    let (program, script) = match name.ends_with(".py") {
        true => (python(&folder.join("mcp-python"))?, script),
        false => {
            let home = folder.join("mcp-node");
            node(&home)?;
            // Node resolves a module next to the script that imports it.
            let copy = home.join(name);
            std::fs::copy(script, &copy).unwrap();
            (PathBuf::from("node"), copy)
        }
    };
    Some(vec![program.display().to_string(), script.display().to_string()])
}

fn python(home: &Path) -> Option<PathBuf> {
    let (program, done) = (home.join("bin/python"), home.join("installed"));
    if std::fs::read_to_string(&done).ok().as_deref() != Some(PYTHON) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(home))?;
        run(Command::new(&program).args(["-m", "pip", "install", "--quiet", PYTHON]))?;
        std::fs::write(done, PYTHON).unwrap();
    }
    Some(program)
}

fn node(home: &Path) -> Option<()> {
    let done = home.join("installed");
    if std::fs::read_to_string(&done).ok().as_deref() != Some(NODE[0]) {
        std::fs::create_dir_all(home).unwrap();
        std::fs::write(home.join("package.json"), r#"{"private":true,"type":"module"}"#).unwrap();
        run(Command::new("npm").args(["install", "--silent", "--no-audit", "--no-fund"]).args(NODE).current_dir(home))?;
        std::fs::write(done, NODE[0]).unwrap();
    }
    Some(())
}

fn run(command: &mut Command) -> Option<()> {
    let output = command.stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Some(()),
        Ok(output) => {
            crate::mcp::report_skipped(&format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
            None
        }
        Err(error) => {
            crate::mcp::report_skipped(&format!("{command:?}: {error}"));
            None
        }
    }
}
