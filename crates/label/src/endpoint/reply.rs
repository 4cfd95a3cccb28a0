//! Reads replies strictly: what is not exactly an answer to every statement is no answer to any.

use lictor_event::AnswerValue;
use lictor_json::{Json, Object};

use super::features::OutputFormat;
use super::prompt::{ItemRole, PromptItem};
use super::score::{TokenMass, read_masses};

/// More mass than this on tokens that are no value makes an answer unclear.
const MAX_OTHER_MASS: f64 = 0.05;

/// More tokens than this are no count of one reply.
const MAX_REPLY_TOKENS: u64 = 1_000_000_000;

/// What a reply says.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// An answer to each question, in their order, with its score.
    Answers(Vec<(AnswerValue, Option<f64>)>),
    /// A control question is answered wrongly.
    WrongControl,
    /// It does not parse.
    Unread,
}

/// Returns the content of a chat completion; none unless the model said it and finished.
pub(super) fn read_content(completion: &Json) -> Option<&str> {
    let choice = completion.at("choices.0")?;
    let message = choice.get("message")?;
    let is_empty = |key: &str| match message.get(key) {
        None | Some(Json::Null) => true,
        Some(Json::Array(items)) => items.is_empty(),
        Some(Json::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    let is_finished = choice.text("finish_reason").is_none_or(|reason| reason == "stop");
    let is_plain = ["tool_calls", "function_call", "refusal"].into_iter().all(is_empty);
    message.text("content").filter(|_| is_plain && is_finished)
}

/// Returns the number of tokens that a completion reports.
pub(super) fn read_tokens(body: &[u8]) -> Option<u64> {
    let completion = lictor_json::parse(body).ok()?;
    let tokens = u64::try_from(completion.at("usage.total_tokens")?.as_i64()?).ok()?;
    (tokens <= MAX_REPLY_TOKENS).then_some(tokens)
}

/// Returns the JSON object of a content. Without a format that the endpoint enforces, a model may put it into one
/// fenced block; other text around it is an error.
pub(super) fn read_object(content: &str, output: OutputFormat) -> Option<Object> {
    let mut text = content.trim();
    if output == OutputFormat::Plain
        && let Some(block) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"))
    {
        text = block.strip_prefix("json").unwrap_or(block).trim();
    }
    match lictor_json::parse_str(text) {
        Ok(Json::Object(object)) => Some(object),
        _ => None,
    }
}

/// Returns the value that a JSON value names.
pub(super) fn read_value(value: &Json) -> Option<AnswerValue> {
    match value.as_str()? {
        "yes" => Some(AnswerValue::Yes),
        "no" => Some(AnswerValue::No),
        "unclear" => Some(AnswerValue::Unclear),
        _ => None,
    }
}

/// Reads the reply to the statements of a request.
pub(super) fn read_reply(body: &[u8], items: &[PromptItem], output: OutputFormat) -> Reply {
    read_answers(body, items, output).unwrap_or(Reply::Unread)
}

fn read_answers(body: &[u8], items: &[PromptItem], output: OutputFormat) -> Option<Reply> {
    let completion = lictor_json::parse(body).ok()?;
    let object = read_object(read_content(&completion)?, output)?;
    if object.len() != items.len() {
        return None;
    }
    let values: Vec<AnswerValue> =
        items.iter().map(|item| read_value(object.get(&item.key)?)).collect::<Option<_>>()?;
    let keys: Vec<(&str, AnswerValue)> =
        items.iter().zip(&values).map(|(item, value)| (item.key.as_str(), *value)).collect();
    let masses = completion.at("choices.0.logprobs").and_then(|logprobs| read_masses(logprobs, &keys));
    let masses: Vec<Option<TokenMass>> = masses.unwrap_or_else(|| vec![None; items.len()]);
    let mut answers = Vec::new();
    for ((item, value), mass) in items.iter().zip(values).zip(masses) {
        match item.role {
            ItemRole::Question(_) => answers.push(weigh(value, mass)),
            ItemRole::Control(is_true) => {
                let right = if is_true { AnswerValue::Yes } else { AnswerValue::No };
                if value != right {
                    return Some(Reply::WrongControl);
                }
            }
        }
    }
    Some(Reply::Answers(answers))
}

/// Returns an answer with its score, or unclear where the log probabilities do not support it.
fn weigh(value: AnswerValue, mass: Option<TokenMass>) -> (AnswerValue, Option<f64>) {
    let Some(mass) = mass else { return (value, None) };
    if mass.other() > MAX_OTHER_MASS {
        return (AnswerValue::Unclear, None);
    }
    let Some(score) = mass.yes_share() else { return (AnswerValue::Unclear, None) };
    match value {
        AnswerValue::Yes if score >= 0.5 => (value, Some(score)),
        AnswerValue::No if score <= 0.5 => (value, Some(score)),
        AnswerValue::Unclear => (value, None),
        // The model wrote one value, and the spellings of the other weigh more.
        _ => (AnswerValue::Unclear, None),
    }
}

#[cfg(test)]
mod tests;
