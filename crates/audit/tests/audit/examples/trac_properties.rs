//! The rules of TRAC's appendices F.1.2 and F.3.2, on small logs of our own.

use lictor_decode::Format;
use lictor_decode::input::Input;

use super::{judged_inputs, root};

/// The properties that a log breaks and the steps, in the order of the findings. At the end of a log, the last step.
fn broken(policy: &str, actions: &[&str]) -> Vec<(String, u32)> {
    let log = Input::from_bytes("log.txt", actions.join("\n").into_bytes());
    let report = judged_inputs(policy, &[log], Some(Format::Actions));
    report.findings.iter().map(|finding| (finding.property.id.to_string(), finding.step)).collect()
}

/// The steps at which a log breaks a property.
fn steps(policy: &str, property: &str, actions: &[&str]) -> Vec<u32> {
    let broken = broken(policy, actions);
    broken.into_iter().filter(|(id, _)| id.starts_with(property)).map(|(_, step)| step).collect()
}

/// The properties that an example's own log breaks.
fn broken_by_example(policy: &str, log: &str) -> Vec<(String, u32)> {
    let text = std::fs::read_to_string(root().join("examples").join(log)).unwrap();
    broken(policy, &text.lines().collect::<Vec<_>>())
}

#[test]
fn trucks_destination_is_read_in_every_spelling() {
    for drive in [
        "DRIVE truck1 from l3 to-l1",
        "DRIVE truck1 from l3 to l1",
        "**DRIVE**: Move truck1 from l3 to location l1.",
        "drive truck1 to l1 from l3",
        "DRIVE(truck1, l3, l1)",
        "DRIVE(truck1, l3, to-l1) [Time: 9]",
        "Drive truck1 l3 -> l1",
    ] {
        let at = |place: &str| {
            steps(
                "trucks/policy.yaml",
                "27",
                &[drive, "UNLOAD package4 at l1", &format!("DELIVER package4 at {place}")],
            )
        };
        assert_eq!((at("l1"), at("l3")), (vec![], vec![3]), "{drive}");
    }
}

#[test]
fn trucks_truck_starts_at_l3() {
    let deliveries = ["DELIVER package9 at l3", "DELIVER package4 at l4", "DRIVE to l4", "DELIVER package10 at l3"];
    assert_eq!(steps("trucks/policy.yaml", "27", &deliveries), [2, 4]);
}

#[test]
fn trucks_rules_cover_fourth_area() {
    let plan = ["LOAD package7 into a3", "LOAD package8 into a4", "LOAD package9 into a4", "UNLOAD package9 from a4"];
    let broken = broken("trucks/policy.yaml", &plan);
    let expected =
        [("23-target-area-free", 3), ("24-a3-free-when-deeper-loaded", 2), ("25-a3-free-when-deeper-unloaded", 4)];
    for (id, step) in expected {
        assert!(broken.contains(&(id.to_owned(), step)), "{id}: {broken:?}");
    }
}

#[test]
fn trucks_every_package_is_unloaded_before_delivery() {
    for package in 1..=20 {
        let deliver = format!("DELIVER package{package} at l3");
        assert_eq!(steps("trucks/policy.yaml", "26", &[&deliver]), [1], "{package}");
        let unload = format!("UNLOAD package{package} from a1 at l3");
        assert!(steps("trucks/policy.yaml", "26", &[&unload, &deliver]).is_empty(), "{package}");
    }
}

#[test]
fn trucks_each_load_after_first_is_reported() {
    let load = "LOAD package20 into a1";
    assert_eq!(steps("trucks/policy.yaml", "22", &[load, load, load]), [2, 3]);
}

#[test]
fn trucks_five_packages_goal_is_judged_at_end() {
    let broken = broken_by_example("trucks/five-packages.yaml", "trucks/five-packages.txt");
    let expected = [
        ("01-loads-only-a1", 3),
        ("10-a1-free-when-loading-a2", 3),
        ("goal-done-when-delivered", 19),
        ("goal-package4-at-l2", 19),
    ];
    assert_eq!(broken, expected.map(|(id, step)| (id.to_owned(), step)));
}

#[test]
fn scienceworld_agent_goes_through_opened_door() {
    let after = |open: &str, go: &str| steps("scienceworld/policy.yaml", "1", &[open, go, "look around"]);
    let through = [
        ("open door to the kitchen", "go door to the kitchen"),
        ("open door to kitchen", "go kitchen"),
        ("open kitchen door", "go to the Kitchen"),
        ("open door to the kitchen", "go door"),
        ("open door", "go hallway"),
        ("open door between hallway and kitchen", "go kitchen"),
        ("open door between hallway and kitchen", "go hallway"),
    ];
    for (open, go) in through {
        assert!(after(open, go).is_empty(), "{open}, {go}");
    }
    for (open, go) in [
        ("open door to the hallway", "go living room"),
        ("open door between hallway and kitchen", "go living room"),
        ("open door to the kitchen", "inventory"),
        ("open door", "look around"),
    ] {
        assert_eq!(after(open, go), [2], "{open}, {go}");
    }
}

#[test]
fn scienceworld_last_look_around_breaks_nothing() {
    assert!(broken("scienceworld/policy.yaml", &["inventory", "look around"]).is_empty());
    assert!(broken("scienceworld/policy.yaml", &["look around", "look at table"]).is_empty());
    assert_eq!(steps("scienceworld/policy.yaml", "3", &["look around", "look around"]), [2]);
}

#[test]
fn scienceworld_paint_rules_are_all_checked() {
    let policy = "scienceworld/mix-paint.yaml";
    let cases: [(&str, &[&str]); 9] = [
        ("1", &["open door to the kitchen", "go hallway"]),
        ("2", &["go kitchen", "inventory"]),
        ("3", &["look around", "look around"]),
        ("4", &["inventory", "go bedroom"]),
        ("5", &["pick up the wood cup", "look at jug"]),
        ("6", &["pour cup (containing red paint) in jug", "look at table"]),
        ("6", &["mix jug", "look at cup"]),
        ("7", &["inventory", "dunk brush in yellow paint"]),
        ("8", &["inventory", "focus on cup containing green paint"]),
    ];
    for (rule, actions) in cases {
        assert_eq!(steps(policy, rule, actions), [2], "{rule}: {actions:?}");
    }
    let lawful = [
        "open door to the art studio",
        "go art studio",
        "look around",
        "pick up cup (containing yellow paint)",
        "look at cup",
        "pour cup containing yellow paint into jug",
        "look in jug",
        "mix the jug",
        "look around",
        "focus on the green paint",
    ];
    assert!(broken(policy, &lawful).is_empty());
}

#[test]
fn textworld_taken_item_itself_is_examined() {
    let after = |take: &str, examine: &str| steps("textworld/policy.yaml", "1", &[take, examine, "look"]);
    for (take, examine) in [
        ("take the carrot from the counter", "examine carrot"),
        ("take raw red tuna from fridge", "examine the red tuna"),
        ("TAKE purple potato: take purple potato", "examine purple potato: examine the purple potato"),
    ] {
        assert!(after(take, examine).is_empty(), "{take}, {examine}");
    }
    for (take, examine) in [("take banana", "examine knife"), ("take pepper from fridge", "examine fridge")] {
        assert_eq!(after(take, examine), [2], "{take}, {examine}");
    }
}
