//! Eval sets of the kit and the results of running them.
//!
//! A set has cases, and a case has a conversation of invocations: what the user says, the calls and answers on the way,
//! and the response. The files `*.evalset.json` and `*.test.json` hold what is expected; a result holds what the agent
//! did. Older files list invocations by `query` and `reference`.

use std::collections::HashSet;

use crate::chat;
use crate::dialect::fill_answer;
use crate::gemini::{self, member};
use crate::message_log::{Part, Reading, Turn, read_time, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Whether a value is a set, a result, a case, or an invocation.
pub(super) fn is_eval(value: &Json) -> bool {
    list_cases(value).is_some() || is_case(value) || is_invocation(value)
}

/// Whether a value is an invocation, new or old. Other files have queries too, but no tools beside them.
pub(super) fn is_invocation(value: &Json) -> bool {
    let is_old = value.text("query").is_some() && value.get("expected_tool_use").is_some();
    is_old || find_user_content(value).is_some()
}

fn find_user_content(value: &Json) -> Option<&Json> {
    member(value, &["userContent", "user_content"]).filter(|content| content.get("parts").is_some())
}

/// Returns the cases of a set, or of its results.
fn list_cases(value: &Json) -> Option<&[Json]> {
    let cases = member(value, &["evalCases", "eval_cases"])
        .or_else(|| member(value, &["evalCaseResults", "eval_case_results"]))?;
    cases.as_array().filter(|cases| cases.iter().all(is_case))
}

/// Whether a value is a case, a case of an older file, or the result of a case.
fn is_case(value: &Json) -> bool {
    let is_old = value.text("name").is_some()
        && value.get("data").and_then(Json::as_array).is_some_and(|list| list.iter().any(is_invocation));
    let has_content = value.get("conversation").is_some()
        || list_results(value).is_some()
        || member(value, &["conversationScenario", "conversation_scenario"]).is_some();
    is_old || has_content && member(value, &["evalId", "eval_id"]).is_some()
}

/// Returns the result of each invocation of a case.
fn list_results(value: &Json) -> Option<&[Json]> {
    member(value, &["evalMetricResultPerInvocation", "eval_metric_result_per_invocation"])?.as_array()
}

/// Returns a turn for each case.
pub(super) fn find_turns(value: &Json) -> Vec<Turn<'_>> {
    match list_cases(value) {
        Some(cases) => cases.iter().map(find_case).collect(),
        None if is_case(value) => vec![find_case(value)],
        None => vec![Turn::from_message(value)],
    }
}

fn find_case(case: &Json) -> Turn<'_> {
    let name = member(case, &["sessionId", "session_id"])
        .or_else(|| member(case, &["evalId", "eval_id"]))
        .or_else(|| case.get("name"))
        .and_then(Json::as_str);
    let messages = match list_results(case) {
        Some(results) => {
            results.iter().filter_map(|result| member(result, &["actualInvocation", "actual_invocation"])).collect()
        }
        // A scenario has no conversation yet.
        None => {
            let conversation = case.get("conversation").or_else(|| case.get("data")).and_then(Json::as_array);
            conversation.unwrap_or_default().iter().collect()
        }
    };
    Turn { session: name.map(Text::from), messages, is_history: true, ..Turn::default() }
}

/// Reads an invocation.
pub(super) fn read_invocation(value: &Json, reading: &mut Reading) {
    reading.time =
        member(value, &["creationTimestamp", "creation_timestamp"]).and_then(read_time).filter(|time| time.0 > 0);
    match find_user_content(value) {
        Some(content) => {
            reading.push_content(Kind::UserMessage, content.get("parts").unwrap_or(&Json::Null), gemini::read_part)
        }
        None => {
            let text = value.text("query").map(Text::from);
            reading.push(Event { text, ..Event::new(Kind::UserMessage) });
        }
    }
    let steps = member(value, &["intermediateData", "intermediate_data"]).unwrap_or(&Json::Null);
    read_steps(steps, reading);
    for call in value.get("expected_tool_use").and_then(Json::as_array).unwrap_or_default() {
        let name = call.text("tool_name").or_else(|| call.text("name"));
        let input = call.get("tool_input").or_else(|| call.get("args"));
        reading.push(chat::tool_call(None, name, input));
        if let Some(output) = call.get("mock_tool_output").filter(|output| !output.is_null()) {
            let mut answer = tool_result(None, name);
            fill_answer(&mut answer, output.clone());
            reading.push(answer);
        }
    }
    let response = member(value, &["finalResponse", "final_response"]);
    let parts = response.and_then(|content| content.get("parts")).or_else(|| value.get("reference"));
    if let Some(parts) = parts {
        reading.push_content(Kind::AssistantMessage, parts, read_part);
    }
}

/// Reads the steps of an invocation: events in their order, or lists of calls, answers and texts. In the lists, the
/// answer of a call follows it.
fn read_steps(steps: &Json, reading: &mut Reading) {
    for event in list(steps, &["invocationEvents", "invocation_events"]) {
        reading.agent = event.text("author").filter(|author| *author != "user").map(Text::from);
        if let Some(content) = event.get("content").filter(|content| !content.is_null()) {
            gemini::read_content(content, reading);
        }
    }
    let answers = list(steps, &["toolResponses", "tool_responses"]);
    let mut used = HashSet::new();
    for call in list(steps, &["toolUses", "tool_uses"]) {
        let (id, name) = (call.text("id"), call.text("name"));
        reading.push(chat::tool_call(id, name, call.get("args")));
        let is_answer = |answer: &Json| match id {
            Some(id) => answer.text("id") == Some(id),
            None => answer.text("name") == name,
        };
        let place = answers.iter().enumerate().find(|(place, answer)| is_answer(answer) && !used.contains(place));
        if let Some((place, answer)) = place {
            used.insert(place);
            push_answer(answer, reading);
        }
    }
    for (_, answer) in answers.iter().enumerate().filter(|(place, _)| !used.contains(place)) {
        push_answer(answer, reading);
    }
    for said in list(steps, &["intermediateResponses", "intermediate_responses"]) {
        if let Some([author, parts]) = said.as_array() {
            reading.agent = author.as_str().map(Text::from);
            reading.push_content(Kind::AssistantMessage, parts, read_part);
        }
    }
    reading.agent = None;
}

fn list<'a>(value: &'a Json, keys: &[&str; 2]) -> &'a [Json] {
    member(value, keys).and_then(Json::as_array).unwrap_or_default()
}

fn push_answer(answer: &Json, reading: &mut Reading) {
    let mut event = tool_result(answer.text("id"), answer.text("name"));
    let response = answer.get("response").cloned().unwrap_or(Json::Null);
    event.failed = response.get("error").is_some_and(|error| !error.is_null());
    fill_answer(&mut event, response);
    reading.push(event);
}

/// Reads a part. An expected response without a text has an empty part.
fn read_part(part: &Json) -> Part {
    let is_empty = part.as_object().is_some_and(|members| members.iter().all(|(_, value)| value.is_null()));
    if is_empty { Part::Silent } else { gemini::read_part(part) }
}
