//! Sessions: their ids, their tenants, and their continuation after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::Method;
use lictor_gateway::KeyHash;
use lictor_store::MemoryStore;
use lictor_wire::Api;
use serde_json::{Value, json};

use crate::crossing::{NOTHING, POLICY, saying, told};
use crate::vendor::{Say, call, hear, path, request, text};
use crate::world::{Model, World, of_type, plan};

/// Returns how many calls reach the client when the model pays once more.
async fn pays(world: &World, key: &str, session: Option<&str>, body_session: Option<&str>) -> usize {
    let mut body = request(Api::Chat, "pay", false);
    if let Some(id) = body_session {
        body["metadata"] = json!({"session_id": id});
    }
    let bearer = format!("Bearer {key}");
    let mut headers = vec![("authorization", bearer.as_str())];
    headers.extend(session.map(|id| ("x-lictor-session", id)));
    let got = world.ask(Method::POST, path(Api::Chat), &headers, body.to_string()).await;
    assert_eq!(got.status, 200, "{}", got.text());
    hear(Api::Chat, &got.body).calls.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_separate_between_tenants() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut apart = plan(&model, POLICY);
    apart.config.tenants = BTreeMap::from([
        (KeyHash::of("a1"), "a".to_owned()),
        (KeyHash::of("a2"), "a".to_owned()),
        (KeyHash::of("b"), "b".to_owned()),
    ]);
    let world = apart.start().await;
    assert_eq!(pays(&world, "a1", Some("s"), None).await, 1);
    assert_eq!(pays(&world, "a2", Some("s"), None).await, 0, "the same tenant has paid");
    assert_eq!(pays(&world, "b", Some("s"), None).await, 1, "another tenant has not");
    assert_eq!(pays(&world, "c", Some("s"), None).await, 1, "nor has somebody who is not listed");
    assert_eq!(pays(&world, "d", None, Some("s")).await, 1, "nor somebody else who is not");
    assert_eq!(pays(&world, "d", Some("s"), None).await, 0, "header and body name the same session");
    let records = world.end().await;
    let exchanges = of_type(&records, "exchange");
    let mut from: Vec<&str> = exchanges.iter().map(|it| it["session_from"].as_str().unwrap()).collect();
    from.sort_unstable();
    assert_eq!(from, ["body", "header", "header", "header", "header", "header"]);
    let tenants: BTreeSet<Option<&str>> =
        of_type(&records, "decision").iter().map(|it| it.get("tenant").and_then(Value::as_str)).collect();
    assert_eq!(tenants, BTreeSet::from([None, Some("a"), Some("b")]), "credentials that are not listed have no name");
}

