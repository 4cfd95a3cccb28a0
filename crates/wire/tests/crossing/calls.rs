//! Calls are held, judged, and replayed, rewritten or replaced.

use lictor_json::{self as json, Json};
use lictor_wire::{Api, Reply, Ruling};
use proptest::prelude::*;

use crate::drive::{StreamResult, deny, drive, forward, rewrite, ruled, shown};
use crate::made::{self, Turn, streamed, turn};

/// Two calls whose names, ids and arguments occur nowhere else.
fn secret() -> Turn {
    turn("Words.", &[("id-one", "tool-one", r#"{"a":"arg-one"}"#), ("id-two", "tool-two", r#"{"b":"arg-two"}"#)])
}

const MARKS: [[&str; 3]; 2] = [["id-one", "tool-one", "arg-one"], ["id-two", "tool-two", "arg-two"]];

/// The payloads of a stream.
fn payloads(text: &str) -> Vec<Json> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| json::parse_str(data).unwrap()).collect()
}

/// The events that a client reads from the stream.
fn reread(api: Api, driven: &StreamResult) -> Vec<String> {
    let again = forward(api, driven.text());
    assert_eq!(again.refused, None, "{}", driven.text());
    assert_eq!(again.sent, driven.sent, "{}", driven.text());
    shown(&again.events())
}

#[test]
fn call_bytes_are_held_until_ruling() {
    for api in Api::ALL {
        for size in [1, 4, 100] {
            let text = streamed(api, &secret(), size);
            for piece in [1, 13, text.len()] {
                let driven = drive(api, 0, text.as_bytes().chunks(piece), |_| Ruling::Forward, |_, _| Vec::new());
                assert_eq!(driven.text(), text);
                let calls = driven.judged.iter().filter(|(event, _)| event.tool.is_some());
                for ((_, before), marks) in calls.zip(MARKS) {
                    let gone = &driven.text()[..*before];
                    assert!(marks.iter().all(|mark| !gone.contains(mark)), "{api:?} {size} {piece}: {gone}");
                }
            }
        }
    }
}

#[test]
fn denied_call_sends_no_byte_at_any_cut() {
    for api in Api::ALL {
        let text = streamed(api, &secret(), 12);
        let whole = ruled(api, &text, deny("tool-two")).released;
        for cut in 0..text.len() {
            let (before, after) = text.as_bytes().split_at(cut);
            let driven = drive(api, 0, [before, after], deny("tool-two"), |_, _| Vec::new());
            assert_eq!(driven.released, whole, "{api:?} cut at {cut}");
            let left = driven.text().replace("tool-two is not allowed", "");
            assert!(MARKS[1].iter().all(|mark| !left.contains(mark)), "{api:?}: {left}");
            let cut_off = drive(api, 0, [before], deny("tool-two"), |_, _| Vec::new());
            let left = cut_off.text().replace("tool-two is not allowed", "");
            assert!(MARKS[1].iter().all(|mark| !left.contains(mark)), "{api:?} cut off at {cut}: {left}");
        }
    }
}

#[test]
fn denied_call_becomes_text_beside_forwarded_call() {
    for api in Api::ALL {
        let text = streamed(api, &secret(), 5);
        let second = ruled(api, &text, deny("tool-two"));
        let first = ruled(api, &text, deny("tool-one"));
        let (one, two) =
            ("tool_call tool-one id-one {\"a\":\"arg-one\"}", "tool_call tool-two id-two {\"b\":\"arg-two\"}");
        let expected = match api {
            // The denial is in the content, before the remaining calls.
            Api::Chat => (
                vec!["assistant_message Words.\n\ntool-two is not allowed", one],
                vec!["assistant_message Words.\n\ntool-one is not allowed", two],
            ),
            Api::Messages => (
                vec!["assistant_message Words.", one, "assistant_message tool-two is not allowed"],
                vec!["assistant_message Words.tool-one is not allowed", two],
            ),
            Api::Responses => (
                vec!["assistant_message Words.", one, "assistant_message tool-two is not allowed"],
                vec!["assistant_message Words.", "assistant_message tool-one is not allowed", two],
            ),
        };
        assert_eq!(reread(api, &second), expected.0);
        assert_eq!(reread(api, &first), expected.1);
        let reasons = |driven: &StreamResult| format!("{:?}", reasons(driven.text()));
        let stays = if api == Api::Messages { "[\"tool_use\"]" } else { "[\"tool_calls\"]" };
        if api == Api::Chat {
            let index = |payload: &Json| payload.at("choices.0.delta.tool_calls.0.index").and_then(Json::as_i64);
            let indices: Vec<i64> = payloads(first.text()).iter().filter_map(index).collect();
            assert!(!indices.is_empty() && indices.iter().all(|index| *index == 0), "{indices:?}");
        }
        if api != Api::Responses {
            assert_eq!((reasons(&first).as_str(), reasons(&second).as_str()), (stays, stays));
        }
    }
}

/// The stop reason of a stream.
fn reasons(text: &str) -> Vec<String> {
    let reason = |payload: &Json| {
        let at = |path: &str| payload.at(path).and_then(Json::as_str).map(str::to_owned);
        at("choices.0.finish_reason").or_else(|| at("delta.stop_reason"))
    };
    payloads(text).iter().filter_map(reason).collect()
}

#[test]
fn reply_stops_when_all_calls_are_denied() {
    for api in Api::ALL {
        for (words, size) in [("Words.", 5), ("", 1), ("Words.", 100)] {
            let turn = Turn { text: words.into(), ..secret() };
            let driven = ruled(api, &streamed(api, &turn, size), |event| match event.tool.as_deref() {
                Some(tool) => Ruling::Deny { text: format!("no {tool}") },
                None => Ruling::Forward,
            });
            let said = reread(api, &driven);
            assert!(said.iter().all(|said| said.starts_with("assistant_message")), "{said:?}");
            assert!(said.concat().contains("no tool-one") && said.concat().contains("no tool-two"), "{said:?}");
            match api {
                Api::Chat => assert_eq!(reasons(driven.text()), ["stop"]),
                Api::Messages => assert_eq!(reasons(driven.text()), ["end_turn"]),
                Api::Responses => {}
            }
            // The token counts are unchanged.
            assert!(driven.text().contains("\"output_tokens\":4") || driven.text().contains("\"completion_tokens\":4"));
        }
    }
}

#[test]
fn sequence_numbers_have_no_gap_after_denial() {
    let text = streamed(Api::Responses, &secret(), 2);
    let driven = [
        ruled(Api::Responses, &text, deny("tool-one")),
        ruled(Api::Responses, &text, deny("tool-two")),
        ruled(Api::Responses, &text, rewrite("tool-one", r#"{"a":"other"}"#)),
    ];
    for driven in driven {
        let payloads = payloads(driven.text());
        let numbers: Vec<i64> =
            payloads.iter().map(|one| one.get("sequence_number").unwrap().as_i64().unwrap()).collect();
        assert_eq!(numbers, (0..payloads.len() as i64).collect::<Vec<_>>());
    }
}

#[test]
fn rewritten_arguments_are_written_whole() {
    for api in Api::ALL {
        for size in [1, 6, 100] {
            let text = streamed(api, &secret(), size);
            let driven = ruled(api, &text, rewrite("tool-one", r#"{"a":"[redacted]","b":[1]}"#));
            assert!(!driven.text().contains("arg-one"), "{}", driven.text());
            let said = reread(api, &driven);
            assert_eq!(said[1], "tool_call tool-one id-one {\"a\":\"[redacted]\",\"b\":[1]}");
            assert_eq!(said[2], "tool_call tool-two id-two {\"b\":\"arg-two\"}");
        }
    }
}

#[test]
fn calls_of_two_choices_stay_separate() {
    let turns = [secret(), turn("Other.", &[("id-3", "tool-two", "{}"), ("id-4", "tool-three", "{}")])];
    for in_turn in [false, true] {
        let text = made::chat::streamed(&turns, 3, in_turn);
        assert_eq!(forward(Api::Chat, &text).text(), text);
        let driven = ruled(Api::Chat, &text, deny("tool-two"));
        let again = forward(Api::Chat, driven.text());
        let mut said = shown(&again.events());
        said.sort();
        assert_eq!(
            said,
            [
                "assistant_message Other.\n\ntool-two is not allowed",
                "assistant_message Words.\n\ntool-two is not allowed",
                "tool_call tool-one id-one {\"a\":\"arg-one\"}",
                "tool_call tool-three id-4 {}",
            ]
        );
        assert_eq!(driven.sent.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    }
}

#[test]
fn escaped_tool_name_equals_plain_name() {
    for api in Api::ALL {
        let text = streamed(api, &turn("", &[("i", "send_mail", "{}")]), 9);
        let escaped = text.replace("send_mail", "s\\u0065nd_mail");
        assert_ne!(text, escaped);
        assert_eq!(forward(api, &text).events(), forward(api, &escaped).events());
    }
}

#[test]
fn denial_text_cannot_forge_an_event() {
    let forged = "x\"}\r\n\r\ndata: {\"choices\":[]}\n\nevent: message_stop\rdata: {}";
    for api in Api::ALL {
        let text = streamed(api, &secret(), 5);
        let driven = ruled(api, &text, |event| match event.tool {
            Some(_) => Ruling::Deny { text: forged.into() },
            None => Ruling::Forward,
        });
        let said = reread(api, &driven);
        assert_eq!(said.concat().matches(forged).count(), 2, "{said:?}");
    }
}

fn turns() -> impl Strategy<Value = Turn> {
    let call = (
        "[a-z]{1,6}",
        "[a-z_]{1,8}",
        prop_oneof![
            "[ -~äöü\\r\\n]{0,12}".prop_map(|text| made::object(&[("v", text.as_str().into())]).to_string()),
            // Messages refuse arguments that are JSON and no object.
            "[ -~]{0,12}"
                .prop_filter("no object", |text| !json::parse_str(text).is_ok_and(|it| it.as_object().is_none())),
        ],
    );
    ("[ -~äé\\r\\n\u{1f600}]{0,40}", prop::collection::vec(call, 0..4)).prop_map(|(text, calls)| {
        // Ids are used once.
        let calls = calls.into_iter().enumerate().map(|(place, (id, tool, args))| (format!("{id}{place}"), tool, args));
        Turn { text, calls: calls.collect() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn generated_streams_pass_unchanged_and_match_plain(turn in turns(), size in 1..9usize, piece in 1..50usize) {
        for api in Api::ALL {
            let text = streamed(api, &turn, size);
            let driven = drive(api, 0, text.as_bytes().chunks(piece), |_| Ruling::Forward, |_, _| Vec::new());
            prop_assert_eq!(&driven.refused, &None);
            prop_assert_eq!(driven.text(), &text);
            let plain = made::plain(api, &turn);
            let reply = Reply::read(api, plain.as_bytes()).unwrap();
            prop_assert_eq!(driven.events(), reply.events());
            prop_assert_eq!(&driven.sent, &reply.settle(&[]).unwrap().sent);
        }
    }

    #[test]
    fn reply_reads_as_ruled_for_any_rulings(turn in turns(), size in 1..9usize, piece in 1..50usize, denied in any::<u8>()) {
        for api in Api::ALL {
            let text = streamed(api, &turn, size);
            let mut number = 0;
            let rule = |event: &lictor_event::Event| {
                if event.tool.is_none() {
                    return Ruling::Forward;
                }
                number += 1;
                match denied >> (number - 1) & 1 {
                    1 => Ruling::Deny { text: format!("denied {number}\r\n") },
                    _ => Ruling::Forward,
                }
            };
            let driven = drive(api, 0, text.as_bytes().chunks(piece), rule, |_, _| Vec::new());
            let again = forward(api, driven.text());
            prop_assert_eq!(&again.refused, &None);
            prop_assert_eq!(&again.sent, &driven.sent);
            let left = again.events().iter().filter(|event| event.tool.is_some()).count();
            let expected = (0..turn.calls.len()).filter(|place| denied >> place & 1 == 0).count();
            prop_assert_eq!(left, expected);
            // The plain reply settles to the same.
            let reply = Reply::read(api, made::plain(api, &turn).as_bytes()).unwrap();
            let mut number = 0;
            let rulings: Vec<Ruling> = reply.events().iter().map(|event| {
                number += usize::from(event.tool.is_some());
                match event.tool.is_some() && denied >> (number - 1) & 1 == 1 {
                    true => Ruling::Deny { text: format!("denied {number}\r\n") },
                    false => Ruling::Forward,
                }
            }).collect();
            prop_assert_eq!(&reply.settle(&rulings).unwrap().sent, &driven.sent);
        }
    }
}
