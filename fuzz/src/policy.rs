//! Policies: a text is a policy, or has problems whose places are in it.

use lictor_policy::{Policy, Problems, ResolvedFile, Resolver, lint};

use crate::choices::Choices;

/// Finds no files.
#[derive(Debug)]
pub(crate) struct NoFiles;

impl Resolver for NoFiles {
    fn file(&self, _path: &str, _from: &str) -> Result<ResolvedFile, String> {
        Err("there are no files".to_owned())
    }
}

pub(crate) fn run(input: &[u8]) {
    let text = Choices(input).text();
    match Policy::parse(text, "fuzz.yaml", &NoFiles) {
        Ok(loaded) => {
            assert!(!loaded.warnings.has_errors(), "a policy with errors: {}", loaded.warnings);
            check_problems(&loaded.warnings, text);
            check_problems(&lint(&loaded.policy, jiff::civil::Date::constant(2026, 1, 1)), text);
            let again = Policy::parse(text, "fuzz.yaml", &NoFiles).map(|loaded| loaded.policy.fingerprint());
            assert_eq!(again.ok(), Some(loaded.policy.fingerprint()), "a policy has one fingerprint");
        }
        Err(problems) => {
            assert!(problems.has_errors(), "refused without an error");
            check_problems(&problems, text);
        }
    }
}

/// Every problem of a file has its place in the text of that file.
pub(crate) fn check_problems(problems: &Problems, text: &str) {
    assert_eq!(problems.to_string().is_empty(), problems.is_empty(), "problems are shown");
    let lines: Vec<&str> = text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').collect();
    for problem in problems.iter().filter(|problem| &*problem.file == "fuzz.yaml") {
        let (line, column) = (problem.line as usize, problem.column as usize);
        // Line zero is the file as a whole.
        let Some(index) = line.checked_sub(1) else { continue };
        assert!(index < lines.len(), "line {line} of {} lines: {problem}", lines.len());
        let length = lines[index].chars().count();
        assert!((1..=length + 1).contains(&column), "column {column} of {length}: {problem}");
        let end = column - 1 + problem.length as usize;
        assert!(end <= length.max(column), "{} characters from column {column} of {length}: {problem}", problem.length);
    }
}
