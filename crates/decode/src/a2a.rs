//! Agent2Agent: messages and tasks between a client and an agent, as JSON-RPC or bare, of version 1 and before.
//!
//! Sessions are contexts. The agent names the context in its first answer only, so the message that began it waits
//! for that answer, which is found by the id of the request. A message that comes again in the history of its task is
//! known by its id.

mod task;

use std::collections::HashSet;

use super::chat::failure_event;
use super::chat::message_event;
use super::content::Content;
use super::conversation::Stamp;
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use task::Tasks;

/// Methods that send a message.
const SEND_METHODS: [&str; 6] =
    ["SendMessage", "SendStreamingMessage", "message/send", "message/stream", "tasks/send", "tasks/sendSubscribe"];

/// Methods that ask about tasks, push notifications and agents.
const QUERY_METHODS: [&str; 18] = [
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "TaskSubscription",
    "CreateTaskPushNotificationConfig",
    "SetTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "ListTaskPushNotificationConfig",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
    "GetAgentCard",
    "QuerySkill",
    "tasks/resubscribe",
    "agent/getAuthenticatedExtendedCard",
    "tasks/get",
    "tasks/cancel",
];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let failed = value.text("jsonrpc") == Some("2.0") && value.get("error").is_some();
    is_own(value) || failed || value.get("jsonrpc").is_none() && (is_payload(value) || is_card(value))
}

/// Whether a JSON-RPC message is of this protocol and no other.
pub(super) fn is_own(value: &Json) -> bool {
    let method = |name: &str| match name {
        // Another protocol has tasks too, and names them otherwise.
        "tasks/get" | "tasks/cancel" => value.at("params.id").is_some(),
        name => {
            SEND_METHODS.contains(&name)
                || QUERY_METHODS.contains(&name)
                || name.starts_with("tasks/pushNotificationConfig/")
        }
    };
    value.text("jsonrpc") == Some("2.0")
        && (value.text("method").is_some_and(method) || value.get("result").is_some_and(is_payload))
}

fn is_payload(value: &Json) -> bool {
    let update = |key: &str| value.get(key).is_some_and(|update| update.text("taskId").is_some());
    value.get("message").is_some_and(is_message)
        || is_message(value)
        || value.get("task").is_some_and(task::is_task)
        || task::is_task(value)
        || update("statusUpdate")
        || update("artifactUpdate")
        || matches!(value.text("kind"), Some("status-update" | "artifact-update")) && value.get("taskId").is_some()
        || value
            .get("tasks")
            .and_then(Json::as_array)
            .is_some_and(|list| !list.is_empty() && list.iter().all(task::is_task))
}

fn is_message(value: &Json) -> bool {
    let own = value.text("messageId").is_some() || value.text("kind") == Some("message");
    let role = value.text("role").unwrap_or_default();
    let parts = value.get("parts").and_then(Json::as_array).is_some();
    // Other interfaces have roles and parts, but neither these roles nor an id.
    parts && (role.starts_with("ROLE_") || own || role == "agent")
}

fn is_card(value: &Json) -> bool {
    ["skills", "capabilities", "name"].iter().all(|key| value.get(key).is_some())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct A2aDecoder {
    tasks: Tasks,
    /// Messages that begin a context and wait for its name, with the id of the request.
    waiting: Vec<(Text, Event, Stamp)>,
    /// Messages that have become events.
    seen: HashSet<Text>,
    /// Requests whose answers are no events.
    queries: HashSet<Text>,
}

/// The context, the task and the request of a message.
struct MessageContext<'a> {
    context: Option<&'a str>,
    task: Option<&'a str>,
    /// The request that sends it; none if it is part of a history.
    request: Option<&'a str>,
}

impl Decoder for A2aDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let value = &record.value;
        let stamp = Stamp::new(&record, None);
        let id: Text = value.get("id").map(|id| id.to_string().into()).unwrap_or_default();
        let is_call = value.get("jsonrpc").is_some();
        let known = if let (true, Some(method)) = (is_call, value.text("method")) {
            self.take_request(method, value.get("params").unwrap_or(&Json::Null), &id, &stamp, out)
        } else if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.release_message(&id, None, out);
            push_event(failure_event(error), None, &stamp, out);
            true
        } else if let (true, Some(result)) = (is_call, value.get("result")) {
            self.take_payload(result, &id, &stamp, out) || self.queries.remove(&id)
        } else {
            // Without JSON-RPC, a body has no id: its answer is the next one.
            self.take_payload(value, "", &stamp, out) || is_card(value)
        };
        if !known {
            out.faults.push(unknown_record::describe(&record, value));
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        for (_, event, stamp) in self.waiting.drain(..) {
            push_event(event, None, &stamp, out);
        }
        self.tasks.finish(out);
    }
}

impl A2aDecoder {
    fn take_request(&mut self, method: &str, params: &Json, id: &Text, stamp: &Stamp, out: &mut DecodedEvents) -> bool {
        if SEND_METHODS.contains(&method) {
            if let Some(message) = params.get("message") {
                // The oldest version names task and session beside the message.
                let (context, task) = (params.text("sessionId"), params.text("id"));
                self.take_message(message, MessageContext { context, task, request: Some(id) }, stamp, out);
            }
            return params.get("message").is_some();
        }
        self.queries.insert(id.clone());
        QUERY_METHODS.contains(&method) || method.starts_with("tasks/pushNotificationConfig/")
    }

