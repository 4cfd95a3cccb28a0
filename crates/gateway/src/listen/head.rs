//! Checks the head of an HTTP/1 request before the HTTP library sees it.
//!
//! If two readers understand a head differently, a request can be smuggled past the gateway. So ambiguous heads are
//! refused here, even where the standard allows a guess: two lengths, a length together with a transfer encoding, line
//! ends other than CRLF, names with a space before the colon, folded lines.

use memchr::{memchr, memchr3};

/// How the body of a request is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// By its length; zero without a body.
    Length(u64),
    /// By chunks.
    Chunked,
}

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The status of the answer.
    pub(crate) status: u16,
    /// The code for programs.
    pub(crate) code: &'static str,
    /// The message for people.
    pub(crate) message: &'static str,
}

impl Fault {
    pub(super) const fn new(code: &'static str, message: &'static str) -> Fault {
        Fault { status: 400, code, message }
    }

    const fn large(code: &'static str, message: &'static str) -> Fault {
        Fault { status: 431, code, message }
    }
}

/// The largest head, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most header fields.
const MAX_HEADER_FIELDS: usize = 100;

/// The head is over the limit.
pub(super) const TOO_LARGE: Fault = Fault::large("http.head_too_large", "request header section is too large");

/// A line does not end with CRLF.
pub(super) const BARE_LINE_END: Fault = Fault::new("http.line_end", "invalid line terminator: lines end with CRLF");

/// Checks a head, including its empty line, and returns how the body is delimited.
pub(super) fn check(head: &[u8]) -> Result<Framing, Fault> {
    let mut lines = Lines { rest: head };
    let is_old = request_line(lines.next().unwrap_or(Ok(&[]))?)?;
    let (mut hosts, mut lengths, mut encodings, mut fields) = (0, Vec::new(), Vec::new(), 0);
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        fields += 1;
        if fields > MAX_HEADER_FIELDS {
            return Err(Fault::large("http.too_many_fields", "too many header fields (limit 100)"));
        }
        let (name, value) = field(line)?;
        if name.eq_ignore_ascii_case(b"host") {
            hosts += 1;
            host(value)?;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            lengths.push(value);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            encodings.push(value);
        } else if name.eq_ignore_ascii_case(b"upgrade") && !value.eq_ignore_ascii_case(b"h2c") {
            // `h2c` is an offer that may be ignored; Java clients make it with every request. It is not forwarded.
            return Err(Fault::new("http.upgrade", "Upgrade is not supported"));
        }
    }
    if hosts > 1 || (hosts == 0 && !is_old) {
        return Err(Fault::new("http.host", "missing or duplicate Host header"));
    }
    match (lengths.as_slice(), encodings.as_slice()) {
        ([], []) => Ok(Framing::Length(0)),
        ([length], []) => length_of(length),
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") && !is_old => Ok(Framing::Chunked),
        ([], [_]) => {
            Err(Fault::new("http.transfer_encoding", "unsupported Transfer-Encoding; use `chunked` in HTTP/1.1"))
        }
        ([], _) => Err(Fault::new("http.transfer_encoding", "duplicate Transfer-Encoding header")),
        (_, []) => Err(Fault::new("http.content_length", "duplicate Content-Length header")),
        _ => Err(Fault::new("http.two_framings", "both Content-Length and Transfer-Encoding; send one of them")),
    }
}

/// Iterates over lines without their ends; an error if an end is not CRLF.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = Result<&'a [u8], Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = memchr3(b'\n', b'\r', 0, self.rest)?;
        let (line, rest) = self.rest.split_at(end);
        match rest {
            [b'\r', b'\n', rest @ ..] => {
                self.rest = rest;
                Some(Ok(line))
            }
            [0, ..] => Some(Err(Fault::new("http.control", "NUL in header section"))),
            _ => Some(Err(BARE_LINE_END)),
        }
    }
}

/// Checks the request line; returns whether it is of HTTP/1.0.
fn request_line(line: &[u8]) -> Result<bool, Fault> {
    let fault = Fault::new("http.request_line", "invalid request line: not `METHOD target HTTP/1.1`");
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(fault);
    };
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) || !target.iter().all(u8::is_ascii_graphic) {
        return Err(fault);
    }
    let is_old = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        _ => return Err(fault),
    };
    // A target with an authority is for a forward proxy; this is a reverse proxy with one upstream.
    match target.first() {
        Some(b'/') => Ok(is_old),
        _ => Err(Fault::new("http.target", "invalid request target: use a path that begins with `/`")),
    }
}

