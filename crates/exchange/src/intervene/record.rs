//! The record of an intervention: what was foreseen, what was asked for, what was taken, and what it cost.

use lictor_json::Text;
use lictor_judge::guard::ReplyScores;
use lictor_policy::{ForecastSource, Intervention, PredictSettings};
use lictor_predict::ThresholdSide;
use serde_json::{Map, Value, json};

use super::budget::CallBudget;
use super::risk::ReplyRisk;
use crate::exchange::Life;

/// What the record of an intervention says.
#[derive(Debug, Default)]
pub(super) struct InterventionRecord {
    /// Whether the scores come from plans of the model.
    pub(super) is_sampled: bool,
    pub(super) original: ReplyRisk,
    /// The properties that the reply puts at risk, by the chain.
    pub(super) at_risk: Vec<(Text, f64)>,
    pub(super) candidates: Vec<(Intervention, ReplyRisk)>,
    /// How many candidates were received, and how many of them were left out because they equal another reply.
    pub(super) received: usize,
    pub(super) equal: usize,
    pub(super) taken: Option<usize>,
    /// The risk of the candidate that was chosen, by plans that did not choose it.
    pub(super) fresh: Option<ReplyRisk>,
}

/// Returns a risk as records have it; null if nothing is known.
fn write_risk(risk: &ReplyRisk) -> Value {
    let mut written = match (risk.score, risk.stated) {
        (Some(score), _) => json!({"chance": score.chance, "most": score.most}),
        (None, Some(_)) => json!({}),
        (None, None) => return Value::Null,
    };
    if let (Some(stated), Some(members)) = (risk.stated, written.as_object_mut()) {
        members.insert("stated".into(), json!(stated));
    }
    if let (Some(sampled), Some(members)) = (&risk.sampled, written.as_object_mut()) {
        members.insert("least".into(), json!(sampled.least()));
        members.insert("samples".into(), json!(sampled.samples()));
        if sampled.unread > 0 {
            members.insert("unread".into(), json!(sampled.unread));
        }
    }
    written
}

fn write_at_risk(at_risk: &[(Text, f64)]) -> Value {
    at_risk.iter().map(|(property, chance)| json!({"property": property.as_str(), "chance": chance})).collect()
}

impl Life {
    /// Returns the record of a reminder that is added to a request, with the forecast before the reply.
    pub(crate) fn reminder_record(&self, plan: &PredictSettings, scored: &ReplyScores) -> Map<String, Value> {
        let mut record = self.forecast_record(plan, "request", scored);
        record.insert("by".into(), json!(Intervention::Inject.name()));
        record
    }

    /// Returns the record of a forecast that changes nothing, in shadow mode.
    pub(crate) fn shadow_record(&self, plan: &PredictSettings, at: &str, scored: &ReplyScores) -> Map<String, Value> {
        let mut record = self.forecast_record(plan, at, scored);
        record.insert("shadow".into(), json!(true));
        record
    }

    fn forecast_record(&self, plan: &PredictSettings, at: &str, scored: &ReplyScores) -> Map<String, Value> {
        let mut record = self.begin_record(plan, at);
        let score = scored.scores.first().copied().flatten();
        record.insert("original".into(), write_risk(&ReplyRisk { score, ..ReplyRisk::default() }));
        record.insert("at_risk".into(), write_at_risk(&scored.at_risk));
        record
    }

    fn begin_record(&self, plan: &PredictSettings, at: &str) -> Map<String, Value> {
        let mut record = Map::new();
        let mut add = |key: &str, value: Value| drop(record.insert(key.to_owned(), value));
        add("type", json!("intervention"));
        add("at", json!(at));
        add("session", json!(self.session));
        add("exchange", json!(self.id));
        add("within", json!(plan.within));
        add("threshold", json!(plan.risk.to_f64()));
        record
    }

    /// Returns the record of an intervention in a reply. Its milliseconds are the driver's: nothing that is decided later
    /// depends on them.
    pub(super) fn reply_record(
        &self,
        plan: &PredictSettings,
        intervention: &InterventionRecord,
        budget: &CallBudget,
    ) -> Map<String, Value> {
        let threshold = plan.risk.to_f64();
        let side = match intervention.original.side(threshold) {
            ThresholdSide::Below => "below",
            ThresholdSide::Above => "above",
            ThresholdSide::Undecided => "undecided",
        };
        let each = intervention.candidates.iter().map(|(by, risk)| json!({"by": by.name(), "risk": write_risk(risk)}));
        let method = if intervention.is_sampled { ForecastSource::Sample } else { ForecastSource::Chain };
        let milliseconds = u64::try_from(budget.elapsed.as_millis()).unwrap_or(u64::MAX);
        let mut record = self.begin_record(plan, "reply");
        let mut add = |key: &str, value: Value| drop(record.insert(key.to_owned(), value));
        add("method", json!(method.name()));
        if intervention.is_sampled {
            add("results", json!("none, planned in one reply"));
        }
        add("side", json!(side));
        add("original", write_risk(&intervention.original));
        add("at_risk", write_at_risk(&intervention.at_risk));
        add("candidates", each.collect());
        if intervention.equal > 0 {
            add("equal", json!(intervention.equal));
        }
        add("taken", json!(intervention.taken));
        if let Some(fresh) = &intervention.fresh {
            add("fresh", write_risk(fresh));
        }
        add("calls", json!(budget.calls));
        add("tokens", json!(budget.tokens));
        if budget.unread_usage > 0 {
            add("unread_usage", json!(budget.unread_usage));
        }
        add("milliseconds", json!(milliseconds));
        if let Some(exhausted) = budget.used_up() {
            add("exhausted", json!(exhausted.name()));
        }
        record
    }
}
