//! Street addresses: a number and a street, in the order and with the words of several languages.

use std::ops::Range;

use super::bytes::{Bytes, byte_at, byte_before, ends_with_at, is_alnum, is_one_of, run_end, run_start};
use super::vocabulary::{FRENCH_STREET, IN_STREET_NAME, NOT_STREET_NAME, STREET, STREET_NAME, classify};

/// Endings of words that are streets in German, Dutch and Scandinavian languages.
pub(super) const STREET_ENDINGS: &[&str] =
    &["strasse", "str.", "str", "straat", "gracht", "gatan", "gade", "gasse", "chaussee", "stieg", "singel"];
/// Endings that make a street only in names.
pub(super) const NAMED_ENDINGS: &[&str] = &[
    "weg", "platz", "allee", "laan", "plein", "kade", "ufer", "vej", "vagen", "veien", "gate", "vegen", "vegur",
    "katu", "kuja", "utca", "ulica",
];

/// Names of the post office before a box.
pub(super) const POST_OFFICES: [&str; 5] = ["p.o.", "po", "p.o", "p. o.", "post office"];

/// Returns the street that a number starts or ends.
pub(super) fn find_around_number(bytes: Bytes<'_>, start: usize, end: usize) -> Option<Range<usize>> {
    if end - start > 5 {
        return None;
    }
    match byte_at(bytes, end) {
        b' ' | b',' | b'-' | b'/' | b'a'..=b'z' | b'A'..=b'Z'
            if !matches!(byte_before(bytes, start, 1), b'$' | b'.' | b'#' | b':') =>
        {
            if let Some(range) = find_after_number(bytes, start, end) {
                return Some(range);
            }
        }
        _ => {}
    }
    find_before_number(bytes, start, end)
}

/// Returns a street after its number: `742 Evergreen Terrace`, `12 bis, rue de la Paix`, `221B Baker Street`.
fn find_after_number(bytes: Bytes<'_>, start: usize, end: usize) -> Option<Range<usize>> {
    let mut place = skip_house_number(bytes, end)?;
    let mut has_name = false;
    let mut all_names = true;
    for position in 0..6 {
        let gap = run_end(bytes, place, 2, |byte| matches!(byte, b' ' | b','));
        if gap == place || has_name && byte_at(bytes, place) == b',' {
            return None;
        }
        place = gap;
        let word_end = run_end(bytes, place, 24, |byte| is_alnum(byte) || matches!(byte, b'\'' | b'-') || byte >= 0x80);
        let word = bytes.get(place..word_end).filter(|word| !word.is_empty())?;
        let is_name = word[0].is_ascii_uppercase() || word[0].is_ascii_digit() || word[0] >= 0x80;
        let point = usize::from(byte_at(bytes, word_end) == b'.' && (is_abbreviation(word) || word.len() == 1));
        if position == 0 && is_one_of(word, &["bis", "ter"]) {
            place = word_end;
            continue;
        }
        let class = classify(word);
        if !has_name && class.has(FRENCH_STREET) && starts_french_name(bytes, word_end + point) {
            return Some(start..find_name_end(bytes, word_end + point));
        }
        if has_name && class.has(STREET) && ends_street(bytes, word, word_end) {
            return Some(start..extend_to_town(bytes, word_end + point));
        }
        if has_name && all_names && is_name && class.has(STREET_NAME) {
            return Some(start..extend_to_town(bytes, word_end + point));
        }
        if class.has(NOT_STREET_NAME) {
            return None;
        }
        has_name = true;
        all_names &= is_name;
        place = word_end + point;
    }
    None
}

/// Whether a word ends a street: not if another noun follows, as in `3 main road closures`.
fn ends_street(bytes: Bytes<'_>, word: &[u8], end: usize) -> bool {
    let next = run_end(bytes, end, 1, |byte| byte == b' ');
    let following = run_end(bytes, next, 12, |byte| byte.is_ascii_alphabetic());
    let is_noun = next > end
        && is_one_of(&bytes[next..following], &["closures", "works", "trips", "tests", "signs", "food", "art"]);
    word.len() > 1 && !is_noun
}

