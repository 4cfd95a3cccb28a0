//! Histories that are sent again: every item is new once, and changes are reported.

use lictor_event::Event;
use lictor_json::Json;
use lictor_wire::{Api, ConversationHistory, HistoryChange, HistoryDiff, Reply, Request, Ruling};
use proptest::prelude::*;

use crate::drive::{deny, ruled, shown};
use crate::made::{self, Turn, object, plain, streamed, turn};

/// A request that carries these messages or items.
fn request(api: Api, items: &[Json]) -> Request {
    let key = if api == Api::Responses { "input" } else { "messages" };
    let body = object(&[("model", "m".into()), (key, items.to_vec().into())]).to_string();
    Request::read(api, body.as_bytes()).unwrap()
}

fn user(text: &str) -> Json {
    object(&[("role", "user".into()), ("content", text.into())])
}

/// A plain reply as a client sends it back, with members that libraries add or leave out.
fn sent_back(api: Api, body: &str) -> Vec<Json> {
    let body = lictor_json::parse_str(body).unwrap();
    match api {
        Api::Chat => {
            let mut message = body.at("choices.0.message").unwrap().as_object().unwrap().clone();
            message.remove("refusal");
            message.insert("audio", Json::Null);
            message.insert("function_call", Json::Null);
            // The keys in another order.
            let mut members = message.into_members();
            members.reverse();
            vec![Json::Object(members.into_iter().collect())]
        }
        Api::Messages => {
            let content = body.get("content").unwrap().as_array().unwrap();
            let kept =
                content.iter().filter(|block| block.text("type") != Some("thinking")).cloned().collect::<Vec<_>>();
            vec![object(&[("role", "assistant".into()), ("content", kept.into())])]
        }
        Api::Responses => {
            let output = body.get("output").unwrap().as_array().unwrap().iter();
            let bare = |item: &Json| {
                let mut item = item.as_object().unwrap().clone();
                for key in ["id", "status"] {
                    item.remove(key);
                }
                Json::Object(item)
            };
            output.filter(|item| item.text("type") != Some("reasoning")).map(bare).collect()
        }
    }
}

fn answers(api: Api, turn: &Turn) -> Vec<Json> {
    let answer = |(id, tool, _): &(String, String, String)| {
        let text = format!("answer of {tool}");
        match api {
            Api::Chat => {
                object(&[("role", "tool".into()), ("tool_call_id", id.as_str().into()), ("content", text.into())])
            }
            Api::Messages => {
                let block = object(&[
                    ("type", "tool_result".into()),
                    ("tool_use_id", id.as_str().into()),
                    ("content", text.into()),
                ]);
                object(&[("role", "user".into()), ("content", vec![block].into())])
            }
            Api::Responses => object(&[
                ("type", "function_call_output".into()),
                ("call_id", id.as_str().into()),
                ("output", text.into()),
            ]),
        }
    };
    turn.calls.iter().map(answer).collect()
}

fn fresh(fold: &HistoryDiff) -> Vec<String> {
    shown(&fold.fresh.iter().map(|(_, event)| event.clone()).collect::<Vec<Event>>())
}

#[test]
fn history_items_are_new_only_once() {
    for api in Api::ALL {
        for is_streamed in [false, true] {
            let turn = turn("Looking.", &[("c1", "lookup", "{\"a\": 1}")]);
            let mut known = ConversationHistory::default();
            let mut items = vec![user("hello")];
            let fold = known.fold(&request(api, &items));
            assert_eq!((fresh(&fold), fold.change), (vec!["user_message hello".into()], HistoryChange::Continued));
            known = fold.known;
            known.replied(&match is_streamed {
                true => crate::drive::forward(api, &streamed(api, &turn, 3)).sent,
                false => Reply::read(api, plain(api, &turn).as_bytes()).unwrap().settle(&[]).unwrap().sent,
            });
            items.extend(sent_back(api, &plain(api, &turn)));
            items.extend(answers(api, &turn));
            let known = ConversationHistory::from_bytes(&known.to_bytes()).unwrap();
            let fold = known.fold(&request(api, &items));
            assert_eq!(fold.change, HistoryChange::Continued, "{api:?}");
            assert_eq!(fresh(&fold), ["tool_result lookup c1 answer of lookup"], "{api:?} {is_streamed}");
            assert_eq!(fold.event(), None);
        }
    }
}

#[test]
fn changed_reply_is_remembered_as_sent() {
    let turn = turn("Looking.", &[("c1", "lookup", "{}"), ("c2", "drop", "{}")]);
    for api in Api::ALL {
        let reply = Reply::read(api, plain(api, &turn).as_bytes()).unwrap();
        let rulings: Vec<Ruling> = reply.events().iter().map(deny("drop")).collect();
        let settled = reply.settle(&rulings).unwrap();
        let driven = ruled(api, &streamed(api, &turn, 2), deny("drop"));
        assert_eq!(driven.sent, settled.sent, "{api:?}");
        let mut known = ConversationHistory::default().fold(&request(api, &[user("hello")])).known;
        known.replied(&driven.sent);
        let mut items = vec![user("hello")];
        items.extend(sent_back(api, std::str::from_utf8(&settled.body).unwrap()));
        items.push(user("and?"));
        let fold = known.fold(&request(api, &items));
        assert_eq!(
            (fresh(&fold), fold.change),
            (vec!["user_message and?".into()], HistoryChange::Continued),
            "{api:?}"
        );
    }
}

