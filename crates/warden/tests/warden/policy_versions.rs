//! Several versions of a policy over one store: what the new one would block stays blocked, and sessions move forward.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::guard::{Action, Cause, Decision, Guard, GuardOptions};
use lictor_judge::session::Session;
use lictor_logic::After;
use lictor_policy::{FileResolver, Policy};
use lictor_store::{MemoryStore, Store};
use lictor_warden::{Warden, WardenError, WardenOptions};

use crate::given::{at, event};

/// A policy with these facts and properties.
fn policy(facts: &str, properties: &[&str]) -> Policy {
    let properties: Vec<String> = properties
        .iter()
        .map(|property| match property.split_once(": ") {
            Some((id, rest)) => format!("  - {{id: {id}, formula: '{rest}', respond: block}}\n"),
            None => panic!("{property}"),
        })
        .collect();
    let properties = match properties.is_empty() {
        true => "properties: []\n".to_owned(),
        false => format!("properties:\n{}", properties.concat()),
    };
    let text = format!("lictor: 1\nname: p\nfacts:\n{facts}{properties}");
    Policy::parse(&text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}\n{text}")).policy
}

const FACTS: &str = "  leaked: {on: tool_result(read), where: {text: '*key*'}}\n  sent: {on: tool_call(send)}\n  \
                     paid(to): {on: tool_call(pay), to: args.to}\n";

fn open(policy: &Policy, store: &Arc<dyn Store>) -> Warden {
    let guard = Guard::new(Judge::new(policy).unwrap(), GuardOptions::default());
    Warden::open(guard, Arc::clone(store), None, WardenOptions::new(policy.fingerprint())).unwrap()
}

