//! Addresses of mailboxes, also as people write them to hide them from machines: `alice [at] example [dot] com`,
//! `a l i c e @ e x a m p l e . c o m`.

use std::ops::Range;

use super::Confidence;
use super::bytes::{
    Bytes, byte_at, byte_before, ends_with_at, is_alnum, is_blank, is_one_of, run_end, run_start, starts_with_at,
};
use super::mailbox_name;
use super::vocabulary::{FILE_EXTENSION, TOP_LEVEL_DOMAIN, classify};
use lictor_json::Text;

/// An address of a mailbox.
pub(super) struct Mailbox {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// The address, in lower case.
    pub(super) name: Text,
    /// How sure it is that this is a mailbox.
    pub(super) confidence: Confidence,
}

/// The longest part before the `@` (RFC 5321).
const MAX_LOCAL_BYTES: usize = 64;
/// The longest part after the `@` (RFC 5321).
const MAX_DOMAIN_BYTES: usize = 253;

/// The most bytes of a tag around the `@`, and the most tags on one side of it.
const MAX_TAG_BYTES: usize = 64;
const MAX_MARKS: usize = 4;

/// Words for the `@`.
pub(super) const AT_WORDS: [&str; 4] = ["at", "arroba", "chiocciola", "arobase"];
/// Words for a point.
pub(super) const DOT_WORDS: [&str; 4] = ["dot", "punkt", "punto", "point"];

/// Words of a sentence about a site that come before a word for the `@`: `look at example dot com`.
const NO_LOCAL: &str = "\
    look looks looked looking work works worked working am is are was were be see live lives shop meet stay \
    available found find visit me us him them it here there site website page blog docs employee engineer developer \
    manager people team friends job start hosted online register sign read more";

/// Returns the address around an `@`.
pub(super) fn find_around_sign(bytes: Bytes<'_>, sign: usize) -> Option<Mailbox> {
    let (end, start) = (find_markup_start(bytes, sign), find_markup_end(bytes, sign + 1));
    if end < sign || start > sign + 1 {
        return find_marked(bytes, end, start);
    }
    let is_loose = |byte: u8| is_blank(byte) || is_opening(byte) || is_closing(byte);
    match is_loose(byte_before(bytes, sign, 1)) || is_loose(byte_at(bytes, sign + 1)) {
        true => find_spaced(bytes, sign),
        false => find_reversed(bytes, sign).or_else(|| find_plain(bytes, sign)),
    }
}

/// Returns an address that is written backwards, by the end of its domain in front: `gro.elpmaxe@nna`.
fn find_reversed(bytes: Bytes<'_>, sign: usize) -> Option<Mailbox> {
    const REVERSED_ENDS: [&str; 6] = ["moc.", "gro.", "ten.", "ude.", "vog.", "ofni."];
    let start = find_local_start(bytes, sign);
    if !REVERSED_ENDS.into_iter().any(|end| starts_with_at(bytes, start, end)) {
        return None;
    }
    let end = run_end(bytes, sign + 1, MAX_LOCAL_BYTES, is_local);
    let end = run_start(bytes, end, end - sign, |byte| !is_alnum(byte));
    let (domain, local) = (bytes.get(start..sign)?, bytes.get(sign + 1..end).filter(|local| !local.is_empty())?);
    // What ends like a domain on its right is read forwards.
    if local.contains(&b'.') && classify(last_label(local)).has(TOP_LEVEL_DOMAIN) {
        return None;
    }
    let reverse = |part: &[u8]| part.iter().rev().copied().collect::<Vec<u8>>();
    let name = join_name(&reverse(local), &reverse(domain));
    Some(Mailbox { range: start..end, name, confidence: Confidence::Low })
}

fn find_plain(bytes: Bytes<'_>, sign: usize) -> Option<Mailbox> {
    let start = find_local_start(bytes, sign);
    let domain = Domain::read(bytes, sign + 1, false)?;
    let local = bytes.get(start..sign).filter(|local| !local.is_empty())?;
    if is_machine_name(bytes, start, sign, domain.end) {
        return None;
    }
    let confidence = if domain.is_loose { Confidence::Medium } else { Confidence::High };
    Some(Mailbox { range: start..domain.end, name: join_name(local, &domain.name), confidence })
}

