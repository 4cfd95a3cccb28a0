//! Attempts to bypass the policy: ambiguous texts, rounded numbers, lookalike names, disguised identifiers.

use hyper::Method;
use lictor_gateway::KeyHash;
use lictor_wire::Api;
use serde_json::json;

use crate::crossing::{NOTHING, POLICY, saying};
use crate::vendor::{call, hear, hear_stream, history, path, reply, request, result_item, said_items, stream, text};
use crate::world::{Model, Play, of_type, plan};

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_bodies_are_refused() {
    let model = saying(vec![call("c1", "look", json!({}))]).await;
    let world = plan(&model, NOTHING).start().await;
    let with = |more: &str| format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"x":{more}}}"#);
    let bytes = |text: &[u8]| [br#"{"model":"m","messages":[{"role":"user","content":""#, text, br#""}]}"#].concat();
    let many = format!("[{}0]", "0,".repeat(2_000_001));
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a key twice", with(r#"{"tool":"safe","tool":"evil"}"#).into(), "json.duplicate_key"),
        ("a key twice, once escaped", with(r#"{"tool":"safe","t\u006fol":"evil"}"#).into(), "json.duplicate_key"),
        ("messages twice", br#"{"model":"m","messages":[],"m\u0065ssages":[]}"#.to_vec(), "json.duplicate_key"),
        ("depth in a field that nobody reads", with(&"[".repeat(100_000)).into(), "json.too_deep"),
        ("a lone surrogate", with(r#""\ud800""#).into(), "json.lone_surrogate"),
        ("bytes that are no UTF-8", bytes(b"\xff"), "json.utf8"),
        ("an overlong slash", bytes(b"\xc0\xaf"), "json.utf8"),
        ("a surrogate in UTF-8", bytes(b"\xed\xa0\x80"), "json.utf8"),
        ("a raw control character", bytes(b"a\x01b"), "json."),
        ("no number", with("NaN").into(), "json."),
        ("a comment", with("1 /* one */").into(), "json."),
        ("a comma too many", with("[1,]").into(), "json."),
        ("single quotes", with("'x'").into(), "json."),
        ("a mark at the beginning", [b"\xef\xbb\xbf", with("1").as_bytes()].concat(), "json."),
        ("two values", format!("{}{}", with("1"), with("2")).into(), "json.trailing"),
        ("a leading zero", with("01").into(), "json."),
        ("two million items", with(&many).into(), "json.too_many_values"),
        ("nothing", Vec::new(), "json."),
    ];
    let count = cases.len();
    for (what, body, code) in cases {
        let got = world.ask(Method::POST, path(Api::Chat), &[], body).await;
        assert_eq!(got.status, 400, "{what}: {}", got.text());
        assert!(got.code().starts_with(code), "{what}: {}", got.code());
    }
    assert!(model.seen().is_empty(), "nothing of it reached the model");
    // An unusual but valid character is kept.
    let odd = with(r#""\u0000""#);
    assert_eq!(world.ask(Method::POST, path(Api::Chat), &[], odd.clone()).await.status, 200);
    assert_eq!(model.seen().pop().unwrap().body, odd);
    let records = world.end().await;
    let blocked = of_type(&records, "decision").into_iter().filter(|record| record["action"] == "block").count();
    assert_eq!(blocked, count, "each has its record");
}

const EXACT: &str = r#"
lictor: 1
name: exact
facts:
  of_somebody_else: {on: tool_call(fetch), when: args.account == 9007199254740993}
properties:
  - {id: own-account, formula: 'always !of_somebody_else', respond: block}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn numbers_keep_spelling_and_compare_exactly() {
    // As floats, both accounts are equal.
    for (account, passes) in [("9007199254740992", true), ("9007199254740993", false)] {
        for api in Api::ALL {
            for streams in [false, true] {
                let args = format!(r#"{{"account":{account},"n":18446744073709551617,"z":-0,"e":1.50e+3}}"#);
                let written = [args.clone(), args.replace('"', "\\\"")];
                let model = Model::start(move |_| {
                    // The arguments verbatim, without another JSON encoding.
                    let said = [call("c1", "fetch", json!("ARGUMENTS"))];
                    let fill = |text: String| {
                        let text = text.replace(r#""\"ARGUMENTS\"""#, &format!("\"{}\"", written[1]));
                        let text = text.replace(r#""input":"ARGUMENTS""#, &format!(r#""input":{}"#, written[0]));
                        let quoted = format!(r#""partial_json":"{}""#, written[1]);
                        text.replace(r#""partial_json":"\"ARGUMENTS\"""#, &quoted)
                    };
                    match streams {
                        true => Play::stream(&stream(api, &said, 100).into_iter().map(fill).collect::<Vec<_>>()),
                        false => Play::json(fill(reply(api, &said))),
                    }
                })
                .await;
                let world = plan(&model, EXACT).start().await;
                let got = world.post(path(api), "s", &request(api, "fetch", streams)).await;
                assert_eq!(got.status, 200, "{}", got.text());
                let is_there = got.text().contains(&args) || got.text().contains(&args.replace('"', "\\\""));
                assert_eq!(is_there, passes, "{api:?} {streams} {account}: {}", got.text());
                assert_eq!(got.text().contains("own-account"), !passes, "{api:?} {streams} {account}");
                world.end().await;
            }
        }
    }
}

const LISTED: &str = r#"
lictor: 1
name: listed
properties:
  - {id: listed, formula: 'always forall t. (tool_call(t) -> (t = "look" | t = "pay"))', respond: block}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn lookalike_tool_names_are_distinct() {
    // With a letter of another script, an invisible character, another case, a blank, a NUL.
    let like_look = ["l\u{043e}ok", "lo\u{200b}ok", "Look", "look ", "look\u{0}", "\u{ff4c}ook", "loo\u{212a}"];
    let like_drop = ["dr\u{043e}p", "dro\u{200b}p", "Drop", "drop ", "drop\u{0}", "\u{ff44}rop"];
    let listed = like_look.into_iter().map(|name| (LISTED, name, false));
    // A policy forbids the exact name; the client has no tool of a lookalike name.
    let forbidden = like_drop.into_iter().map(|name| (POLICY, name, true));
    for (policy, name, passes) in listed.chain(forbidden).chain([(LISTED, "look", true), (POLICY, "drop", false)]) {
        for streams in [false, true] {
            let model = saying(vec![call("c1", name, json!({}))]).await;
            let world = plan(&model, policy).start().await;
            let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", streams)).await;
            let heard = if streams { hear_stream(Api::Chat, &got.body) } else { hear(Api::Chat, &got.body) };
            let names: Vec<&str> = heard.calls.iter().map(|(_, name, _)| name.as_str()).collect();
            assert_eq!(names, if passes { vec![name] } else { vec![] }, "{name:?}: {heard:?}");
            world.end().await;
        }
    }
}

const ERASED: &str = r#"
lictor: 1
name: erased
uses: [gdpr]
purposes: {support: {basis: legitimate_interest, necessary: [email]}}
tools: {look: {purposes: [support], effects: [read]}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn erased_subject_is_recognized_by_pseudonym() {
    let disguises = [
        "alice@example.com",
        "ALICE@Example.COM",
        "ali\u{200b}ce@example.com",
        "alice\u{ff20}example.com",
        "\u{0430}lice@example.com",
        "alice%40example.com",
        "alice&#64;example.com",
        "alice [at] example [dot] com",
        "YWxpY2VAZXhhbXBsZS5jb20=",
        "616c696365406578616d706c652e636f6d",
    ];
    let bob = "bob@example.com";
    for disguise in disguises.into_iter().chain([bob]) {
        // Within a longer text, as a model would write it.
        let model = saying(vec![call("c1", "look", json!({"query": format!("customer {disguise} please")}))]).await;
        let world = plan(&model, ERASED).start().await;
        let key = KeyHash::of("key").to_string();
        let erasure = json!({"session": "s", "key": key, "subject": "alice@example.com"});
        assert_eq!(world.control(Method::POST, "/lictor/erasures", &erasure).await.status, 200);
        for streams in [false, true] {
            let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", streams)).await;
            let heard = if streams { hear_stream(Api::Chat, &got.body) } else { hear(Api::Chat, &got.body) };
            assert_eq!(heard.calls.is_empty(), disguise != bob, "{disguise:?}: {heard:?}");
        }
        // Nor does the model learn of them from a tool.
        let mut items = vec![json!({"role": "user", "content": "hi"})];
        items.extend(said_items(Api::Chat, &[call("c2", "look", json!({}))]));
        items.push(result_item(Api::Chat, "c2", &format!("found {disguise} here")));
        let got = world.post(path(Api::Chat), "t", &history(Api::Chat, &items, false)).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let told = model.seen().pop().unwrap().json()["messages"][2].to_string();
        assert!(told.contains("found"), "it is another session: {told}");
        let got = world.post(path(Api::Chat), "s", &history(Api::Chat, &items, false)).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let told = model.seen().pop().unwrap().json()["messages"][2].to_string();
        assert_eq!(told.contains("found"), disguise == bob, "{disguise:?}: {told}");
        world.end().await;
    }
}

/// The gaps that the reference documents. If one of them is closed, change the reference too.
#[tokio::test(flavor = "multi_thread")]
async fn documented_gaps_are_still_open() {
    let secret = "The patient has diabetes.";
    let thinking = reply(Api::Chat, &[text("Fine.")])
        .replace("\"content\":\"Fine.\"", &format!("\"content\":\"Fine.\",\"reasoning_content\":\"{secret}\""));
    let (first, second) = secret.split_at(20);
    for (what, said, wanted) in [
        ("said", reply(Api::Chat, &[text(secret)]), "The patient has [redacted]."),
        ("thought", thinking, secret),
        ("encoded twice", reply(Api::Chat, &[text("WkdsaFltVjBaWE09")]), "WkdsaFltVjBaWE09"),
        ("reversed", reply(Api::Chat, &[text("setebaid")]), "setebaid"),
    ] {
        let model = Model::start(move |_| Play::json(said.clone())).await;
        let world = plan(&model, POLICY).start().await;
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
        assert!(got.text().contains(wanted), "{what}: {}", got.text());
        world.end().await;
    }
    // In two messages, one after the other.
    let model = Model::start(move |seen| {
        let said = if seen.json()["messages"].as_array().unwrap().len() == 1 { first } else { second };
        Play::json(reply(Api::Chat, &[text(said)]))
    })
    .await;
    let world = plan(&model, POLICY).start().await;
    let mut items = vec![json!({"role": "user", "content": "hi"})];
    let mut heard = String::new();
    for _ in 0..2 {
        let got = world.post(path(Api::Chat), "s", &history(Api::Chat, &items, false)).await;
        let said = hear(Api::Chat, &got.body).text;
        items.extend([json!({"role": "assistant", "content": said}), json!({"role": "user", "content": "go on"})]);
        heard.push_str(&said);
    }
    assert_eq!(heard, secret);
    world.end().await;
}
