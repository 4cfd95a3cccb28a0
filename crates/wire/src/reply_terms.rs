//! The terms that a request sets for its reply: which tools must or must not be called, how many at once, and the form of
//! its text. A model that ignores them gives a reply that the client cannot use.

mod schema;

use lictor_event::{Arguments, Event, Kind};
use lictor_json::{self as json, Json, Text};

use crate::api::Api;
use crate::quoted::QUOTED;
use crate::segment::EXECUTED_BY;
use schema::fits;

/// The terms that a request sets for its reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyTerms {
    /// The tools that may be called; none if all may.
    allowed: Option<Vec<Text>>,
    /// Whether a tool must be called.
    needs_call: bool,
    /// Whether at most one tool may be called.
    is_single: bool,
    /// Whether the text must be JSON.
    wants_json: bool,
    /// The schema that the text must fit, if the vendor promises that it does.
    text_schema: Option<Json>,
    /// The tools whose arguments the vendor promises to fit a schema.
    strict_tools: Vec<(Text, Json)>,
    /// Whether a call without arguments may have none at all: a stream of Messages leaves them out.
    may_lack_arguments: bool,
}

impl ReplyTerms {
    /// Returns the terms of a request; none where it does not state them.
    pub fn read(api: Api, request: &[u8]) -> ReplyTerms {
        let Ok(body) = json::parse(request) else { return ReplyTerms::default() };
        let choice = ["tool_choice", "function_call"].iter().find_map(|key| body.get(key).filter(|it| !it.is_null()));
        let mut terms = choice.map(ReplyTerms::read_choice).unwrap_or_default();
        let is_set = |value: Option<&Json>, wanted: bool| value.and_then(Json::as_bool) == Some(wanted);
        terms.is_single = is_set(body.get("parallel_tool_calls"), false)
            || is_set(body.at("tool_choice.disable_parallel_tool_use"), true);
        terms.wants_json = api.interface().wants_structure(&body);
        terms.text_schema = read_text_schema(api, &body);
        terms.strict_tools = read_strict_tools(api, &body);
        terms.may_lack_arguments = api == Api::Messages;
        terms
    }

    /// Returns the terms of a choice among the tools.
    fn read_choice(choice: &Json) -> ReplyTerms {
        let word = choice.as_str().or_else(|| choice.text("type")).unwrap_or("function");
        let name = |value: &Json| {
            let named = ["name", "function.name", "custom.name"].into_iter().find_map(|path| value.at(path)?.as_str());
            named.map(Text::from)
        };
        let (allowed, needs_call) = match word {
            "auto" => (None, false),
            "none" => (Some(Vec::new()), false),
            "required" | "any" => (None, true),
            "allowed_tools" => {
                let listed = choice.get("allowed_tools").unwrap_or(choice);
                let tools = listed.get("tools").and_then(Json::as_array).unwrap_or_default();
                (Some(tools.iter().filter_map(name).collect()), listed.text("mode") == Some("required"))
            }
            // A choice of one tool. Only the vendor knows the name under which it calls a tool of its own.
            _ => (name(choice).map(|name| vec![name]), true),
        };
        ReplyTerms { allowed, needs_call, ..ReplyTerms::default() }
    }

    /// Whether the events of a reply meet the terms, in each of its choices. Arguments must be JSON in any case.
    pub fn are_met(&self, events: &[Event]) -> bool {
        let number = |event: &Event| event.more.get("choice").and_then(Json::as_i64).unwrap_or(0);
        let mut numbers: Vec<i64> = events.iter().map(number).collect();
        numbers.dedup();
        numbers.iter().all(|choice| {
            let own: Vec<&Event> = events.iter().filter(|event| number(event) == *choice).collect();
            self.are_met_by_choice(&own)
        })
    }

