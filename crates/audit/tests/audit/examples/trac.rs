//! TRAC's own logs: what its released code reported, rule by rule and step by step.

use std::collections::{BTreeMap, BTreeSet};

use lictor_decode::Format;
use lictor_judge::finding::DecidedBy;
use serde_json::Value;

use super::{judged, shared};

/// Rule and step.
type Violations = BTreeSet<(u32, u32)>;

/// The reported violations of each log of a world.
fn golden(file: &str, world: Option<&str>) -> Option<BTreeMap<String, Violations>> {
    let text = std::fs::read_to_string(shared(&format!("peers/trac/{file}"))?).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let logs = world.map_or(&document, |world| &document[world]);
    let logs = logs.as_object().unwrap().iter().map(|(name, log)| {
        let events = log["events"].as_array().unwrap().iter().flat_map(|event| {
            let step = u32::try_from(event[0].as_u64().unwrap()).unwrap();
            let rules = event[1].as_str().unwrap().split('-').filter(|rule| !rule.is_empty());
            rules.map(move |rule| (rule.parse().unwrap(), step)).collect::<Vec<_>>()
        });
        (name.clone(), events.collect())
    });
    Some(logs.collect())
}

/// Our violations, with properties named by the number of the rule.
fn ours(world: &str, logs: &BTreeMap<String, Violations>) -> BTreeMap<String, Violations> {
    let folder = shared(&format!("peers/trac/{world}")).unwrap();
    let files: Vec<_> = logs.keys().map(|name| folder.join(name)).collect();
    let report = judged(world, &files, Some(Format::Actions));
    let mut found: BTreeMap<String, Violations> = logs.keys().map(|name| (name.clone(), Violations::new())).collect();
    // The released code does not judge what is owed at the end of a log.
    for finding in report.findings.iter().filter(|finding| finding.decided == DecidedBy::Event) {
        let rule = finding.property.id.split('-').next().unwrap().parse().unwrap();
        let log = finding.source.file.rsplit('/').next().unwrap();
        assert!(found.get_mut(log).unwrap().insert((rule, finding.step)), "reported twice");
    }
    found
}

#[test]
fn trac_trucks_verdicts_use_whole_words() {
    let Some(golden) = golden("trac_golden_trucks_token_exact.json", None) else { return };
    let ours = ours("trucks", &golden);
    assert_eq!(ours.values().map(BTreeSet::len).sum::<usize>(), 868);
    assert_eq!(ours, golden);
}

#[test]
fn trac_textworld_verdicts_match_release() {
    let Some(golden) = golden("trac_golden_released.json", Some("textworld")) else { return };
    assert_eq!(ours("textworld", &golden), golden);
}

/// The fifth rule of the released code is not the paper's (measure before boxing, which no log violates). It forbids
/// going twice in a row, as our sixth property does.
#[test]
fn trac_scienceworld_verdicts_match_release_except_fifth_rule() {
    let Some(golden) = golden("trac_golden_released.json", Some("scienceworld")) else { return };
    let mut ours = ours("scienceworld", &golden);
    for violations in ours.values_mut() {
        assert!(violations.iter().all(|(rule, _)| *rule != 5), "no log boxes substance B unmeasured");
        *violations = violations.iter().map(|(rule, step)| (if *rule == 6 { 5 } else { *rule }, *step)).collect();
    }
    assert_eq!(ours, golden);
}
