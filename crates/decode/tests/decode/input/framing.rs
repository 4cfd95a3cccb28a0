//! Layouts are detected and cut into records.

use lictor_decode::Framing;
use lictor_decode::input::{Input, InputLimits};
use proptest::prelude::*;

use super::{expect_records, fault, limits_of_chunk, read, value};

#[test]
fn json_lines_are_records() {
    let lines = [value(1, r#"{"a":1}"#), value(2, r#"{"b":2}"#)];
    expect_records("usual", b"{\"a\":1}\n{\"b\":2}\n", Framing::Json, &lines);
    expect_records("no last line end", b"{\"a\":1}\n{\"b\":2}", Framing::Json, &lines);
    expect_records("CRLF", b"{\"a\":1}\r\n{\"b\":2}\r\n", Framing::Json, &lines);
    expect_records("byte order mark", b"\xef\xbb\xbf{\"a\":1}\n{\"b\":2}\n", Framing::Json, &lines);
    let spread = [value(3, r#"{"a":1}"#), value(6, r#"{"b":2}"#)];
    expect_records("empty lines", b"\n \t\n {\"a\":1}\n\r\n\n{\"b\":2} \n\n", Framing::Json, &spread);
    expect_records("one line", br#"{"a":[{"b":1},"]"]}"#, Framing::Json, &[value(1, r#"{"a":[{"b":1},"]"]}"#)]);
    expect_records("a string a line", b"\"a\"\n\"b\"\n", Framing::Json, &[value(1, "\"a\""), value(2, "\"b\"")]);
    expect_records("nothing", b"", Framing::Lines, &[]);
    expect_records("blank", b"\n\n  \n", Framing::Lines, &[]);
}

#[test]
fn json_bad_line_costs_one_record() {
    let cases: &[(&str, &[u8], &'static str)] = &[
        ("no JSON", b"oops", "json.syntax"),
        ("single quotes", b"{'a':1}", "json.syntax"),
        ("two values", b"{\"a\":1} {\"b\":2}", "json.trailing"),
        ("a key twice", b"{\"a\":1,\"a\":2}", "json.duplicate_key"),
        ("torn in a string", b"{\"a\":\"b", "json.torn"),
        ("torn between members", b"{\"a\":1,", "json.torn"),
        ("byte order mark", b"\xef\xbb\xbf{}", "json.syntax"),
        ("not UTF-8", b"{\"a\":\"\xff\"}", "json.utf8"),
        ("lone surrogate", b"{\"a\":\"\\ud800\"}", "json.lone_surrogate"),
    ];
    for (name, line, code) in cases {
        let bytes = [b"{\"ok\":1}\n", *line, b"\n{\"ok\":2}\n"].concat();
        expect_records(name, &bytes, Framing::Json, &[value(1, "{\"ok\":1}"), fault(2, code), value(3, "{\"ok\":2}")]);
    }
    let half = b"end of a record\"}}\n{\"ok\":1}\n{\"ok\":2}\n";
    let rest = [value(2, "{\"ok\":1}"), value(3, "{\"ok\":2}")];
    expect_records("cut at the beginning", half, Framing::Json, &[&[fault(1, "json.syntax")], &rest[..]].concat());
    let torn = b"{\"a\":\"b\n{\"ok\":1}\n{\"ok\":2}\n";
    expect_records("first line torn", torn, Framing::Json, &[&[fault(1, "json.torn")], &rest[..]].concat());
}

#[test]
fn torn_tail_has_own_code() {
    for tail in ["{", "{\"b\":", "{\"b\":\"x", "{\"b\":\"x\\", "{\"b\":tr", "{\"b\":[1,2"] {
        let lines = format!("{{\"a\":1}}\n{tail}");
        expect_records(tail, lines.as_bytes(), Framing::Json, &[value(1, "{\"a\":1}"), fault(2, "torn_tail")]);
    }
    expect_records(
        "in a character",
        b"{\"a\":1}\n{\"b\":\"\xe2\x82",
        Framing::Json,
        &[value(1, "{\"a\":1}"), fault(2, "torn_tail")],
    );
    expect_records("document", b"{\n \"a\": [\n  1", Framing::Json, &[fault(1, "torn_tail")]);
    expect_records(
        "list",
        b"[{\"a\":1},\n{\"b\":2},",
        Framing::Json,
        &[value(1, "{\"a\":1}"), value(2, "{\"b\":2}"), fault(2, "torn_tail")],
    );
    let element = [value(1, "{\"a\":1}"), fault(2, "torn_tail"), fault(2, "torn_tail")];
    expect_records("element of a list", b"[{\"a\":1},\n{\"b\":", Framing::Json, &element);
    // Wrong is not torn, not even at the end.
    expect_records("wrong", b"{\"a\":1}\n{\"b\":x", Framing::Json, &[value(1, "{\"a\":1}"), fault(2, "json.syntax")]);
}

#[test]
fn json_list_elements_are_records() {
    let records = [value(1, "{\"a\":\"[],\\\"\"}"), value(1, "[\"b\"]"), value(1, "3")];
    expect_records("on one line", br#"[{"a":"[],\""},["b"],3]"#, Framing::Json, &records);
    let spread = b"[\n  {\n    \"a\": 1\n  },\n  {\"b\": [\n 2 ]},\n\n  3\n]\n";
    expect_records(
        "over lines",
        spread,
        Framing::Json,
        &[value(2, "{\"a\":1}"), value(5, "{\"b\":[2]}"), value(8, "3")],
    );
    expect_records("empty", b"[]", Framing::Json, &[]);
    expect_records("empty, over lines", b"[\n]\n", Framing::Json, &[]);
    let faulty = [value(1, "{\"a\":1}"), fault(1, "json.trailing"), value(1, "{\"c\":3}")];
    expect_records("comma missing", br#"[{"a":1},{"b":2} {"b":3},{"c":3}]"#, Framing::Json, &faulty);
    expect_records(
        "comma too many",
        b"[{\"a\":1},\n]",
        Framing::Json,
        &[value(1, "{\"a\":1}"), fault(2, "json.syntax")],
    );
    expect_records(
        "comma doubled",
        b"[{\"a\":1},,2\n]",
        Framing::Json,
        &[value(1, "{\"a\":1}"), fault(1, "json.syntax"), value(1, "2")],
    );
    expect_records(
        "more behind",
        b"[{\"a\":1}\n] x\n{\"b\":2}\n",
        Framing::Json,
        &[value(1, "{\"a\":1}"), fault(2, "json.syntax"), value(3, "{\"b\":2}")],
    );
}

#[test]
fn json_list_lines_stay_whole() {
    expect_records(
        "facts",
        b"[\"tool_call\"]\n[]\n[\"a\",\"b\"]\n",
        Framing::Json,
        &[value(1, "[\"tool_call\"]"), value(2, "[]"), value(3, "[\"a\",\"b\"]")],
    );
    expect_records(
        "one step",
        br#"["tool_call","verified"]"#,
        Framing::Json,
        &[value(1, r#"["tool_call","verified"]"#)],
    );
    expect_records("one step, over lines", b"[\n\"a\",\n\"b\"\n]", Framing::Json, &[value(1, "[\"a\",\"b\"]")]);
    expect_records("name and body", br#"["client.x",{"a":1}]"#, Framing::Json, &[value(1, r#"["client.x",{"a":1}]"#)]);
    expect_records(
        "batches",
        b"[{\"a\":1},{\"b\":2}]\n[{\"c\":3}]\n",
        Framing::Json,
        &[value(1, r#"[{"a":1},{"b":2}]"#), value(2, r#"[{"c":3}]"#)],
    );
    expect_records(
        "batch, then object",
        b"[{\"a\":1}]\n{\"c\":3}\n",
        Framing::Json,
        &[value(1, r#"[{"a":1}]"#), value(2, r#"{"c":3}"#)],
    );
}

#[test]
fn json_documents_over_lines_are_records() {
    let two = b"{\n  \"a\": \"}\"\n}\n{\n  \"b\": [\n    2\n  ]\n}\n";
    expect_records("two documents", two, Framing::Json, &[value(1, "{\"a\":\"}\"}"), value(4, "{\"b\":[2]}")]);
    expect_records(
        "then a list",
        b"{\n\"a\":1}\n[{\"b\":2},\n{\"c\":3}]",
        Framing::Json,
        &[value(1, "{\"a\":1}"), value(3, "{\"b\":2}"), value(4, "{\"c\":3}")],
    );
    let damaged = b"{\n \"a\": 1,\n{\n \"b\": 2\n}\n{\n \"c\": \"torn\n}\n{\n \"d\": 4\n}\n";
    let rest =
        [fault(3, "json.torn"), value(3, "{\"b\":2}"), fault(7, "json.control_character"), value(9, "{\"d\":4}")];
    expect_records("two of them damaged", damaged, Framing::Json, &rest);
    expect_records(
        "two on a line",
        b"{\n\"a\":1} {\"b\":2}\n{\"c\":3}\n",
        Framing::Json,
        &[fault(2, "json.trailing"), value(3, "{\"c\":3}")],
    );
}

#[test]
fn sse_payloads_are_records_with_any_line_end() {
    let records = [value(2, "{\"a\":1}"), value(6, "{\"b\":[2,3]}"), value(11, "{\"c\":4}")];
    let text = "event: x\ndata: {\"a\":1}\nid: 7\n\n: ping\ndata:{\"b\":\ndata: [2,\ndata:3]}\nretry: 5\n\ndata: {\"c\":4}\n\ndata: [DONE]\n\nevent: y\ndata\n\n";
    for end in ["\n", "\r", "\r\n"] {
        expect_records(&format!("{end:?}"), text.replace('\n', end).as_bytes(), Framing::Events, &records);
    }
    let mixed = text.replacen('\n', "\r\n", 3).replacen('\n', "\r", 5);
    let (_, mixed) = read(mixed.as_bytes(), &InputLimits::default());
    assert_eq!(mixed.len(), 3);
    expect_records("byte order mark", b"\xef\xbb\xbfdata: 1\n\n", Framing::Events, &[value(1, "1")]);
    expect_records("comment first", b": hello\n\ndata: 1\n\n", Framing::Events, &[value(3, "1")]);
    expect_records("no last empty line", b"data: 1\n\ndata: 2", Framing::Events, &[value(1, "1"), value(3, "2")]);
    expect_records("torn", b"data: 1\n\ndata: {\"a\":", Framing::Events, &[value(1, "1"), fault(3, "torn_tail")]);
    expect_records(
        "bad payload",
        b"data: {]\n\ndata: 2\n\n",
        Framing::Events,
        &[fault(1, "json.syntax"), value(3, "2")],
    );
    expect_records(
        "address",
        b"event: endpoint\ndata: /messages?id=1\n\ndata: 2\n\n",
        Framing::Events,
        &[value(4, "2")],
    );
}

#[test]
fn http_bodies_are_records() {
    let transcript = "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n\r\n\
                      HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\nevent: m\r\ndata: {\"b\":2}\r\n\r\ndata: {\"c\":3}\r\n\r\n\
                      GET / HTTP/1.1\r\nAccept: */*\r\n\r\n\
                      HTTP/1.1 202 Accepted\r\nContent-Type: text/plain\r\n\r\nfine\r\n\
                      HTTP/2 200\r\n\r\n{\r\n\"d\": 4\r\n}\r\n\
                      HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n4\r\n{\"e\"\r\n3\r\n:5}\r\n0\r\n\r\n\
                      HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n{\"f\":6}\r\n{\"f\":\r\n{\"g\":7}\r\n";
    let records = [
        value(4, "{\"a\":1}"),
        value(10, "{\"b\":2}"),
        value(12, "{\"c\":3}"),
        value(23, "{\"d\":4}"),
        value(30, "{\"e\":5}"),
        value(39, "{\"f\":6}"),
        fault(40, "json.torn"),
        value(41, "{\"g\":7}"),
    ];
    expect_records("CRLF", transcript.as_bytes(), Framing::Http, &records);
    expect_records("LF", transcript.replace('\r', "").as_bytes(), Framing::Http, &records);
    expect_records("torn", b"POST / HTTP/1.1\n\n{\"a\":", Framing::Http, &[fault(3, "torn_tail")]);
}

#[test]
fn text_lines_and_markup_are_records() {
    expect_records("markup", b"<log>\n<x/>\n</log>\n", Framing::Whole, &[value(1, "\"<log>\\n<x/>\\n</log>\"")]);
    expect_records(
        "lines",
        b"1. open\r\n\n2. close",
        Framing::Lines,
        &[value(1, "\"1. open\""), value(3, "\"2. close\"")],
    );
    expect_records(
        "clock",
        b"[12:00] open\n[12:01] close\n",
        Framing::Lines,
        &[value(1, "\"[12:00] open\""), value(2, "\"[12:01] close\"")],
    );
    expect_records("speech", b"\"Open,\" she said.\n", Framing::Lines, &[value(1, r#""\"Open,\" she said.""#)]);
    expect_records(
        "not UTF-8",
        b"open\n\xff\nclose\n",
        Framing::Lines,
        &[value(1, "\"open\""), fault(2, "json.utf8"), value(3, "\"close\"")],
    );
}

#[test]
fn fault_has_column_and_advice() {
    let place = |bytes: &str| {
        let chunks = Input::from_bytes("log", bytes.as_bytes()).chunks(&InputLimits::default()).unwrap();
        let faults: Vec<_> =
            chunks.flat_map(|chunk| chunk.records().filter_map(Result::err).collect::<Vec<_>>()).collect();
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        (fault.line, fault.column, fault.message.clone())
    };
    let (line, column, message) = place("{\"a\":1}\n{\"é\":1,\"é\":2}\n");
    assert_eq!((line, column), (2, Some(8)));
    assert_eq!(message, "duplicate key \"é\"; JSON readers differ in which one they use, so write each key once");
    assert_eq!(place("[{\"a\":1},{\"b\":x}]").1, Some(15));
    assert_eq!(place("[\n{\"a\":1},\n  {\"b\":\n   x}]").0, 4);
    assert_eq!(place("[\n{\"a\":1},\n  {\"b\":\n   x}]").1, Some(4));
}

#[test]
fn records_at_reads_only_chosen_records() {
    let files: [&[u8]; 3] = [
        b"{\"i\":0}\nbroken\n\n{\"i\":3}\n{\"i\":4}\n{\"i\":5}",
        b"[{\"i\":0},broken,\n{\"i\":2},{\"i\":3},{\"i\":4},{\"i\":5}]",
        b"data: {\"i\":0}\n\ndata: broken\n\ndata: {\"i\":2}\n\ndata: {\"i\":3}\n\ndata: {\"i\":4}\n\ndata: {\"i\":5}\n\n",
    ];
    for bytes in files {
        for chunk in [1, 10, 1 << 20] {
            let chosen = |wanted: &[u32]| -> Vec<_> {
                let chunks = Input::from_bytes("log", bytes).chunks(&limits_of_chunk(chunk)).unwrap();
                let all = chunks.flat_map(|chunk| {
                    assert!(chunk.records().flatten().all(|record| chunk.indices().contains(&record.index)));
                    chunk.records_at(wanted).collect::<Vec<_>>()
                });
                all.map(|record| {
                    record.map(|record| (record.index, record.value.to_string())).map_err(|fault| fault.code)
                })
                .collect()
            };
            let record = |index: u32| Ok((index, format!("{{\"i\":{index}}}")));
            assert_eq!(chosen(&[0, 3, 5]), [record(0), record(3), record(5)]);
            assert_eq!(chosen(&[4]), [record(4)]);
            assert_eq!(chosen(&[]), []);
            assert_eq!(chosen(&[77]), []);
            assert_eq!(chosen(&[1, 4]).len(), 2);
            assert!(chosen(&[1])[0].is_err());
        }
    }
}

/// Bytes that mean something to one framing or another.
const PARTS: [&[u8]; 26] = [
    b"{\"a\":1}",
    b"[\"b\"]",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"x",
    b"1",
    b"data: ",
    b"data",
    b"event: y\n",
    b"HTTP/1.1 200 OK\n",
    b"5\n",
    b"<",
    b"\xc3\xa9",
    b"\xff",
    b"\xef\xbb\xbf",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunk_size_never_changes_records(parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..40)) {
        let bytes = parts.concat();
        let limits = |chunk, record| InputLimits::default().chunk(chunk).record(record);
        for record in [20, 1 << 20] {
            let at_once = read(&bytes, &limits(1 << 20, record));
            for chunk in [1, 2, 3, 11] {
                prop_assert_eq!(read(&bytes, &limits(chunk, record)), at_once.clone(), "chunks of {}, records to {}", chunk, record);
            }
        }
    }
}
