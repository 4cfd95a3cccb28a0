//! A decision as JSON: one line for the caller, and the record that is kept.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{Cause, Decision, ForecastObjection, Objection};
use crate::finding::Finding;
use crate::finding::FindingView;
use lictor_event::{Answer, AnswerValue, Event, write_time};

/// The version of the shape.
const VERSION: u32 = 1;

#[derive(Debug, Serialize)]
struct DecisionView<'a> {
    lictor: u32,
    #[serde(rename = "type")]
    sort: &'static str,
    action: &'static str,
    session: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    line: u32,
    step: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objections: Vec<ObjectionView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<ForecastView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redactions: Vec<RedactionView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_as: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settles: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    settled: Vec<DecisionView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<GapView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<DoubtView<'a>>,
}

/// An answer of a labeler that leaves a fact unknown, or has no chance, and why.
#[derive(Debug, Serialize)]
struct DoubtView<'a> {
    fact: &'a str,
    says: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// A time that was not believed, and the time that was used.
#[derive(Debug, Serialize)]
struct ClockView {
    claimed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<String>,
}

#[derive(Debug, Serialize)]
struct GapView {
    cause: &'static str,
    first: i64,
    last: i64,
}

#[derive(Debug, Serialize)]
struct ObjectionView<'a> {
    property: &'a str,
    severity: &'static str,
    response: &'static str,
    why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<FindingView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waived_by: Option<&'a str>,
}

/// A forecast that objects to a call.
#[derive(Debug, Serialize)]
struct ForecastView<'a> {
    response: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<f64>,
    within: u32,
    properties: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct RedactionView<'a> {
    path: &'a str,
    what: &'a str,
}

#[derive(Debug, Serialize)]
struct LateView<'a> {
    lictor: u32,
    #[serde(rename = "type")]
    sort: &'static str,
    session: &'a str,
    finding: FindingView<'a>,
}

/// Returns a missed deadline as a line of JSON.
pub fn late_line(finding: &Finding) -> String {
    let view = LateView { lictor: VERSION, sort: "late", session: &finding.session, finding: FindingView::of(finding) };
    serde_json::to_string(&view).unwrap_or_default()
}

impl Decision {
    /// Returns the decision as a line of JSON. It contains no content except the rewritten event, which is forwarded.
    pub fn line(&self) -> String {
        // Text keys and no maps with other ones: this cannot fail.
        serde_json::to_string(&DecisionView::of(self)).unwrap_or_default()
    }
}

impl<'a> DecisionView<'a> {
    fn of(decision: &'a Decision) -> DecisionView<'a> {
        let event = &decision.event;
        let raw = |event: &Event| RawValue::from_string(event.to_json().to_string()).ok();
        DecisionView {
            lictor: VERSION,
            sort: "decision",
            action: decision.action.name(),
            session: event.session.as_deref().unwrap_or_default(),
            kind: event.kind.name(),
            id: event.id.as_deref(),
            tool: event.tool.as_deref(),
            line: event.source.line,
            step: decision.step,
            objections: decision.objections.iter().map(ObjectionView::of).collect(),
            forecast: decision.forecast.as_ref().map(ForecastView::of),
            redactions: decision
                .redactions
                .iter()
                .map(|redaction| RedactionView { path: &redaction.path, what: &redaction.what })
                .collect(),
            rewritten: decision.rewritten.as_deref().and_then(raw),
            message: decision.message.as_deref(),
            waits_as: decision.approval_id.as_deref(),
            until: decision.until.map(write_time),
            settles: decision.settles.as_deref(),
            refused: decision.refused.as_ref().map(ToString::to_string),
            settled: decision.settled.iter().map(DecisionView::of).collect(),
            gap: decision.gap.as_ref().map(|gap| GapView { cause: gap.cause.name(), first: gap.first, last: gap.last }),
            clock: decision
                .claimed_time
                .map(|claimed| ClockView { claimed: write_time(claimed), taken: event.time.map(write_time) }),
            doubts: event.answers.iter().filter(|answer| is_doubt(answer)).map(DoubtView::of).collect(),
        }
    }
}

/// Whether an answer leaves its fact unknown, or has no chance for a reason.
fn is_doubt(answer: &Answer) -> bool {
    let is_open = matches!(answer.says, AnswerValue::Unclear | AnswerValue::Failed);
    is_open || (answer.chance.is_none() && answer.why.is_some())
}

impl<'a> DoubtView<'a> {
    /// The values of the fact may be persons, so only its name is shown.
    fn of(answer: &'a Answer) -> DoubtView<'a> {
        let (by, why) = (answer.by.as_deref(), answer.why.as_deref());
        DoubtView { fact: &answer.fact.name, says: answer.says.name(), by, why }
    }
}

impl<'a> ForecastView<'a> {
    fn of(forecast: &'a ForecastObjection) -> ForecastView<'a> {
        ForecastView {
            response: forecast.response.name(),
            chance: forecast.score.map(|score| score.chance),
            most: forecast.score.map(|score| score.most),
            within: forecast.within,
            properties: forecast.properties.iter().map(|property| property.id.as_str()).collect(),
        }
    }
}

impl<'a> ObjectionView<'a> {
    fn of(objection: &'a Objection) -> ObjectionView<'a> {
        let (why, finding) = match &objection.why {
            Cause::Violation(finding) => ("broken", Some(FindingView::of(finding))),
            Cause::Unknown => ("unknown", None),
        };
        ObjectionView {
            property: &objection.property.id,
            severity: objection.property.severity.name(),
            response: objection.response.name(),
            why,
            finding,
            waived_by: objection.waived_by.as_deref(),
        }
    }
}
