//! Plans: the question what the model would do next, and its answer as events.
//!
//! The answer is text of a model, so it is read leniently and never trusted: an action that cannot be read makes the
//! whole plan unreadable.

use bytes::Bytes;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, parse_str};
use lictor_wire::{Api, Reply, UnknownFields};

/// The members under which models put a list of actions that is not the whole answer.
const LIST_KEYS: [&str; 5] = ["actions", "plan", "next_actions", "steps", "calls"];

const TOOL_KEYS: [&str; 3] = ["tool", "name", "function"];
const ARGUMENT_KEYS: [&str; 4] = ["arguments", "args", "input", "parameters"];
const TEXT_KEYS: [&str; 4] = ["say", "message", "text", "content"];

/// Returns the question what the model would do after a reply.
pub(super) fn write_question(reply: &[Event], within: u32) -> String {
    let said = write_actions(reply);
    format!(
        "This is a question about your plan. Nothing of your answer is carried out. Suppose that your next actions are \
         these, and that they have been carried out:\n{said}\nWhich actions would you take after them? Answer with a JSON \
         list of your next {within} actions, and with nothing else. An action is {{\"tool\": NAME, \"arguments\": \
         {{...}}}} for a call of a tool, or {{\"say\": TEXT}} for a message to the user. The results of the calls are not \
         known yet: plan with what you know. If you would do nothing more, answer []."
    )
}

/// Returns what a reply says and does, as the model is asked to write plans.
pub(super) fn write_actions(reply: &[Event]) -> Json {
    reply.iter().filter_map(write_action).collect::<Vec<Json>>().into()
}

fn write_action(event: &Event) -> Option<Json> {
    match event.kind {
        Kind::ToolCall => {
            let arguments = match &event.args {
                Some(Arguments::Value(value)) => value.clone(),
                Some(Arguments::Unparsed(text)) => text.clone().into(),
                None => Json::Null,
            };
            Some(Json::from([("tool", event.tool.clone()?.into()), ("arguments", arguments)]))
        }
        Kind::AssistantMessage => Some(Json::from([("say", event.text.clone()?.into())])),
        _ => None,
    }
}

/// Returns the first actions of the plan that a reply holds; none if it cannot be read.
pub(super) fn read_plan(api: Api, body: &Bytes, unknown: UnknownFields, within: u32) -> Option<Vec<Event>> {
    let reply = Reply::read_with(api, body, unknown).ok()?;
    let calls = reply.events().iter().filter(|event| event.kind == Kind::ToolCall);
    // A model that calls tools all the same tells its plan in that way; the client never sees these calls.
    let mut actions: Vec<Event> = calls.map(|call| make_call(call.tool.as_deref(), call.args.clone())).collect();
    if actions.is_empty() {
        let said = reply.events().iter().filter(|event| event.kind == Kind::AssistantMessage);
        let text: Vec<&str> = said.filter_map(|event| event.text.as_deref()).collect();
        actions = find_plan(&text.join("\n"))?;
    }
    actions.truncate(within as usize);
    Some(actions)
}

fn make_call(tool: Option<&str>, args: Option<Arguments>) -> Event {
    Event { tool: tool.map(Into::into), args, ..Event::new(Kind::ToolCall) }
}

/// Returns the plan in a text: all of it, or the first list or object within it, with everything to its last bracket.
fn find_plan(text: &str) -> Option<Vec<Event>> {
    let part = || {
        let start = text.find(['[', '{'])?;
        let end = text.rfind(if text[start..].starts_with('[') { ']' } else { '}' })?;
        text.get(start..=end)
    };
    let read = |part: &str| read_actions(&parse_str(part.trim()).ok()?);
    read(text).or_else(|| read(part()?))
}

fn read_actions(value: &Json) -> Option<Vec<Event>> {
    match value {
        Json::Array(items) => items.iter().map(read_action).collect(),
        Json::Object(_) => match LIST_KEYS.iter().find_map(|key| value.get(key)?.as_array()) {
            Some(items) => items.iter().map(read_action).collect(),
            None => read_action(value).map(|action| vec![action]),
        },
        _ => None,
    }
}

fn read_action(value: &Json) -> Option<Event> {
    // Some models write calls as their interface does: the name and the arguments within `function`.
    let call = value.get("function").filter(|function| function.as_object().is_some()).unwrap_or(value);
    let is_named = |name: &&str| !name.trim().is_empty();
    if let Some(tool) = TOOL_KEYS.iter().find_map(|key| call.text(key)).filter(is_named) {
        let arguments = ARGUMENT_KEYS.iter().find_map(|key| call.get(key)).cloned().unwrap_or_default();
        return Some(make_call(Some(tool), Some(Arguments::from_json(arguments))));
    }
    let text = TEXT_KEYS.iter().find_map(|key| value.text(key))?;
    Some(Event { text: Some(text.into()), ..Event::new(Kind::AssistantMessage) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Option<String> {
        let body = serde_json::json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]});
        let plan = read_plan(Api::Chat, &Bytes::from(body.to_string()), UnknownFields::default(), 3)?;
        let word = |event: &Event| event.tool.clone().or(event.text.clone()).unwrap().to_string();
        Some(plan.iter().map(word).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn plan_is_read_leniently() {
        let cases = [
            (r#"[{"tool": "a", "arguments": {"x": 1}}, {"say": "done"}]"#, Some("a done")),
            ("Sure:\n```json\n[{\"name\": \"a\", \"input\": \"{}\"}]\n```\nThat is all.", Some("a")),
            (r#"{"plan": [{"function": {"name": "a", "arguments": "{}"}}]}"#, Some("a")),
            (r#"{"tool": "a"}"#, Some("a")),
            (r#"[{"tool":"a"},{"tool":"b"},{"tool":"c"},{"tool":"d"}]"#, Some("a b c")),
            ("[]", Some("")),
            ("I would stop here.", None),
            (r#"[{"tool": "a"}, 7]"#, None),
            (r#"[{"tool": "a"}, {"wait": true}]"#, None),
            (r#"[{"tool": "a""#, None),
            ("", None),
        ];
        for (content, expected) in cases {
            assert_eq!(read(content).as_deref(), expected, "{content}");
        }
    }

    #[test]
    fn plan_by_calls_is_read() {
        let body = r#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"I go on."},
            {"type":"tool_use","id":"t","name":"drop","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}"#;
        let plan = read_plan(Api::Messages, &Bytes::from(body), UnknownFields::default(), 3).unwrap();
        assert_eq!(plan.iter().map(|event| event.tool.as_deref().unwrap()).collect::<Vec<_>>(), ["drop"]);
        assert!(plan[0].id.is_none());
    }

    #[test]
    fn plan_question_holds_the_reply() {
        let call = make_call(Some("open_shell"), Some(Arguments::from_json(Json::from([("path", "/".into())]))));
        let question = write_question(&[call], 3);
        assert!(question.contains(r#"[{"tool":"open_shell","arguments":{"path":"/"}}]"#), "{question}");
    }
}