/// Returns an address with markup around its `@`, which readers of the page do not see: `ann**@**example.org`.
fn find_marked(bytes: Bytes<'_>, end: usize, start: usize) -> Option<Mailbox> {
    let domain = Domain::read(bytes, start, false)?;
    let local_start = find_local_start(bytes, end);
    let local = bytes.get(local_start..end).filter(|local| !local.is_empty())?;
    let is_known = classify(last_label(&domain.name)).has(TOP_LEVEL_DOMAIN);
    is_known.then(|| Mailbox {
        range: local_start..domain.end,
        name: join_name(local, &domain.name),
        confidence: Confidence::Medium,
    })
}

/// Returns where the markup starts that ends at a place: marks of emphasis and tags.
pub(super) fn find_markup_start(bytes: Bytes<'_>, end: usize) -> usize {
    let mut start = end;
    for _ in 0..MAX_MARKS {
        let before = run_start(bytes, start, MAX_TAG_BYTES, is_mark);
        start = if byte_before(bytes, before, 1) == b'>' { find_tag_start(bytes, before - 1) } else { before };
        if start == before || start == before - 1 {
            return before;
        }
    }
    start
}

/// Returns where the tag starts that is not closed until a place; the place if there is none.
pub(super) fn find_tag_start(bytes: Bytes<'_>, end: usize) -> usize {
    let start = run_start(bytes, end, MAX_TAG_BYTES, is_of_tag);
    let is_tag = byte_before(bytes, start, 1) == b'<' && (start == end || is_tag_start(bytes[start]));
    if is_tag { start - 1 } else { end }
}

/// Returns where the markup ends that starts at a place.
fn find_markup_end(bytes: Bytes<'_>, start: usize) -> usize {
    let mut end = start;
    for _ in 0..MAX_MARKS {
        let marks = run_end(bytes, end, MAX_TAG_BYTES, is_mark);
        if byte_at(bytes, marks) != b'<' || !is_tag_start(byte_at(bytes, marks + 1)) {
            return marks;
        }
        let tag = run_end(bytes, marks + 1, MAX_TAG_BYTES, is_of_tag);
        if byte_at(bytes, tag) != b'>' {
            return marks;
        }
        end = tag + 1;
    }
    end
}

/// Whether a byte is a mark of emphasis or code. An underline within a word is no mark.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'*' | b'`' | b'~')
}

fn is_tag_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!')
}

fn is_of_tag(byte: u8) -> bool {
    !matches!(byte, b'<' | b'>' | b'@' | b'\n')
}

/// Returns the address around a word or a bracketed word for the `@`.
pub(super) fn find_around_word(bytes: Bytes<'_>, word: Range<usize>, only_common: bool) -> Option<Mailbox> {
    let end = run_start(bytes, word.start, 2, is_blank);
    let start = find_local_start(bytes, end);
    let domain = Domain::read(bytes, run_end(bytes, word.end, 2, is_blank), true)?;
    let local = bytes.get(start..end).filter(|local| !local.is_empty())?;
    let is_believed = !only_common || classify(last_label(&domain.name)).has(TOP_LEVEL_DOMAIN);
    is_believed.then(|| Mailbox {
        range: start..domain.end,
        name: join_name(local, &domain.name),
        confidence: Confidence::Medium,
    })
}

/// Returns the address around a written-out point: `alice at example dot com`.
pub(super) fn find_around_dot(bytes: Bytes<'_>, dot: usize) -> Option<Mailbox> {
    const NO_DOMAIN: &[&str] =
        &["the", "a", "an", "this", "that", "our", "my", "your", "every", "each", "one", "red", "dot"];
    let label_end = run_start(bytes, dot, 2, |byte| is_blank(byte) || is_opening(byte));
    let label = run_start(bytes, label_end, 63, |byte| is_alnum(byte) || byte == b'-');
    if label == label_end || is_one_of(&bytes[label..label_end], NO_DOMAIN) {
        return None;
    }
    let word_end = run_start(bytes, label, 2, is_blank);
    let word = AT_WORDS.into_iter().find(|word| ends_with_at(bytes, word_end, word))?;
    let word_start = word_end - word.len();
    if word_end == label || !is_blank(byte_before(bytes, word_start, 1)) {
        return None;
    }
    let before = run_start(bytes, word_start, 2, is_blank);
    let local = &bytes[run_start(bytes, before, MAX_LOCAL_BYTES, is_local)..before];
    if NO_LOCAL.split(' ').any(|word| word.as_bytes().eq_ignore_ascii_case(local)) {
        return None;
    }
    let mut mailbox = find_around_word(bytes, word_start..word_end, true)?;
    // `alice dot smith at`: the part before may be written out, too.
    while let Some((start, label)) = find_label_before_dot(bytes, mailbox.range.start) {
        mailbox.range.start = start;
        mailbox.name = Text::from(format!("{label}.{}", mailbox.name));
        if mailbox.name.len() > MAX_LOCAL_BYTES + MAX_DOMAIN_BYTES {
            return None;
        }
    }
    Some(mailbox)
}

