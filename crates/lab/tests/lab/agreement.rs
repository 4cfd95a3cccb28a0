//! The oracle and the engine of `lictor audit` find the same violations, in thousands of random runs.

use std::collections::BTreeSet;

use lictor::audit::{AuditOptions, audit};
use lictor::input::Input;
use lictor::predict::SeededRandom;
use lictor_lab::trucks::client::TruckClient;
use lictor_lab::trucks::oracle::PROPERTIES;
use lictor_lab::trucks::run::{POLICY, Strategy, TruckRuns, compile, parse_policy};
use lictor_lab::trucks::world::{AREAS, LOCATIONS, PACKAGES, TruckAction};
use serde_json::{Value, json};

/// The runs of the test.
const RUNS: u64 = 3_000;

/// The actions of each.
const ACTIONS: u32 = 40;

/// A violation: the session, its step from 1 on, and the property.
type Violation = (String, u32, String);

/// Returns any action; those of few packages are likelier, so that areas fill up and deliveries happen.
fn draw_action(random: &mut SeededRandom, client: &TruckClient) -> TruckAction {
    let mut below = |most: u8| (random.next_bits() % u64::from(most)) as u8 + 1;
    let (kind, package, area, to) = (below(6), below(PACKAGES), below(AREAS), below(LOCATIONS));
    let carried = (1..=AREAS).find_map(|area| client.world().content(area).map(|package| (package, area)));
    match (kind, carried) {
        (1, _) => TruckAction::Drive { to },
        (2 | 3, _) => TruckAction::Load { package, area },
        (4, Some((package, area))) => TruckAction::Unload { package, area },
        (4 | 5, _) => TruckAction::Unload { package, area },
        _ => TruckAction::Deliver { package },
    }
}

#[test]
fn oracle_agrees_with_audit_on_random_runs() {
    let (mut log, mut truth) = (String::new(), BTreeSet::new());
    for seed in 0..RUNS {
        let session = format!("s{seed}");
        let mut random = SeededRandom::new(seed);
        let mut client = TruckClient::new(seed, 0.8);
        for action in 0..ACTIONS {
            let (tool, arguments) = draw_action(&mut random, &client).to_call();
            let result = client.perform(tool, &arguments.to_string());
            let id = format!("c{action}");
            let call = json!({"session": session, "kind": "tool_call", "id": id, "tool": tool, "args": arguments});
            let result = Value::Object(result).to_string();
            let result = json!({"session": session, "kind": "tool_result", "id": id, "tool": tool, "text": result});
            log.push_str(&format!("{call}\n{result}\n"));
        }
        for (action, places) in client.score().broken {
            let found = places.iter().map(|place| (session.clone(), 2 * action + 1, PROPERTIES[*place].to_owned()));
            truth.extend(found);
        }
    }
    let found = audit_log(log);
    let missed: Vec<&Violation> = truth.difference(&found).take(3).collect();
    let invented: Vec<&Violation> = found.difference(&truth).take(3).collect();
    assert!(missed.is_empty() && invented.is_empty(), "the audit missed {missed:?} and invented {invented:?}");
    for property in PROPERTIES {
        assert!(truth.iter().any(|(_, _, broken)| broken == property), "{property} is never broken");
    }
    assert!(truth.len() > 10_000, "{}", truth.len());
}

fn audit_log(log: String) -> BTreeSet<Violation> {
    let mut judge = compile(&parse_policy(POLICY).unwrap()).unwrap();
    let input = Input::from_bytes("runs.jsonl", log.into_bytes());
    let report = audit(&mut judge, &[input], &AuditOptions::default().threads(Some(1)), &()).unwrap();
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    let found = report.findings.iter();
    found.map(|finding| (finding.session.to_string(), finding.step, finding.property.id.to_string())).collect()
}

/// The events that the guard saw in runs of the agent, audited afterwards, have the violations of the oracle.
#[test]
fn oracle_agrees_with_audit_on_agent_runs() {
    let mut runs = TruckRuns::new(Strategy::None, 1.0, None).unwrap();
    let (mut log, mut expected, mut broken) = (String::new(), BTreeSet::new(), 0);
    for seed in 0..20 {
        let (record, events) = runs.run(seed, 0.8).unwrap();
        let calls: Vec<u32> =
            (1..).zip(&events).filter(|(_, event)| event.kind.name() == "tool_call").map(|(step, _)| step).collect();
        assert_eq!(calls.len(), record.score.actions as usize);
        let session = format!("run-{seed}");
        for (action, places) in &record.score.broken {
            broken += places.len();
            let step = calls[*action as usize];
            expected.extend(places.iter().map(|place| (session.clone(), step, PROPERTIES[*place].to_owned())));
        }
        events.iter().for_each(|event| log.push_str(&format!("{}\n", event.to_json())));
    }
    assert!(broken > 20, "{broken}");
    assert_eq!(audit_log(log), expected);
}
