//! Dogwood's regression cases: policies, logs, and the decisions that its own engine must reach.
//!
//! They are read from cargo's copy of the sources of the crate, which `peers/` depends on, and never copied.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use lictor_judge::Judge;
use lictor_judge::session::Session;
use lictor_policy::{FileResolver, Policy, PolicyText};
use lictor_translate::import::dogwood::{ImportedPolicy, PolicyFiles};
use serde_json::{Value, json};

use crate::case::parse_events;

/// The folders of cases that Dogwood itself passes, below its `tests/`.
const FOLDERS: [&str; 6] = [
    "passing/temporal_only/corpus",
    "passing/macros/corpus",
    "passing/mixed/corpus",
    "passing/cedar_only/corpus_handwritten",
    "passing/provider_only/corpus",
    "experimental/corpus",
];

/// A case: a policy with its schemas, and logs with the decisions on them.
#[derive(Clone, Debug)]
pub(crate) struct DogwoodCase {
    /// Its folder and its name.
    name: String,
    given: PolicyFiles,
    logs: Vec<(PolicyText, PolicyText)>,
    /// Whether its policy looks back.
    is_temporal: bool,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Every decision on every log is the expected one; the number of decisions.
    Reproduced(usize),
    /// The import refused it: the code of the reason, and the message.
    Refused(String, String),
    /// A decision differs.
    Disagrees(String),
}

/// Returns the folder of the crate's sources.
fn sources() -> Result<PathBuf, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/Cargo.toml");
    // The tests in `peers/` need the packages of this platform only. Without the filter cargo downloads those of all.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform()?, "--manifest-path"])
        .arg(&manifest)
        .output()
        .map_err(|error| error.to_string())?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let packages = metadata["packages"].as_array().ok_or("cargo tells of no packages")?;
    let found = packages.iter().find(|package| package["name"] == "dogwood-language");
    let path = found.and_then(|package| package["manifest_path"].as_str()).ok_or("dogwood-language is not there")?;
    Path::new(path).parent().map(Path::to_owned).ok_or_else(|| format!("{path} is in no folder"))
}

/// Returns the name of the platform that cargo builds for.
fn platform() -> Result<String, String> {
    let output = Command::new(env!("CARGO")).arg("-vV").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("`cargo -vV` names no host: {text}"))
}

/// Returns all cases that Dogwood passes.
pub(crate) fn cases() -> Result<Vec<DogwoodCase>, String> {
    let tests = sources()?.join("tests");
    let read = |path: PathBuf| std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
    let usual_events = read(tests.join("fixtures/request_response.dwschema"))?;
    let usual_actions = read(tests.join("passing/temporal_only/shared_schema.cedarschema"))?;
    let mut found = Vec::new();
    for folder in FOLDERS {
        for case in folders(&tests.join(folder))? {
            let name = format!("{folder}/{}", case.file_name().unwrap_or_default().to_string_lossy());
            found.push(self::case(&case, name, &usual_events, &usual_actions)?);
        }
    }
    Ok(found)
}

fn folders(root: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

fn case(folder: &Path, name: String, usual_events: &str, usual_actions: &str) -> Result<DogwoodCase, String> {
    let source = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        Some(PolicyText::new(&format!("{name}/{file}"), &text))
    };
    // The files of a case are numbered: policy_1.dw, policy_2.dw, …
    let policies: Vec<PolicyText> = (1..).map_while(|number| source(&format!("policy_{number}.dw"))).collect();
    let log =
        |number: usize| Some((source(&format!("trace_{number}.log"))?, source(&format!("expected_{number}.out"))?));
    let logs: Vec<(PolicyText, PolicyText)> = (1..).map_while(log).collect();
    let event_schema = source("event.dwschema").map_or_else(|| usual_events.to_owned(), |file| file.body().to_owned());
    let action_schema =
        source("schema.cedarschema").map_or_else(|| usual_actions.to_owned(), |file| file.body().to_owned());
    let mut given = PolicyFiles::new(policies);
    given.macros = source("macros.dw");
    given.events = Some(PolicyText::new("event.dwschema", &event_schema));
    given.actions = Some(PolicyText::new("schema.cedarschema", &action_schema));
    let macros = given.macros.iter().chain(&given.policies);
    let is_temporal = macros.clone().any(|file| file.body().contains("temporal"));
    Ok(DogwoodCase { name, given, logs, is_temporal })
}

impl DogwoodCase {
    /// Returns its result, as the tests in `peers/` read it.
    pub(crate) fn judge(&self) -> Value {
        let (outcome, reason, message, decisions) = match self.run() {
            Outcome::Reproduced(decisions) => ("reproduced", String::new(), String::new(), decisions),
            Outcome::Refused(reason, message) => ("refused", reason, message, 0),
            Outcome::Disagrees(message) => ("disagrees", String::new(), message, 0),
        };
        json!({
            "name": self.name, "is_temporal": self.is_temporal, "outcome": outcome,
            "reason": reason, "message": message, "decisions": decisions,
        })
    }

    /// Imports the case, judges its logs and compares the decisions.
    fn run(&self) -> Outcome {
        let imported = match ImportedPolicy::new("dogwood", &self.given) {
            Ok(imported) => imported,
            Err(problem) => return Outcome::Refused(problem.code.to_owned(), problem.to_string()),
        };
        let mut decisions = 0;
        for (log, expected) in &self.logs {
            let events = match imported.log("log", log) {
                Ok(events) => events,
                Err(problem) => return Outcome::Refused(problem.code.to_owned(), problem.to_string()),
            };
            let lines: Vec<&str> = events.iter().map(|event| event.line.as_str()).collect();
            let ours = match decide(&imported.policy, &lines) {
                Ok(denied) => denied,
                Err(message) => return Outcome::Disagrees(format!("{}: {message}", self.name)),
            };
            let decided = events.iter().zip(&ours).enumerate().filter(|(_, (event, _))| event.is_decided);
            let ours: Vec<(usize, bool)> = decided.map(|(place, (_, permitted))| (place, *permitted)).collect();
            let theirs: Vec<(usize, bool)> = expected.body().lines().filter_map(decision).collect();
            if ours != theirs {
                let log = lines.join("\n");
                return Outcome::Disagrees(format!(
                    "{}\n{}\n{log}\nours   {ours:?}\ntheirs {theirs:?}",
                    self.name, imported.policy
                ));
            }
            decisions += ours.len();
        }
        Outcome::Reproduced(decisions)
    }
}

/// Returns for each event whether it breaks no property.
fn decide(policy: &str, lines: &[&str]) -> Result<Vec<bool>, String> {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    let mut judge = Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}"))?;
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let mut permitted = Vec::new();
    for event in parse_events(&lines.join("\n"))? {
        let name = event.session.clone().unwrap_or_default().to_string();
        let session = sessions.entry(name.clone()).or_insert_with(|| Session::new(&mut judge, &name));
        let found = session.observe(&mut judge, &event).map_err(|error| error.to_string())?;
        permitted.push(found.is_empty());
    }
    Ok(permitted)
}

/// Parses `@20 (time point 10): true`: the number of the event, and whether it is permitted.
fn decision(line: &str) -> Option<(usize, bool)> {
    let (_, rest) = line.split_once("(time point ")?;
    let (place, verdict) = rest.split_once("): ")?;
    Some((place.parse().ok()?, verdict.trim() == "true"))
}
