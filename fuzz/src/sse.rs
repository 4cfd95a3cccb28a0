//! Server-sent events: the frames joined are the stream, however it is cut, and a limit only shortens them.

use lictor_json::{SseFrame, SseFramer};

use crate::choices::{Choices, pieces};

pub(crate) fn run(input: &[u8]) {
    let mut choices = Choices(input);
    let limit = usize::from(choices.byte()).max(1);
    let cuts = choices.cuts();
    let bytes = choices.0;
    let whole = frames(SseFramer::default(), &[bytes]);
    assert_eq!(
        whole.iter().flat_map(|frame| frame.raw().to_vec()).collect::<Vec<u8>>(),
        bytes,
        "frames are the stream"
    );
    assert_eq!(frames(SseFramer::default(), &pieces(bytes, &cuts)), whole, "cut at {cuts:?}");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(frames(SseFramer::default(), &single), whole, "byte by byte");
    check_limit(&whole, &frames(SseFramer::with_max_frame_bytes(limit), &pieces(bytes, &cuts)), limit);
    let mut line = 0;
    for (index, frame) in whole.iter().enumerate() {
        for field in frame.fields() {
            assert!(field.line > line, "line {} after line {line}", field.line);
            line = field.line;
        }
        // At the beginning of a stream the LF of a CR before it would be a line, and a byte order mark would be none.
        if index == 0 || !frame.raw().starts_with(b"\n") && !frame.raw().starts_with(b"\xef\xbb\xbf") {
            check_other_data(frame);
        }
    }
}

/// Returns the frames of a stream that comes in pieces.
fn frames(mut framer: SseFramer, pieces: &[&[u8]]) -> Vec<SseFrame> {
    let mut frames: Vec<SseFrame> = pieces.iter().flat_map(|piece| framer.push(piece)).collect();
    frames.extend(framer.finish());
    assert_eq!(framer.pending_bytes(), 0);
    frames
}

/// A limit shortens frames, says so, and changes nothing else.
fn check_limit(whole: &[SseFrame], limited: &[SseFrame], limit: usize) {
    assert_eq!(whole.len(), limited.len(), "a limit changes the number of frames");
    for (whole, limited) in whole.iter().zip(limited) {
        assert_eq!(limited.raw(), &whole.raw()[..limit.min(whole.raw().len())]);
        assert_eq!(limited.is_oversized(), whole.raw().len() > limit);
    }
}

/// A frame with other data is one frame with that data, and the same in all else.
fn check_other_data(frame: &SseFrame) {
    let written = frame.with_data("other\ndata").into_raw();
    let read = frames(SseFramer::default(), &[&written]);
    let [read] = read.as_slice() else {
        assert!(written.is_empty(), "{} frames where one was written", read.len());
        return;
    };
    assert_eq!(read.data().as_deref(), frame.data().map(|_| &b"other data"[..]), "the data that was written");
    assert_eq!((read.name(), read.id()), (frame.name(), frame.id()), "the fields beside it");
}
