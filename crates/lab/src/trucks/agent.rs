//! The agent: a model behind the chat interface of OpenAI, simulated.
//!
//! It reads a request with messages, draws the next action, and answers with a chat completion of one tool call. The
//! field `user` names the run by its seed: the same run, the same state and the same number of the attempt give the same
//! reply. So runs with different interventions can be compared pair by pair. The field `seed` would not do: a request that is
//! sent again has none, and its reply must be of the same agent.
//!
//! The agent knows the properties and weighs them; it does not know the judge.

use std::collections::HashMap;

use lictor::predict::SeededRandom;
use serde_json::{Value, json};

use super::preference::{Character, draw_action};
use super::world::TruckWorld;

/// The names of the models, and how much a token of each costs.
pub const PLAIN_MODEL: &str = "trucks-plain";
/// A model that makes fewer mistakes.
pub const CAREFUL_MODEL: &str = "trucks-careful";
/// What a token of the careful model costs, where one of the plain model costs 1.
pub const CAREFUL_PRICE: f64 = 3.0;

/// What a reminder does: the weight of each action that breaks nothing is multiplied by this.
pub const REMINDER_FACTOR: f64 = 4.0;

const PLAIN: Character = Character { care: 0.9, whim: 0.45 };
const CAREFUL: Character = Character { care: 1.6, whim: 0.15 };

/// The temperature of a request that names none.
const DEFAULT_TEMPERATURE: f64 = 0.2;

/// How many bytes of JSON count as a token.
const BYTES_PER_TOKEN: usize = 4;

/// The simulated model.
#[derive(Debug, Default)]
pub struct TruckAgent {
    /// How often each step of each run was asked for.
    attempts: HashMap<(u64, usize), u64>,
    usage: AgentUsage,
}

/// What an agent was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AgentUsage {
    /// The replies.
    pub calls: u64,
    /// The tokens of requests and replies: one for every four bytes of JSON that are read or written.
    pub tokens: u64,
    /// The tokens, each at the price of its model.
    pub cost: f64,
}

impl TruckAgent {
    /// Returns what it was asked for so far.
    pub fn usage(&self) -> AgentUsage {
        self.usage
    }

    /// Answers the body of a request by a chat completion.
    ///
    /// # Errors
    ///
    /// The request is no JSON, names no known model, or shows no state of the world. The message says so.
    pub fn complete_chat(&mut self, request: &[u8]) -> Result<Value, String> {
        let body: Value =
            serde_json::from_slice(request).map_err(|error| format!("the request is no JSON: {error}"))?;
        let model = body["model"].as_str().unwrap_or_default();
        let (character, price) = match model {
            PLAIN_MODEL => (PLAIN, 1.0),
            CAREFUL_MODEL => (CAREFUL, CAREFUL_PRICE),
            _ => return Err(format!("unknown model `{model}`; use {PLAIN_MODEL} or {CAREFUL_MODEL}")),
        };
        let messages = body["messages"].as_array().ok_or("the request has no `messages`")?;
        let world = messages.iter().rev().find_map(read_state).ok_or("no message shows the state of the world")?;
        let temperature = body["temperature"].as_f64().unwrap_or(DEFAULT_TEMPERATURE).max(0.01);
        let factor = if has_reminder(messages) { REMINDER_FACTOR } else { 1.0 };
        let user = body["user"].as_str().unwrap_or_default();
        let seed = user.parse::<u64>().map_err(|_| format!("`user` must be the seed of the run, not `{user}`"))?;
        let step = messages.iter().filter(|message| message["role"] == "assistant").count();
        let attempt = self.attempts.entry((seed, step)).or_default();
        *attempt += 1;
        let mut random = SeededRandom::new(mix_seed(seed, step as u64, *attempt));
        let id = format!("{seed:x}-{step}-{attempt}");
        let message = match draw_action(&world, character, temperature, factor, (seed, &mut random)) {
            Some(action) => {
                let (tool, arguments) = action.to_call();
                let function = json!({"name": tool, "arguments": arguments.to_string()});
                let call = json!({"id": format!("call-{id}"), "type": "function", "function": function});
                json!({"role": "assistant", "content": null, "tool_calls": [call]})
            }
            None => json!({"role": "assistant", "content": "DONE"}),
        };
        let reason = if message["content"].is_null() { "tool_calls" } else { "stop" };
        let count = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN);
        let (asked, said) = (count(request.len()), count(message.to_string().len()));
        self.usage.calls += 1;
        self.usage.tokens += (asked + said) as u64;
        self.usage.cost += price * (asked + said) as f64;
        Ok(json!({
            "id": format!("chatcmpl-{id}"),
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": null}],
            "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
        }))
    }
}

