//! Lictor and Dogwood reach the same decisions: on Dogwood's own cases, and on Lictor's exports.

use std::collections::BTreeMap;
use std::thread;

use lictor_peers::cases::{PeerCase, read};
use lictor_peers::dogwood::DogwoodPolicy;
use serde::Deserialize;

/// The least number of Dogwood's cases with past operators that must be reproduced.
const REPRODUCED: usize = 736;

/// Our results on Dogwood's own cases.
#[derive(Deserialize)]
struct Corpus {
    /// The reasons for which a case may be refused.
    reasons: Vec<String>,
    cases: Vec<CorpusCase>,
}

/// Our result on one of them.
#[derive(Deserialize)]
struct CorpusCase {
    name: String,
    /// Whether its policy looks back.
    is_temporal: bool,
    outcome: Outcome,
    /// Why it was refused.
    reason: String,
    message: String,
    /// How many decisions were the same.
    decisions: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Reproduced,
    Refused,
    Disagrees,
}

#[test]
fn dogwood_cases_are_reproduced_or_refused() {
    let corpus: Corpus = read("corpus.json").unwrap();
    let mut table: BTreeMap<(bool, String), usize> = BTreeMap::new();
    let (mut decisions, mut disagreeing) = (0, Vec::new());
    for case in corpus.cases {
        decisions += case.decisions;
        let key = match case.outcome {
            Outcome::Reproduced => "reproduced".to_owned(),
            Outcome::Refused => {
                assert!(corpus.reasons.contains(&case.reason), "{}: {}", case.name, case.message);
                format!("refused: {}", case.reason)
            }
            Outcome::Disagrees => {
                disagreeing.push(case.message);
                "disagreeing".to_owned()
            }
        };
        *table.entry((case.is_temporal, key)).or_default() += 1;
    }
    for ((is_temporal, key), count) in &table {
        println!("{:<10} {key:<28} {count:>5}", if *is_temporal { "looks back" } else { "plain" });
    }
    println!("{} cases, {decisions} decisions reproduced", table.values().sum::<usize>());
    assert!(disagreeing.is_empty(), "{}", disagreeing.join("\n\n"));
    let of = |is_temporal: bool, key: &str| table.get(&(is_temporal, key.to_owned())).copied().unwrap_or_default();
    assert!(of(true, "reproduced") >= REPRODUCED, "{table:?}");
    // The importer parses everything that Dogwood parses.
    assert_eq!(of(true, "refused: dogwood.syntax") + of(false, "refused: dogwood.syntax"), 0, "{table:?}");
    assert!(decisions > 4400, "{decisions}");
}

#[test]
fn exported_policies_get_same_decisions_in_dogwood() {
    let cases: Vec<PeerCase> = read("fact_policies.json").unwrap();
    assert_eq!(cases.len(), 4);
    thread::scope(|scope| cases.iter().for_each(|case| drop(scope.spawn(|| compare(case)))));
}

fn compare(case: &PeerCase) {
    assert_eq!(case.traces.len(), 120);
    let policy = DogwoodPolicy::new(&case.files).unwrap();
    let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
    for trace in &case.traces {
        assert_eq!(trace.verdicts, policy.judge(&trace.input).unwrap(), "{}\n{}", case.policy, trace.lines);
        trace.verdicts.iter().for_each(|(_, property)| *broken.entry(property).or_default() += 1);
    }
    println!("{broken:?}, left out {:?}", case.left_out);
    // Engines without any violation would agree as well.
    let expressed = case.properties.iter().filter(|property| !case.left_out.contains(property));
    assert_eq!(broken.len(), expressed.count(), "{broken:?}");
    assert!(broken.values().all(|count| *count > 10), "{broken:?}");
}
