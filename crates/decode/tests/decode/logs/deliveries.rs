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
