//! Clients that disconnect at the end of a reply, or before it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lictor_wire::Api;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::crossing::{POLICY, saying, told};
use crate::faults::{Fills, quiet};
use crate::vendor::{call, hear_stream, history, path, request, result_item, said_items, stream, text};
use crate::world::{Ends, Model, Play, World, of_type, plan};

/// Asks as a client that disconnects as soon as it has read `until`. Returns the text that it has read.
async fn ask_until(world: &World, api: Api, body: &Value, until: &str) -> String {
    read_until(world, path(api), body, until).await
}

/// [`ask_until`] at any path.
pub(crate) async fn read_until(world: &World, path: &str, body: &Value, until: &str) -> String {
    let body = body.to_string();
    let mut connection = TcpStream::connect(world.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\nX-Lictor-Session: s\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(until) {
        assert_ne!(connection.read_buf(&mut read).await.unwrap(), 0, "{}", String::from_utf8_lossy(&read));
    }
    String::from_utf8(read).unwrap()
}

/// Libraries disconnect at the final chunk, and do not wait for the end of the body.
#[tokio::test(flavor = "multi_thread")]
async fn disconnect_after_final_chunk_is_success() {
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
        // The payment is not judged again when the client sends it back at once.
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
async fn disconnect_mid_stream_judges_received_text() {
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
async fn shadow_stream_left_after_final_chunk_is_done() {
    let marks = [(Api::Chat, "[DONE]"), (Api::Messages, "message_stop"), (Api::Responses, "response.completed")];
    for (api, mark) in marks {
        // The second request cannot be read, so its reply is not judged.
        for asked in [request(api, "Pay.", true), json!({"model": "m", "messages": 5, "input": 5, "stream": true})] {
            let model = Model::start(move |_| {
                let said = [text("Paying."), call("c1", "pay", json!({}))];
                Play { ends: Ends::Silent, ..Play::stream(&stream(api, &said, 3)) }
            })
            .await;
            let mut watching = plan(&model, POLICY);
            watching.config.shadow = true;
            let world = watching.start().await;
            ask_until(&world, api, &asked, mark).await;
            quiet(&world).await;
            let records = world.end().await;
            assert_eq!(of_type(&records, "exchange")[0]["outcome"], "done", "{api:?} {asked}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_disconnect_judges_received_text() {
    for api in Api::ALL {
        let model = Model::start(move |_| {
            let events = stream(api, &[text(&"and so on ".repeat(40))], 9);
            Play { ends: Ends::Silent, ..Play::stream(&events[..events.len() / 2]) }
        })
        .await;
        let mut watching = plan(&model, POLICY);
        watching.config.shadow = true;
        let world = watching.start().await;
        ask_until(&world, api, &request(api, "hi", true), "and so").await;
        quiet(&world).await;
        let records = world.end().await;
        let said = |record: &&Value| record["kind"] == "assistant_message";
        assert!(of_type(&records, "decision").iter().any(said), "{api:?}: {records:#?}");
        assert_eq!(of_type(&records, "exchange")[0]["outcome"], "client_gone", "{api:?}");
    }
}

/// The client disconnects while the decision on the reply is written.
#[tokio::test(flavor = "multi_thread")]
async fn client_that_left_gets_no_correction() {
    for (api, streams) in Api::ALL.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let disk = Fills::default();
        let stuck = disk.clone();
        let model = Model::start(move |seen| {
            stuck.is_stuck.store(true, Ordering::SeqCst);
            told(seen, &[call("c1", "drop", json!({}))])
        })
        .await;
        let mut slow = plan(&model, POLICY);
        slow.config.limits.corrections = 2;
        slow.disk = Arc::new(disk.clone());
        let world = slow.start().await;
        let body = request(api, "hi", streams).to_string();
        let mut connection = TcpStream::connect(world.address).await.unwrap();
        let head = format!("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", path(api), body.len());
        connection.write_all(head.as_bytes()).await.unwrap();
        while !disk.has_waited.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(connection);
        world.figure_becomes("lictor_connections", 1).await;
        disk.is_stuck.store(false, Ordering::SeqCst);
        quiet(&world).await;
        assert_eq!(world.figure("lictor_corrections_total").await, 0, "{api:?} {streams}");
        assert_eq!(model.seen().len(), 1, "{api:?} {streams}");
        let records = world.end().await;
        let exchange = &of_type(&records, "exchange")[0];
        assert_eq!(exchange["outcome"], "client_gone", "{exchange}");
        // The event that only opens the reply is sent at once.
        let is_opened = streams && api != Api::Responses;
        assert_eq!(exchange["sent_down"] != 0, is_opened, "{api:?} {streams}: {exchange}");
    }
}

/// The model has not sent the end of a short answer, and the client has its first words under all packs.
#[tokio::test(flavor = "multi_thread")]
async fn short_answer_streams_before_its_end() {
    let names: Vec<String> = lictor_policy::pack::packs().iter().map(|pack| pack.name.to_string()).collect();
    let policy = format!("lictor: 1\nname: p\nuses: [{}]\n", names.join(", "));
    for api in Api::ALL {
        let model = Model::start(move |_| {
            let mut events = stream(api, &[text("Your order has been shipped and will arrive tomorrow.")], 9);
            let cut = events.iter().position(|event| event.contains("n shipped")).unwrap();
            events.truncate(cut + 1);
            Play { ends: Ends::Silent, pause: Duration::from_millis(2), ..Play::stream(&events) }
        })
        .await;
        let world = plan(&model, &policy).start().await;
        let asked = request(api, "Where is it?", true);
        let waiting = ask_until(&world, api, &asked, "r has ");
        let read = tokio::time::timeout(Duration::from_secs(10), waiting).await;
        assert!(read.is_ok_and(|read| read.contains("Your ")), "{api:?}: the first words wait");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_masked_while_streaming_is_recorded() {
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
