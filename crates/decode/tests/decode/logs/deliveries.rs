//! Records that a log has twice.

use lictor_decode::{DecodedEvents, Format};

use crate::reader::decode_lines;

fn decode(lines: &[String]) -> DecodedEvents {
    decode_lines(Format::OpenaiChat.decoder(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn kinds(decoded: &DecodedEvents) -> Vec<&str> {
    decoded.events.iter().map(|event| event.kind.name()).collect()
}

fn call(id: &str, time: &str) -> String {
    format!(
        r#"{{"session_id":"s",{time}"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","function":{{"name":"pay","arguments":"{{}}"}}}}]}}"#
    )
}

#[test]
fn call_delivered_twice_is_one_call() {
    let [at_one, at_two] = [1, 2].map(|second| format!(r#""time":"2026-05-01T10:00:0{second}Z","#));
    let result = format!(r#"{{"session_id":"s",{at_two}"role":"tool","tool_call_id":"c1","content":"ok"}}"#);
    let paid = call("c1", &at_one);
    let decoded = decode(&[paid.clone(), paid.clone(), result.clone(), result.clone(), paid.clone(), result]);
    assert_eq!(kinds(&decoded), ["tool_call", "tool_result"]);
    for other in [call("c1", &at_two), call("c2", &at_one), paid.replace("\"s\"", "\"t\""), paid.replace("pay", "get")]
    {
        assert_eq!(kinds(&decode(&[paid.clone(), other])), ["tool_call", "tool_call"]);
    }
    assert_eq!(kinds(&decode(&[call("c1", ""), call("c1", "")])), ["tool_call", "tool_call"]);
}

/// An exporter of spans that gets no answer sends them again.
#[test]
fn span_that_was_exported_again_counts_once() {
    let export = |id: &str, call: &str, city: &str| {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"{id}","name":"execute_tool search","startTimeUnixNano":"1777885200000000000","endTimeUnixNano":"1777885201000000000","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"execute_tool"}}}},{{"key":"gen_ai.tool.name","value":{{"stringValue":"search"}}}},{{"key":"gen_ai.tool.call.id","value":{{"stringValue":"{call}"}}}},{{"key":"gen_ai.tool.call.arguments","value":{{"stringValue":"{{\"city\":\"{city}\"}}"}}}}]}}]}}]}}]}}"#
        )
    };
    let count = |lines: &[&String]| {
        let lines: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
        let decoded = crate::reader::decode_lines(lictor_decode::Format::Otlp.decoder(), &lines);
        decoded.events.iter().filter(|event| event.kind == lictor_event::Kind::ToolCall).count()
    };
    let (one, other) = (export("00f067aa0ba902b7", "c1", "Oslo"), export("00f067aa0ba902b8", "c2", "Bergen"));
    assert_eq!(count(&[&one, &one, &other, &one, &other]), 2);
    // The same ids with other arguments are another call.
    assert_eq!(count(&[&one, &export("00f067aa0ba902b7", "c3", "Rome")]), 2);
}
