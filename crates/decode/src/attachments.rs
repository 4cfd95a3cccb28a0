//! Content parts of unknown type: reported as faults, since they may hold calls or text that no property sees.

use super::{DecodedEvents, Decoder, Fault};
use lictor_event::record::LogRecord;
use lictor_event::{Event, Source};
use lictor_json::Json;

/// The types of parts that are known to hold neither calls nor text: media, files and references to them.
const MEDIA: [&str; 34] = [
    "audio",
    "audio_url",
    "binary",
    "blob",
    "cachePoint",
    "container_upload",
    "data",
    "document",
    "file",
    "file-url",
    "file_data",
    "fileData",
    "file_url",
    "image",
    "image-url",
    "image_file",
    "image_url",
    "inlineData",
    "inline_data",
    "input_audio",
    "input_file",
    "input_image",
    "input_video",
    "media",
    "output_audio",
    "output_image",
    "raw",
    "resource",
    "resource_link",
    "tool_reference",
    "url",
    "video",
    "video-url",
    "video_url",
];

/// Decodes a format, and reports the content parts that its events could not take in.
pub(super) struct AttachmentChecker {
    inner: Box<dyn Decoder>,
}

impl AttachmentChecker {
    /// Returns the decoder itself if it checks its parts.
    pub(super) fn wrap(inner: Box<dyn Decoder>) -> Box<dyn Decoder> {
        if inner.checks_parts() { inner } else { Box::new(AttachmentChecker { inner }) }
    }
}

impl Decoder for AttachmentChecker {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let before = out.events.len();
        self.inner.record(record, out);
        report_unknown(before, out);
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        self.inner.text(text, source, out)
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let before = out.events.len();
        self.inner.finish(out);
        report_unknown(before, out);
    }
}

/// Reports the unknown parts of the events from an index on.
fn report_unknown(from: usize, out: &mut DecodedEvents) {
    let DecodedEvents { events, faults } = out;
    for event in &events[from..] {
        faults.extend(unknown_types(event).map(|name| unknown_part(event, name)));
    }
}

/// Returns the types of the content parts that an event could not take in.
pub(super) fn unknown_types(event: &Event) -> impl Iterator<Item = &str> {
    let attachments = event.more.get("attachments").and_then(Json::as_array).unwrap_or_default();
    attachments.iter().filter_map(Json::as_str).filter(|name| !MEDIA.contains(name))
}

fn unknown_part(event: &Event, name: &str) -> Fault {
    let what = match name {
        "unknown" => "a content part without a type".to_owned(),
        name => format!("a content part of unknown type `{name}`"),
    };
    Fault {
        file: event.source.file.clone(),
        line: event.source.line,
        column: None,
        code: "decode.unknown_part",
        message: format!("{what} in an event of kind {}: what it holds is not judged", event.kind.name()),
    }
}