fn starts_french_name(bytes: Bytes<'_>, end: usize) -> bool {
    let next = run_end(bytes, end, 1, |byte| byte == b' ');
    let word_end = run_end(bytes, next, 16, |byte| byte.is_ascii_alphabetic());
    let word = &bytes[next..word_end];
    next > end
        && (word.first().is_some_and(u8::is_ascii_uppercase)
            || word.len() > 1 && classify(word).has(IN_STREET_NAME)
            || is_one_of(word, &["l", "d"]) && byte_at(bytes, word_end) == b'\'')
}

/// Skips the letter or the second number of a house: `12a`, `12 B`, `12-14`, `7/18`.
fn skip_house_number(bytes: Bytes<'_>, end: usize) -> Option<usize> {
    match byte_at(bytes, end) {
        b' ' | b',' => Some(end),
        b'-' | b'/' => {
            let second = run_end(bytes, end + 1, 5, |byte| byte.is_ascii_digit());
            (second > end + 1 && byte_at(bytes, second) == b' ').then_some(second)
        }
        letter if letter.is_ascii_alphabetic() && matches!(byte_at(bytes, end + 1), b' ' | b',') => Some(end + 1),
        _ => None,
    }
}

/// Returns a street before its number: `Hauptstraße 5`, `Berliner Allee 10a`, `Kerkstraat 12`.
fn find_before_number(bytes: Bytes<'_>, start: usize, end: usize) -> Option<Range<usize>> {
    let word_end = run_start(bytes, start, 2, |byte| matches!(byte, b' ' | b','));
    let house_end = skip_flat_numbers(bytes, end);
    if word_end == start || end - start > 4 || !is_house_number(bytes, house_end) {
        return None;
    }
    let word_start = run_start(bytes, word_end, 32, |byte| {
        byte.is_ascii_alphabetic() || matches!(byte, b'.' | b'-') || byte >= 0x80
    });
    let word = &bytes[word_start..word_end];
    if word.len() < 3 {
        return None;
    }
    // Most words are none, and their last letters show it.
    let last =
        [word[word.len() - 3], word[word.len() - 2], word[word.len() - 1]].map(|letter| letter.to_ascii_lowercase());
    let may_end = matches!(
        &last,
        b"sse"
            | b"tr."
            | b"str"
            | b"aat"
            | b"cht"
            | b"tan"
            | b"ade"
            | b"see"
            | b"ieg"
            | b"gel"
            | b"weg"
            | b"atz"
            | b"lee"
            | b"aan"
            | b"ein"
            | b"fer"
            | b"vej"
            | b"gen"
            | b"ien"
            | b"ate"
            | b"gur"
            | b"atu"
            | b"uja"
            | b"tca"
            | b"ica"
    );
    if !may_end {
        return None;
    }
    let is_name = word[0].is_ascii_uppercase();
    let is_year = end - start == 4 && matches!(&bytes[start..start + 2], b"19" | b"20");
    let ending = STREET_ENDINGS.iter().find(|ending| ends_with_at(bytes, word_end, ending));
    let ending = match ending {
        Some(ending) if is_name || word.len() > ending.len() + 3 => ending,
        Some(_) => return None,
        None if is_name && !is_year => NAMED_ENDINGS.iter().find(|ending| ends_with_at(bytes, word_end, ending))?,
        None => return None,
    };
    let mut first = word_start;
    if word.len() == ending.len() {
        // A word of its own needs a name: `Berliner Allee`.
        let name_end = run_start(bytes, word_start, 1, |byte| byte == b' ');
        first = run_start(bytes, name_end, 24, |byte| byte.is_ascii_alphabetic() || byte == b'-');
        if name_end == word_start || !byte_at(bytes, first).is_ascii_uppercase() || first + 2 > name_end {
            return None;
        }
    } else if word.len() < ending.len() + 3 {
        return None;
    }
    let letter = usize::from(byte_at(bytes, house_end).is_ascii_alphabetic());
    Some(first..extend_to_town(bytes, house_end + letter))
}

/// Skips the numbers of a staircase and a flat after that of a house: `18-2`, `63/2/11`.
fn skip_flat_numbers(bytes: Bytes<'_>, end: usize) -> usize {
    let mut place = end;
    for _ in 0..2 {
        let next = run_end(bytes, place + 1, 4, |byte| byte.is_ascii_digit());
        if !matches!(byte_at(bytes, place), b'-' | b'/') || !matches!(next - place, 2..=4) {
            break;
        }
        place = next;
    }
    place
}

