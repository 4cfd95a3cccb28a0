//! One spelling for each identifier of a person, so that two spellings of one identifier compare equal.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{BUILTIN_CATEGORIES, Builtin, Recogniser};
use crate::fold::fold;
use lictor_json::Text;

/// The fewest digits of an identifier that may have several spellings: those of a phone number.
const MIN_DIGITS: usize = 7;

/// The most bytes of an identifier: those of a mailbox (RFC 5321). Longer texts are no identifiers.
const MAX_IDENTIFIER_BYTES: usize = 320;

/// The fewest characters of a value that identifies: the last four digits of a card, its code or a postal code do not.
const MIN_VALUE_BYTES: usize = 5;

/// Returns an identifier of a person in the form in which [`PersonalData::subjects`](crate::PersonalData) holds it:
/// mailboxes in lower case, phone numbers as `+` and digits where the country is known, accounts, cards and government
/// ids without blanks and marks, in upper case. Any other text is only trimmed.
///
/// ```
/// use lictor_recognise::normalize_identifier;
///
/// assert_eq!(normalize_identifier("Alice@Example.com"), "alice@example.com");
/// assert_eq!(normalize_identifier("+49 (0)170 123 45 67"), normalize_identifier("0049-170-1234567"));
/// assert_eq!(normalize_identifier("de89 3704 0044 0532 0130 00"), "DE89370400440532013000");
/// assert_eq!(normalize_identifier(" customer-17 "), "customer-17");
/// ```
pub fn normalize_identifier(text: &str) -> Cow<'_, str> {
    static BUILTIN: LazyLock<Recogniser> = LazyLock::new(Recogniser::builtin);
    let text = text.trim();
    let may_vary = text.contains(['@', '%', '&', '\\'])
        || !text.is_ascii()
        || text.bytes().filter(u8::is_ascii_digit).count() >= MIN_DIGITS;
    if !may_vary {
        return Cow::Borrowed(text);
    }
    if text.len() > MAX_IDENTIFIER_BYTES {
        return if text.contains('@') { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) };
    }
    let identifying = [Builtin::Email, Builtin::Phone, Builtin::Iban, Builtin::Payment, Builtin::GovId];
    let whole = BUILTIN.spans(text).into_iter().filter(|span| span.range == (0..text.len()));
    let whole = whole.filter_map(|span| {
        let category = identifying.into_iter().find(|known| BUILTIN_CATEGORIES[*known as usize] == span.category)?;
        let subject = span.subject.unwrap_or_else(|| normalize_value(category as u16, text));
        Some((span.confidence, subject))
    });
    match whole.max_by_key(|(confidence, _)| *confidence) {
        Some((_, subject)) => Cow::Owned(subject.to_string()),
        None if text.contains('@') => Cow::Owned(text.to_lowercase()),
        None => Cow::Borrowed(text),
    }
}

/// Returns a value of a category in its one spelling: numbers of built-in categories lose their blanks and marks.
pub(super) fn normalize_value(category: u16, value: &str) -> Text {
    let has_marks = [Builtin::Iban, Builtin::Payment, Builtin::GovId].iter().any(|known| *known as u16 == category);
    if !has_marks {
        return Text::from(value.trim());
    }
    let letters = fold(value, false).text.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
    Text::from(letters.to_uppercase())
}

/// Whether a value of a built-in category is long enough to identify somebody.
pub(super) fn is_identifying(value: &str) -> bool {
    value.len() >= MIN_VALUE_BYTES
}