    fn are_met_by_choice(&self, events: &[&Event]) -> bool {
        let is_call = |event: &&&Event| event.kind == Kind::ToolCall && event.more.get(EXECUTED_BY).is_none();
        let calls: Vec<&&Event> = events.iter().filter(is_call).collect();
        let is_allowed = |call: &&&Event| match (&self.allowed, &call.tool) {
            (Some(allowed), Some(tool)) => allowed.contains(tool),
            (allowed, _) => allowed.is_none(),
        };
        let is_object = |call: &&&Event| match &call.args {
            None => true,
            Some(Arguments::Value(value)) => value.as_object().is_some(),
            Some(Arguments::Unparsed(text)) => self.may_lack_arguments && text.trim().is_empty(),
        };
        let is_fitting = |call: &&&Event| {
            let strict = self.strict_tools.iter().find(|(name, _)| Some(name) == call.tool.as_ref());
            strict.is_none_or(|(_, schema)| match &call.args {
                Some(Arguments::Value(value)) => fits(value, schema),
                _ => fits(&Json::Object(json::Object::new()), schema),
            })
        };
        let is_repeated = |place: usize, call: &Event| {
            call.id.is_some() && calls[..place].iter().any(|earlier| earlier.id == call.id)
        };
        let said =
            events.iter().filter(|event| event.kind == Kind::AssistantMessage && event.more.get(QUOTED).is_none());
        let said: String = said.filter_map(|event| event.text.as_deref()).collect();
        let read = || json::parse_str(said.trim()).ok();
        let is_text_met = || match &self.text_schema {
            Some(schema) => read().is_some_and(|value| fits(&value, schema)),
            None => !self.wants_json || read().is_some(),
        };
        let is_good = |(place, call): (usize, &&&Event)| {
            is_allowed(call) && is_object(call) && is_fitting(call) && !is_repeated(place, call)
        };
        calls.iter().enumerate().all(is_good)
            && !(self.needs_call && calls.is_empty())
            && !(self.is_single && calls.len() > 1)
            && (!calls.is_empty() || is_text_met())
    }
}

/// Returns the schema that a text must fit; none if the vendor does not promise that it does.
fn read_text_schema(api: Api, body: &Json) -> Option<Json> {
    let is_strict = |format: &Json| format.get("strict").and_then(Json::as_bool) == Some(true);
    let formats = match api {
        Api::Chat => [body.at("response_format.json_schema").filter(|format| is_strict(format)), None],
        Api::Responses => [body.at("text.format").filter(|format| is_strict(format)), None],
        Api::Messages => [body.get("output_format"), body.at("output_config.format")],
    };
    formats.into_iter().flatten().find_map(|format| format.get("schema")).cloned()
}