/// Without a durable store and a ledger, decisions are made directly; they must be the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn decisions_work_without_ledger_under_concurrency() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut forgetful = plan(&model, POLICY);
    forgetful.records = false;
    let world = std::sync::Arc::new(forgetful.start().await);
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..64 {
        let world = std::sync::Arc::clone(&world);
        let session = format!("s{}", number % 8);
        asked.spawn(async move { (number % 8, pays(&world, "key", Some(&session), None).await) });
    }
    let mut paid = BTreeMap::new();
    while let Some(done) = asked.join_next().await {
        let (session, calls) = done.unwrap();
        *paid.entry(session).or_insert(0) += calls;
    }
    assert_eq!(paid, (0..8).map(|session| (session, 1)).collect(), "each session has paid once");
    let got = world.control(Method::GET, "/lictor/ready", &json!({})).await;
    assert_eq!(got.status, 200);
    std::sync::Arc::into_inner(world).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subject_history_spans_sessions_within_tenant() {
    let policy = r#"
lictor: 1
name: person
properties:
  - {id: once-per-principal, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block, history: principal}
"#;
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut apart = plan(&model, policy);
    apart.config.tenants = BTreeMap::from([(KeyHash::of("a"), "a".to_owned()), (KeyHash::of("b"), "b".to_owned())]);
    let world = apart.start().await;
    let pay = |key: &'static str, session: &'static str| {
        let world = &world;
        async move {
            let bearer = format!("Bearer {key}");
            let headers =
                [("authorization", bearer.as_str()), ("x-lictor-session", session), ("x-lictor-principal", "ann")];
            let got =
                world.ask(Method::POST, path(Api::Chat), &headers, request(Api::Chat, "pay", false).to_string()).await;
            hear(Api::Chat, &got.body).calls.len()
        }
    };
    assert_eq!(pay("a", "s1").await, 1);
    assert_eq!(pay("a", "s2").await, 0, "another session of the same principal");
    assert_eq!(pay("b", "s3").await, 1, "the principal of that name of another tenant");
    assert_eq!(world.figure("lictor_sessions_begun_total").await, 3);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn session_ids_may_be_long_or_unprintable() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let world = plan(&model, POLICY).start().await;
    let long = "x".repeat(10_240);
    assert_eq!(pays(&world, "k", Some(&long), None).await, 1);
    assert_eq!(pays(&world, "k", Some(&long), None).await, 0);
    assert_eq!(pays(&world, "k", None, Some("a\u{0}\n\u{202e}b")).await, 1);
    assert_eq!(pays(&world, "k", None, None).await, 1, "without an id, all of a credential is one session");
    assert_eq!(pays(&world, "k", Some(""), None).await, 0);
    assert_eq!(pays(&world, "other", None, None).await, 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_survive_gateway_restart() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut first = plan(&model, POLICY);
    first.keeps = true;
    let mut world = first.start().await;
    assert_eq!(pays(&world, "k", Some("s"), None).await, 1);
    let folder = world.stop().await;
    drop(world);
    let mut second = plan(&model, POLICY);
    (second.keeps, second.folder) = (true, folder);
    let world = second.start().await;
    assert_eq!(pays(&world, "k", Some("s"), None).await, 0);
    assert_eq!(pays(&world, "k", Some("t"), None).await, 1);
    let records = world.end().await;
    assert_eq!(of_type(&records, "exchange").len(), 3, "one ledger for both");
}

#[tokio::test(flavor = "multi_thread")]
async fn surplus_sessions_in_memory_end_oldest_first() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut small = plan(&model, POLICY);
    small.store = Some(Arc::new(MemoryStore::private()));
    small.config.limits.sessions = 3;
    let world = small.start().await;
    for number in 0..3 {
        assert_eq!(pays(&world, "k", Some(&format!("s{number}")), None).await, 1);
    }
    // The first is used again, so the second is the oldest.
    assert_eq!(pays(&world, "k", Some("s0"), None).await, 0);
    assert_eq!(pays(&world, "k", Some("s3"), None).await, 1);
    world.figure_becomes("lictor_sessions_evicted_total", 1).await;
    assert_eq!(pays(&world, "k", Some("s0"), None).await, 0, "it was used after the others");
    assert_eq!(pays(&world, "k", Some("s1"), None).await, 1, "it has ended, and begins again");
    world.figure_becomes("lictor_sessions_evicted_total", 2).await;
    let ended: Vec<Value> = of_type(&world.end().await, "ended").into_iter().cloned().collect();
    assert!(ended.iter().all(|record| record["cause"] == "evicted") && ended.len() == 2, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn surplus_sessions_of_one_tenant_spare_others() {
    let model = saying(vec![call("c", "pay", json!({}))]).await;
    let mut small = plan(&model, POLICY);
    small.store = Some(Arc::new(MemoryStore::private()));
    small.config.limits.sessions = 3;
    small.config.tenants =
        BTreeMap::from([(KeyHash::of("a"), "acme".to_owned()), (KeyHash::of("b"), "shop".to_owned())]);
    let world = small.start().await;
    assert_eq!(pays(&world, "a", Some("s"), None).await, 1);
    for number in 0..6 {
        assert_eq!(pays(&world, "b", Some(&format!("s{number}")), None).await, 1);
    }
    world.figure_becomes("lictor_sessions_evicted_total", 4).await;
    assert_eq!(pays(&world, "a", Some("s"), None).await, 0, "the session was not ended for those of another");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn session_in_flight_is_not_evicted() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let said = vec![call("c", "pay", json!({}))];
    let model = Model::start(move |seen| {
        if String::from_utf8_lossy(&seen.body).contains("slowly") {
            tokio::task::block_in_place(|| wait.lock().unwrap().recv().unwrap());
        }
        told(seen, &said)
    })
    .await;
    let mut small = plan(&model, POLICY);
    small.store = Some(Arc::new(MemoryStore::private()));
    small.config.limits.sessions = 2;
    let world = Arc::new(small.start().await);
    assert_eq!(pays(&world, "key", Some("s"), None).await, 1);
    let slow = Arc::clone(&world);
    let asked = tokio::spawn(async move {
        let got = slow.post(path(Api::Chat), "s", &request(Api::Chat, "pay slowly", false)).await;
        hear(Api::Chat, &got.body).calls.len()
    });
    while model.seen().len() < 2 {
        tokio::task::yield_now().await;
    }
    for number in 0..3 {
        assert_eq!(pays(&world, "key", Some(&format!("t{number}")), None).await, 1);
    }
    world.figure_becomes("lictor_sessions_evicted_total", 2).await;
    go.send(()).unwrap();
    assert_eq!(asked.await.unwrap(), 0, "it has paid before");
    Arc::into_inner(world).unwrap().end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unlisted_credentials_can_be_refused() {
    let model = saying(vec![text("hi")]).await;
    let mut closed = plan(&model, NOTHING);
    closed.config.tenants = BTreeMap::from([(KeyHash::of("a"), "a".to_owned())]);
    closed.config.known_only = true;
    let world = closed.start().await;
    for api in Api::ALL {
        let got =
            world.ask(Method::POST, path(api), &[("x-api-key", "b")], request(api, "hi", false).to_string()).await;
        assert_eq!((got.status, got.code()), (401, "credential.unknown"));
        assert_eq!(got.json()["error"]["type"], "authentication_error");
    }
    let got = world
        .ask(Method::POST, path(Api::Messages), &[("x-api-key", "a")], request(Api::Messages, "hi", false).to_string())
        .await;
    assert_eq!(got.status, 200);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_mode_forwards_everything_and_records_decisions() {
    let model = saying(vec![call("c", "drop", json!({}))]).await;
    let mut watching = plan(&model, POLICY);
    watching.config.shadow = true;
    let world = watching.start().await;
    for api in Api::ALL {
        let got = world.post(path(api), "s", &request(api, "the patient has diabetes", false)).await;
        assert_eq!(hear(api, &got.body).calls.len(), 1);
        assert!(String::from_utf8_lossy(&model.seen().pop().unwrap().body).contains("diabetes"));
    }
    assert!(world.figure("lictor_forwarded_unchecked_total").await >= 3);
    let records = world.end().await;
    let blocked = of_type(&records, "decision").into_iter().filter(|record| record["action"] == "block").count();
    assert_eq!(blocked, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_message_with_same_text_is_judged_again() {
    let model = saying(vec![text("there")]).await;
    let world = plan(&model, POLICY).start().await;
    // The client sends no history, so a request may begin the same conversation again, word for word.
    for said in ["one", "one", "one", "two", "one", "two", "one", "two"] {
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, said, false)).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    let records = world.end().await;
    let decided = of_type(&records, "decision");
    let of_kind = |wanted: &str| decided.iter().filter(|record| record["kind"] == wanted).count();
    assert_eq!((of_kind("user_message"), of_kind("assistant_message")), (6, 8), "{decided:#?}");
    let counted: u64 = of_type(&records, "exchange").iter().map(|record| record["decisions"].as_u64().unwrap()).sum();
    assert_eq!(counted, decided.len() as u64, "each decision has its record");
}

/// Two credentials: the upstream may use the one, and the gateway the other.
#[tokio::test(flavor = "multi_thread")]
async fn two_different_credentials_are_refused() {
    let model = saying(vec![text("Hello.")]).await;
    let world = plan(&model, POLICY).start().await;
    for (headers, status) in [
        (vec![("authorization", "Bearer a"), ("x-api-key", "b")], 400),
        (vec![("authorization", "Bearer a"), ("api-key", "b")], 400),
        (vec![("authorization", "Bearer a"), ("x-api-key", "a")], 200),
        (vec![("api-key", "a"), ("content-type", "Application/JSON; charset=utf-8")], 200),
    ] {
        let body = request(Api::Chat, "hi", false).to_string();
        let got = world.ask(Method::POST, path(Api::Chat), &headers, body).await;
        assert_eq!(got.status, status, "{headers:?}: {}", got.text());
    }
    world.end().await;
}

/// Returns the calls that a client without any session id gets, request by request.
async fn calls_without_id(bodies: &[(Api, Value, &str)], said: fn(usize) -> Vec<Say>) -> Vec<usize> {
    let count = Arc::new(AtomicUsize::new(0));
    let model = Model::start(move |seen| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let mut play = told(seen, &said(number));
        for piece in &mut play.pieces {
            *piece = std::str::from_utf8(piece).unwrap().replace("\"resp_1\"", &format!("\"resp_{number}\"")).into();
        }
        play
    })
    .await;
    let world = plan(&model, POLICY).start().await;
    let mut calls = Vec::new();
    for (api, body, trace) in bodies {
        let headers = [("authorization", "Bearer key"), ("traceparent", trace)];
        let got = world.ask(Method::POST, path(*api), &headers, body.to_string()).await;
        assert_eq!(got.status, 200, "{}", got.text());
        calls.push(hear(*api, &got.body).calls.len());
    }
    world.end().await;
    calls
}

const TRACES: [&str; 3] = [
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-2af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
];

#[tokio::test(flavor = "multi_thread")]
async fn conversation_without_id_is_one_session() {
    let pay = |number: usize| vec![call(&format!("c{number}"), "pay", json!({}))];
    let history = |answers: usize| {
        let mut items = vec![json!({"role": "user", "content": "Pay my bill."})];
        for number in 0..answers {
            let id = format!("c{number}");
            let made = json!({"id": id, "type": "function", "function": {"name": "pay", "arguments": "{}"}});
            items.push(json!({"role": "assistant", "content": null, "tool_calls": [made]}));
            items.push(json!({"role": "tool", "tool_call_id": id, "content": "paid"}));
        }
        json!({"model": "m", "messages": items})
    };
    // A client with OpenTelemetry begins a trace for each request.
    let bodies =
        [(Api::Chat, history(0), TRACES[0]), (Api::Chat, history(1), TRACES[1]), (Api::Chat, history(1), TRACES[2])];
    assert_eq!(calls_without_id(&bodies, pay).await, [1, 0, 0], "it pays once");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_under_one_key_are_separate() {
    let pay = |number: usize| vec![call(&format!("c{number}"), "pay", json!({}))];
    let ask = |said: &str| (Api::Chat, request(Api::Chat, said, false), TRACES[0]);
    let bodies = [ask("Pay the bill of Ann."), ask("Pay the bill of Bob."), ask("Pay the bill of Ann.")];
    assert_eq!(calls_without_id(&bodies, pay).await, [1, 1, 0], "the third repeats the first");
}

#[tokio::test(flavor = "multi_thread")]
async fn continued_response_stays_in_its_session() {
    let pay = |number: usize| vec![call(&format!("c{number}"), "pay", json!({}))];
    let result = json!([{"type": "function_call_output", "call_id": "c0", "output": "paid"}]);
    let bodies = [
        (Api::Responses, json!({"model": "m", "input": "Pay my bill."}), TRACES[0]),
        (Api::Responses, json!({"model": "m", "previous_response_id": "resp_0", "input": result}), TRACES[1]),
        (Api::Responses, json!({"model": "m", "input": "Pay another bill."}), TRACES[2]),
    ];
    assert_eq!(calls_without_id(&bodies, pay).await, [1, 0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn continued_response_stays_with_its_principal() {
    let pay = |number: usize| vec![call(&format!("c{number}"), "pay", json!({}))];
    let next = |user: Option<&str>| {
        let mut body = json!({"model": "m", "previous_response_id": "resp_0", "input": "Pay it."});
        body["user"] = user.map_or(Value::Null, |user| json!(user));
        (Api::Responses, body, TRACES[1])
    };
    let bodies = [
        (Api::Responses, json!({"model": "m", "input": "Pay my bill.", "user": "ann"}), TRACES[0]),
        next(Some("bob")),
        next(Some("ann")),
        next(None),
    ];
    assert_eq!(calls_without_id(&bodies, pay).await, [1, 1, 0, 0], "bob does not continue the session of ann");
}
