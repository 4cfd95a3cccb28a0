//! Runs the console examples of README.md, docs/ and examples/ with the binary built from this tree.
//!
//! The examples of a page run one after another from the root of the repository, without colors and without input, and
//! `$?` in one is the exit code of the one before it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root};
use crate::console;
use crate::step::Outcome;

/// The origin of the binary `lictor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// It must be built.
    Built,
    /// The tests that just ran have built it. A separate build would compile everything again, because the tests use
    /// other features of its dependencies.
    OfTests,
}

impl Binary {
    /// Builds the binary, unless the tests have built it.
    pub(crate) fn build(self) -> Result<(), String> {
        match self {
            Binary::Built => Cargo::new(["build", "--quiet", "--package", "lictor-cli"]).run(),
            Binary::OfTests => Ok(()),
        }
    }
}

/// Compares every example with its present output.
pub(crate) fn check(binary: Binary) -> Result<Outcome, String> {
    let Some(search_path) = find(binary)? else { return Ok(Outcome::Skipped(NO_BINARY.into())) };
    let (mut count, mut complaints) = (0, Vec::new());
    for (name, path) in pages()? {
        let page = read(&path)?;
        let mut shell = Shell { search_path: search_path.clone(), status: 0 };
        let (run, found) = console::check(&name, &page, &mut |script| shell.run(script));
        count += run;
        complaints.extend(found);
    }
    if complaints.is_empty() {
        println!("{count} examples print what their pages say");
        return Ok(Outcome::Passed);
    }
    println!("{}", complaints.join("\n"));
    Err(format!(
        "{} of {count} examples are wrong\n  hint: `cargo xtask docs --bless` writes what they print; read it before you keep it",
        complaints.len()
    ))
}

/// Writes the present output of every example into its page.
pub(crate) fn bless() -> Result<(), String> {
    let search_path = find(Binary::Built)?.ok_or(NO_BINARY)?;
    for (name, path) in pages()? {
        let page = read(&path)?;
        let mut shell = Shell { search_path: search_path.clone(), status: 0 };
        let blessed =
            console::bless(&page, &mut |script| shell.run(script)).map_err(|message| format!("{name}: {message}"))?;
        if blessed != page {
            fs::write(&path, blessed).map_err(|error| format!("could not write {name}: {error}"))?;
            println!("rewrote {name}");
        }
    }
    Ok(())
}

const NO_BINARY: &str = "crates/cli does not exist yet";

/// Returns a search path on which the binary `lictor` comes first; `None` if there is no such crate.
fn find(origin: Binary) -> Result<Option<OsString>, String> {
    if !root().join("crates/cli/Cargo.toml").exists() {
        return Ok(None);
    }
    origin.build()?;
    // The same cargo builds both binaries with the same settings, so they are in the same folder.
    let this = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
    let folder = this.parent().unwrap_or(Path::new("."));
    let binary = folder.join(format!("lictor{}", std::env::consts::EXE_SUFFIX));
    if !binary.exists() {
        return Err("there is no binary `lictor`\n  hint: `cargo xtask docs` builds it".into());
    }
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&others));
    std::env::join_paths(folders).map(Some).map_err(|error| format!("could not make a search path: {error}"))
}

/// A shell that runs one script after another and keeps the last exit code.
struct Shell {
    search_path: OsString,
    status: i32,
}

impl Shell {
    /// Returns standard output and standard error of a script, interleaved.
    fn run(&mut self, script: &str) -> Result<String, String> {
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("exec 2>&1\n(exit {})\n{script}", self.status))
            .current_dir(root())
            .env("PATH", &self.search_path)
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("could not start `sh`: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() {
            None | Some(101 | 126 | 127 | 134) => {
                Err(format!("crashed or could not be run ({})\n{text}", output.status))
            }
            Some(status) => {
                self.status = status;
                Ok(text)
            }
        }
    }
}

/// Returns README.md and every Markdown file below docs/ and examples/, by name.
pub(crate) fn pages() -> Result<Vec<(String, PathBuf)>, String> {
    let mut pages = vec![("README.md".to_string(), root().join("README.md"))];
    for folder in ["docs", "examples"] {
        if root().join(folder).exists() {
            collect(folder, &mut pages)?;
        }
    }
    pages.sort();
    Ok(pages)
}

fn collect(folder: &str, pages: &mut Vec<(String, PathBuf)>) -> Result<(), String> {
    let unreadable = |error| format!("could not read {folder}: {error}");
    for entry in fs::read_dir(root().join(folder)).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&name, pages)?;
        } else if name.ends_with(".md") {
            pages.push((name, path));
        }
    }
    Ok(())
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("could not read {}: {error}", path.display()))
}
