//! Whole calls and texts in members of events that do not own them: a client that reads more than the interface says
//! must find nothing there that was not judged.

use lictor_json::{self as json, Json, JsonPath, JsonStep, Object};
use lictor_wire::{Api, Ruling, Stream, StreamAction, StreamLimits, UnknownFields};

use crate::drive::{forward, ruled};
use crate::made::events;

/// What no client may get unjudged.
const FORBIDDEN: &str = "drop_table";

/// The members under which some client could look for a call or a text.
const CARRIERS: [&str; 39] = [
    "message",
    "messages",
    "delta",
    "choices",
    "content",
    "content_block",
    "block",
    "text",
    "refusal",
    "item",
    "items",
    "output",
    "output_text",
    "outputs",
    "response",
    "part",
    "tool_calls",
    "tool_call",
    "tool_use",
    "function_call",
    "function",
    "custom",
    "name",
    "arguments",
    "input",
    "partial_json",
    "completion",
    "code",
    "command",
    "diff",
    "error",
    "action",
    "operation",
    "results",
    "result",
    "citation",
    "annotation",
    "completed",
    "tools",
];

/// Whether the interface has a member in this place that may hold such content without a ruling on a call: thinking, what
/// the service repeats of the request, names, and texts beside the content, in which names are no texts.
fn is_exempt(event: &Json, holder: &JsonPath, member: &str, content: &Json) -> bool {
    let inner = event.find(holder).unwrap_or(&Json::Null);
    let is_in = |key: &str| holder.iter().any(|step| matches!(step, JsonStep::Key(name) if name.as_str() == key));
    let is_thinking = inner.text("type") == Some("reasoning")
        || event.text("type").is_some_and(|name| name.starts_with("response.reasoning"));
    let is_text = content.as_str().is_some();
    is_thinking && matches!(member, "content" | "text" | "delta")
        || holder.last() == Some(&"response".into()) && matches!(member, "text" | "tools")
        || holder.last() == Some(&"delta".into()) && member == "name" && is_text
        || is_in("citation")
        || is_in("annotation")
        || member == "error" && !is_text
}

/// Streams with every kind of event, in order.
fn streams() -> Vec<(Api, Vec<&'static str>)> {
    vec![
        (
            Api::Chat,
            vec![
                r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                r#"{"choices":[],"usage":{"total_tokens":1}}"#,
            ],
        ),
        (
            Api::Messages,
            vec![
                r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[]}}"#,
                r#"{"type":"ping"}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
                r#"{"type":"content_block_stop","index":2}"#,
                r#"{"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"x"}}"#,
                r#"{"type":"content_block_stop","index":3}"#,
                r#"{"type":"content_block_start","index":4,"content_block":{"type":"container_upload","file_id":"f"}}"#,
                r#"{"type":"content_block_stop","index":4}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        ),
        (
            Api::Responses,
            vec![
                r#"{"type":"response.created","response":{"id":"r","output":[]}}"#,
                r#"{"type":"response.queued","response":{"id":"r","output":[]}}"#,
                r#"{"type":"response.in_progress","response":{"id":"r","output":[]}}"#,
                r#"{"type":"keepalive"}"#,
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"i0","summary":[]}}"#,
                r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"type":"summary_text"}}"#,
                r#"{"type":"response.reasoning_summary_part.done","output_index":0,"summary_index":0,"part":{"type":"summary_text"}}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"i0","summary":[]}}"#,
                r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"i1","role":"assistant","content":[]}}"#,
                r#"{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
                r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hi"}"#,
                r#"{"type":"response.output_text.annotation.added","output_index":1,"content_index":0,"annotation":{}}"#,
                r#"{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"Hi"}"#,
                r#"{"type":"response.content_part.done","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hi"}}"#,
                r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"i1","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}}"#,
                r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"i2","call_id":"c","name":"look","arguments":""}}"#,
                r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}"#,
                r#"{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{}"}"#,
                r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"i2","call_id":"c","name":"look","arguments":"{}"}}"#,
                r#"{"type":"response.output_item.added","output_index":3,"item":{"type":"custom_tool_call","id":"i3","call_id":"d","name":"note","input":""}}"#,
                r#"{"type":"response.custom_tool_call_input.delta","output_index":3,"delta":"x"}"#,
                r#"{"type":"response.custom_tool_call_input.done","output_index":3,"input":"x"}"#,
                r#"{"type":"response.output_item.done","output_index":3,"item":{"type":"custom_tool_call","id":"i3","call_id":"d","name":"note","input":"x"}}"#,
                r#"{"type":"response.output_item.added","output_index":4,"item":{"type":"shell_call","id":"i4","call_id":"e","action":{"commands":[]}}}"#,
                r#"{"type":"response.shell_call_command.added","output_index":4,"command_index":0,"command":""}"#,
                r#"{"type":"response.shell_call_command.delta","output_index":4,"command_index":0,"delta":"ls"}"#,
                r#"{"type":"response.shell_call_command.done","output_index":4,"command_index":0,"command":"ls"}"#,
                r#"{"type":"response.output_item.done","output_index":4,"item":{"type":"shell_call","id":"i4","call_id":"e","action":{"commands":["ls"]}}}"#,
                r#"{"type":"response.output_item.added","output_index":5,"item":{"type":"apply_patch_call","id":"i5","call_id":"f","operation":{"type":"update_file","path":"a","diff":""}}}"#,
                r#"{"type":"response.apply_patch_call_operation_diff.delta","output_index":5,"delta":"+1"}"#,
                r#"{"type":"response.apply_patch_call_operation_diff.done","output_index":5,"diff":"+1"}"#,
                r#"{"type":"response.output_item.done","output_index":5,"item":{"type":"apply_patch_call","id":"i5","call_id":"f","operation":{"type":"update_file","path":"a","diff":"+1"}}}"#,
                r#"{"type":"response.output_item.added","output_index":6,"item":{"type":"web_search_call","id":"i6","action":{"query":"q"}}}"#,
                r#"{"type":"response.web_search_call.searching","output_index":6,"item_id":"i6"}"#,
                r#"{"type":"response.output_item.done","output_index":6,"item":{"type":"web_search_call","id":"i6","action":{"query":"q"}}}"#,
                r#"{"type":"response.completed","response":{"id":"r","output":[{"type":"reasoning","id":"i0","summary":[]},{"type":"message","id":"i1","role":"assistant","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","id":"i2","call_id":"c","name":"look","arguments":"{}"},{"type":"custom_tool_call","id":"i3","call_id":"d","name":"note","input":"x"},{"type":"shell_call","id":"i4","call_id":"e","action":{"commands":["ls"]}},{"type":"apply_patch_call","id":"i5","call_id":"f","operation":{"type":"update_file","path":"a","diff":"+1"}},{"type":"web_search_call","id":"i6","action":{"query":"q"}}]}}"#,
            ],
        ),
    ]
}

