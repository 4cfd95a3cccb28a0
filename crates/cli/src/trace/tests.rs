//! Times are exact to the nanosecond, and faults have their exact place.

use super::*;

fn read(text: &str) -> Vec<TraceLine> {
    let mut trace = Trace::new("t", Box::new(io::Cursor::new(text.to_owned())));
    let mut lines = Vec::new();
    while let Some(line) = trace.next().unwrap() {
        lines.push(line);
    }
    lines
}

fn time(json: &str) -> Option<i64> {
    match read(&format!("{{\"tick\":{json}}}")).pop() {
        Some(TraceLine::Entry(TraceEntry { moment: Moment::Tick(Time(nanoseconds)), .. })) => Some(nanoseconds),
        _ => None,
    }
}

/// Returns the places of all faults of a line.
fn places(line: &str) -> Vec<String> {
    match read(line).pop() {
        Some(TraceLine::Bad(complaints)) => {
            complaints.iter().map(|it| it.short().split(": ").next().unwrap_or_default().to_owned()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn times_in_seconds_are_exact() {
    for (json, nanoseconds) in [
        ("0", 0),
        ("-0", 0),
        ("12", 12_000_000_000),
        ("0.1", 100_000_000),
        ("0.3", 300_000_000),
        ("1746093603.123456789", 1_746_093_603_123_456_789),
        ("1.0000000019", 1_000_000_001),
        ("-1.5", -1_500_000_000),
        ("1e3", 1_000_000_000_000),
        ("1.5E-3", 1_500_000),
        ("25e-1", 2_500_000_000),
        ("1e-400", 0),
        ("0e400", 0),
        ("9223372036.854775807", i64::MAX),
    ] {
        assert_eq!(time(json), Some(nanoseconds), "{json}");
    }
    for json in ["9223372036.854775808", "1e400", "1e99999999999", "true", "null", "[]", "{}", "\"\"", "\"12\""] {
        assert_eq!(time(json), None, "{json}");
    }
}

#[test]
fn dates_need_an_offset() {
    assert_eq!(time("\"1970-01-01T00:00:01Z\""), Some(1_000_000_000));
    assert_eq!(time("\"1970-01-01T01:00:00.5+01:00\""), Some(500_000_000));
    assert_eq!(time("\"1970-01-01T00:00:01\""), None);
    assert_eq!(time("\"2300-01-01T00:00:00Z\""), None);
}

#[test]
fn fault_in_string_is_placed_after_escapes() {
    assert_eq!(places(r#"["p(1 2)"]"#), ["t:1:7"]);
    assert_eq!(places(r#"["p(\"é\u00e9\ud83d\ude00\" 2)"]"#), ["t:1:29"]);
    assert_eq!(places(r#"{"facts":["ok","p(","q)"]}"#), ["t:1:18", "t:1:19", "t:1:23"]);
}

#[test]
fn step_back_in_time_is_marked() {
    let lines =
        read("{\"time\":2,\"facts\":[]}\n{\"time\":2,\"facts\":[]}\n{\"tick\":3}\n{\"time\":3,\"facts\":[]}\n[]\n");
    let marks: Vec<bool> =
        lines.iter().map(|line| matches!(line, TraceLine::Entry(TraceEntry { goes_back: true, .. }))).collect();
    assert_eq!(marks, [false, false, false, true, false]);
}

#[test]
fn line_numbers_count_blank_lines() {
    let numbers: Vec<u64> = read("\n[]\r\n\n  \n[]")
        .iter()
        .map(|line| match line {
            TraceLine::Entry(entry) => entry.line,
            TraceLine::Bad(_) => 0,
        })
        .collect();
    assert_eq!(numbers, [2, 5]);
}
