//! What is known of a history as bytes, to be kept: a version, then lists with their lengths before them.

use lictor_event::content_hash::ContentHash;
use lictor_json::Text;

use super::ConversationHistory;

/// The first byte, by which a later form is told apart.
const VERSION: u8 = 1;

impl ConversationHistory {
    /// As bytes, to be kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        prints(&mut out, &self.preamble);
        prints(&mut out, &self.body);
        number(&mut out, self.choices.len());
        self.choices.iter().for_each(|choice| prints(&mut out, choice));
        number(&mut out, self.calls.len());
        for text in self.calls.iter().flat_map(|(id, tool)| [id, tool]) {
            number(&mut out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    /// From bytes; none if they are not ours.
    pub fn from_bytes(bytes: &[u8]) -> Option<ConversationHistory> {
        let mut rest = bytes.strip_prefix(&[VERSION])?;
        let preamble = take_prints(&mut rest)?;
        let body = take_prints(&mut rest)?;
        let mut known = ConversationHistory { preamble, body, ..ConversationHistory::default() };
        for _ in 0..take_number(&mut rest)? {
            known.choices.push(take_prints(&mut rest)?);
        }
        for _ in 0..take_number(&mut rest)? {
            known.calls.insert(take_text(&mut rest)?, take_text(&mut rest)?);
        }
        rest.is_empty().then_some(known)
    }
}

fn number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

fn prints(out: &mut Vec<u8>, prints: &[ContentHash]) {
    number(out, prints.len());
    prints.iter().for_each(|print| out.extend_from_slice(print));
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)).ok()
}

fn take_prints(rest: &mut &[u8]) -> Option<Vec<ContentHash>> {
    let bytes = take_number(rest)?.checked_mul(32)?;
    let prints = take(rest, bytes)?.chunks_exact(32);
    Some(prints.filter_map(|print| print.try_into().ok()).collect())
}

fn take_text(rest: &mut &[u8]) -> Option<Text> {
    let length = take_number(rest)?;
    std::str::from_utf8(take(rest, length)?).ok().map(Text::from)
}
