//! What the body of a decision's record says, and what it must not say.

use std::sync::Arc;

use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_ledger::{Ledger, LedgerOptions, Reader};
use lictor_policy::{FileResolver, Policy};
use lictor_store::MemoryStore;
use lictor_warden::{Warden, WardenOptions};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::given::{at, event};

/// Decides on events with a policy, and returns the bodies of their records.
fn bodies(properties: &str, lines: &[&str]) -> Vec<Map<String, Value>> {
    let policy = format!("lictor: 1\nname: p\nproperties:\n{properties}");
    let loaded = Policy::parse(&policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let guard = Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default());
    let folder = TempDir::new().unwrap();
    let ledger =
        Ledger::open_or_create(folder.path(), "lictor.test/log", LedgerOptions::new(jiff::Timestamp::now)).unwrap();
    let options = WardenOptions::new(loaded.policy.fingerprint());
    let mut warden = Warden::open(guard, Arc::new(MemoryStore::new()), Some(ledger), options).unwrap();
    for line in lines {
        warden.decide(&event(line), Some(at(0))).unwrap();
    }
    warden.close().unwrap();
    Reader::open(folder.path()).records(0).unwrap().filter_map(|record| record.unwrap().body).collect()
}

#[test]
fn record_names_steps_and_categories_without_content() {
    let property = "  - {id: no-mail-after-read, formula: 'always (carries(\"email\") -> !once tool_call(\"read\"))', \
                    respond: block}\n";
    let records = bodies(
        property,
        &[
            r#"{"session":"s","kind":"user_message","text":"hi"}"#,
            r#"{"session":"s","kind":"tool_call","tool":"read","args":{}}"#,
            r#"{"session":"s","kind":"user_message","text":"well"}"#,
            r#"{"session":"s","kind":"tool_call","tool":"send","args":{"to":"ann@example.org"}}"#,
        ],
    );
    let blocked = records.last().unwrap();
    assert_eq!(blocked["action"], "block");
    assert_eq!(
        blocked["objections"],
        json!([{
            "property": "no-mail-after-read", "response": "block", "why": "broken", "waived": false,
            "steps": [2, 4], "categories": ["email"],
        }])
    );
    assert!(!serde_json::to_string(&records).unwrap().contains("ann@"));
}

/// A log may call anything a category, for example a person.
#[test]
fn record_omits_categories_that_nobody_defines() {
    let property = "  - {id: none, formula: 'always !exists c. carries(c)', respond: block}\n";
    let line = r#"{"session":"s","kind":"tool_call","tool":"send","categories":["email","Ann Lee"],"args":{}}"#;
    let records = bodies(property, &[line]);
    assert_eq!(records[0]["objections"][0]["categories"], json!(["email"]));
    assert!(!serde_json::to_string(&records).unwrap().contains("Lee"));
}

#[test]
fn record_keeps_last_steps_of_long_witness() {
    let property = "  - {id: few, formula: 'always count(tool_call(\"a\")) <= 150', respond: block}\n";
    let call = r#"{"session":"s","kind":"tool_call","tool":"a","args":{}}"#;
    let records = bodies(property, &[call; 151]);
    let objection = &records.last().unwrap()["objections"][0];
    assert_eq!((objection["steps"].as_array().unwrap().len(), &objection["earlier_steps"]), (100, &json!(51)));
}

/// Records of one approval share a name, and say who answered, without the approval id, which may be anything.
#[test]
fn approval_records_share_name_and_reviewer() {
    let property = "  - {id: ask, formula: 'always !tool_call(\"pay\")', respond: ask, after: reset}\n";
    let records = bodies(
        property,
        &[
            r#"{"session":"s","kind":"tool_call","id":"jo@example.org","tool":"pay","args":{}}"#,
            r#"{"session":"s","kind":"tool_call","id":"c2","tool":"pay","args":{}}"#,
            r#"{"session":"s","kind":"approval","id":"jo@example.org","by":"ann"}"#,
            r#"{"session":"s","kind":"denial","id":"c2","by":"ben"}"#,
            r#"{"session":"s","kind":"approval","by":"eve"}"#,
        ],
    );
    let part = |member: &str| records.iter().map(|record| record.get(member).cloned()).collect::<Vec<_>>();
    let approvals = part("approval");
    let [first, second, answer, settled, denial, denied, other] = &approvals[..] else { panic!("{records:?}") };
    assert!(first.is_some() && second.is_some() && first != second, "{records:?}");
    assert_eq!(([answer, settled], [denial, denied], other), ([first; 2], [second; 2], &None));
    let by: Vec<Option<&str>> = records.iter().map(|record| record.get("by").and_then(Value::as_str)).collect();
    assert_eq!(by, [None, None, Some("ann"), Some("ann"), Some("ben"), Some("ben"), None]);
    assert!(!serde_json::to_string(&records).unwrap().contains("jo@"));
}

#[test]
fn approval_record_name_survives_restart() {
    let policy =
        "lictor: 1\nname: p\nproperties:\n  - {id: ask, formula: 'always !tool_call(\"pay\")', respond: ask}\n";
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
    let lines = [
        r#"{"session":"s","kind":"tool_call","id":"c","tool":"pay","args":{}}"#,
        r#"{"session":"s","kind":"approval","id":"c","by":"ann"}"#,
    ];
    for line in lines {
        let guard = Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default());
        let options = LedgerOptions::new(jiff::Timestamp::now);
        let ledger = Ledger::open_or_create(folder.path(), "lictor.test/log", options).unwrap();
        let options = WardenOptions::new(loaded.policy.fingerprint());
        let mut warden = Warden::open(guard, store.clone(), Some(ledger), options).unwrap();
        warden.decide(&event(line), Some(at(0))).unwrap();
        warden.close().unwrap();
    }
    let records = Reader::open(folder.path()).records(0).unwrap().filter_map(|record| record.unwrap().body);
    let names: Vec<Option<Value>> = records.map(|record| record.get("approval").cloned()).collect();
    assert!(names.len() == 3 && names[0].is_some() && names.iter().all(|name| *name == names[0]), "{names:?}");
}
