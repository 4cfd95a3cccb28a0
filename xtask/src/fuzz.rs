//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/`, and says what they found.
//!
//! The targets are one program, compiled with [`counters`] in every branch of our code so that libFuzzer
//! sees which inputs reach new code. Several targets run at once, one on each processor.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cargo::{Cargo, root, target};
use crate::counters;
use crate::early;
use crate::fuzz_log::FuzzLog;
use crate::step::Outcome;

/// How long each target runs, in seconds, unless told otherwise.
pub(crate) const SECONDS: u64 = 6;

/// The seed of the ordinary test run: what it tries depends on the code alone, so a change that fails there fails anywhere.
/// Other runs try something new each time.
pub(crate) const TEST_SEED: u32 = 1;

/// The longest input, in bytes; the longest time for one, in seconds; the most memory, in MiB.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=3072"];

/// What keeps a merged corpus small: inputs that reach code which no other reaches, however often.
const MERGE: [&str; 2] = ["-set_cover_merge=1", "-use_counters=0"];

/// The program with all targets, and the folders it works in.
struct Fuzzer {
    program: PathBuf,
    /// The folder for files that are not kept.
    scratch: PathBuf,
    names: Vec<String>,
}

/// What a run of one target came to.
struct TargetRun {
    name: String,
    log: FuzzLog,
    /// The inputs that it found, and how its output ended, if it found any or failed otherwise.
    found: Vec<PathBuf>,
    failure: Option<String>,
}

/// Does what the arguments of `cargo xtask fuzz` say.
pub(crate) fn command(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        ["--replay", file] => replay(Path::new(file)),
        ["--merge", names @ ..] => merge(names),
        arguments => {
            let (seconds, arguments) = take_number(arguments, "--seconds")?;
            let (seed, names) = take_number(arguments, "--seed")?;
            run(seconds.unwrap_or(SECONDS), seed, names).and_then(Outcome::or_failure)
        }
    }
}

/// Takes an option with a number off the front of arguments, if it is there.
fn take_number<'a, T: FromStr>(arguments: &'a [&'a str], option: &str) -> Result<(Option<T>, &'a [&'a str]), String> {
    match arguments {
        [first, number, rest @ ..] if *first == option => match number.parse() {
            Ok(number) => Ok((Some(number), rest)),
            Err(_) => Err(format!("`{number}` is no number for {option}")),
        },
        _ => Ok((None, arguments)),
    }
}

/// Runs targets for so many seconds each; all of them if none is named. Fails if one finds anything.
pub(crate) fn run(seconds: u64, seed: Option<u32>, names: &[&str]) -> Result<Outcome, String> {
    if let Some(reason) = find_obstacle() {
        return Ok(Outcome::Skipped(reason));
    }
    let fuzzer = Fuzzer::build()?;
    let names = fuzzer.choose(names)?;
    println!("{} targets, {seconds} seconds each", names.len());
    let runs = in_parallel(&names, |name| fuzzer.run_target(name, seconds, seed))?;
    println!("{:<12} {:>11} {:>9} {:>7}  found", "target", "executions", "coverage", "corpus");
    for run in &runs {
        let FuzzLog { executions, coverage, corpus } = run.log;
        println!("{:<12} {executions:>11} {coverage:>9} {corpus:>7}  {}", run.name, run.found.len());
    }
    let failed: Vec<&TargetRun> = runs.iter().filter(|run| run.failure.is_some()).collect();
    for run in &failed {
        println!("\n{}: {}", run.name, run.failure.as_deref().unwrap_or_default());
        for file in &run.found {
            println!("  replay it: cargo xtask fuzz --replay {}", shown(file));
        }
    }
    match failed.len() {
        0 => Ok(Outcome::Passed),
        count => Err(format!("{count} fuzz targets found something")),
    }
}

/// Runs one input again, as it was found: its folder is named after the target.
fn replay(file: &Path) -> Result<(), String> {
    let file = root().join(file);
    let name = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let fuzzer = Fuzzer::build()?;
    fuzzer.choose(&[&name])?;
    let status = fuzzer.command(&name)?.arg(&file).env("RUST_BACKTRACE", "1").status();
    match status.map_err(|error| error.to_string())?.success() {
        true => {
            println!("{}: nothing is wrong with it", shown(&file));
            Ok(())
        }
        false => Err(format!("the target `{name}` fails on {}", shown(&file))),
    }
}

/// Takes what the last run of some targets found new into the corpus that is kept, and leaves out what adds nothing.
fn merge(names: &[&str]) -> Result<(), String> {
    let fuzzer = Fuzzer::build()?;
    for name in fuzzer.choose(names)? {
        let (kept, merged) = (corpus(&name), fuzzer.folder("merged", &name, true)?);
        let mut command = fuzzer.command(&name)?;
        command.args(MERGE).args(LIMITS).arg(&merged).arg(&kept).arg(fuzzer.folder("new", &name, false)?);
        let log = File::create(fuzzer.scratch.join(format!("{name}.merge.txt"))).map_err(|error| error.to_string())?;
        let status = command.stderr(log).status().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("the corpus of `{name}` could not be merged ({status})"));
        }
        replace_folder(&kept, &merged).map_err(|error| format!("could not write {}: {error}", shown(&kept)))?;
        println!("{name:<12} {:>5} inputs", files(&kept).len());
    }
    Ok(())
}

