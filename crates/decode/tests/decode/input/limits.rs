//! The limits on memory and size of a file.

use lictor_decode::Framing;
use lictor_decode::input::{Input, InputLimits};

use super::{Read, fault, gzip, read, value, zstd};

fn long(length: usize) -> String {
    format!("{{\"long\":\"{}\"}}", "x".repeat(length))
}

#[test]
fn record_over_limit_is_skipped_and_reported() {
    let long = long(5000);
    let cases: [(&str, String, [u32; 3]); 5] = [
        ("line", format!("{{\"a\":1}}\n{long}\n{{\"b\":2}}\n"), [1, 2, 3]),
        ("element", format!("[{{\"a\":1}},\n{long},\n{{\"b\":2}}]"), [1, 2, 3]),
        ("document", format!("{{\n\"a\":1}}\n{{\n{}\n{{\"b\":2}}\n", &long[1..]), [1, 3, 5]),
        ("event", format!("data: {{\"a\":1}}\n\ndata: {long}\n\ndata: {{\"b\":2}}\n\n"), [1, 3, 5]),
        (
            "body",
            format!("HTTP/1.1 200 OK\n\n{{\"a\":1}}\nHTTP/1.1 200 OK\n\n{long}\nHTTP/1.1 200 OK\n\n{{\"b\":2}}"),
            [3, 6, 9],
        ),
    ];
    for (name, text, [a, skipped, b]) in cases {
        for chunk in [1, 7, 600, 1 << 20] {
            for record in [100, 1000, 4999] {
                let limits = InputLimits::default().record(record).chunk(chunk);
                let expected = [value(a, "{\"a\":1}"), fault(skipped, "record.too_long"), value(b, "{\"b\":2}")];
                assert_eq!(
                    read(text.as_bytes(), &limits).1,
                    expected,
                    "{name}, chunks of {chunk}, records to {record}"
                );
            }
        }
    }
    let limits = InputLimits::default().record(100);
    assert_eq!(read(long.as_bytes(), &limits).1, [fault(1, "record.too_long")]);
    let limits = InputLimits::default().whole(100).chunk(10);
    assert_eq!(read(format!("<log>{long}</log>").as_bytes(), &limits).1, [fault(1, "record.too_long")]);
}

#[test]
fn record_of_hundred_megabytes_is_skipped() {
    let text = format!("{{\"a\":1}}\n{}\n{{\"b\":2}}\n", long(100 << 20));
    let packed = zstd(text.as_bytes());
    drop(text);
    let limits = InputLimits::default().ratio(u64::MAX);
    assert_eq!(read(&packed, &limits).1, [value(1, "{\"a\":1}"), fault(2, "record.too_long"), value(3, "{\"b\":2}")]);
}

#[test]
fn long_run_of_blanks_takes_linear_time() {
    // With small chunks, looking at all blanks again for each chunk would not come to an end.
    let limits = InputLimits::default().chunk(1 << 10);
    const LENGTH: usize = 8 << 20;
    let after = format!("{{\"a\":1}}\n{}", "\n".repeat(LENGTH));
    assert_eq!(read(after.as_bytes(), &limits).1, [value(1, "{\"a\":1}")]);
    let before = format!("{}{{\"a\":1}}\n{{\"b\":2}}\n", " ".repeat(LENGTH));
    assert_eq!(read(before.as_bytes(), &limits).1, [value(1, "{\"a\":1}"), value(2, "{\"b\":2}")]);
    assert_eq!(read(&vec![b' '; LENGTH], &limits).1, []);
}

#[test]
fn compressed_members_and_frames_are_one_file() {
    let (one, two) = (b"{\"a\":1}\n{\"b\"".as_slice(), b":2}\n".as_slice());
    let expected = [value(1, "{\"a\":1}"), value(2, "{\"b\":2}")];
    for packed in [[gzip(one), gzip(two)].concat(), [zstd(one), zstd(two)].concat()] {
        assert_eq!(read(&packed, &InputLimits::default()).1, expected);
    }
    let skippable = [b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(one), zstd(two)].concat();
    assert_eq!(read(&skippable, &InputLimits::default()).1, expected);
}

#[test]
fn decompression_bomb_is_stopped_and_reported() {
    let text = "{\"a\":1}\n".repeat(1 << 20);
    let limits = InputLimits::default().ratio(100).ratio_from(1 << 20);
    for packed in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let (_, all) = read(&packed, &limits);
        assert!(matches!(all.last(), Some(Read::Fault(_, "input.bomb"))));
        assert!(all.len() > 1000 && all.len() < 1 << 19, "{} records", all.len());
        let (_, all) = read(&packed, &limits.clone().ratio(100_000));
        assert_eq!(all.len(), 1 << 20);
    }
    let (_, all) = read(text.as_bytes(), &limits.file(1 << 20));
    assert!(matches!(all.last(), Some(Read::Fault(_, "input.too_long"))));
    assert!(all.len() <= (1 << 17) + 1, "{} records", all.len());
}

#[test]
fn compressed_truncated_file_is_read_so_far() {
    let text: String = (0..200_000).map(|i| format!("{{\"i\":{}}}\n", i * 7919 % 1_000_003)).collect();
    for packed in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let (framing, all) = read(&packed[..packed.len() / 2], &InputLimits::default().chunk(1000));
        assert_eq!(framing, Framing::Json);
        assert!(matches!(all.last(), Some(Read::Fault(_, "input.compressed"))), "{:?}", all.last());
        assert!(all.len() > 100, "{} records", all.len());
    }
}

#[test]
fn binary_file_is_refused_with_hint() {
    let cases: [(&[u8], &str); 8] = [
        (b"\xff\xfe{\0}\0", "UTF-8"),
        (b"{\0\"\0", "UTF-8"),
        (b"PAR1\x15\x04", "audit it with the Python package"),
        (b"ARROW1\0\0\xff\xff\xff\xff", "audit it with the Python package"),
        (b"\xff\xff\xff\xff\x78\x01\0\0", "audit it with the Python package"),
        (b"PK\x03\x04abc", "unpack"),
        (&gzip(&gzip(b"{}")), "decompress"),
        (b"\x7fELF\x02\x01\x01\0\0", "the log you meant"),
    ];
    for (bytes, advice) in cases {
        let error = Input::from_bytes("log", bytes).chunks(&InputLimits::default()).unwrap_err().to_string();
        assert!(error.starts_with("log: ") && error.contains("\nhint: ") && error.contains(advice), "{error}");
    }
}
