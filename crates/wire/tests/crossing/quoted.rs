//! Texts of a reply beside its content are judged, enumerations have known words, and counts hold no texts.

use lictor_event::{Event, Kind};
use lictor_wire::{Api, Reply, Ruling, UnknownFields};

use crate::drive::{forward, ruled, shown};
use crate::made::{chunks, events};

const SECRET: &str = "the zebra is bob.miller@example.org";

fn chat(choice: &str, beside: &str) -> String {
    let message = r#""message":{"role":"assistant","content":"hi"}"#;
    format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,{message}{choice}}}]{beside}}}"#
    )
}

fn messages(content: &str, beside: &str) -> String {
    format!(r#"{{"id":"m","type":"message","role":"assistant","model":"m","content":[{content}]{beside}}}"#)
}

fn responses(output: &str) -> String {
    format!(r#"{{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":[{output}]}}"#)
}

/// Replies with the secret in one field beside the content.
fn replies() -> Vec<(Api, String)> {
    let text = r#"{"type":"text","text":"hi"}"#;
    let cited = format!(
        r#"{{"type":"text","text":"hi","citations":[{{"type":"char_location","cited_text":"{SECRET}","document_index":0,"document_title":"A"}}]}}"#
    );
    let annotated = |title: &str| {
        format!(
            r#"[{{"type":"url_citation","url_citation":{{"url":"http://x/","title":"{title}","start_index":0,"end_index":1}}}}]"#
        )
    };
    let said = format!(
        r#"{{"type":"message","id":"i","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"hi","annotations":{}}}]}}"#,
        annotated(SECRET)
    );
    let image = format!(
        r#"{{"type":"image_generation_call","id":"x","status":"completed","result":"AAAA","revised_prompt":"{SECRET}"}}"#
    );
    vec![
        (Api::Chat, chat("", &format!(r#","search_results":[{{"title":"{SECRET}","url":"http://x","snippet":"s"}}]"#))),
        (Api::Chat, chat("", &format!(r#","related_questions":["{SECRET}"]"#))),
        (
            Api::Chat,
            chat("", "")
                .replace(r#""content":"hi""#, &format!(r#""content":"hi","annotations":{}"#, annotated(SECRET))),
        ),
        (Api::Chat, chat(&format!(r#","finish_reason":"stop","stop_reason":"{SECRET}""#), "")),
        (Api::Messages, messages(&cited, r#","stop_reason":"end_turn""#)),
        (
            Api::Messages,
            messages(
                text,
                &format!(r#","stop_reason":"refusal","stop_details":{{"type":"refusal","explanation":"{SECRET}"}}"#),
            ),
        ),
        (Api::Messages, messages(text, &format!(r#","stop_reason":"stop_sequence","stop_sequence":"{SECRET}""#))),
        (
            Api::Messages,
            messages(
                &format!(r#"{{"type":"compaction","content":"{SECRET}"}},{text}"#),
                r#","stop_reason":"end_turn""#,
            ),
        ),
        (Api::Responses, responses(&said)),
        (Api::Responses, responses(&image)),
    ]
}

/// Rules on texts with the secret.
fn rule(event: &Event, change: impl Fn(&Event) -> Ruling) -> Ruling {
    let has_secret = event.kind == Kind::AssistantMessage && event.text.as_ref().is_some_and(|it| it.contains("bob"));
    if has_secret { change(event) } else { Ruling::Forward }
}

fn redact(event: &Event) -> Ruling {
    let text = event.text.as_ref().unwrap().replace("bob.miller@example.org", "[redacted]");
    Ruling::Rewrite(Box::new(Event { text: Some(text.into()), ..event.clone() }))
}

fn deny(_: &Event) -> Ruling {
    Ruling::Deny { text: "no".into() }
}

#[test]
fn quoted_texts_of_replies_are_judged() {
    for (api, body) in replies() {
        let reply = Reply::read(api, body.as_bytes()).unwrap();
        let settle = |change: fn(&Event) -> Ruling| {
            let rulings: Vec<Ruling> = reply.events().iter().map(|event| rule(event, change)).collect();
            let settled = reply.settle(&rulings).unwrap();
            assert_eq!(settled.sent[0].len(), 1, "a client sends no quotation back");
            String::from_utf8(settled.body).unwrap()
        };
        assert_eq!(String::from_utf8(reply.settle(&[]).unwrap().body).unwrap(), body);
        assert_eq!(settle(redact), body.replace("bob.miller@example.org", "[redacted]"));
        let denied = settle(deny);
        assert!(!denied.contains("bob") && denied.contains("(withheld)"), "{denied}");
    }
}

#[test]
fn quoted_texts_change_with_their_content() {
    for (api, body) in replies() {
        let reply = Reply::read(api, body.as_bytes()).unwrap();
        let deny_text = |event: &Event| match event.kind {
            Kind::AssistantMessage => Ruling::Deny { text: "no".into() },
            _ => Ruling::Forward,
        };
        let rulings: Vec<Ruling> = reply.events().iter().map(deny_text).collect();
        let settled = String::from_utf8(reply.settle(&rulings).unwrap().body).unwrap();
        assert!(!settled.contains("bob"), "{settled}");
    }
}

#[test]
fn addresses_and_names_are_not_quoted() {
    let body = chat(
        r#","finish_reason":"stop","stop_reason":null,"matched_stop":2"#,
        r#","citations":["https://example.org/a"],"search_results":[{"title":"","url":"https://example.org/a"}],"usage":{"total_tokens":2,"service_tier":"default","cost_details":{"a":0.1}}"#,
    );
    let reply = Reply::read(Api::Chat, body.as_bytes()).unwrap();
    assert_eq!(shown(reply.events()), ["assistant_message hi"]);
    assert_eq!(String::from_utf8(reply.settle(&[]).unwrap().body).unwrap(), body);
}

#[test]
fn unknown_end_words_are_replaced_or_refused() {
    let bodies = [
        (Api::Chat, chat(&format!(r#","finish_reason":"{SECRET}""#), ""), r#""finish_reason":"stop""#),
        (Api::Chat, chat(r#","finish_reason":"zebra""#, ""), r#""finish_reason":"stop""#),
        (
            Api::Messages,
            messages(r#"{"type":"text","text":"hi"}"#, r#","stop_reason":"zebra""#),
            r#""stop_reason":"end_turn""#,
        ),
    ];
    for (api, body, expected) in bodies {
        let reply = Reply::read(api, body.as_bytes()).unwrap();
        let sent = String::from_utf8(reply.settle(&[]).unwrap().body).unwrap();
        assert!(sent.contains(expected) && !sent.contains("zebra"), "{sent}");
        assert!(!reply.is_whole_answer(1), "its end is not known");
        let code = Reply::read_with(api, body.as_bytes(), UnknownFields::Refuse).err().map(|refusal| refusal.code);
        assert_eq!(code, Some("wire.unknown"));
    }
    for reason in ["stop", "length", "STOP", "content_filter", "abort"] {
        let body = chat(&format!(r#","finish_reason":"{reason}""#), "");
        assert_eq!(Reply::read(Api::Chat, body.as_bytes()).unwrap().settle(&[]).unwrap().body, body.as_bytes());
    }
}

#[test]
fn texts_in_usage_are_stripped() {
    let usage = |more: &str| format!(r#","usage":{{"prompt_tokens":1,"total_tokens":2{more}}}"#);
    for more in [
        format!(r#","note":"{SECRET}""#),
        format!(r#","service_tier":"{SECRET}""#),
        format!(r#","details":{{"note":"{SECRET}"}}"#),
        format!(r#","{SECRET}":1"#),
    ] {
        let reply = Reply::read(Api::Chat, chat("", &usage(&more)).as_bytes()).unwrap();
        let sent = String::from_utf8(reply.settle(&[]).unwrap().body).unwrap();
        assert!(sent.contains(r#""total_tokens":2"#) && !sent.contains("zebra"), "{sent}");
        assert_eq!(reply.stripped().count, 1);
    }
}

/// Streams with the secret beside the content.
fn streams() -> Vec<(Api, String)> {
    let start = r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#;
    let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let hi = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
    let cited = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"citations_delta","citation":{{"type":"char_location","cited_text":"{SECRET}"}}}}}}"#
    );
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let refused = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"refusal","stop_details":{{"type":"refusal","explanation":"{SECRET}"}}}}}}"#
    );
    let over = r#"{"type":"message_stop"}"#;
    let searched = format!(
        r#"data: {{"choices":[{{"index":0,"delta":{{"content":"hi"}}}}],"search_results":[{{"title":"{SECRET}","url":"http://x"}}]}}"#
    );
    let done = r#"{"index":0,"delta":{},"finish_reason":"stop"}"#;
    let annotation = format!(r#"{{"type":"url_citation","url":"http://x/","title":"{SECRET}"}}"#);
    let item = format!(
        r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"hi","annotations":[{annotation}]}}]}}"#
    );
    vec![
        (Api::Chat, format!("{searched}\n\n{searched}\n\n{}data: [DONE]\n\n", chunks(&[done]))),
        (Api::Messages, events(&[start, text, hi, &cited, stop, end, over])),
        (Api::Messages, events(&[start, text, hi, stop, &refused, over])),
        (
            Api::Responses,
            events(&[
                r#"{"type":"response.created","response":{"output":[]}}"#,
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}"#,
                r#"{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}"#,
                r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}"#,
                &format!(
                    r#"{{"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation":{annotation}}}"#
                ),
                &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
                &format!(r#"{{"type":"response.completed","response":{{"output":[{item}]}}}}"#),
            ]),
        ),
    ]
}

#[test]
fn quoted_texts_of_streams_are_judged() {
    for (api, text) in streams() {
        let driven = forward(api, &text);
        assert_eq!((driven.refused.clone(), driven.text()), (None, text.as_str()));
        let quoted = driven.events().iter().filter(|event| event.more.get("quoted").is_some()).count();
        assert_eq!(quoted, 1, "a repetition is judged once: {text}");
        let driven = ruled(api, &text, |event| rule(event, redact));
        assert_eq!(driven.text(), text.replace("bob.miller@example.org", "[redacted]"));
        let driven = ruled(api, &text, |event| rule(event, deny));
        assert_eq!(driven.text(), text.replace(SECRET, "(withheld)"));
    }
}

/// The words of a response that are repeated of its request, or that only programs read.
#[test]
fn sentences_in_ids_and_words_do_not_cross() {
    let message = |phase: &str| {
        let part = r#"{"type":"output_text","text":"hi","annotations":[]}"#;
        format!(
            r#"{{"type":"message","id":"i","role":"assistant","status":"completed","phase":"{phase}","content":[{part}]}}"#
        )
    };
    let image = |action: &str| {
        format!(
            r#"{{"type":"image_generation_call","id":"x","status":"completed","result":"AAAA","action":"{action}"}}"#
        )
    };
    let beside = |member: &str, value: &str| {
        responses(&message("commentary")).replacen('{', &format!(r#"{{"{member}":"{value}","#), 1)
    };
    let members = [
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "previous_response_id",
        "conversation",
    ];
    let mut bodies = vec![responses(&message(SECRET)), responses(&image(SECRET))];
    bodies.extend(members.iter().map(|member| beside(member, SECRET)));
    bodies.push(
        beside("conversation", "").replace(r#""conversation":"""#, &format!(r#""conversation":{{"id":"{SECRET}"}}"#)),
    );
    for body in bodies {
        let reply = Reply::read(Api::Responses, body.as_bytes()).unwrap();
        let settled = String::from_utf8(reply.settle(&[]).unwrap().body).unwrap();
        assert!(!settled.contains("zebra") && settled.len() < body.len(), "{settled}");
    }
    let ids = members.iter().map(|member| beside(member, "a-1")).chain([beside("user", "ann@example.org|7")]);
    for body in ids.chain([responses(&message("final_answer")), responses(&image("edit"))]) {
        let reply = Reply::read(Api::Responses, body.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(reply.settle(&[]).unwrap().body).unwrap(), body);
    }
}