fn find_label_before_dot(bytes: Bytes<'_>, start: usize) -> Option<(usize, String)> {
    let dot_end = run_start(bytes, start, 2, is_blank);
    if dot_end == start || !ends_with_at(bytes, dot_end, "dot") {
        return None;
    }
    let label_end = run_start(bytes, dot_end - 3, 2, is_blank);
    let label = run_start(bytes, label_end, MAX_LOCAL_BYTES, is_local);
    let text = bytes.get(label..label_end).filter(|text| !text.is_empty() && label_end < dot_end - 3)?;
    Some((label, String::from_utf8_lossy(text).to_lowercase()))
}

/// Returns every bracketed `at` of a text, with its brackets.
pub(super) fn find_bracketed_at(bytes: Bytes<'_>) -> impl Iterator<Item = Range<usize>> {
    memchr::memchr3_iter(b'(', b'[', b'{', bytes.all()).filter_map(move |open| read_bracketed_at(bytes, open))
}

/// Returns the bracketed `at` whose bracket opens here.
pub(super) fn read_bracketed_at(bytes: Bytes<'_>, open: usize) -> Option<Range<usize>> {
    let word = run_end(bytes, open + 1, 2, is_blank);
    let at = AT_WORDS.into_iter().find(|at| starts_with_at(bytes, word, at))?;
    let close = run_end(bytes, word + at.len(), 2, is_blank);
    is_closing(byte_at(bytes, close)).then_some(open..close + 1)
}

/// Returns an address with blanks around its signs or between all of its letters.
fn find_spaced(bytes: Bytes<'_>, sign: usize) -> Option<Mailbox> {
    let end = run_start(bytes, sign, 3, |byte| is_blank(byte) || is_opening(byte));
    let begin = run_end(bytes, sign + 1, 3, |byte| is_blank(byte) || is_closing(byte));
    let domain = match Domain::read(bytes, begin, true) {
        Some(domain) => domain,
        None => Domain::read_spaced_letters(bytes, begin)?,
    };
    if !classify(last_label(&domain.name)).has(TOP_LEVEL_DOMAIN) {
        return None;
    }
    let mut start = find_local_start(bytes, end);
    let mut local = bytes.get(start..end)?.to_vec();
    if local.len() == 1 {
        // Single letters with single blanks in between.
        while start >= 2 && byte_before(bytes, start, 1) == b' ' && is_local(bytes[start - 2]) {
            if start >= 3 && !is_blank(bytes[start - 3]) || local.len() == MAX_LOCAL_BYTES {
                break;
            }
            start -= 2;
            local.push(bytes[start]);
        }
        local.reverse();
    }
    (!local.is_empty()).then(|| Mailbox {
        range: start..domain.end,
        name: join_name(&local, &domain.name),
        confidence: Confidence::Medium,
    })
}

/// Returns where the part before the `@` starts, if it ends here. Letters beyond ASCII belong to it only where no
/// others do: some scripts put no blank before an address.
fn find_local_start(bytes: Bytes<'_>, end: usize) -> usize {
    let mut start = run_start(bytes, end, MAX_LOCAL_BYTES, is_local);
    while end - start < MAX_LOCAL_BYTES && start >= 2 && is_spaced_letter(bytes, start - 2) {
        start = run_start(bytes, start - 2, MAX_LOCAL_BYTES.saturating_sub(end - start), is_local);
    }
    let start = match start < end {
        true => start,
        false => run_start(bytes, end, MAX_LOCAL_BYTES, |byte| byte >= 0x80 || is_local(byte)),
    };
    // Not in the middle of a character, and nothing that cannot start an address.
    let start = run_end(bytes, start, MAX_LOCAL_BYTES, |byte| byte & 0xC0 == 0x80);
    run_end(bytes, start, MAX_LOCAL_BYTES, |byte| matches!(byte, b'.' | b'-' | b'\'' | b'+' | b'%')).min(end)
}

