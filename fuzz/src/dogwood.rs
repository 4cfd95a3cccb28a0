//! Policies and logs of Dogwood: what is imported is a policy of ours, and a refusal has its place.
//!
//! The part before the first NUL is the policy, the next the event schema, the last the log.

use lictor_policy::{Policy, PolicyText, Problem};
use lictor_translate::import::dogwood::{ImportedPolicy, PolicyFiles};

use crate::choices::Choices;
use crate::policy::NoFiles;

pub(crate) fn run(input: &[u8]) {
    let mut parts = Choices(input).text().split('\0');
    let text = |name: &str, part: &str| PolicyText::new(name, part);
    let (policy, events, log) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let mut files = PolicyFiles::new(vec![text("fuzz.dogwood", policy)]);
    files.events = events.filter(|events| !events.is_empty()).map(|events| text("events", events));
    let imported = match ImportedPolicy::new("fuzz", &files) {
        Ok(imported) => imported,
        Err(problem) => return check_place(&problem, policy, events.unwrap_or_default()),
    };
    let problems = Policy::parse(&imported.policy, "imported.yaml", &NoFiles).err();
    assert_eq!(problems.map(|problems| problems.to_string()), None, "imported as no policy:\n{}", imported.policy);
    let log = log.unwrap_or_default();
    if let Err(problem) = imported.log("session", &text("log", log)) {
        check_place(&problem, log, "");
    }
}

/// A refusal has its place in the file that it names.
fn check_place(problem: &Problem, first: &str, second: &str) {
    assert!(!problem.to_string().is_empty());
    let text = match &*problem.file {
        "events" => second,
        "fuzz.dogwood" | "log" => first,
        _ => return,
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let line = problem.line as usize;
    assert!((1..=lines.len()).contains(&line), "line {line} of {} lines: {problem}", lines.len());
    let length = lines[line - 1].chars().count();
    assert!((1..=length + 1).contains(&(problem.column as usize)), "column {} of {length}: {problem}", problem.column);
}
