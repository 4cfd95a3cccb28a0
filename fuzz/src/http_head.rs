//! The gateway's check of request heads and chunked bodies against httparse, the reader behind it.
//!
//! The gateway lets no request through that two readers could understand differently. So what it accepts, httparse must
//! accept as well, with as many fields, the same method and target, and the same length of the body.

#[path = "../../crates/gateway/src/listen/chunks.rs"]
mod chunks;
#[path = "../../crates/gateway/src/listen/head.rs"]
#[expect(dead_code, reason = "the gateway uses more of it")]
mod head;

use self::chunks::Chunks;
use self::head::{Framing, check};
use crate::choices::{Choices, pieces};

/// More fields than the gateway accepts.
const MAX_FIELDS: usize = 128;

pub(crate) fn run(input: &[u8]) {
    let mut choices = Choices(input);
    let cuts = choices.cuts();
    let bytes = choices.0;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").map_or(bytes.len(), |place| place + 4);
    let (head, body) = bytes.split_at(end);
    let framing = check(head);
    if let Ok(framing) = framing
        && head.ends_with(b"\r\n\r\n")
    {
        check_head(head, framing);
    }
    check_chunks(body, &cuts);
}

/// httparse accepts what we accept, and reads the same.
fn check_head(head: &[u8], framing: Framing) {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let parsed = request.parse(head);
    assert_eq!(parsed, Ok(httparse::Status::Complete(head.len())), "httparse reads another head");
    let first = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = first.split(|byte| *byte == b' ');
    assert_eq!(request.method.map(str::as_bytes), words.next(), "method");
    assert_eq!(request.path.map(str::as_bytes), words.next(), "target");
    let lines = head.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(request.headers.len(), lines - 2, "number of fields");
    let values = |name: &str| -> Vec<&[u8]> {
        let is_named = |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(name);
        request.headers.iter().filter(is_named).map(|field| field.value).collect()
    };
    let length = match (values("content-length").as_slice(), values("transfer-encoding").as_slice()) {
        ([], []) => Some(Framing::Length(0)),
        ([length], []) => std::str::from_utf8(length).ok().and_then(|length| length.parse().ok()).map(Framing::Length),
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") => Some(Framing::Chunked),
        _ => None,
    };
    assert_eq!(length, Some(framing), "length of the body");
}

/// The end of a body is found at every cut, and httparse reads the same chunks up to there.
fn check_chunks(body: &[u8], cuts: &[usize]) {
    let whole = read_chunks(&[body]);
    assert_eq!(read_chunks(&pieces(body, cuts)), whole, "cut at {cuts:?}");
    let Ok(Some(length)) = whole else { return };
    let mut rest = &body[..length];
    loop {
        let size = httparse::parse_chunk_size(rest);
        assert!(matches!(size, Ok(httparse::Status::Complete(_))), "httparse refuses a chunk that we read: {size:?}");
        let Ok(httparse::Status::Complete((line, size))) = size else { return };
        rest = &rest[line..];
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        assert!(rest.len() > size && rest[size..].starts_with(b"\r\n"), "a chunk that httparse ends elsewhere");
        rest = &rest[size + 2..];
    }
    assert!(rest.ends_with(b"\r\n") && (rest.len() == 2 || rest.ends_with(b"\r\n\r\n")), "trailers end elsewhere");
}

/// Returns the length of a body that comes in pieces, none if it does not end, or the code of the refusal.
fn read_chunks(pieces: &[&[u8]]) -> Result<Option<usize>, &'static str> {
    let mut chunks = Chunks::new();
    let mut length = 0;
    for piece in pieces {
        length += chunks.read(piece).map_err(|fault| fault.code)?;
    }
    Ok(chunks.is_done().then_some(length))
}
