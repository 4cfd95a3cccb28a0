//! Pending approvals in the store, in metrics and in the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::Method;
use lictor_gateway::{Journal, KeyHash};
use lictor_logic::Span;
use lictor_store::{Change, ExpectedVersion, MemoryStore, Store, StoreError, StoredValue};
use lictor_wire::Api;
use serde_json::{Value, json};

use crate::crossing::{POLICY, saying};
use crate::observing::Lines;
use crate::vendor::{call, path, request};
use crate::world::{World, plan};

/// Makes a call in a session that a reviewer is asked about, and returns the id of its approval.
async fn ask(world: &World, session: &str) -> String {
    let got = world.post(path(Api::Chat), session, &request(Api::Chat, "Delete it.", false)).await;
    let text = got.text().split("Approval id: ").nth(1).unwrap_or_else(|| panic!("{}", got.text()));
    text.split('.').next().unwrap().to_owned()
}

async fn answer(world: &World, id: &str, allow: bool) {
    let answer = json!({"by": "ann", "allow": allow});
    let got = world.control(Method::POST, &format!("/lictor/approvals/{id}"), &answer).await;
    assert_eq!(got.status, 200, "{}", got.text());
}

async fn end_session(world: &World, session: &str) {
    let end = json!({"kind": "session_end", "session": session, "key": KeyHash::of("key").to_string()});
    let got = world.control(Method::POST, "/lictor/events", &end).await;
    assert_eq!(got.status, 200, "{}", got.text());
}

async fn listed(world: &World) -> Vec<Value> {
    let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
    listed["waiting"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_outcomes_are_counted_and_logged() {
    let model = saying(vec![call("c", "delete", json!({"file": "of ann@example.org"}))]).await;
    let mut observed = plan(&model, POLICY);
    let lines = Lines::default();
    observed.journal = Journal::new(lines.clone());
    let world = observed.start().await;
    let mut ids = Vec::new();
    for session in ["a", "b", "c", "d"] {
        ids.push(ask(&world, session).await);
    }
    assert_eq!(ask(&world, "d").await, ids[3], "a repeated call waits under the same id");
    assert_eq!(world.figure("lictor_approvals_waiting").await, 4);
    answer(&world, &ids[0], true).await;
    answer(&world, &ids[1], false).await;
    end_session(&world, "c").await;
    let figures = [("waiting", 1), ("asked_total", 4), ("allowed_total", 1), ("denied_total", 1), ("expired_total", 1)];
    for (name, count) in figures {
        assert_eq!(world.figure(&format!("lictor_approvals_{name}")).await, count, "{name}");
    }
    let logged = lines.wait_for("approval", 3).await;
    for (line, (id, outcome)) in logged.iter().zip(ids.iter().zip(["allowed", "denied", "expired"])) {
        assert_eq!((line["approval"].as_str(), line["outcome"].as_str()), (Some(id.as_str()), Some(outcome)), "{line}");
        assert_eq!(line["summary"], format!("approval of delete {outcome}: ask-delete"));
        assert!(!line.to_string().contains("ann"), "{line}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_expires_with_patience() {
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let mut impatient = plan(&model, POLICY);
    impatient.patience = Some(Span(1_000_000_000));
    let lines = Lines::default();
    impatient.journal = Journal::new(lines.clone());
    let world = impatient.start().await;
    let id = ask(&world, "s").await;
    // The approvals are not listed meanwhile.
    let line = lines.wait_for("approval", 1).await.remove(0);
    assert_eq!((&line["approval"], &line["outcome"], &line["tool"]), (&json!(id), &json!("expired"), &json!("delete")));
    assert_eq!(line["properties"], json!(["ask-delete"]));
    assert_eq!(world.figure("lictor_approvals_waiting").await, 0);
    assert_eq!(world.figure("lictor_approvals_expired_total").await, 1);
    assert_eq!(listed(&world).await, Vec::<Value>::new());
    world.end().await;
}

/// A store that counts how many approvals are read.
#[derive(Default)]
struct CountingStore {
    inner: MemoryStore,
    approvals_read: AtomicUsize,
}

impl Store for CountingStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        if key.starts_with("gateway/waiting/") {
            self.approvals_read.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.load(key)
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        self.inner.scan(prefix)
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        self.inner.keys(prefix, after, limit)
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        self.inner.save(changes)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_session_reads_only_its_own_approvals() {
    let store = Arc::new(CountingStore::default());
    // The rows of an earlier version had no row under their session.
    for number in 0..100 {
        let pending = json!({"tenant": "everybody", "session": "other", "id": "c", "tool": "t", "args": null,
                             "call": "", "rewritten": null, "until": null, "properties": []});
        let key = format!("gateway/waiting/{number:08x}");
        store.save(&[Change::put(key, ExpectedVersion::Absent, pending.to_string())]).unwrap();
    }
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let mut shared = plan(&model, POLICY);
    shared.store = Some(Arc::clone(&store) as Arc<dyn Store>);
    let world = shared.start().await;
    let (ended, other) = (ask(&world, "s").await, ask(&world, "t").await);
    store.approvals_read.store(0, Ordering::SeqCst);
    end_session(&world, "s").await;
    let read = store.approvals_read.load(Ordering::SeqCst);
    assert!((1..10).contains(&read), "{read} approvals were read");
    let left = listed(&world).await;
    assert_eq!(left.len(), 101, "those of the earlier version are listed, too");
    assert!(left.iter().any(|item| item["id"] == other) && left.iter().all(|item| item["id"] != ended), "{left:?}");
    // All rows of the ended session are gone.
    assert_eq!(store.keys("gateway/waiting-session/", None, 9).unwrap().len(), 1);
    assert_eq!(store.keys("gateway/waiting-call/", None, 9).unwrap().len(), 1);
    world.end().await;
}