/// Whether a number can end a street: nothing that makes it an amount, a time, a date follows.
fn is_house_number(bytes: Bytes<'_>, end: usize) -> bool {
    let next = byte_at(bytes, end);
    let letter = next.is_ascii_alphabetic() && !is_alnum(byte_at(bytes, end + 1));
    let mark = matches!(next, b'.' | b'-' | b'/' | b':') && byte_at(bytes, end + 1).is_ascii_digit();
    letter || !is_alnum(next) && !mark && !matches!(next, b'%' | b':')
}

/// Returns the end of `Calle Mayor 5`, `Via Roma, 12` or `Rua das Flores nº 7`, from the end of the first word.
pub(super) fn find_after_cue(bytes: Bytes<'_>, start: usize, cue: &[u8]) -> Option<usize> {
    let is_capital = cue.first().is_some_and(u8::is_ascii_uppercase);
    let mut place = start + usize::from(byte_at(bytes, start) == b'.');
    let mut has_name = false;
    for _ in 0..7 {
        let gap = run_end(bytes, place, 2, |byte| matches!(byte, b' ' | b','));
        if gap == place {
            return None;
        }
        place = gap;
        if byte_at(bytes, place).is_ascii_digit() {
            let end = run_end(bytes, place, 6, |byte| byte.is_ascii_digit());
            let is_year = end - place == 4 && matches!(&bytes[place..place + 2], b"19" | b"20");
            // `via` is also English: there the number must be the last word.
            let is_last = byte_at(bytes, end) != b' ' || !byte_at(bytes, end + 1).is_ascii_lowercase();
            let fits =
                has_name && end - place <= 4 && !is_year && is_house_number(bytes, end) && (is_capital || is_last);
            return fits.then(|| extend_to_town(bytes, end));
        }
        let word_end = run_end(bytes, place, 24, |byte| {
            byte.is_ascii_alphabetic() || matches!(byte, b'\'' | b'-') || byte >= 0x80
        });
        let word = bytes.get(place..word_end).filter(|word| !word.is_empty())?;
        let is_name = word[0].is_ascii_uppercase() && !word.iter().skip(1).all(u8::is_ascii_uppercase);
        if !is_name && !classify(word).has(IN_STREET_NAME) && !is_one_of(word, &["n", "no", "num", "numero", "nr"]) {
            return None;
        }
        has_name |= is_name;
        place = word_end + usize::from(byte_at(bytes, word_end) == b'.' || byte_at(bytes, word_end) >= 0x80);
    }
    None
}

/// Returns the post box at a cue: `P.O. Box 123`, `Postfach 10 20 30`.
pub(super) fn find_post_box(bytes: Bytes<'_>, cue: Range<usize>) -> Option<Range<usize>> {
    let mut start = cue.start;
    if bytes[cue.clone()].eq_ignore_ascii_case(b"box") {
        let office = run_start(bytes, cue.start, 2, |byte| byte == b' ');
        let length = POST_OFFICES.into_iter().find(|office_name| ends_with_at(bytes, office, office_name))?.len();
        start = office - length;
        if is_alnum(byte_before(bytes, start, 1)) {
            return None;
        }
    }
    let number = run_end(bytes, cue.end, 4, |byte| matches!(byte, b' ' | b'#' | b':'));
    let end = run_end(bytes, number, 8, |byte| byte.is_ascii_digit());
    (end > number && number > cue.end).then(|| start..extend_to_town(bytes, end))
}

/// Returns the end of an address after a label, on the same line: words and a number, with any street name.
pub(super) fn find_labeled(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let end =
        run_end(bytes, start, 80, |byte| !matches!(byte, b'\n' | b'\r' | b'"' | b';' | b'{' | b'}' | b'|' | b'<'));
    let line = Bytes::from(&bytes[start..end]);
    let is_url = line.contains(&b'@') || memchr::memmem::find(&line, b"://").is_some();
    let number_first = run_end(line, 0, 5, |byte| byte.is_ascii_digit());
    let word = run_end(line, number_first, 1, |byte| byte == b' ');
    let is_numbered = number_first > 0 && word > number_first && byte_at(line, word).is_ascii_uppercase();
    let name = run_end(line, 0, 24, |byte| {
        byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'.' | b'\'' | b'-') || byte >= 0x80
    });
    let number = run_end(line, name, 5, |byte| byte.is_ascii_digit());
    let is_named = name > 3
        && byte_at(line, 0).is_ascii_uppercase()
        && byte_at(line, name - 1) == b' '
        && (1..=4).contains(&(number - name))
        && is_house_number(line, number);
    (!is_url && (is_numbered || is_named))
        .then(|| start + line.iter().rposition(|byte| is_alnum(*byte)).map_or(0, |last| last + 1))
}

