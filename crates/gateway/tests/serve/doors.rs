//! What must not cross, whatever an upstream or a client sends; and shadow mode, in which everything does.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use hyper::Method;
use lictor_wire::{Api, UnknownFields};
use serde_json::json;

use crate::crossing::{NOTHING, POLICY, saying};
use crate::faults::Fills;
use crate::vendor::{call, path, reply, request, stream, text};
use crate::world::{Model, Play, plan};

fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_of_upstream_do_not_cross() {
    for status in [300, 301, 302, 303, 304, 307, 308] {
        let model = Model::start(move |_| Play {
            status,
            headers: vec![("location", "http://elsewhere.example/v1/chat/completions".into())],
            ..Play::json("{}")
        })
        .await;
        let world = plan(&model, NOTHING).start().await;
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
        assert_eq!((got.status, got.code()), (502, "upstream.redirect"), "{status}");
        assert!(got.headers.get("location").is_none());
        if status != 304 {
            let got = world.ask(Method::GET, "/v1/models", &[], "").await;
            assert_eq!((got.status, got.code()), (502, "upstream.redirect"), "{status}");
        }
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_cannot_set_headers_of_the_gateway() {
    let model = Model::start(|_| Play {
        headers: vec![
            ("content-type", "application/json".into()),
            ("x-lictor-session", "forged".into()),
            ("x-lictor-code", "policy.approved".into()),
        ],
        ..Play::json(reply(Api::Chat, &[text("hi")]).to_string())
    })
    .await;
    let world = plan(&model, NOTHING).start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!((got.status, got.code()), (200, ""));
    assert!(got.headers.values().all(|value| value != "forged"), "{:?}", got.headers);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unjudged_bodies_keep_their_encoding() {
    let packed = gzip(b"{\"data\":[]}");
    let sent = packed.clone();
    let model = Model::start(move |seen| {
        let encoding =
            seen.headers.get("content-encoding").map_or("none".into(), |value| value.to_str().unwrap().into());
        Play {
            headers: vec![
                ("content-type", "application/json".into()),
                ("content-encoding", "gzip".into()),
                ("x-seen", encoding),
            ],
            pieces: vec![sent.clone()],
            ..Play::json("")
        }
    })
    .await;
    let mut listed = plan(&model, NOTHING);
    listed.config.forward = vec!["/v1/files*".into()];
    let world = listed.start().await;
    let got = world.ask(Method::GET, "/v1/models", &[], "").await;
    assert_eq!(got.headers["content-encoding"], "gzip");
    assert_eq!(got.body, packed);
    let got = world.ask(Method::POST, "/v1/files", &[("content-encoding", "gzip")], packed.clone()).await;
    assert_eq!(got.headers["x-seen"], "gzip", "the header says how the body is packed");
    assert_eq!(model.seen().pop().unwrap().body, packed);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_paths_cover_no_judged_route() {
    let model = Model::start(|_| Play::json(reply(Api::Messages, &[text("hi")]).to_string())).await;
    let mut listed = plan(&model, POLICY);
    listed.config.forward = vec!["/v1/files*".into()];
    let world = listed.start().await;
    let body = request(Api::Messages, "the patient has diabetes", false);
    world.post("/v1/files/v1/messages", "s", &body).await;
    assert!(!String::from_utf8_lossy(&model.seen().pop().unwrap().body).contains("diabetes"), "it is judged");
    let asked = model.seen().len();
    for (path, code) in [
        ("/v1/files/f/messages", "route.unknown"),
        ("/v1/files/V1/messages/", "route.path"),
        ("/v1/files//v1/messages", "route.path"),
        ("/v1/files/%2e%2e/messages", "route.path"),
        ("/v1/files%2Fv1%2Fmessages", "route.path"),
    ] {
        let got = world.post(path, "s", &body).await;
        assert_eq!(got.code(), code, "{path}");
    }
    assert_eq!(model.seen().len(), asked);
    let got = world.post("/v1/files/f/content", "s", &body).await;
    assert_eq!(got.status, 200);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_members_of_a_packed_request_are_judged() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, POLICY).start().await;
    let body = request(Api::Chat, "the patient has diabetes", false).to_string();
    let (first, second) = body.split_at(body.len() / 2);
    let packed: Bytes = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat().into();
    let got = world.ask(Method::POST, path(Api::Chat), &[("content-encoding", "gzip")], packed).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(!String::from_utf8_lossy(&model.seen().pop().unwrap().body).contains("diabetes"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_charsets_are_refused() {
    let model = Model::start(|_| Play {
        headers: vec![("content-type", "application/json; charset=utf-7".into())],
        ..Play::json(reply(Api::Chat, &[text("hi")]).to_string())
    })
    .await;
    let world = plan(&model, NOTHING).start().await;
    let body = request(Api::Chat, "hi", false).to_string();
    let headers = [("content-type", "application/json; charset=utf-16le")];
    let got = world.ask(Method::POST, path(Api::Chat), &headers, body.clone()).await;
    assert_eq!((got.status, got.code()), (415, "body.charset"));
    assert!(model.seen().is_empty());
    let got = world.ask(Method::POST, path(Api::Chat), &[], body).await;
    assert_eq!((got.status, got.code()), (502, "upstream.charset"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn get_with_a_body_is_refused() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let got = world.ask(Method::GET, "/v1/models", &[], "{\"prompt\":\"secret\"}").await;
    assert_eq!((got.status, got.code()), (400, "body.unexpected"));
    assert!(model.seen().is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn count_of_tokens_is_judged() {
    let model = Model::start(|_| Play::json("{\"input_tokens\":9}")).await;
    let world = plan(&model, POLICY).start().await;
    let body = request(Api::Messages, "the patient has diabetes", false);
    let got = world.post("/v1/messages/count_tokens", "s", &body).await;
    assert_eq!((got.status, got.text()), (200, "{\"input_tokens\":9}"));
    assert!(!String::from_utf8_lossy(&model.seen().pop().unwrap().body).contains("diabetes"));
    let got = world.post("/v1/responses/input_tokens", "t", &request(Api::Responses, "diabetes", false)).await;
    assert_eq!(got.status, 200);
    assert!(!String::from_utf8_lossy(&model.seen().pop().unwrap().body).contains("diabetes"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_follow_the_configuration() {
    let said = json!({"choices": [{"index": 0, "mood": "calm", "message": {"role": "assistant", "content": "hi"}}]});
    for (unknown, status, passes) in
        [(UnknownFields::Strip, 200, false), (UnknownFields::Pass, 200, true), (UnknownFields::Refuse, 502, false)]
    {
        let answer = said.to_string();
        let model = Model::start(move |_| Play::json(answer.clone())).await;
        let mut plan = plan(&model, NOTHING);
        plan.config.unknown_fields = unknown;
        let world = plan.start().await;
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
        assert_eq!((got.status, got.text().contains("calm")), (status, passes), "{unknown:?}");
        assert_eq!(world.figure("lictor_fields_stripped_total").await, u64::from(unknown == UnknownFields::Strip));
        world.end().await;
    }
}

/// What no reader understands, and what a policy stops.
#[tokio::test(flavor = "multi_thread")]
async fn shadow_mode_stops_nothing() {
    let broken = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[1]}}]}\n\ndata: what?\n\n";
    let replies = [
        Play::json("no JSON at all"),
        Play::json("{\"choices\":{\"0\":1},\"choices\":2}"),
        Play { headers: vec![("content-type", "text/html; charset=latin1".into())], ..Play::json("<p>hi") },
        Play::stream(&[broken.to_owned()]),
        Play {
            headers: vec![("content-type", "text/event-stream".into()), ("content-encoding", "gzip".into())],
            ..Play::json("packed")
        },
        Play::stream(&stream(Api::Chat, &[call("c", "drop", json!({}))], 3)),
        Play {
            headers: vec![("content-type", "application/json".into()), ("content-encoding", "gzip".into())],
            ..Play::json("no gzip")
        },
        Play {
            headers: vec![("content-type", "application/json".into()), ("content-encoding", "br".into())],
            ..Play::json("no brotli")
        },
    ];
    for play in replies {
        let expected: Bytes = play.pieces.concat().into();
        let model = Model::start(move |_| play.clone()).await;
        let mut watching = plan(&model, POLICY);
        watching.config.shadow = true;
        let world = watching.start().await;
        for body in [request(Api::Chat, "hi", true).to_string(), "{\"messages\": 5".into(), "{\"a\":1,\"a\":2}".into()]
        {
            let got = world.ask(Method::POST, path(Api::Chat), &[], body.clone()).await;
            assert_eq!((got.status, &got.body), (200, &expected), "{body}");
            assert_eq!(model.seen().pop().unwrap().body, body);
        }
        let got = world.ask(Method::POST, path(Api::Chat), &[("content-encoding", "gzip")], "no gzip").await;
        assert_eq!((got.status, &got.body), (200, &expected));
        let got = world.ask(Method::POST, "/v1//chat/../completions", &[], "{}").await;
        assert_eq!((got.status, &got.body), (200, &expected));
        for callers in [
            [("authorization", "Bearer one"), ("x-api-key", "two")],
            [("x-lictor-session", "one"), ("x-lictor-session", "two")],
        ] {
            let body = request(Api::Chat, "hi", true).to_string();
            let got = world.ask(Method::POST, path(Api::Chat), &callers, body).await;
            assert_eq!((got.status, &got.body), (200, &expected), "{callers:?}");
            let got = world.ask(Method::GET, "/lictor/health", &callers, "").await;
            assert_eq!(got.status, 400, "the gateway's own endpoints have one caller");
        }
        assert!(world.figure("lictor_forwarded_unchecked_total").await >= 3);
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_mode_needs_no_ledger() {
    let disk = Fills::default();
    let model = saying(vec![text("hi")]).await;
    let mut watching = plan(&model, POLICY);
    watching.config.shadow = true;
    watching.config.limits.exchanges = 3;
    watching.disk = Arc::new(disk.clone());
    let world = watching.start().await;
    disk.is_full.store(true, Ordering::SeqCst);
    for (number, streams) in [(0, false), (1, true), (2, false), (3, true), (4, false), (5, true), (6, false)] {
        let api = Api::ALL[number % 3];
        let got = world.post(path(api), "s", &request(api, "the patient has diabetes", streams)).await;
        assert_eq!(got.status, 200, "{number}: {}", got.text());
        assert!(got.is_whole);
    }
    assert_eq!(model.seen().len(), 7);
    disk.is_full.store(false, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread")]
async fn reply_in_error_or_odd_status_is_refused() {
    for (status, code) in [
        (400, "upstream.error_with_reply"),
        (529, "upstream.error_with_reply"),
        (600, "upstream.status"),
        (999, "upstream.status"),
    ] {
        let model =
            Model::start(move |_| Play { status, ..Play::json(reply(Api::Chat, &[text("hi")]).to_string()) }).await;
        let world = plan(&model, NOTHING).start().await;
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
        assert_eq!((got.status, got.code()), (502, code), "{status}");
        assert!(!got.text().contains("\"hi\""), "{status}");
        world.end().await;
    }
    let error = r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
    let model = Model::start(move |_| Play { status: 429, ..Play::json(error) }).await;
    let world = plan(&model, NOTHING).start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!((got.status, got.text()), (429, error));
    world.end().await;
}
