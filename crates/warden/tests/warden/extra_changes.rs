//! Extra changes are saved together with the decisions, or neither is saved.

use std::sync::Arc;
use std::sync::mpsc::channel;

use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::guard::{Action, Guard, GuardOptions};
use lictor_ledger::Ledger;
use lictor_logic::Time;
use lictor_policy::{FileResolver, Policy};
use lictor_store::{Change, EmbeddedStore, ExpectedVersion, MemoryStore, Store, StoreError};
use lictor_warden::{ContentRetention, Warden, WardenAnswer, WardenError, WardenHandle, WardenOptions};

use crate::given::event;

const POLICY: &str = r#"
lictor: 1
name: rules
properties:
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block}
"#;

fn warden(store: &Arc<dyn Store>, ledger: Option<Ledger>) -> Warden {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let guard = Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default());
    let policy = loaded.policy.fingerprint();
    let mut options = WardenOptions::new(policy);
    options.keep = ContentRetention::Content;
    options.max_sessions = 8;
    Warden::open(guard, Arc::clone(store), ledger, options).unwrap()
}

fn pay(id: &str) -> Event {
    let line = format!(r#"{{"session":"s","id":"{id}","kind":"tool_call","tool":"pay"}}"#);
    event(&line)
}

fn actions(answers: &[WardenAnswer]) -> Vec<Action> {
    answers.iter().map(|answer| answer.decision.action).collect()
}

#[test]
fn extra_changes_depend_on_decisions_and_share_version() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, None);
    let along = |answers: &[WardenAnswer]| {
        let blocked = answers.iter().filter(|it| it.decision.action == Action::Block).count();
        vec![Change::put("mine/note", ExpectedVersion::Absent, vec![u8::try_from(blocked).unwrap()])]
    };
    let (answers, version) = warden.decide_with_extra(&[pay("a"), pay("b")], &along, Some(Time(1))).unwrap();
    assert_eq!(actions(&answers), [Action::Forward, Action::Block]);
    let stored = store.load("mine/note").unwrap().unwrap();
    assert_eq!((Some(stored.version), stored.value), (version, vec![1]));
}

#[test]
fn extra_changes_conflict_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = lictor_ledger::LedgerOptions::new(jiff::Timestamp::now);
    let ledger = Ledger::open_or_create(folder.path(), "lictor.test/log", options).unwrap();
    let reader = ledger.reader();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    store.save(&[Change::put("mine/note", ExpectedVersion::Absent, b"of others".to_vec())]).unwrap();
    let mut warden = warden(&store, Some(ledger));
    let before = reader.size().unwrap();
    let late = |_: &[WardenAnswer]| vec![Change::put("mine/note", ExpectedVersion::Absent, b"mine".to_vec())];
    let refused = warden.decide_with_extra(&[pay("a")], &late, Some(Time(1)));
    assert!(matches!(refused, Err(WardenError::Store(StoreError::Conflict { ref key })) if key == "mine/note"));
    assert_eq!(reader.size().unwrap(), before, "nothing is written down");
    // Had it been decided, this would be the second payment.
    let (answers, _) = warden.decide_with_extra(&[pay("b")], &|_| Vec::new(), Some(Time(2))).unwrap();
    assert_eq!(actions(&answers), [Action::Forward]);
    assert_eq!(store.load("mine/note").unwrap().unwrap().value, b"of others");
}

#[test]
fn conflict_of_one_request_spares_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    // A handle with a thread of its own, and a direct one.
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(EmbeddedStore::open(folder.path()).unwrap()), Arc::new(MemoryStore::new())];
    stores.iter().for_each(come_too_late);
}

fn come_too_late(store: &Arc<dyn Store>) {
    store.save(&[Change::put("mine/1", ExpectedVersion::Absent, b"of others".to_vec())]).unwrap();
    let desk = WardenHandle::open(warden(store, None), || Time(1), |_| ()).unwrap();
    let (sender, receiver) = channel();
    for number in 0..8 {
        let mut event = pay("a");
        event.session = Some(format!("session-{number}").as_str().into());
        let along = move |_: &[WardenAnswer]| {
            vec![Change::put(format!("mine/{number}"), ExpectedVersion::Absent, vec![number])]
        };
        let sender = sender.clone();
        desk.decide_with_extra(vec![event], along, move |decided| sender.send((number, decided.is_ok())).unwrap());
    }
    let mut told: Vec<(u8, bool)> = receiver.iter().take(8).collect();
    told.sort_unstable();
    let expected: Vec<(u8, bool)> = (0..8).map(|number| (number, number != 1)).collect();
    assert_eq!(told, expected);
    desk.close().unwrap();
}

#[test]
fn panic_fails_one_request_and_discards_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(EmbeddedStore::open(folder.path()).unwrap()), Arc::new(MemoryStore::new())];
    for store in &stores {
        let desk = WardenHandle::open(warden(store, None), || Time(1), |_| ()).unwrap();
        let ask = |along: fn(&[WardenAnswer]) -> Vec<Change>| {
            let (sender, receiver) = channel::<Vec<Action>>();
            let then =
                move |decided: Result<(Vec<WardenAnswer>, _), _>| sender.send(actions(&decided.unwrap().0)).unwrap();
            desk.decide_with_extra(vec![pay("a")], along, then);
            receiver.recv()
        };
        assert!(ask(|_| panic!("on purpose")).is_err(), "it is not answered");
        // If the first had left state in memory, this would be the second payment.
        assert_eq!(ask(|_| Vec::new()).unwrap(), [Action::Forward]);
        desk.close().unwrap();
    }
}
