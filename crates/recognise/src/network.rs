//! Public IP addresses, which can identify a person.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::bytes::{Bytes, byte_at, byte_before, ends_with_at, is_alnum, run_end, run_start};
use super::check;

/// Returns the end of the public address whose first digit is here.
pub(super) fn find_public_address(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    // An address of IPv4 may be written within one of IPv6.
    let is_mapped = ends_with_at(bytes, start, "::ffff:");
    let before = byte_before(bytes, start, 1);
    if !is_mapped && (is_alnum(before) || matches!(before, b'.' | b':' | b'-' | b'_')) {
        return None;
    }
    let end = match byte_at(bytes, run_end(bytes, start, 4, |byte| byte.is_ascii_hexdigit())) {
        b'.' => find_ipv4(bytes, start)?,
        b':' => find_ipv6(bytes, start)?,
        _ => return None,
    };
    (!is_alnum(byte_at(bytes, end))).then_some(end)
}

fn find_ipv4(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let mut parts = [0u8; 4];
    let mut place = start;
    for (number, part) in parts.iter_mut().enumerate() {
        if number > 0 {
            place += usize::from(byte_at(bytes, place) == b'.');
        }
        let end = run_end(bytes, place, 4, |byte| byte.is_ascii_digit());
        // Longer parts than three, empty ones and leading zeros are of other numbers.
        *part = match &bytes[place..end] {
            [] | [b'0', _, ..] => return None,
            digits => u8::try_from(check::parse_digits(digits)).ok()?,
        };
        place = end;
    }
    let continues = byte_at(bytes, place) == b'.' && byte_at(bytes, place + 1).is_ascii_digit();
    (!continues && is_public(Ipv4Addr::from(parts)) && !is_version(bytes, start) && !is_released(bytes, place))
        .then_some(place)
}

fn find_ipv6(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    // Public addresses are those of 2000::/3.
    let end = run_end(bytes, start, 40, |byte| byte.is_ascii_hexdigit() || byte == b':');
    let has_enough = bytes[start..end].iter().filter(|byte| **byte == b':').count() > 2;
    if !has_enough || !matches!(byte_at(bytes, start), b'2' | b'3') {
        return None;
    }
    let address: Ipv6Addr = std::str::from_utf8(&bytes[start..end]).ok()?.parse().ok()?;
    (address.segments()[0] & 0xE000 == 0x2000).then_some(end)
}

/// Whether an address can identify a person. Those reserved for examples count, since examples use them so; public
/// resolvers do not.
fn is_public(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_reserved = a == 0 || a >= 224 || a == 192 && b == 0 && c == 0 || a == 198 && matches!(b, 18 | 19);
    let is_resolver = matches!([a, b, c, d], [8, 8, 8, 8] | [8, 8, 4, 4] | [1, 1, 1, 1] | [1, 0, 0, 1] | [9, 9, 9, 9]);
    let is_count = a < 10 && b < 10 && c < 10 && d < 10;
    let is_local = address.is_private() || address.is_loopback() || address.is_link_local();
    !is_local && !is_shared && !is_reserved && !is_resolver && !is_count
}

/// Whether a number of four parts is a version.
fn is_version(bytes: Bytes<'_>, start: usize) -> bool {
    let end = run_start(bytes, start, 2, |byte| matches!(byte, b' ' | b':' | b'=' | b'/'));
    let word = run_start(bytes, end, 12, |byte| byte.is_ascii_alphabetic());
    ["version", "ver", "v", "release", "build", "firmware", "driver", "section"]
        .into_iter()
        .any(|name| end - word == name.len() && ends_with_at(bytes, end, name))
}

/// Whether a word follows that only versions have: `Tomcat 9.0.85.2 released`.
fn is_released(bytes: Bytes<'_>, end: usize) -> bool {
    const WORDS: &[&str] = &["released", "release", "update", "upgrade", "patch", "hotfix", "beta", "changelog"];
    let next = run_end(bytes, end, 1, |byte| byte == b' ');
    let following = run_end(bytes, next, 12, |byte| byte.is_ascii_alphabetic());
    next > end && WORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(&bytes[next..following]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<&str> {
        let start = text.find(|character: char| character.is_ascii_digit())?;
        find_public_address(text.into(), start).map(|end| &text[start..end])
    }

    #[test]
    fn ip_address_public_is_found() {
        assert_eq!(found("from 203.0.113.7."), Some("203.0.113.7"));
        assert_eq!(found("from ::ffff:203.0.113.7."), Some("203.0.113.7"));
        assert_eq!(found("http://84.12.9.200:8080/"), Some("84.12.9.200"));
        assert_eq!(found("via 2001:db8:85a3::8a2e:370:7334"), Some("2001:db8:85a3::8a2e:370:7334"));
    }

    #[test]
    fn ip_address_lookalikes_are_not_found() {
        for text in [
            "10.0.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "8.8.8.8",
            "1.2.3.4",
            "version 84.12.9.200",
            "1.2.3",
            "84.12.9.200.5",
            "10:30:45",
            "300.1.1.1",
            "2024-05-20T10:30:00",
            "v84.12.9.200",
            "Tomcat 9.0.85.2 released",
            "::ffff:10.0.0.1",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
