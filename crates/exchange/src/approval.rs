//! Calls that wait for a reviewer, and the grants by which they pass when they are made again.

use lictor_event::content_hash::{hash_call, hash_json, join_hashes, to_hex};
use lictor_event::{Arguments, Event, parse_time, write_time};
use lictor_json::{Json, Object, Text};
use lictor_judge::guard::{Decision, Preview};
use lictor_logic::Time;
use lictor_wire::Ruling;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::stored_event::{read_event, write_event};

/// The members beside the arguments that say which tool a call is for, where it runs, and what the vendor warns of.
const CONTEXT_MEMBERS: [&str; 4] = ["namespace", "server", "environment", SAFETY_CHECKS];

/// The warnings of the vendor about a call. Each has an id of its own, also if the call is made again.
const SAFETY_CHECKS: &str = "pending_safety_checks";

/// A call that waits for a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The session.
    pub session: String,
    /// The id by which the guard knows it.
    pub id: String,
    /// The tool.
    pub tool: Option<String>,
    /// The arguments as they would be forwarded, for the reviewer.
    pub args: Option<String>,
    /// What else identifies the call, as JSON: the namespace or server of its tool, where it runs, warnings of the vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The [hash of the call](call_hash).
    pub call: String,
    /// The call as it would be forwarded, if it was rewritten: a line of Lictor's own format.
    pub rewritten: Option<String>,
    /// The time until which a reviewer may answer, as text.
    pub until: Option<String>,
    /// The properties that the reviewer is asked about.
    pub properties: Vec<String>,
    /// The forecast because of which the reviewer is asked, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<String>,
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
            context: Some(call_context(event))
                .filter(|context| !context.is_empty())
                .map(|it| Json::Object(it).to_string()),
            call: call_hash(event),
            rewritten: decision.rewritten.as_deref().map(write_event),
            until: decision.until.map(write_time),
            properties: properties.collect(),
            forecast: decision.forecast.as_ref().map(ToString::to_string),
        }
    }

    /// Returns the grant that follows from an answer: none if the call was denied, or something else stops it now.
    pub fn grant(&self, settled: &Decision) -> Option<Grant> {
        let grant = Grant::of(&self.id, &self.call, self.rewritten.as_deref(), settled)?;
        Some(Grant { excused: self.properties.clone(), until: self.until.clone(), ..grant })
    }
}

/// A call that a reviewer has approved and that was not made since. Valid for one call, until it expires, and only as far
/// as nothing else objects when the call is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The [hash of the call](call_hash).
    pub call: String,
    /// The id of its approval.
    pub id: String,
    /// The id of the call in the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The call as it is forwarded, if it was rewritten: a line of Lictor's own format.
    pub rewritten: Option<String>,
    /// The properties whose objection is excused: those that the reviewer was asked about, and those that object to the
    /// call only because it is part of the trace since it was approved.
    #[serde(default)]
    pub excused: Vec<String>,
    /// Those of `excused` that block the call, since it is part of the trace. The others only asked: if one of them blocks
    /// the call by now, the policy has changed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excused_blocks: Vec<String>,
    /// The time until which it is valid, as text.
    #[serde(default)]
    pub until: Option<String>,
    /// The name of its approval in records, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_record: Option<String>,
}

impl Grant {
    /// Returns the grant for a pending call, if the decision on it forwards the call.
    pub fn of(id: &str, call: &str, rewritten: Option<&str>, settled: &Decision) -> Option<Grant> {
        let rewritten = settled.rewritten.as_deref().map(write_event).or_else(|| rewritten.map(str::to_owned));
        let (call, id) = (call.to_owned(), id.to_owned());
        let call_id = settled.event.id.as_ref().map(ToString::to_string);
        let approval_record = settled.approval_record.as_ref().map(ToString::to_string);
        settled.action.takes_effect().then(|| Grant {
            call,
            id,
            call_id,
            rewritten,
            excused: Vec::new(),
            excused_blocks: Vec::new(),
            until: None,
            approval_record,
        })
    }

    /// Returns the grant with more properties excused: those that would object to the call right after its approval, as
    /// this preview says.
    #[must_use]
    pub fn excusing(mut self, preview: &Preview) -> Grant {
        self.excused.extend(preview.properties.iter().map(ToString::to_string));
        self.excused_blocks.extend(preview.blocking.iter().map(ToString::to_string));
        self
    }

    /// Whether it excuses every objection that the call would meet now.
    pub(crate) fn covers(&self, preview: &Preview) -> bool {
        let is_among = |property: &Text, excused: &[String]| excused.iter().any(|excused| excused == property.as_str());
        preview.properties.iter().all(|property| is_among(property, &self.excused))
            && preview.blocking.iter().all(|property| is_among(property, &self.excused_blocks))
    }

