//! Texts of one reply that are judged apart, and that clients join.

use lictor_event::Event;
use lictor_wire::{Api, Reply};

use crate::drive::separate;

/// What a client reads that joins all texts.
fn said(events: &[Event]) -> String {
    events.iter().filter_map(|event| event.text.as_deref()).collect()
}

fn joined(frames: &[String]) -> String {
    frames.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// What a call keeps apart is judged apart, but the usual client joins all texts of a reply.
#[test]
fn texts_around_calls_end_their_lines() {
    const HEAD: &str = r#""id":"m","type":"message","role":"assistant","model":"m""#;
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let call = r#"{"type":"tool_use","id":"c","name":"ls","input":{}}"#;
    for (first, second, wanted) in [
        ("Write to ann@", "example.org", "Write to ann@\nexample.org"),
        ("the SECRET", "WORD is", "the SECRET\nWORD is"),
        ("I look.", "It is there.", "I look.\nIt is there."),
        ("I look. ", "It is there.", "I look. It is there."),
        ("I look.", "\\n\\nIt is there.", "I look.\n\nIt is there."),
    ] {
        let whole =
            format!(r#"{{{HEAD},"stop_reason":"end_turn","content":[{},{call},{}]}}"#, text(first), text(second));
        let reply = Reply::read(Api::Messages, whole.as_bytes()).unwrap().separate_texts().unwrap();
        assert_eq!(said(reply.events()), wanted);

        let frames = [
            format!(r#"{{"type":"message_start","message":{{{HEAD},"content":[]}}}}"#),
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{}}}"#, text("")),
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{first}"}}}}"#),
            r#"{"type":"content_block_stop","index":0}"#.to_owned(),
            format!(r#"{{"type":"content_block_start","index":1,"content_block":{call}}}"#),
            r#"{"type":"content_block_stop","index":1}"#.to_owned(),
            format!(r#"{{"type":"content_block_start","index":2,"content_block":{}}}"#, text("")),
            format!(r#"{{"type":"content_block_delta","index":2,"delta":{{"type":"text_delta","text":"{second}"}}}}"#),
            r#"{"type":"content_block_stop","index":2}"#.to_owned(),
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned(),
        ];
        let driven = separate(Api::Messages, &joined(&frames));
        assert_eq!((said(&driven.events()), driven.refused), (wanted.to_owned(), None));
    }
}

/// The texts of several messages of one response.
#[test]
fn messages_of_a_response_end_their_lines() {
    let part = |text: &str| format!(r#"{{"type":"output_text","text":"{text}","annotations":[]}}"#);
    let item = |id: usize, content: &str, status: &str| {
        format!(r#"{{"id":"m{id}","type":"message","role":"assistant","status":"{status}","content":[{content}]}}"#)
    };
    for (first, second, wanted) in [
        ("Write to ann@", "example.org", "Write to ann@\nexample.org"),
        ("the SECRET", "WORD is", "the SECRET\nWORD is"),
        ("I look. ", "It is there.", "I look. It is there."),
    ] {
        let items = [item(0, &part(first), "completed"), item(1, &part(second), "completed")];
        let output = items.join(",");
        let whole = format!(r#"{{"id":"r","object":"response","status":"completed","output":[{output}]}}"#);
        let reply = Reply::read(Api::Responses, whole.as_bytes()).unwrap().separate_texts().unwrap();
        assert_eq!(said(reply.events()), wanted);

        let mut frames = vec![r#"{"type":"response.created","response":{"id":"r","output":[]}}"#.to_owned()];
        for (number, text) in [first, second].into_iter().enumerate() {
            let place = format!(r#""output_index":{number},"content_index":0,"item_id":"m{number}""#);
            let empty = item(number, "", "in_progress");
            frames.push(format!(r#"{{"type":"response.output_item.added","output_index":{number},"item":{empty}}}"#));
            frames.push(format!(r#"{{"type":"response.content_part.added",{place},"part":{}}}"#, part("")));
            let (head, tail) = text.split_at(3);
            for delta in [head, tail] {
                frames.push(format!(r#"{{"type":"response.output_text.delta",{place},"delta":"{delta}"}}"#));
            }
            frames.push(format!(r#"{{"type":"response.output_text.done",{place},"text":"{text}"}}"#));
            frames.push(format!(r#"{{"type":"response.content_part.done",{place},"part":{}}}"#, part(text)));
            let done = &items[number];
            frames.push(format!(r#"{{"type":"response.output_item.done","output_index":{number},"item":{done}}}"#));
        }
        frames.push(format!(r#"{{"type":"response.completed","response":{whole}}}"#));
        let driven = separate(Api::Responses, &joined(&frames));
        assert_eq!((said(&driven.events()), &driven.refused), (wanted.to_owned(), &None));
        // The first piece, and each of the four repetitions.
        let count = if wanted.contains('\n') { 5 } else { 0 };
        assert_eq!(driven.text().matches(&format!(r#""\n{}"#, &second[..3])).count(), count, "{}", driven.text());
        // Messages that come in another order would be joined in it.
        let turned = [&frames[..1], &frames[8..15], &frames[1..8]].concat();
        let refused = separate(Api::Responses, &joined(&turned)).refused;
        assert!(refused.is_some_and(|refusal| refusal.to_string().contains("out of order")));
    }
}
