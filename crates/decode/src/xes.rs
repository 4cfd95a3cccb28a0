//! Event logs of process mining (XES, IEEE 1849).
//!
//! A trace is a session, and each of its events is a call of the tool that `concept:name` names: process logs record
//! what was done, not who said what. `org:resource` is the agent, `time:timestamp` the time. `lifecycle:transition` and
//! the other attributes of standard extensions are kept beside the call, all others are its arguments. What a log
//! declares for all its events (`global`) is a declaration and no event.
//!
//! Entities that a document defines itself are never expanded: a value that uses one is a fault.

use std::sync::Arc;

use quick_xml::events::{BytesStart, Event as Xml};
use quick_xml::{Reader, XmlVersion};

use super::{DecodedEvents, Decoder, Fault, LogRecord, unknown_record};
use lictor_event::{Arguments, Event, Kind, parse_time};
use lictor_json::{Json, Object, Text};

/// How many levels deep elements may nest: real logs have a list in a list in an event.
const MAX_DEPTH: usize = 64;

/// The code of a fault for a document that could not be read to its end.
pub(super) const BROKEN_XML: &str = "xes.broken";

/// The code of a fault for an event without a name, which is a call of an unknown tool.
pub(super) const NAMELESS_EVENT: &str = "xes.nameless_event";

/// The prefixes of attributes of standard extensions, which describe a call and are no arguments of it.
const EXTENSION_PREFIXES: [&str; 7] = ["lifecycle:", "org:", "time:", "concept:", "identity:", "cost:", "semantic:"];

/// Whether a record is a document of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let mut text = value.as_str().unwrap_or_default().trim_start_matches('\u{feff}').trim_start();
    // The log comes after a declaration, a document type and any number of comments.
    while let Some(rest) = skip_prolog(text) {
        text = rest.trim_start();
    }
    let Some(root) = text.strip_prefix('<') else { return false };
    let name = root.split(|end: char| end.is_whitespace() || end == '>' || end == '/').next().unwrap_or_default();
    name == "log" || name.ends_with(":log")
}

/// Returns the text after the declaration, comment or document type that it begins with.
fn skip_prolog(text: &str) -> Option<&str> {
    let ends = |open: &str, close: &str| text.strip_prefix(open)?.split_once(close).map(|(_, rest)| rest);
    let doctype = || {
        let inside = text.strip_prefix("<!DOCTYPE")?;
        let close = if inside.split('>').next()?.contains('[') { "]>" } else { ">" };
        inside.split_once(close).map(|(_, rest)| rest)
    };
    ends("<?", "?>").or_else(|| ends("<!--", "-->")).or_else(doctype)
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct XesDecoder {}

impl Decoder for XesDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let Some(text) = record.value.as_str() else {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        };
        let mut log =
            LogReader { record: &record, text, read_to: 0, line: record.line, trace: None, traces: 0, event_line: 0 };
        if let Err(fault) = log.read_document(out) {
            // The events of a truncated trace are kept, with a fault.
            log.end_trace(out);
            out.faults.push(fault);
        }
    }
}

/// The state of a document while it is read.
struct LogReader<'a> {
    record: &'a LogRecord,
    text: &'a str,
    /// How far lines have been counted.
    read_to: usize,
    line: u32,
    /// Where the events of the open trace begin, and its name.
    trace: Option<(usize, Option<Text>)>,
    traces: u32,
    /// The line on which the open event begins.
    event_line: u32,
}

/// An element that is open.
struct OpenElement {
    name: Text,
    key: Option<Text>,
    value: Option<Text>,
    /// The attributes inside.
    inside: Object,
}