/// Returns the call that compiles the targets.
fn build_call() -> Result<Cargo, String> {
    // One target folder for both workspaces, so that they share compiled code.
    let call = Cargo::new(["build", "--manifest-path", "fuzz/Cargo.toml"]);
    counters::count(call.variable("CARGO_TARGET_DIR", &target().to_string_lossy()))
}

/// Compiles the targets in advance, quietly.
pub(crate) fn prepare() {
    if let (None, Ok(call)) = (find_obstacle(), build_call()) {
        early::run_quietly(&call.command());
    }
}

/// Why nothing can be fuzzed on this machine; none if it can.
fn find_obstacle() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut version = Command::new(&compiler);
    let version = version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match version.is_ok_and(|status| status.success()) {
        true => None,
        false => Some(format!("libFuzzer needs a C++ compiler, and `{compiler}` cannot be run")),
    }
}

impl Fuzzer {
    fn build() -> Result<Fuzzer, String> {
        let scratch = target().join("fuzz");
        fs::create_dir_all(&scratch).map_err(|error| format!("could not create {}: {error}", scratch.display()))?;
        build_call()?.run()?;
        let program = target().join("debug/lictor-fuzz");
        let listed = Command::new(&program).env("LICTOR_FUZZ_TARGET", "list").output();
        let listed = listed.map_err(|error| format!("could not start {}: {error}", program.display()))?;
        let names = String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
        Ok(Fuzzer { program, scratch, names })
    }

    /// Returns the targets of these names; all if none is named.
    fn choose(&self, names: &[&str]) -> Result<Vec<String>, String> {
        if let Some(unknown) = names.iter().find(|name| self.names.iter().all(|known| known != **name)) {
            return Err(format!("there is no fuzz target `{unknown}`\n  hint: there are {}", self.names.join(", ")));
        }
        Ok(if names.is_empty() { self.names.clone() } else { names.iter().map(|name| (*name).to_owned()).collect() })
    }

    /// A call of the program for one target, without arguments yet.
    fn command(&self, name: &str) -> Result<Command, String> {
        let mut command = Command::new(&self.program);
        command.current_dir(root()).env("LICTOR_FUZZ_TARGET", name).stdin(Stdio::null());
        command.env("TMPDIR", self.folder("temporary", name, true)?);
        Ok(command)
    }