pub(super) fn is_local(byte: u8) -> bool {
    is_alnum(byte) || matches!(byte, b'.' | b'_' | b'+' | b'-' | b'%' | b'\'')
}

pub(super) fn is_opening(byte: u8) -> bool {
    matches!(byte, b'(' | b'[' | b'{')
}

pub(super) fn is_closing(byte: u8) -> bool {
    matches!(byte, b')' | b']' | b'}')
}

/// Whether an address names no mailbox: a password in a URL, a repository, a handle, a label.
fn is_machine_name(bytes: Bytes<'_>, start: usize, sign: usize, end: usize) -> bool {
    let local = &bytes[start..sign];
    let token = run_start(bytes, start, 256, |byte| !is_blank(byte) && !matches!(byte, b'"' | b'\'' | b'/'));
    let is_in_url = ends_with_at(bytes, token, "://") && bytes[token..start].contains(&b':');
    let is_repository = is_one_of(local, &["git"]) && byte_at(bytes, end) == b':';
    let is_handle = byte_before(bytes, start, 1) == b'@';
    is_in_url || is_repository || is_handle || is_one_of(local, &["this", "super", "return"])
}

fn join_name(local: &[u8], domain: &[u8]) -> Text {
    let mut name = Vec::with_capacity(local.len() + 1 + domain.len());
    for part in [local, b"@", domain] {
        name.extend_from_slice(part);
    }
    name.make_ascii_lowercase();
    match std::str::from_utf8(&name) {
        Ok(name) if name.contains("xn--") => match name.split_once('@') {
            Some((local, domain)) => Text::from(format!("{local}@{}", mailbox_name::decode_domain(domain))),
            None => Text::from(name),
        },
        Ok(name) if name.is_ascii() => Text::from(name),
        Ok(name) => Text::from(name.to_lowercase()),
        Err(_) => Text::default(),
    }
}

fn last_label(domain: &[u8]) -> &[u8] {
    domain.rsplit(|byte| *byte == b'.').next().unwrap_or(domain)
}

/// Returns where the label of a domain ends that starts here. Some scripts put no blank after an address: a label has no
/// letters of theirs, or no others. Cyrillic, Greek, Hebrew and Arabic do, and some of their letters became ASCII.
fn find_label_end(bytes: Bytes<'_>, start: usize) -> usize {
    if byte_at(bytes, start) >= 0xE0 {
        return run_end(bytes, start, 63, |byte| byte >= 0x80);
    }
    let mut end = start;
    while end - start < 63 {
        match byte_at(bytes, end) {
            byte if is_alnum(byte) || byte == b'-' => end += 1,
            _ if is_spaced_letter(bytes, end) => end += 2,
            _ => break,
        }
    }
    end
}

/// Whether a letter of two bytes starts here: one of a script with blanks between words.
fn is_spaced_letter(bytes: Bytes<'_>, place: usize) -> bool {
    let is_letter = |pair: &[u8]| std::str::from_utf8(pair).is_ok_and(|pair| pair.starts_with(char::is_alphanumeric));
    byte_at(bytes, place) >= 0x80 && bytes.part(place..place + 2).is_some_and(is_letter)
}

/// The part after the `@`.
struct Domain {
    name: Vec<u8>,
    end: usize,
    /// Whether one of its points is written out or has blanks around it.
    is_loose: bool,
}

impl Domain {
    /// Reads the domain that starts here; with `hidden`, points may be written out and have blanks around them.
    fn read(bytes: Bytes<'_>, start: usize, hidden: bool) -> Option<Domain> {
        let mut domain = Domain { name: Vec::with_capacity(32), end: start, is_loose: false };
        let mut place = start;
        loop {
            let mut label_end = find_label_end(bytes, place);
            label_end = run_start(bytes, label_end, label_end - place, |byte| byte == b'-');
            let label = bytes.get(place..label_end).filter(|label| !label.is_empty() && label[0] != b'-');
            let Some(label) = label else { break };
            if !domain.name.is_empty() {
                domain.name.push(b'.');
            }
            domain.name.extend_from_slice(label);
            domain.end = label_end;
            place = label_end;
            match skip_point(bytes, place, hidden || !domain.name.contains(&b'.')) {
                Some(next) if domain.name.len() < MAX_DOMAIN_BYTES => {
                    domain.is_loose |= next != place + 1;
                    place = next;
                }
                _ => break,
            }
        }
        domain.is_whole().then_some(domain)
    }