impl LogReader<'_> {
    fn read_document(&mut self, out: &mut DecodedEvents) -> Result<(), Fault> {
        let mut reader = Reader::from_str(self.text);
        reader.config_mut().expand_empty_elements = true;
        let mut open: Vec<OpenElement> = Vec::new();
        loop {
            let event = reader.read_event().map_err(|error| {
                let place = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                self.fault(place, format!("the XML is malformed: {error}"))
            })?;
            let place = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            match event {
                Xml::Eof if open.is_empty() => return Ok(()),
                Xml::Eof => return Err(self.fault(place, "the XML is malformed: it ends inside an element".to_owned())),
                Xml::Start(start) => {
                    if open.len() >= MAX_DEPTH {
                        return Err(self.fault(place, format!("elements nest deeper than {MAX_DEPTH} levels")));
                    }
                    let element = OpenElement::read(&start).map_err(|message| self.fault(place, message))?;
                    match element.name.as_str() {
                        "trace" => {
                            self.trace = Some((out.events.len(), None));
                            self.traces += 1;
                        }
                        "event" => self.event_line = self.advance_line(place),
                        _ => {}
                    }
                    open.push(element);
                }
                Xml::End(_) => {
                    if let Some(element) = open.pop() {
                        self.close_element(element, &mut open, out);
                    }
                }
                _ => {}
            }
        }
    }

    fn close_element(&mut self, element: OpenElement, open: &mut [OpenElement], out: &mut DecodedEvents) {
        match element.name.as_str() {
            "event" => self.emit_event(element.inside, out),
            "trace" => self.end_trace(out),
            "log" | "global" | "classifier" | "extension" => {}
            _ => {
                let Some(above) = open.last_mut() else { return };
                let (key, value) = element.into_member(above.inside.len());
                match (&mut self.trace, value) {
                    (Some((_, name)), Json::String(value)) if above.name == "trace" && key == "concept:name" => {
                        *name = Some(value);
                    }
                    (_, value) => above.inside.insert(key, value),
                }
            }
        }
    }

    fn emit_event(&self, mut attributes: Object, out: &mut DecodedEvents) {
        let mut take = |key: &str| match attributes.remove(key) {
            Some(Json::String(text)) => Some(text),
            _ => None,
        };
        let Some(tool) = take("concept:name") else {
            let message = "an event has no `concept:name`, so its action is unknown".to_owned();
            return out.faults.push(Fault { line: self.event_line, ..self.record.fault(NAMELESS_EVENT, message) });
        };
        let mut event = Event::new(Kind::ToolCall);
        event.tool = Some(tool);
        event.agent = take("org:resource");
        event.id = take("concept:instance");
        let time = take("time:timestamp");
        event.time = time.as_deref().and_then(parse_time);
        if let (None, Some(time)) = (event.time, time) {
            event.more.insert("time:timestamp", time);
        }
        let mut args = Object::new();
        for (key, value) in attributes.into_members() {
            let is_kept = EXTENSION_PREFIXES.iter().any(|beginning| key.starts_with(beginning));
            if is_kept { &mut event.more } else { &mut args }.insert(key, value);
        }
        event.args = Some(Arguments::Value(Json::Object(args)));
        event.source = self.record.source();
        event.source.line = self.event_line;
        out.events.push(event);
    }

    /// Sets the session of a trace's events: its name, or its number where it has none.
    fn end_trace(&mut self, out: &mut DecodedEvents) {
        let Some((first, name)) = self.trace.take() else { return };
        let name = name.unwrap_or_else(|| Text::from(format!("trace-{}", self.traces)));
        for event in &mut out.events[first..] {
            event.session = Some(name.clone());
        }
    }

    /// Returns the line of a position. Positions come in order, so lines are counted once.
    fn advance_line(&mut self, place: usize) -> u32 {
        let place = place.min(self.text.len());
        let passed = self.text.as_bytes().get(self.read_to..place).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u32;
        self.read_to = self.read_to.max(place);
        self.line
    }

    fn fault(&mut self, place: usize, message: String) -> Fault {
        let line = self.advance_line(place);
        Fault { file: Arc::clone(&self.record.file), line, column: None, code: BROKEN_XML, message }
    }
}

impl OpenElement {
    fn read(start: &BytesStart<'_>) -> Result<OpenElement, String> {
        let mut element = OpenElement {
            name: Text::from(start.local_name().as_ref()),
            key: None,
            value: None,
            inside: Object::new(),
        };
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| format!("the XML is malformed: {error}"))?;
            let place = match attribute.key.as_ref() {
                "key" => &mut element.key,
                "value" => &mut element.value,
                _ => continue,
            };
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| format!("a value cannot be read: {error}"))?;
            *place = Some(Text::from(value));
        }
        Ok(element)
    }

    /// Returns the element as an attribute of the one around it. One without a key, such as a list, gets its number.
    fn into_member(self, number: usize) -> (Text, Json) {
        let value = self.value.unwrap_or_default();
        let value = match self.name.as_str() {
            "int" => value.trim().parse::<i64>().map_or(Json::String(value), Json::from),
            "float" => match lictor_json::parse_str(value.trim()) {
                Ok(number @ Json::Number(_)) => number,
                _ => Json::String(value),
            },
            "boolean" => match value.trim() {
                "true" | "1" => Json::Bool(true),
                "false" | "0" => Json::Bool(false),
                _ => Json::String(value),
            },
            "list" | "values" => {
                // The items of a list are in `values`.
                let items = self.inside.into_members().into_iter().map(|(_, value)| value);
                match items.collect::<Vec<_>>() {
                    mut items if self.name == "list" && items.len() == 1 && items[0].as_array().is_some() => {
                        items.remove(0)
                    }
                    items => Json::Array(items),
                }
            }
            "container" => Json::Object(self.inside),
            _ => Json::String(value),
        };
        (self.key.unwrap_or_else(|| Text::from(format!("#{number}"))), value)
    }
}
