//! Records as they are stored or shipped: within an object of a log shipper, or with lists as JSON text.
//!
//! A log shipper puts each line into an object of its own: Docker in `log`, CloudWatch in `message`, Google Cloud in
//! `jsonPayload`, Datadog in `attributes`. A database keeps a message in a column (`message_data` of the OpenAI Agents
//! SDK), or its lists as text. Here a record is opened before its decoder sees it: only if the record itself is of no
//! shape that the format knows, while its content is. So a record that a format defines is never changed.

use std::borrow::Cow;

use super::content_text::ContentOpener;
use super::session_key::{SESSION_KEYS, find_session};
use super::{DecodedEvents, Decoder, Format, LogNotes, LogRecord};
use lictor_event::Source;
use lictor_json::{Json, Object, Text};

/// Members that hold a record: an object, or the text of one.
const WRAPPERS: [&str; 28] = [
    "jsonPayload",
    "textPayload",
    "log",
    "message",
    "message_data",
    "attributes",
    "payload",
    "data",
    "body",
    "event",
    "record",
    "_source",
    "value",
    "msg",
    "message_json",
    "messageJson",
    "@message",
    "doc",
    "document",
    "entry",
    "fields",
    "json",
    "line",
    "raw",
    "row",
    "after",
    "request_body",
    "content",
];

/// Members that hold lists, which a table keeps as text.
const LISTS: [&str; 4] = ["messages", "tool_calls", "parts", "toolInvocations"];

/// Members in which the time of a record is.
const TIMES: [&str; 7] = ["time", "timestamp", "ts", "created_at", "createdAt", "created", "date"];

/// How many objects may be around a record.
const MAX_LAYERS: usize = 3;

/// Decodes a format, and opens records first.
pub(super) struct RecordOpener {
    inner: Box<dyn Decoder>,
    format: Format,
    contents: ContentOpener,
}

impl RecordOpener {
    pub(super) fn wrap(inner: Box<dyn Decoder>, format: Format) -> Box<dyn Decoder> {
        Box::new(RecordOpener { inner, format, contents: ContentOpener::default() })
    }
}

impl RecordOpener {
    /// Decodes a record with another value. Contents that are text are opened, in formats whose messages have a role and a
    /// content.
    fn decode_value(&mut self, mut value: Json, record: LogRecord, out: &mut DecodedEvents) {
        if self.format != Format::Native && self.format.takes_session_key() {
            self.contents.open(&mut value);
        }
        self.inner.record(LogRecord { value, ..record }, out);
    }
}

impl Decoder for RecordOpener {
    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        let value = std::mem::replace(&mut record.value, Json::Null);
        match open_value(value, self.format) {
            OpenedValue::One(value) => self.decode_value(value, record, out),
            OpenedValue::List(list) => list.into_iter().for_each(|value| self.decode_value(value, record.clone(), out)),
        }
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        self.inner.text(text, source, out)
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn take_notes(&mut self) -> Option<LogNotes> {
        self.inner.take_notes()
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.inner.finish(out);
    }
}

/// The records within a value.
pub(super) enum OpenedValue {
    /// The value itself, or the record that it holds.
    One(Json),
    /// A list of records.
    List(Vec<Json>),
}

/// Returns the records of a format within a value.
pub(super) fn open_value(mut value: Json, format: Format) -> OpenedValue {
    parse_lists(&mut value);
    let is_known = |value: &Json| format.reads(value);
    if let Some((_, opened)) = open_record(&value, &is_known) {
        return OpenedValue::One(opened);
    }
    match open_events(&value, &is_known) {
        Some(opened) => OpenedValue::List(opened),
        None => OpenedValue::One(value),
    }
}

/// Returns the records within others of no known shape, and the member that holds the first of them; none if there are
/// none.
pub(super) fn open_all(records: &[Json], is_known: &dyn Fn(&Json) -> bool) -> Option<(&'static str, Vec<Json>)> {
    let mut found = None;
    let mut opened = Vec::with_capacity(records.len());
    for record in records {
        let mut record = Cow::Borrowed(record);
        if let Some(key) = find_text_list(&record) {
            parse_lists(record.to_mut());
            found = found.or(Some(key));
        }
        if let Some((key, inner)) = open_record(&record, is_known) {
            found = found.or(Some(key));
            opened.push(inner);
        } else if let Some(mut inner) = open_events(&record, is_known) {
            found = found.or(Some("events"));
            opened.append(&mut inner);
        } else {
            opened.push(record.into_owned());
        }
    }
    found.map(|key| (key, opened))
}

