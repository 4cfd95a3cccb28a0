//! Live sessions of a private store behave as saved ones do, and fail closed.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock};

use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_logic::Span;
use lictor_policy::{FileResolver, Policy};
use lictor_store::{Change, ExpectedVersion, MemoryStore, Store, StoreError};
use lictor_warden::{ContentRetention, Warden, WardenError, WardenHandle, WardenOptions};
use proptest::prelude::*;

use crate::faulty_store::FaultyStore;
use crate::given::{at, event};

/// Two policies that share two properties.
const POLICIES: [&str; 2] = [
    r#"
lictor: 1
name: first
properties:
  - {id: answer, formula: 'always (user_message -> eventually[0,10s] assistant_message)', respond: warn}
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once[0,60s] tool_call("pay"))', respond: block, history: global}
  - {id: report, formula: 'always (tool_call("pay") -> eventually[0,12s] tool_result)', respond: warn, history: principal}
  - {id: delete-rarely, formula: 'always (tool_call("delete") -> !previous once[0,25s] tool_call("delete"))', respond: block, history: principal}
"#,
    r#"
lictor: 1
name: second
properties:
  - {id: answer, formula: 'always (user_message -> eventually[0,10s] assistant_message)', respond: warn}
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once[0,60s] tool_call("pay"))', respond: block, history: global}
  - {id: report, formula: 'always (tool_call("pay") -> eventually[0,12s] tool_result)', respond: warn, history: principal}
  - {id: no-pay, formula: 'always !tool_call("pay")', respond: warn}
"#,
];

