//! Dogwood's own cases come out the same when Lictor judges them.

use std::collections::BTreeMap;

use lictor::import::dogwood::REASONS;
use lictor_peers::dogwood::corpus::{Outcome, cases};

#[test]
fn dogwoods_own_cases_are_reproduced_or_refused_for_a_reason() {
    let mut table: BTreeMap<(bool, String), usize> = BTreeMap::new();
    let (mut decisions, mut disagreeing) = (0, Vec::new());
    for case in cases().unwrap() {
        let key = match case.run() {
            Outcome::Reproduced(count) => {
                decisions += count;
                "reproduced".to_owned()
            }
            Outcome::Refused(reason, message) => {
                assert!(REASONS.contains(&reason.as_str()), "{}: {reason}", case.name);
                if std::env::var("SHOW").is_ok() { println!("{}: {message}\n", case.name); }
                format!("refused: {reason}")
            }
            Outcome::Disagrees(message) => {
                disagreeing.push(message);
                "disagreeing".to_owned()
            }
        };
        *table.entry((case.is_temporal, key)).or_default() += 1;
    }
    for ((is_temporal, key), count) in &table {
        println!("{:<10} {key:<28} {count:>5}", if *is_temporal { "temporal" } else { "plain" });
    }
    println!("{decisions} decisions");
    assert!(disagreeing.is_empty(), "{}", disagreeing.join("\n\n"));
}