/// Returns the record within another one, and the member that holds it. Its session and its time may be beside it.
fn open_record(record: &Json, is_known: &dyn Fn(&Json) -> bool) -> Option<(&'static str, Json)> {
    let mut outer = Cow::Borrowed(record.as_object()?);
    if !WRAPPERS.iter().any(|key| outer.get(key).is_some()) || is_known(record) {
        return None;
    }
    for _ in 0..MAX_LAYERS {
        let mut inside = None;
        for key in WRAPPERS {
            let Some(mut inner) = outer.get(key).and_then(read_object) else { continue };
            copy_context(&outer, &mut inner);
            let mut inner = Json::Object(inner);
            parse_lists(&mut inner);
            if is_known(&inner) {
                return Some((key, inner));
            }
            inside = inside.or(Some(inner));
        }
        match inside? {
            Json::Object(inner) => outer = Cow::Owned(inner),
            _ => return None,
        }
    }
    None
}

/// Returns the records in the list that CloudWatch answers with; none unless all of them can be opened.
fn open_events(record: &Json, is_known: &dyn Fn(&Json) -> bool) -> Option<Vec<Json>> {
    let events = record.get("events").and_then(Json::as_array).filter(|events| !events.is_empty())?;
    if is_known(record) {
        return None;
    }
    events.iter().map(|event| open_record(event, is_known).map(|(_, inner)| inner)).collect()
}

/// Returns an object, or the one that a text holds.
fn read_object(value: &Json) -> Option<Object> {
    match value {
        Json::Object(object) => Some(object.clone()),
        Json::String(text) if text.trim_start().starts_with('{') => match lictor_json::parse_str(text.trim()) {
            Ok(Json::Object(object)) => Some(object),
            _ => None,
        },
        _ => None,
    }
}

/// Copies the session and the time of a wrapper into the record, unless the record has its own.
fn copy_context(outer: &Object, inner: &mut Object) {
    let (wrapper, record) = (Json::Object(without_content(outer)), Json::Object(inner.clone()));
    if let (Some(session), None) = (find_session(&wrapper), find_session(&record)) {
        inner.insert(SESSION_KEYS[0], Text::from(session.into_owned()));
    }
    if TIMES.iter().all(|key| inner.get(key).is_none())
        && let Some((key, time)) = TIMES.iter().find_map(|key| Some((*key, outer.get(key)?.clone())))
    {
        inner.insert(key, time);
    }
}

/// Returns a wrapper without the records that it holds.
fn without_content(outer: &Object) -> Object {
    let is_content = |key: &Text| WRAPPERS.contains(&key.as_str());
    outer.iter().filter(|(key, _)| !is_content(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Puts lists in the place of the texts that hold them, in a record and in its messages.
fn parse_lists(record: &mut Json) {
    if find_text_list(record).is_none() {
        return;
    }
    let Json::Object(object) = std::mem::replace(record, Json::Null) else { return };
    let members = object.into_members().into_iter().map(|(key, value)| {
        if !LISTS.contains(&key.as_str()) {
            return (key, value);
        }
        let mut list = parse_list(&value).unwrap_or(value);
        if let Json::Array(items) = &mut list {
            items.iter_mut().for_each(parse_lists);
        }
        (key, list)
    });
    *record = Json::Object(members.collect());
}

/// Returns the member of a record, or of one of its messages, that holds the text of a list.
fn find_text_list(record: &Json) -> Option<&'static str> {
    let object = record.as_object()?;
    LISTS.iter().copied().find_map(|key| match object.get(key)? {
        Json::String(text) if text.trim_start().starts_with('[') => Some(key),
        Json::Array(items) => items.iter().find_map(find_text_list),
        _ => None,
    })
}

/// Parses a text that holds a list of objects.
fn parse_list(value: &Json) -> Option<Json> {
    let text = value.as_str().filter(|text| text.trim_start().starts_with('['))?;
    let list = lictor_json::parse_str(text.trim()).ok()?;
    let is_list = list.as_array().is_some_and(|items| items.iter().all(|item| item.as_object().is_some()));
    is_list.then_some(list)
}