    /// Whether it is not valid any more.
    pub(crate) fn is_expired(&self, now: Time) -> bool {
        self.until.as_deref().and_then(parse_time).is_some_and(|until| until < now)
    }

    /// Returns the record of the call that was made again, in an exchange if it was part of one.
    pub(crate) fn record(&self, exchange: Option<&str>) -> Map<String, Value> {
        let mut record = Map::new();
        record.insert("type".into(), json!("carried_out"));
        record.insert("action".into(), json!("forward"));
        if let Some(exchange) = exchange {
            record.insert("exchange".into(), json!(exchange));
        }
        if let Some(approval) = &self.approval_record {
            record.insert("approval".into(), json!(approval));
        }
        record
    }

    pub(crate) fn ruling(&self) -> Ruling {
        match &self.rewritten {
            None => Ruling::Forward,
            Some(line) => read_event(line),
        }
    }
}

/// Returns the hash of a call's tool, arguments and context, which identifies an approved call when it is made again, with
/// its arguments in any order.
pub fn call_hash(event: &Event) -> String {
    let context = call_context(event);
    match context.is_empty() {
        true => to_hex(&hash_call(event)),
        false => to_hex(&join_hashes(&hash_call(event), &hash_json(&Json::Object(context)))),
    }
}

/// Returns what identifies a call beside its tool and its arguments.
fn call_context(event: &Event) -> Object {
    let read = |key: &str| {
        let value = event.more.get(key)?;
        let value = if key == SAFETY_CHECKS { without_ids(value) } else { value.clone() };
        let is_empty = value.is_null() || value.as_array() == Some(&[]);
        (!is_empty).then(|| (Text::from(key), value))
    };
    CONTEXT_MEMBERS.iter().filter_map(|key| read(key)).collect()
}

fn without_ids(checks: &Json) -> Json {
    let without_id = |check: &Json| {
        let mut check = check.clone();
        if let Json::Object(members) = &mut check {
            members.remove("id");
        }
        check
    };
    checks.as_array().map_or_else(|| checks.clone(), |checks| checks.iter().map(without_id).collect::<Vec<_>>().into())
}

fn arguments(event: &Event) -> Option<String> {
    event.args.as_ref().map(|args| match args {
        Arguments::Value(value) => value.to_string(),
        Arguments::Unparsed(text) => text.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory::SessionMemory;

    #[test]
    fn grant_expires_with_its_request() {
        let grant = Grant {
            call: "c".into(),
            id: "1".into(),
            call_id: None,
            rewritten: None,
            excused: Vec::new(),
            excused_blocks: Vec::new(),
            until: Some("2026-05-01T00:00:10Z".into()),
            approval_record: None,
        };
        let mut memory = SessionMemory::default();
        memory.grant(grant);
        let at = |text: &str| parse_time(text).unwrap();
        let kept = Arc::new(memory).without_expired_grants(at("2026-05-01T00:00:10Z"));
        assert_eq!(kept.granted.len(), 1);
        assert!(kept.without_expired_grants(at("2026-05-01T00:00:11Z")).granted.is_empty());
    }

    #[test]
    fn call_hash_covers_context_of_calls() {
        let call = |more: &str| {
            let line = format!(r#"{{"kind":"tool_call","tool":"pay","args":{{"amount":1}}{more}}}"#);
            match read_event(&line) {
                Ruling::Rewrite(event) => call_hash(&event),
                other => panic!("{other:?}"),
            }
        };
        let same = [
            ["", r#","pending_safety_checks":[]"#],
            [r#","choice":1"#, r#","exchange":"x","namespace":null"#],
            [r#","namespace":"a","choice":1"#, r#","namespace":"a""#],
            [
                r#","pending_safety_checks":[{"id":"1","code":"odd"}]"#,
                r#","pending_safety_checks":[{"id":"2","code":"odd"}]"#,
            ],
        ];
        same.iter().for_each(|[one, other]| assert_eq!(call(one), call(other), "{one} {other}"));
        let apart = [
            "",
            r#","namespace":"a""#,
            r#","namespace":"b""#,
            r#","server":"a""#,
            r#","environment":{"type":"local"}"#,
            r#","environment":{"type":"local","skills":[{"name":"x"}]}"#,
            r#","pending_safety_checks":[{"id":"1","code":"odd"}]"#,
        ];
        let hashes: std::collections::BTreeSet<String> = apart.iter().map(|more| call(more)).collect();
        assert_eq!(hashes.len(), apart.len());
    }
}