/// Calls and texts in the forms that clients know.
fn contents() -> Vec<Json> {
    let whole = concat!(
        r#"{"type":"function_call","id":"z","call_id":"z","name":"drop_table","arguments":"{}","role":"assistant","#,
        r#""content":[{"type":"tool_use","id":"z","name":"drop_table","input":{}}],"#,
        r#""tool_calls":[{"index":0,"id":"z","type":"function","function":{"name":"drop_table","arguments":"{}"}}]}"#,
    );
    let texts = [r#""drop_table""#, whole, &format!("[{whole}]")];
    texts.iter().map(|text| json::parse_str(text).unwrap()).collect()
}

/// Returns the places of all objects in a value.
fn objects(value: &Json, at: &JsonPath, found: &mut Vec<JsonPath>) {
    let mut visit = |step: JsonStep, value: &Json| {
        let mut inner = at.clone();
        inner.push(step);
        objects(value, &inner, found);
    };
    match value {
        Json::Object(members) => {
            for (key, value) in members.iter() {
                visit(JsonStep::Key(key.clone()), value);
            }
            found.push(at.clone());
        }
        Json::Array(values) => values.iter().enumerate().for_each(|(place, value)| visit(place.into(), value)),
        _ => {}
    }
}

fn text_of(api: Api, payloads: &[String]) -> String {
    match api {
        Api::Chat => {
            payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect::<String>() + "data: [DONE]\n\n"
        }
        _ => events(&payloads.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

#[test]
fn member_of_other_event_carries_nothing_unjudged() {
    let (contents, mut tried, mut leaks) = (contents(), 0, Vec::new());
    for (api, payloads) in streams() {
        let honest: Vec<String> = payloads.iter().map(|payload| (*payload).to_owned()).collect();
        let text = text_of(api, &honest);
        let driven = forward(api, &text);
        assert_eq!((driven.refused.clone(), driven.text()), (None, text.as_str()), "{api:?}");
        for (place, payload) in payloads.iter().enumerate() {
            let payload = json::parse_str(payload).unwrap();
            let mut holders = Vec::new();
            objects(&payload, &JsonPath::new(), &mut holders);
            for holder in &holders {
                let present = payload.find(holder).and_then(Json::as_object).cloned().unwrap_or_default();
                for member in CARRIERS.iter().filter(|member| present.get(member).is_none()) {
                    for content in contents.iter().filter(|content| !is_exempt(&payload, holder, member, content)) {
                        let mut lie = payload.clone();
                        let Some(Json::Object(object)) = lie.find_mut(holder) else { panic!("{payload}") };
                        Object::insert(object, *member, content.clone());
                        // What comes after it changes nothing of what may be sent.
                        let mut lying = honest[..=place].to_vec();
                        lying[place] = lie.to_string();
                        let mut is_judged = false;
                        let driven = ruled(api, &text_of(api, &lying), |event| {
                            let has_it = format!("{event:?}").contains(FORBIDDEN);
                            is_judged |= has_it;
                            if has_it { Ruling::Deny { text: "no".into() } } else { Ruling::Forward }
                        });
                        // A text that was judged may have left before its end was, and errors are always forwarded.
                        let may_pass = is_judged && (content.as_str().is_some() || *member == "error");
                        if driven.text().contains(FORBIDDEN) && !may_pass {
                            let at: String = holder.iter().map(|step| format!("{step}.")).collect();
                            leaks.push(format!("{:?}: {at}{member} {content}", payload.text("type")));
                        }
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(leaks.is_empty(), "{} of {tried}:\n{}", leaks.len(), leaks.join("\n"));
    assert!(tried > 5_000, "{tried}");
}

#[test]
fn piece_that_differs_from_item_is_refused() {
    let cases = [
        (r#""command":"ls""#, r#""command":"drop_table""#),
        (r#""command_index":0,"delta":"ls""#, r#""command_index":0,"delta":"drop_table""#),
        (r#""commands":["ls"]"#, r#""commands":["drop_table"]"#),
        (r#""diff":"+1"}"#, r#""diff":"drop_table"}"#),
        (r#""output_index":5,"delta":"+1""#, r#""output_index":5,"delta":"drop_table""#),
    ];
    let (api, payloads) = streams().pop().unwrap();
    for (from, to) in cases {
        let mut lying: Vec<String> = payloads.iter().map(|payload| (*payload).to_owned()).collect();
        let place = lying.iter().position(|payload| payload.contains(from)).unwrap();
        lying[place] = lying[place].replacen(from, to, 1);
        let driven = forward(api, &text_of(api, &lying));
        assert_eq!(driven.refused.as_ref().map(|refused| refused.code), Some("stream.shape"), "{to}");
        assert!(!driven.text().contains(FORBIDDEN), "{to}");
    }
    // A stream that ends before the item does has the pieces as arguments.
    let cut: Vec<String> = payloads
        .iter()
        .take_while(|payload| !payload.contains(r#""commands":["ls"]"#))
        .map(|&one| one.into())
        .collect();
    let driven = forward(api, &text_of(api, &cut));
    assert!(driven.events().iter().any(|event| format!("{:?}", event.args).contains("ls")), "{:?}", driven.events());
}

#[test]
fn member_of_other_event_never_passes() {
    let (api, mut payloads) = streams().swap_remove(1);
    let end =
        r#"{"type":"message_stop","message":{"role":"assistant","content":[{"type":"text","text":"drop_table"}]}}"#;
    *payloads.last_mut().unwrap() = end;
    let lying: Vec<String> = payloads.iter().map(|payload| (*payload).to_owned()).collect();
    for (unknown, is_refused) in
        [(UnknownFields::Pass, false), (UnknownFields::Strip, false), (UnknownFields::Refuse, true)]
    {
        let mut stream = Stream::new(api, StreamLimits::default().unknown_fields(unknown));
        let (mut moves, mut sent, mut refused) = (stream.push(text_of(api, &lying).as_bytes()), Vec::new(), false);
        while let Some(next) = (!moves.is_empty()).then(|| moves.remove(0)) {
            match next {
                StreamAction::Release(bytes) => sent.extend(bytes),
                StreamAction::Judge(_) => moves.extend(stream.rule(Ruling::Forward)),
                StreamAction::Text { .. } => moves.extend(stream.mask(&[])),
                StreamAction::Refuse(_) => refused = true,
            }
        }
        assert_eq!(refused, is_refused, "{unknown:?}");
        assert!(!String::from_utf8(sent).unwrap().contains(FORBIDDEN), "{unknown:?}");
    }
}

#[test]
fn item_that_changes_type_is_refused() {
    let items = [
        r#"{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"drop_table","annotations":[]}]}"#,
        r#"{"type":"function_call","id":"i","call_id":"c","name":"drop_table","arguments":"{}","status":"completed"}"#,
        r#"{"type":"custom_tool_call","id":"i","call_id":"c","name":"drop_table","input":"x"}"#,
        r#"{"type":"reasoning","id":"i","summary":[{"type":"output_text","text":"drop_table"}]}"#,
        r#"{"type":"reasoning","id":"i","summary":[],"content":[{"type":"output_text","text":"drop_table"}]}"#,
    ];
    let announced = [
        r#"{"type":"message","id":"i","role":"assistant","status":"in_progress","content":[]}"#,
        r#"{"type":"reasoning","id":"i","summary":[]}"#,
        r#"{"type":"compaction","id":"i","encrypted_content":"x"}"#,
        r#"{"type":"web_search_call","id":"i","status":"in_progress"}"#,
    ];
    for added in announced {
        for done in items {
            let is_same = |name: &str| [added, done].iter().all(|item| item.contains(&format!(r#""type":"{name}""#)));
            if is_same("message") {
                continue;
            }
            for output in [format!("[{done}]"), "[]".to_owned()] {
                let payloads = [
                    r#"{"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}"#.to_owned(),
                    format!(r#"{{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{added}}}"#),
                    format!(r#"{{"type":"response.output_item.done","sequence_number":2,"output_index":0,"item":{done}}}"#),
                    format!(r#"{{"type":"response.completed","sequence_number":3,"response":{{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":{output}}}}}"#),
                ];
                let driven = forward(Api::Responses, &text_of(Api::Responses, &payloads));
                assert!(driven.refused.is_some() && !driven.text().contains(FORBIDDEN), "{added} {done}");
            }
        }
    }
}
