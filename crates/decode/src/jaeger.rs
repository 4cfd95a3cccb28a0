//! Jaeger traces: the export of its user interface and the answers of its API, a span a record as well.
//!
//! A span of Jaeger is a span of OpenTelemetry under other names: tags for attributes, logs for events, microseconds
//! for times. It is renamed here and read by the conventions of [`otlp`](super::otlp).

use super::otlp::OtlpDecoder;
use super::spans::raw_span::RawSpan;
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::Source;
use lictor_json::{Json, Object, Text};

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let listed = value.get("data").and_then(Json::as_array);
    is_trace(value) || is_span(value) || listed.is_some_and(|traces| !traces.is_empty() && traces.iter().all(is_trace))
}

fn is_trace(value: &Json) -> bool {
    let spans = value.get("spans").and_then(Json::as_array);
    value.text("traceID").is_some() && spans.is_some_and(|spans| spans.iter().all(is_span))
}

fn is_span(value: &Json) -> bool {
    ["spanID", "operationName"].iter().all(|key| value.text(key).is_some())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct JaegerDecoder {
    spans: OtlpDecoder,
}

impl Decoder for JaegerDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let source = record.source();
        match &record.value {
            span if is_span(span) => self.add_span(span, &source),
            trace if is_trace(trace) => self.add_trace(trace, &source),
            document => {
                let traces = document.get("data").and_then(Json::as_array).unwrap_or_default();
                traces.iter().for_each(|trace| self.add_trace(trace, &source));
            }
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.spans.finish(out);
    }
}

impl JaegerDecoder {
    fn add_trace(&mut self, trace: &Json, source: &Source) {
        let spans = trace.get("spans").and_then(Json::as_array).unwrap_or_default();
        spans.iter().for_each(|span| self.add_span(span, source));
    }

    fn add_span(&mut self, span: &Json, source: &Source) {
        self.spans.add_span(RawSpan::read(rename_span(span)), source.clone());
    }
}

/// Returns a span under the names of OpenTelemetry.
fn rename_span(span: &Json) -> Object {
    let mut renamed = Object::new();
    let mut insert = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            renamed.insert(key, value);
        }
    };
    insert("name", span.get("operationName").cloned());
    insert("spanId", span.get("spanID").cloned());
    insert("traceId", span.get("traceID").cloned());
    insert("parentSpanId", find_parent(span).map(Json::from));
    let start = span.get("startTime").and_then(Json::as_i64);
    let end =
        start.zip(span.get("duration").and_then(Json::as_i64)).and_then(|(start, length)| start.checked_add(length));
    insert("startTimeUnixNano", start.and_then(to_nanoseconds));
    insert("endTimeUnixNano", end.and_then(to_nanoseconds));
    let tags = read_tags(span.get("tags"));
    let is_failed = tags.get("otel.status_code").and_then(Json::as_str) == Some("ERROR")
        || tags.get("error") == Some(&Json::Bool(true));
    if is_failed {
        let mut status = Object::new();
        status.insert("code", 2);
        if let Some(reason) = tags.get("otel.status_description") {
            status.insert("message", reason.clone());
        }
        insert("status", Some(status.into()));
    }
    insert("attributes", Some(tags.into()));
    let logs = span.get("logs").and_then(Json::as_array).unwrap_or_default();
    insert("events", Some(logs.iter().map(rename_log).collect::<Vec<_>>().into()));
    renamed
}

/// Returns the span that a span is part of: one that it names itself, or refers to.
fn find_parent(span: &Json) -> Option<Text> {
    let references = span.get("references").and_then(Json::as_array).unwrap_or_default();
    let is_parent = |reference: &&Json| reference.text("refType").is_none_or(|sort| sort == "CHILD_OF");
    let referred = references.iter().find(is_parent).and_then(|reference| reference.text("spanID"));
    span.text("parentSpanID").or(referred).filter(|id| !id.is_empty()).map(Text::from)
}

fn rename_log(log: &Json) -> Json {
    let mut event = Object::new();
    let mut fields = read_tags(log.get("fields"));
    if let Some(name) = fields.remove("event") {
        event.insert("name", name);
    }
    if let Some(time) = log.get("timestamp").and_then(Json::as_i64).and_then(to_nanoseconds) {
        event.insert("timeUnixNano", time);
    }
    event.insert("attributes", fields);
    Json::Object(event)
}

/// Returns tags as an object. The first of several with one name counts.
fn read_tags(tags: Option<&Json>) -> Object {
    let mut read = Object::new();
    for tag in tags.and_then(Json::as_array).unwrap_or_default() {
        if let (Some(key), Some(value)) = (tag.text("key"), tag.get("value"))
            && read.get(key).is_none()
        {
            read.insert(key, value.clone());
        }
    }
    read
}

/// Returns a time in microseconds as nanoseconds.
fn to_nanoseconds(time: i64) -> Option<Json> {
    time.checked_mul(1_000).map(Json::from)
}
