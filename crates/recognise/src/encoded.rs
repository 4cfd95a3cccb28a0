//! Text inside a text: long words that are base64 or hexadecimal for something readable.

use std::ops::Range;

/// How many bytes a word must have to be decoded. Shorter ones hide little, and are many.
const MIN_ENCODED_BYTES: usize = 20;

/// Returns the word around a position that decodes to readable text, with that text; and where the word ends, so that
/// the caller does not decode it again.
pub(super) fn decode_word_around(bytes: &[u8], place: usize) -> (Option<(Range<usize>, String)>, usize) {
    let before = bytes[..place].iter().rposition(|byte| base64_value(*byte).is_none());
    let start = before.map_or(0, |before| before + 1);
    let end = bytes[place..]
        .iter()
        .position(|byte| base64_value(*byte).is_none())
        .map_or(bytes.len(), |length| place + length);
    let word = &bytes[start..end];
    if word.len() < MIN_ENCODED_BYTES {
        return (None, end);
    }
    if let Some(text) = decode_readable(word) {
        return (Some((start..end, text)), end);
    }
    // A path is one word to base64. Where it does not decode as a whole, its last part may.
    let last = word.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let text = if last > 0 && word.len() - last >= MIN_ENCODED_BYTES { decode_readable(&word[last..]) } else { None };
    (text.map(|text| (start + last..end, text)), end)
}

/// Returns the texts of all long words that decode to readable text, in the order of the words. Words that only a line
/// break separates are lines of one text.
pub(super) fn decode_words(bytes: &[u8]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut last_end = None;
    // Every word that is long enough has a byte at one of the places that are looked at.
    let mut place = MIN_ENCODED_BYTES - 1;
    while place < bytes.len() {
        let (word, end) = decode_word_around(bytes, place);
        place = end + MIN_ENCODED_BYTES;
        let Some((range, text)) = word else { continue };
        let gap = last_end.and_then(|last| bytes.get(last..range.start));
        match texts.last_mut().filter(|_| matches!(gap, Some(b"\n" | b"\r\n" | b"\\n" | b"\\r\\n"))) {
            Some(last) => last.push_str(&text),
            None => texts.push(text),
        }
        last_end = Some(range.end);
    }
    texts
}

fn decode_readable(word: &[u8]) -> Option<String> {
    decode_hex(word).or_else(|| decode_base64(word))
}

fn decode_hex(word: &[u8]) -> Option<String> {
    if !word.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let mut decoded = Vec::new();
    for pair in word.chunks_exact(2) {
        decoded.push(readable_byte(digit(pair[0])? << 4 | digit(pair[1])?)?);
    }
    String::from_utf8(decoded).ok()
}

fn decode_base64(word: &[u8]) -> Option<String> {
    if word.len() % 4 == 1 {
        return None;
    }
    let mut decoded = Vec::new();
    for group in word.chunks(4) {
        let mut bits = 0u32;
        for place in 0..4 {
            bits = bits << 6 | group.get(place).map_or(Some(0), |byte| base64_value(*byte))?;
        }
        for place in 0..group.len() - 1 {
            decoded.push(readable_byte((bits >> (16 - 8 * place)) as u8)?);
        }
    }
    String::from_utf8(decoded).ok()
}

/// Returns the byte if a text may have it: most words fail at their first.
fn readable_byte(byte: u8) -> Option<u8> {
    (byte >= b' ' && byte != 0x7F || matches!(byte, b'\n' | b'\r' | b'\t')).then_some(byte)
}

/// Returns where the word starts that a text ends with, if it may be base64 or hexadecimal.
pub(super) fn find_open_word(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| base64_value(*byte).is_none()).map_or(0, |before| before + 1)
}

/// Returns the value of a base64 digit, of either alphabet.
fn base64_value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut place = 0;
        while place < text.len() {
            let (word, end) = decode_word_around(text.as_bytes(), place);
            words.extend(word.map(|(_, text)| text));
            place = end + 1;
        }
        words
    }

    #[test]
    fn encoded_words_are_decoded() {
        assert_eq!(words("see YWxpY2VAZXhhbXBsZS5jb20= now"), ["alice@example.com"]);
        assert_eq!(words("616c696365406578616d706c652e636f6d"), ["alice@example.com"]);
        assert_eq!(words("https://x.example/y/YWxpY2VAZXhhbXBsZS5jb20"), ["alice@example.com"]);
        assert_eq!(words("data:text/plain;base64,Sm9oYW4gTcO8bGxlciwgQmVybGlu"), ["Johan Müller, Berlin"]);
    }

    #[test]
    fn encoded_lookalikes_are_not_decoded() {
        for text in [
            "internationalization-of-everything",
            "d41d8cd98f00b204e9800998ecf8427e",
            "toolu_016Jj714rWMDCBpaF3NyMXNm",
            "/usr/local/share/applications",
        ] {
            assert!(words(text).is_empty(), "{text}");
        }
    }
}