fn send() -> Event {
    event(r#"{"session":"s","kind":"tool_call","tool":"send","args":{}}"#)
}

/// The events of a session, before the calls that are tried.
fn past() -> Vec<Event> {
    [
        r#"{"session":"s","kind":"user_message","text":"go"}"#,
        r#"{"session":"s","kind":"tool_call","tool":"pay","args":{"to":"ann"}}"#,
        r#"{"session":"s","kind":"tool_result","tool":"read","text":"the key"}"#,
        r#"{"session":"s","kind":"tool_result","tool":"read","text":"nothing"}"#,
        r#"{"session":"s","kind":"assistant_message","text":"ok"}"#,
    ]
    .map(event)
    .to_vec()
}

/// The calls that are tried after it.
fn calls() -> Vec<Event> {
    [
        r#"{"session":"s","kind":"tool_call","tool":"send","args":{}}"#,
        r#"{"session":"s","kind":"tool_call","tool":"pay","args":{"to":"ann"}}"#,
        r#"{"session":"s","kind":"tool_call","tool":"pay","args":{"to":"bob"}}"#,
        r#"{"session":"s","kind":"tool_call","tool":"read","args":{}}"#,
    ]
    .map(event)
    .to_vec()
}

/// Pairs of policies that differ in one property: by a bound, an operator, a fact, a parameter, or its presence.
fn pairs() -> Vec<(Policy, Policy)> {
    let one = |formula: &'static str| policy(FACTS, &[formula]);
    let changes = [
        ("no-send: always (sent -> !once leaked)", "no-send: always (sent -> !once[0,720h] leaked)"),
        ("no-send: always (sent -> !once[0,720h] leaked)", "no-send: always (sent -> !once[0,1h] leaked)"),
        ("no-send: always (sent -> !once[0,2] leaked)", "no-send: always (sent -> !once[0,4] leaked)"),
        ("no-send: always (sent -> once leaked)", "no-send: always (sent -> !once leaked)"),
        ("no-send: always (sent -> !previous leaked)", "no-send: always (sent -> !once leaked)"),
        ("no-send: always (sent -> !(leaked since user_message))", "no-send: always (sent -> !(true since leaked))"),
        ("no-send: always (sent -> !once leaked)", "no-send: always (sent -> !once user_message)"),
        ("no-send: always (sent -> !once leaked)", "no-send: always (tool_call(\"pay\") -> !once leaked)"),
        (
            "pay-once: always forall p. (paid(p) -> !previous once paid(p))",
            "pay-once: always forall p. (paid(p) -> !previous once[0,1h] paid(p))",
        ),
        (
            "pay-few: always (tool_call(\"pay\") -> count(tool_call(\"pay\")) <= 3)",
            "pay-few: always (tool_call(\"pay\") -> count(tool_call(\"pay\")) <= 1)",
        ),
        ("quiet: always (leaked -> always !sent)", "quiet: always (leaked -> always !tool_call)"),
        ("no-send: always (sent -> historically !leaked)", "no-send: always (sent -> historically[0,100s] !leaked)"),
    ];
    let mut pairs: Vec<(Policy, Policy)> = changes.iter().map(|(from, to)| (one(from), one(to))).collect();
    // The other way round, added, and removed.
    pairs.extend(changes.iter().map(|(from, to)| (one(to), one(from))));
    pairs.extend(changes.iter().map(|(from, _)| (policy(FACTS, &[]), one(from))));
    // A fact with another definition.
    let other = FACTS.replace(", where: {text: '*key*'}", "");
    pairs.extend(changes.iter().take(4).map(|(from, _)| (policy(FACTS, &[from]), policy(&other, &[from]))));
    pairs
}

/// What a policy that judged all accepted events says to another one.
fn blocks_on_whole_session(policy: &Policy, accepted: &[Event], call: &Event) -> bool {
    let mut judge = Judge::new(policy).unwrap();
    let mut session = Session::new(&mut judge, "s");
    accepted.iter().for_each(|event| drop(session.observe(&mut judge, event).unwrap()));
    !session.propose(&mut judge, call).unwrap().findings.is_empty()
}

/// The last events that took effect, and the decision on another one.
fn decide(warden: &mut Warden, accepted: &mut Vec<Event>, event: &Event) -> Decision {
    let mut event = event.clone();
    event.time = Some(at(accepted.len() as i64));
    let decision = warden.decide(&event, event.time).unwrap().decision;
    if decision.action.takes_effect() {
        accepted.push(event);
    }
    Decision::clone(&decision)
}

#[test]
fn moved_session_keeps_every_block() {
    let (mut blocked, mut unknown) = (0, 0);
    let pairs = pairs();
    assert!(pairs.len() >= 40);
    for (number, (old, new)) in pairs.iter().enumerate() {
        // Each property is put back, too: the first policy is active again at the end.
        for order in [&[old, new][..], &[old, new, old]] {
            let (store, mut accepted): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), Vec::new());
            let open = |policy: &Policy| open(policy, &store);
            let mut warden = open(order[0]);
            past().iter().for_each(|event| drop(decide(&mut warden, &mut accepted, event)));
            for policy in &order[1..] {
                drop(warden);
                warden = open(policy);
                for call in calls() {
                    let mut call = call;
                    call.time = Some(at(accepted.len() as i64));
                    let expected = blocks_on_whole_session(policy, &accepted, &call);
                    let decision = decide(&mut warden, &mut accepted, &call);
                    let is_blocked = decision.action == Action::Block;
                    let is_unknown = decision.objections.iter().any(|it| matches!(it.why, Cause::Unknown));
                    assert!(is_blocked || !expected, "pair {number}: {} after {accepted:?}", call.to_json());
                    // A property that is final after a violation is judged as if it had stopped the event.
                    let is_final = policy.properties.iter().any(|property| property.after != After::Each);
                    let is_allowed = !expected && !is_unknown && !is_final;
                    assert!(!is_allowed || !is_blocked, "pair {number}: {} is allowed", call.to_json());
                    blocked += usize::from(is_blocked && !is_unknown);
                    unknown += usize::from(is_unknown);
                }
            }
        }
    }
    assert!(blocked > 60 && unknown < blocked, "{blocked} blocked, {unknown} unknown");
}

#[test]
fn session_moves_forward_only() {
    let old = policy(FACTS, &["no-send: always (sent -> !once leaked)"]);
    let new = policy(FACTS, &["no-send: always (sent -> !once[0,720h] leaked)"]);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut first = open(&old, &store);
    let mut accepted = Vec::new();
    past().iter().for_each(|event| drop(decide(&mut first, &mut accepted, event)));
    assert_eq!(decide(&mut first, &mut accepted, &send()).action, Action::Block);
    let mut second = open(&new, &store);
    assert_eq!(decide(&mut second, &mut accepted, &send()).action, Action::Block);
    // The first process keeps its other sessions, and refuses this one.
    assert!(matches!(first.decide(&send(), Some(at(9))), Err(WardenError::Superseded { .. })));
    let mut other = send();
    other.session = Some("t".into());
    assert_eq!(first.decide(&other, Some(at(9))).unwrap().decision.action, Action::Forward);
    // A rollback is another activation of the old policy: now the second process is the earlier one.
    let mut third = open(&old, &store);
    assert_eq!(decide(&mut third, &mut accepted, &send()).action, Action::Block);
    assert!(matches!(second.decide(&send(), Some(at(9))), Err(WardenError::Superseded { .. })));
    assert_eq!(decide(&mut first, &mut accepted, &send()).action, Action::Block, "it has the latest policy again");
}

