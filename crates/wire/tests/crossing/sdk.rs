//! The vendors' own libraries read written streams as they were ruled on.

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json};
use lictor_wire::{Api, Mask, Reply, Ruling};

use crate::drive::{deny, drive, rewrite};
use crate::made::{Turn, object, plain, streamed, turn};
use crate::python;

/// What a client has to read.
struct Case {
    name: &'static str,
    api: Api,
    is_streamed: bool,
    status: i64,
    body: String,
    /// The text, or the message of an error.
    expected: Result<SdkReply, Vec<&'static str>>,
}

/// The texts, the calls as id, tool and arguments, and the stop reason.
type SdkReply = (Vec<&'static str>, Vec<[&'static str; 3]>, &'static str);

fn usual() -> Turn {
    turn("Words.", &[("id-one", "tool_one", r#"{"a": 1}"#), ("id-two", "tool_two", r#"{"b": 2}"#)])
}

/// A turn under rulings, streamed and plain.
fn under(api: Api, turn: &Turn, rule: impl Fn(&Event) -> Ruling) -> [(bool, String); 2] {
    let reply = Reply::read(api, plain(api, turn).as_bytes()).unwrap();
    let rulings: Vec<Ruling> = reply.events().iter().map(&rule).collect();
    let settled = String::from_utf8(reply.settle(&rulings).unwrap().body).unwrap();
    let text = streamed(api, turn, 3);
    let driven = drive(api, usize::MAX, text.as_bytes().chunks(11), rule, |_, _| Vec::new());
    assert_eq!(driven.refused, None);
    [(false, settled), (true, String::from_utf8(driven.released).unwrap())]
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for api in Api::ALL {
        let (called, ended) = match api {
            Api::Chat => ("tool_calls", "stop"),
            Api::Messages => ("tool_use", "end_turn"),
            Api::Responses => ("completed", "completed"),
        };
        let mut add = |name, bodies: [(bool, String); 2], expected: SdkReply| {
            for (is_streamed, body) in bodies {
                cases.push(Case { name, api, is_streamed, status: 200, body, expected: Ok(expected.clone()) });
            }
        };
        let (one, two) = (["id-one", "tool_one", r#"{"a": 1}"#], ["id-two", "tool_two", r#"{"b": 2}"#]);
        add("forwarded", under(api, &usual(), |_| Ruling::Forward), (vec!["Words."], vec![one, two], called));
        let denied = |joined: &'static str, apart: Vec<&'static str>| match api {
            Api::Chat => vec![joined],
            _ => apart,
        };
        let said = denied("Words.\n\ntool_two is not allowed", vec!["Words.", "tool_two is not allowed"]);
        add("the second denied", under(api, &usual(), |event| deny("tool_two")(event)), (said, vec![one], called));
        let said = denied("Words.\n\ntool_one is not allowed", vec!["Words.", "tool_one is not allowed"]);
        add("the first denied", under(api, &usual(), |event| deny("tool_one")(event)), (said, vec![two], called));
        let all = |event: &Event| match event.kind {
            Kind::ToolCall => Ruling::Deny { text: "no\n\ndata: x".into() },
            _ => Ruling::Forward,
        };
        let said = denied("Words.\n\nno\n\ndata: x\n\nno\n\ndata: x", vec!["Words.", "no\n\ndata: x", "no\n\ndata: x"]);
        add("all denied", under(api, &usual(), all), (said, vec![], ended));
        let silent = Turn { text: String::new(), ..usual() };
        let said = denied("no\n\ndata: x\n\nno\n\ndata: x", vec!["no\n\ndata: x", "no\n\ndata: x"]);
        add("all denied, without words", under(api, &silent, all), (said, vec![], ended));
        let args = r#"{"a": "other"}"#;
        let changed = ["id-one", "tool_one", args];
        let bodies = under(api, &usual(), |event| rewrite("tool_one", r#"{"a": "other"}"#)(event));
        add("rewritten", bodies, (vec!["Words."], vec![changed, two], called));
        let words = |event: &Event| match event.kind {
            Kind::AssistantMessage => {
                Ruling::Rewrite(Box::new(Event { text: Some("W[redacted].".into()), ..event.clone() }))
            }
            _ => Ruling::Forward,
        };
        add("words rewritten", under(api, &usual(), words), (vec!["W[redacted]."], vec![one, two], called));
        let hide = |text: &str, _: usize| -> Vec<Mask> {
            text.find("ord")
                .map(|place| Mask { range: place..place + 3, with: "[redacted]".into() })
                .into_iter()
                .collect()
        };
        let text = streamed(api, &usual(), 1);
        let driven = drive(api, 4, text.as_bytes().chunks(7), |_| Ruling::Forward, hide);
        let body = String::from_utf8(driven.released).unwrap();
        let expected = Ok((vec!["W[redacted]s."], vec![one, two], called));
        cases.push(Case { name: "words masked", api, is_streamed: true, status: 200, body, expected });
        let body = String::from_utf8(api.error(403, "lictor.blocked", "this is not allowed")).unwrap();
        let expected = Err(vec!["PermissionDeniedError", "this is not allowed", "lictor.blocked"]);
        cases.push(Case { name: "an error", api, is_streamed: false, status: 403, body, expected });
        let cut = text.find("\n\n").unwrap() + 2;
        let event = String::from_utf8(api.error_event(403, "lictor.blocked", "this is not allowed", 1)).unwrap();
        let body = format!("{}{event}", &text[..cut]);
        let expected = Err(vec!["this is not allowed", "lictor.blocked"]);
        cases.push(Case { name: "an error in a stream", api, is_streamed: true, status: 200, body, expected });
    }
    cases
}

#[test]
fn vendor_libraries_read_the_written_streams() {
    let cases = cases();
    let input = |case: &Case| {
        object(&[
            ("api", case.api.name().into()),
            ("stream", case.is_streamed.into()),
            ("status", case.status.into()),
            ("body", case.body.as_str().into()),
        ])
    };
    let input = Json::from(cases.iter().map(input).collect::<Vec<_>>()).to_string();
    let Some(output) = python::run("read_by_sdk.py", &input) else { return };
    let lines: Vec<Json> = output.lines().map(|line| json::parse_str(line).unwrap()).collect();
    assert_eq!(lines.len(), cases.len(), "{output}");
    for (case, understood) in cases.iter().zip(lines) {
        let place = format!("{} {:?} streamed: {}\n{understood}\n{}", case.name, case.api, case.is_streamed, case.body);
        match &case.expected {
            Ok((text, calls, stop)) => {
                let texts: Vec<Json> = text.iter().map(|text| (*text).into()).collect();
                assert_eq!(understood.get("text"), Some(&texts.into()), "{place}");
                assert_eq!(understood.text("stop"), Some(*stop), "{place}");
                // The token counts are unchanged.
                assert_eq!(understood.get("usage").and_then(Json::as_i64), Some(4), "{place}");
                let told = understood.get("calls").unwrap().as_array().unwrap();
                let arguments = |call: &Json| json::parse_str(call.at("2").unwrap().as_str().unwrap()).unwrap();
                let told: Vec<(Json, Json, Json)> = told
                    .iter()
                    .map(|call| (call.at("0").unwrap().clone(), call.at("1").unwrap().clone(), arguments(call)))
                    .collect();
                let expected: Vec<(Json, Json, Json)> = calls
                    .iter()
                    .map(|[id, tool, args]| ((*id).into(), (*tool).into(), json::parse_str(args).unwrap()))
                    .collect();
                assert_eq!(told, expected, "{place}");
            }
            Err(words) => {
                let error = understood.get("error").map(ToString::to_string).unwrap_or_default();
                assert!(words.iter().all(|word| error.contains(word)), "{place}");
            }
        }
    }
}
