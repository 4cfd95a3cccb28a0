//! Finds the end of plain text in strings, eight bytes at a time or more.

use memchr::memchr2;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// How many bytes of a string are scanned eight by eight, before it counts as a long one.
const SHORT_STRING_BYTES: usize = 32;

/// Returns where the next quote, backslash or control character is, or the end. Eight bytes are compared together, and
/// of a long string as many as the processor can.
#[inline(always)]
pub(super) fn find_special(bytes: &[u8], mut at: usize) -> usize {
    let brief = at + SHORT_STRING_BYTES;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let found = mark_special_bytes(u64::from_le_bytes(*eight));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
        if at == brief {
            return find_special_in_long(bytes, at);
        }
    }
    while let Some(&byte) = bytes.get(at) {
        if byte < b' ' || byte == b'"' || byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

#[inline(never)]
fn find_special_in_long(bytes: &[u8], at: usize) -> usize {
    let end = memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |length| at + length);
    let is_control = |byte: &u8| *byte < b' ';
    // Without an early end, a whole vector is compared at once.
    let has_control =
        bytes[at..end].chunks(64).any(|piece| piece.iter().fold(false, |any, byte| any | is_control(byte)));
    match has_control {
        true => bytes[at..end].iter().position(is_control).map_or(end, |length| at + length),
        false => end,
    }
}

/// Returns the high bit of each byte that is a quote, a backslash or a control character. A borrow can set wrong bits
/// above the lowest right one, never below it.
fn mark_special_bytes(word: u64) -> u64 {
    let quote = word ^ (LOW_BITS * b'"' as u64);
    let slash = word ^ (LOW_BITS * b'\\' as u64);
    let is_quote = quote.wrapping_sub(LOW_BITS) & !quote;
    let is_slash = slash.wrapping_sub(LOW_BITS) & !slash;
    let is_control = word.wrapping_sub(LOW_BITS * b' ' as u64) & !word;
    (is_quote | is_slash | is_control) & HIGH_BITS
}
