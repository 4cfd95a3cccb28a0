//! Spans of decisions and interventions for OpenTelemetry, with the semantic conventions proposed for guardrails of generative AI.
//!
//! They are sent in batches to a collector, as JSON over HTTP. If the collector is slow or unreachable, spans are
//! dropped; no exchange waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Uri};
use lictor_event::content_hash::to_hex;
use lictor_judge::guard::Action;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::Metrics;
use crate::upstream::Upstream;

/// How many spans are buffered, and how many are sent at once.
const MAX_BUFFERED_SPANS: usize = 2048;
const SPANS_AT_ONCE: usize = 256;

/// A decision, or an intervention.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// The trace of the request, if it has one: trace id and parent.
    pub(crate) parent: Option<(String, String)>,
    /// Start and end, in nanoseconds since 1970.
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) policy: String,
    pub(crate) session: String,
    pub(crate) subject: SpanSubject,
}

/// What a span is about.
#[derive(Clone, Debug)]
pub(crate) enum SpanSubject {
    Decision(DecisionSpan),
    /// An intervention, as it is recorded.
    Intervention(Box<Map<String, Value>>),
}

/// One decision.
#[derive(Clone, Debug)]
pub(crate) struct DecisionSpan {
    /// Whether the event is of the request, rather than of the reply.
    pub(crate) is_input: bool,
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) action: Action,
    /// The properties that objected.
    pub(crate) properties: Vec<String>,
}

/// A sender of spans.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    sender: Option<mpsc::Sender<Span>>,
    metrics: Arc<Metrics>,
}

impl Spans {
    /// Creates a sender for a collector; without one, spans are not collected.
    pub(crate) fn new(collector: Option<&Uri>, upstream: &Upstream, metrics: &Arc<Metrics>) -> Spans {
        let sender = collector.map(|collector| {
            let (sender, receiver) = mpsc::channel(MAX_BUFFERED_SPANS);
            tokio::spawn(send(receiver, collector.clone(), upstream.clone(), Arc::clone(metrics)));
            sender
        });
        Spans { sender, metrics: Arc::clone(metrics) }
    }

    /// Whether there is a collector.
    pub(crate) fn are_wanted(&self) -> bool {
        self.sender.is_some()
    }

    pub(crate) fn add(&self, span: Span) {
        if self.sender.as_ref().is_some_and(|sender| sender.try_send(span).is_err()) {
            self.metrics.telemetry_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn send(mut receiver: mpsc::Receiver<Span>, collector: Uri, upstream: Upstream, metrics: Arc<Metrics>) {
    let mut batch = Vec::new();
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    while receiver.recv_many(&mut batch, SPANS_AT_ONCE).await > 0 {
        let count = batch.len() as u64;
        let body = Bytes::from(document(&batch).to_string());
        batch.clear();
        let asked = upstream.ask(&collector, Method::POST, "/v1/traces", headers.clone(), body);
        let taken = tokio::time::timeout(Duration::from_secs(5), asked).await;
        if !matches!(taken, Ok(Ok(response)) if response.status().is_success()) {
            metrics.telemetry_dropped.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// Returns the spans as an export request.
fn document(spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "lictor")]},
        "scopeSpans": [{"scope": {"name": "lictor", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}

fn span(span: &Span) -> Value {
    let mut random = [0u8; 24];
    // Without randomness the ids are zeros, and the collector drops the span.
    let _ = getrandom::fill(&mut random);
    let (own, trace) = random.split_at(8);
    let (trace, parent) = span.parent.clone().unwrap_or_else(|| (to_hex(trace), String::new()));
    let (name, about, events) = match &span.subject {
        SpanSubject::Decision(decision) => {
            ("run_guardrail lictor", describe_decision(decision), list_findings(span, decision))
        }
        SpanSubject::Intervention(record) => ("intervene lictor", describe_intervention(record), Vec::new()),
    };
    let mut attributes = vec![
        text("gen_ai.guardrail.component.name", "lictor"),
        text("gen_ai.guardrail.security.policy.id", &span.policy),
        text("gen_ai.conversation.id", &span.session),
    ];
    attributes.extend(about);
    json!({
        "traceId": trace,
        "spanId": to_hex(own),
        "parentSpanId": parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": span.from.to_string(),
        "endTimeUnixNano": span.to.to_string(),
        "attributes": attributes,
        "events": events,
    })
}

fn describe_decision(decision: &DecisionSpan) -> Vec<Value> {
    let (verdict, action) = match decision.action {
        Action::Forward if decision.properties.is_empty() => ("allow", "allow"),
        Action::Forward => ("audit", "audit"),
        Action::Steer => ("warn", "allow"),
        Action::Redact => ("modify", "modify"),
        Action::Ask => ("escalate", "escalate"),
        Action::Block => ("deny", "block"),
    };
    let mut attributes = vec![
        text("gen_ai.operation.name", "run_guardrail"),
        text("gen_ai.guardrail.target.type", if decision.is_input { "input" } else { "output" }),
        text("gen_ai.guardrail.target.subtype", &decision.kind),
        text("gen_ai.guardrail.verdict.type", verdict),
        text("gen_ai.guardrail.action.type", action),
    ];
    attributes.extend(decision.id.as_ref().map(|id| text("gen_ai.guardrail.target.id", id)));
    attributes
}

fn list_findings(span: &Span, decision: &DecisionSpan) -> Vec<Value> {
    let finding = |property: &String| {
        json!({
            "timeUnixNano": span.to.to_string(),
            "name": "gen_ai.guardrail.security.finding",
            "attributes": [
                text("gen_ai.guardrail.security.policy.id", &span.policy),
                text("gen_ai.guardrail.security.policy.rule.id", property),
            ],
        })
    };
    decision.properties.iter().map(finding).collect()
}

/// The conventions have no words for forecasts, so these are our own: the names of the record.
fn describe_intervention(record: &Map<String, Value>) -> Vec<Value> {
    let mut attributes = vec![json!({
        "key": "lictor.intervention.replaced",
        "value": {"boolValue": record.get("taken").is_some_and(Value::is_number)},
    })];
    let named = |key: &str| format!("lictor.intervention.{key}");
    for key in ["at", "by", "method", "side", "exhausted"] {
        attributes.extend(record.get(key).and_then(Value::as_str).map(|value| text(&named(key), value)));
    }
    for key in ["calls", "tokens"] {
        let count = record.get(key).and_then(Value::as_u64);
        // Integers are strings in this format.
        attributes.extend(count.map(|count| json!({"key": named(key), "value": {"intValue": count.to_string()}})));
    }
    for key in ["chance", "most"] {
        let risk = record.get("original").and_then(|risk| risk.get(key)).and_then(Value::as_f64);
        attributes.extend(risk.map(|risk| json!({"key": named(key), "value": {"doubleValue": risk}})));
    }
    let at_risk = record.get("at_risk").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let properties = at_risk.iter().filter_map(|risk| risk.get("property")?.as_str());
    let listed: Vec<Value> = properties.map(|property| json!({"stringValue": property})).collect();
    attributes.push(json!({"key": named("at_risk"), "value": {"arrayValue": {"values": listed}}}));
    attributes
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}
