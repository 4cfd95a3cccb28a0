//! Forwarding and enforcement in all three APIs, streamed and not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::Method;
use lictor_wire::Api;
use serde_json::{Value, json};

use crate::vendor::{
    ClientReply, Say, call, hear, hear_stream, history, path, reply, request, result_item, said_items, stream, text,
};
use crate::world::{ClientAnswer, Model, Play, SeenRequest, World, of_type, plan};

pub(crate) const NOTHING: &str = "lictor: 1\nname: nothing\n";

pub(crate) const POLICY: &str = r#"
lictor: 1
name: policy
properties:
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block}
  - {id: no-drop, formula: 'always !tool_call("drop")', respond: block, says: Nothing is dropped., remedy: Archive it.}
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: no-secrets, formula: 'always forall c. (carries(c) -> !special(c))', respond: redact}
  - {id: greet, formula: 'always (tool_call("greet") -> once tool_call("look"))', respond: steer}
"#;

/// Each interface, and whether its reply is streamed.
pub(crate) const EVERY_TRANSFER: [(Api, bool); 6] = [
    (Api::Chat, false),
    (Api::Chat, true),
    (Api::Responses, false),
    (Api::Responses, true),
    (Api::Messages, false),
    (Api::Messages, true),
];

/// Starts a model that gives the same reply each time, in the API of the request.
pub(crate) async fn saying(said: Vec<Say>) -> Model {
    Model::start(move |seen| told(seen, &said)).await
}

/// Returns the model's reply in the API of the request.
pub(crate) fn told(seen: &SeenRequest, said: &[Say]) -> Play {
    let api = Api::ALL.into_iter().find(|api| seen.path.contains(path(*api).trim_start_matches("/v1"))).unwrap();
    match seen.json()["stream"] == json!(true) {
        true => Play::stream(&stream(api, said, 3)),
        false => Play::json(reply(api, said)),
    }
}

fn heard(api: Api, streams: bool, got: &ClientAnswer) -> ClientReply {
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(got.is_whole);
    if streams { hear_stream(api, &got.body) } else { hear(api, &got.body) }
}

