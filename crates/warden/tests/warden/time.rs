//! Time passes without events: deadlines fire, approvals expire, sessions end, policies change.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::finding::DecidedBy;
use lictor_judge::guard::{Action, Guard, GuardOptions, Refusal};
use lictor_ledger::{Ledger, Reader};
use lictor_logic::{Span, Time};
use lictor_policy::{FileResolver, Policy};
use lictor_store::{EmbeddedStore, MemoryStore, Store};
use lictor_warden::{
    ContentRetention, Notice, RefusedInput, TimeOutcome, Warden, WardenError, WardenHandle, WardenOptions,
};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::given::{at, event};

const SECOND: i64 = 1_000_000_000;
const POLICY: &str = r#"
lictor: 1
name: rules
properties:
  - {id: answer, formula: 'always (user_message -> eventually[0,10s] assistant_message)', respond: warn}
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block}
  - {id: settle, formula: 'always (tool_call("pay") -> eventually tool_call("settle"))', respond: warn}
"#;

fn guard(policy: &str) -> (Guard, String) {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let options = GuardOptions::default().patience(Span(60_000_000_000));
    (Guard::new(Judge::new(&loaded.policy).unwrap(), options), loaded.policy.fingerprint())
}

fn warden(store: &Arc<dyn Store>, ledger: Option<Ledger>, idle: Option<i64>) -> Warden {
    let (guard, policy) = guard(POLICY);
    let idle = idle.map(|seconds| Span((seconds * SECOND) as u64));
    let mut options = WardenOptions::new(policy);
    options.keep = ContentRetention::Content;
    options.max_sessions = 2;
    options.idle = idle;
    Warden::open(guard, Arc::clone(store), ledger, options).unwrap()
}

fn ledger(folder: &TempDir) -> Ledger {
    let options = lictor_ledger::LedgerOptions::new(jiff::Timestamp::now);
    Ledger::open_or_create(folder.path(), "lictor.test/log", options).unwrap()
}

/// The bodies of the records in a ledger.
fn bodies(folder: &TempDir) -> impl Iterator<Item = Map<String, Value>> {
    Reader::open(folder.path()).records(0).unwrap().filter_map(|record| record.unwrap().body)
}

fn types(folder: &TempDir) -> Vec<String> {
    bodies(folder).filter_map(|body| Some(body.get("type")?.as_str()?.to_owned())).collect()
}

fn late(notices: &[Notice]) -> Vec<(String, String)> {
    let late = notices.iter().filter_map(|notice| match &notice.news {
        TimeOutcome::Late(finding) => Some((finding.session.to_string(), finding.property.id.to_string())),
        TimeOutcome::Settled(_) => None,
    });
    late.collect()
}

