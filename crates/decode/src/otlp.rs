//! OpenTelemetry traces and logs with GenAI conventions.
//!
//! OTLP/JSON as collectors write it (`resourceSpans`, `resourceLogs`) and as Tempo returns it (`batches`), and single spans and events as exporters print
//! them. Spans that follow OpenInference inside OTLP are read by those conventions (see [`openinference`]); spans of
//! other work (HTTP, databases) are skipped. The GenAI conventions have changed their names often, and all of them are
//! in use: see [`genai`].
//!
//! Spans come in any order, so all events are emitted at the end of the file; see [`spans`](super::spans).

mod genai;
pub(super) mod openinference;
mod traceloop;

use std::collections::HashMap;

use super::spans::raw_span::{RawEvent, RawSpan, has_attribute, is_telemetry};
use super::spans::{Span, Spans, span_fault};
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::Source;
use lictor_json::{Json, Object, Text};

/// The prefixes of the attributes that matter here.
const PREFIXES: [&str; 4] = ["gen_ai.", "mcp.", "traceloop.", "llm.request."];

/// The members of a document that hold spans or log records, each with the keys of the level below.
const SPANS: [(&str, &[&str]); 3] = [
    ("resourceSpans", &["scopeSpans", "instrumentationLibrarySpans"]),
    ("resource_spans", &["scope_spans", "instrumentation_library_spans"]),
    // Tempo names the list so.
    ("batches", &["scopeSpans", "instrumentationLibrarySpans"]),
];
const LOGS: [(&str, &[&str]); 2] = [("resourceLogs", &["scopeLogs"]), ("resource_logs", &["scope_logs"])];
const METRICS: [&str; 2] = ["resourceMetrics", "resource_metrics"];

/// The members in which Tempo and Jaeger answer with a document.
const WRAPPERS: [&str; 2] = ["trace", "result"];

/// Whether a record is a document of OTLP, or a span or event with GenAI attributes.
pub(super) fn recognises(value: &Json) -> bool {
    is_document(value) || WRAPPERS.iter().any(|key| value.get(key).is_some_and(is_document)) || is_loose(value)
}

fn is_document(value: &Json) -> bool {
    let is_list = |key: &str| value.get(key).is_some_and(|list| list.as_array().is_some());
    let is_batch = |batch: &Json| SPANS[2].1.iter().any(|key| batch.get(key).is_some());
    let has_batches = value.get("batches").and_then(Json::as_array).is_some_and(|list| list.iter().any(is_batch));
    has_batches || SPANS[..2].iter().chain(&LOGS).map(|(key, _)| *key).chain(METRICS).any(is_list)
}

/// Whether a record is a span or an event outside of OTLP.
fn is_loose(value: &Json) -> bool {
    let is_span = |value: &Json| {
        has_attribute(value, &PREFIXES) && !has_attribute(value, &["openinference.span.kind", "openinference"])
    };
    let listed = |key: &str, is: &dyn Fn(&Json) -> bool| {
        value.get(key).and_then(Json::as_array).is_some_and(|items| items.iter().any(is))
    };
    is_span(value)
        || is_event(value)
        || value.get("span").is_some_and(is_span)
        || listed("spans", &is_span)
        || listed("events", &is_event)
}

