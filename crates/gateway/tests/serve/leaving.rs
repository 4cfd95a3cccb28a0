//! Clients who leave, at the end or before it, and what they have seen by then; who is asked, and what stays masked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::Method;
use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::crossing::{POLICY, saying, told};
use crate::faults::quiet;
use crate::vendor::{call, hear_stream, history, path, request, result_item, said_items, stream, text};
use crate::world::{Ends, Model, Play, World, of_type, plan};

/// Asks as a client that leaves as soon as it has read this, and gives what it has read.
async fn ask_until(world: &World, api: Api, body: &Value, until: &str) -> String {
    let body = body.to_string();
    let mut connection = TcpStream::connect(world.address).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\nX-Lictor-Session: s\r\nContent-Length: {}\r\n\r\n{body}",
        path(api),
        body.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(until) {
        assert_ne!(connection.read_buf(&mut read).await.unwrap(), 0, "{}", String::from_utf8_lossy(&read));
    }
    String::from_utf8(read).unwrap()
}

/// Libraries hang up at the mark of the end, and do not wait for the end of the body.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_at_the_end_has_heard_all_of_it() {
    let marks = [(Api::Chat, "[DONE]"), (Api::Messages, "message_stop"), (Api::Responses, "response.completed")];
    for ((api, mark), ends) in marks.into_iter().flat_map(|mark| [(mark, Ends::Silent), (mark, Ends::Whole)]) {
        let said = vec![text("Paying."), call("c1", "pay", json!({}))];
        let spoken = said.clone();
        let model = Model::start(move |seen| match seen.json().to_string().contains("c1") {
            true => told(seen, &[text("Paid.")]),
            false => Play { ends, ..Play::stream(&stream(api, &spoken, 3)) },
        })
        .await;
        let world = plan(&model, POLICY).start().await;
        ask_until(&world, api, &request(api, "Pay.", true), mark).await;
        // What was paid once is not taken for a second payment when it is told once more, at once.
        let mut items = vec![json!({"role": "user", "content": "Pay."})];
        items.extend(said_items(api, &said));
        items.push(result_item(api, "c1", "paid"));
        let got = world.post(path(api), "s", &history(api, &items, false)).await;
        assert_eq!(got.status, 200, "{api:?}: {}", got.text());
        quiet(&world).await;
        let records = world.end().await;
        let calls = of_type(&records, "decision").into_iter().filter(|record| record["kind"] == "tool_call").count();
        assert_eq!(calls, 1, "{api:?}");
        let outcomes: Vec<&Value> = of_type(&records, "exchange").iter().map(|record| &record["outcome"]).collect();
        assert_eq!(outcomes, ["done", "done"], "{api:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_early_is_judged_by_what_they_have_heard() {
    let policy = "lictor: 1\nname: p\nfacts:\n  told: {on: assistant_message, where: {text: /FORBIDDEN/}}\nproperties:\n  - {id: quiet, formula: 'always (tool_call(\"send\") -> !once told)', respond: block}\n";
    for api in Api::ALL {
        let model = Model::start(move |seen| match seen.json()["stream"] == json!(true) {
            true => {
                let events = stream(api, &[text(&format!("FORBIDDEN {}", "and so on ".repeat(400)))], 9);
                Play { pause: Duration::from_millis(2), ..Play::stream(&events) }
            }
            false => told(seen, &[call("c", "send", json!({}))]),
        })
        .await;
        let world = plan(&model, policy).start().await;
        ask_until(&world, api, &request(api, "hi", true), "and so").await;
        quiet(&world).await;
        let got = world.post(path(api), "s", &request(api, "send it", false)).await;
        assert!(got.text().contains("quiet"), "{api:?}: {}", got.text());
        let records = world.end().await;
        let said = |record: &&Value| record["kind"] == "assistant_message";
        assert!(of_type(&records, "decision").iter().any(said), "{api:?}");
        assert_eq!(of_type(&records, "exchange")[0]["outcome"], "client_gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_withheld_while_it_was_said_is_written_down() {
    let rules = |respond: &str| {
        format!(
            "lictor: 1\nname: p\nproperties:\n  - {{id: no-secrets, formula: 'always forall c. (carries(c) -> !special(c))', respond: {respond}}}\n"
        )
    };
    for api in Api::ALL {
        for (respond, is_stopped) in [("redact", false), ("block", true)] {
            let long = format!("The patient has diabetes. {}", "And so on. ".repeat(200));
            let model = saying(vec![text(&long)]).await;
            let world = plan(&model, &rules(respond)).start().await;
            let got = world.post(path(api), "s", &request(api, "hi", true)).await;
            let heard = hear_stream(api, &got.body).text;
            assert!(!heard.contains("diabetes") && heard.contains("[redacted]"), "{api:?} {respond}: {heard}");
            let records = world.end().await;
            let shown = of_type(&records, "shown");
            assert_eq!(shown.len(), 1, "{api:?} {respond}: {records:#?}");
            assert_eq!((&shown[0]["stopped"], &shown[0]["properties"]), (&json!(is_stopped), &json!(["no-secrets"])));
            assert_eq!(shown[0]["masked"], usize::from(!is_stopped));
            let exchange = &of_type(&records, "exchange")[0];
            assert_eq!((&exchange["exchange"], &exchange["changed"]), (&shown[0]["exchange"], &json!(1)));
        }
    }
}

/// Two credentials: the upstream may believe the one, and the gateway the other.
#[tokio::test(flavor = "multi_thread")]
async fn two_credentials_are_one_too_many() {
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

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_on_masked_does_so_however_much_there_is() {
    let model = saying(vec![text("Hello.")]).await;
    let world = plan(&model, POLICY).start().await;
    let message = |number: usize| json!({"role": "user", "content": format!("{number}: she has diabetes")});
    let mut items: Vec<Value> = (0..1_100).map(message).collect();
    for more in ["and", "so"] {
        items.push(json!({"role": "user", "content": more}));
        assert_eq!(world.post(path(Api::Chat), "s", &history(Api::Chat, &items, false)).await.status, 200);
        let seen = String::from_utf8(model.seen().pop().unwrap().body.to_vec()).unwrap();
        assert_eq!((seen.matches("diabetes").count(), seen.matches("[redacted]").count()), (0, 1_100));
    }
    world.end().await;
}

/// Neither a request nor words that have half left can be kept until a person has answered.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_about_what_cannot_wait() {
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: ask, formula: 'always !user_message', respond: ask}\n";
    let model = saying(vec![text("Hello.")]).await;
    let world = plan(&model, policy).start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!((got.status, got.code()), (403, "policy.blocked"), "{}", got.text());
    assert!(!got.text().contains("once it was allowed"), "{}", got.text());
    let listed = world.control(Method::GET, "/lictor/approvals", &json!({})).await.json();
    assert_eq!(listed["waiting"], json!([]));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn persons_are_asked_about_all_calls_and_answer_nobody_who_has_gone() {
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
    // The client has gone by now.
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

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_denied_calls_are_sent_until_the_vendor_has_answered() {
    let tries = AtomicUsize::new(0);
    let model = Model::start(move |seen| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => told(seen, &[call("c1", "drop", json!({}))]),
        1 => Play { status: 429, ..Play::json(r#"{"error":{"message":"slowly"}}"#) },
        _ => told(seen, &[text("Well.")]),
    })
    .await;
    let world = plan(&model, POLICY).start().await;
    let api = Api::Responses;
    assert_eq!(world.post(path(api), "s", &request(api, "Drop it.", false)).await.status, 200);
    let mut next = request(api, "And now?", false);
    next["previous_response_id"] = json!("resp_1");
    for (status, answers) in [(429, 1), (200, 1), (200, 0)] {
        assert_eq!(world.post(path(api), "s", &next).await.status, status);
        let seen = String::from_utf8(model.seen().pop().unwrap().body.to_vec()).unwrap();
        assert_eq!(seen.matches("function_call_output").count(), answers, "{seen}");
    }
    world.end().await;
}

/// A call that the vendor will make is stopped where it is asked about: the next that is seen of it is its result.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_vendor_will_make_is_foreseen() {
    for (tool, is_asked) in [("drop", false), ("look", true)] {
        let item =
            json!({"type": "mcp_approval_request", "id": "a1", "name": tool, "arguments": "{}", "server_label": "s"});
        let body = json!({"id": "resp_1", "object": "response", "status": "completed", "output": [item]});
        let model = Model::start(move |_| Play::json(body.to_string())).await;
        let world = plan(&model, POLICY).start().await;
        let got = world.post(path(Api::Responses), "s", &request(Api::Responses, "hi", false)).await;
        assert_eq!(got.text().contains("mcp_approval_request"), is_asked, "{}", got.text());
        assert_eq!(got.text().contains("no-drop"), !is_asked, "{}", got.text());
        let records = world.end().await;
        let foreseen = |record: &&Value| record["refused"] == "policy.foreseen";
        assert_eq!(of_type(&records, "decision").iter().any(foreseen), !is_asked);
    }
}

/// Two exchanges of one session at the same time: what the one makes forgotten, the other still knows.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_on_masked_does_so_whoever_else_asks_meanwhile() {
    let model = Model::start(|seen| match seen.json()["stream"] == json!(true) {
        true => Play {
            pause: Duration::from_millis(20),
            ..Play::stream(&stream(Api::Chat, &[text(&"well ".repeat(40))], 5))
        },
        false => told(seen, &[text("Hello.")]),
    })
    .await;
    let mut narrow = plan(&model, POLICY);
    narrow.config.limits.items = 8;
    let world = narrow.start().await;
    let items: Vec<Value> =
        (0..8).map(|number| json!({"role": "user", "content": format!("{number}: she has diabetes")})).collect();
    let long = history(Api::Chat, &items, true);
    let slow = world.post(path(Api::Chat), "s", &long);
    let quick = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        world.post(path(Api::Chat), "s", &request(Api::Chat, "he has diabetes too", false)).await
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert_eq!((slow.status, quick.status), (200, 200), "{} {}", slow.text(), quick.text());
    assert_eq!(world.post(path(Api::Chat), "s", &history(Api::Chat, &items, false)).await.status, 200);
    for seen in model.seen() {
        assert!(!String::from_utf8_lossy(&seen.body).contains("diabetes"), "{seen:?}");
    }
    world.end().await;
}

/// What the model is to be told about an answer without words, it is told with other words.
#[tokio::test(flavor = "multi_thread")]
async fn advice_about_a_picture_is_not_lost() {
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: careful, formula: 'always !tool_result(\"look\")', respond: steer}\n";
    let api = Api::Messages;
    let model = saying(vec![text("Well.")]).await;
    let world = plan(&model, policy).start().await;
    let picture = json!({"type": "image", "source": {"type": "url", "url": "u"}});
    let mut items = vec![json!({"role": "user", "content": "hi"})];
    items.extend(said_items(api, &[call("c1", "look", json!({}))]));
    items
        .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [picture]}]}));
    assert_eq!(world.post(path(api), "s", &history(api, &items, false)).await.status, 200);
    let seen = String::from_utf8(model.seen().pop().unwrap().body.to_vec()).unwrap();
    assert_eq!(seen.matches("careful").count(), 1, "{seen}");
    world.end().await;
}
