//! The spelling of mailboxes with letters beyond ASCII.
//!
//! Folding turns `ü` into `u`, which finds a mailbox however it is disguised. But `müller.de` and `muller.de` are two
//! domains, and `xn--mller-kva.de` is the first of them. So the name of a mailbox keeps the letters of its own script, and
//! loses look-alikes of another one.

use lictor_json::Text;
use unicode_normalization::UnicodeNormalization;

use super::fold::fold;
use super::glyph::{Glyph, is_mark, read_glyph};
use super::reading::TextReadings;

/// The most letters of a label (RFC 1034).
const MAX_LABEL_LETTERS: usize = 63;

/// Returns the name of a mailbox as its original spells it; none if that has other parts than the folded name.
pub(super) fn respell(original: &str, folded: &str) -> Option<Text> {
    if original.is_ascii() && !original.contains(['%', '&', '\\']) {
        return None;
    }
    let readings = TextReadings::new(original);
    // Text that the original hides comes after it.
    let visible = readings.decoded.lines().next()?;
    let mut plain = String::new();
    visible.nfkc().for_each(|letter| push_letter(letter, &mut plain));
    // A word for the `@` has blanks or brackets around it.
    let (local, domain) = plain.split_once('@').or_else(|| plain.rsplit_once([' ', ')', ']', '}']))?;
    let local = local.split([' ', '(', '[', '{']).next()?;
    let (folded_local, folded_domain) = folded.split_once('@')?;
    // What parts the signs of a disguised name, as in `@] example . com`, is no letter of it.
    let domain: String =
        domain.chars().filter(|letter| !letter.is_whitespace() && !"()[]{}".contains(*letter)).collect();
    let labels: Vec<&str> = domain.split('.').collect();
    if labels.len() != folded_domain.split('.').count() {
        return None;
    }
    let labels = labels.into_iter().zip(folded_domain.split('.')).map(|(label, folded)| choose(label, folded));
    let local = choose(local, folded_local);
    Some(Text::from(format!("{local}@{}", labels.collect::<Vec<_>>().join("."))))
}

/// Returns a domain with the labels that are written in ASCII for other letters (RFC 3492) in those letters.
pub(super) fn decode_domain(domain: &str) -> String {
    let decode = |label: &str| match label.strip_prefix("xn--").filter(|it| !it.is_empty()).and_then(decode_label) {
        Some(decoded) => decoded.nfkc().flat_map(char::to_lowercase).collect(),
        None => label.to_owned(),
    };
    domain.split('.').map(decode).collect::<Vec<String>>().join(".")
}

/// Adds a letter as it reads in a name: in lower case, signs like points as in ASCII.
fn push_letter(letter: char, name: &mut String) {
    match read_glyph(letter) {
        Glyph::Ascii(looks) if !looks.bytes().all(|byte| byte.is_ascii_alphanumeric()) => name.push_str(looks),
        Glyph::Digit(digit) => name.push(digit),
        _ if is_mark(letter) => {}
        _ => name.extend(letter.to_lowercase()),
    }
}

/// Returns the part of a name that is meant: as it is, unless it mixes scripts or only looks like another.
fn choose<'t>(part: &'t str, folded: &'t str) -> &'t str {
    let is_latin = |letter: char| matches!(letter as u32, 0..0x250 | 0x1E00..0x1F00);
    let has_latin = part.chars().any(|letter| letter.is_alphabetic() && is_latin(letter));
    let has_other = part.chars().any(|letter| letter.is_alphabetic() && !is_latin(letter));
    let is_disguise = has_other && (has_latin || fold(part, false).text.is_ascii());
    if is_disguise { folded } else { part }
}

/// Decodes a label after its prefix, by the algorithm of RFC 3492.
fn decode_label(encoded: &str) -> Option<String> {
    const BASE: u32 = 36;
    let (plain, digits) = encoded.rsplit_once('-').unwrap_or(("", encoded));
    let mut letters: Vec<char> = plain.chars().collect();
    let (mut code, mut place, mut bias) = (128_u32, 0_u32, 72);
    let mut digits = digits.bytes().peekable();
    while digits.peek().is_some() {
        let (before, mut weight, mut step) = (place, 1_u32, BASE);
        loop {
            let digit = match digits.next()? {
                letter @ b'a'..=b'z' => letter - b'a',
                number @ b'0'..=b'9' => number - b'0' + 26,
                _ => return None,
            };
            place = place.checked_add(u32::from(digit).checked_mul(weight)?)?;
            let threshold = step.saturating_sub(bias).clamp(1, 26);
            if u32::from(digit) < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            step += BASE;
        }
        let count = letters.len() as u32 + 1;
        bias = adapt_bias(place - before, count, before == 0);
        code = code.checked_add(place / count)?;
        place %= count;
        letters.insert(place as usize, char::from_u32(code)?);
        place += 1;
        if letters.len() > MAX_LABEL_LETTERS {
            return None;
        }
    }
    Some(letters.into_iter().collect())
}

fn adapt_bias(delta: u32, count: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut bias = 0;
    while delta > 455 {
        delta /= 35;
        bias += 36;
    }
    bias + 36 * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mailbox_domain_in_ascii_is_decoded() {
        for (encoded, decoded) in [
            ("xn--mller-kva.de", "müller.de"),
            ("xn--80a1acny.xn--p1ai", "почта.рф"),
            ("xn--fsqu00a.xn--fiqs8s", "例子.中国"),
            ("example.org", "example.org"),
            ("xn--99999999.de", "xn--99999999.de"),
            ("xn--.de", "xn--.de"),
        ] {
            assert_eq!(decode_domain(encoded), decoded, "{encoded}");
        }
    }

    #[test]
    fn mailbox_keeps_letters_of_its_script() {
        for (original, folded, wanted) in [
            ("Info@Müller.de", "info@muller.de", "info@müller.de"),
            ("info@mu\u{308}ller.de", "info@muller.de", "info@müller.de"),
            ("info%40m%C3%BCller.de", "info@muller.de", "info@müller.de"),
            ("user@почта.рф", "user@noчta.pф", "user@почта.рф"),
            ("info [at] müller.de", "info@muller.de", "info@müller.de"),
            ("аlice@exаmple.com", "alice@example.com", "alice@example.com"),
            ("ｎｏｒａ＠mail．example", "nora@mail.example", "nora@mail.example"),
            ("no\u{200b}ra@mail。example", "nora@mail.example", "nora@mail.example"),
            ("4.8.b\u{200b}@]  e.co", "4.8.b@e.co", "4.8.b@e.co"),
            ("info @ müller . de", "info@muller.de", "info@müller.de"),
        ] {
            assert_eq!(respell(original, folded).as_deref(), Some(wanted), "{original}");
        }
        assert_eq!(respell("ann@example.org", "ann@example.org"), None);
    }
}