#[test]
fn policy_change_says_what_is_rebuilt() {
    let old = policy(FACTS, &["no-send: always (sent -> !once leaked)"]);
    let new = policy(FACTS, &["no-send: always (sent -> !once[0,720h] leaked)"]);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = open(&old, &store);
    past().iter().for_each(|event| drop(decide(&mut warden, &mut Vec::new(), event)));
    let guard = |policy: &Policy| Guard::new(Judge::new(policy).unwrap(), GuardOptions::default());
    let moves = warden.change_policy(guard(&new), new.fingerprint()).unwrap();
    assert_eq!(moves.describe(), ["no-send is rebuilt in 1 of 1 sessions, unknown in 0"]);
    // Another definition of a fact.
    warden.decide(&send(), Some(at(30))).unwrap();
    let other = policy(&FACTS.replace("*key*", "*word*"), &["no-send: always (sent -> !once leaked)"]);
    let moves = warden.change_policy(guard(&other), other.fingerprint()).unwrap();
    assert_eq!(moves.describe(), ["no-send is rebuilt in 0 of 1 sessions, unknown in 1"]);
    let decision = warden.decide(&send(), Some(at(31))).unwrap().decision;
    assert_eq!(decision.action, Action::Block);
    assert!(matches!(decision.objections[0].why, Cause::Unknown));
}

#[test]
fn changed_history_property_keeps_its_block() {
    let global = |formula: &str| {
        let text = format!(
            "{{lictor: 1, name: p, facts: {{sent: {{on: tool_call(send)}}}}, properties: [{{id: once, formula: '{formula}', \
             respond: block, history: global}}]}}"
        );
        Policy::parse(&text, "policy.yaml", &FileResolver).unwrap().policy
    };
    let old = global("always (sent -> !previous once sent)");
    let new = global("always (sent -> !previous once[0,1h] sent)");
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let of = |session: &str| {
        let mut event = send();
        event.session = Some(session.into());
        event
    };
    let mut first = open(&old, &store);
    assert_eq!(first.decide(&of("a"), Some(at(0))).unwrap().decision.action, Action::Forward);
    let mut second = open(&new, &store);
    assert_eq!(second.decide(&of("b"), Some(at(1))).unwrap().decision.action, Action::Block);
    assert!(matches!(first.decide(&of("c"), Some(at(2))), Err(WardenError::Superseded { .. })));
    // A policy without such histories leaves a gap in them.
    let nothing = policy(FACTS, &["no-send: always (sent -> !once leaked)"]);
    assert_eq!(open(&nothing, &store).decide(&of("d"), Some(at(3))).unwrap().decision.action, Action::Forward);
    let decision = open(&new, &store).decide(&of("e"), Some(at(4_000))).unwrap().decision;
    assert!(matches!(decision.objections[0].why, Cause::Unknown), "an event is missing");
}

/// Two processes roll a policy out and back while both decide: what either version blocks is never forwarded.
#[test]
fn rollout_under_load_forwards_no_blocked_call() {
    const SESSIONS: i64 = 6;
    let policies = [
        policy(FACTS, &["no-send: always (sent -> !once leaked)"]),
        policy(FACTS, &["no-send: always (sent -> !once[0,720h] leaked)"]),
    ];
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let of = |number: i64, mut event: Event| {
        event.session = Some(format!("s{number}").as_str().into());
        event
    };
    let mut warden = open(&policies[0], &store);
    for number in 0..SESSIONS {
        past().into_iter().for_each(|event| drop(warden.decide(&of(number, event), Some(at(0))).unwrap()));
    }
    drop(warden);
    let guards = policies.each_ref().map(|policy| (Judge::new(policy).unwrap(), policy.fingerprint()));
    let guard = |place: usize| (Guard::new(guards[place].0.fork(), GuardOptions::default()), guards[place].1.clone());
    let mut wardens: Vec<Warden> = policies.iter().map(|policy| open(policy, &store)).collect();
    let ready: Vec<Vec<_>> = (0..2).map(|_| (0..4).map(|turn| guard(turn % 2)).collect()).collect();
    let decided: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = wardens
            .drain(..)
            .zip(ready)
            .map(|(mut warden, ready)| {
                scope.spawn(move || {
                    let mut decided = 0;
                    for (turn, (guard, fingerprint)) in ready.into_iter().enumerate() {
                        for number in 0..SESSIONS {
                            match warden.decide(&of(number, send()), Some(at(1 + turn as i64))) {
                                Ok(answer) => {
                                    assert_eq!(answer.decision.action, Action::Block);
                                    decided += 1;
                                }
                                Err(WardenError::Superseded { .. } | WardenError::Crowded { .. }) => {}
                                Err(error) => panic!("{error}"),
                            }
                        }
                        warden.change_policy(guard, fingerprint).unwrap();
                    }
                    decided
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(decided >= SESSIONS as usize, "the latest policy decides: {decided}");
}
