//! Frames are the same wherever the bytes are cut, and nothing written can pass for another event.

use super::*;

/// The frames of a text that arrives in two pieces.
fn frames_cut_at(text: &[u8], cut: usize) -> Vec<SseFrame> {
    let mut framer = SseFramer::default();
    let mut frames = framer.push(&text[..cut]);
    frames.extend(framer.push(&text[cut..]));
    frames.extend(framer.finish());
    frames
}

fn frames_of(text: &str) -> Vec<SseFrame> {
    frames_cut_at(text.as_bytes(), 0)
}

fn show(frame: &SseFrame) -> (Option<&str>, Option<&str>, Option<String>, u32) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    let data = frame.data().map(|data| String::from_utf8(data.into_owned()).unwrap());
    (frame.name().map(text), frame.id().map(text), data, frame.data_line())
}

#[test]
fn sse_frames_are_equal_wherever_bytes_are_cut() {
    let text = ":hello\nevent: a\nid: 7\ndata: 1\ndata:2\n\ndata\n\nretry: 3\n\n:end\ndata: x";
    for line_end in ["\n", "\r", "\r\n"] {
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}{}", text.replace('\n', line_end));
            let whole = frames_of(&text);
            assert_eq!(show(&whole[0]), (Some("a"), Some("7"), Some("1\n2".to_owned()), 4), "{text:?}");
            assert_eq!(show(&whole[1]), (None, None, Some(String::new()), 7), "{text:?}");
            assert_eq!(show(&whole[2]), (None, None, None, 9), "{text:?}");
            assert_eq!(show(&whole[3]), (None, None, Some("x".to_owned()), 12), "{text:?}");
            assert_eq!(whole.iter().flat_map(SseFrame::raw).copied().collect::<Vec<u8>>(), text.as_bytes());
            for cut in 0..text.len() {
                assert_eq!(frames_cut_at(text.as_bytes(), cut), whole, "{text:?} cut at {cut}");
            }
        }
    }
}

#[test]
fn sse_mixed_line_ends_cut_frames() {
    assert_eq!(frames_of("data: a\r\n\ndata: b\n\r\ndata: c").len(), 3);
    assert_eq!(frames_of("data: a\r\r\n\n").len(), 2);
    assert_eq!(frames_of("data: a\n\n\n\ndata: b\n\n").iter().filter_map(SseFrame::data).count(), 2);
}

#[test]
fn sse_field_loses_one_space_after_colon() {
    let frame = &frames_of("data:  two\nid: a\0b\nevent:\n\n")[0];
    assert_eq!(show(frame), (None, None, Some(" two".to_owned()), 1));
    let fields: Vec<_> = frames_of(":note\n:\nfield:v\nbare\n\n")[0].fields().map(|f| f.name.to_vec()).collect();
    assert_eq!(fields, [&b""[..], b"", b"field", b"bare"]);
}

#[test]
fn sse_byte_order_mark_counts_only_first() {
    let frames = frames_of("\u{feff}data: a\n\n\u{feff}data: b\n\n");
    assert_eq!(frames[0].data().as_deref(), Some(&b"a"[..]));
    assert_eq!(frames[1].data(), None);
}

#[test]
fn sse_oversized_frame_keeps_first_bytes() {
    let mut framer = SseFramer::with_max_frame_bytes(8);
    let frames = framer.push(b"data: 12\ndata: 3\n\ndata: 4\n\n");
    assert!(frames[0].is_oversized());
    assert_eq!(frames[0].raw(), b"data: 12");
    assert!(framer.pending_bytes() <= 8);
    assert!(frames[1].is_oversized());
    let mut framer = SseFramer::with_max_frame_bytes(9);
    assert!(!framer.push(b"data: 4\n\n")[0].is_oversized());
    assert!(SseFramer::with_max_frame_bytes(0).push(b"\r\r\n\r\n").iter().all(SseFrame::is_oversized));
}

#[test]
fn sse_pending_bytes_count_unfinished_frame() {
    let mut framer = SseFramer::default();
    framer.push(b"data: 1\n\ndata: ");
    assert_eq!((framer.pending_bytes(), framer.line()), (6, 3));
    assert!(framer.finish().is_some_and(|frame| frame.data().is_some_and(|data| data.is_empty())));
    assert_eq!(framer.finish(), None);
}

