//! The oracle and the engine of `lictor audit` find the same violations, in thousands of random runs.

use std::collections::BTreeSet;

use lictor::audit::{AuditOptions, audit};
use lictor::event::{Arguments, Event, Kind};
use lictor::input::Input;
use lictor::predict::SeededRandom;
use lictor_lab::trucks::client::TruckClient;
use lictor_lab::trucks::oracle::PROPERTIES;
use lictor_lab::trucks::run::{POLICY, Strategy, TruckRuns, compile, parse_policy};
use lictor_lab::trucks::world::{AREAS, LOCATIONS, PACKAGES, TruckAction};
use serde_json::Value;

/// The runs of the test.
const RUNS: u64 = 2_000;

/// The actions of each.
const ACTIONS: u32 = 16;

/// A violation: the session, its step from 1 on, and the property.
type Violation = (String, u32, String);

/// Returns any action; unloading what is loaded is likelier than the rest, so that packages move.
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

/// Returns a call and its result as events.
fn list_events(action: TruckAction, number: u32, client: &mut TruckClient) -> [Event; 2] {
    let (tool, arguments) = action.to_call();
    let event =
        |kind: Kind| Event { id: Some(format!("c{number}").into()), tool: Some(tool.into()), ..Event::new(kind) };
    let text = Value::Object(client.perform(tool, &arguments.to_string())).to_string();
    let arguments = Arguments::from_json(arguments.to_string().into());
    [
        Event { args: Some(arguments), ..event(Kind::ToolCall) },
        Event { text: Some(text.into()), ..event(Kind::ToolResult) },
    ]
}

/// The audit's first pass counts the violations of each property; so the counts are compared after every event.
#[test]
fn oracle_agrees_with_engine_on_random_runs() {
    let mut judge = compile(&parse_policy(POLICY).unwrap()).unwrap();
    let ids: Vec<String> = judge.properties().iter().map(|property| property.id.to_string()).collect();
    assert_eq!(ids, PROPERTIES);
    let mut total = [0u32; PROPERTIES.len()];
    for seed in 0..RUNS {
        let mut random = SeededRandom::new(seed);
        let mut client = TruckClient::new(seed, 0.8);
        let mut state = judge.start();
        let mut expected = [0u32; PROPERTIES.len()];
        for number in 0..ACTIONS {
            let action = draw_action(&mut random, &client);
            let events = list_events(action, number, &mut client);
            if let Some((_, places)) = client.score().broken.last().filter(|(broken, _)| *broken == number) {
                places.iter().for_each(|place| expected[*place] += 1);
            }
            for event in &events {
                judge.advance(&mut state, event).unwrap();
                let found: Vec<u32> = state.violations().iter().map(|violations| violations.count).collect();
                assert_eq!(found, expected, "seed {seed}, action {number}: {action:?}");
            }
        }
        total.iter_mut().zip(expected).for_each(|(total, count)| *total += count);
    }
    assert!(total.iter().all(|count| *count >= 20), "some property is hardly ever broken: {total:?}");
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
    let (mut log, mut expected) = (String::new(), BTreeSet::new());
    for seed in 0..6 {
        let (record, events) = runs.run(seed, 0.8).unwrap();
        let calls: Vec<u32> =
            (1..).zip(&events).filter(|(_, event)| event.kind == Kind::ToolCall).map(|(step, _)| step).collect();
        assert_eq!(calls.len(), record.score.actions as usize);
        let session = format!("run-{seed}");
        for (action, places) in &record.score.broken {
            let step = calls[*action as usize];
            expected.extend(places.iter().map(|place| (session.clone(), step, PROPERTIES[*place].to_owned())));
        }
        events.iter().for_each(|event| log.push_str(&format!("{}\n", event.to_json())));
    }
    assert!(expected.len() > 5, "{}", expected.len());
    assert_eq!(audit_log(log), expected);
}
