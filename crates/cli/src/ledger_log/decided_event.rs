//! One decision of a ledger: whether its event took effect, in which form, and who allowed it.

use std::collections::HashMap;

use anyhow::Context;
use lictor::audit::{GuardedLog, StoppedBy, Waiver};
use lictor::json::Text;
use lictor_ledger::Record;
use serde_json::{Map, Value};

/// The public part of a decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecidedEvent<'a> {
    body: &'a Map<String, Value>,
}

impl<'a> DecidedEvent<'a> {
    pub(super) fn new(body: &'a Map<String, Value>) -> DecidedEvent<'a> {
        DecidedEvent { body }
    }

    fn is(self, key: &str, value: &str) -> bool {
        self.body.get(key).and_then(Value::as_str) == Some(value)
    }

    /// Whether the decision was not enforced.
    fn is_shadow(self) -> bool {
        self.body.get("shadow") == Some(&Value::Bool(true))
    }

    /// Whether it answers for an event that had been waiting.
    fn is_settled(self) -> bool {
        self.body.get("settles") == Some(&Value::Bool(true))
    }

    /// Whether the event took effect. In shadow mode every event does, when it comes and not when it is settled.
    pub(super) fn has_happened(self) -> bool {
        match self.is_shadow() {
            true => !self.is_settled(),
            false => !self.is("action", "ask") && !self.is("action", "block"),
        }
    }

    /// Returns how the event was stopped for good; none if it took effect or waits.
    pub(super) fn stopped_by(self) -> Option<StoppedBy> {
        match (self.is_shadow() || !self.is("action", "block"), self.is_settled()) {
            (true, _) => None,
            (false, true) => Some(StoppedBy::Refusal),
            (false, false) => Some(StoppedBy::Block),
        }
    }

    /// Returns the name by which records of one approval are joined.
    fn approval(self) -> Option<&'a str> {
        self.body.get("approval").and_then(Value::as_str)
    }

    /// Returns the properties whose objection stopped the event.
    fn objectors(self) -> Vec<Text> {
        let objections = self.body.get("objections").and_then(Value::as_array).into_iter().flatten();
        let stops = |objection: &&Value| {
            let response = objection.get("response").and_then(Value::as_str);
            matches!(response, Some("ask" | "redact" | "block"))
        };
        objections.filter(stops).filter_map(|objection| Some(objection.get("property")?.as_str()?.into())).collect()
    }

    /// Whether the event took effect in another form than it came.
    pub(super) fn is_rewritten(self, payload: &Value) -> bool {
        !self.is_shadow() && payload.pointer("/decision/rewritten").is_some_and(Value::is_object)
    }

    /// Returns the properties that a person waived for this event, and the approvals.
    pub(super) fn waivers(self, payload: &Value, record: &Record) -> Vec<(Text, Waiver)> {
        let seen = self.body.get("seen").and_then(Value::as_str).map(Text::from);
        let time = seen.unwrap_or_else(|| record.time.as_str().into());
        let objections = payload.pointer("/decision/objections").and_then(Value::as_array).into_iter().flatten();
        let waived = objections.filter_map(|objection| {
            let by = objection.get("waived_by")?.as_str()?;
            let waiver = Waiver { by: by.into(), time: Some(time.clone()) };
            Some((objection.get("property")?.as_str()?.into(), waiver))
        });
        waived.collect()
    }

    /// Returns the line of the event as it took effect, numbered within the run of its session.
    pub(super) fn write_line(self, payload: &mut Value, number: u64) -> anyhow::Result<String> {
        let place = if self.is_rewritten(payload) { "/decision/rewritten" } else { "/event" };
        let event = payload.pointer_mut(place).and_then(Value::as_object_mut).context("a payload without `event`")?;
        event.insert("seq".to_owned(), Value::from(number));
        Ok(Value::Object(std::mem::take(event)).to_string())
    }
}

/// The events of each session that wait for an approval.
#[derive(Debug, Default)]
pub(super) struct WaitingEvents {
    runs: HashMap<String, Vec<WaitingEvent>>,
}

/// An event that waits for an approval, and the properties that asked for it.
#[derive(Debug)]
struct WaitingEvent {
    /// The approval in records; older ledgers have none.
    approval: Option<String>,
    objectors: Vec<Text>,
}

impl WaitingEvents {
    /// Notes a decision that asks, or takes out the event that a decision settles. Returns the properties that objected
    /// to the event of the decision.
    pub(super) fn note(&mut self, run: &str, event: DecidedEvent<'_>) -> Vec<Text> {
        let (mut objectors, approval) = (event.objectors(), event.approval());
        if event.is_shadow() {
            return objectors;
        }
        let waiting = self.runs.entry(run.to_owned()).or_default();
        if event.is_settled() {
            let place = waiting.iter().position(|waiting| waiting.approval.as_deref() == approval);
            objectors.extend(place.map(|place| waiting.remove(place).objectors).into_iter().flatten());
        }
        if event.is("action", "ask") {
            waiting.push(WaitingEvent { approval: approval.map(str::to_owned), objectors: objectors.clone() });
        }
        objectors
    }

    /// Counts those that still wait.
    pub(super) fn count_into(self, guarded: &mut GuardedLog) {
        for waiting in self.runs.into_values().flatten() {
            guarded.add_stopped(StoppedBy::Waiting, waiting.objectors);
        }
    }
}
