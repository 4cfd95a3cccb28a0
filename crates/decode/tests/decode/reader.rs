//! Files to records to events, and events to lines that can be read and compared.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use lictor_decode::input::{Input, InputLimits};
use lictor_decode::{DecodedEvents, Decoder, Format, LogRecord};
use lictor_event::{Arguments, Event, write_time};
use lictor_json::Json;

/// The records of a file with their lines.
pub(crate) fn records(path: &Path) -> Vec<(u32, Json)> {
    let name = path.display().to_string();
    let input = Input::from_bytes(name.as_str(), std::fs::read(path).unwrap());
    let mut records = Vec::new();
    for chunk in input.chunks(&InputLimits::default()).unwrap() {
        for record in chunk.records() {
            let record = record.unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
            records.push((record.line, record.value));
        }
    }
    records
}

/// Decodes lines of JSON as one file.
pub(crate) fn decode_lines(mut decoder: Box<dyn Decoder>, lines: &[&str]) -> DecodedEvents {
    let mut out = DecodedEvents::default();
    for (index, line) in lines.iter().enumerate() {
        let value = lictor_json::parse_str(line).unwrap();
        let index = index as u32;
        decoder.record(LogRecord { value, file: "chat.jsonl".into(), line: index + 1, index }, &mut out);
    }
    decoder.finish(&mut out);
    out
}

/// The events of records, in one file of that name.
pub(crate) fn decode(format: Format, name: &str, records: &[(u32, Json)]) -> DecodedEvents {
    let mut decoder = format.decoder();
    let mut out = DecodedEvents::default();
    let file: Arc<str> = name.into();
    for (index, (line, value)) in records.iter().enumerate() {
        let record = LogRecord { value: value.clone(), file: Arc::clone(&file), line: *line, index: index as u32 };
        decoder.record(record, &mut out);
    }
    decoder.finish(&mut out);
    out
}

/// One line for each event and each fault.
pub(crate) fn lines(decoded: &DecodedEvents) -> String {
    let mut text = String::new();
    for event in &decoded.events {
        text.push_str(&line(event));
        text.push('\n');
    }
    for fault in &decoded.faults {
        writeln!(text, "fault {} line {}: {}", fault.code, fault.line, fault.message).unwrap();
    }
    text
}

/// An event in a line: its kind, and its other fields.
pub(crate) fn line(event: &Event) -> String {
    let mut line = event.kind.to_string();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, " {name}={value}").unwrap();
        }
    };
    field("session", event.session.as_ref().map(ToString::to_string));
    field("seq", event.seq.map(|seq| seq.to_string()));
    field("agent", event.agent.as_ref().map(ToString::to_string));
    field("id", event.id.as_ref().map(ToString::to_string));
    field("tool", event.tool.as_ref().map(ToString::to_string));
    field("to", event.to.as_ref().map(ToString::to_string));
    field(
        "args",
        event.args.as_ref().map(|args| match args {
            Arguments::Value(value) => short(&value.to_string()),
            Arguments::Unparsed(text) => format!("unparsed({})", short(text)),
        }),
    );
    field("result", event.result.as_ref().map(|value| short(&value.to_string())));
    field("text", event.text.as_ref().map(|text| format!("{:?}", short(text))));
    field("failed", event.failed.then(|| "yes".to_owned()));
    field("labels", (!event.labels.is_empty()).then(|| event.labels.join(",")));
    field("more", (!event.more.is_empty()).then(|| short(&Json::from(event.more.clone()).to_string())));
    field("time", event.time.map(write_time));
    field("line", Some(event.source.line.to_string()));
    line
}

fn short(text: &str) -> String {
    match text.char_indices().nth(70) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
