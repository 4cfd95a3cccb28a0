//! The countries of phone numbers: their codes, how many digits follow, and the zero that is dialed only at home.

/// The shape of a country's numbers.
pub(super) struct Country {
    /// How many digits its code has.
    pub(super) code: usize,
    /// How many digits follow at least.
    pub(super) least: usize,
    /// How many digits follow at most.
    pub(super) most: usize,
    /// Whether a zero before the number is dialed only within the country.
    pub(super) has_trunk_zero: bool,
    /// Whether a zero before the number belongs to it, also in brackets.
    pub(super) keeps_zero: bool,
}

/// The most digits of a number with its country code (ITU-T E.164).
pub(super) const MAX_DIGITS: usize = 15;

const TWO_DIGIT_CODES: &str = " 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 \
     66 81 82 84 86 90 91 92 93 94 95 98 ";

/// The countries whose numbers have fewer digits at most.
const MAX_DIGITS_BY_CODE: &[(&str, usize)] = &[
    ("30", 10),
    ("31", 9),
    ("32", 9),
    ("33", 9),
    ("34", 9),
    ("36", 9),
    ("39", 11),
    ("40", 9),
    ("41", 9),
    ("44", 10),
    ("45", 8),
    ("46", 9),
    ("47", 8),
    ("48", 9),
    ("49", 11),
    ("52", 10),
    ("55", 11),
    ("61", 9),
    ("81", 10),
    ("86", 11),
    ("90", 10),
    ("91", 10),
    ("351", 9),
    ("353", 9),
    ("358", 10),
    ("380", 9),
    ("420", 9),
];

/// Small countries, some of whose numbers have only four or five digits.
const SHORT_CODES: &[(&str, usize)] = &[
    ("247", 5),
    ("290", 5),
    ("500", 5),
    ("676", 5),
    ("677", 5),
    ("678", 5),
    ("682", 5),
    ("683", 4),
    ("685", 5),
    ("686", 5),
    ("688", 5),
    ("690", 4),
];

/// The countries within which a zero is dialed first, that has no place after the country code.
const TRUNK_ZERO_CODES: &str =
    " 20 27 31 32 33 40 41 43 44 46 49 60 61 62 64 66 81 82 84 86 90 91 92 94 98 353 358 380 381 385 386 ";

/// The countries whose numbers start with a zero that belongs to them.
const KEPT_ZERO_CODES: &str = " 39 225 241 242 378 379 ";

/// Returns the country whose code a number starts with.
pub(super) fn find_country(digits: &str) -> Option<Country> {
    if digits.starts_with(['1', '7']) {
        return Some(Country { code: 1, least: 10, most: 10, has_trunk_zero: false, keeps_zero: false });
    }
    if digits.starts_with('0') {
        return None;
    }
    let has_two = digits.get(..2).is_some_and(|two| is_listed(TWO_DIGIT_CODES, two));
    let code = if has_two { 2 } else { 3 };
    let head = digits.get(..code).unwrap_or(digits);
    let digits_of = |table: &[(&str, usize)]| table.iter().find(|(known, _)| *known == head).map(|(_, digits)| *digits);
    Some(Country {
        code,
        least: digits_of(SHORT_CODES).unwrap_or(6),
        most: digits_of(MAX_DIGITS_BY_CODE).unwrap_or(MAX_DIGITS - code),
        has_trunk_zero: is_listed(TRUNK_ZERO_CODES, head),
        keeps_zero: is_listed(KEPT_ZERO_CODES, head),
    })
}

fn is_listed(list: &str, code: &str) -> bool {
    list.split(' ').any(|known| known == code)
}
