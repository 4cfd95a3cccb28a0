//! Each history across sessions has a clock of its own, and no event can move a clock far ahead.

use std::sync::Arc;

use lictor_judge::Judge;
use lictor_judge::guard::{Action, Guard, GuardOptions};
use lictor_logic::Span;
use lictor_policy::{FileResolver, Policy};
use lictor_store::{Change, ExpectedVersion, MemoryStore, Store};
use lictor_warden::{ContentRetention, Warden, WardenOptions};

use crate::given::{at, event};

/// A flag blocks payments of the same principal for an hour, and must be answered within ten minutes.
const POLICY: &str = r#"
lictor: 1
name: rules
properties:
  - {id: cool-off, formula: 'always (tool_call("pay") -> !once[0,1h] flag)', history: principal, respond: block}
  - {id: answer, formula: 'always (flag -> eventually[0,10m] answer)', history: principal, respond: warn}
"#;

fn warden(store: &Arc<dyn Store>, skew: Option<Span>) -> Warden {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap();
    let mut options = WardenOptions::new(loaded.policy.fingerprint());
    options.keep = ContentRetention::Content;
    options.max_sessions = 9;
    options.skew = skew;
    let guard = Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default());
    Warden::open(guard, Arc::clone(store), None, options).unwrap()
}

/// Stores that keep sessions live, and that save them with every decision.
fn stores() -> [Arc<dyn Store>; 2] {
    [Arc::new(MemoryStore::private()), Arc::new(MemoryStore::new())]
}

#[test]
fn history_clock_ignores_events_of_others() {
    // Far-off times are believed here, so that only the clocks themselves keep the histories apart.
    let skew = Some(Span(u64::MAX));
    for store in stores() {
        let mut warden = warden(&store, skew);
        let flag = event(r#"{"session":"a","principal":"ann","kind":"flag"}"#);
        warden.decide(&flag, Some(at(0))).unwrap();
        let pay = event(r#"{"session":"a","kind":"tool_call","tool":"pay"}"#);
        assert_eq!(warden.decide(&pay, Some(at(1))).unwrap().decision.action, Action::Block);
        let jump =
            r#"{"session":"b","principal":"bob","time":"2100-01-01T00:00:00Z","kind":"user_message","text":"x"}"#;
        warden.decide(&event(jump), Some(at(2))).unwrap();
        assert!(warden.tick(at(3)).unwrap().is_empty(), "ann has ten minutes");
        assert_eq!(warden.decide(&pay, Some(at(4))).unwrap().decision.action, Action::Block, "ann is still blocked");
        assert_eq!(warden.tick(at(601)).unwrap().len(), 1, "ann's deadline passes at its own time");
        assert_eq!(warden.decide(&pay, Some(at(3602))).unwrap().decision.action, Action::Forward);
    }
}

#[test]
fn history_clock_survives_restart() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    // The clock of these events is a day behind.
    let flag = r#"{"session":"a","principal":"ann","time":"2027-01-14T08:00:00Z","kind":"flag"}"#;
    warden(&store, None).decide(&event(flag), Some(at(0))).unwrap();
    let mut warden = warden(&store, None);
    assert!(warden.tick(at(599)).unwrap().is_empty());
    assert_eq!(warden.tick(at(601)).unwrap().len(), 1);
}

#[test]
fn event_far_ahead_is_taken_when_received() {
    for store in stores() {
        let mut warden = warden(&store, None);
        warden.decide(&event(r#"{"session":"a","principal":"ann","kind":"flag"}"#), Some(at(0))).unwrap();
        let jump = r#"{"session":"a","time":"2100-01-01T00:00:00Z","kind":"user_message","text":"x"}"#;
        let answer = warden.decide(&event(jump), Some(at(2))).unwrap();
        assert_eq!(answer.decision.event.time, Some(at(2)));
        let line: serde_json::Value = serde_json::from_str(&answer.line()).unwrap();
        assert_eq!(
            line["clock"],
            serde_json::json!({"claimed": "2100-01-01T00:00:00Z", "taken": "2027-01-15T08:00:02Z"})
        );
        let pay = event(r#"{"session":"a","kind":"tool_call","tool":"pay"}"#);
        assert_eq!(
            warden.decide(&pay, Some(at(3))).unwrap().decision.action,
            Action::Block,
            "not even by her own event"
        );
        // Within the bound, and in the past, events are believed.
        for time in ["2027-01-15T08:04:00Z", "2020-01-01T00:00:00Z"] {
            let said = event(&format!(r#"{{"session":"c","time":"{time}","kind":"user_message","text":"x"}}"#));
            let answer = warden.decide(&said, Some(at(4))).unwrap();
            assert_eq!(answer.decision.event.time, said.time);
            assert!(!answer.line().contains("\"clock\""));
        }
    }
}

#[test]
fn histories_of_older_stores_keep_their_deadlines() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let flag = r#"{"session":"a","principal":"ann","kind":"flag"}"#;
    warden(&store, None).decide(&event(flag), Some(at(0))).unwrap();
    // As it was before there was an index by time.
    let mut old = Vec::new();
    for (key, stored) in store.scan("histor").unwrap() {
        old.push(Change::delete(key.clone(), ExpectedVersion::Version(stored.version)));
        if let Some(name) = key.strip_prefix("histories/") {
            let value: serde_json::Value = serde_json::from_slice(&stored.value).unwrap();
            let saved = value["saved"].to_string();
            old.push(Change::put(format!("history/{name}"), ExpectedVersion::Absent, saved));
        }
    }
    assert_eq!(old.len(), 3, "{old:?}");
    store.save(&old).unwrap();
    let mut warden = warden(&store, None);
    assert!(store.keys("history/", None, 9).unwrap().is_empty());
    assert!(warden.tick(at(599)).unwrap().is_empty());
    assert_eq!(warden.tick(at(601)).unwrap().len(), 1);
    let pay = event(r#"{"session":"b","principal":"ann","kind":"tool_call","tool":"pay"}"#);
    assert_eq!(warden.decide(&pay, Some(at(602))).unwrap().decision.action, Action::Block);
}