    /// Reads `e x a m p l e . c o m`: single characters with single blanks in between.
    fn read_spaced_letters(bytes: Bytes<'_>, start: usize) -> Option<Domain> {
        let mut domain = Domain { name: Vec::new(), end: start, is_loose: true };
        let mut place = start;
        while is_alnum(byte_at(bytes, place)) || matches!(byte_at(bytes, place), b'.' | b'-') {
            let next = place + 1;
            if !matches!(byte_at(bytes, next), b' ' | 0)
                && !is_blank(byte_at(bytes, next))
                && is_alnum(byte_at(bytes, next))
            {
                break;
            }
            domain.name.push(bytes[place]);
            domain.end = next;
            if byte_at(bytes, next) != b' ' || domain.name.len() == MAX_DOMAIN_BYTES {
                break;
            }
            place = next + 1;
        }
        while domain.name.last() == Some(&b'.') {
            domain.name.pop();
        }
        domain.is_whole().then_some(domain)
    }

    fn is_whole(&self) -> bool {
        let last = last_label(&self.name);
        let is_name = last.len() >= 2 && last.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
        let is_encoded = last.len() > 4 && last[..4].eq_ignore_ascii_case(b"xn--");
        let is_believed =
            if self.is_loose { classify(last).has(TOP_LEVEL_DOMAIN) } else { !classify(last).has(FILE_EXTENSION) };
        last.len() < self.name.len() && (is_name || is_encoded) && is_believed
    }
}

/// Returns where the label after a point starts. With `loose`, a point may be written out or have blanks around it.
fn skip_point(bytes: Bytes<'_>, place: usize, loose: bool) -> Option<usize> {
    if byte_at(bytes, place) == b'.' {
        if is_alnum(byte_at(bytes, place + 1)) || byte_at(bytes, place + 1) >= 0x80 {
            return Some(place + 1);
        }
        return None;
    }
    if !loose {
        return None;
    }
    let open = run_end(bytes, place, 2, is_blank);
    let word = run_end(bytes, open, 2, |byte| is_opening(byte) || is_blank(byte));
    let word_end = word
        + match byte_at(bytes, word) {
            b'.' => 1,
            _ if starts_with_at(bytes, word, "dot") => 3,
            _ if ["punkt", "punto", "point"].iter().any(|point| starts_with_at(bytes, word, point)) => 5,
            _ => return None,
        };
    let next = run_end(bytes, word_end, 3, |byte| is_closing(byte) || is_blank(byte));
    // A word needs something that parts it from its neighbors, and so does a point: `example. Then` ends a sentence.
    let is_parted = word > place && next > word_end;
    (is_parted && is_alnum(byte_at(bytes, next))).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let sign = text.find('@')?;
        find_around_sign(text.into(), sign).map(|mailbox| mailbox.name.to_string())
    }

    #[test]
    fn email_is_found_around_its_sign() {
        let cases = [
            ("write to Alice.Smith+shop@Mail.Example.co.uk, please", "alice.smith+shop@mail.example.co.uk"),
            ("'bob@example.org'", "bob@example.org"),
            ("email=bob@example.org&x=1", "bob@example.org"),
            ("see bob@example.org.", "bob@example.org"),
            ("a l i c e @ e x a m p l e . c o m", "alice@example.com"),
            ("write to a l i c e @ e x a m p l e . c o m now", "alice@example.com"),
            ("alice @ example . com", "alice@example.com"),
            ("alice@example dot com", "alice@example.com"),
            ("alice(@)example.com", "alice@example.com"),
            ("邮箱alice@example.com。", "alice@example.com"),
            ("用户@例子.公司", "用户@例子.公司"),
            ("send it to gro.pohs@ollah, please", "hallo@shop.org"),
            ("moc.liam@eod.enaj", "jane.doe@mail.com"),
            ("ten.user@mail.com", "ten.user@mail.com"),
            ("bob@xn--bcher-kva.example", "bob@bücher.example"),
        ];
        for (text, name) in cases {
            assert_eq!(found(text).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn email_lookalikes_are_not_found() {
        let texts = [
            "icon@2x.png",
            "user@localhost",
            "npm i left-pad@1.3.0",
            "@alice",
            "git@github.com:org/repo.git",
            "5 @ 3.50",
            "https://user:secret@example.com/x",
            "@alice@social.example",
            "this@Main.finish",
            "a@",
            "@",
            "@@",
            "meet @ noon",
        ];
        for text in texts {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
