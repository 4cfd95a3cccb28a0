//! The commands a contributor runs: `cargo xtask test`, `docs`, `python`, `bench`, `peers`, `fuzz`, `injection`, `lab`,
//! `words`, `deny`, `nightly`.
//!
//! Each is a short list of other commands, so that a person, a hook and a build server run the same checks.
//! Nothing needs to be installed beyond a Rust toolchain with rustfmt and clippy, and compilers for C and C++.
//!
//! INVARIANT: a step that fails, or that could not be started, makes the process exit with a failure.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for people prints")]

mod bench;
mod cargo;
mod console;
mod counters;
mod deny;
mod docs;
mod early;
mod fuzz;
mod fuzz_log;
mod injection;
mod lab;
mod oldest;
mod peers;
mod python;
mod ratio;
mod step;
mod transcript;
mod words;

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::docs::Binary;
use crate::early::Early;
use crate::step::{Outcome, Tally};
use crate::words::Count;

const HELP: &str = "\
usage: cargo xtask COMMAND

  test             everything that must hold before a change lands: format, lints, tests, docs, console examples, Python,
                   a short run of the fuzz targets
  docs [--bless]   run the `$ lictor` examples in README.md and docs/ and compare; --bless writes what they print
  python           build the wheel of the Python package, install it, run its tests and check its types
  bench NAME …     run a benchmark of bench/ as it is shipped, or `python`, or `presidio`, which compares recognisers, or
                   `labels FOLDER`, which measures labelers on TRAC's logs; what follows NAME is handed to it
  bench --check    run all benchmarks, or those named, and name ratios 15 % worse than in bench/record.toml;
                   bench --record writes that file
  peers            let other engines judge what we export and verify our ledgers, and compare
  fuzz [NAME …]    run the fuzz targets of fuzz/, or those named, for some seconds each; --seconds N before the names
                   says how many, --seed N after it makes the run repeatable. fuzz --replay FILE runs one input again;
                   fuzz --merge [NAME …] takes what the last run found new into the corpus
  nightly          the differential tests, those that change and kill ledgers, the upstreams that lie, fuzzing and the
                   tests of the wheel, at a nightly size, and `deny` (LICTOR_DIFFERENTIAL_PAIRS, LICTOR_TAMPER_FLIPS,
                   LICTOR_KILLS, LICTOR_LIES, LICTOR_FUZZ_SECONDS and LICTOR_PYTHON_PAIRS override it)
  deny             check licences, sources and known vulnerabilities of what we depend on, by deny.toml
  injection        learn the built-in model of injections again and measure it on held-out attack families; --keep only
                   measures
  lab WORLD        measure interventions: `trucks`, `gateway` (the same with OpenAI's library, through a gateway) or
                   `small-model`; what follows is handed to it
  words [FILE …]   count words, long sentences and words that make readers guess, page by page
  help             this text

exit code: 0 all is well, 1 something failed, 2 the command was not understood";

/// The factor by which `nightly` increases the number of pairs of the differential tests: to some millions.
const NIGHTLY_FACTOR: &str = "150";

/// The variable with the number of pairs of the differential tests.
const PAIRS: &str = "LICTOR_DIFFERENTIAL_PAIRS";

/// The variable that multiplies the cases of other tests, and its value in `nightly`: tests that choose some of all cases
/// then run all of them.
const CASES: &str = "LICTOR_CASES";
const NIGHTLY_CASES: &str = "4";

/// The packages whose tests read that variable.
const PACKAGES_WITH_CASES: [&str; 10] = [
    "lictor-audit",
    "lictor-decode",
    "lictor-event",
    "lictor-gateway",
    "lictor-judge",
    "lictor-ledger",
    "lictor-logic",
    "lictor-recognise",
    "lictor-warden",
    "lictor-wire",
];

/// How long each fuzz target runs in `nightly`, in seconds, and the variable that overrides it.
const NIGHTLY_FUZZ_SECONDS: u64 = 600;
const FUZZ_SECONDS: &str = "LICTOR_FUZZ_SECONDS";

/// The variable with the number of verdicts of Python that are compared with those of the command, and its value in
/// `nightly`.
const PYTHON_PAIRS: &str = "LICTOR_PYTHON_PAIRS";
const NIGHTLY_PYTHON_PAIRS: &str = "20000";

/// Other tests with a size in `nightly`: the package, the binary, the names of the tests, and the variable with their
/// size: how many bits are flipped, how often a process is killed, how many false replies each client reads, how many
/// entries two processes append.
const SIZED_TESTS: [(&str, &str, &str, &str, &str); 5] = [
    ("lictor-ledger", "ledger", "tamper", "LICTOR_TAMPER_FLIPS", "2000000"),
    ("lictor-ledger", "torture", "", "LICTOR_KILLS", "5000"),
    ("lictor-cli", "command", "kill", "LICTOR_KILLS", "60"),
    ("lictor-gateway", "serve", "liars", "LICTOR_LIES", "2000"),
    ("lictor-store-postgres", "postgres", "processes", "LICTOR_STORE_APPENDS", "20000"),
];

fn main() -> ExitCode {
    if let Some(compiled) = counters::compile() {
        return compiled;
    }
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ["test"] => return exit_code(test()),
        ["docs"] => docs::check(Binary::Built).and_then(Outcome::or_failure),
        ["docs", "--bless"] => docs::bless(),
        ["python"] => python::test(Binary::Built, &[]).and_then(Outcome::or_failure),
        ["bench", "--check", names @ ..] => bench::check(names),
        ["bench", "--record", names @ ..] => bench::record(names),
        ["bench", name, rest @ ..] if !name.starts_with('-') => bench::run(name, rest),
        ["peers"] => peers::test().and_then(Outcome::or_failure),
        ["fuzz", rest @ ..] => fuzz::command(rest),
        ["deny"] => deny::check().and_then(Outcome::or_failure),
        ["injection", rest @ ..] => injection::run(rest),
        ["lab", rest @ ..] => lab::run(rest),
        ["words", files @ ..] => count_words(files),
        ["nightly"] => return exit_code(nightly()),
        [] => return misunderstood("no command given"),
        ["bench", ..] => {
            return misunderstood("`bench` needs the name of a benchmark, as in `cargo xtask bench logic`");
        }
        other => return misunderstood(&format!("unknown command `{}`", other.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn exit_code(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn misunderstood(message: &str) -> ExitCode {
    eprintln!("error: {message}\n\n{HELP}");
    ExitCode::from(2)
}

/// Runs every step, also after a failure, and prints the counts. Whether no step failed.
fn test() -> bool {
    let mut tally = Tally::new();
    let packages = Early::begin(python::prepare);
    tally.cargo("format", Cargo::new(["fmt", "--all", "--check"]));
    // Separate workspaces, so that the product does not get their dependencies.
    for apart in ["bench", "fuzz", "peers", "peers/decisions"] {
        let manifest = format!("{apart}/Cargo.toml");
        tally.cargo(&format!("format of {apart}"), Cargo::new(["fmt", "--manifest-path", &manifest, "--check"]));
    }
    tally.cargo("lints", Cargo::new(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    // The output of passing tests is needed, since a skipped test prints its reason.
    let tests = Cargo::new(["test", "--workspace", "--no-fail-fast", "--", "--show-output"]);
    // One target folder: two calls of cargo compile in turn, so this begins once the tests are compiled.
    let compile_ahead = || drop(Early::begin(prepare_programs));
    tally.step(&format!("tests: {tests}"), || tests.run_tests_and(compile_ahead).map(Outcome::Tested));
    tally.step("other engines: cargo xtask peers", peers::test);
    tally.cargo(
        "reference pages",
        Cargo::new(["doc", "--workspace", "--no-deps"]).variable("RUSTDOCFLAGS", "-D warnings"),
    );
    tally.step("console examples: README.md, docs/", || docs::check(Binary::OfTests));
    tally.step("Python: wheel, tests, types", || {
        packages.wait();
        python::test(Binary::OfTests, &[])
    });
    let seed = fuzz::TEST_SEED;
    tally.step(&format!("fuzz targets: cargo xtask fuzz --seed {seed}"), || fuzz::run(fuzz::SECONDS, Some(seed), &[]));
    tally.finish()
}

/// Compiles what the steps after the tests run.
fn prepare_programs() {
    peers::prepare();
    fuzz::prepare();
}

/// Prints how hard pages are to read: the named ones, or those that people read first.
fn count_words(files: &[&str]) -> Result<(), String> {
    let pages = match files {
        [] => docs::pages()?,
        files => files.iter().map(|file| ((*file).to_owned(), cargo::root().join(file))).collect(),
    };
    let mut all = Count::default();
    println!("{}", words::heading());
    for (name, path) in pages {
        let count = Count::of(&docs::read(&path)?);
        println!("{}", count.row(&name));
        all.add(&count);
    }
    println!("{}", all.row("all"));
    Ok(())
}

/// Runs the differential tests, those of ledgers, of the wheel and the fuzz targets at a size that is too slow for every
/// run, and checks our dependencies and the oldest toolchain. Whether nothing failed.
fn nightly() -> bool {
    let mut tally = Tally::new();
    let sized = |package: &str, test: &str, names: &[&str], variable: &str, size: &str| {
        let size = std::env::var(variable).unwrap_or_else(|_| size.into());
        let call = ["test", "--release", "--no-fail-fast", "--package", package, "--test", test, "--", "--show-output"];
        Cargo::new(call.iter().chain(names).copied()).variable(variable, &size)
    };
    let differential = sized("lictor-logic", "logic", &["differential", "data"], PAIRS, NIGHTLY_FACTOR);
    tally.tests("differential tests", differential);
    for (package, test, name, variable, size) in SIZED_TESTS {
        tally.tests(&format!("{package}: {test} {name}"), sized(package, test, &[name], variable, size));
    }
    let cases = std::env::var(CASES).unwrap_or_else(|_| NIGHTLY_CASES.into());
    let packages = PACKAGES_WITH_CASES.iter().flat_map(|package| ["--package", *package]);
    let call = ["test", "--release", "--no-fail-fast"].into_iter().chain(packages);
    let call = Cargo::new(call.chain(["--tests", "--", "--show-output"])).variable(CASES, &cases);
    tally.tests("tests with more cases", call);
    let seconds = std::env::var(FUZZ_SECONDS).ok().and_then(|text| text.parse().ok()).unwrap_or(NIGHTLY_FUZZ_SECONDS);
    tally.step(&format!("fuzz targets: cargo xtask fuzz --seconds {seconds}"), || fuzz::run(seconds, None, &[]));
    let pairs = std::env::var(PYTHON_PAIRS).unwrap_or_else(|_| NIGHTLY_PYTHON_PAIRS.into());
    tally.step("Python: wheel, tests, types", || python::test(Binary::Built, &[(PYTHON_PAIRS, &pairs)]));
    tally.step("oldest toolchain: cargo check", oldest::check);
    tally.step("dependencies: licences, bans, sources, advisories", deny::check);
    tally.finish()
}
