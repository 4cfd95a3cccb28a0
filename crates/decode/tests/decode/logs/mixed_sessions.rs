//! Faults of logs whose sessions may be several: members that split them, and different users.

use lictor_decode::{DecodedEvents, Format};

use crate::reader::decode_lines;

const MIXED: &str = "decode.mixed_sessions";

/// Messages of a user and of the agent in turn, each with a member.
fn messages(members: &[&str]) -> Vec<String> {
    let roles = ["user", "assistant"].iter().cycle();
    let lines = members.iter().zip(roles);
    lines.map(|(member, role)| format!(r#"{{{member},"role":"{role}","content":"yes"}}"#)).collect()
}

fn decode(session_key: Option<&str>, lines: &[String]) -> DecodedEvents {
    let decoder = match session_key {
        Some(key) => Format::OpenaiChat.decoder_by_session_key(key),
        None => Format::OpenaiChat.decoder(),
    };
    decode_lines(decoder, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn codes(decoded: &DecodedEvents) -> Vec<(&str, u32)> {
    decoded.faults.iter().map(|fault| (fault.code, fault.line)).collect()
}

#[test]
fn conversation_names_of_any_spelling_separate_sessions() {
    for key in ["conv_id", "sessionUuid", "session_uuid", "conversation_uuid", "conversation_key", "x-session-id"] {
        let member = |value: &str| format!(r#""{key}":"{value}""#);
        let (a, b) = (member("a"), member("b"));
        let decoded = decode(None, &messages(&[&a, &a, &b, &a]));
        let sessions: Vec<_> = decoded.events.iter().map(|event| event.session.as_deref().unwrap_or("-")).collect();
        assert_eq!(sessions, ["a", "a", "b", "a"], "{key}");
        assert!(decoded.faults.is_empty(), "{key}: {:?}", decoded.faults);
    }
    let nested = [r#""context":{"conversationId":"a"}"#, r#""context":{"conversationId":"b"}"#];
    let decoded = decode(None, &messages(&nested));
    assert_eq!(decoded.events[1].session.as_deref(), Some("b"));
}

#[test]
fn identifier_that_splits_messages_is_a_fault() {
    for key in [
        "ticket_id",
        "ticket",
        "case_id",
        "call_id",
        "call_sid",
        "sid",
        "cid",
        "interaction_id",
        "contact_id",
        "visitor_id",
        "thread",
        "chat",
        "room_id",
        "channel_id",
        "run_id",
        "trace_id",
        "request_id",
        "correlation_id",
        "client_id",
        "account_id",
        "id",
    ] {
        let member = |value: &str| format!(r#""{key}":"{value}""#);
        let (a, b) = (member("a"), member("b"));
        let lines = messages(&[&a, &a, &b, &b, &a]);
        let decoded = decode(None, &lines);
        assert_eq!(codes(&decoded), [(MIXED, 1)], "{key}: {:?}", decoded.faults);
        let said = &decoded.faults[0].message;
        assert!(said.contains(&format!("`{key}` has 2 values")) && said.contains("--session-key "), "{said}");
        assert!(decode(Some(key), &lines).faults.is_empty(), "{key}");
    }
    let nested = [r#""source":{"ticketNo":1}"#, r#""source":{"ticketNo":1}"#, r#""source":{"ticketNo":2}"#];
    let decoded = decode(None, &messages(&nested));
    assert!(decoded.faults[0].message.contains("`source.ticketNo` has 2 values"), "{:?}", decoded.faults);
}

#[test]
fn identifiers_that_split_nothing_are_no_fault() {
    let distinct: Vec<String> = (0..6).map(|number| format!(r#""id":"m{number}","request_id":"r{number}""#)).collect();
    let twice = [r#""ticket_id":"t""#; 4];
    let others = [r#""message_id":"a","status_id":1"#, r#""message_id":"a","status_id":1"#, r#""message_id":"b""#];
    let of_agent = [r#""x":1"#, r#""run_id":"a""#, r#""x":1"#, r#""run_id":"a""#, r#""x":1"#, r#""run_id":"b""#];
    let named = [
        r#""session_id":"s","ticket_id":"a""#,
        r#""session_id":"s","ticket_id":"a""#,
        r#""session_id":"s","ticket_id":"b""#,
    ];
    let distinct: Vec<&str> = distinct.iter().map(String::as_str).collect();
    for members in [&distinct[..], &twice, &others, &of_agent, &named] {
        let decoded = decode(None, &messages(members));
        assert!(decoded.faults.is_empty(), "{members:?}: {:?}", decoded.faults);
    }
}

#[test]
fn different_users_in_one_session_are_a_fault() {
    for key in ["user_id", "user", "userId", "user_email", "customer_id"] {
        let member = |session: u8, user: &str| format!(r#""session_id":{session},"{key}":"{user}""#);
        let (ann, bob, other) = (member(1, "ann"), member(1, "bob"), member(2, "bob"));
        for lines in [[&ann, &ann, &bob, &ann], [&ann, &ann, &ann, &bob]] {
            let lines = messages(&lines.map(String::as_str));
            let decoded = decode(None, &lines);
            assert_eq!(decoded.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [MIXED], "{key}");
            assert!(decoded.faults[0].message.contains(&format!("`{key}`")), "{:?}", decoded.faults);
            assert!(decode(Some("session_id"), &lines).faults.is_empty());
        }
        let lines = messages(&[&ann, &ann, &other, &other]);
        assert!(decode(None, &lines).faults.is_empty(), "{key}");
        // The agent has a name of its own.
        let lines = messages(&[&ann, &bob, &ann, &bob]);
        assert!(decode(None, &lines).faults.is_empty(), "{key}");
    }
}

#[test]
fn finer_session_member_is_a_fault() {
    let member = |session: &str, other: &str| format!(r#""session_id":"{session}","conversation_id":"{other}""#);
    let (a, b, c) = (member("s", "a"), member("s", "b"), member("t", "a"));
    let lines = messages(&[&a, &a, &b, &b]);
    let decoded = decode(None, &lines);
    assert_eq!(codes(&decoded), [(MIXED, 3)], "{:?}", decoded.faults);
    assert!(decoded.faults[0].message.ends_with("--session-key conversation_id"), "{:?}", decoded.faults);
    for key in ["session_id", "conversation_id"] {
        assert!(decode(Some(key), &lines).faults.is_empty(), "{key}");
    }
    // The session is the finer one, or the other one names single messages.
    let (d, e) = (member("s", "d"), member("s", "e"));
    for members in [[&a, &a, &c, &c], [&a, &b, &d, &e]] {
        let decoded = decode(None, &messages(&members.map(String::as_str)));
        assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    }
}

/// Returns the sessions of messages of two users, with the agent's answers, and the codes of the faults.
fn users(members: &[&str]) -> (Vec<String>, Vec<&'static str>) {
    let decoded = decode(None, &messages(members));
    let sessions = decoded.events.iter().map(|event| event.session.as_deref().unwrap_or_default().to_owned());
    (sessions.collect(), decoded.faults.iter().map(|fault| fault.code).collect())
}

#[test]
fn users_without_session_are_told_apart() {
    for key in ["user_id", "userId", "user_email", "customer_id", "end_user_id"] {
        let (ann, bob) = (format!(r#""{key}":"ann""#), format!(r#""{key}":"bob""#));
        let (sessions, faults) = users(&[&ann, &ann, &bob, &bob, &ann]);
        assert_eq!((sessions.join(" "), faults), ("ann ann bob bob ann".to_owned(), vec![]), "{key}");
        // One user has one conversation.
        assert_eq!(users(&[&ann, &ann, &ann]), (vec![String::new(); 3], vec![]), "{key}");
    }
    let (ann, bob) = (r#""metadata":{"user_id":1}"#, r#""metadata":{"user_id":2}"#);
    assert_eq!(users(&[ann, ann, bob, bob]).0, ["1", "1", "2", "2"]);
    // A session counts more than a user.
    let (ann, bob) = (r#""session_id":"a","user_id":1"#, r#""session_id":"b","user_id":1"#);
    assert_eq!(users(&[ann, ann, bob, bob]), (["a", "a", "b", "b"].map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn users_of_some_messages_only_are_a_fault() {
    let (ann, bob, agent, none) = (r#""user_id":"ann""#, r#""user_id":"bob""#, r#""user_id":"bot""#, r#""x":1"#);
    for members in [
        // The agent names none, or itself; or a member of another name names the other side.
        &[ann, none, bob, none][..],
        &[ann, agent, bob, agent],
        &[ann, r#""customer_id":"ann""#, bob, r#""customer_id":"bob""#],
        &[ann, ann, none, bob],
        &[ann, none, r#""metadata":{"user_id":"bob"}"#, none],
    ] {
        let (sessions, faults) = users(members);
        assert!(sessions.iter().all(String::is_empty) && faults == [MIXED], "{members:?}: {sessions:?} {faults:?}");
    }
    // The agent may have a name of its own.
    assert!(!users(&[ann, agent, ann, agent]).1.contains(&MIXED));
    // A finer member is not lost.
    let (first, second) = (r#""user_id":"ann","ticket_id":"a""#, r#""user_id":"bob","ticket_id":"b""#);
    assert_eq!(users(&[first, first, second, second]).1, [MIXED]);
}

/// The users of a log that is too large to be looked through first.
#[test]
fn users_of_large_log_are_told_apart() {
    let member = |number: usize| if number % 4 < 2 { r#""user_id":"ann""# } else { r#""user_id":"bob""# };
    let mut members: Vec<&str> = (0..25_000).map(member).collect();
    let (sessions, faults) = users(&members);
    assert!(faults.is_empty() && sessions.iter().filter(|name| *name == "ann").count() == 12_500, "{faults:?}");
    members[24_001] = r#""x":1"#;
    assert!(users(&members).1.contains(&MIXED));
}

#[test]
fn native_events_with_foreign_session_are_fault() {
    let event = |member: &str| format!(r#"{{"kind":"user_message","text":"yes",{member}}}"#);
    let decode = |decoder, members: &[&str]| {
        let lines: Vec<String> = members.iter().map(|member| event(member)).collect();
        decode_lines(decoder, &lines.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for key in ["session_id", "conversationId", "thread_id", "user_id", "customer_id"] {
        let (a, b) = (format!(r#""{key}":"a""#), format!(r#""{key}":"b""#));
        let decoded = decode(Format::Native.decoder(), &[&a, &a, &b]);
        assert_eq!(codes(&decoded), [(MIXED, 1)], "{key}");
        assert!(decoded.faults[0].message.contains(&format!("--session-key {key}")));
        // One session, sessions that are named, and sessions that the user names are as they are.
        assert_eq!(codes(&decode(Format::Native.decoder(), &[&a, &a])), []);
        let named = [format!(r#""session":"s",{a}"#), format!(r#""session":"t",{b}"#)];
        assert_eq!(codes(&decode(Format::Native.decoder(), &[&named[0], &named[1]])), []);
        assert_eq!(codes(&decode(Format::Native.decoder_by_session_key(key), &[&a, &b])), []);
    }
}

/// The members of Lictor's own events without a session count as those of other formats do.
#[test]
fn native_events_of_several_conversations_are_a_fault() {
    let turns = |members: &[&str]| -> Vec<String> {
        let kinds = ["user_message", "assistant_message"].iter().cycle();
        let lines = members.iter().zip(kinds);
        lines.map(|(member, kind)| format!(r#"{{"kind":"{kind}","text":"yes",{member}}}"#)).collect()
    };
    let read = |lines: &[String]| {
        decode_lines(Format::Native.decoder(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for (key, member) in [
        ("ticket_id", r#""ticket_id":VALUE"#),
        ("conversation", r#""conversation":VALUE"#),
        ("thread", r#""thread":VALUE"#),
        ("chat", r#""chat":VALUE"#),
        ("room_id", r#""room_id":VALUE"#),
        ("request_id", r#""request_id":VALUE"#),
        ("user_id", r#""user_id":VALUE"#),
        ("conversation.id", r#""conversation":{"id":VALUE}"#),
        ("user", r#""user":{"id":VALUE,"plan":"free"}"#),
        ("metadata.session_id", r#""metadata":{"session_id":VALUE}"#),
        ("source.ticketNo", r#""source":{"ticketNo":VALUE}"#),
        ("case_id", r#""user_id":"u","case_id":VALUE"#),
    ] {
        let (a, b) = (member.replace("VALUE", "\"a\""), member.replace("VALUE", "\"b\""));
        let decoded = read(&turns(&[&a, &a, &b, &b, &a]));
        assert_eq!(codes(&decoded), [(MIXED, 1)], "{key}: {:?}", decoded.faults);
        assert!(decoded.faults[0].message.ends_with(&format!("--session-key {key}")), "{:?}", decoded.faults);
        assert!(read(&turns(&[&a, &a, &a])).faults.is_empty(), "{key}");
        // An event with a session needs no other name.
        let named: Vec<String> =
            turns(&[&a, &a, &b]).iter().map(|line| line.replacen('{', r#"{"session":"s","#, 1)).collect();
        assert!(read(&named).faults.is_empty(), "{key}");
    }
    let distinct: Vec<String> = (0..6).map(|number| format!(r#""request_id":"r{number}","score":{number}"#)).collect();
    assert!(read(&turns(&distinct.iter().map(String::as_str).collect::<Vec<_>>())).faults.is_empty());
}
