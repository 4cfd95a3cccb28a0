//! Sessions survive restarts, evictions and failures between two events, and every decision has one record.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use lictor_audit::{AuditOptions, sessions};
use lictor_decode::input::Input;
use lictor_event::{Event, Kind};
use lictor_judge::Judge;
use lictor_judge::guard::{Action, Guard, GuardOptions};
use lictor_judge::observer::{Feed, FeedEntry};
use lictor_ledger::{Ledger, Reader, RevealedPayload};
use lictor_policy::{FileResolver, Policy};
use lictor_store::{EmbeddedStore, MemoryStore, Store, StoreError};
use lictor_warden::{ContentRetention, Warden, WardenError, WardenOptions};
use proptest::prelude::*;

use crate::faulty_store::FaultyStore;

const POLICY: &str = r#"
lictor: 1
name: rules
facts:
  paid(payee, amount): {on: tool_call(pay), payee: args.to, amount: args.amount}
properties:
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block}
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: limit, formula: 'always forall p. (paid(p, _) -> sum(a: paid(p, a)) <= 10)', respond: block, history: global}
"#;

/// Returns a guard by the policy, which is compiled once.
fn guard() -> Guard {
    static JUDGE: LazyLock<Judge> = LazyLock::new(|| {
        let loaded =
            Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
        Judge::new(&loaded.policy).unwrap()
    });
    Guard::new(JUDGE.fork(), GuardOptions::default())
}

fn options() -> WardenOptions {
    let mut options = WardenOptions::new("test");
    options.keep = ContentRetention::Content;
    options.max_sessions = 2;
    options
}

fn ledger(folder: &std::path::Path) -> Ledger {
    Ledger::open_or_create(folder, "lictor.test/log", lictor_ledger::LedgerOptions::new(jiff::Timestamp::now)).unwrap()
}

fn events(lines: &str) -> Vec<Event> {
    let input = Input::from_bytes("log", lines.to_owned().into_bytes());
    let found = sessions(&[input], &AuditOptions::default()).unwrap().sessions;
    let mut events: Vec<Event> = found.into_iter().flat_map(|(_, events)| events).collect();
    events.sort_by_key(|event| event.source.line);
    events
}