/// Returns a guard by one of the policies, which are compiled once, and the fingerprint of the policy.
fn guard(number: usize) -> (Guard, String) {
    static JUDGES: LazyLock<[(Judge, String); 2]> = LazyLock::new(|| {
        POLICIES.map(|text| {
            let loaded =
                Policy::parse(text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
            (Judge::new(&loaded.policy).unwrap(), loaded.policy.fingerprint())
        })
    });
    let (judge, fingerprint) = &JUDGES[number];
    let options = GuardOptions::default().patience(Span(60_000_000_000));
    (Guard::new(judge.fork(), options), fingerprint.clone())
}

fn warden(store: Arc<dyn Store>) -> Warden {
    let (guard, policy) = guard(0);
    let mut options = WardenOptions::new(policy);
    options.keep = ContentRetention::Content;
    options.max_sessions = 2;
    options.idle = Some(Span(40_000_000_000));
    Warden::open(guard, store, None, options).unwrap()
}

/// Something that happens to a warden.
#[derive(Clone, Debug)]
enum Step {
    Decide(Box<Event>),
    Tick,
    Finish(String),
    ChangePolicy(usize),
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let session = || (0..4usize).prop_map(|session| format!("s{session}"));
    // More principals than are held in memory, so that histories are evicted and loaded again.
    let decide = (session(), 0..6usize, 0..6usize, 0..8i64).prop_map(|(session, principal, what, seq)| {
        let what = [
            r#""kind":"user_message","text":"hello""#,
            r#""kind":"assistant_message","text":"hello""#,
            r#""kind":"tool_call","tool":"pay","args":{}"#,
            r#""kind":"tool_call","id":"d","tool":"delete","args":{}"#,
            r#""kind":"approval","id":"d","by":"ann""#,
            r#""kind":"tool_result","text":"done""#,
        ][what];
        // Numbers repeat, so that some events are duplicates.
        let who = format!(r#""session":"{session}","principal":"p{principal}""#);
        Step::Decide(Box::new(event(&format!(r#"{{{who},"seq":{seq},{what}}}"#))))
    });
    let step = prop_oneof![
        8 => decide,
        2 => Just(Step::Tick),
        1 => session().prop_map(Step::Finish),
        1 => (0..2usize).prop_map(Step::ChangePolicy),
    ];
    prop::collection::vec((0..15i64, step), 1..40)
}

/// Returns the lines that a warden answers with.
fn play(mut warden: Warden, steps: &[(i64, Step)]) -> Vec<String> {
    let (mut now, mut lines) = (0, Vec::new());
    for (seconds, step) in steps {
        now += seconds;
        let notices = match step {
            Step::Decide(event) => {
                lines.push(warden.decide(event, Some(at(now))).unwrap().line());
                Vec::new()
            }
            Step::Tick => warden.tick(at(now)).unwrap(),
            Step::Finish(session) => warden.finish(session, at(now)).unwrap(),
            Step::ChangePolicy(which) => {
                let (guard, fingerprint) = guard(*which);
                warden.change_policy(guard, fingerprint).unwrap();
                Vec::new()
            }
        };
        lines.extend(notices.into_iter().map(|notice| notice.line));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(100)))]

    #[test]
    fn live_sessions_answer_as_saved_ones(steps in steps()) {
        let saved = play(warden(Arc::new(MemoryStore::new())), &steps);
        let live = play(warden(Arc::new(MemoryStore::private())), &steps);
        prop_assert_eq!(saved, live);
    }
}

#[test]
fn live_sessions_are_saved_when_evicted() {
    let store = Arc::new(MemoryStore::private());
    let mut warden = warden(Arc::clone(&store) as Arc<dyn Store>);
    let hello = |session: usize| event(&format!(r#"{{"session":"s{session}","kind":"user_message","text":"hi"}}"#));
    for session in 0..2 {
        warden.decide(&hello(session), Some(at(0))).unwrap();
    }
    assert!(store.keys("session/", None, 9).unwrap().is_empty(), "nothing reads them");
    for session in 2..9 {
        warden.decide(&hello(session), Some(at(0))).unwrap();
    }
    assert!(warden.held() <= 3 && store.keys("session/s0/", None, 9).unwrap().len() == 2);
}

#[test]
fn live_sessions_are_evicted_a_few_at_once() {
    const MOST: usize = 200;
    let (guard, policy) = guard(0);
    let mut options = WardenOptions::new(policy);
    options.max_sessions = MOST;
    let mut warden = Warden::open(guard, Arc::new(MemoryStore::private()), None, options).unwrap();
    for number in 0..2 * MOST {
        let before = warden.held();
        let said = event(&format!(r#"{{"kind": "user_message", "session": "s{number}", "text": "hi"}}"#));
        warden.decide(&said, Some(at(number as i64))).unwrap();
        assert!(warden.held() <= MOST && before.saturating_sub(warden.held()) <= 8, "{before} to {}", warden.held());
    }
}

/// How the saves of a private store end.
const WORKS: u8 = 0;
const FAILS: u8 = 1;
const PANICS: u8 = 2;

/// Returns a private store, and how its saves end.
fn faulty_store() -> (Arc<dyn Store>, Arc<AtomicU8>) {
    let mode = Arc::new(AtomicU8::new(WORKS));
    let asked = Arc::clone(&mode);
    let store =
        FaultyStore::new(Arc::new(MemoryStore::private()), move |inner, changes| match asked.load(Ordering::Relaxed) {
            PANICS => panic!("as told"),
            FAILS => Err(StoreError::Unavailable { place: "memory".into(), reason: "as told".into() }),
            _ => inner.save(changes),
        });
    (Arc::new(store), mode)
}

fn extra(key: &str) -> Vec<Change> {
    vec![Change::put(key, ExpectedVersion::Absent, "x")]
}

#[test]
fn failed_decision_closes_its_live_session() {
    let (store, mode) = faulty_store();
    let mut warden = warden(store);
    let (s, t) = (event(r#"{"session":"s","kind":"user_message"}"#), event(r#"{"session":"t","kind":"user_message"}"#));
    warden.decide_all(&[s.clone(), t.clone()], Some(at(0))).unwrap();
    mode.store(FAILS, Ordering::Relaxed);
    let failed = warden.decide_with_extra(std::slice::from_ref(&s), &|_| extra("k"), Some(at(1)));
    assert!(matches!(failed, Err(WardenError::Store(StoreError::Unavailable { .. }))));
    mode.store(WORKS, Ordering::Relaxed);
    assert!(matches!(warden.decide(&s, Some(at(2))), Err(WardenError::Lost { session }) if session == "s"));
    assert!(warden.decide(&t, Some(at(2))).is_ok(), "other sessions continue");
}

#[test]
fn panic_closes_live_session_and_no_other() {
    let (store, mode) = faulty_store();
    let handle = WardenHandle::open(warden(store), || at(0), |_| {}).unwrap();
    let ask = |session: &str| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let event = event(&format!(r#"{{"session":"{session}","kind":"user_message"}}"#));
        let key = session.to_owned();
        handle.decide_with_extra(vec![event], move |_| extra(&key), move |answer| drop(sender.send(answer)));
        receiver.recv()
    };
    assert!(ask("t").unwrap().is_ok());
    mode.store(PANICS, Ordering::Relaxed);
    assert!(ask("s").is_err(), "the callback of a panic is dropped");
    mode.store(WORKS, Ordering::Relaxed);
    let lost = ask("s").unwrap().unwrap_err();
    assert!(matches!(&*lost, WardenError::Lost { session } if session == "s"), "{lost}");
    let (guard, fingerprint) = guard(1);
    let (sender, receiver) = std::sync::mpsc::channel();
    handle.change_policy(guard, fingerprint, move |answer| drop(sender.send(answer)));
    assert!(receiver.recv().unwrap().is_ok(), "other sessions continue");
}
