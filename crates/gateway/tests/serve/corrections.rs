//! Models that are asked again after all calls of a reply were denied.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use lictor_store::{MemoryStore, Store};
use lictor_wire::Api;
use serde_json::json;

use crate::crossing::{POLICY, saying, told};
use crate::vendor::{call, hear, hear_stream, path, request, text};
use crate::world::{Model, SeenRequest, World, plan};

/// Returns the text that the client gets.
async fn ask(world: &World, api: Api, streams: bool) -> String {
    let got = world.post(path(api), "s", &request(api, "hi", streams)).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let heard = if streams { hear_stream(api, &got.body) } else { hear(api, &got.body) };
    assert!(heard.calls.is_empty(), "{heard:?}");
    heard.text
}

/// The session continues at another gateway with the same store.
#[tokio::test(flavor = "multi_thread")]
async fn corrections_of_session_are_limited() {
    for (api, streams) in Api::ALL.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let model = saying(vec![call("c1", "drop", json!({}))]).await;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut asked = 0;
        // What the first gateway and the second ask the model, for one request each.
        for requests in [3, 2, 1, 1] {
            let mut bounded = plan(&model, POLICY);
            (bounded.store, bounded.records) = (Some(Arc::clone(&store)), false);
            (bounded.config.limits.corrections, bounded.config.limits.session_corrections) = (2, 3);
            let world = bounded.start().await;
            let said = ask(&world, api, streams).await;
            assert_eq!(said, "I am sorry, I cannot do that here.", "{api:?} {streams}");
            asked += requests;
            assert_eq!(model.seen().len(), asked, "{api:?} {streams}");
            assert_eq!(world.figure("lictor_corrections_total").await, requests as u64 - 1);
            drop(world);
        }
    }
}

/// The reviewer denies the call while the exchange waits, and the agent gets the model's next reply.
#[tokio::test(flavor = "multi_thread")]
async fn reviewer_denial_is_told_to_model() {
    for (api, streams) in Api::ALL.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let model = Model::start(|seen: &SeenRequest| {
            match String::from_utf8_lossy(&seen.body).contains("a reviewer did not allow it") {
                true => told(seen, &[text("Then I leave it.")]),
                false => told(seen, &[call("c1", "delete", json!({"file": "x"}))]),
            }
        })
        .await;
        let mut patient = plan(&model, POLICY);
        patient.config.limits.corrections = 2;
        patient.config.limits.approval = Duration::from_secs(30);
        let world = Arc::new(patient.start().await);
        let asking = Arc::clone(&world);
        let asked = tokio::spawn(async move { ask(&asking, api, streams).await });
        let id = loop {
            let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
            if let Some(id) = listed["waiting"][0]["id"].as_str() {
                break id.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let answer = json!({"by": "ann", "allow": false});
        assert_eq!(world.control(Method::POST, &format!("/lictor/approvals/{id}"), &answer).await.status, 200);
        assert_eq!(asked.await.unwrap(), "Then I leave it.", "{api:?} {streams}");
        assert_eq!(world.figure("lictor_corrections_total").await, 1);
        Arc::into_inner(world).unwrap().end().await;
    }
}
