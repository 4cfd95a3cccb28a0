//! Ambiguous requests, written directly to a socket.

use std::time::Duration;

use lictor_wire::Api;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::crossing::{NOTHING, saying};
use crate::vendor::{path, request, text};
use crate::world::{Model, Play, World, of_type, plan};

/// Sends bytes and reads until the gateway closes the connection, or sends nothing for a while.
async fn talk(world: &World, sent: &[u8]) -> (String, bool) {
    // Long enough for a busy machine.
    talk_for(world, sent, Duration::from_secs(2)).await
}

async fn talk_for(world: &World, sent: &[u8], patience: Duration) -> (String, bool) {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    // The write fails if the gateway has closed the connection early.
    let _ = stream.write_all(sent).await;
    let mut heard = Vec::new();
    let mut chunk = [0u8; 4096];
    loop {
        match tokio::time::timeout(patience, stream.read(&mut chunk)).await {
            Ok(Ok(0)) | Ok(Err(_)) => return (String::from_utf8_lossy(&heard).into_owned(), true),
            Ok(Ok(length)) => heard.extend_from_slice(&chunk[..length]),
            Err(_) => return (String::from_utf8_lossy(&heard).into_owned(), false),
        }
    }
}

fn statuses(heard: &str) -> Vec<&str> {
    heard.match_indices("HTTP/1.1 ").map(|(place, _)| &heard[place + 9..place + 12]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_are_refused_before_forwarding() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let body = request(Api::Chat, "hi", false).to_string();
    let (length, target) = (body.len(), path(Api::Chat));
    let smuggled = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}");
    let many = "A: b\r\n".repeat(300);
    let large = format!("A: {}\r\n", "x".repeat(1 << 20));
    let heads = [
        format!("Host: a\r\nContent-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nContent-Length: {length}\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nContent-Length: {length}\r\nContent-Length: 3\r\n"),
        format!("Host: a\r\nContent-Length: +{length}\r\n"),
        format!("Host: a\r\nContent-Length: {length}, {length}\r\n"),
        "Host: a\r\nTransfer-Encoding: identity, chunked\r\n".to_owned(),
        "Host: a\r\nTransfer-Encoding: chunked, identity\r\n".to_owned(),
        "Host: a\r\nTransfer-Encoding: \x0bchunked\r\n".to_owned(),
        format!("Host: a\r\nContent-Length : {length}\r\n"),
        format!("Host: a\r\nHost: b\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: {length}\r\n"),
        format!("Host: x@a\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nX-Lictor-Session: a\r\nX-Lictor-Session: b\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: {length}\r\n"),
        format!("Host: a\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nX: y\r\n folded\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nX: \0\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nContent-Length: {length}\r\n{many}"),
        format!("Host: a\r\nContent-Length: {length}\r\n{large}"),
    ];
    for head in &heads {
        let sent = format!("POST {target} HTTP/1.1\r\n{head}\r\n{body}{smuggled}");
        let (heard, is_over) = talk(&world, sent.as_bytes()).await;
        let head = &head[..head.len().min(120)];
        assert!(is_over, "the connection ends: {head:?}");
        let answered = statuses(&heard);
        assert!(answered == ["400"] || answered == ["431"], "{head:?}: {heard}");
        assert!(heard.contains("x-lictor-code: http."), "{heard}");
    }
    for first in [
        format!("POST http://evil.example{target} HTTP/1.1\r\nHost: a\r\n\r\n"),
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        format!("POST {target} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("POST  {target} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("POST {target} HTTP/1.1\nHost: a\n\n"),
        format!("POST {target} HTTP/3.0\r\nHost: a\r\n\r\n"),
    ] {
        let (heard, is_over) = talk(&world, first.as_bytes()).await;
        assert!(is_over && statuses(&heard) == ["400"], "{first:?}: {heard}");
    }
    assert!(model.seen().is_empty(), "{:?}", model.seen());
    assert_eq!(world.figure("lictor_malformed_requests_total").await, heads.len() as u64 + 6);
    let records = world.end().await;
    assert_eq!(of_type(&records, "decision").len(), heads.len() + 6, "each has its record");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_chunks_end_the_request() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let body = request(Api::Chat, "hi", false).to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        path(Api::Chat)
    );
    for chunks in [
        format!("{:x}\n{body}\r\n0\r\n\r\n", body.len()),
        format!("0x{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
        format!("{:x}\r\n{body}XX\r\n0\r\n\r\n", body.len()),
        format!("{:x}\r\n{body}\r\n0\r\nA: b\n\r\n", body.len()),
        "FFFFFFFFFFFFFFFFFFFF\r\n".to_owned(),
    ] {
        let (heard, is_over) = talk(&world, format!("{head}{chunks}").as_bytes()).await;
        assert!(is_over && !heard.contains("200 OK"), "{chunks:?}: {heard}");
    }
    assert!(model.seen().is_empty());
    // Unusual but valid chunks are forwarded, without trailers and hop-by-hop fields.
    let chunks = format!("{:x};ext=\"1\"\r\n{body}\r\n0\r\nAuthorization: Bearer evil\r\n\r\n", body.len());
    let (heard, _) = talk(&world, format!("{head}{chunks}").as_bytes()).await;
    assert_eq!(statuses(&heard), ["200"], "{heard}");
    let seen = model.seen().pop().unwrap();
    assert_eq!(seen.body, body);
    assert!(!seen.headers.contains_key("authorization") && !seen.headers.contains_key("transfer-encoding"));
    assert_eq!(seen.headers["content-length"], body.len().to_string().as_str());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() {
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let count = crate::cases(250);
    let mut sent = Vec::new();
    for number in 0..count {
        let body = request(Api::Chat, &format!("number {number}"), false).to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: a\r\nX-Lictor-Session: {number}\r\nContent-Length: {}\r\n\r\n",
            path(Api::Chat),
            body.len()
        );
        sent.extend_from_slice(head.as_bytes());
        sent.extend_from_slice(body.as_bytes());
    }
    // After them a refused request: it is answered last, and the connection is closed.
    sent.extend_from_slice(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n");
    let (heard, is_over) = talk_for(&world, &sent, Duration::from_secs(60)).await;
    let answered = statuses(&heard);
    assert_eq!(answered.len(), count + 1);
    assert!(is_over && answered[..count].iter().all(|status| *status == "200") && answered[count] == "400");
    let order: Vec<String> =
        model.seen().iter().map(|seen| seen.json()["messages"][0]["content"].to_string()).collect();
    let wanted: Vec<String> = (0..count).map(|number| format!("\"number {number}\"")).collect();
    assert_eq!(order, wanted);
    let records = world.end().await;
    assert_eq!(of_type(&records, "exchange").len(), count);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_time_out() {
    let model = saying(vec![text("hi")]).await;
    let mut plan = plan(&model, NOTHING);
    plan.config.limits.head = Duration::from_millis(200);
    plan.config.limits.idle = Duration::from_millis(300);
    plan.config.limits.body_idle = Duration::from_millis(200);
    let world = plan.start().await;
    let (heard, is_over) = talk(&world, b"").await;
    assert!(is_over && heard.is_empty(), "a connection that says nothing");
    let (_, is_over) = talk(&world, b"POST /v1/chat/completions HTTP/1.1\r\nHo").await;
    assert!(is_over, "a head that does not end");
    let (heard, _) =
        talk(&world, b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{").await;
    assert_eq!(statuses(&heard), ["408"], "a body that does not end: {heard}");
    assert!(model.seen().is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_that_reads_nothing_is_closed() {
    // More than the system buffers for a client that reads nothing.
    let model = Model::start(|_| {
        let delta = json!({"index": 0, "delta": {"content": "word ".repeat(13 << 10)}, "finish_reason": null});
        let chunk =
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [delta]});
        Play::stream(&vec![format!("data: {chunk}\n\n"); 250])
    })
    .await;
    let mut plan = plan(&model, NOTHING);
    plan.config.limits.write = Duration::from_millis(300);
    let world = plan.start().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(world.address).await.unwrap();
    let body = request(Api::Chat, "hi", true).to_string();
    let head = format!("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", path(Api::Chat), body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    while model.seen().is_empty() || world.figure("lictor_requests_in_flight").await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let records = world.end().await;
    let exchange = of_type(&records, "exchange")[0];
    assert_eq!(exchange["outcome"], "client_gone");
    assert!(exchange["sent_down"].as_u64().unwrap() < 16_000_000, "{exchange}");
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_requests_are_served() {
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let model = saying(vec![text("hi")]).await;
    let world = plan(&model, NOTHING).start().await;
    let stream = TcpStream::connect(world.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut answers = Vec::new();
    for _ in 0..20 {
        let body = request(Api::Messages, "hi", true).to_string();
        let request = hyper::Request::post(format!("http://{}{}", world.address, path(Api::Messages)))
            .body(Full::<bytes::Bytes>::from(body))
            .unwrap();
        answers.push(tokio::spawn(sender.send_request(request)));
    }
    for answer in answers {
        let response = answer.await.unwrap().unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, hyper::Version::HTTP_2));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.ends_with(b"data: {\"type\":\"message_stop\"}\n\n"), "{body:?}");
    }
    let request = hyper::Request::post(format!("http://{}{}", world.address, path(Api::Chat)))
        .header("host", "other.example")
        .body(Full::<bytes::Bytes>::from("{}"))
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
    drop(sender);
    world.end().await;
}
