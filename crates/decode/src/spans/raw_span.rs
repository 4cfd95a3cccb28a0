//! Spans and log records as OpenTelemetry writes them: in OTLP/JSON, or as its exporters print them.
//!
//! OTLP writes attributes as a list of keys with typed values and times as nanoseconds in strings; exporters that print
//! spans write attributes as an object and times as RFC 3339 texts. Both are read here into one shape.

use lictor_logic::Time;

use lictor_event::read_time;
use lictor_json::{Json, Number, Object, Text};

/// A span.
#[derive(Debug, Default)]
pub(crate) struct RawSpan {
    pub(crate) id: Option<Text>,
    pub(crate) parent: Option<Text>,
    pub(crate) trace: Option<Text>,
    pub(crate) name: Text,
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    pub(crate) attributes: Object,
    /// The reason of the failure, if the span failed.
    pub(crate) failure: Option<Text>,
    pub(crate) events: Vec<RawEvent>,
}

/// A log record, or an event of a span.
#[derive(Debug)]
pub(crate) struct RawEvent {
    pub(crate) name: Text,
    pub(crate) time: Option<Time>,
    pub(crate) trace: Option<Text>,
    pub(crate) span: Option<Text>,
    pub(crate) attributes: Object,
    pub(crate) body: Json,
}

impl RawSpan {
    /// Reads a span of either shape.
    pub(crate) fn read(mut span: Object) -> RawSpan {
        let context = span.remove("context").unwrap_or(Json::Null);
        let attributes = read_attributes(span.remove("attributes"));
        let events = match span.remove("events") {
            Some(Json::Array(events)) => events.into_iter().filter_map(RawEvent::read).collect(),
            _ => Vec::new(),
        };
        let id = |keys: &[&str]| first_id(&span, keys).or_else(|| first_id(context.as_object()?, keys));
        let mut read = RawSpan {
            id: id(&["spanId", "span_id"]),
            parent: id(&["parentSpanId", "parent_span_id", "parent_id"])
                .or_else(|| first_id(span.get("parent")?.as_object()?, &["span_id", "spanId"])),
            trace: id(&["traceId", "trace_id"]),
            name: span.get("name").and_then(Json::as_str).unwrap_or_default().into(),
            start: first_time(&span, &["startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"]),
            end: first_time(&span, &["endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"]),
            attributes,
            failure: None,
            events,
        };
        if is_failure(&span) {
            read.failure = Some(read.failure_reason(&span));
        }
        read
    }

    /// Returns why a span failed, from the most specific attribute.
    fn failure_reason(&self, span: &Object) -> Text {
        let status = span.get("status").and_then(Json::as_object);
        let said = status.and_then(|status| first_text(status, &["message", "description"]));
        let exception = || {
            let thrown = self.events.iter().rev().find(|event| event.name == "exception")?;
            first_text(&thrown.attributes, &["exception.message", "exception.type"])
        };
        said.or_else(|| first_text(span, &["status_message"]))
            .or_else(exception)
            .or_else(|| first_text(&self.attributes, &["error.message", "error.type"]))
            .unwrap_or_else(|| Text::from("failed"))
    }
}

impl RawEvent {
    /// Reads a log record or a span's event of either shape; none where it is no object.
    pub(crate) fn read(event: Json) -> Option<RawEvent> {
        let Json::Object(mut event) = event else { return None };
        let attributes = read_attributes(event.remove("attributes"));
        let body = match event.remove("body") {
            Some(Json::Object(body)) if is_typed_value(&body) => unwrap_typed_value(Json::Object(body)),
            Some(body) => body,
            None => Json::Null,
        };
        let name = first_text(&event, &["eventName", "event_name", "event.name", "name"])
            .or_else(|| first_text(&attributes, &["event.name"]))
            .unwrap_or_default();
        let times = ["timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano", "observed_time_unix_nano"];
        Some(RawEvent {
            name,
            time: first_time(&event, &times),
            trace: first_text(&event, &["traceId", "trace_id"]),
            span: first_text(&event, &["spanId", "span_id"]),
            attributes,
            body,
        })
    }
}

/// Whether a record is a span or a log record of OpenTelemetry, of any work, as exporters print it.
pub(crate) fn is_telemetry(record: &Json) -> bool {
    let has_any = |keys: &[&str]| keys.iter().any(|key| record.at(key).is_some());
    let is_span = has_any(&["context.span_id", "span_id", "spanId"])
        && has_any(&["start_time", "startTimeUnixNano", "start_time_unix_nano"]);
    let is_log = has_any(&["severity_number", "severityNumber"]) && has_any(&["trace_id", "traceId"]);
    record.get("attributes").is_some() && (is_span || is_log)
}

