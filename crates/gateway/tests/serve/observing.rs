//! What an operator sees: metrics, log lines, readiness.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use lictor_gateway::{Journal, KeyHash};
use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::crossing::{NOTHING, POLICY, saying};
use crate::faults::quiet;
use crate::vendor::{call, path, request, stream, text};
use crate::world::{Model, Play, World, ask_at, plan};

/// Log lines, shared with the journal that writes them.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Returns the lines about an event, once there are so many.
    pub(crate) async fn wait_for(&self, event: &str, count: usize) -> Vec<Value> {
        for _ in 0..250 {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let lines: Vec<Value> = lines.filter(|line| line["event"] == event).collect();
            if lines.len() >= count {
                return lines;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no {count} lines about `{event}`: {}", String::from_utf8_lossy(&self.0.lock().unwrap()));
    }
}

/// Returns the metrics as the operator sees them.
async fn metrics(world: &World) -> String {
    world.control(Method::GET, "/lictor/metrics", &json!({})).await.text().to_owned()
}

/// Asserts that the metrics have a line.
fn assert_line(metrics: &str, line: &str) {
    assert!(metrics.lines().any(|it| it == line), "{line} in\n{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_name_property_tenant_and_code() {
    let model = saying(vec![call("c", "drop", json!({}))]).await;
    let mut observed = plan(&model, POLICY);
    observed.config.tenants.insert(KeyHash::of("key"), "acme".to_owned());
    let lines = Lines::default();
    observed.journal = Journal::new(lines.clone());
    let world = observed.start().await;
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let got = world.ask(Method::GET, "/v1/nowhere", &[("authorization", "Bearer key")], "").await;
    assert_eq!(got.code(), "route.unknown");
    assert_eq!(world.ask(Method::GET, "/v1/nowhere", &[], "").await.code(), "route.unknown");
    quiet(&world).await;
    let shown = metrics(&world).await;
    for line in [
        r#"lictor_decisions_total{tenant="acme",action="block"} 2"#,
        r#"lictor_decisions_total{tenant="acme",action="forward"} 1"#,
        r#"lictor_decisions_total{tenant="everybody",action="block"} 1"#,
        r#"lictor_objections_total{tenant="acme",property="no-drop",response="block"} 1"#,
        r#"lictor_error_responses_total{tenant="acme",code="route.unknown"} 1"#,
        r#"lictor_error_responses_total{tenant="everybody",code="route.unknown"} 1"#,
    ] {
        assert_line(&shown, line);
    }
    assert!(!shown.contains("\"drop\""), "models make up names of tools, so they are no labels");
    let open = world.ask(Method::GET, "/lictor/metrics", &[], "").await.text().to_owned();
    assert_line(&open, r#"lictor_objections_total{tenant="all",property="no-drop",response="block"} 1"#);
    assert!(!open.contains("acme"), "clients learn nothing of other tenants");

    let line = lines.wait_for("decision", 1).await.remove(0);
    assert_eq!(line["summary"], "blocked drop: no-drop");
    assert_eq!((line["tenant"].as_str(), line["action"].as_str()), (Some("acme"), Some("block")));
    assert_eq!(line["exchange"], lines.wait_for("exchange", 1).await[0]["exchange"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_names_decisions_not_enforced_in_shadow() {
    let model = saying(vec![call("c", "drop", json!({}))]).await;
    let mut shadow = plan(&model, POLICY);
    shadow.config.shadow = true;
    let lines = Lines::default();
    shadow.journal = Journal::new(lines.clone());
    let world = shadow.start().await;
    world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!(lines.wait_for("decision", 1).await[0]["summary"], "would have blocked drop: no-drop");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_model_lists_as_models() {
    let model = Model::start(|_| Play::json("{}")).await;
    let world = plan(&model, NOTHING).start().await;
    assert_eq!(world.ask(Method::GET, "/v1/models", &[], "").await.status, 200);
    quiet(&world).await;
    let shown = metrics(&world).await;
    assert_line(&shown, r#"lictor_exchanges_total{api="models",outcome="done"} 1"#);
    assert_line(&shown, r#"lictor_exchanges_total{api="openai-chat",outcome="done"} 0"#);
    let records = world.end().await;
    assert_eq!(crate::world::of_type(&records, "exchange")[0]["api"], "models");
}

#[tokio::test(flavor = "multi_thread")]
async fn latency_is_measured_to_first_byte_and_end() {
    let model = Model::start(|seen| {
        let events = stream(Api::Chat, &[text("word word word word")], 5);
        match seen.json()["stream"] == json!(true) {
            true => Play { pause: Duration::from_millis(60), ..Play::stream(&events) },
            false => Play::json(crate::vendor::reply(Api::Chat, &[text("hi")])),
        }
    })
    .await;
    let world = plan(&model, NOTHING).start().await;
    for streams in [false, true] {
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", streams)).await;
        assert_eq!(got.status, 200);
    }
    quiet(&world).await;
    let shown = metrics(&world).await;
    for name in ["first_byte", "upstream_head", "upstream"] {
        assert_line(&shown, &format!("lictor_{name}_seconds_count 2"));
    }
    let sum = |name: &str| -> f64 {
        let start = format!("lictor_{name}_seconds_sum ");
        shown.lines().find_map(|line| line.strip_prefix(&start)).unwrap().parse().unwrap()
    };
    assert!(sum("first_byte") + 0.1 < sum("upstream"), "the stream continues after its first byte:\n{shown}");
    assert!(sum("upstream_head") < sum("first_byte"), "{shown}");
    world.end().await;
}

/// A model whose streamed answer begins when the handle is notified.
async fn waiting_model() -> (Model, Arc<Notify>) {
    let start = Arc::new(Notify::new());
    let given = Arc::clone(&start);
    let model = Model::start(move |_| {
        let events = stream(Api::Chat, &[text(&"word ".repeat(40))], 5);
        Play { start: Some(Arc::clone(&given)), ..Play::stream(&events) }
    });
    (model.await, start)
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_is_false_while_draining() {
    let (model, start) = waiting_model().await;
    let mut world = plan(&model, NOTHING).start().await;
    let address = world.address;
    assert_eq!(world.ready_as(200).await, 200);
    let body = request(Api::Chat, "hi", true).to_string();
    let asked = tokio::spawn(async move { ask_at(address, Method::POST, path(Api::Chat), &[], body).await });
    while model.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.begin_stop();
    assert_eq!(world.ready_as(503).await, 503);
    let ready = world.ask(Method::GET, "/lictor/ready", &[], "").await;
    assert_eq!(ready.code(), "gateway.draining", "{}", ready.text());
    assert_eq!(world.ask(Method::GET, "/lictor/health", &[], "").await.status, 200);
    let late = world.post(path(Api::Chat), "t", &request(Api::Chat, "hi", false)).await;
    assert_eq!((late.status, late.code()), (503, "gateway.draining"), "{}", late.text());
    start.notify_one();
    let got = asked.await.unwrap();
    assert!(got.is_whole && got.text().ends_with("data: [DONE]\n\n"), "requests in flight finish");
    world.stop().await;
    assert_eq!(model.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_served_during_grace() {
    let model = saying(vec![text("hi")]).await;
    let mut planned = plan(&model, NOTHING);
    planned.config.limits.grace = Duration::from_secs(600);
    let mut world = planned.start().await;
    world.begin_stop();
    assert_eq!(world.ready_as(503).await, 503);
    let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await;
    assert_eq!(got.status, 200, "{}", got.text());
}

/// A connection that is opened before the gateway stops, and asks only afterwards, gets an answer.
#[tokio::test(flavor = "multi_thread")]
async fn first_request_of_connection_is_answered_while_draining() {
    let (model, start) = waiting_model().await;
    let mut world = plan(&model, NOTHING).start().await;
    let address = world.address;
    let body = request(Api::Chat, "hi", true).to_string();
    let asked = tokio::spawn(async move { ask_at(address, Method::POST, path(Api::Chat), &[], body).await });
    while model.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut early = TcpStream::connect(address).await.unwrap();
    early.write_all(b"GET /lictor/ready HTTP/1.1\r\nhost: a\r\n").await.unwrap();
    while world.figure("lictor_connections").await < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.begin_stop();
    assert_eq!(world.ready_as(503).await, 503);
    early.write_all(b"\r\n").await.unwrap();
    let mut answer = String::new();
    early.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("gateway.draining"), "{answer}");
    start.notify_one();
    assert!(asked.await.unwrap().is_whole);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vanished_state_folder_refuses_requests() {
    for shadow in [false, true] {
        let model = saying(vec![text("hi")]).await;
        let mut kept = plan(&model, NOTHING);
        (kept.keeps, kept.config.shadow) = (true, shadow);
        let lines = Lines::default();
        kept.journal = Journal::new(lines.clone());
        let state = kept.folder.path().join("state");
        let world = kept.start().await;
        let ask = async |api: Api| world.post(path(api), "s", &request(api, "hi", false)).await;
        assert_eq!(ask(Api::Chat).await.status, 200);
        assert_eq!(world.ready_as(200).await, 200);
        quiet(&world).await;
        std::fs::remove_dir_all(&state).unwrap();
        for api in Api::ALL {
            let got = ask(api).await;
            match shadow {
                false => assert_eq!((got.status, got.code()), (503, "audit.unavailable"), "{}", got.text()),
                true => assert_eq!(got.status, 200, "{}", got.text()),
            }
        }
        assert_eq!(model.seen().len(), if shadow { 4 } else { 1 });
        assert_eq!(world.ready_as(503).await, 503);
        assert_eq!(world.ask(Method::GET, "/lictor/health", &[], "").await.status, 200);
        let line = lines.wait_for("not_ready", 1).await.remove(0);
        assert!(line["reason"].as_str().unwrap().contains("the file is gone"), "{line}");
        if !shadow {
            let line = lines.wait_for("audit_unavailable", 1).await.remove(0);
            assert!(line["reason"].as_str().unwrap().contains("state.sqlite"), "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vanished_ledger_folder_refuses_requests() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let ask = async |session: &str| world.post(path(Api::Chat), session, &request(Api::Chat, "hi", false)).await;
    assert_eq!(ask("s").await.status, 200);
    quiet(&world).await;
    std::fs::remove_dir_all(&world.log).unwrap();
    assert_eq!(world.ready_as(503).await, 503, "before the first request fails");
    let got = ask("t").await;
    assert_eq!((got.status, got.code()), (503, "audit.unavailable"), "{}", got.text());
    assert_eq!(model.seen().len(), 1, "nothing is forwarded without a record");
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_records_refuse_requests() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let ask = async |session: &str| world.post(path(Api::Chat), session, &request(Api::Chat, "hi", false)).await;
    assert_eq!(ask("s").await.status, 200);
    quiet(&world).await;
    std::fs::remove_dir_all(world.log.join("records")).unwrap();
    let got = ask("t").await;
    assert_eq!((got.status, got.code()), (503, "audit.unavailable"), "{}", got.text());
    assert_eq!(model.seen().len(), 1, "nothing is forwarded without a record");
}

#[tokio::test(flavor = "multi_thread")]
async fn withheld_parts_of_streams_are_counted() {
    for (respond, action) in [("redact", "redacted"), ("block", "blocked")] {
        let policy = format!(
            "{{lictor: 1, name: p, properties: [{{id: private, formula: 'always forall c. (carries(c) -> !special(c))', \
             respond: {respond}}}]}}"
        );
        let model = saying(vec![text("She said that she has diabetes, and that she is well otherwise.")]).await;
        let mut observed = plan(&model, &policy);
        let lines = Lines::default();
        observed.journal = Journal::new(lines.clone());
        let world = observed.start().await;
        let got = world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", true)).await;
        assert!(!got.text().contains("diabetes"), "{}", got.text());
        let line = lines.wait_for("decision", 1).await.remove(0);
        assert_eq!(line["summary"], format!("{action} assistant_message: private"));
        let shown = metrics(&world).await;
        let counted =
            format!(r#"lictor_objections_total{{tenant="everybody",property="private",response="{respond}"}} 1"#);
        assert_line(&shown, &counted);
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stripped_fields_are_logged_once() {
    let said = json!({"choices": [{"index": 0, "mood": "calm", "message": {"role": "assistant", "content": "hi"}}]});
    let model = Model::start(move |_| Play::json(said.to_string())).await;
    let mut observed = plan(&model, NOTHING);
    let lines = Lines::default();
    observed.journal = Journal::new(lines.clone());
    let world = observed.start().await;
    for _ in 0..2 {
        assert_eq!(world.post(path(Api::Chat), "s", &request(Api::Chat, "hi", false)).await.status, 200);
    }
    assert_eq!(world.figure("lictor_fields_stripped_total").await, 2);
    lines.wait_for("exchange", 2).await;
    let stripped = lines.wait_for("field_stripped", 1).await;
    assert_eq!(stripped.len(), 1, "{stripped:?}");
    assert_eq!(
        (stripped[0]["api"].as_str(), stripped[0]["field"].as_str()),
        (Some("openai-chat"), Some("choice.mood"))
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_with_version_gets_it_once() {
    let model = saying(vec![text("hi")]).await;
    let mut versioned = plan(&model, NOTHING);
    versioned.config.upstream = format!("http://{}/v1", model.address).parse().unwrap();
    let world = versioned.start().await;
    for path in [path(Api::Chat), "/chat/completions"] {
        assert_eq!(world.post(path, "s", &request(Api::Chat, "hi", false)).await.status, 200);
        assert_eq!(model.seen().pop().unwrap().path, "/v1/chat/completions", "{path}");
    }
    world.end().await;
}