    /// Returns a folder of a target for files that are not kept, emptied if asked.
    fn folder(&self, kind: &str, name: &str, is_emptied: bool) -> Result<PathBuf, String> {
        let folder = self.scratch.join(kind).join(name);
        if is_emptied && folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| format!("could not empty {}: {error}", folder.display()))?;
        }
        fs::create_dir_all(&folder).map_err(|error| format!("could not create {}: {error}", folder.display()))?;
        Ok(folder)
    }

    fn run_target(&self, name: &str, seconds: u64, seed: Option<u32>) -> Result<TargetRun, String> {
        let findings = root().join("fuzz/findings").join(name);
        fs::create_dir_all(&findings).map_err(|error| format!("could not create {}: {error}", shown(&findings)))?;
        let before = files(&findings);
        let path = self.scratch.join(format!("{name}.txt"));
        let log = File::create(&path).map_err(|error| format!("could not write {}: {error}", path.display()))?;
        let mut command = self.command(name)?;
        command.args(LIMITS).arg("-print_final_stats=1").arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-artifact_prefix={}/", findings.display()));
        command.args(seed.map(|seed| format!("-seed={seed}")));
        let dictionary = root().join(format!("fuzz/dictionaries/{name}.txt"));
        if dictionary.exists() {
            command.arg(format!("-dict={}", dictionary.display()));
        }
        // New inputs go into the first folder.
        command.arg(self.folder("new", name, true)?).arg(corpus(name));
        let status = command.stdout(Stdio::null()).stderr(log).status();
        let status = status.map_err(|error| format!("could not start {}: {error}", self.program.display()))?;
        let output = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        let found: Vec<PathBuf> = files(&findings).difference(&before).cloned().collect();
        let is_well = status.success() && found.is_empty();
        let failure = (!is_well).then(|| FuzzLog::describe_failure(&output));
        Ok(TargetRun { name: name.to_owned(), log: FuzzLog::read(&output), found, failure })
    }
}

/// The corpus of a target that is kept.
fn corpus(name: &str) -> PathBuf {
    root().join("fuzz/corpus").join(name)
}

/// A path as a person would type it.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Makes a folder hold the files of another, beside what was found: those names begin with the kind of the finding.
fn replace_folder(folder: &Path, with: &Path) -> std::io::Result<()> {
    let is_finding = |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().contains('-'));
    files(folder).iter().filter(|file| !is_finding(file)).try_for_each(fs::remove_file)?;
    for file in files(with) {
        fs::copy(&file, folder.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Does something for each name, on as many threads as there are processors, and returns the results in order.
fn in_parallel<T: Send>(names: &[String], body: impl Fn(&str) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, name)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|index| names.get(index).map(|name| (index, name)))
                {
                    let result = body(name);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_results_keep_the_order_of_names() {
        let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(in_parallel(&names, |name| Ok(name.to_owned())).unwrap(), names);
        let result = in_parallel(&names, |name| if name == "7" { Err("seven".to_owned()) } else { Ok(()) });
        assert_eq!(result, Err("seven".to_owned()));
    }

    #[test]
    fn options_with_numbers_come_before_names() {
        assert_eq!(take_number::<u64>(&["--seconds", "60", "json"], "--seconds"), Ok((Some(60), &["json"][..])));
        assert_eq!(take_number::<u64>(&["json"], "--seconds"), Ok((None, &["json"][..])));
        assert!(take_number::<u32>(&["--seed", "x"], "--seed").unwrap_err().contains("`x`"));
    }

    #[test]
    fn unknown_target_is_named_with_those_there_are() {
        let fuzzer = Fuzzer { program: PathBuf::new(), scratch: PathBuf::new(), names: vec!["a".into(), "b".into()] };
        assert_eq!(fuzzer.choose(&[]).unwrap(), ["a", "b"]);
        assert_eq!(fuzzer.choose(&["b"]).unwrap(), ["b"]);
        assert_eq!(fuzzer.choose(&["c"]).unwrap_err(), "there is no fuzz target `c`\n  hint: there are a, b");
    }
}
