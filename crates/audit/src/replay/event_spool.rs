//! Events that wait in a temporary file until their session is replayed.
//!
//! The sessions of a log may be interleaved over all of it, so that no part of the log holds a whole one. Their events
//! are written to one file, in buckets of sessions that are replayed together, and each bucket is read at once.

use std::io;
use std::sync::Arc;

use lictor_decode::packed::{
    put_json, put_list, put_number, put_option, put_text, take_byte, take_fixed, take_json, take_list, take_number,
    take_option, take_text,
};
use lictor_decode::spool_file::{SpoolFile, SpoolPlace};
use lictor_event::{Answer, Arguments, Event, Kind, Source};
use lictor_json::{Object, Text};
use lictor_logic::{Fact, Time};

/// How many bytes all buckets together buffer.
const MAX_BUFFERED_BYTES: usize = 16 << 20;

/// How many bytes a bucket buffers at most.
const MAX_BLOCK_BYTES: usize = 1 << 18;

/// The events of sessions, in buckets.
#[derive(Debug)]
pub(super) struct EventSpool {
    file: SpoolFile,
    buckets: Vec<Bucket>,
    block_bytes: usize,
    /// The files that events name, by their numbers.
    files: Vec<Arc<str>>,
}

#[derive(Debug, Default)]
struct Bucket {
    buffer: Vec<u8>,
    /// Where its blocks are in the file.
    blocks: Vec<SpoolPlace>,
    /// Events that bytes do not tell exactly.
    kept: Vec<Event>,
}

impl EventSpool {
    /// Returns an empty spool of so many buckets.
    pub(super) fn new(buckets: usize) -> EventSpool {
        let block_bytes = (MAX_BUFFERED_BYTES / buckets.max(1)).min(MAX_BLOCK_BYTES);
        let buckets = (0..buckets).map(|_| Bucket::default()).collect();
        EventSpool { file: SpoolFile::default(), buckets, block_bytes, files: Vec::new() }
    }

    /// Adds the next event of a session to a bucket.
    pub(super) fn push(&mut self, bucket: usize, session: u32, event: Event) -> io::Result<()> {
        let file = self.file_number(&event.source.file);
        let Bucket { buffer, kept, .. } = &mut self.buckets[bucket];
        let start = buffer.len();
        put_number(buffer, u64::from(session));
        buffer.push(1);
        put_event(buffer, &event, file);
        // Values that are written as text are few, and read back to be sure.
        let is_sure = event.facts.is_empty() && event.answers.is_empty();
        let mut written = &buffer[start..];
        if !is_sure && take_entry(&mut written, &self.files, &mut []).is_none_or(|(_, read)| read != event) {
            buffer.truncate(start);
            put_number(buffer, u64::from(session));
            buffer.push(0);
            put_number(buffer, kept.len() as u64);
            kept.push(event);
        }
        if self.buckets[bucket].buffer.len() >= self.block_bytes { self.flush(bucket) } else { Ok(()) }
    }

    /// Takes the events of a bucket, each with the number of its session, in the order in which they were added.
    pub(super) fn take(&mut self, bucket: usize) -> io::Result<Vec<(u32, Event)>> {
        let Bucket { buffer, blocks, mut kept } = std::mem::take(&mut self.buckets[bucket]);
        let mut bytes = Vec::with_capacity(blocks.iter().map(SpoolPlace::length).sum::<usize>() + buffer.len());
        for block in blocks {
            self.file.read(block, &mut bytes)?;
        }
        bytes.extend_from_slice(&buffer);
        let (mut rest, mut events) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the temporary file is damaged");
            events.push(take_entry(&mut rest, &self.files, &mut kept).ok_or_else(damaged)?);
        }
        Ok(events)
    }

    fn flush(&mut self, bucket: usize) -> io::Result<()> {
        let Bucket { buffer, blocks, .. } = &mut self.buckets[bucket];
        blocks.push(self.file.write(buffer)?);
        buffer.clear();
        Ok(())
    }

    fn file_number(&mut self, file: &Arc<str>) -> u64 {
        // Events of one file come together.
        let known = self.files.iter().rposition(|known| Arc::ptr_eq(known, file) || known == file);
        let place = known.unwrap_or_else(|| {
            self.files.push(Arc::clone(file));
            self.files.len() - 1
        });
        place as u64
    }
}

/// Takes a session and its event off the front; none if the bytes are damaged.
fn take_entry(bytes: &mut &[u8], files: &[Arc<str>], kept: &mut [Event]) -> Option<(u32, Event)> {
    let session = u32::try_from(take_number(bytes)?).ok()?;
    let event = match take_byte(bytes)? {
        0 => {
            let place = usize::try_from(take_number(bytes)?).ok()?;
            std::mem::take(kept.get_mut(place)?)
        }
        _ => take_event(bytes, files)?,
    };
    Some((session, event))
}

