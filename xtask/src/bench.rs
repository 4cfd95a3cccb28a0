//! `cargo xtask bench`: runs benchmarks, and compares the ratios they print with those on record.
//!
//! The benchmarks are a separate workspace, since they depend on other monitors. They and the programs that they start
//! are compiled like a release: profile `dist`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root, target};
use crate::python;
use crate::ratio::{Ratio, compare, from_toml, merge, to_toml, today};
use crate::transcript::each_line;

/// The benchmarks that print ratios.
pub(crate) const ALL: [&str; 10] =
    ["logic", "data", "audit", "guard", "belief", "forecast", "gateway", "ledger", "store", "python"];

/// Runs one benchmark.
pub(crate) fn run(name: &str, rest: &[&str]) -> Result<(), String> {
    for mut command in commands(name, rest)? {
        read(&mut command, |_| ())?;
    }
    Ok(())
}

/// Runs benchmarks and reports ratios that are worse than on record. Runs all if none is named.
pub(crate) fn check(names: &[&str]) -> Result<(), String> {
    let names = chosen(names)?;
    let record = recorded()?;
    // Checked before the long run: without a record everything would pass.
    if let Some(name) = names.iter().find(|name| record.iter().all(|ratio| ratio.bench() != **name)) {
        return Err(format!("bench/record.toml has no ratio of `{name}`\n  hint: `cargo xtask bench --record {name}`"));
    }
    let measured = measure(&names)?;
    let complaints = compare(&record, &measured, &names);
    for new in measured.iter().filter(|ratio| record.iter().all(|old| old.name != ratio.name)) {
        println!("note: {} is not on record: {:.3}", new.name, new.value);
    }
    if complaints.is_empty() {
        println!("{} ratios are as good as on record", measured.len());
        return Ok(());
    }
    println!("{}", complaints.join("\n"));
    Err(format!(
        "{} ratios are worse than on record\n  hint: `cargo xtask bench --record` accepts them; repeat the run on a quiet machine first",
        complaints.len()
    ))
}

/// Runs benchmarks and writes their ratios into the record. Runs all if none is named.
pub(crate) fn record(names: &[&str]) -> Result<(), String> {
    let names = chosen(names)?;
    let record = recorded()?;
    let ratios = merge(record, measure(&names)?, &names);
    fs::write(path(), to_toml(&ratios)).map_err(|error| format!("could not write {}: {error}", path().display()))?;
    println!("bench/record.toml holds {} ratios", ratios.len());
    Ok(())
}

fn chosen<'a>(names: &[&'a str]) -> Result<Vec<&'a str>, String> {
    if names.is_empty() {
        return Ok(ALL.to_vec());
    }
    match names.iter().find(|name| !ALL.contains(name)) {
        Some(unknown) => Err(format!("there is no benchmark `{unknown}`\n  hint: there are {}", ALL.join(", "))),
        None => Ok(names.to_vec()),
    }
}

fn path() -> PathBuf {
    root().join("bench/record.toml")
}

fn recorded() -> Result<Vec<Ratio>, String> {
    let text = fs::read_to_string(path()).map_err(|error| format!("could not read bench/record.toml: {error}"))?;
    from_toml(&text).map_err(|error| format!("bench/record.toml: {error}"))
}

/// Runs benchmarks and returns the ratios that they print.
fn measure(names: &[&str]) -> Result<Vec<Ratio>, String> {
    let (date, mut ratios) = (today(), Vec::new());
    for name in names {
        println!("\n== benchmark {name}");
        for mut command in commands(name, &[])? {
            read(&mut command, |line| ratios.extend(Ratio::from_line(name, &date, line)))?;
        }
    }
    ratios.into_iter().collect()
}

/// Returns the commands of a benchmark, after building everything they need.
fn commands(name: &str, rest: &[&str]) -> Result<Vec<Command>, String> {
    if name == "python" {
        return Ok(vec![python::bench(rest)?]);
    }
    if name == "presidio" {
        return Ok(vec![python::bench_presidio(rest)?]);
    }
    if name == "labels" {
        return Ok(vec![python::bench_labels(rest)?]);
    }
    let arguments = ["run", "--profile", "dist", "--manifest-path", "bench/Cargo.toml", "--", name];
    let mut cargo = Cargo::new(arguments.iter().chain(rest).copied());
    if name == "gateway" {
        // These measure the release build of the command, as a separate process.
        Cargo::new(["build", "--profile", "dist", "--package", "lictor-cli"]).run()?;
        cargo = cargo.variable("LICTOR_COMMAND", &target().join("dist/lictor").to_string_lossy());
    }
    let mut commands = vec![cargo.command()];
    if name == "data" {
        // The comparison with policy engines is in a separate workspace, like those engines.
        let peers = ["run", "--profile", "dist", "--manifest-path", "peers/Cargo.toml", "-p", "lictor-decisions"];
        commands.push(Cargo::new(peers).command());
    }
    Ok(commands)
}

/// Runs a command, shows its standard output line by line, and calls `each` with each line.
fn read(command: &mut Command, mut each: impl FnMut(&str)) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start {shown}: {error}"))?;
    each_line(child.stdout.take(), |line| {
        println!("{line}");
        each(line);
    });
    let status = child.wait().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the benchmark failed ({status})")) }
}
