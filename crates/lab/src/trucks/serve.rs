//! The agent and the world for other programs: the agent over HTTP, the world over standard input and output.

use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::agent::TruckAgent;
use super::client::TruckClient;

/// Serves the agent at `/v1/chat/completions`, and what it was asked for at `/usage`, until the process ends. `announce` is
/// told the address.
///
/// # Errors
///
/// The address cannot be listened at.
pub async fn serve_agent(listen: SocketAddr, announce: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    announce(listener.local_addr()?);
    let agent: Arc<Mutex<TruckAgent>> = Arc::default();
    loop {
        let (stream, _) = listener.accept().await?;
        let agent = Arc::clone(&agent);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&agent)));
            // A client that disconnects ends its own connection only.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    agent: Arc<Mutex<TruckAgent>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    Ok(match (&head.method, path.as_str()) {
        (&Method::GET, "/usage") => {
            let usage = agent.lock().unwrap_or_else(PoisonError::into_inner).usage();
            let usage = json!({"calls": usage.calls, "tokens": usage.tokens, "cost": usage.cost});
            respond(StatusCode::OK, "application/json", usage.to_string())
        }
        (&Method::POST, "/v1/chat/completions") => match body.collect().await {
            Ok(body) => complete_chat(&body.to_bytes(), &agent),
            Err(error) => refuse(format!("the request ended early: {error}")),
        },
        _ => respond(StatusCode::NOT_FOUND, "application/json", refusal(&format!("there is nothing at {path}"))),
    })
}

fn complete_chat(body: &Bytes, agent: &Mutex<TruckAgent>) -> Response<Full<Bytes>> {
    let completion = agent.lock().unwrap_or_else(PoisonError::into_inner).complete_chat(body);
    let is_streamed = serde_json::from_slice::<Value>(body).is_ok_and(|body| body["stream"] == true);
    match completion {
        Ok(completion) if is_streamed => respond(StatusCode::OK, "text/event-stream", write_stream(&completion)),
        Ok(completion) => respond(StatusCode::OK, "application/json", completion.to_string()),
        Err(message) => refuse(message),
    }
}

fn refuse(message: String) -> Response<Full<Bytes>> {
    respond(StatusCode::BAD_REQUEST, "application/json", refusal(&message))
}

fn refusal(message: &str) -> String {
    json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string()
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

/// Returns a completion as a stream: the role, the text or the call, its arguments in two parts, and the end.
fn write_stream(completion: &Value) -> String {
    let choice = &completion["choices"][0];
    let mut deltas = vec![json!({"role": "assistant", "content": choice["message"]["content"]})];
    for (index, call) in choice["message"]["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut begun = call.clone();
        begun["index"] = json!(index);
        begun["function"]["arguments"] = json!("");
        deltas.push(json!({"tool_calls": [begun]}));
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let (front, back) = arguments.split_at_checked(arguments.len() / 2).unwrap_or((arguments, ""));
        for part in [front, back] {
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]}));
        }
    }
    let chunk = |delta: Value, reason: &Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason, "logprobs": null});
        let chunk = json!({
            "id": completion["id"],
            "object": "chat.completion.chunk",
            "created": 0,
            "model": completion["model"],
            "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let mut stream: String = deltas.into_iter().map(|delta| chunk(delta, &Value::Null)).collect();
    stream.push_str(&chunk(json!({}), &choice["finish_reason"]));
    stream.push_str("data: [DONE]\n\n");
    stream
}

/// Runs the world of a seed for a client in another program. Writes the first request as a line; then, for each line
/// `{"tool", "arguments"}` it reads, the result of that call; and at the end of the input what truly happened.
///
/// # Errors
///
/// Input or output failed, or a line is no call.
pub fn serve_world(seed: u64, temperature: f64, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut client = TruckClient::new(seed, temperature);
    writeln!(output, "{}", client.request())?;
    output.flush()?;
    for line in input.lines() {
        let call: Value = serde_json::from_str(&line?)?;
        let (tool, arguments) = (call["tool"].as_str(), call["arguments"].as_str());
        let (Some(tool), Some(arguments)) = (tool, arguments) else {
            return Err(io::Error::other(format!("`{call}` is no call; send {{\"tool\", \"arguments\"}}, both texts")));
        };
        let result = client.perform(tool, arguments);
        writeln!(output, "{}", json!({"over": client.is_over(), "result": result}))?;
        output.flush()?;
    }
    writeln!(output, "{}", client.score().to_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_chunks_join_to_the_completion() {
        let request = TruckClient::new(3, 0.2).request().to_string();
        let completion = TruckAgent::default().complete_chat(request.as_bytes()).unwrap();
        let stream = write_stream(&completion);
        let (mut arguments, mut name, mut reason) = (String::new(), Value::Null, Value::Null);
        for line in stream.lines().filter_map(|line| line.strip_prefix("data: ")) {
            let Ok(chunk) = serde_json::from_str::<Value>(line) else { continue };
            let function = &chunk["choices"][0]["delta"]["tool_calls"][0]["function"];
            arguments.push_str(function["arguments"].as_str().unwrap_or_default());
            if function["name"].is_string() {
                name = function["name"].clone();
            }
            reason = chunk["choices"][0]["finish_reason"].clone();
        }
        let call = &completion["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!(
            (name, json!(arguments), reason),
            (call["name"].clone(), call["arguments"].clone(), json!("tool_calls"))
        );
        assert!(stream.ends_with("data: [DONE]\n\n"));
    }

    #[test]
    fn world_answers_calls_line_by_line() {
        let input = "{\"tool\":\"load\",\"arguments\":\"{\\\"package\\\":\\\"package1\\\",\\\"area\\\":\\\"a2\\\"}\"}\n\
                     {\"tool\":\"fly\",\"arguments\":\"{}\"}\n";
        let mut output = Vec::new();
        serve_world(4, 0.2, input.as_bytes(), &mut output).unwrap();
        let lines: Vec<Value> =
            String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0]["tools"].is_array() && lines[2]["result"]["ok"] == false);
        assert_eq!(
            (&lines[3]["actions"], &lines[3]["violations"], &lines[3]["malformed"]),
            (&json!(2), &json!(1), &json!(1))
        );
        assert!(serve_world(4, 0.2, &b"{}\n"[..], Vec::new()).unwrap_err().to_string().contains("is no call"));
    }
}