#[test]
fn deadline_fires_for_evicted_session_without_event() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut first = warden(&store, None, None);
    first.decide(&event(r#"{"session":"s","kind":"user_message","text":"hi"}"#), Some(at(0))).unwrap();
    first.decide(&event(r#"{"session":"t","kind":"user_message","text":"hi"}"#), Some(at(5))).unwrap();
    assert!(first.tick(at(9)).unwrap().is_empty(), "there is time until the tenth second");
    drop(first);
    // Another process, without the sessions in memory.
    let mut second = warden(&store, None, None);
    let notices = second.tick(at(12)).unwrap();
    assert_eq!(late(&notices), [("s".to_owned(), "answer".to_owned())]);
    assert!(matches!(&notices[0].news, TimeOutcome::Late(finding) if finding.decided == DecidedBy::Deadline));
    assert!(
        notices[0].line.starts_with(r#"{"lictor":1,"type":"late","session":"s","finding":{"#),
        "{}",
        notices[0].line
    );
    assert!(second.tick(at(13)).unwrap().is_empty(), "it is late once");
    assert_eq!(late(&second.tick(at(16)).unwrap()), [("t".to_owned(), "answer".to_owned())]);
}

/// A deadline of a shared history belongs to no session, not even to the one without a name.
#[test]
fn shared_history_deadline_is_recorded_without_session() {
    let (store, folder): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), TempDir::new().unwrap());
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: answer, history: global, formula: 'always (user_message -> eventually[0,10s] assistant_message)', respond: warn}\n";
    let (guard, fingerprint) = guard(policy);
    let mut options = WardenOptions::new(fingerprint);
    options.max_sessions = 2;
    let mut warden = Warden::open(guard, store, Some(ledger(&folder)), options).unwrap();
    warden.decide(&event(r#"{"kind":"user_message","text":"hi"}"#), Some(at(0))).unwrap();
    assert_eq!(warden.tick(at(20)).unwrap().len(), 1);
    warden.close().unwrap();
    let runs: Vec<(Value, bool)> =
        bodies(&folder).map(|body| (body["type"].clone(), body.contains_key("run"))).collect();
    assert_eq!(runs, [("decision".into(), true), ("late".into(), false)]);
}

/// Events of a recorded log are years old. Their clock continues from there, at the speed of ours.
#[test]
fn event_times_set_the_session_clock() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, None, None);
    let asked = event(r#"{"session":"s","time":"2020-01-01T00:00:00Z","kind":"user_message","text":"hi"}"#);
    warden.decide(&asked, Some(at(0))).unwrap();
    assert!(warden.tick(at(5)).unwrap().is_empty());
    let answered = event(r#"{"session":"s","time":"2020-01-01T00:00:08Z","kind":"assistant_message","text":"hi"}"#);
    assert_eq!(warden.decide(&answered, Some(at(6))).unwrap().decision.objections.len(), 0);
    assert!(warden.tick(at(100)).unwrap().is_empty());
}

#[test]
fn approval_expires_with_patience() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, None, None);
    let delete = event(r#"{"session":"s","id":"d","kind":"tool_call","tool":"delete","args":{}}"#);
    assert_eq!(warden.decide(&delete, Some(at(0))).unwrap().decision.action, Action::Ask);
    assert!(warden.tick(at(60)).unwrap().is_empty());
    let notices = warden.tick(at(61)).unwrap();
    assert!(
        matches!(&notices[..], [Notice { news: TimeOutcome::Settled(decision), .. }] if decision.action == Action::Block
            && decision.refused == Some(Refusal::Late))
    );
    assert!(warden.tick(at(62)).unwrap().is_empty());
}

#[test]
fn idle_session_ends_and_records_owed_findings() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, Some(ledger(&folder)), Some(100));
    let pay = event(r#"{"session":"s","kind":"tool_call","tool":"pay","args":{}}"#);
    warden.decide(&pay, Some(at(0))).unwrap();
    assert!(warden.tick(at(99)).unwrap().is_empty());
    assert_eq!(late(&warden.tick(at(100)).unwrap()), [("s".to_owned(), "settle".to_owned())]);
    assert!(store.scan("session/").unwrap().is_empty(), "nothing is left of it");
    assert!(store.scan("due/").unwrap().is_empty());
    warden.close().unwrap();
    assert_eq!(types(&folder), ["decision", "ended", "late"]);
}

#[test]
fn finished_session_leaves_only_records() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, Some(ledger(&folder)), None);
    warden.decide(&event(r#"{"session":"s","kind":"tool_call","tool":"pay","args":{}}"#), Some(at(0))).unwrap();
    let delete = event(r#"{"session":"s","id":"d","kind":"tool_call","tool":"delete","args":{}}"#);
    assert_eq!(warden.decide(&delete, Some(at(1))).unwrap().decision.action, Action::Ask);
    let notices = warden.finish("s", at(2)).unwrap();
    assert_eq!(late(&notices[..1]), [("s".to_owned(), "settle".to_owned())]);
    assert!(matches!(&notices[1].news, TimeOutcome::Settled(decision) if decision.action == Action::Block));
    assert!(store.scan("session/").unwrap().is_empty(), "nothing is left of it");
    assert!(warden.finish("s", at(3)).unwrap().is_empty(), "it is over");
    assert!(warden.finish("never begun", at(3)).unwrap().is_empty());
    warden.close().unwrap();
    assert_eq!(types(&folder), ["decision", "decision", "ended", "late", "decision"]);
}

#[test]
fn session_end_reports_owed_findings() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, None, None);
    warden.decide(&event(r#"{"session":"s","kind":"tool_call","tool":"pay","args":{}}"#), Some(at(0))).unwrap();
    let end = event(r#"{"session":"s","kind":"session_end"}"#);
    assert_eq!(late(&warden.decide(&end, Some(at(1))).unwrap().owed), [("s".to_owned(), "settle".to_owned())]);
    // A session that continues after its end keeps its history.
    let again = event(r#"{"session":"s","kind":"tool_call","tool":"pay","args":{}}"#);
    assert_eq!(warden.decide(&again, Some(at(2))).unwrap().decision.action, Action::Block);
}

#[test]
fn policy_change_rebuilds_new_properties() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = warden(&store, Some(ledger(&folder)), None);
    let pay = event(r#"{"session":"s","kind":"tool_call","tool":"pay","args":{}}"#);
    let read = event(r#"{"session":"s","kind":"tool_call","tool":"read","args":{}}"#);
    assert_eq!(warden.decide(&pay, Some(at(0))).unwrap().decision.action, Action::Forward);
    assert_eq!(warden.decide(&read, Some(at(1))).unwrap().decision.action, Action::Forward);
    let changed = format!(
        "{}  - {{id: read-once, formula: 'always (tool_call(\"read\") -> !previous once tool_call(\"read\"))', respond: block}}\n",
        POLICY.replace("10s", "20s")
    );
    let (guard, policy) = guard(&changed);
    warden.change_policy(guard, policy.clone()).unwrap();
    // The payment and the reading before the change count, the reading for a property that is new.
    assert_eq!(warden.decide(&pay, Some(at(2))).unwrap().decision.action, Action::Block);
    assert_eq!(warden.decide(&read, Some(at(3))).unwrap().decision.action, Action::Block);
    warden.close().unwrap();
    let migrated: Vec<_> = bodies(&folder).filter(|body| body.get("type").unwrap() == "migrated").collect();
    assert_eq!(migrated.len(), 1);
    assert_eq!(migrated[0]["policy"], policy);
    assert_eq!(migrated[0]["rebuilt"], serde_json::json!(["answer", "read-once"]));
    assert_eq!(migrated[0]["unknown"], serde_json::json!([]));
}

#[test]
fn session_with_old_policy_does_not_stop_ticks() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let keeping = |policy: &str| {
        let (guard, policy) = guard(policy);
        let mut options = WardenOptions::new(policy);
        options.keep = ContentRetention::Content;
        options.max_sessions = 2;
        options.migrates = false;
        Warden::open(guard, Arc::clone(&store), None, options).unwrap()
    };
    let asked = |session: &str| event(&format!(r#"{{"session":"{session}","kind":"user_message","text":"hi"}}"#));
    keeping(POLICY).decide(&asked("old"), Some(at(0))).unwrap();
    let mut warden = keeping(&POLICY.replace("respond: ask", "respond: block"));
    assert!(matches!(warden.decide(&asked("old"), Some(at(1))), Err(WardenError::PolicyChanged { .. })));
    warden.decide(&asked("new"), Some(at(1))).unwrap();
    assert_eq!(late(&warden.tick(at(30)).unwrap()), [("new".to_owned(), "answer".to_owned())]);
}

#[test]
fn long_session_trail_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder.path()).unwrap());
    let mut warden = warden(&store, None, None);
    let many: Vec<Event> = (0..45_000).map(|_| event(r#"{"session":"s","kind":"tool_result","text":"x"}"#)).collect();
    for some in many.chunks(50) {
        warden.decide_all(some, Some(at(0))).unwrap();
    }
    assert!(store.scan("session/s/trail/").unwrap().len() <= 1_030, "parts are made one now and then");
    drop(warden);
    let mut again = self::warden(&store, None, None);
    let pay = event(r#"{"session":"s","kind":"tool_call","tool":"pay","args":{}}"#);
    let answer = again.decide(&pay, Some(at(1))).unwrap();
    assert_eq!(answer.decision.step, Some(45_001));
}

#[test]
fn handle_answers_concurrent_requests_and_ticks() {
    let folder = tempfile::tempdir().unwrap();
    // A handle with a thread of its own, and a direct one.
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(EmbeddedStore::open(folder.path()).unwrap()), Arc::new(MemoryStore::new())];
    stores.iter().for_each(answer_many_at_once);
}

fn answer_many_at_once(store: &Arc<dyn Store>) {
    let clock = Arc::new(AtomicI64::new(at(0).0));
    let (hands, told) = (Arc::clone(&clock), Arc::new(Mutex::new(Vec::new())));
    let heard = Arc::clone(&told);
    let desk = WardenHandle::open(
        warden(store, None, None),
        move || Time(hands.load(Ordering::SeqCst)),
        move |notice| heard.lock().unwrap().push(notice.unwrap()),
    )
    .unwrap();
    let (said, answers) = channel();
    for number in 0..200 {
        let said = said.clone();
        let line = format!(r#"{{"session":"s{}","kind":"tool_call","tool":"pay","args":{{}}}}"#, number % 100);
        desk.decide(vec![event(&line)], move |answer| {
            let action = answer.unwrap().pop().unwrap().decision.action;
            said.send((number, action)).unwrap();
        });
    }
    let mut actions: Vec<(i32, Action)> = answers.iter().take(200).collect();
    actions.sort_unstable();
    let expected = |number| if number < 100 { Action::Forward } else { Action::Block };
    assert!(
        actions.iter().all(|(number, action)| *action == expected(*number)),
        "the second payment of each is refused"
    );
    desk.decide(vec![event(r#"{"session":"u","kind":"user_message","text":"hi"}"#)], |_| ());
    let (told_when, heard_when) = channel();
    desk.refuse(RefusedInput::new("json.syntax", b"{"), move |written| told_when.send(written.is_ok()).unwrap());
    assert!(heard_when.recv().unwrap());
    clock.store(at(30).0, Ordering::SeqCst);
    let waited = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !told.lock().unwrap().is_empty()
    });
    assert!(waited, "nothing was told within half a minute");
    assert_eq!(late(&told.lock().unwrap()), [("u".to_owned(), "answer".to_owned())]);
    desk.close().unwrap();
}

/// A wrong clock: the time of the event is not used, and the record notes it.
#[test]
fn event_time_beyond_skew_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (guard, policy) = guard(POLICY);
    let skew = Some(Span(60_000_000_000));
    let mut options = WardenOptions::new(policy);
    options.keep = ContentRetention::Content;
    options.max_sessions = 2;
    options.skew = skew;
    let mut warden = Warden::open(guard, Arc::new(MemoryStore::new()), Some(ledger(&folder)), options).unwrap();
    let asked = event(r#"{"session":"s","kind":"user_message","text":"hi"}"#);
    warden.decide(&asked, Some(at(0))).unwrap();
    // From the year 2100: with this time, the answer would be decades late.
    let answered = event(r#"{"session":"s","time":"2100-01-01T00:00:00Z","kind":"assistant_message","text":"hi"}"#);
    assert!(warden.decide(&answered, Some(at(5))).unwrap().decision.objections.is_empty());
    // Before the year 1970, and from a minute ago.
    for time in ["1960-01-01T00:00:00Z", "2027-01-15T07:59:30Z"] {
        let asked = event(&format!(r#"{{"session":"t","time":"{time}","kind":"user_message","text":"hi"}}"#));
        warden.decide(&asked, Some(at(6))).unwrap();
    }
    assert_eq!(late(&warden.tick(at(30)).unwrap()).len(), 1, "of the session that was not answered");
    warden.close().unwrap();
    let clocks: Vec<bool> =
        bodies(&folder).filter(|body| body["type"] == "decision").map(|body| body.contains_key("clock")).collect();
    assert_eq!(clocks, [false, true, true, false]);
}

#[test]
fn sessions_may_have_any_name() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let names = [
        String::new(),
        " ".into(),
        "a/b".into(),
        "a%2fb".into(),
        "x".repeat(10_000),
        "x".repeat(10_001),
        "\u{0}\n\u{202e}".into(),
    ];
    for round in 0..2 {
        let mut warden = warden(&store, None, None);
        for name in &names {
            let mut pay = event(r#"{"kind":"tool_call","tool":"pay","args":{}}"#);
            pay.session = Some(name.as_str().into());
            let action = warden.decide(&pay, Some(at(round))).unwrap().decision.action;
            // Each pays once: different names are different sessions, and all are kept.
            assert_eq!(
                action,
                if round == 0 { Action::Forward } else { Action::Block },
                "{:?}",
                &name[..name.len().min(9)]
            );
        }
    }
}
