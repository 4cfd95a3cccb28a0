//! How sessions are told apart in logs with one message a line, and what is said of lines that name none.

use std::collections::{BTreeMap, HashSet};

use lictor_decode::{DecodedEvents, Format, LogRecord};
use lictor_json::{Json, Text};

use crate::golden_files::golden_files;
use crate::reader::{decode_lines, records};

fn decode(session_key: Option<&str>, format: Format, lines: &[&str]) -> DecodedEvents {
    let decoder = match session_key {
        Some(key) => format.decoder_by_session_key(key),
        None => format.decoder(),
    };
    decode_lines(decoder, lines)
}

fn sessions(decoded: &DecodedEvents) -> Vec<&str> {
    decoded.events.iter().map(|event| event.session.as_deref().unwrap_or("-")).collect()
}

#[test]
fn usual_keys_separate_sessions_of_message_lines() {
    for key in ["session_id", "conversation_id", "thread_id", "threadId", "chat_id"] {
        let line = |session: &str, role: &str| format!(r#"{{"{key}":{session},"role":"{role}","content":"yes"}}"#);
        let lines = [line("\"a\"", "user"), line("\"b\"", "user"), line("7", "user"), line("\"a\"", "assistant")];
        let decoded = decode(None, Format::OpenaiChat, &lines.each_ref().map(String::as_str));
        assert_eq!(sessions(&decoded), ["a", "b", "7", "a"], "{key}");
        assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    }
}

#[test]
fn usual_keys_count_in_other_spellings() {
    for (a, b) in [
        (r#""session":{"id":"a"}"#, r#""session":{"id":"b"}"#),
        (r#""SessionID":"a""#, r#""SessionID":"b""#),
        (r#""session-id":"a""#, r#""session-id":"b""#),
        (r#""dialog_id":"a""#, r#""dialog_id":"b""#),
        (r#""meta":{"session":"a"}"#, r#""meta":{"session":"b"}"#),
    ] {
        let lines = [a, b].map(|key| format!(r#"{{{key},"role":"user","content":"yes"}}"#));
        let decoded = decode(None, Format::OpenaiChat, &lines.each_ref().map(String::as_str));
        assert_eq!(sessions(&decoded), ["a", "b"], "{a}");
    }
}

#[test]
fn usual_keys_separate_messages_of_frameworks() {
    let lines = [
        r#"{"type":"human","content":"yes","thread_id":"a"}"#,
        r#"{"type":"human","content":"no","thread_id":"b"}"#,
        r#"{"type":"ai","content":"","tool_calls":[{"name":"pay","args":{},"id":"1"}],"thread_id":"a"}"#,
    ];
    assert_eq!(sessions(&decode(None, Format::Langchain, &lines)), ["a", "b", "a"]);
}

#[test]
fn session_in_metadata_of_a_request_is_used() {
    let line = r#"{"model":"m","metadata":{"session_id":"a"},"messages":[{"role":"user","content":"hello"}]}"#;
    assert_eq!(sessions(&decode(None, Format::OpenaiChat, &[line])), ["a"]);
}

#[test]
fn messages_among_many_members_are_recognised() {
    let line = r#"{"id":7,"source":"x","split":"train","score":0.5,"labels":["a"],"messages":[
        {"role":"user","content":"refund it"},
        {"role":"assistant","tool_calls":[{"id":"1","function":{"name":"refund","arguments":"{}"}}]}]}"#;
    let value = lictor_json::parse_str(line).unwrap();
    assert_eq!(Format::detect(&[value]), Some(Format::OpenaiChat));
    assert_eq!(decode(None, Format::OpenaiChat, &[line]).events.len(), 2);
    assert_eq!(sessions(&decode(Some("id"), Format::OpenaiChat, &[line])), ["7", "7"]);
}

#[test]
fn responses_records_name_their_session() {
    let lines = [
        r#"{"model":"m","input":"yes","metadata":{"session_id":"a"}}"#,
        r#"{"model":"m","input":"yes","metadata":{"session_id":"b"}}"#,
        // What a stored response continues is new, even if it repeats the words of the history.
        r#"{"model":"m","input":"yes","previous_response_id":"r1","metadata":{"session_id":"a"}}"#,
        r#"{"type":"function_call","call_id":"1","name":"pay","arguments":"{}","session_id":"b"}"#,
    ];
    let decoded = decode(None, Format::OpenaiResponses, &lines);
    assert_eq!(sessions(&decoded), ["a", "b", "a", "b"]);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
}

#[test]
fn session_key_names_another_member() {
    let lines = [
        r#"{"role":"user","content":"yes","meta":{"who":"a"}}"#,
        r#"{"role":"user","content":"no","meta":{"who":"b"}}"#,
        r#"{"role":"user","content":"what?"}"#,
    ];
    let decoded = decode(Some("meta.who"), Format::OpenaiChat, &lines);
    assert_eq!(sessions(&decoded), ["a", "b", "-"]);
    let codes: Vec<&str> = decoded.faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["decode.no_session", "decode.no_session"]);
    assert!(decoded.faults[1].message.contains("one record has no member `meta.who`"), "{:?}", decoded.faults[1]);
}

/// In each golden log a member is added to every record: it names sessions if, and only if, the format says so.
#[test]
fn session_key_is_used_where_format_says() {
    let mut uses: BTreeMap<Format, bool> = BTreeMap::new();
    for (format, file) in golden_files(|_| true) {
        let mut decoder = format.decoder_by_session_key("planted");
        let mut out = DecodedEvents::default();
        for (line, mut value) in records(&file) {
            if let Json::Object(object) = &mut value {
                object.insert("planted", Text::from("planted"));
            }
            decoder.record(LogRecord { value, file: "log".into(), line, index: line }, &mut out);
        }
        decoder.finish(&mut out);
        let is_used = out.events.iter().any(|event| event.session.as_deref() == Some("planted"));
        *uses.entry(format).or_default() |= is_used;
    }
    let wrong: Vec<(Format, bool)> =
        uses.into_iter().filter(|(format, is_used)| *is_used != format.takes_session_key()).collect();
    assert!(wrong.is_empty(), "whether the key is used: {wrong:?}");
}

#[test]
fn session_key_applies_to_native_events() {
    let lines =
        [r#"{"kind":"user_message","text":"a","room":"1"}"#, r#"{"kind":"user_message","text":"a","room":"2"}"#];
    assert_eq!(sessions(&decode(Some("room"), Format::Native, &lines)), ["1", "2"]);
}

#[test]
fn message_lines_without_session_are_reported() {
    let lines = [
        r#"{"session_id":"a","role":"user","content":"yes"}"#,
        r#"{"role":"user","content":"mine?"}"#,
        r#"{"role":"user","content":"whose?"}"#,
    ];
    let decoded = decode(None, Format::OpenaiChat, &lines);
    assert_eq!(sessions(&decoded), ["a", "-", "-"]);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert_eq!((fault.line, fault.code), (2, "decode.no_session"));
    assert!(fault.message.starts_with("2 messages name no session, while others"), "{}", fault.message);
}

#[test]
fn repeated_instructions_without_session_are_reported() {
    let system = r#"{"role":"system","content":"You sell shoes."}"#;
    let lines = [system, r#"{"role":"assistant","content":"Hello"}"#, system, r#"{"role":"user","content":"Hi"}"#];
    let decoded = decode(None, Format::OpenaiChat, &lines);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert!(fault.message.contains("the same instructions begin 2 conversations"), "{}", fault.message);
    // One conversation needs no name.
    assert!(decode(None, Format::OpenaiChat, &lines[..2]).faults.is_empty());
}

#[test]
fn several_conversations_without_session_are_reported() {
    let answer = r#"{"role":"assistant","content":"Done."}"#;
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let (refund, other) =
        (user("Please refund order 7, which came too late and with the wrong shoes in the box"), user("And order 8?"));
    let system = |text: &str| format!(r#"{{"role":"system","content":"{text}"}}"#);
    let (shoes, hats) = (system("You sell shoes."), system("You sell hats."));
    let numbered = |id: u32, role: &str| format!(r#"{{"id":{id},"role":"{role}","content":"text {role} {id}"}}"#);
    let ids = [numbered(1, "user"), numbered(2, "assistant"), numbered(1, "user"), numbered(2, "assistant")];
    let cases: [(&str, Vec<&str>); 3] = [
        ("the same first prompt begins 2", vec![&refund, answer, &refund, answer]),
        ("system messages begin 2", vec![&shoes, &refund, answer, &hats, &other, answer]),
        ("the ids of messages begin 2", ids.iter().map(String::as_str).collect()),
    ];
    for (sign, lines) in cases {
        let decoded = decode(None, Format::OpenaiChat, &lines);
        let [fault] = &decoded.faults[..] else { panic!("{sign}: {:?}", decoded.faults) };
        assert_eq!(fault.code, "decode.no_session", "{sign}");
        assert!(fault.message.contains(sign) && fault.message.contains("--session-key"), "{}", fault.message);
    }
    // A reminder within a turn, a second question and a short word said twice begin nothing.
    let yes = user("yes");
    let one = [&*yes, answer, &other, &hats, answer, &yes, answer, &refund, answer];
    assert!(decode(None, Format::OpenaiChat, &one).faults.is_empty());
}

/// A system message in the midst of a conversation begins no other one, whether or not the log begins with instructions.
#[test]
fn system_reminder_begins_no_conversation() {
    let line = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let (instructions, question) = (line("system", "You are a coding agent."), line("user", "Fix the test"));
    let (answer, next) = (line("assistant", "Done."), line("user", "Now the other one"));
    let tool = r#"{"role":"tool","tool_call_id":"c","content":"ok"}"#.to_owned();
    let function = r#"{"name":"test","arguments":"{}"}"#;
    let call = format!(r#"{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{function}}}]}}"#);
    for reminder in [
        "<system-reminder>Your todo list is empty.</system-reminder>",
        "The user opened src/lib.rs in the editor.",
        "Reminder: run the tests before you answer.",
    ] {
        let reminder = line("system", reminder);
        let logs = [
            vec![&instructions, &question, &answer, &reminder, &next, &answer, &reminder, &next, &answer],
            vec![&question, &answer, &reminder, &next, &answer, &reminder, &next, &answer],
            vec![&instructions, &question, &call, &tool, &instructions, &answer, &next, &answer],
        ];
        for log in logs {
            let lines: Vec<&str> = log.iter().map(|line| line.as_str()).collect();
            let decoded = decode(None, Format::OpenaiChat, &lines);
            assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
            assert_eq!(decoded.events.iter().map(|event| &event.session).collect::<HashSet<_>>().len(), 1);
            let list = format!(r#"{{"messages":[{}]}}"#, lines.join(","));
            assert!(decode(None, Format::OpenaiChat, &[&list]).faults.is_empty(), "{list}");
        }
    }
}

#[test]
fn several_conversations_in_one_list_are_reported() {
    let list = r#"[{"role":"system","content":"You sell shoes."},{"role":"user","content":"Red ones?"},
        {"role":"assistant","content":"Yes."},{"role":"system","content":"You sell hats."},
        {"role":"user","content":"Blue ones?"},{"role":"assistant","content":"No."}]"#;
    let decoded = decode(None, Format::OpenaiChat, &[list, list]);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert_eq!((fault.line, fault.code), (1, "decode.no_session"));
    assert!(fault.message.starts_with("instructions begin 2 conversations"), "{}", fault.message);
    let named = format!(r#"{{"session_id":"a","messages":{list}}}"#);
    assert!(decode(None, Format::OpenaiChat, &[&named]).faults.is_empty());
}

#[test]
fn messages_of_one_list_name_their_sessions() {
    let list = r#"[{"role":"user","content":"yes","session_id":"a"},{"role":"user","content":"no","session_id":"b"},
        {"role":"assistant","content":"Paid.","session_id":"a"},{"role":"user","content":"?"}]"#;
    let decoded = decode(None, Format::OpenaiChat, &[list]);
    assert_eq!(sessions(&decoded), ["a", "b", "a", "-"]);
}

#[test]
fn several_native_starts_without_session_are_reported() {
    let lines = [r#"{"kind":"session_start"}"#, r#"{"kind":"tool_call","tool":"pay"}"#, r#"{"kind":"session_start"}"#];
    let decoded = decode(None, Format::Native, &lines);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert_eq!((fault.line, fault.code), (3, "decode.no_session"));
    assert!(fault.message.contains("2 sessions start in this file"), "{}", fault.message);
    assert!(decode(None, Format::Native, &lines[..2]).faults.is_empty());
}

#[test]
fn content_part_of_unknown_type_is_a_fault() {
    let part = |part: &str| format!(r#"{{"role":"user","content":[{{"type":"text","text":"see"}},{part}]}}"#);
    let unknown = part(r#"{"type":"tool-summons","name":"drop"}"#);
    let decoded = decode(None, Format::OpenaiChat, &[&unknown, &part(r#"{"type":"image_url","image_url":{}}"#)]);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert_eq!((fault.line, fault.code), (1, "decode.unknown_part"));
    assert!(fault.message.contains("unknown type `tool-summons`"), "{}", fault.message);
}

#[test]
fn codex_sessions_in_one_stream_are_separate() {
    let head = |id: &str| format!(r#"{{"type":"session_meta","payload":{{"id":"{id}","cwd":"/x"}}}}"#);
    let says = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"yes"}]}}"#;
    let (a, b) = (head("a"), head("b"));
    let decoded = decode(None, Format::Codex, &[&a, says, &a, says, &b, says]);
    assert_eq!(sessions(&decoded), ["a", "a", "a", "b", "b"]);
    let forked = decode(None, Format::Codex, &[&a, &b, says]);
    assert_eq!(sessions(&forked), ["a", "a"]);
}

#[test]
fn file_of_one_numbered_message_is_a_fault() {
    let message = r#"{"message":{"role":"user","content":[{"text":"refund"}]},"message_id":0,"redact_message":null}"#;
    let decoded = decode(None, Format::Bedrock, &[message]);
    assert_eq!(decoded.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), ["decode.no_session"]);
    let next = message.replace(r#""message_id":0"#, r#""message_id":1"#);
    assert!(decode(None, Format::Bedrock, &[message, &next]).faults.is_empty());
}

#[test]
fn denied_call_of_pydantic_ai_is_a_denial() {
    let line = r#"[{"kind":"response","parts":[{"part_kind":"tool-call","tool_name":"wipe","args":{},"tool_call_id":"w1"}]},
        {"kind":"request","parts":[{"part_kind":"tool-return","tool_name":"wipe","content":"no","tool_call_id":"w1","outcome":"denied"}]}]"#;
    let decoded = decode(None, Format::PydanticAi, &[&line.replace('\n', "")]);
    let kinds: Vec<&str> = decoded.events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds, ["tool_call", "denial", "tool_result"]);
    assert_eq!(decoded.events[1].id.as_deref(), Some("w1"));
}

#[test]
fn rows_of_several_users_are_a_fault() {
    let row = |user: &str| format!(r#"{{"role":"user","content":"yes","user_id":"{user}"}}"#);
    let fault = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        decode(None, Format::OpenaiChat, &lines).faults.first().map(|fault| fault.message.clone())
    };
    let said = fault(&[row("ann"), row("bob"), row("ann")]).unwrap_or_default();
    assert!(said.contains("3 messages name no session, but the values of `user_id` tell of 2 conversations"), "{said}");
    assert_eq!(fault(&[row("ann"), row("ann")]), None);
}

#[test]
fn same_instructions_in_langchain_data_are_a_fault() {
    let line = |sort: &str, text: &str| format!(r#"{{"type":"{sort}","data":{{"type":"{sort}","content":"{text}"}}}}"#);
    let instructions = "You are a careful shop assistant. Always look the order up before you refund it.";
    let once = [line("system", instructions), line("human", "refund it"), line("ai", "done"), line("human", "thanks")];
    let twice = [&once[..], &once[..]].concat();
    let lines: Vec<&str> = twice.iter().map(String::as_str).collect();
    let decoded = decode(None, Format::Langchain, &lines);
    assert_eq!(decoded.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), ["decode.no_session"]);
}

fn response(id: &str, previous: &str, tool: &str) -> String {
    let call = format!(r#"{{"type":"function_call","call_id":"{id}-c","name":"{tool}","arguments":"{{}}"}}"#);
    format!(r#"{{"id":"{id}","object":"response","previous_response_id":{previous},"output":[{call}]}}"#)
}

#[test]
fn response_chains_separate_sessions_without_requests() {
    let lines = [
        response("a1", "null", "find"),
        response("b1", "null", "find"),
        response("a2", "\"a1\"", "pay"),
        response("b2", "\"b1\"", "pay"),
        response("z9", "\"z8\"", "pay"),
        response("b3", "\"b2\"", "mail"),
        response("z10", "\"z9\"", "mail"),
    ];
    let decoded = decode(None, Format::OpenaiResponses, &lines.each_ref().map(String::as_str));
    let second = "chat.jsonl#2";
    assert_eq!(sessions(&decoded), ["-", second, "-", second, "chat.jsonl#3", second, "chat.jsonl#3"]);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
}

#[test]
fn response_after_request_continues_its_conversation() {
    let item = r#"{"type":"function_call_output","call_id":"a1-c","output":"1"}"#.to_owned();
    let lines = [response("a1", "null", "find"), item, response("a2", "null", "pay")];
    let decoded = decode(None, Format::OpenaiResponses, &lines.each_ref().map(String::as_str));
    assert_eq!(sessions(&decoded), ["-", "-", "-"]);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
}

#[test]
fn responses_without_links_and_requests_are_reported() {
    let lines = [response("a1", "null", "find"), response("a2", "null", "pay"), response("a3", "null", "pay")];
    let decoded = decode(None, Format::OpenaiResponses, &lines.each_ref().map(String::as_str));
    assert_eq!(sessions(&decoded), ["-", "chat.jsonl#2", "chat.jsonl#3"]);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert!(fault.code == "decode.no_session" && fault.message.starts_with("3 responses"), "{fault:?}");
}
