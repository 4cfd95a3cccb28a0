//! OpenInference spans, as Phoenix and others export them; inside OTLP they are read by the same conventions.

use super::otlp::OtlpDecoder;
use super::otlp::openinference::{KIND_ATTRIBUTE, is_span};
use super::spans::raw_span::{RawSpan, is_telemetry};
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_json::{Json, Object};

/// Whether a record is a span of this kind.
pub(super) fn recognises(value: &Json) -> bool {
    let row = value.get("context.span_id").is_some();
    let kind = value.get("span_kind").is_some() && (row || value.at("context.span_id").is_some());
    kind || value.get("attributes").and_then(Json::as_object).is_some_and(is_span)
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct OpeninferenceDecoder {
    spans: OtlpDecoder,
}

impl Decoder for OpeninferenceDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) && !is_telemetry(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let source = record.source();
        if let Json::Object(span) = record.value {
            self.spans.add_span(RawSpan::read(unfold_columns(span)), source);
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.spans.finish(out);
    }
}

/// Unfolds a span of a table: its columns are called `context.span_id` and `attributes.llm.model_name`, and its kind
/// may be beside the attributes.
fn unfold_columns(span: Object) -> Object {
    let mut plain = Object::new();
    let (mut context, mut attributes) = (Object::new(), Object::new());
    for (key, value) in span.into_members() {
        match (key.strip_prefix("context."), key.strip_prefix("attributes."), value) {
            (Some(rest), _, value) => context.insert(rest, value),
            (_, Some(rest), value) => attributes.insert(rest, value),
            (_, _, Json::Object(inner)) if key == "attributes" => {
                inner.into_members().into_iter().for_each(|(key, value)| attributes.insert(key, value));
            }
            (_, _, value) => plain.insert(key, value),
        }
    }
    if let Some(kind) = plain.get("span_kind").cloned()
        && !is_span(&attributes)
    {
        attributes.insert(KIND_ATTRIBUTE, kind);
    }
    if !context.is_empty() {
        plain.insert("context", context);
    }
    plain.insert("attributes", attributes);
    plain
}
