//! A known history as bytes: a version, then lists with their lengths before them.

use lictor_event::content_hash::ContentHash;
use lictor_json::Text;

use super::ConversationHistory;

/// The version of the format, its first byte.
const VERSION: u8 = 1;

impl ConversationHistory {
    /// Returns the history as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        write_hashes(&mut out, &self.preamble);
        write_hashes(&mut out, &self.body);
        write_number(&mut out, self.choices.len());
        self.choices.iter().for_each(|choice| write_hashes(&mut out, choice));
        write_number(&mut out, self.calls.len());
        for text in self.calls.iter().flat_map(|(id, tool)| [id, tool]) {
            write_number(&mut out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    /// Reads the bytes of [`to_bytes`](ConversationHistory::to_bytes); none if they are others.
    pub fn from_bytes(bytes: &[u8]) -> Option<ConversationHistory> {
        let mut rest = bytes.strip_prefix(&[VERSION])?;
        let preamble = read_hashes(&mut rest)?;
        let body = read_hashes(&mut rest)?;
        let mut known = ConversationHistory { preamble, body, ..ConversationHistory::default() };
        for _ in 0..read_number(&mut rest)? {
            known.choices.push(read_hashes(&mut rest)?);
        }
        for _ in 0..read_number(&mut rest)? {
            known.calls.insert(read_text(&mut rest)?, read_text(&mut rest)?);
        }
        rest.is_empty().then_some(known)
    }
}

fn write_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

fn write_hashes(out: &mut Vec<u8>, hashes: &[ContentHash]) {
    write_number(out, hashes.len());
    hashes.iter().for_each(|hash| out.extend_from_slice(hash));
}

fn read_bytes<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (bytes, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(bytes)
}

fn read_number(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(read_bytes(rest, 8)?.try_into().ok()?)).ok()
}

fn read_hashes(rest: &mut &[u8]) -> Option<Vec<ContentHash>> {
    let length = read_number(rest)?.checked_mul(32)?;
    let hashes = read_bytes(rest, length)?.chunks_exact(32);
    Some(hashes.filter_map(|hash| hash.try_into().ok()).collect())
}

fn read_text(rest: &mut &[u8]) -> Option<Text> {
    let length = read_number(rest)?;
    std::str::from_utf8(read_bytes(rest, length)?).ok().map(Text::from)
}
