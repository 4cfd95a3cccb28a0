//! The records of decisions in the ledger.
//!
//! The body is public to all readers of the log and permanent, so it has no personal data of the persons concerned: the
//! decision, its properties, the steps and categories that prove a violation, the policy, and the reviewer who approved. The payload holds the event, and the values for which a property was violated: committed to, or
//! sealed, under the keys of the persons concerned.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};

use lictor_event::{Answer, Event};
use lictor_json::Text;
use lictor_judge::PolicyMove;
use lictor_judge::finding::Finding;
use lictor_judge::guard::{Cause, Decision, ForecastObjection, Guard, late_line};
use lictor_judge::objective::ObjectiveChange;
use lictor_ledger::{Draft, Payload};
use lictor_logic::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::answer::RefusedInput;

/// Longer content is committed to instead of kept, and longer names of tools and reviewers are cut off: records have a size limit,
/// and one that can never be written would block all decisions.
const MAX_CONTENT_BYTES: usize = 8 * 1024 * 1024;
const MAX_NAME_CHARACTERS: usize = 1_000;
/// Of more answers the first are named.
const MAX_ANSWERS: usize = 100;
/// Of a longer witness the last steps are kept.
const MAX_STEPS: usize = 100;

/// What the ledger keeps of an event.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentRetention {
    /// A commitment: the owner of the event can prove that it is the recorded one.
    #[default]
    Commitment,
    /// The event and the decision themselves, sealed, until a person in it is erased.
    Content,
}

/// A record that is not in the ledger yet; it waits in the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OutgoingRecord {
    id: String,
    body: Map<String, Json>,
    subjects: Vec<String>,
    payload: String,
}

/// A record, and the session that it is about; none for a history across sessions.
pub(crate) type SessionRecord = (Option<String>, OutgoingRecord);

/// A record that is not in the ledger yet, and its key and version in the store.
#[derive(Debug)]
pub(crate) struct WaitingRecord {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) record: OutgoingRecord,
}

impl OutgoingRecord {
    /// Returns the record of decision `number` of a run.
    pub(crate) fn decision(
        guard: &Guard,
        decision: &Decision,
        policy: &str,
        number: u64,
        now: Option<lictor_logic::Time>,
    ) -> OutgoingRecord {
        let mut body = body(guard, decision);
        body.insert("policy".into(), json!(policy));
        body.insert("number".into(), json!(number));
        add_time(&mut body, now);
        let payload = format!("{{\"event\":{},\"decision\":{}}}", line(&decision.event), decision.line());
        OutgoingRecord::of(body, guard.persons(decision), payload)
    }

    /// Notes that the time of the event is implausible.
    pub(crate) fn note_clock(&mut self, is_strange: bool) {
        if is_strange {
            self.body.insert("clock".into(), json!("anomaly"));
        }
    }

    /// Notes the run, which does not reveal the session's name.
    pub(crate) fn note_run(&mut self, run: &str) {
        self.body.insert("run".into(), json!(run));
    }

    /// Notes the tenant of the session.
    pub(crate) fn note_tenant(&mut self, tenant: Option<&str>) {
        if let Some(tenant) = tenant {
            self.body.insert("tenant".into(), json!(tenant));
        }
    }

    /// Notes the exchange of the event.
    pub(crate) fn note_exchange(&mut self, exchange: Option<&str>) {
        if let Some(exchange) = exchange {
            self.body.insert("exchange".into(), json!(exchange));
        }
    }

    /// Withholds a member that would name a person.
    pub(crate) fn withhold(&mut self, member: &str) {
        self.body.insert(member.to_owned(), json!("[withheld]"));
    }

    /// Notes shadow mode: the decision was not enforced.
    pub(crate) fn note_watching(&mut self, watches: bool) {
        if watches {
            self.body.insert("shadow".into(), json!(true));
        }
    }

    /// Returns the record of a missed deadline.
    pub(crate) fn late(
        guard: &Guard,
        finding: &Finding,
        policy: &str,
        now: Option<lictor_logic::Time>,
    ) -> OutgoingRecord {
        let mut body = Map::new();
        body.insert("type".into(), json!("late"));
        body.insert("property".into(), json!(finding.property.id.as_str()));
        body.insert("decided".into(), json!(finding.decided.name()));
        add_proof(&mut body, guard, finding);
        body.insert("policy".into(), json!(policy));
        add_time(&mut body, now);
        // The values of its binding may be persons.
        let values = finding.binding.iter().filter_map(|(_, value)| match value {
            Value::Text(text) => Some(text.to_string()),
            _ => None,
        });
        let subjects: BTreeSet<String> = values.chain(guard.persons_of(finding)).collect();
        OutgoingRecord::of(body, subjects.into_iter().collect(), late_line(finding))
    }

