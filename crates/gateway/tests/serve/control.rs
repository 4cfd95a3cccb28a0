//! Consents, erasures and approvals; policy reloads.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use lictor_gateway::KeyHash;
use lictor_wire::Api;
use serde_json::{Value, json};

use crate::crossing::{NOTHING, POLICY, saying};
use crate::faults::quiet;
use crate::vendor::{ClientReply, call, hear, path, request, text};
use crate::world::{CONTROL, World, of_type, plan, policy};

const SHOP: &str = r#"
lictor: 1
name: shop
uses: [gdpr]
purposes:
  support: {basis: legitimate_interest, necessary: [email]}
  marketing: {basis: consent, necessary: [email]}
tools:
  look: {purposes: [support], effects: [read]}
  send_marketing: {purposes: [marketing], effects: [external]}
"#;

async fn say(world: &World, session: &str, said: &str) -> ClientReply {
    let got = world.post(path(Api::Chat), session, &request(Api::Chat, said, false)).await;
    assert_eq!(got.status, 200, "{}", got.text());
    hear(Api::Chat, &got.body)
}

fn key() -> String {
    KeyHash::of("key").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn consent_recorded_by_application_lets_call_pass() {
    let model = saying(vec![call("c", "send_marketing", json!({"email": "alice@example.com"}))]).await;
    let world = plan(&model, SHOP).start().await;
    let heard = say(&world, "s", "I consented yesterday, really.").await;
    assert!(heard.calls.is_empty() && heard.text.contains("consent-before-processing"), "{heard:?}");
    let consent = json!({"session": "s", "key": key(), "subject": "alice@example.com", "purposes": ["marketing"], "granted": true});
    let got = world.control(Method::POST, "/lictor/consents", &consent).await;
    assert_eq!((got.status, got.json()["decision"].as_str()), (200, Some("forward")), "{}", got.text());
    assert_eq!(say(&world, "s", "Now?").await.calls.len(), 1);
    assert!(say(&world, "other", "And me?").await.calls.is_empty(), "it is the consent of one session");
    let mut withdrawal = consent;
    withdrawal["granted"] = json!(false);
    assert_eq!(world.control(Method::POST, "/lictor/consents", &withdrawal).await.status, 200);
    assert!(say(&world, "s", "And now?").await.calls.is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_subject_is_blocked() {
    let model = saying(vec![call("c", "look", json!({"email": "alice@example.com"}))]).await;
    let world = plan(&model, SHOP).start().await;
    assert_eq!(say(&world, "s", "Find me.").await.calls.len(), 1);
    let erasure = json!({"session": "s", "key": key(), "subject": "Alice@Example.com"});
    let got = world.control(Method::POST, "/lictor/erasures", &erasure).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let heard = say(&world, "s", "Find me again.").await;
    assert!(heard.calls.is_empty() && heard.text.contains("right-to-erasure"), "{heard:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declarations_to_gateway_with_tenants_need_tenant() {
    let model = saying(vec![call("c", "look", json!({"email": "alice@example.com"}))]).await;
    let mut apart = plan(&model, SHOP);
    apart.config.tenants.insert(KeyHash::of("key"), "acme".to_owned());
    apart.config.tenants.insert(KeyHash::of("other"), "shop".to_owned());
    let world = apart.start().await;
    assert_eq!(say(&world, "s", "Find me.").await.calls.len(), 1);
    let declare = async |target: &str, body: Value| {
        let got = world.control(Method::POST, target, &body).await;
        (got.status, got.json())
    };
    let change = json!({"session": "s", "key": key(), "change": "gdpr/right-to-erasure", "priority": 1});
    let (status, answer) = declare("/lictor/objectives", change).await;
    assert_eq!((status, &answer["note"]), (200, &Value::Null), "the key says whose session it is: {answer}");
    let name = answer["session_name"].as_str().unwrap();
    for (target, more) in [
        ("/lictor/consents", json!({"subject": "alice@example.com", "purposes": ["marketing"], "granted": true})),
        ("/lictor/erasures", json!({"subject": "alice@example.com"})),
        ("/lictor/events", json!({"kind": "audit"})),
        ("/lictor/objectives", json!({"remove": "gdpr/right-to-erasure"})),
    ] {
        for whose in [json!({"session_name": name}), json!({"session": "s"}), json!({})] {
            let mut body = more.clone();
            body.as_object_mut().unwrap().extend(whose.as_object().unwrap().clone());
            let (status, answer) = declare(target, body).await;
            let is_other = target == "/lictor/objectives" && whose == json!({});
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(
                status == 400 && (is_other || message.contains("name one by `tenant`")),
                "{target} {whose} {answer}"
            );
        }
    }
    assert_eq!(say(&world, "s", "Find me again.").await.calls.len(), 1, "nothing was declared");
    let list = async |query: &str| world.control(Method::GET, &format!("/lictor/objectives?{query}"), &json!({})).await;
    assert_eq!(list(&format!("session_name={name}")).await.status, 400);
    assert_eq!(list(&format!("session_name={name}&tenant=shop")).await.status, 404);
    assert_eq!(list(&format!("session_name={name}&tenant=acme")).await.status, 200);
    let mut erasure = json!({"session_name": name, "tenant": "shop", "subject": "alice@example.com"});
    let (_, answer) = declare("/lictor/erasures", erasure.clone()).await;
    assert_eq!(answer["note"], "no request of this session was seen yet");
    erasure["key"] = json!(key());
    assert_eq!(declare("/lictor/erasures", erasure.clone()).await.0, 400, "the key is of another tenant");
    erasure["tenant"] = json!("acme");
    assert_eq!(declare("/lictor/erasures", erasure).await.0, 200);
    assert!(say(&world, "s", "And now?").await.calls.is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn control_endpoints_require_key_and_name_errors() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let bearer = [("authorization", "Bearer wrong")];
    let elsewhere = [[("x-api-key", CONTROL)], [("api-key", CONTROL)], [("authorization", CONTROL)], bearer];
    for (headers, wanted) in elsewhere.iter().map(|headers| (headers.as_slice(), 401)).chain([(&[][..], 401)]) {
        for target in ["/lictor/consents", "/lictor/approvals/00", "/lictor/reload", "/lictor/else"] {
            assert_eq!(world.ask(Method::POST, target, headers, "{}").await.status, wanted, "{target}");
        }
    }
    for (target, body, wanted) in [
        ("/lictor/consents", json!({"purposes": ["p"], "granted": true}), "`subject`"),
        ("/lictor/consents", json!({"subject": "a", "purposes": [], "granted": true}), "`purposes`"),
        ("/lictor/consents", json!({"subject": "a", "purposes": ["p"]}), "`granted`"),
        ("/lictor/consents", json!({"subject": "a", "purposes": ["p"], "granted": true, "sesion": "s"}), "`sesion`"),
        ("/lictor/consents", json!({"subject": "a", "purposes": ["p"], "granted": true, "session": "s"}), "`key`"),
        (
            "/lictor/consents",
            json!({"subject": "a", "purposes": ["p"], "granted": true, "session": "s", "tenant": "everybody"}),
            "a session of the tenant `everybody` needs `key`",
        ),
        (
            "/lictor/consents",
            json!({"subject": "a", "purposes": ["p"], "granted": true, "session": "s", "key": "plain"}),
            "sha256:",
        ),
        ("/lictor/consents", json!({"subject": "a", "purposes": ["p"], "granted": true, "tenant": "x"}), "tenant"),
        ("/lictor/approvals/0123", json!({"by": "ann", "allow": true}), "nothing waits"),
        ("/lictor/approvals/0123", json!({"allow": true}), "`by`"),
    ] {
        let got = world.control(Method::POST, target, &body).await;
        assert!(matches!(got.status, 400 | 404) && got.text().contains(wanted), "{body}: {}", got.text());
    }
    assert_eq!(world.ask(Method::GET, "/lictor/health", &[], "").await.status, 200);
    assert_eq!(world.ask(Method::GET, "/lictor/ready", &[], "").await.json()["status"], "ready");
    let mut closed = plan(&model, NOTHING);
    closed.config.control_keys.clear();
    let closed = closed.start().await;
    let got = closed.control(Method::POST, "/lictor/consents", &json!({})).await;
    assert_eq!((got.status, got.code()), (403, "control.closed"));
    closed.end().await;
    world.end().await;
}

/// Returns the id of the only pending approval.
async fn waiting(world: &World) -> Value {
    let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
    assert_eq!(listed["waiting"].as_array().unwrap().len(), 1, "{listed}");
    listed["waiting"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_of_ended_session_is_not_listed() {
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let mut short = plan(&model, POLICY);
    short.idle = Some(lictor_logic::Span(3_000_000_000));
    let world = short.start().await;
    say(&world, "s", "Delete it.").await;
    waiting(&world).await;
    let end = json!({"kind": "session_end", "session": "s", "key": key()});
    let got = world.control(Method::POST, "/lictor/events", &end).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let list = async || world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
    assert_eq!(list().await, json!({"waiting": []}), "the session was ended");
    say(&world, "t", "Delete it.").await;
    waiting(&world).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(list().await, json!({"waiting": []}), "the session has timed out");
    world.end().await;
}

/// A first request that is redacted has no stored memory while its reply waits.
#[tokio::test(flavor = "multi_thread")]
async fn approval_is_listed_while_exchange_waits() {
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let mut patient = plan(&model, POLICY);
    (patient.idle, patient.config.limits.approval) =
        (Some(lictor_logic::Span(60_000_000_000)), Duration::from_secs(20));
    let world = Arc::new(patient.start().await);
    let asking = Arc::clone(&world);
    let asked = tokio::spawn(async move { say(&asking, "s", "The patient has diabetes. Delete it.").await });
    let list = async || world.control(Method::GET, "/lictor/approvals", &json!({})).await.json()["waiting"].clone();
    let mut listed = list().await;
    while listed.as_array().unwrap().is_empty() && !asked.is_finished() {
        listed = list().await;
    }
    assert_eq!(list().await, listed, "it stays listed");
    let target = format!("/lictor/approvals/{}", listed[0]["id"].as_str().unwrap());
    let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
    assert_eq!(got.json()["outcome"], "allowed", "{}", got.text());
    assert_eq!(asked.await.unwrap().calls.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_beyond_one_list_are_counted() {
    let model = saying(Vec::new()).await;
    let store: Arc<dyn lictor_store::Store> = Arc::new(lictor_store::MemoryStore::new());
    let mut crowded = plan(&model, POLICY);
    crowded.store = Some(Arc::clone(&store));
    let world = crowded.start().await;
    for number in 0..1003 {
        let pending = json!({"tenant": "everybody", "session": "s", "id": "c", "tool": "t", "args": null, "call": "",
                             "rewritten": null, "until": null, "properties": []});
        let key = format!("gateway/waiting/{number:08x}");
        let change = lictor_store::Change::put(key, lictor_store::ExpectedVersion::Absent, pending.to_string());
        store.save(&[change]).unwrap();
    }
    let list = async |query: &str| {
        let got = world.control(Method::GET, &format!("/lictor/approvals{query}"), &json!({})).await;
        (got.status, got.json())
    };
    let (_, first) = list("").await;
    assert_eq!((first["waiting"].as_array().unwrap().len(), &first["more"]), (1000, &json!(3)));
    let last = first["waiting"][999]["id"].as_str().unwrap();
    let (_, rest) = list(&format!("?after={last}")).await;
    assert_eq!((rest["waiting"].as_array().unwrap().len(), &rest["more"]), (3, &Value::Null));
    assert_eq!(list("?page=2").await.0, 400);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approved_call_passes_when_made_again() {
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let world = plan(&model, POLICY).start().await;
    let heard = say(&world, "s", "Delete it.").await;
    assert!(heard.calls.is_empty() && heard.text.contains("waits until a person"), "{heard:?}");
    let item = waiting(&world).await;
    assert_eq!((item["tool"].as_str(), &item["properties"]), (Some("delete"), &json!(["ask-delete"])));
    assert_eq!(item["args"], r#"{"file":"x"}"#, "who is asked is told what");
    let id = item["id"].as_str().unwrap();
    assert!(heard.text.contains(id));
    assert!(say(&world, "s", "Do it.").await.text.contains(id), "who asks again is told the same");
    assert_eq!(waiting(&world).await["id"], id, "and a person is asked once");
    let target = format!("/lictor/approvals/{id}");
    let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
    assert_eq!(got.json()["outcome"], "allowed", "{}", got.text());
    assert_eq!(say(&world, "s", "Again.").await.calls.len(), 1);
    assert!(say(&world, "s", "And again.").await.calls.is_empty(), "it was allowed once");
    let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
    assert_eq!(got.status, 404, "it does not wait any more");
    let records = world.end().await;
    let carried_out = of_type(&records, "carried_out");
    assert_eq!(carried_out.len(), 1);
    let decisions = of_type(&records, "decision");
    let settled: Vec<_> = decisions.iter().filter(|record| record["settles"] == true).collect();
    assert_eq!(settled.len(), 1);
    // The records of one approval can be joined, and name the reviewer.
    let approval = &settled[0]["approval"];
    assert!(approval.is_string() && carried_out[0]["approval"] == *approval, "{records:?}");
    let joined: Vec<_> = decisions.iter().filter(|record| record["approval"] == *approval).collect();
    assert_eq!(joined.iter().filter(|record| record["action"] == "ask").count(), 1);
    assert!(joined.iter().any(|record| record["kind"] == "approval" && record["by"] == "ann"), "{records:?}");
    // All are of one run, and the records of exchanges count their decisions.
    assert!(decisions.iter().all(|record| record["run"].is_string() && record["run"] == decisions[0]["run"]));
    for exchange in of_type(&records, "exchange") {
        let own = decisions.iter().filter(|record| record["exchange"] == exchange["exchange"]).count();
        assert_eq!(exchange["decisions"], own, "{exchange}");
    }
}

/// A reviewer must allow a deletion, it happens once, and never after the user said stop.
const CAREFUL: &str = r#"
lictor: 1
name: careful
facts:
  stopped: {on: user_message, when: 'event.text.contains("Stop")'}
properties:
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: delete-once, formula: 'always (tool_call("delete") -> !previous once tool_call("delete"))', respond: block}
  - {id: not-after-stop, formula: 'always (tool_call("delete") -> !once stopped)', respond: block}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn approved_call_is_judged_when_it_is_made() {
    for (said, calls) in [("Go on.", 1), ("Stop it.", 0)] {
        let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
        let world = plan(&model, CAREFUL).start().await;
        assert!(say(&world, "s", "Delete it.").await.calls.is_empty());
        let target = format!("/lictor/approvals/{}", waiting(&world).await["id"].as_str().unwrap());
        let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
        assert_eq!(got.json()["outcome"], "allowed", "{}", got.text());
        let heard = say(&world, "s", said).await;
        assert_eq!(heard.calls.len(), calls, "{heard:?}");
        assert_eq!(heard.text.contains("not-after-stop"), calls == 0, "{heard:?}");
        assert!(say(&world, "s", "Once more.").await.calls.is_empty(), "the approval is spent");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_can_be_taken_back_until_used() {
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let world = plan(&model, POLICY).start().await;
    assert!(say(&world, "s", "Delete it.").await.calls.is_empty());
    let item = waiting(&world).await;
    let target = format!("/lictor/approvals/{}", item["id"].as_str().unwrap());
    let answer = async |allow: bool| {
        let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": allow})).await;
        (got.status, got.json()["outcome"].as_str().map(str::to_owned))
    };
    let list = async || world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
    assert_eq!(answer(true).await, (200, Some("allowed".to_owned())));
    assert_eq!(list().await, json!({"waiting": [], "allowed": [item]}), "it can still be taken back");
    assert_eq!(answer(false).await, (200, Some("revoked".to_owned())));
    assert_eq!(list().await, json!({"waiting": []}));
    assert!(say(&world, "s", "Do it.").await.calls.is_empty(), "the approval was taken back");
    assert_eq!(answer(false).await.0, 404, "it was taken back before");
    // An approval that was used cannot be taken back.
    let target = format!("/lictor/approvals/{}", waiting(&world).await["id"].as_str().unwrap());
    world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
    assert_eq!(say(&world, "s", "Again.").await.calls.len(), 1);
    assert_eq!(list().await, json!({"waiting": []}));
    let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": false})).await;
    assert_eq!((got.status, got.code()), (404, "approval.unknown"));
    assert_eq!(world.figure("lictor_approvals_denied_total").await, 1);
    let records = world.end().await;
    let denials = of_type(&records, "decision").iter().filter(|record| record["kind"] == "denial").count();
    assert_eq!(denials, 1, "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_ends_when_its_property_blocks() {
    let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
    let text = Arc::new(Mutex::new(POLICY.to_owned()));
    let current = Arc::clone(&text);
    let mut changing = plan(&model, POLICY);
    changing.source = Some(Box::new(move || Ok(policy(&current.lock().unwrap()))));
    let world = changing.start().await;
    assert!(say(&world, "s", "Delete it.").await.calls.is_empty());
    let target = format!("/lictor/approvals/{}", waiting(&world).await["id"].as_str().unwrap());
    world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
    *text.lock().unwrap() = POLICY
        .replace("'always !tool_call(\"delete\")', respond: ask", "'always !tool_call(\"delete\")', respond: block");
    assert!(world.reloader.reload().await.unwrap());
    let heard = say(&world, "s", "Do it.").await;
    assert!(heard.calls.is_empty() && heard.text.contains("ask-delete"), "{heard:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_can_be_answered_within_exchange() {
    for allow in [true, false] {
        let model = saying(vec![call("c", "delete", json!({"file": "x"}))]).await;
        let mut patient = plan(&model, POLICY);
        patient.config.limits.approval = Duration::from_secs(20);
        let world = Arc::new(patient.start().await);
        let asking = Arc::clone(&world);
        let asked = tokio::spawn(async move { say(&asking, "s", "Delete it.").await });
        let id = loop {
            let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
            if let Some(id) = listed["waiting"][0]["id"].as_str() {
                break id.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let answer = json!({"by": "ann", "allow": allow});
        assert_eq!(world.control(Method::POST, &format!("/lictor/approvals/{id}"), &answer).await.status, 200);
        let heard = asked.await.unwrap();
        assert_eq!(heard.calls.len(), usize::from(allow), "{heard:?}");
        Arc::into_inner(world).unwrap().end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_reload_keeps_sessions() {
    let model = saying(vec![call("c", "pay", json!({})), call("d", "shout", json!({}))]).await;
    let text = Arc::new(Mutex::new(POLICY.to_owned()));
    let current = Arc::clone(&text);
    let mut changing = plan(&model, POLICY);
    changing.source = Some(Box::new(move || match current.lock().unwrap().as_str() {
        "" => Err("policy.yaml:1:1: there is no policy here".to_owned()),
        text => Ok(policy(text)),
    }));
    let world = changing.start().await;
    let tools = |heard: ClientReply| heard.calls.into_iter().map(|(_, tool, _)| tool).collect::<Vec<_>>();
    assert_eq!(tools(say(&world, "s", "1").await), ["pay", "shout"]);
    assert!(!world.reloader.reload().await.unwrap(), "the same policy is no other");
    text.lock().unwrap().clear();
    let got = world.control(Method::POST, "/lictor/reload", &json!({})).await;
    assert_eq!((got.status, got.code()), (422, "policy.refused"));
    assert!(got.text().contains("policy.yaml:1:1"));
    assert_eq!(tools(say(&world, "s", "2").await), ["shout"], "the old policy stays");
    *text.lock().unwrap() =
        format!("{POLICY}  - {{id: quiet, formula: 'always !tool_call(\"shout\")', respond: block}}\n");
    let got = world.control(Method::POST, "/lictor/reload", &json!({})).await;
    assert_eq!(got.json()["changed"], true, "{}", got.text());
    assert!(tools(say(&world, "s", "3").await).is_empty(), "it has paid, and nobody shouts any more");
    assert_eq!(tools(say(&world, "t", "4").await), ["pay"]);
    assert_eq!(world.figure("lictor_reloads_total").await, 1);
    let records = world.end().await;
    let mut policies: Vec<&str> =
        of_type(&records, "exchange").iter().map(|it| it["policy"].as_str().unwrap()).collect();
    policies.dedup();
    assert_eq!(policies.len(), 2, "each record names its policy");
}

#[tokio::test(flavor = "multi_thread")]
async fn frequent_reloads_change_no_verdict() {
    let model = saying(vec![call("c", "pay", json!({})), call("d", "shout", json!({}))]).await;
    let text = Arc::new(Mutex::new(POLICY.to_owned()));
    let current = Arc::clone(&text);
    let mut changing = plan(&model, POLICY);
    changing.source = Some(Box::new(move || Ok(policy(&current.lock().unwrap()))));
    let world = Arc::new(changing.start().await);
    let tools = |heard: ClientReply| heard.calls.into_iter().map(|(_, tool, _)| tool).collect::<Vec<_>>();
    assert_eq!(tools(say(&world, "s", "0").await), ["pay", "shout"]);
    let (storm, writes) = (Arc::clone(&world), Arc::clone(&text));
    let storming = tokio::spawn(async move {
        let mut changed = 0;
        for round in 0..100 {
            // The same formulas under another name, and each of them twice.
            *writes.lock().unwrap() = POLICY.replacen("name: ", &format!("name: v{}", round / 2 % 5), 1);
            changed += u64::from(storm.reloader.reload().await.unwrap());
        }
        changed
    });
    for turn in 1..20 {
        assert_eq!(
            tools(say(&world, "s", &turn.to_string()).await),
            ["shout"],
            "it has paid, whatever the policy's name"
        );
    }
    let changed = storming.await.unwrap();
    assert_eq!(changed, 50, "what is the same is no other policy");
    assert_eq!(world.figure("lictor_reloads_total").await, changed);
    Arc::into_inner(world).unwrap().end().await;
}

/// Requests and half-sent texts cannot wait for a reviewer.
#[tokio::test(flavor = "multi_thread")]
async fn ask_blocks_events_that_cannot_wait() {
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: ask, formula: 'always !user_message', respond: ask}\n";
    let model = saying(vec![text("Hello.")]).await;
    let world = plan(&model, policy).start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!((got.status, got.code()), (403, "policy.blocked"), "{}", got.text());
    assert!(!got.text().contains("once it is approved"), "{}", got.text());
    let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
    assert_eq!(listed["waiting"], json!([]));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_cover_all_calls_and_skip_gone_clients() {
    let calls = ["a", "b", "c"].map(|id| call(id, "delete", json!({"file": id})));
    let model = saying(calls.to_vec()).await;
    let mut patient = plan(&model, POLICY);
    patient.config.limits.approval = Duration::from_secs(30);
    let world = patient.start().await;
    let waiting = || async {
        loop {
            let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
            if listed["waiting"].as_array().unwrap().len() == 3 {
                return listed["waiting"].clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let body = request(Api::Chat, "Delete them.", false);
    let all = tokio::select! {
        got = world.post(path(Api::Chat), "s", &body) => panic!("nobody has answered: {}", got.text()),
        all = waiting() => all,
    };
    // The client has disconnected by now.
    quiet(&world).await;
    for item in all.as_array().unwrap() {
        let target = format!("/lictor/approvals/{}", item["id"].as_str().unwrap());
        let got = world.control(Method::POST, &target, &json!({"by": "ann", "allow": true})).await;
        assert_eq!(got.json()["outcome"], "allowed", "{}", got.text());
    }
    let got = world.post(path(Api::Chat), "s", &body).await;
    assert_eq!(got.text().matches("\"delete\"").count(), 3, "what was allowed is still allowed: {}", got.text());
    let records = world.end().await;
    assert_eq!(of_type(&records, "carried_out").len(), 3);
}