async fn asked(world: &World, api: Api, streams: bool, session: &str, said: &str) -> ClientReply {
    let got = world.post(path(api), session, &request(api, said, streams)).await;
    heard(api, streams, &got)
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_exchange_is_forwarded_byte_for_byte() {
    let said = vec![text("Hello \u{1f600}, wörld."), call("c1", "look", json!({"a": "b", "n": 2.50}))];
    let model = saying(said.clone()).await;
    let world = plan(&model, NOTHING).start().await;
    for (api, streams) in EVERY_TRANSFER {
        let sent = format!(" {}\n", request(api, "hi", streams));
        let got = world.ask(Method::POST, path(api), &[("authorization", "Bearer k")], sent.clone()).await;
        let wanted = if streams { stream(api, &said, 3).concat() } else { reply(api, &said) };
        assert_eq!(got.text(), wanted, "{api:?} {streams}");
        let seen = model.seen().pop().unwrap();
        assert_eq!(seen.body, sent, "{api:?} {streams}");
        assert_eq!((&seen.method, seen.path.as_str()), (&Method::POST, path(api)));
        assert_eq!(seen.headers["authorization"], "Bearer k");
    }
    let records = world.end().await;
    let exchanges = of_type(&records, "exchange");
    assert_eq!(exchanges.len(), EVERY_TRANSFER.len());
    assert!(exchanges.iter().all(|record| record["outcome"] == "done"), "{exchanges:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answer_is_forwarded_byte_for_byte() {
    let said = vec![text(&"many words ".repeat(60_000)), call("c1", "look", json!({}))];
    let model = saying(said.clone()).await;
    let world = plan(&model, NOTHING).start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    let wanted = reply(Api::Chat, &said);
    assert!(got.is_whole && got.body == wanted);
    assert_eq!(got.headers["content-length"], wanted.len().to_string().as_str());
    let records = world.end().await;
    assert_eq!(of_type(&records, "exchange")[0]["sent_down"], wanted.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_call_is_replaced_by_denial() {
    for (api, streams) in EVERY_TRANSFER {
        let model = saying(vec![text("Now."), call("c1", "drop", json!({"x": 1}))]).await;
        let world = plan(&model, POLICY).start().await;
        let heard = asked(&world, api, streams, "s", "hi").await;
        assert!(heard.calls.is_empty(), "{api:?} {streams}: {heard:?}");
        assert!(heard.text.starts_with("Now."), "{heard:?}");
        assert!(heard.text.contains("no-drop") && heard.text.contains("Archive it."), "{api:?} {streams}: {heard:?}");
        let records = world.end().await;
        let blocked = of_type(&records, "decision").into_iter().filter(|record| record["action"] == "block").count();
        assert_eq!(blocked, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_calls_are_judged_one_by_one() {
    for (api, streams) in EVERY_TRANSFER {
        let calls =
            vec![call("c1", "pay", json!({"n": 1})), call("c2", "pay", json!({"n": 2})), call("c3", "look", json!({}))];
        let model = saying(calls).await;
        let world = plan(&model, POLICY).start().await;
        let heard = asked(&world, api, streams, "s", "hi").await;
        let ids: Vec<&str> = heard.calls.iter().map(|(id, _, _)| id.as_str()).collect();
        assert_eq!(ids, ["c1", "c3"], "{api:?} {streams}: {heard:?}");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_arguments_are_redacted() {
    for (api, streams) in EVERY_TRANSFER {
        let model = saying(vec![call("c1", "note", json!({"diagnosis": "asthma", "text": "ok"}))]).await;
        let world = plan(&model, POLICY).start().await;
        let heard = asked(&world, api, streams, "s", "hi").await;
        assert_eq!(
            heard.calls,
            [("c1".into(), "note".into(), json!({"diagnosis": "[redacted]", "text": "ok"}))],
            "{api:?} {streams}"
        );
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_text_is_masked_across_chunks() {
    let long = "It was a long day, and there is much to tell. ".repeat(20);
    for (api, streams) in EVERY_TRANSFER {
        let model = saying(vec![text(&format!("{long}The patient has diabetes. {long}"))]).await;
        let world = plan(&model, POLICY).start().await;
        let heard = asked(&world, api, streams, "s", "hi").await;
        assert!(!heard.text.contains("diabetes"), "{api:?} {streams}: {}", heard.text);
        assert_eq!(heard.text, format!("{long}The patient has [redacted]. {long}"), "{api:?} {streams}");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resent_history_is_judged_once() {
    for (api, streams) in EVERY_TRANSFER {
        let model = Model::start(|seen| {
            let is_first = !seen.json().to_string().contains("look around");
            told(seen, &[if is_first { call("c1", "pay", json!({"n": 1})) } else { text("Done.") }])
        })
        .await;
        let world = plan(&model, POLICY).start().await;
        let user = json!({"role": "user", "content": "hi"});
        let first = asked(&world, api, streams, "s", "hi").await;
        assert_eq!(first.calls.len(), 1);
        let mut items = vec![user];
        items.extend(said_items(api, &[call("c1", "pay", json!({"n": 1}))]));
        items.push(result_item(api, "c1", "look around"));
        let got = world.post(path(api), "s", &history(api, &items, streams)).await;
        let second = heard(api, streams, &got);
        assert_eq!(second.text, "Done.", "the call that was made once counts once");
        let records = world.end().await;
        let kinds: Vec<&str> = of_type(&records, "decision").iter().map(|it| it["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["user_message", "tool_call", "tool_result", "assistant_message"], "{api:?} {streams}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_result_is_redacted_each_time_sent() {
    for (api, streams) in EVERY_TRANSFER {
        let model = saying(vec![text("Fine.")]).await;
        let world = plan(&model, POLICY).start().await;
        let mut items = vec![json!({"role": "user", "content": "hi"})];
        items.extend(said_items(api, &[call("c1", "look", json!({}))]));
        items.push(result_item(api, "c1", "the patient has diabetes"));
        for _ in 0..2 {
            let got = world.post(path(api), "s", &history(api, &items, streams)).await;
            assert_eq!(got.status, 200, "{}", got.text());
            let body = String::from_utf8(model.seen().pop().unwrap().body.to_vec()).unwrap();
            assert!(!body.contains("diabetes") && body.contains("[redacted]"), "{body}");
            assert!(body.contains("\"x_unknown\":{\"kept\":[1,2.5]}"), "{body}");
            items.extend(said_items(api, &[text("Fine.")]));
            items.push(json!({"role": "user", "content": "and now?"}));
        }
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steer_note_reaches_model_with_next_request() {
    for (api, streams) in EVERY_TRANSFER {
        let model = Model::start(|seen| {
            let is_first = !seen.json().to_string().contains("greeted");
            told(seen, &[if is_first { call("c1", "greet", json!({})) } else { text("Ok.") }])
        })
        .await;
        let world = plan(&model, POLICY).start().await;
        let first = asked(&world, api, streams, "s", "hi").await;
        assert_eq!(first.calls.len(), 1, "a step that is steered goes on");
        let mut items = vec![json!({"role": "user", "content": "hi"})];
        items.extend(said_items(api, &[call("c1", "greet", json!({}))]));
        items.push(result_item(api, "c1", "greeted"));
        world.post(path(api), "s", &history(api, &items, streams)).await;
        let body = model.seen().pop().unwrap().json().to_string();
        assert!(body.contains("greeted\\n\\nThis step went on, but"), "{api:?} {streams}: {body}");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_errors_pass_and_unknown_replies_do_not() {
    let model = Model::start(|seen| match seen.path.as_str() {
        "/v1/models" => Play::json(r#"{"data":[{"id":"m"}]}"#),
        path if path.contains("messages") => {
            Play { status: 529, ..Play::json(r#"{"type":"error","error":{"type":"overloaded_error"}}"#) }
        }
        path if path.contains("responses") => Play::json(r#"{"object":"something else"}"#),
        _ => Play::stream(&["data: {\"object\":\"unknown\"}\n\n".to_owned()]),
    })
    .await;
    let world = plan(&model, POLICY).start().await;
    let got = world.post(path(Api::Messages), "s", &request(Api::Messages, "hi", false)).await;
    assert_eq!((got.status, got.json()["error"]["type"].as_str()), (529, Some("overloaded_error")));
    let got = world.post(path(Api::Responses), "s", &request(Api::Responses, "hi", false)).await;
    assert_eq!(got.status, 502, "{}", got.text());
    assert!(got.json()["error"]["code"].is_string());
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", true)).await;
    assert!(got.text().contains("\"error\"") && !got.text().contains("unknown\"}"), "{}", got.text());
    let got = world.ask(Method::GET, "/v1/models", &[], "").await;
    assert_eq!(got.json()["data"][0]["id"], "m");
    let before = model.seen().len();
    let got = world.ask(Method::POST, "/v1/embeddings", &[], "{}").await;
    assert_eq!((got.status, got.code()), (403, "route.unknown"));
    let wrong: Value = json!({"model": "m", "messages": [{"role": "oracle", "content": "hi"}]});
    let got = world.post(path(Api::Chat), "s", &wrong).await;
    assert_eq!(got.status, 400, "{}", got.text());
    let got = world.ask(Method::POST, path(Api::Messages), &[], "{\"model\":\"m\",\"model\":\"n\"}").await;
    assert_eq!((got.status, got.json()["type"].as_str()), (400, Some("error")));
    assert_eq!(model.seen().len(), before, "nothing of it reached the model");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_text_is_replaced() {
    let policy = r#"
lictor: 1
name: polite
facts:
  rude: {on: [assistant_message, user_message], where: {text: /darned/}}
properties:
  - {id: polite, formula: 'always !rude', respond: block}
"#;
    let long = "It was a long day, and there is much to tell. ".repeat(20);
    for (api, streams) in EVERY_TRANSFER {
        let model = saying(vec![text(&format!("{long}You darned fool. {long}"))]).await;
        let world = plan(&model, policy).start().await;
        let heard = asked(&world, api, streams, "s", "hi").await;
        assert!(!heard.text.contains("darned"), "{api:?} {streams}: {}", heard.text);
        let is_short = heard.text.ends_with("I am sorry, I cannot say that here.") && !heard.text.contains("polite");
        assert!(is_short, "a person reads no reasons: {api:?} {streams}: {}", heard.text);
        let got = world.post(path(api), "s", &request(api, "you darned machine", streams)).await;
        assert_eq!((got.status, got.code()), (403, "policy.blocked"), "{}", got.text());
        assert!(got.json()["error"]["message"].as_str().unwrap().contains("polite"));
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_message_is_judged_again_on_retry() {
    let policy = r#"
lictor: 1
name: later
facts:
  asks: {on: user_message, where: {text: /please/}}
properties:
  - {id: after-consent, formula: 'always (asks -> once consent(_, "talk"))', respond: block}
"#;
    for (api, streams) in EVERY_TRANSFER {
        let model = saying(vec![text("Here you are.")]).await;
        let world = plan(&model, policy).start().await;
        let body = request(api, "please", streams);
        let first = world.post(path(api), "s", &body).await;
        assert_eq!((first.status, world.post(path(api), "s", &body).await.status), (403, 403));
        let name = first.headers["x-lictor-session-name"].to_str().unwrap();
        let consent = json!({"session_name": name, "subject": "ann", "purposes": ["talk"], "granted": true});
        assert_eq!(world.control(Method::POST, "/lictor/consents", &consent).await.status, 200);
        assert_eq!(heard(api, streams, &world.post(path(api), "s", &body).await).text, "Here you are.");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_calls_are_answered_in_kept_history() {
    for streams in [false, true] {
        let model = saying(vec![call("c1", "drop", json!({})), call("c2", "look", json!({}))]).await;
        let world = plan(&model, POLICY).start().await;
        asked(&world, Api::Responses, streams, "s", "hi").await;
        let mut next = history(
            Api::Responses,
            &[result_item(Api::Responses, "c2", "seen"), json!({"role": "user", "content": "yes"})],
            streams,
        );
        next["previous_response_id"] = json!("resp_1");
        for round in 0..2 {
            let got = world.post(path(Api::Responses), "s", &next).await;
            assert_eq!(got.status, 200, "{}", got.text());
            let input = model.seen().pop().unwrap().json()["input"].clone();
            assert_eq!(
                (&input[0]["call_id"], &input[0]["type"]),
                (&json!("c1"), &json!("function_call_output")),
                "{input}"
            );
            assert!(input[0]["output"].as_str().unwrap().contains("no-drop"), "{round}");
            assert_eq!(input.as_array().unwrap().len(), 3);
        }
        // So does a request with a text as its input.
        next["input"] = json!("and then?");
        let got = world.post(path(Api::Responses), "s", &next).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let input = model.seen().pop().unwrap().json()["input"].clone();
        assert_eq!((&input[0]["call_id"], &input[1]["content"]), (&json!("c1"), &json!("and then?")), "{input}");
        let records = world.end().await;
        let said = of_type(&records, "decision").iter().filter(|record| record["kind"] == "user_message").count();
        assert_eq!(said, 4, "the same words said twice are said twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn path_variants_cannot_bypass_judging() {
    let model = saying(vec![call("c1", "drop", json!({}))]).await;
    let mut open = plan(&model, POLICY);
    open.config.forward = vec!["/v1/files*".to_owned()];
    let world = open.start().await;
    let body = request(Api::Chat, "hi", false).to_string();
    for target in [
        "/v1/files/../chat/completions",
        "/v1/files/%2e%2e/chat/completions",
        "/v1/files/..%2fchat/completions",
        "/v1/files/..%5Cchat/completions",
        "/v1//chat/completions",
        "/v1/./chat/completions",
        "/v1/chat/completions;x",
        "/v1/chat/completions/c1",
        "/v1/CHAT/completions",
        "/lictor/../v1/chat/completions",
    ] {
        let got = world.ask(Method::POST, target, &[], body.clone()).await;
        assert!(matches!(got.status, 400 | 401 | 403 | 404), "{target}: {}", got.text());
    }
    let mut wide = plan(&model, POLICY);
    wide.config.forward = vec!["*".to_owned()];
    let all = wide.start().await;
    for target in ["/v1/chat/completion%73", "/v1/%63hat/completions", "/V1/Chat/completions", "/v1/CHAT/Completions/"]
    {
        let got = all.ask(Method::POST, target, &[], body.clone()).await;
        assert_eq!((got.status, got.code()), (400, "route.path"), "{target}: {}", got.text());
    }
    all.end().await;
    assert!(model.seen().is_empty(), "{:?}", model.seen());
    for target in [
        "/v1/chat/completions/",
        "/v1/chat/completions?beta=true",
        "/openai/v1/chat/completions",
        "/V1/chat/completions",
        "/v1/files/chat/completions",
    ] {
        let got = world.ask(Method::POST, target, &[], body.clone()).await;
        assert!(got.text().contains("no-drop"), "{target}: {}", got.text());
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redaction_survives_many_items() {
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

#[tokio::test(flavor = "multi_thread")]
async fn denied_call_answers_repeat_until_upstream_success() {
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

/// A vendor's call is stopped at the vendor's question: the call itself is never seen, only its result.
#[tokio::test(flavor = "multi_thread")]
async fn vendor_call_is_previewed_before_approval() {
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

/// Two concurrent exchanges of one session: an alteration that one evicts, the other keeps.
#[tokio::test(flavor = "multi_thread")]
async fn redaction_survives_concurrent_exchange() {
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

/// A note about a result without text is attached to another text.
#[tokio::test(flavor = "multi_thread")]
async fn steer_note_about_picture_is_not_lost() {
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