    /// Takes a payload of an agent, or a body without JSON-RPC; returns whether its shape is known.
    fn take_payload(&mut self, payload: &Json, id: &str, stamp: &Stamp, out: &mut DecodedEvents) -> bool {
        let wrapped = ["task", "message", "statusUpdate", "artifactUpdate"]
            .iter()
            .find_map(|key| Some((*key, payload.get(key)?)));
        let (name, inner) = match (payload.text("kind"), wrapped) {
            (Some(kind), _) => (kind, payload),
            (None, Some((name, inner))) => (name, inner),
            (None, None) if task::is_task(payload) => ("task", payload),
            (None, None) if is_message(payload) => ("message", payload),
            _ => {
                let tasks = payload.get("tasks").and_then(Json::as_array).unwrap_or_default();
                tasks.iter().for_each(|task| self.take_task(task, stamp, out));
                return payload.get("tasks").is_some();
            }
        };
        let context = inner.text("contextId").or_else(|| inner.text("sessionId"));
        if inner.text("role").is_none_or(is_agent) {
            self.release_message(id, context, out);
        }
        match name {
            "task" => self.take_task(inner, stamp, out),
            "message" => {
                self.take_message(inner, MessageContext { context, task: None, request: Some(id) }, stamp, out)
            }
            "statusUpdate" | "status-update" => self.take_status(inner, inner.text("taskId"), stamp, out),
            "artifactUpdate" | "artifact-update" => self.tasks.take_artifact_update(inner, stamp, out),
            _ => return false,
        }
        true
    }

    /// Takes a whole task: its messages, its artifacts, its state.
    fn take_task(&mut self, task: &Json, stamp: &Stamp, out: &mut DecodedEvents) {
        let id = task.text("id");
        self.tasks.note_context(task, id);
        for message in task.get("history").and_then(Json::as_array).unwrap_or_default() {
            let position = MessageContext { context: task.text("contextId"), task: id, request: None };
            self.take_message(message, position, stamp, out);
        }
        for artifact in task.get("artifacts").and_then(Json::as_array).unwrap_or_default() {
            self.tasks.take_artifact(artifact, id, stamp, out);
        }
        self.take_status(task, id, stamp, out);
    }

    fn take_status(&mut self, update: &Json, task: Option<&str>, stamp: &Stamp, out: &mut DecodedEvents) {
        self.tasks.note_context(update, task);
        let Some(status) = update.get("status") else { return };
        let mut stamp = stamp.clone();
        stamp.time = status.text("timestamp").and_then(lictor_event::parse_time);
        let state = status.text("state").unwrap_or_default();
        self.tasks.end_artifacts(task, state, out);
        if let Some(message) = status.get("message").filter(|message| !message.is_null()) {
            let position = MessageContext { context: update.text("contextId"), task, request: None };
            self.take_message(message, position, &stamp, out);
        }
        self.tasks.take_state(task, state, &stamp, out);
    }

    /// Takes a message, unless it is known already.
    fn take_message(&mut self, message: &Json, position: MessageContext<'_>, stamp: &Stamp, out: &mut DecodedEvents) {
        let task = message.text("taskId").or(position.task);
        let known = match message.text("messageId") {
            Some(id) => !self.seen.insert(id.into()),
            // Without an id, only what a task remembers can be a repetition.
            None => {
                let is_old = !self.seen.insert(format!("{} {message}", task.unwrap_or_default()).into());
                is_old && position.request.is_none()
            }
        };
        if known {
            return;
        }
        let is_agent = message.text("role").is_some_and(is_agent);
        let kind = if is_agent { Kind::AssistantMessage } else { Kind::UserMessage };
        let mut event = message_event(kind, Content::from_json(message.get("parts").unwrap_or(&Json::Null), "\n"));
        event.id = message.text("messageId").map(Text::from);
        if let Some(task) = task {
            event.more.insert("task", task);
        }
        let context =
            message.text("contextId").or(position.context).map(Text::from).or_else(|| self.tasks.context(task));
        match (context, position.request) {
            (None, Some(request)) if !is_agent => {
                self.release_message(request, None, out);
                self.waiting.push((request.into(), event, stamp.clone()));
            }
            (context, _) => push_event(event, context, stamp, out),
        }
    }

    /// Emits the message that waited for the answer to a request.
    fn release_message(&mut self, request: &str, context: Option<&str>, out: &mut DecodedEvents) {
        if let Some(place) = self.waiting.iter().position(|(id, ..)| id == request) {
            let (_, event, stamp) = self.waiting.remove(place);
            push_event(event, context.map(Text::from), &stamp, out);
        }
    }
}

fn is_agent(role: &str) -> bool {
    matches!(role, "ROLE_AGENT" | "agent")
}

fn push_event(event: Event, session: Option<Text>, stamp: &Stamp, out: &mut DecodedEvents) {
    out.events.push(Event { session, ..stamp.mark(event) });
}
