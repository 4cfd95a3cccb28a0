//! Logs of every format: chunks of any size give the same events and faults, and faults have places in the log.

use lictor_decode::input::{Input, InputLimits, detect};
use lictor_decode::{DecodedEvents, Fault, Format};
use lictor_event::Event;

use crate::choices::Choices;

/// The longest record and file: long enough for every format, and short enough for a compressed bomb to be harmless.
const MAX_BYTES: usize = 1 << 16;

pub(crate) fn run(input: &[u8]) {
    let mut choices = Choices(input);
    let choice = usize::from(choices.byte());
    let chunk = usize::from(choices.byte()).max(1);
    let bytes = choices.0;
    let log = Input::from_bytes("log", bytes);
    let limits = InputLimits::default().record(MAX_BYTES).whole(MAX_BYTES).file(MAX_BYTES as u64);
    let detected = detect(&log, &limits);
    // The last choice is the format that the log looks like.
    let format = match Format::ALL.get(choice % (Format::ALL.len() + 1)) {
        Some(format) => *format,
        None => match detected {
            Ok((_, format)) => format,
            Err(error) => return assert!(!error.to_string().is_empty()),
        },
    };
    let whole = decode(&log, format, &limits);
    let small = decode(&log, format, &limits.chunk(chunk));
    assert_eq!(small, whole, "{format} in chunks of {chunk} bytes");
    if let Some((_, faults)) = whole.filter(|_| !is_compressed(bytes)) {
        faults.iter().for_each(|fault| check_place(fault, bytes));
    }
}

/// Decodes a log chunk by chunk, as audits do; none if it cannot be read at all.
fn decode(log: &Input, format: Format, limits: &InputLimits) -> Option<(Vec<Event>, Vec<Fault>)> {
    let mut decoder = format.decoder();
    let mut out = DecodedEvents::default();
    for chunk in log.chunks(limits).ok()? {
        chunk.decode(None, &mut *decoder, &mut out);
    }
    decoder.finish(&mut out);
    Some((out.events, out.faults))
}

fn is_compressed(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] | [b'P', b'K', 3, 4, ..]
    )
}

/// The place of a fault is in the log, or just after a line of it. Lines of server-sent events may end in a carriage
/// return, those of other logs do not.
fn check_place(fault: &Fault, bytes: &[u8]) {
    let is_found =
        is_within(fault, bytes, |byte| byte == b'\n') || is_within(fault, bytes, |byte| b"\r\n".contains(&byte));
    assert!(is_found, "not in the log: {fault:?}");
}

/// Whether the place of a fault is in a log whose lines end so.
fn is_within(fault: &Fault, bytes: &[u8], ends: impl Fn(u8) -> bool) -> bool {
    let lines: Vec<&[u8]> = bytes.split(|byte| ends(*byte)).collect();
    let line = fault.line as usize;
    let length = lines.get(line.saturating_sub(1)).map_or(0, |line| String::from_utf8_lossy(line).chars().count());
    let has_column = fault.column.is_none_or(|column| (1..=length + 1).contains(&(column as usize)));
    (1..=lines.len() + 1).contains(&line) && has_column
}