fn put_event(out: &mut Vec<u8>, event: &Event, file: u64) {
    let Event { kind, session, seq, time, agent, principal, id, tool, args, result, text, failed, to, .. } = event;
    put_text(out, kind.name());
    // A kind of the log's own may have the name of another one.
    out.push(u8::from(matches!(kind, Kind::Other(_))));
    for text in [session, agent, principal, id, tool, text, to] {
        put_option(out, text.as_ref(), |out, text| put_text(out, text));
    }
    for number in [*seq, time.map(|time| time.0)] {
        put_option(out, number, |out, number| out.extend_from_slice(&number.to_le_bytes()));
    }
    out.push(u8::from(*failed));
    put_option(out, args.as_ref(), |out, args| match args {
        Arguments::Value(value) => {
            out.push(0);
            put_json(out, value);
        }
        Arguments::Unparsed(text) => {
            out.push(1);
            put_text(out, text);
        }
    });
    put_option(out, result.as_ref(), put_json);
    for list in [&event.purposes, &event.categories, &event.subjects] {
        put_option(out, list.as_ref(), |out, list| put_list(out, list, |out, text| put_text(out, text)));
    }
    put_list(out, &event.labels, |out, label| put_text(out, label));
    put_list(out, &event.answers, |out, answer| put_json(out, &answer.to_json()));
    put_list(out, &event.facts, |out, fact| put_text(out, &fact.to_string()));
    put_option(out, (!event.more.is_empty()).then_some(&event.more), |out, more| {
        put_number(out, more.iter().count() as u64);
        for (key, value) in more.iter() {
            put_text(out, key);
            put_json(out, value);
        }
    });
    put_number(out, file);
    put_number(out, u64::from(event.source.line));
    put_number(out, u64::from(event.source.record));
}

fn take_event(bytes: &mut &[u8], files: &[Arc<str>]) -> Option<Event> {
    let name = take_text(bytes)?;
    let kind = if take_byte(bytes)? == 1 { Kind::Other(name) } else { Kind::named(&name) };
    let mut texts: [Option<Text>; 7] = Default::default();
    for text in &mut texts {
        *text = take_option(bytes, take_text)?;
    }
    let [session, agent, principal, id, tool, text, to] = texts;
    let number = |bytes: &mut &[u8]| take_option(bytes, take_fixed::<8>);
    let (seq, time) = (number(bytes)?.map(i64::from_le_bytes), number(bytes)?.map(i64::from_le_bytes).map(Time));
    let failed = take_byte(bytes)? == 1;
    let args = take_option(bytes, |bytes| match take_byte(bytes)? {
        0 => take_json(bytes).map(Arguments::Value),
        _ => take_text(bytes).map(Arguments::Unparsed),
    })?;
    let result = take_option(bytes, take_json)?;
    let mut lists: [Option<Vec<Text>>; 3] = Default::default();
    for list in &mut lists {
        *list = take_option(bytes, |bytes| take_list(bytes, take_text))?;
    }
    let [purposes, categories, subjects] = lists;
    let labels = take_list(bytes, take_text)?;
    let answers = take_list(bytes, |bytes| Answer::from_json(&take_json(bytes)?).ok())?;
    let facts = take_list(bytes, |bytes| Fact::parse(&take_text(bytes)?).ok())?;
    let members = take_option(bytes, |bytes| take_list(bytes, |bytes| Some((take_text(bytes)?, take_json(bytes)?))))?;
    let more = members.map(Object::from_members).unwrap_or_default();
    let file = Arc::clone(files.get(usize::try_from(take_number(bytes)?).ok()?)?);
    let line = u32::try_from(take_number(bytes)?).ok()?;
    let source = Source { file, line, record: u32::try_from(take_number(bytes)?).ok()? };
    let event = Event {
        kind,
        session,
        seq,
        time,
        agent,
        principal,
        id,
        tool,
        args,
        result,
        text,
        failed,
        to,
        ..Event::default()
    };
    Some(Event { purposes, categories, subjects, labels, answers, facts, more, source, ..event })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::AuditOptions;
    use lictor_decode::input::Input;
    use lictor_decode::{DecodedEvents, Format};

    /// Events with every field.
    fn events() -> Vec<Event> {
        let lines = [
            r#"{"kind":"tool_call","session":"s","seq":4,"time":"2026-05-01T10:00:03.000000001Z","id":"a","tool":"pay","args":{"to":[1,-2.5,null,true,{"x":"ü"}],"big":12345678901234567890123,"long":0.10000000000000001}}"#,
            r#"{"kind":"tool_call","tool":"pay","args":"{broken","agent":"a","principal":"p","to":"b","failed":true}"#,
            r#"{"kind":"own kind","result":{"a":{}},"text":"","purposes":[],"categories":["x"],"subjects":["bob"],"labels":["!l"],"odd":[[]]}"#,
            r#"{"facts":["paid(\"alice\",3)","rate(0.25)"],"answers":[{"fact":"f(1)","says":"no","score":0.91,"chance":0.1}]}"#,
        ];
        let mut decoded = DecodedEvents::default();
        let input = Input::from_bytes("log", lines.join("\n").into_bytes());
        for chunk in input.chunks(&AuditOptions::default().limits).unwrap() {
            chunk.decode(None, Format::Native.decoder().as_mut(), &mut decoded);
        }
        assert_eq!((decoded.events.len(), decoded.faults), (4, Vec::new()));
        decoded.events
    }

    #[test]
    fn event_spool_returns_events_unchanged() {
        // Each event is a block of its own, or none is written.
        for block_bytes in [1, MAX_BLOCK_BYTES] {
            let mut spool = EventSpool { block_bytes, ..EventSpool::new(2) };
            for (session, event) in (0u32..).zip(events()) {
                spool.push(1, session, event).unwrap();
            }
            assert_eq!(spool.file.is_empty(), block_bytes > 1);
            let kept = spool.take(1).unwrap();
            assert_eq!(kept, (0u32..).zip(events()).collect::<Vec<_>>());
            assert!(spool.take(0).unwrap().is_empty());
        }
    }

    #[test]
    fn event_spool_reports_damaged_bytes() {
        let mut spool = EventSpool::new(1);
        spool.push(0, 7, events().remove(0)).unwrap();
        spool.buckets[0].buffer.pop();
        assert_eq!(spool.take(0).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