/// Returns the name and the value of a field.
fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    if line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        return Err(Fault::new("http.folded_line", "obsolete line folding in a header field"));
    }
    let fault = Fault::new("http.field", "invalid header field: not `name: value`");
    let colon = memchr(b':', line).ok_or(fault)?;
    let (name, value) = (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default());
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return Err(Fault::new("http.field_name", "invalid character in a header field name"));
    }
    // Without an early end, many bytes are compared at once.
    if value.iter().fold(false, |any, byte| any | (byte.is_ascii_control() & (*byte != b'\t'))) {
        return Err(Fault::new("http.control", "control character in a header field value"));
    }
    Ok((name, value.trim_ascii()))
}

fn host(value: &[u8]) -> Result<(), Fault> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:[]~%".contains(byte);
    match !value.is_empty() && value.iter().all(is_plain) {
        true => Ok(()),
        false => Err(Fault::new("http.host", "invalid Host header: use a name and an optional port")),
    }
}

fn length_of(value: &[u8]) -> Result<Framing, Fault> {
    let fault = Fault::new("http.content_length", "invalid Content-Length: not a number of bytes");
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(fault);
    }
    let text = std::str::from_utf8(value).map_err(|_| fault)?;
    text.parse().map(Framing::Length).map_err(|_| fault)
}

fn is_token(byte: u8) -> bool {
    const TOKENS: [bool; 256] = mark_tokens();
    TOKENS[usize::from(byte)]
}

/// Returns which bytes a token may have.
const fn mark_tokens() -> [bool; 256] {
    let (mut tokens, mut byte) = ([false; 256], 0);
    while byte < 256 {
        tokens[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let (marks, mut place) = (b"!#$%&'*+-.^_`|~", 0);
    while place < marks.len() {
        tokens[marks[place] as usize] = true;
        place += 1;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(head: &str) -> &'static str {
        match check(head.as_bytes()) {
            Ok(Framing::Chunked) => "chunked",
            Ok(Framing::Length(_)) => "length",
            Err(fault) => fault.code,
        }
    }

    #[test]
    fn tokens_are_those_of_the_standard() {
        for byte in 0..=255_u8 {
            let is_mark = b"!#$%&'*+-.^_`|~".contains(&byte);
            assert_eq!(is_token(byte), byte.is_ascii_alphanumeric() || is_mark, "{byte}");
        }
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        let of = |fields: &str| code(&format!("POST /v1 HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        for (fields, wanted) in [
            ("", "length"),
            ("Content-Length: 7\r\n", "length"),
            ("Transfer-Encoding: Chunked\r\n", "chunked"),
            ("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n", "http.two_framings"),
            ("Content-Length: 7\r\nContent-Length: 7\r\n", "http.content_length"),
            ("Content-Length: 7, 7\r\n", "http.content_length"),
            ("Content-Length: +7\r\n", "http.content_length"),
            ("Content-Length: 7_\r\n", "http.content_length"),
            ("Content-Length: \r\n", "http.content_length"),
            ("Content-Length: 18446744073709551616\r\n", "http.content_length"),
            ("Transfer-Encoding: identity, chunked\r\n", "http.transfer_encoding"),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "http.transfer_encoding"),
            ("Transfer-Encoding: xchunked\r\n", "http.transfer_encoding"),
            ("Content-Length : 7\r\n", "http.field_name"),
            (" folded: 1\r\n", "http.folded_line"),
            ("A: b\n", "http.line_end"),
            ("A: b\rc\r\n", "http.line_end"),
            ("A: \0\r\n", "http.control"),
            ("A: \x07\r\n", "http.control"),
            ("Host: b\r\n", "http.host"),
            ("Upgrade: websocket\r\n", "http.upgrade"),
            ("Upgrade: h2c, websocket\r\n", "http.upgrade"),
            ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAE\r\n", "length"),
            (": x\r\n", "http.field_name"),
            ("nothing\r\n", "http.field"),
        ] {
            assert_eq!(of(fields), wanted, "{fields:?}");
        }
    }

    #[test]
    fn request_line_and_host_are_strict() {
        for (head, wanted) in [
            ("GET / HTTP/1.1\r\n\r\n", "http.host"),
            ("GET / HTTP/1.0\r\n\r\n", "length"),
            ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "http.transfer_encoding"),
            ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "http.target"),
            ("CONNECT b:1 HTTP/1.1\r\nHost: a\r\n\r\n", "http.target"),
            ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", "http.host"),
            ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "http.host"),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "http.request_line"),
            ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "http.request_line"),
            ("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", "http.request_line"),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "http.request_line"),
        ] {
            assert_eq!(code(head), wanted, "{head:?}");
        }
        let many = "A: b\r\n".repeat(300);
        assert_eq!(code(&format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n")), "http.too_many_fields");
    }
}
