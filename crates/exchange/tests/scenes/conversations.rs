//! Sessions of conversations that the caller has not named.

use bytes::Bytes;
use lictor_exchange::{ExchangeOptions, LocalExchange, LocalReply, LocalSessions, SessionChoice};
use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_policy::{FileResolver, Policy};
use lictor_wire::Api;
use serde_json::{Value, json};

struct Caller {
    guard: Guard,
    sessions: LocalSessions,
}

impl Caller {
    fn new() -> Caller {
        let policy = "{lictor: 1, name: p, properties: [{id: a, formula: 'always !tool_call(\"x\")'}]}";
        let policy = Policy::parse(policy, "p.yaml", &FileResolver).unwrap().policy;
        let guard = Guard::new(Judge::new(&policy).unwrap(), GuardOptions::default());
        Caller { guard, sessions: LocalSessions::default() }
    }

    /// Returns the session of a request without a name, after the reply with this id.
    fn ask(&mut self, api: Api, request: &Value, reply: &Value) -> String {
        let options = ExchangeOptions::default();
        let mut exchange = LocalExchange::new(api, "1".into(), SessionChoice::ByConversation("own".into()), options);
        let body = Bytes::from(request.to_string());
        exchange.request((&mut self.sessions, &mut self.guard), body).unwrap();
        let reply = exchange.reply((&mut self.sessions, &mut self.guard), Bytes::from(reply.to_string()));
        assert!(matches!(reply, Ok(LocalReply::Body(_))), "{reply:?}");
        exchange.session().unwrap().to_owned()
    }

    fn chat(&mut self, messages: &Value, more: &Value) -> String {
        let mut request = json!({"model": "m", "messages": messages});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let message = json!({"role": "assistant", "content": "Fine."});
        let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                           "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        self.ask(Api::Chat, &request, &reply)
    }

    /// Returns the session of a request of Responses; its reply has this id.
    fn respond(&mut self, id: &str, previous: Option<&str>) -> String {
        let request = json!({"model": "m", "input": "Hello.", "previous_response_id": previous});
        let reply = json!({"id": id, "object": "response", "created_at": 1, "model": "m", "status": "completed",
                           "output": []});
        self.ask(Api::Responses, &request, &reply)
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn conversation_is_known_by_its_first_message() {
    let mut caller = Caller::new();
    let system = json!({"role": "system", "content": "You are a clerk."});
    let ann = caller.chat(&json!([system, user("Ann")]), &json!({}));
    let bob = caller.chat(&json!([system, user("Bob")]), &json!({}));
    assert_eq!((ann.as_str(), bob.as_str()), ("own-1", "own-2"));
    let answer = json!({"role": "assistant", "content": "Fine."});
    assert_eq!(caller.chat(&json!([system, user("Ann"), answer, user("Bob")]), &json!({})), ann);
    // The user tells conversations apart that begin alike; an id in the metadata names the session.
    let by_user = caller.chat(&json!([user("Ann")]), &json!({"user": "u1"}));
    assert!(by_user != ann && by_user != caller.chat(&json!([user("Ann")]), &json!({"user": "u2"})));
    assert_eq!(caller.chat(&json!([user("Ann")]), &json!({"metadata": {"thread_id": "t"}})), "t");
    assert_eq!(caller.chat(&json!([system]), &json!({})), "own", "nothing tells the conversation");
    caller.sessions.forget(&ann);
    assert_eq!(caller.chat(&json!([user("Ann")]), &json!({})), "own-5", "an ended session does not continue");
}

#[test]
fn conversation_continues_its_previous_response() {
    let mut caller = Caller::new();
    let first = caller.respond("r1", None);
    assert_eq!(caller.respond("r2", Some("r1")), first);
    assert_eq!(caller.respond("r3", Some("r2")), first);
    let unknown = caller.respond("r9", Some("r8"));
    assert_ne!(unknown, first, "a response that is not known here is a conversation of its own");
    assert_eq!(caller.respond("r10", Some("r9")), unknown);
}
