//! A fake model on loopback that makes the requested call, in the format of OpenAI Chat Completions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Reads a head and a body; none if the other end has disconnected.
pub(super) fn read_message(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Starts the model and returns its address. Asked for `long`, it replies with four megabytes of text.
pub(crate) fn model() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            // A gateway that was killed leaves its connections; that ends the thread.
            std::thread::spawn(move || while play(&stream).is_some() {});
        }
    });
    address
}

fn play(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (_, body) = read_message(&mut reader)?;
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let tool = asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let call = json!({"id": format!("call-{tool}"), "type": "function", "function": {"name": tool, "arguments": "{}"}});
    let mut stream = stream;
    if asked["stream"] == json!(true) {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .ok()?;
        let mut indexed = call;
        indexed["index"] = json!(0);
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        if tool == "long" {
            deltas.extend((0..1024).map(|_| json!({"content": "some ".repeat(800)})));
        } else {
            deltas.extend((0..8).map(|word| json!({"content": format!("word {word} ")})));
            deltas.push(json!({"tool_calls": [indexed]}));
        }
        deltas.push(json!({}));
        let last = deltas.len() - 1;
        for (place, delta) in deltas.into_iter().enumerate() {
            let reason = if place == last { json!("tool_calls") } else { Value::Null };
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            let event =
                json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
            write_chunk(stream, &format!("data: {event}\n\n"))?;
            // Paced, so that a kill can hit the middle of a stream.
            if place < 16 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        write_chunk(stream, "data: [DONE]\n\n")?;
        stream.write_all(b"0\r\n\r\n").ok()
    } else {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
            .to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", reply.len());
        stream.write_all(format!("{head}{reply}").as_bytes()).ok()
    }
}

pub(super) fn write_chunk(mut stream: &TcpStream, text: &str) -> Option<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).ok()
}