/// Messages of users, by their numbers.
fn said(numbers: &[u32]) -> Request {
    request(Api::Chat, &numbers.iter().map(|number| user(&number.to_string())).collect::<Vec<_>>())
}

/// A history, the next one, the change, and the new items.
type Case = (&'static [u32], &'static [u32], HistoryChange, &'static [usize]);

#[test]
fn history_edits_compactions_and_retries_are_reported() {
    let cases: [Case; 10] = [
        (&[], &[1], HistoryChange::Continued, &[0]),
        (&[1, 2], &[1, 2, 3], HistoryChange::Continued, &[2]),
        (&[1, 1], &[1, 1, 1], HistoryChange::Continued, &[2]),
        (&[1, 2, 3], &[1, 2, 3], HistoryChange::Continued, &[]),
        (&[1, 2, 3], &[1, 2], HistoryChange::Rewound { to: 2, dropped: 1 }, &[]),
        (&[1, 2, 3], &[1, 9, 3, 4], HistoryChange::Edited { at: 1, dropped: 1 }, &[1, 3]),
        (&[1, 2, 3], &[1, 9], HistoryChange::Edited { at: 1, dropped: 2 }, &[1]),
        (&[1, 2, 3, 4], &[9, 4, 5], HistoryChange::Compacted { at: 0, dropped: 3 }, &[0, 2]),
        (&[1, 2, 3, 4], &[9, 5], HistoryChange::Compacted { at: 0, dropped: 4 }, &[0, 1]),
        (&[1, 2, 3, 4, 5], &[1, 4, 5, 6], HistoryChange::Compacted { at: 1, dropped: 2 }, &[3]),
    ];
    for (before, after, change, new) in cases {
        let known = ConversationHistory::default().fold(&said(before)).known;
        let fold = known.fold(&said(after));
        assert_eq!(fold.change, change, "{before:?} {after:?}");
        assert_eq!(fold.fresh.iter().map(|(place, _)| *place).collect::<Vec<_>>(), new, "{before:?} {after:?}");
        assert_eq!(fold.event().is_none(), change == HistoryChange::Continued);
        // The next history is compared with this one.
        assert_eq!(fold.known.fold(&said(after)).change, HistoryChange::Continued);
    }
}

#[test]
fn changed_instructions_are_new_without_breaking_history() {
    let with = |system: &str| {
        let system = object(&[("role", "system".into()), ("content", system.into())]);
        request(Api::Chat, &[system, user("hello")])
    };
    let known = ConversationHistory::default().fold(&with("It is noon.")).known;
    let fold = known.fold(&with("It is one."));
    assert_eq!((fresh(&fold), fold.change), (vec!["system_message It is one.".into()], HistoryChange::Continued));
    assert_eq!(fresh(&known.fold(&with("It is noon."))), [""; 0]);
}

#[test]
fn history_kept_by_vendor_is_not_repeated() {
    let read = |body: &str| Request::read(Api::Responses, body.as_bytes()).unwrap();
    let mut known = ConversationHistory::default().fold(&read(r#"{"input":"hello"}"#)).known;
    let turn = turn("", &[("c1", "lookup", "{}")]);
    known.replied(&crate::drive::forward(Api::Responses, &streamed(Api::Responses, &turn, 3)).sent);
    let next =
        read(r#"{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"c1","output":"x"}]}"#);
    let fold = known.fold(&next);
    // The name of the tool is known from the reply.
    assert_eq!((fresh(&fold), fold.change), (vec!["tool_result lookup c1 x".into()], HistoryChange::Continued));
    assert_eq!(fold.known.len(), 3);
}

#[test]
fn history_continues_with_the_kept_choice() {
    let turns = [turn("One.", &[]), turn("Two.", &[("c", "lookup", "{}")])];
    let body = made::chat::plain(&turns);
    let mut known = ConversationHistory::default().fold(&said(&[1])).known;
    known.replied(&Reply::read(Api::Chat, body.as_bytes()).unwrap().settle(&[]).unwrap().sent);
    let known = ConversationHistory::from_bytes(&known.to_bytes()).unwrap();
    for (place, turn) in turns.iter().enumerate() {
        let mut items = vec![user("1")];
        items.extend(sent_back(Api::Chat, &plain(Api::Chat, turn)));
        items.push(user("next"));
        let fold = known.fold(&request(Api::Chat, &items));
        assert_eq!(
            (fresh(&fold), fold.change),
            (vec!["user_message next".into()], HistoryChange::Continued),
            "{place}"
        );
    }
}

#[test]
fn history_from_foreign_bytes_is_none() {
    let bytes = ConversationHistory::default().fold(&said(&[1, 2])).known.to_bytes();
    assert!(ConversationHistory::from_bytes(&bytes).is_some());
    for end in 0..bytes.len() {
        assert_eq!(ConversationHistory::from_bytes(&bytes[..end]), None);
    }
    assert_eq!(ConversationHistory::from_bytes(&[bytes.as_slice(), &[0]].concat()), None);
    assert_eq!(ConversationHistory::from_bytes(&[9]), None);
    assert_eq!(ConversationHistory::from_bytes(&[&[1][..], &[255; 8]].concat()), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Turn by turn, every item is new exactly once, in order, even if the same text is repeated.
    #[test]
    fn generated_history_items_are_new_only_once(
        turns in prop::collection::vec(("[ab]{0,2}", "[ab]{0,2}", prop::collection::vec("[fg]", 0..3), any::<bool>()), 1..6),
    ) {
        for api in Api::ALL {
            let (mut known, mut items, mut told, mut said) = (ConversationHistory::default(), Vec::new(), Vec::new(), Vec::new());
            for (number, (asked, answered, tools, is_streamed)) in turns.iter().enumerate() {
                items.push(user(asked));
                said.push(format!("user_message {asked}").trim_end().to_owned());
                let calls = tools.iter().enumerate();
                let calls = calls.map(|(place, tool)| (format!("c{number}-{place}"), tool.clone(), "{}".to_owned()));
                let turn = Turn { text: answered.clone(), calls: calls.collect() };
                let fold = known.fold(&request(api, &items));
                prop_assert_eq!(fold.change, HistoryChange::Continued);
                told.extend(fresh(&fold));
                known = ConversationHistory::from_bytes(&fold.known.to_bytes()).unwrap();
                let body = plain(api, &turn);
                let reply = Reply::read(api, body.as_bytes()).unwrap();
                told.extend(shown(reply.events()));
                said.extend(shown(reply.events()));
                known.replied(&match is_streamed {
                    true => crate::drive::forward(api, &streamed(api, &turn, 1)).sent,
                    false => reply.settle(&[]).unwrap().sent,
                });
                items.extend(sent_back(api, &body));
                items.extend(answers(api, &turn));
                said.extend(turn.calls.iter().map(|(id, tool, _)| format!("tool_result {tool} {id} answer of {tool}")));
            }
            told.extend(fresh(&known.fold(&request(api, &items))));
            prop_assert_eq!(told, said);
        }
    }

    /// However a history is edited, no new item is missed.
    #[test]
    fn history_diff_misses_no_new_item(before in prop::collection::vec(0..4u32, 0..8), after in prop::collection::vec(0..6u32, 0..8)) {
        let known = ConversationHistory::default().fold(&said(&before)).known;
        let fold = known.fold(&said(&after));
        let fresh: Vec<usize> = fold.fresh.iter().map(|(place, _)| *place).collect();
        for (place, number) in after.iter().enumerate() {
            prop_assert!(fresh.contains(&place) || before.contains(number), "{:?} {:?} {:?}", before, after, fresh);
        }
        // The known items occur in the old history in this order.
        let kept: Vec<u32> = after.iter().enumerate().filter(|(place, _)| !fresh.contains(place)).map(|(_, n)| *n).collect();
        let mut rest = before.iter();
        prop_assert!(kept.iter().all(|number| rest.any(|old| old == number)));
        prop_assert_eq!(fold.change == HistoryChange::Continued, after.starts_with(&before));
    }
}

/// Results of the vendor's own tools come back unchanged.
#[test]
fn hosted_tool_results_are_recognized_when_resent() {
    let blocks = r#"[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e"}]},{"type":"text","text":"Found."}]"#;
    let items = r#"[{"type":"code_interpreter_call","id":"ci_1","code":"1+1","container_id":"c","outputs":[{"type":"logs","logs":"2"}]},{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"2","annotations":[]}]}]"#;
    for (api, reply, request) in [
        (
            Api::Messages,
            format!(r#"{{"role":"assistant","content":{blocks}}}"#),
            format!(r#"{{"messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":{blocks}}}]}}"#),
        ),
        (
            Api::Responses,
            format!(r#"{{"output":{items}}}"#),
            format!(r#"{{"input":[{{"role":"user","content":"hi"}},{}]}}"#, items.trim_matches(['[', ']'])),
        ),
    ] {
        let first = match api {
            Api::Messages => r#"{"messages":[{"role":"user","content":"hi"}]}"#,
            _ => r#"{"input":[{"role":"user","content":"hi"}]}"#,
        };
        let mut known = ConversationHistory::default().fold(&Request::read(api, first.as_bytes()).unwrap()).known;
        known.replied(&Reply::read(api, reply.as_bytes()).unwrap().settle(&[]).unwrap().sent);
        let fold = known.fold(&Request::read(api, request.as_bytes()).unwrap());
        assert!(fold.fresh.is_empty() && fold.event().is_none(), "{api:?}: {fold:?}");
    }
}