#[test]
fn sse_with_data_replaces_all_data_lines() {
    let frame = &frames_of("\u{feff}: c\r\nevent: a\r\ndata: 1\r\ndata: 2\r\nid: 7\r\n\r\n")[0];
    let written = frame.with_data("{\n}");
    let expected = "\u{feff}: c\r\nevent: a\r\ndata: { }\r\nid: 7\r\n\r";
    assert_eq!(String::from_utf8_lossy(written.raw()), expected);
    assert_eq!(written, frames_of(expected)[0]);
    assert_eq!(frame.line_end(), "\r\n");
}

#[test]
fn sse_next_with_data_follows_frame() {
    for mark in ["", "\u{feff}"] {
        for line_end in ["\n", "\r", "\r\n"] {
            let text = format!("{mark}event: a\ndata: 12\n\n").replace('\n', line_end);
            let frame = &frames_of(&text)[0];
            let [first, second] = [frame.with_data("1"), frame.next_with_data("2")];
            let joined = String::from_utf8([first.raw(), second.raw()].concat()).unwrap();
            let expected = format!("{mark}event: a\ndata: 1\n\nevent: a\ndata: 2\n\n").replace('\n', line_end);
            // The last LF belongs to the frame after it.
            assert_eq!(joined, expected.strip_suffix("\r\n").map_or(expected.clone(), |text| format!("{text}\r")));
        }
    }
}

#[test]
fn sse_written_event_cannot_be_forged() {
    let written = write_sse_event(Some("message"), Some(b"1\ndata: forged"), b"a\r\ndata: x\n\nid: 1", "\n");
    let mut framer = SseFramer::default();
    let frames = framer.push(&written);
    assert_eq!(frames.len(), 1);
    assert_eq!(show(&frames[0]), (Some("message"), None, Some("a\n\ndata: x\n\nid: 1".to_owned()), 2));
    assert_eq!(write_sse_event(None, Some(b"7"), b"3", "\r\n"), b"id: 7\r\ndata: 3\r\n\r\n");
}

/// The lines that Python's `str.splitlines` cuts a text into.
fn lines_of_python(text: &str) -> Vec<&str> {
    let is_end = |c: char| matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.split(is_end).filter(|line| !line.is_empty()).collect()
}

#[test]
fn sse_settled_frame_has_same_lines_everywhere() {
    for end in ["\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let text = format!(": a{end}data: 1\nid: b{end}data: 2\nretry: 5{end}data: 3\ndata: \"é â{end}data: 4\"\n\n");
        let settled = frames_of(&text)[0].settled().unwrap();
        let written = std::str::from_utf8(settled.raw()).unwrap();
        assert_eq!(written.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(), lines_of_python(written));
        assert!(written.starts_with(":\ndata: \"é â") && written.ends_with("data: 4\"\n\n"), "{written:?}");
        assert_eq!(settled.settled(), None, "{written:?}");
        assert_eq!(settled, frames_of(written)[0]);
        let data = frames_of("data: 1\n\n")[0].with_data(&format!("\"a{end}data: 5\""));
        assert_eq!(lines_of_python(std::str::from_utf8(data.raw()).unwrap()).len(), 1);
        let written = write_sse_event(None, None, format!("\"a{end}data: 5\"").as_bytes(), "\n");
        assert_eq!(lines_of_python(std::str::from_utf8(&written).unwrap()).len(), 1);
    }
}

#[test]
fn sse_settled_joins_data_and_empties_comments() {
    for (text, expected) in [
        (": a\r\n: b\r\n\r\n", Some(":\r\n:\r\n\r")),
        ("data: [1,\ndata: 2]\nid: 7\n\n", Some("data: [1, 2]\nid: 7\n\n")),
        ("data: 1\nid: {}\nid: 8 9\nretry: x\n\n", Some("data: 1\n\n")),
        (": x", Some(":\n")),
        (":\nevent: e\nid: 7f-a=\nretry: 10\ndata:\"é â …\u{7f}\"\n\n", None),
    ] {
        let settled = frames_of(text)[0].settled().map(|frame| String::from_utf8(frame.into_raw()).unwrap());
        assert_eq!(settled.as_deref(), expected, "{text:?}");
    }
}
