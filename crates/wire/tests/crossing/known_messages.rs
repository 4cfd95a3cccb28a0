//! A request that begins like an earlier one is read as if there were none.

use lictor_wire::{Api, Request};
use proptest::prelude::*;

/// Messages and items: plain ones, calls and results, texts that no reader takes, and wrong ones.
const ENTRIES: [&str; 24] = [
    r#"{"role":"user","content":"hello"}"#,
    r#"{"role":"user","content":"Gr\u00fc\u00dfe, ü"}"#,
    r#"{"content":"hello","role":"user"}"#,
    r#"{"role":"system","content":"Be kind."}"#,
    r#"{"role":"assistant","content":"fine, ]} and \"you\"?"}"#,
    r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"lookup","arguments":"{\"n\":1}"}}]}"#,
    r#"{"role":"tool","tool_call_id":"c1","content":"42"}"#,
    r#"{"role":"tool","tool_call_id":"c2","content":"43"}"#,
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"search","input":{}}]}"#,
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"44"},{"type":"text","text":"so?"}]}"#,
    r#"{"role":"user","content":"hi","name":"two words"}"#,
    r#"{"role":"user","content":"hi","aside":"what no reader takes"}"#,
    r#"{"type":"function_call","call_id":"c1","name":"lookup","arguments":"{}"}"#,
    r#"{"type":"function_call_output","call_id":"c1","output":"45"}"#,
    r#"{"type":"mcp_approval_request","id":"a1","name":"send","arguments":"{}","server_label":"s"}"#,
    r#"{"type":"mcp_approval_response","approval_request_id":"a1","approve":true}"#,
    r#"{"role":"user","content":"a","role":"system"}"#,
    r#"{"role":"nobody","content":"hello"}"#,
    r#"{"role":"user","Content":"x","content":"y"}"#,
    r#"{"role":"user","content":"torn"#,
    r#""no object""#,
    "7",
    "",
    r#"{"role":"user","content":""}"#,
];

/// Members of a body beside the messages.
const MEMBERS: [&str; 14] = [
    r#""model":"m""#,
    r#""stream":true"#,
    r#""stream":1"#,
    r#""n":2"#,
    r#""user":"ann""#,
    r#""tools":[{"type":"function","function":{"name":"lookup"}}]"#,
    r#""system":"Be brief.""#,
    r#""instructions":"Be brief.""#,
    r#""prediction":{"type":"content","content":"so"}"#,
    r#""metadata":{"session_id":"s","note":"two words"}"#,
    r#""more":"what no reader takes""#,
    r#""messages":[]"#,
    r#""input":[{"role":"user","content":"and this"}]"#,
    r#""Model":"m""#,
];

/// A body: members before and after its messages, and how it is written.
#[derive(Clone, Debug)]
struct Body {
    before: Vec<usize>,
    entries: Vec<usize>,
    after: Vec<usize>,
    key: &'static str,
    space: &'static str,
    end: &'static str,
}

impl Body {
    fn text(&self) -> String {
        let space = self.space;
        let entries: Vec<&str> = self.entries.iter().map(|entry| ENTRIES[*entry]).collect();
        let list = format!("{}:{space}[{space}{}{space}]", self.key, entries.join(&format!("{space},{space}")));
        let member = |member: &usize| MEMBERS[*member].to_owned();
        let members: Vec<String> =
            self.before.iter().map(member).chain([list]).chain(self.after.iter().map(member)).collect();
        format!("{{{space}{}{space}}}{}", members.join(","), self.end)
    }
}