fn lines() -> impl Strategy<Value = String> {
    let line = (0..6usize, 0..4usize, 1..6i64).prop_map(|(what, session, amount)| {
        let what = match what {
            0 => r#""kind":"user_message","text":"hello""#.to_owned(),
            1 | 2 => format!(r#""kind":"tool_call","tool":"pay","args":{{"to":"x","amount":{amount}}}"#),
            3 => r#""kind":"tool_call","id":"d","tool":"delete","args":{}"#.to_owned(),
            4 => r#""kind":"approval","id":"d","by":"ann""#.to_owned(),
            _ => r#""kind":"tool_result","text":"done""#.to_owned(),
        };
        format!("{{\"session\":\"s {session}/%\",{what}}}")
    });
    prop::collection::vec(line, 1..20).prop_map(|lines| {
        lines
            .iter()
            .enumerate()
            .map(|(seq, line)| line.replacen('{', &format!("{{\"seq\":{seq},"), 1))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

/// Returns the decisions of a guard without restarts or failures.
fn undisturbed(events: &[Event]) -> Vec<String> {
    let mut guard = guard();
    events.iter().map(|event| guard.decide(event, None).line()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sessions_survive_warden_restarts(lines in lines()) {
        let events = events(&lines);
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut said = Vec::new();
        for event in &events {
            let mut warden = Warden::open(guard(), Arc::clone(&store), None, options()).unwrap();
            said.push(warden.decide(event, None).unwrap().line());
        }
        prop_assert_eq!(said, undisturbed(&events));
    }

    /// However events are batched, each is decided after the one before it.
    #[test]
    fn batch_decides_like_single_events(lines in lines(), sizes in prop::collection::vec(1..7usize, 20)) {
        let events = events(&lines);
        let mut warden = Warden::open(guard(), Arc::new(MemoryStore::new()), None, options()).unwrap();
        let (mut rest, mut said) = (&events[..], Vec::new());
        for size in sizes {
            let (some, behind) = rest.split_at(size.min(rest.len()));
            said.extend(warden.decide_all(some, None).unwrap().into_iter().map(|answer| answer.line()));
            rest = behind;
        }
        prop_assert_eq!(said, undisturbed(&events));
    }

    #[test]
    fn idle_sessions_are_evicted(lines in lines()) {
        let events = events(&lines);
        let mut warden = Warden::open(guard(), Arc::new(MemoryStore::new()), None, options()).unwrap();
        let said: Vec<String> = events.iter().map(|event| warden.decide(event, None).unwrap().line()).collect();
        prop_assert_eq!(said, undisturbed(&events));
        prop_assert!(warden.held() <= 2);
    }

    #[test]
    fn two_wardens_never_fork_a_session(lines in lines(), turns in prop::collection::vec(any::<bool>(), 20)) {
        let events = events(&lines);
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let open = || Warden::open(guard(), Arc::clone(&store), None, options()).unwrap();
        let mut both = [open(), open()];
        let turns = turns.iter().cycle();
        let said: Vec<String> = events
            .iter()
            .zip(turns)
            .map(|(event, turn)| both[usize::from(*turn)].decide(event, None).unwrap().line())
            .collect();
        prop_assert_eq!(said, undisturbed(&events));
    }

    /// The store fails once, as if the process had died there; the caller retries events without an answer.
    #[test]
    fn every_decision_has_one_record(lines in lines(), fails in 1..30usize) {
        let events = events(&lines);
        let folder = tempfile::tempdir().unwrap();
        let memory = Arc::new(MemoryStore::new());
        let mut said = Vec::new();
        let failing = Arc::new(failing_store(&memory, fails));
        let mut warden = Warden::open(guard(), failing, Some(ledger(folder.path())), options()).unwrap();
        for event in &events {
            match warden.decide(event, None) {
                Ok(answer) => said.push(answer.line()),
                Err(WardenError::Store(_)) => {
                    drop(warden);
                    let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(&memory);
                    warden = Warden::open(guard(), store, Some(ledger(folder.path())), options()).unwrap();
                    said.push(warden.decide(event, None).unwrap().line());
                }
                Err(error) => panic!("{error}"),
            }
        }
        prop_assert_eq!(&said, &undisturbed(&events));
        drop(warden);
        let reader = Reader::open(folder.path());
        let key = reader.first_key().unwrap();
        lictor_ledger::verify(folder.path(), &key).unwrap();
        let mut ids = std::collections::BTreeSet::new();
        let mut decisions = 0;
        for record in reader.records(0).unwrap() {
            let record = record.unwrap();
            if let Some(id) = record.body.as_ref().and_then(|body| body.get("id")?.as_str()) {
                prop_assert!(ids.insert(id.to_owned()), "twice");
                decisions += 1;
                prop_assert!(matches!(reader.reveal(record.index).unwrap(), RevealedPayload::Content(_)));
            }
        }
        let settled = said.iter().map(|line| line.matches("\"settles\"").count()).sum::<usize>();
        prop_assert_eq!(decisions, events.len() + settled);
    }
}

/// Returns a store whose saves fail twice in a row after some: once before it saves, and once after.
fn failing_store(inner: &Arc<MemoryStore>, saves: usize) -> FaultyStore {
    let left = AtomicUsize::new(saves);
    FaultyStore::new(Arc::clone(inner), move |inner, changes| {
        let left = left.fetch_sub(1, Ordering::SeqCst);
        let failure = || StoreError::Uncertain { place: "test".into(), reason: "the power went out".into() };
        match left {
            2 => Err(failure()),
            1 => {
                inner.save(changes)?;
                Err(failure())
            }
            _ => inner.save(changes),
        }
    })
}

#[test]
fn feed_gets_durable_decisions_once() {
    let folder = tempfile::tempdir().unwrap();
    let feed = Feed::default();
    let mut reader = feed.subscribe();
    let warden = Warden::open(guard(), Arc::new(MemoryStore::new()), Some(ledger(folder.path())), options());
    let mut warden = warden.unwrap().observed_by(feed);
    let events = events(concat!(
        r#"{"session":"s","seq":0,"kind":"user_message"}"#,
        "\n",
        r#"{"session":"s","seq":1,"kind":"tool_result"}"#
    ));
    for event in events.iter().chain(&events) {
        warden.decide(event, None).unwrap();
    }
    let published = reader.read().entries;
    let kinds = published.iter().map(|entry| match &**entry {
        FeedEntry::Decision(decision) => decision.event.kind.name().to_owned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["user_message", "tool_result"], "a duplicate is not published again");
}

#[test]
fn duplicate_event_is_decided_once() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder.path()).unwrap());
    let pay = &events(r#"{"session":"s","seq":1,"kind":"tool_call","tool":"pay","args":{"to":"x","amount":1}}"#)[0];
    let mut warden = Warden::open(guard(), Arc::clone(&store), None, options()).unwrap();
    let first = warden.decide(pay, None).unwrap();
    let again = warden.decide(pay, None).unwrap();
    assert!(!first.is_duplicate && again.is_duplicate);
    assert_eq!(first.line(), again.line());
    drop(warden);
    let mut warden = Warden::open(guard(), store, None, options()).unwrap();
    assert_eq!(warden.decide(pay, None).unwrap().line(), first.line(), "also behind a crash");
}

/// Models reuse the ids of their calls: an event of the same id is a duplicate only if the first had no answer.
#[test]
fn repeated_id_is_duplicate_only_after_crash() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let call = |id: &str, tool: &str| {
        let line = format!(r#"{{"session":"s","id":"{id}","kind":"tool_call","tool":"{tool}","args":{{}}}}"#);
        events(&line).remove(0)
    };
    let (pay, read) = (call("a", "pay"), call("b", "read"));
    let mut warden = Warden::open(guard(), Arc::clone(&store), None, options()).unwrap();
    let action = |answer: &lictor_warden::WardenAnswer| Some(answer.decision.action);
    let answers = warden.decide_all(&[pay.clone(), read.clone(), pay.clone()], None).unwrap();
    let actions: Vec<_> = answers.iter().map(action).collect();
    assert_eq!(actions, [Some(Action::Forward), Some(Action::Forward), Some(Action::Block)]);
    assert_eq!(action(&warden.decide(&pay, None).unwrap()), Some(Action::Block));
    let last = warden.decide(&read, None).unwrap();
    drop(warden);
    // The last answer may not have arrived; all before it have.
    let mut warden = Warden::open(guard(), Arc::clone(&store), None, options()).unwrap();
    let again = warden.decide(&read, None).unwrap();
    assert!(again.is_duplicate && again.line() == last.line());
    assert!(!warden.decide(&read, None).unwrap().is_duplicate, "it was answered now");
    assert_eq!(action(&warden.decide(&pay, None).unwrap()), Some(Action::Block));
    assert!(!warden.decide(&read, None).unwrap().is_duplicate, "somebody was answered since");
    // Each of several answers that were saved together is returned once, in order.
    let said: Vec<String> = warden
        .decide_all(&[pay.clone(), read.clone(), pay.clone()], None)
        .unwrap()
        .into_iter()
        .map(|it| it.line())
        .collect();
    drop(warden);
    let mut warden = Warden::open(guard(), Arc::clone(&store), None, options()).unwrap();
    let again = warden.decide_all(&[pay.clone(), read.clone(), pay.clone(), pay.clone()], None).unwrap();
    let lines: Vec<String> = again.iter().map(|it| it.line()).collect();
    assert_eq!(lines[..3], said);
    assert!(again[..3].iter().all(|it| it.is_duplicate) && !again[3].is_duplicate);
    // A session that was evicted has been answered.
    for session in ["x", "y", "z", "w"] {
        warden
            .decide(&events(&format!(r#"{{"session":"{session}","kind":"user_message","text":"hi"}}"#))[0], None)
            .unwrap();
    }
    assert!(!warden.decide(&pay, None).unwrap().is_duplicate);
}

#[test]
fn erased_subject_is_gone_and_log_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut warden = Warden::open(guard(), store, Some(ledger), options()).unwrap();
    for event in events(
        "{\"kind\":\"user_message\",\"text\":\"I am Ann@example.org\"}\n{\"kind\":\"user_message\",\"text\":\"hello\"}",
    ) {
        warden.decide(&event, None).unwrap();
    }
    drop(warden);
    let ledger = self::ledger(folder.path());
    ledger.erase("ann@example.org").unwrap();
    let reader = ledger.reader();
    let revealed: Vec<bool> = reader
        .records(0)
        .unwrap()
        .map(|record| record.unwrap())
        .filter(|record| record.body.is_some())
        .map(|record| matches!(reader.reveal(record.index).unwrap(), RevealedPayload::Content(_)))
        .collect();
    assert_eq!(revealed, [false, true]);
    let key = reader.first_key().unwrap();
    ledger.close().unwrap();
    lictor_ledger::verify(folder.path(), &key).unwrap();
}

#[test]
fn unrecordable_event_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut warden = Warden::open(guard(), store, Some(ledger(folder.path())), options()).unwrap();
    let mut large = Event::new(Kind::ToolResult);
    (large.session, large.text) = (Some("s".into()), Some("x".repeat(17 << 20).into()));
    let mut named = Event::new(Kind::ToolCall);
    (named.session, named.tool) = (Some("s".into()), Some("x".repeat(17 << 20).into()));
    for event in [large, named, Event::new(Kind::UserMessage)] {
        warden.decide(&event, None).unwrap();
    }
    warden.close().unwrap();
    let bodies: Vec<_> =
        Reader::open(folder.path()).records(0).unwrap().filter_map(|record| record.unwrap().body).collect();
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0]["content"], "too long to keep");
    assert_eq!(bodies[1]["tool"].as_str().unwrap().len(), 1000);
}
