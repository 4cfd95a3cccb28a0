//! Requests that hold the last messages of a conversation only, in logs without a session id: they are one session, as if
//! all messages were in one list, or a fault says that they may not be.

use std::collections::BTreeMap;

use lictor_decode::{DecodedEvents, Format};
use lictor_json::Json;
use proptest::prelude::*;

use crate::reader::decode_lines;

/// What a customer says, and what the agent does then: a word and an answer of a few letters, a whole sentence and one, or
/// a call without an id, with a short one, or with one that no other conversation has.
#[derive(Clone, Copy, Debug)]
struct Turn {
    style: u8,
    word: u8,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    prop::collection::vec((0..5_u8, 0..4_u8).prop_map(|(style, word)| Turn { style, word }), 1..12)
}

/// Returns the messages of a customer, and after how many of them the agent is asked.
fn converse(customer: usize, turns: &[Turn]) -> (Vec<String>, Vec<usize>) {
    let mut messages = vec![say("user", &format!("hello, I am customer {customer}"))];
    let mut asked = Vec::new();
    for (number, Turn { style, word }) in turns.iter().enumerate() {
        asked.push(messages.len());
        if *style > 1 {
            let id = ["", "call_1", "call_Hx3kQ9vT2mZr7Lp"][usize::from(style - 2)];
            let id = if id.len() > 6 { format!("{id}{customer}_{number}") } else { id.to_owned() };
            messages.push(format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"find","arguments":"{{\"n\":{word}}}"}}}}]}}"#
            ));
            messages.push(format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"row {word}"}}"#));
            asked.push(messages.len());
        }
        messages.push(say("assistant", "ok"));
        messages.push(match style {
            0 => say("user", ["yes", "no", "more", "why"][usize::from(*word)]),
            _ => {
                say("user", &format!("please send number {number} of the {word} of customer {customer} to my address"))
            }
        });
    }
    asked.push(messages.len());
    (messages, asked)
}

fn say(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

/// Returns the request of the last of some messages.
fn request(messages: &[String], window: usize) -> String {
    let first = messages.len().saturating_sub(window);
    format!(r#"{{"model":"m","messages":[{}]}}"#, messages[first..].join(","))
}

fn decode(lines: &[String]) -> DecodedEvents {
    decode_lines(Format::OpenaiChat.decoder(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns what was said and done in each session.
fn sessions(decoded: &DecodedEvents) -> Vec<Vec<String>> {
    let mut sessions: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for event in &decoded.events {
        let args = event.args.as_ref().map(|args| format!("{args:?}"));
        let line = format!("{} {:?} {:?} {args:?}", event.kind, event.id, event.text);
        sessions.entry(event.session.clone()).or_default().push(line);
    }
    let mut sessions: Vec<_> = sessions.into_values().collect();
    sessions.sort();
    sessions
}

fn is_reported(decoded: &DecodedEvents) -> bool {
    decoded.faults.iter().any(|fault| fault.code == "decode.unjoined_windows")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(200) as u32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_equal_plain_lists_or_are_reported(
        customers in prop::collection::vec(turns(), 1..4),
        window in 4..12_usize,
        order in prop::collection::vec(0..4_usize, 0..60),
    ) {
        let said: Vec<_> = customers.iter().enumerate().map(|(number, turns)| converse(number, turns)).collect();
        let mut next = vec![0; said.len()];
        let mut lines = Vec::new();
        let rest = (0..said.len()).flat_map(|customer| std::iter::repeat_n(customer, 40));
        for customer in order.into_iter().map(|number| number % said.len()).chain(rest) {
            let (messages, asked) = &said[customer];
            if let Some(count) = asked.get(next[customer]) {
                lines.push(request(&messages[..*count], window));
                next[customer] += 1;
            }
        }
        let windows = decode(&lines);
        let plain: Vec<String> = said.iter().map(|(messages, _)| request(messages, messages.len())).collect();
        let plain = decode(&plain);
        prop_assert!(!is_reported(&plain));
        prop_assert!(is_reported(&windows) || sessions(&windows) == sessions(&plain),
            "{}\n{:#?}\n{:#?}", lines.join("\n"), sessions(&windows), sessions(&plain));
    }

    /// Customers with sentences of their own, in windows that repeat two of them.
    #[test]
    fn windows_of_own_sentences_are_joined(
        customers in prop::collection::vec(prop::collection::vec((1..5_u8, 0..4_u8), 3..12), 1..3),
        window in 11..17_usize,
    ) {
        let turns = |turns: &Vec<(u8, u8)>| turns.iter().map(|&(style, word)| Turn { style, word }).collect::<Vec<_>>();
        let said: Vec<_> = customers.iter().enumerate().map(|(number, said)| converse(number, &turns(said))).collect();
        let mut lines = Vec::new();
        for step in 0..40 {
            for (messages, asked) in &said {
                lines.extend(asked.get(step).map(|count| request(&messages[..*count], window)));
            }
        }
        let windows = decode(&lines);
        let plain: Vec<String> = said.iter().map(|(messages, _)| request(messages, messages.len())).collect();
        prop_assert!(windows.faults.is_empty(), "{}\n{:?}", lines.join("\n"), windows.faults);
        prop_assert_eq!(sessions(&windows), sessions(&decode(&plain)));
    }
}

#[test]
fn windows_of_common_words_are_reported() {
    let words = ["hi", "hello", "a room", "which one", "the big one", "done", "thanks"];
    let messages: Vec<String> =
        words.iter().enumerate().map(|(place, text)| say(["user", "assistant"][place % 2], text)).collect();
    for window in [3, 4, 5] {
        let lines: Vec<String> = [1, 3, 5, 7].iter().map(|count| request(&messages[..*count], window)).collect();
        assert!(is_reported(&decode(&lines)), "{window}");
    }
}

#[test]
fn customers_with_same_words_are_not_joined() {
    // The first one ends with the words with which the log of the second one begins.
    let shared = ["I want to end my contract now", "why do you want to end it", "it is far too expensive for me"];
    let of = |texts: &[&str]| -> Vec<String> {
        texts.iter().enumerate().map(|(place, text)| say(["user", "assistant"][place % 2], text)).collect()
    };
    let first = of(&["hi", "hello", shared[0], shared[1], shared[2]]);
    let second = of(&[shared[0], shared[1], shared[2], "ok", "my name is Bob"]);
    let other = of(&["hi", "hello", "I am Eve", "ok", shared[0], shared[1], shared[2]]);
    let lines = [request(&first, 9), request(&other, 9), request(&second, 9)];
    let decoded = decode(&lines);
    assert!(is_reported(&decoded));
    assert_eq!(sessions(&decoded).len(), 3);
}

#[test]
fn whole_conversations_are_no_windows() {
    let all: Vec<String> = (0..20)
        .map(|number| {
            let of = |role: &str, text: &str| say(role, text);
            let messages = [
                of("user", "hello"),
                of("assistant", "hello, how can I help"),
                of("user", &format!("what is {number}")),
                of("assistant", "a number"),
                of("user", "hello"),
            ];
            request(&messages, 9)
        })
        .collect();
    let decoded = decode(&all);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    assert_eq!(sessions(&decoded).len(), 20);
    let json: Json = lictor_json::parse_str(&all[0]).unwrap();
    assert_eq!(Format::detect(&[json]), Some(Format::OpenaiChat));
}