fn body() -> impl Strategy<Value = Body> {
    // Most entries are right ones, so that most bodies can be read.
    let entry = prop_oneof![8 => 0..10_usize, 2 => 10..16_usize, 1 => 0..ENTRIES.len()];
    let member = || prop_oneof![6 => 0..2_usize, 1 => 0..MEMBERS.len()];
    let members = || proptest::collection::vec(member(), 0..3);
    let key = prop_oneof![
        6 => Just(r#""messages""#),
        3 => Just(r#""input""#),
        1 => Just(r#""mess\u0061ges""#)
    ];
    let space = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\r\n\t")];
    let end = prop_oneof![9 => Just(""), 1 => Just(" "), 1 => Just("{}")];
    (members(), proptest::collection::vec(entry, 0..7), members(), key, space, end)
        .prop_map(|(before, entries, after, key, space, end)| Body { before, entries, after, key, space, end })
}

/// What a later request does with the body of an earlier one.
#[derive(Clone, Debug)]
enum Change {
    Append(Vec<usize>),
    Truncate(usize),
    Replace(usize, usize),
    Swap(usize, usize),
    Member(usize),
    Byte(usize, u8),
    /// Something between a message and what follows it.
    Between(usize, &'static str),
    Cut(usize),
    Other(Box<Body>),
}

fn change() -> impl Strategy<Value = Change> {
    let entry = || prop_oneof![6 => 0..10_usize, 1 => 0..ENTRIES.len()];
    prop_oneof![
        6 => proptest::collection::vec(entry(), 0..3).prop_map(Change::Append),
        2 => (0..7_usize).prop_map(Change::Truncate),
        2 => (0..7_usize, entry()).prop_map(|(at, entry)| Change::Replace(at, entry)),
        1 => (0..7_usize, 0..7_usize).prop_map(|(one, other)| Change::Swap(one, other)),
        2 => (0..MEMBERS.len()).prop_map(Change::Member),
        3 => (0..1000_usize, prop_oneof![any::<u8>(), Just(b' '), Just(b'"'), Just(b','), Just(b']'), Just(b'}')])
            .prop_map(|(at, byte)| Change::Byte(at, byte)),
        3 => (0..7_usize, prop_oneof![
            Just(".5"), Just("e5"), Just("0"), Just("{}"), Just("\"\""), Just(","), Just("]"), Just("}"), Just(" "), Just(":1")
        ])
            .prop_map(|(at, text)| Change::Between(at, text)),
        1 => (0..1000_usize).prop_map(Change::Cut),
        1 => body().prop_map(|body| Change::Other(Box::new(body))),
    ]
}

fn apply(body: &Body, changes: &[Change]) -> Vec<u8> {
    let mut body = body.clone();
    let mut bytes = None;
    for change in changes {
        match change {
            Change::Append(entries) => body.entries.extend(entries),
            Change::Truncate(length) => body.entries.truncate(*length),
            Change::Replace(at, with) => body.entries.iter_mut().skip(*at).take(1).for_each(|entry| *entry = *with),
            Change::Swap(one, other) => {
                let count = body.entries.len().max(1);
                if !body.entries.is_empty() {
                    body.entries.swap(one % count, other % count);
                }
            }
            Change::Member(member) => body.after.push(*member),
            Change::Other(other) => body = (**other).clone(),
            Change::Byte(at, byte) => {
                let mut changed = body.text().into_bytes();
                let place = at % changed.len();
                changed[place] = *byte;
                bytes = Some(changed);
            }
            Change::Between(at, with) => {
                let text = body.text();
                let ends: Vec<usize> = text.match_indices('}').map(|(place, _)| place + 1).collect();
                let end = ends.get(at % ends.len().max(1)).copied().unwrap_or(0);
                bytes = Some([&text[..end], with, &text[end..]].concat().into_bytes());
            }
            Change::Cut(at) => {
                let mut cut = body.text().into_bytes();
                cut.truncate(at % cut.len());
                bytes = Some(cut);
            }
        }
    }
    bytes.unwrap_or_else(|| body.text().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(1200)))]

    #[test]
    fn known_messages_are_read_like_new_ones(
        first in body(),
        changes in proptest::collection::vec(proptest::collection::vec(change(), 1..3), 1..4),
    ) {
        for api in Api::ALL {
            let Ok(mut earlier) = Request::read(api, first.text().as_bytes()) else { continue };
            for changes in &changes {
                let body = apply(&first, changes);
                let quick = Request::read_after(&earlier, api, &body);
                let general = Request::read(api, &body);
                let shown = String::from_utf8_lossy(&body).into_owned();
                prop_assert_eq!(format!("{:?}", quick), format!("{:?}", general), "{:?}: {}", api, shown);
                // A request that was read quickly is an earlier one as well.
                if let Ok(quick) = quick {
                    earlier = quick;
                }
            }
        }
    }
}

#[test]
fn known_messages_do_not_hide_wrong_text() {
    let body = |after: &str| format!(r#"{{"messages":[{}{after}],"n":1}}"#, ENTRIES[0]);
    let earlier = Request::read(Api::Chat, body("").as_bytes()).unwrap();
    for wrong in [".5", "e5", "0", "{}", "\"\"", ",", "]", "}", ":1", "\u{0}", ",0", ",{}", ",{\"role\":\"x\"}"] {
        let read = Request::read_after(&earlier, Api::Chat, body(wrong).as_bytes());
        let general = Request::read(Api::Chat, body(wrong).as_bytes());
        assert_eq!(read.unwrap_err(), general.unwrap_err(), "{wrong}");
    }
    assert!(Request::read_after(&earlier, Api::Chat, body(" \r\n").as_bytes()).is_ok());
}

/// Otherwise the tests above would compare nothing.
#[test]
fn known_messages_are_found() {
    let of = |entries: &[usize]| {
        let entries: Vec<&str> = entries.iter().map(|entry| ENTRIES[*entry]).collect();
        format!(r#"{{"model":"m","messages":[{}],"n":1}}"#, entries.join(","))
    };
    let earlier = Request::read(Api::Chat, of(&[3, 0, 5]).as_bytes()).unwrap();
    let shared = |body: String| earlier.shared_length(body.as_bytes());
    let known = |entries: &[usize]| of(entries).len() - r#"],"n":1}"#.len();
    assert_eq!(shared(of(&[3, 0, 5, 6, 0])), known(&[3, 0, 5]));
    assert_eq!(shared(of(&[3, 0, 4])), known(&[3, 0]), "the last one has changed");
    assert_eq!(shared(of(&[3])), known(&[3]), "a history that was cut back");
    assert_eq!(shared(of(&[0, 3, 5])), 0, "another order");
    assert_eq!(shared(of(&[3, 0, 5]).replace("\"m\"", "\"n\"")), 0, "the model comes before them");
    assert_eq!(shared(String::new()), 0);
}