fn is_event(value: &Json) -> bool {
    let names = ["event.name", "eventName", "event_name"];
    names.iter().any(|key| value.text(key).is_some_and(|name| name.starts_with("gen_ai.")))
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct OtlpDecoder {
    spans: Vec<(RawSpan, Source)>,
    logs: Vec<(RawEvent, Source)>,
}

impl Decoder for OtlpDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let source = record.source();
        if !recognises(&record.value) && !is_telemetry(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let Json::Object(mut document) = record.value else { return };
        if let Some(key) = WRAPPERS.iter().find(|key| document.get(key).is_some_and(is_document))
            && let Some(Json::Object(inner)) = document.remove(key)
        {
            document = inner;
        }
        for (key, scopes) in SPANS {
            for span in take_nested(&mut document, key, scopes, &["spans"]) {
                self.spans.push((RawSpan::read(span), source.clone()));
            }
        }
        for (key, scopes) in LOGS {
            for log in take_nested(&mut document, key, scopes, &["logRecords", "log_records"]) {
                self.logs.extend(RawEvent::read(Json::Object(log)).map(|event| (event, source.clone())));
            }
        }
        self.take_loose(document, &source);
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let mut spans = Spans::default();
        let mut logs = std::mem::take(&mut self.logs);
        // The events of a span may be written as log records beside it.
        let places: HashMap<Text, usize> =
            self.spans.iter().enumerate().filter_map(|(at, (span, _))| Some((span.id.clone()?, at))).collect();
        let mut alone = Vec::new();
        for (log, source) in logs.drain(..) {
            match log.span.as_ref().and_then(|span| places.get(span)) {
                Some(&place) => self.spans[place].0.events.push(log),
                None => alone.push((log, source)),
            }
        }
        for (mut span, source) in self.spans.drain(..) {
            let mut unread = Vec::new();
            let is_openinference = openinference::is_span(&span.attributes);
            let (work, agent) = match is_openinference {
                true => (openinference::read_work(&mut span, &mut unread), openinference::find_agent(&span)),
                false => (genai::read_work(&mut span, &mut unread), genai::find_agent(&span.attributes)),
            };
            out.faults.extend(unread.into_iter().map(|message| span_fault(&source, message)));
            spans.push(Span {
                session: genai::find_session(&span),
                agent,
                id: span.id,
                parent: span.parent,
                trace: span.trace,
                start: span.start,
                end: span.end,
                work,
                source,
            });
        }
        for span in genai::read_exchanges(alone, out) {
            spans.push(span);
        }
        spans.emit(out);
    }
}

impl OtlpDecoder {
    /// Adds one span.
    pub(super) fn add_span(&mut self, span: RawSpan, source: Source) {
        self.spans.push((span, source));
    }

    /// Takes spans and events that are not wrapped in a document of OTLP.
    fn take_loose(&mut self, mut document: Object, source: &Source) {
        if let Some(Json::Object(span)) = document.remove("span") {
            self.spans.push((RawSpan::read(span), source.clone()));
        }
        if let Some(Json::Array(spans)) = document.remove("spans") {
            let spans = spans.into_iter().filter_map(|span| match span {
                Json::Object(span) => Some((RawSpan::read(span), source.clone())),
                _ => None,
            });
            self.spans.extend(spans);
        }
        if document.get("attributes").is_some() && document.get("body").is_none() {
            self.spans.push((RawSpan::read(document), source.clone()));
            return;
        }
        let mut events = Vec::new();
        if let Some(Json::Array(listed)) = document.remove("events") {
            events = listed;
        }
        let document = Json::Object(document);
        if is_event(&document) {
            events.push(document);
        }
        self.logs.extend(events.into_iter().filter_map(RawEvent::read).map(|event| (event, source.clone())));
    }
}

/// Takes the objects two lists down: `resourceSpans[].scopeSpans[].spans[]`.
fn take_nested(document: &mut Object, key: &str, scopes: &[&str], leaves: &[&str]) -> Vec<Object> {
    let mut level = take_list(document, key);
    for keys in [scopes, leaves] {
        level = level
            .iter_mut()
            .flat_map(|inner| keys.iter().flat_map(|key| take_list(inner, key)).collect::<Vec<_>>())
            .collect();
    }
    level
}

fn take_list(object: &mut Object, key: &str) -> Vec<Object> {
    let objects = |item: Json| match item {
        Json::Object(object) => Some(object),
        _ => None,
    };
    match object.remove(key) {
        Some(Json::Array(items)) => items.into_iter().filter_map(objects).collect(),
        _ => Vec::new(),
    }
}