/// Whether an object has attributes at all, and one whose name begins in this way.
pub(crate) fn has_attribute(record: &Json, prefixes: &[&str]) -> bool {
    let begins = |key: &str| prefixes.iter().any(|prefix| key.starts_with(prefix));
    match record.get("attributes") {
        Some(Json::Object(attributes)) => attributes.iter().any(|(key, _)| begins(key)),
        Some(Json::Array(list)) => list.iter().any(|attribute| attribute.text("key").is_some_and(begins)),
        _ => false,
    }
}

/// Reads attributes of either shape as an object.
pub(crate) fn read_attributes(attributes: Option<Json>) -> Object {
    match attributes {
        Some(Json::Object(attributes)) => attributes,
        Some(Json::Array(list)) => read_key_values(list),
        _ => Object::new(),
    }
}

fn read_key_values(list: Vec<Json>) -> Object {
    let pair = |entry: Json| match entry {
        Json::Object(mut entry) => match (entry.remove("key"), entry.remove("value")) {
            (Some(Json::String(key)), value) => Some((key, value.map_or(Json::Null, unwrap_typed_value))),
            _ => None,
        },
        _ => None,
    };
    list.into_iter().filter_map(pair).collect()
}

/// The members that wrap a typed value of OTLP.
const TYPED_VALUE_KEYS: [&str; 14] = [
    "stringValue",
    "string_value",
    "intValue",
    "int_value",
    "doubleValue",
    "double_value",
    "boolValue",
    "bool_value",
    "bytesValue",
    "bytes_value",
    "arrayValue",
    "array_value",
    "kvlistValue",
    "kvlist_value",
];

fn is_typed_value(value: &Object) -> bool {
    value.len() == 1 && value.iter().all(|(key, _)| TYPED_VALUE_KEYS.contains(&key.as_str()))
}

/// Unwraps a typed value such as `{"stringValue": …}`.
fn unwrap_typed_value(value: Json) -> Json {
    let Json::Object(value) = value else { return value };
    let Some((sort, inner)) = value.into_members().into_iter().next() else { return Json::Null };
    match (sort.as_str(), inner) {
        // Whole numbers are strings in protobuf's JSON.
        ("intValue" | "int_value", Json::String(digits)) => match digits.parse::<i64>() {
            Ok(number) => Json::Number(Number::Integer(number)),
            Err(_) => Json::String(digits),
        },
        ("arrayValue" | "array_value", Json::Object(mut list)) => match list.remove("values") {
            Some(Json::Array(values)) => Json::Array(values.into_iter().map(unwrap_typed_value).collect()),
            _ => Json::Array(Vec::new()),
        },
        ("kvlistValue" | "kvlist_value", Json::Object(mut list)) => match list.remove("values") {
            Some(Json::Array(values)) => Json::Object(read_key_values(values)),
            _ => Json::Object(Object::new()),
        },
        (_, inner) => inner,
    }
}

fn is_failure(span: &Object) -> bool {
    let is_error = |code: &Json| match code {
        Json::String(code) => matches!(code.as_str(), "ERROR" | "STATUS_CODE_ERROR" | "StatusCode.ERROR" | "error"),
        code => code.as_i64() == Some(2),
    };
    let status = span.get("status");
    let codes = [
        status.and_then(|status| status.get("code")),
        status.and_then(|status| status.get("status_code")),
        span.get("status_code"),
        status.filter(|status| status.as_str().is_some()),
    ];
    codes.into_iter().flatten().any(is_error)
}

/// Returns the first of these members that is a text and not empty.
fn first_text(object: &Object, keys: &[&str]) -> Option<Text> {
    keys.iter().find_map(|key| object.get(key)?.as_str().filter(|text| !text.is_empty()).map(Text::from))
}

/// Returns the first of these members that is an id. Some exporters print ids as numbers.
fn first_id(object: &Object, keys: &[&str]) -> Option<Text> {
    keys.iter().find_map(|key| match object.get(key)? {
        Json::Number(number) => Some(Text::from(number.to_string())),
        id => id.as_str().filter(|id| !id.is_empty()).map(Text::from),
    })
}

/// Returns the first of these members that is a time: nanoseconds if its key names that unit, else a number since 1970
/// or an RFC 3339 text. Zero is how protobuf leaves a time out.
fn first_time(object: &Object, keys: &[&str]) -> Option<Time> {
    keys.iter().find_map(|key| {
        let value = object.get(key)?;
        let count = value.as_i64().or_else(|| value.as_str()?.parse().ok());
        let is_named = key.ends_with("Nano") || key.ends_with("_nano");
        let time = if is_named && count.is_some() { count.map(Time) } else { read_time(value) };
        time.filter(|time| time.0 > 0)
    })
}
