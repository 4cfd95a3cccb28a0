//! TRAC's own logs: what its released code reported, rule by rule and step by step, and what its paper's rules find.

use std::collections::{BTreeMap, BTreeSet};

use lictor_decode::Format;
use lictor_judge::finding::DecidedBy;
use serde_json::Value;

use super::{judged, shared};

/// The number of the rule, and the step.
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

/// Our violations of each log of a world: the property and the step. TRAC does not judge what is owed at the end of a log.
fn found(world: &str, policy: &str) -> Option<BTreeMap<String, BTreeSet<(String, u32)>>> {
    let folder = shared(&format!("peers/trac/{world}"))?;
    let files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let mut found: BTreeMap<_, _> =
        files.iter().map(|file| (name(&file.display().to_string()), BTreeSet::new())).collect();
    let report = judged(&format!("{world}/{policy}"), &files, Some(Format::Actions));
    for finding in report.findings.iter().filter(|finding| finding.decided == DecidedBy::Event) {
        let log = found.get_mut(&name(&finding.source.file)).unwrap();
        assert!(log.insert((finding.property.id.to_string(), finding.step)), "reported twice");
    }
    Some(found)
}

/// Our violations, with properties named by the number of the rule.
fn found_by_rule(world: &str, policy: &str) -> Option<BTreeMap<String, Violations>> {
    let numbered = |(id, step): &(String, u32)| (id.split('-').next().unwrap().parse().unwrap(), *step);
    Some(found(world, policy)?.into_iter().map(|(log, found)| (log, found.iter().map(numbered).collect())).collect())
}

/// The number of violations of each rule, over all logs.
fn counted(found: BTreeMap<String, Violations>) -> Vec<(u32, usize)> {
    let mut counts = BTreeMap::new();
    found.into_values().flatten().for_each(|(rule, _)| *counts.entry(rule).or_default() += 1);
    counts.into_iter().collect()
}

#[test]
fn trac_trucks_released_code_matches_whole_words() {
    let Some(golden) = golden("trac_golden_trucks_token_exact.json", None) else { return };
    let ours = found_by_rule("trucks", "released-code.yaml").unwrap();
    assert_eq!(ours.values().map(BTreeSet::len).sum::<usize>(), 868);
    assert_eq!(ours, golden);
}

#[test]
fn trac_textworld_released_code_matches_release() {
    let Some(golden) = golden("trac_golden_released.json", Some("textworld")) else { return };
    assert_eq!(found_by_rule("textworld", "released-code.yaml").unwrap(), golden);
}

#[test]
fn trac_scienceworld_released_code_matches_release() {
    let Some(golden) = golden("trac_golden_released.json", Some("scienceworld")) else { return };
    assert_eq!(found_by_rule("scienceworld", "released-code.yaml").unwrap(), golden);
}

#[test]
fn trac_textworld_paper_rules_ask_for_item() {
    let Some(found) = found_by_rule("textworld", "policy.yaml") else { return };
    assert_eq!(counted(found), [(1, 130), (2, 3), (4, 31)]);
}

#[test]
fn trac_scienceworld_paper_rules_ask_for_door() {
    let Some(found) = found_by_rule("scienceworld", "policy.yaml") else { return };
    assert_eq!(counted(found), [(1, 9), (2, 106), (3, 31), (4, 5)]);
}

/// Follows a plan action by action and applies the rules of appendix F.1.2 without temporal logic.
#[test]
fn trac_trucks_paper_rules_equal_simulation() {
    let Some(found) = found("trucks", "policy.yaml") else { return };
    let folder = shared("peers/trac/trucks").unwrap();
    for (log, found) in &found {
        let text = std::fs::read_to_string(folder.join(log)).unwrap();
        let (mut truck, mut simulated) = (Truck { place: 3, ..Truck::default() }, BTreeSet::new());
        for (action, step) in text.lines().filter(|line| !line.trim().is_empty()).zip(1..) {
            simulated.extend(truck.act(action).into_iter().map(|id| (id, step)));
        }
        assert_eq!(*found, simulated, "{log}");
    }
    assert_eq!(found.values().map(BTreeSet::len).sum::<usize>(), 1_059);
}

/// Where the truck is, which packages are in which of its areas, and what was done with each package.
#[derive(Default)]
struct Truck {
    place: u32,
    inside: BTreeSet<(u32, u32)>,
    loaded: BTreeSet<u32>,
    unloaded: BTreeSet<u32>,
    delivered: BTreeSet<u32>,
}

impl Truck {
    /// Carries out an action, and returns the properties that it breaks.
    fn act(&mut self, action: &str) -> Vec<String> {
        let action = action.trim_start_matches(|mark: char| !mark.is_ascii_alphabetic()).to_ascii_lowercase();
        let words: Vec<&str> = action.split(|mark: char| !mark.is_ascii_alphanumeric()).collect();
        let number = |kind: &str| words.iter().rev().find_map(|word| word.strip_prefix(kind)?.parse::<u32>().ok());
        let (package, area, place) = (number("package"), number("a"), number("l"));
        match words[0] {
            "load" => self.load(package.unwrap(), area.unwrap()),
            "unload" => self.unload(package.unwrap(), area),
            "deliver" => self.deliver(package.unwrap(), place.unwrap()),
            "drive" => {
                self.place = place.unwrap();
                Vec::new()
            }
            other => panic!("{other}"),
        }
    }

    fn is_taken(&self, area: u32) -> bool {
        self.inside.iter().any(|(_, taken)| *taken == area)
    }

    fn load(&mut self, package: u32, area: u32) -> Vec<String> {
        let mut broken = Vec::new();
        for (deepest, name) in (1..area).zip(["01-loads-only-a1", "02-loads-only-a1-a2", "03-loads-only-a1-a2-a3"]) {
            broken.push(name.to_owned());
            if self.is_taken(deepest) {
                broken.push(format!("24-a{deepest}-free-when-deeper-loaded"));
            }
        }
        if self.is_taken(area) {
            broken.push("23-target-area-free".to_owned());
        }
        let once = [1, 2, 3, 5, 6, 10, 11, 15, 16, 18, 19, 20].iter().zip(11..).find(|(once, _)| **once == package);
        if let Some((_, rule)) = once
            && self.loaded.contains(&package)
        {
            broken.push(format!("{rule}-package{package}-loaded-once"));
        }
        self.loaded.insert(package);
        self.inside.insert((package, area));
        broken
    }

    fn unload(&mut self, package: u32, area: Option<u32>) -> Vec<String> {
        let nearer = (1..area.unwrap_or_default()).filter(|nearer| self.is_taken(*nearer));
        let broken = nearer.map(|nearer| format!("25-a{nearer}-free-when-deeper-unloaded")).collect();
        self.inside.retain(|(loaded, from)| *loaded != package || area.is_some_and(|area| area != *from));
        self.unloaded.insert(package);
        broken
    }

    fn deliver(&mut self, package: u32, place: u32) -> Vec<String> {
        let mut broken = Vec::new();
        for ((first, second), rule) in [(2, 1), (3, 2), (6, 5), (11, 10), (16, 15), (19, 18), (20, 19)].iter().zip(4..)
        {
            if *second == package && !self.delivered.contains(first) {
                broken.push(format!("{rule:02}-package{first}-before-package{second}"));
            }
        }
        if !self.unloaded.contains(&package) {
            broken.push("26-unloaded-before-delivery".to_owned());
        }
        if self.place != place {
            broken.push("27-truck-at-delivery".to_owned());
        }
        self.delivered.insert(package);
        broken
    }
}