/// Returns the tools whose arguments must fit their schemas.
fn read_strict_tools(api: Api, body: &Json) -> Vec<(Text, Json)> {
    let tools = body.get("tools").and_then(Json::as_array).unwrap_or_default();
    let read = |tool: &Json| {
        let tool = if api == Api::Chat { tool.get("function")? } else { tool };
        let schema = tool.get(if api == Api::Messages { "input_schema" } else { "parameters" })?;
        let is_strict = tool.get("strict").and_then(Json::as_bool) == Some(true);
        is_strict.then(|| Some((tool.text("name")?.into(), schema.clone()))).flatten()
    };
    tools.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, args: &str) -> Event {
        let args = json::parse_str(args).map_or_else(|_| Arguments::Unparsed(args.into()), Arguments::Value);
        Event { tool: Some(tool.into()), args: Some(args), ..Event::new(Kind::ToolCall) }
    }

    fn named(id: &str, event: Event) -> Event {
        Event { id: Some(id.into()), ..event }
    }

    fn text(text: &str) -> Event {
        Event { text: Some(text.into()), ..Event::new(Kind::AssistantMessage) }
    }

    #[test]
    fn reply_terms_are_read_and_checked() {
        let both = || vec![call("a", "{}"), call("b", "{}")];
        let strict_tool = r#"{"tools":[{"type":"function","function":{"name":"a","strict":true,"parameters":
            {"type":"object","properties":{"db":{"enum":["x"]}},"required":["db"]}}}]}"#;
        let strict_text = r#"{"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":
            {"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}}}"#;
        let strict_format = r#"{"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":
            {"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}}}"#;
        let cases: Vec<(Api, &str, Vec<Event>, bool)> = vec![
            (Api::Chat, "{}", both(), true),
            (Api::Chat, "{}", vec![call("a", "{bad")], false),
            (Api::Chat, "{}", vec![call("a", "7")], false),
            (Api::Chat, "{}", vec![call("a", "")], false),
            (Api::Messages, "{}", vec![call("a", "")], true),
            (Api::Chat, "{}", vec![named("1", call("a", "{}")), named("1", call("b", "{}"))], false),
            (Api::Chat, "{}", vec![named("1", call("a", "{}")), named("2", call("b", "{}"))], true),
            (Api::Chat, strict_tool, vec![call("a", "{}")], false),
            (Api::Chat, strict_tool, vec![call("a", r#"{"db":"z"}"#)], false),
            (Api::Chat, strict_tool, vec![call("a", r#"{"db":"x"}"#)], true),
            (Api::Chat, strict_tool, vec![call("b", "{}")], true),
            (Api::Chat, strict_text, vec![text(r#"{"y":1}"#)], false),
            (Api::Chat, strict_text, vec![text(r#"{"x":"1"}"#)], false),
            (Api::Chat, strict_text, vec![text(r#"{"x":1}"#)], true),
            (Api::Responses, strict_format, vec![text("{}")], false),
            (Api::Responses, strict_format, vec![text(r#"{"x":1}"#)], true),
            (Api::Chat, r#"{"tool_choice":{"type":"function","function":{"name":"a"}}}"#, vec![call("a", "{}")], true),
            (Api::Chat, r#"{"tool_choice":{"type":"function","function":{"name":"a"}}}"#, vec![call("b", "{}")], false),
            (Api::Chat, r#"{"tool_choice":{"type":"function","function":{"name":"a"}}}"#, vec![text("no")], false),
            (Api::Chat, r#"{"function_call":{"name":"a"}}"#, vec![call("b", "{}")], false),
            (Api::Chat, r#"{"tool_choice":"required"}"#, vec![text("no")], false),
            (Api::Chat, r#"{"tool_choice":"none"}"#, vec![call("a", "{}")], false),
            (Api::Chat, r#"{"tool_choice":"none"}"#, vec![text("yes")], true),
            (Api::Chat, r#"{"parallel_tool_calls":false}"#, both(), false),
            (Api::Chat, r#"{"parallel_tool_calls":true}"#, both(), true),
            (Api::Chat, r#"{"response_format":{"type":"json_object"}}"#, vec![text("plain")], false),
            (Api::Chat, r#"{"response_format":{"type":"json_object"}}"#, vec![text(" {\"a\":1}")], true),
            (Api::Chat, r#"{"response_format":{"type":"json_object"}}"#, vec![call("a", "{}")], true),
            (Api::Chat, r#"{"response_format":{"type":"text"}}"#, vec![text("plain")], true),
            (Api::Responses, r#"{"tool_choice":{"type":"function","name":"a"}}"#, vec![call("b", "{}")], false),
            (
                Api::Responses,
                r#"{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"a"}]}}"#,
                both(),
                false,
            ),
            (Api::Responses, r#"{"text":{"format":{"type":"json_schema"}}}"#, vec![text("plain")], false),
            (Api::Messages, r#"{"tool_choice":{"type":"tool","name":"a"}}"#, vec![call("b", "{}")], false),
            (Api::Messages, r#"{"tool_choice":{"type":"any"}}"#, vec![text("no")], false),
            (Api::Messages, r#"{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}"#, both(), false),
            (Api::Messages, r#"{"tool_choice":{"type":"auto"}}"#, both(), true),
        ];
        for (api, request, events, expected) in cases {
            assert_eq!(ReplyTerms::read(api, request.as_bytes()).are_met(&events), expected, "{request} {events:?}");
        }
    }
}
