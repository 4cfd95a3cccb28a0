//! A conformance case in its file, and the claims it makes.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

use lictor_logic::Verdict;

use crate::support::claim::Claim;
use crate::support::notation::read_entry;
use crate::support::trace::Entry;

#[derive(Debug, Deserialize)]
struct File {
    case: Vec<Case>,
}

/// One case; see the README beside the files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    #[serde(skip)]
    file: String,
    pub(crate) name: String,
    pub(crate) formula: String,
    pub(crate) trace: Vec<String>,
    pub(crate) start: Option<char>,
    pub(crate) verdicts: String,
    pub(crate) presumptive: Option<String>,
    pub(crate) end: Option<char>,
    pub(crate) after: Option<String>,
}

/// A stretch of a trace that is judged from its beginning, with what is claimed before it and after each entry.
#[derive(Debug)]
pub(crate) struct CaseRun {
    pub(crate) trace: Vec<Entry>,
    pub(crate) claims: Vec<Claim>,
}

/// All cases of all files.
pub(crate) fn load() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        cases.extend(file.case.into_iter().map(|case| Case { file: name.clone(), ..case }));
    }
    cases
}

impl Case {
    pub(crate) fn trace(&self) -> Vec<Entry> {
        self.trace.iter().map(|text| read_entry(text)).collect()
    }

    /// Returns the trace as one run, or as several if the property restarts after a definite verdict.
    pub(crate) fn runs(&self) -> Vec<CaseRun> {
        let resets = self.after.as_deref() == Some("reset");
        let mut presumptive = self.presumptive.iter().flat_map(|text| text.chars());
        let begin = |live| CaseRun { trace: Vec::new(), claims: vec![Claim { live, end: None }] };
        let mut runs = vec![begin(self.start.map(verdict))];
        for (entry, live) in self.trace().into_iter().zip(self.verdicts.chars().map(verdict)) {
            if let Some(run) = runs.last_mut() {
                run.trace.push(entry);
                run.claims.push(Claim { live: Some(live), end: presumptive.next().map(verdict) });
            }
            if resets && live.is_definite() {
                runs.push(begin(None));
            }
        }
        if let (Some(end), Some(claim)) = (self.end, runs.last_mut().and_then(|run| run.claims.last_mut())) {
            claim.end = Some(verdict(end));
        }
        runs
    }
}

fn verdict(letter: char) -> Verdict {
    match letter {
        't' => Verdict::Satisfied,
        'f' => Verdict::Violated,
        '?' => Verdict::Inconclusive,
        _ => panic!("`{letter}` is no verdict: write `t`, `f` or `?`"),
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}: {} on {:?}", self.file, self.name, self.formula, self.trace)
    }
}
