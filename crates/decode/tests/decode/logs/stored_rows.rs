//! Rows of a database, with a message in one column and its session in another.

use lictor_decode::Format;

use crate::reader::decode_lines;

/// Returns the format of rows, and `session/kind` for each of their events.
fn read(lines: &[&str]) -> (&'static str, Vec<String>) {
    let values: Vec<_> = lines.iter().map(|line| lictor_json::parse_str(line).unwrap()).collect();
    let format = Format::detect(&values).unwrap_or_else(|| panic!("{lines:?}"));
    let decoded = decode_lines(format.decoder(), lines);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    let describe = |event: &lictor_event::Event| format!("{}/{}", event.session.as_deref().unwrap_or("-"), event.kind);
    (format.name(), decoded.events.iter().map(describe).collect())
}

#[test]
fn rows_of_langchain_history_keep_their_session() {
    let message = r#"{"type":"human","data":{"content":"hello","type":"human","id":null}}"#;
    let text = lictor_json::Json::from(message).to_string();
    for column in [message, &text] {
        let row = format!(r#"{{"id":1,"session_id":"s","message":{column}}}"#);
        assert_eq!(read(&[&row]), ("langchain", vec!["s/user_message".to_owned()]), "{row}");
    }
}

#[test]
fn message_in_column_of_usual_name_is_read() {
    let message = r#"{"role":"user","content":"hello"}"#;
    let text = lictor_json::Json::from(message).to_string();
    for name in ["payload", "data", "body", "event", "record", "_source", "value"] {
        for column in [message, &text] {
            let row = format!(r#"{{"id":1,"session_id":"s","{name}":{column}}}"#);
            assert_eq!(read(&[&row]), ("openai-chat", vec!["s/user_message".to_owned()]), "{row}");
        }
    }
}

#[test]
fn json_text_of_user_is_no_call() {
    let call = r#"[{"type":"tool_use","id":"1","name":"refund","input":{}}]"#;
    let answer = r#"[{"type":"tool_result","tool_use_id":"1","content":"done"}]"#;
    let both = r#"[{"type":"tool_result","tool_use_id":"1","content":"done"},{"type":"tool_use","id":"2","name":"refund","input":{}}]"#;
    let row =
        |role: &str, blocks: &str| format!(r#"{{"role":"{role}","content":{}}}"#, lictor_json::Json::from(blocks));
    // Answers to no call are reported, so only the kinds of the events are compared.
    let kinds = |rows: &[String]| -> Vec<String> {
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let decoded = decode_lines(Format::OpenaiChat.decoder(), &rows);
        decoded.events.iter().map(|event| event.kind.to_string()).collect()
    };
    assert_eq!(kinds(&[row("user", call)]), ["user_message"]);
    assert_eq!(kinds(&[row("user", answer)]), ["user_message"], "an answer to no call");
    let agent = row("assistant", call);
    assert_eq!(kinds(&[agent.clone(), row("user", answer)]), ["tool_call", "tool_result"]);
    assert_eq!(kinds(&[agent, row("user", both)]), ["tool_call", "user_message"], "a call of a user");
}