/// Returns the end of the name of a French street: small words and names.
fn find_name_end(bytes: Bytes<'_>, start: usize) -> usize {
    let mut end = start;
    for _ in 0..6 {
        let word = run_end(bytes, end, 1, |byte| byte == b' ');
        let word_end =
            run_end(bytes, word, 24, |byte| byte.is_ascii_alphabetic() || matches!(byte, b'\'' | b'-') || byte >= 0x80);
        let is_part = word_end > word
            && word > end
            && (bytes[word].is_ascii_uppercase()
                || classify(&bytes[word..word_end]).has(IN_STREET_NAME)
                || bytes[word..word_end].contains(&b'\''));
        if !is_part {
            break;
        }
        end = word_end;
    }
    extend_to_town(bytes, end)
}

/// Extends an address by a town and a postal code that follow, in either order; returns its end.
fn extend_to_town(bytes: Bytes<'_>, end: usize) -> usize {
    let word_after = |place: usize, parts: fn(u8) -> bool| {
        let start = run_end(bytes, place, 2, parts);
        let end = run_end(bytes, start, 24, |byte| is_alnum(byte) || byte == b'-' || byte >= 0x80);
        (start > place && end > start).then_some((start, end))
    };
    let mut place = end;
    for position in 0..7 {
        let Some((start, word_end)) = word_after(place, |byte| matches!(byte, b' ' | b',' | b'\n')) else { break };
        let word = &bytes[start..word_end];
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        if matches!(digits, 4..=6 | 9) && word[0].is_ascii_digit() {
            let mut town_end = word_end;
            // A code that comes first has its town after it.
            while position == 0
                && let Some((start, end)) = word_after(town_end, |byte| byte == b' ')
                && bytes[start].is_ascii_uppercase()
            {
                town_end = end;
            }
            return town_end;
        }
        if !word[0].is_ascii_uppercase() && digits == 0 {
            break;
        }
        place = word_end;
    }
    end
}

/// Whether a word is an abbreviation of a street type, with its own point.
fn is_abbreviation(word: &[u8]) -> bool {
    is_one_of(word, &["st", "ave", "rd", "blvd", "dr", "ln", "ct", "pl", "sq", "hwy", "pkwy", "cir", "av", "bd"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<&str> {
        let bytes = Bytes::from(text);
        let start = bytes.iter().position(u8::is_ascii_digit)?;
        let end = run_end(bytes, start, 9, |byte| byte.is_ascii_digit());
        find_around_number(bytes, start, end).map(|range| &text[range])
    }

    #[test]
    fn street_is_found_around_its_number() {
        for text in [
            "742 Evergreen Terrace",
            "221B Baker Street",
            "1600 Pennsylvania Ave.",
            "12 Main St",
            "45 oak lane",
            "200 W 42nd Street",
            "5 King's Court",
            "12 rue de la Paix, 75002 Paris",
            "12 bis, avenue Foch",
            "8 boulevard des Capucines",
            "Hauptstrasse 5, 10115 Berlin",
            "Hauptstr. 5a",
            "Berliner Allee 10",
            "Kerkstraat 12",
            "Lindenweg 3",
            "1 Microsoft Way, Redmond, WA 98052",
            "12-14 High Street",
        ] {
            assert_eq!(found(text), Some(text));
        }
        assert_eq!(found("live at 742 Evergreen Terrace, thanks"), Some("742 Evergreen Terrace"));
    }

    #[test]
    fn street_endings_pass_the_quick_check() {
        for ending in STREET_ENDINGS.iter().chain(NAMED_ENDINGS) {
            let text = format!("Linden{ending} 5");
            assert_eq!(found(&text), Some(text.as_str()));
        }
    }

    #[test]
    fn street_lookalikes_are_not_found() {
        for text in [
            "2 items on the way",
            "5 minutes drive",
            "3 lane road",
            "10 people in the street",
            "24 Hour Road Assistance",
            "2 tickets",
            "Spring 2024",
            "Version 5",
            "on May 5",
            "Parkplatz 2024",
            "a 5 star place",
            "50 percent off Main St",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