/// Returns the state that a message shows in its last line.
fn read_state(message: &Value) -> Option<TruckWorld> {
    if message["role"] != "tool" && message["role"] != "user" {
        return None;
    }
    let state = serde_json::from_str(message["content"].as_str()?.lines().last()?).ok()?;
    TruckWorld::from_observation(&state)
}

/// Whether a request has a note of the system after its first message.
fn has_reminder(messages: &[Value]) -> bool {
    messages.iter().skip(1).any(|message| matches!(message["role"].as_str(), Some("system" | "developer")))
}

/// Returns a seed for one attempt at one step of a run.
fn mix_seed(seed: u64, step: u64, attempt: u64) -> u64 {
    let parts = [seed, step, attempt];
    parts.iter().fold(0, |mixed, part| SeededRandom::new(mixed ^ part).next_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trucks::client::TruckClient;
    use crate::trucks::oracle::find_broken;
    use crate::trucks::world::TruckAction;

    fn action(reply: &Value) -> Option<TruckAction> {
        let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
        let arguments = serde_json::from_str(call["arguments"].as_str()?).ok()?;
        TruckAction::from_call(call["name"].as_str()?, &arguments)
    }

    #[test]
    fn agent_replies_by_seed_step_and_attempt() {
        let request = TruckClient::new(5, 0.8).request().to_string();
        let replies = |agent: &mut TruckAgent| -> Vec<Value> {
            (0..40).map(|_| agent.complete_chat(request.as_bytes()).unwrap()).collect()
        };
        let (one, other) = (replies(&mut TruckAgent::default()), replies(&mut TruckAgent::default()));
        assert_eq!(one, other);
        assert!(one.iter().any(|reply| action(reply) != action(&one[0])), "attempts differ");
    }

    #[test]
    fn reminder_and_careful_model_break_less() {
        let broken = |model: &str, note: bool| {
            let mut agent = TruckAgent::default();
            let mut count = 0;
            for seed in 0..300 {
                let client = TruckClient::new(seed, 0.8);
                let mut request = client.request();
                request["model"] = model.into();
                if note {
                    let note = json!({"role": "system", "content": "Mind the order."});
                    request["messages"].as_array_mut().unwrap().push(note);
                }
                let reply = agent.complete_chat(request.to_string().as_bytes()).unwrap();
                let is_broken = |action: TruckAction| !find_broken(client.world(), action).is_empty();
                count += usize::from(action(&reply).is_some_and(is_broken));
            }
            count
        };
        let (plain, reminded) = (broken(PLAIN_MODEL, false), broken(PLAIN_MODEL, true));
        let careful = broken(CAREFUL_MODEL, false);
        assert!(plain > 2 * reminded && plain > careful && careful > 0, "{plain} {reminded} {careful}");
    }

    #[test]
    fn agent_names_what_is_wrong_with_a_request() {
        let mut agent = TruckAgent::default();
        let mut complain = |body: &str| agent.complete_chat(body.as_bytes()).unwrap_err();
        assert!(complain("{").contains("no JSON"));
        assert!(complain(r#"{"model":"x"}"#).contains("unknown model `x`"));
        assert!(complain(r#"{"model":"trucks-plain"}"#).contains("`messages`"));
        assert!(complain(r#"{"model":"trucks-plain","messages":[]}"#).contains("no message shows"));
        assert_eq!(agent.usage(), AgentUsage::default());
    }
}
