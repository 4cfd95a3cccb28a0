//! Calls that wait for a reviewer, and the grants by which they pass when they are made again.

use lictor_event::{Arguments, Event, write_time};
use lictor_judge::guard::Decision;
use lictor_wire::Ruling;
use serde::{Deserialize, Serialize};

use crate::stored_event::{read_event, write_event};

/// A call that waits for a reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The session.
    pub session: String,
    /// The id by which the guard knows it.
    pub id: String,
    /// The tool.
    pub tool: Option<String>,
    /// The arguments as they would be forwarded, for the reviewer.
    pub args: Option<String>,
    /// The [hash of the call](call_hash).
    pub call: String,
    /// The call as it would be forwarded, if it was rewritten: a line of Lictor's own format.
    pub rewritten: Option<String>,
    /// The time until which a reviewer may answer, as text.
    pub until: Option<String>,
    /// The properties that the reviewer is asked about.
    pub properties: Vec<String>,
}

impl ApprovalRequest {
    /// Returns the request for a decision that needs a reviewer.
    pub(crate) fn new(session: &str, event: &Event, decision: &Decision) -> ApprovalRequest {
        let properties = decision.objections.iter().map(|objection| objection.property.id.to_string());
        ApprovalRequest {
            session: session.to_owned(),
            id: decision.approval_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            tool: event.tool.as_ref().map(ToString::to_string),
            args: arguments(decision.rewritten.as_deref().unwrap_or(event)),
            call: call_hash(event),
            rewritten: decision.rewritten.as_deref().map(write_event),
            until: decision.until.map(write_time),
            properties: properties.collect(),
        }
    }

    /// Returns the grant that follows from an answer: none if the call was denied, or something else stops it now.
    pub fn grant(&self, settled: &Decision) -> Option<Grant> {
        Grant::of(&self.id, &self.call, self.rewritten.as_deref(), settled)
    }
}

/// A call that a reviewer has approved and that was not made since. Valid for one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The [hash of the call](call_hash).
    pub call: String,
    /// The id of its approval.
    pub id: String,
    /// The call as it is forwarded, if it was rewritten: a line of Lictor's own format.
    pub rewritten: Option<String>,
}

impl Grant {
    /// Returns the grant for a pending call, if the decision on it forwards the call.
    pub fn of(id: &str, call: &str, rewritten: Option<&str>, settled: &Decision) -> Option<Grant> {
        let rewritten = settled.rewritten.as_deref().map(write_event).or_else(|| rewritten.map(str::to_owned));
        settled.action.takes_effect().then(|| Grant { call: call.to_owned(), id: id.to_owned(), rewritten })
    }

    pub(crate) fn ruling(&self) -> Ruling {
        match &self.rewritten {
            None => Ruling::Forward,
            Some(line) => read_event(line),
        }
    }
}

/// Returns the hash of a call's tool and arguments, which identifies an approved call when it is made again.
pub fn call_hash(event: &Event) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(event.tool.as_deref().unwrap_or_default().as_bytes());
    hash.update(&[0]);
    hash.update(arguments(event).unwrap_or_default().as_bytes());
    hash.finalize().to_string()
}

fn arguments(event: &Event) -> Option<String> {
    event.args.as_ref().map(|args| match args {
        Arguments::Value(value) => value.to_string(),
        Arguments::Unparsed(text) => text.to_string(),
    })
}