    /// Returns the record of a session, or of a history across sessions, that continues with another policy, with the
    /// properties that are judged anew over its past, and those of which the past is unknown.
    pub(crate) fn migrated(from: &str, policy: &str, moved: &PolicyMove) -> OutgoingRecord {
        let names = |list: &[Text]| json!(list.iter().map(Text::as_str).collect::<Vec<_>>());
        let mut body = Map::new();
        body.insert("type".into(), json!("migrated"));
        body.insert("from".into(), json!(from));
        body.insert("policy".into(), json!(policy));
        body.insert("rebuilt".into(), names(&moved.rebuilt));
        body.insert("unknown".into(), names(&moved.unknown));
        OutgoingRecord::of(body, Vec::new(), String::new())
    }

    /// Returns the record of a session that has ended.
    pub(crate) fn ended(cause: &str, policy: &str) -> OutgoingRecord {
        let mut body = Map::new();
        body.insert("type".into(), json!("ended"));
        body.insert("cause".into(), json!(cause));
        body.insert("policy".into(), json!(policy));
        OutgoingRecord::of(body, Vec::new(), String::new())
    }

    fn of(mut body: Map<String, Json>, subjects: Vec<String>, payload: String) -> OutgoingRecord {
        // Not derived from the session or the event, since a record must not reveal more of them than it has to.
        let id = random_name();
        body.insert("id".into(), json!(id));
        OutgoingRecord { id, body, subjects, payload }
    }

    /// Returns the id by which the record is found in the ledger.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn draft(self, keep: ContentRetention) -> Draft {
        let (mut body, bytes) = (self.body, self.payload.into_bytes());
        let payload = match keep {
            _ if bytes.is_empty() => None,
            ContentRetention::Content if bytes.len() <= MAX_CONTENT_BYTES => Some(Payload::Sealed(bytes)),
            ContentRetention::Content => {
                body.insert("content".into(), json!("too long to keep"));
                Some(Payload::Committed(bytes))
            }
            ContentRetention::Commitment => Some(Payload::Committed(bytes)),
        };
        Draft { body, subjects: self.subjects, payload }
    }
}

/// Returns a random name.
pub(crate) fn random_name() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// Returns the record of refused input that is no event, with a commitment to it.
pub(crate) fn refusal(refused: &RefusedInput, policy: &str, now: Option<lictor_logic::Time>) -> Draft {
    let mut body = Map::new();
    body.insert("type".into(), json!("decision"));
    body.insert("action".into(), json!("block"));
    body.insert("refused".into(), json!(refused.reason));
    if let Some(exchange) = &refused.exchange {
        body.insert("exchange".into(), json!(exchange));
    }
    body.insert("policy".into(), json!(policy));
    add_time(&mut body, now);
    Draft { body, subjects: Vec::new(), payload: Some(Payload::Committed(refused.bytes.clone())) }
}

/// Returns a record that is no decision.
pub(crate) fn note(mut body: Map<String, Json>, now: Option<lictor_logic::Time>) -> Draft {
    add_time(&mut body, now);
    Draft { body, subjects: Vec::new(), payload: None }
}

fn add_time(body: &mut Map<String, Json>, now: Option<lictor_logic::Time>) {
    if let Some(now) = now {
        body.insert("seen".into(), json!(lictor_event::write_time(now)));
    }
}

/// Returns the beginning of a name that may be very long.
fn cut_off(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARACTERS).collect()
}

fn line(event: &Event) -> String {
    event.to_json().to_string()
}

/// Adds which steps prove a finding, and which categories of personal data they carry.
fn add_proof(record: &mut Map<String, Json>, guard: &Guard, finding: &Finding) {
    let (here, elsewhere): (Vec<_>, Vec<_>) = finding.witness.iter().partition(|proof| proof.session.is_none());
    let omitted = here.len().saturating_sub(MAX_STEPS);
    let steps: Vec<u32> = here.iter().skip(omitted).map(|proof| proof.step).collect();
    record.insert("steps".into(), json!(steps));
    let categories = guard.categories_of(finding);
    for (member, count) in [("earlier_steps", omitted), ("steps_elsewhere", elsewhere.len())] {
        if count > 0 {
            record.insert(member.into(), json!(count));
        }
    }
    if !categories.is_empty() {
        record.insert("categories".into(), json!(categories.iter().map(Text::as_str).collect::<Vec<_>>()));
    }
}

/// Returns who said what with which chance. The values of the fact may be persons, and the key is a hash of content:
/// both are in the payload only.
fn describe_answer(answer: &Answer) -> Json {
    let mut said = json!({"fact": &*answer.fact.name, "says": answer.says.name()});
    if let Some(by) = &answer.by {
        said["by"] = json!(cut_off(by));
    }
    if let Some(why) = &answer.why {
        said["why"] = json!(cut_off(why));
    }
    for (key, value) in [("score", answer.score), ("chance", answer.chance)] {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            said[key] = json!(value);
        }
    }
    said
}

/// Returns the forecast that objects to a call.
fn describe_forecast(forecast: &ForecastObjection) -> Json {
    let risk = forecast.score.map(|score| json!({"chance": score.chance, "most": score.most}));
    let at_risk: Vec<&str> = forecast.properties.iter().map(|property| property.id.as_str()).collect();
    json!({"response": forecast.response.name(), "risk": risk, "within": forecast.within, "at_risk": at_risk})
}

fn body(guard: &Guard, decision: &Decision) -> Map<String, Json> {
    let objections: Vec<Json> = decision
        .objections
        .iter()
        .map(|objection| {
            let mut record = Map::new();
            record.insert("property".into(), json!(objection.property.id.as_str()));
            record.insert("response".into(), json!(objection.response.name()));
            record.insert("waived".into(), json!(objection.waived_by.is_some()));
            match &objection.why {
                Cause::Violation(finding) => {
                    record.insert("why".into(), json!("broken"));
                    add_proof(&mut record, guard, finding);
                }
                Cause::Unknown => drop(record.insert("why".into(), json!("unknown"))),
            }
            Json::Object(record)
        })
        .collect();
    let mut body = Map::new();
    body.insert("type".into(), json!("decision"));
    body.insert("action".into(), json!(decision.action.name()));
    body.insert("kind".into(), json!(decision.event.kind.name()));
    let tool = decision.event.tool.as_deref().map(cut_off);
    body.insert("tool".into(), json!(tool));
    body.insert("step".into(), json!(decision.step));
    body.insert("objections".into(), json!(objections));
    body.insert("redactions".into(), json!(decision.redactions.len()));
    if decision.is_unforeseen {
        body.insert("unforeseen".into(), json!(true));
    }
    if let Some(forecast) = &decision.forecast {
        body.insert("forecast".into(), describe_forecast(forecast));
    }
    body.insert("settles".into(), json!(decision.settles.is_some()));
    if let Some(approval) = &decision.approval_record {
        body.insert("approval".into(), json!(approval.as_str()));
    }
    // The reviewer answers for the approval, so their name is part of the permanent record.
    if let Some(by) = &decision.answered_by {
        body.insert("by".into(), json!(cut_off(by)));
    }
    if !decision.event.answers.is_empty() {
        body.insert("answers".into(), decision.event.answers.iter().take(MAX_ANSWERS).map(describe_answer).collect());
    }
    // A change that took effect names a property of the session, and words that policies have.
    if let Some((change, property)) =
        ObjectiveChange::describe(&decision.event).filter(|_| decision.action.takes_effect())
    {
        let mut objective = json!({"change": change, "property": property.as_deref()});
        for key in ["respond", "unknown", "severity", "priority"] {
            let value = decision.event.more.get(key).filter(|_| change == "change");
            if let Some(value) = value.and_then(|value| serde_json::from_str(&value.to_string()).ok()) {
                objective[key] = value;
            }
        }
        body.insert("objective".into(), objective);
    }
    if let Some(refusal) = &decision.refused {
        body.insert("refusal".into(), json!(refusal.name()));
    }
    if let Some(gap) = &decision.gap {
        body.insert("gap".into(), json!({"cause": gap.cause.name(), "first": gap.first, "last": gap.last}));
    }
    body
}
