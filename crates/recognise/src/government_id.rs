//! Government ids of persons, by shape and check digits; and bank accounts, which look alike.

use std::ops::Range;

use super::Confidence;
use super::bytes::{Bytes, byte_at, byte_before, is_alnum, run_end, run_start};
use super::check;
use super::date;
use super::groups::Groups;

/// The kind of a number with letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetteredNumber {
    /// A bank account.
    Account,
    /// A government id of a person, by its letters.
    Person,
    /// A government id of a person, by its check letter.
    CheckedPerson,
}

/// Returns what the letters before a digit and the digits from there on are together.
pub(super) fn find_lettered(bytes: Bytes<'_>, digit: usize) -> Option<(LetteredNumber, Range<usize>)> {
    // `X-1234567-L` has a mark between its letter and its digits, all others have none.
    let start = match byte_before(bytes, digit, 1) {
        b'-' => digit.checked_sub(2)?,
        _ => run_start(bytes, digit, 7, |byte| byte.is_ascii_alphabetic()),
    };
    if is_alnum(byte_before(bytes, start, 1)) {
        return None;
    }
    let is_whole = |end: &usize| !is_alnum(byte_at(bytes, *end));
    match &bytes[start..digit] {
        [letter] | [letter, b'-'] if matches!(letter | 0x20, b'x' | b'y' | b'z') => {
            find_nie(bytes, start, digit).map(|end| (LetteredNumber::CheckedPerson, start..end))
        }
        [first, second] if second.is_ascii_alphabetic() => match find_account(bytes, start).filter(is_whole) {
            Some(end) => Some((LetteredNumber::Account, start..end)),
            None => find_nino(bytes, [*first, *second], digit)
                .filter(is_whole)
                .map(|end| (LetteredNumber::Person, start..end)),
        },
        letters if letters.len() == 6 => {
            let fits = bytes.part(start..start + 16).is_some_and(check::is_codice_fiscale) && is_whole(&(start + 16));
            fits.then_some((LetteredNumber::CheckedPerson, start..start + 16))
        }
        _ => None,
    }
}

fn find_nie(bytes: Bytes<'_>, start: usize, digit: usize) -> Option<usize> {
    let end = run_end(bytes, digit, 8, |byte| byte.is_ascii_digit());
    let letter = end + usize::from(byte_at(bytes, end) == b'-');
    let fits = end - digit == 7
        && byte_at(bytes, letter).is_ascii_alphabetic()
        && check::is_dni(&bytes[digit..end], bytes[start], bytes[letter])
        && !is_alnum(byte_at(bytes, letter + 1));
    fits.then_some(letter + 1)
}

/// Returns the end of the account that starts here, by its country, its length and its check digits.
pub(super) fn find_account(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let length = check::iban_length(bytes.part(start..start + 2)?)?;
    let (account, end) = read_spaced(bytes, start, length, |_| true)?;
    (account.len() == length && check::is_iban(&account)).then_some(end)
}

/// Returns the end of an account that a word announced: the shape is enough.
pub(super) fn find_announced_account(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let head = bytes.part(start..start + 4)?;
    let is_headed = head[..2].iter().all(u8::is_ascii_alphabetic) && head[2..].iter().all(u8::is_ascii_digit);
    if !is_headed {
        return None;
    }
    if let Some(end) = find_account(bytes, start) {
        return Some(end);
    }
    let whole = run_end(bytes, start, 35, is_alnum);
    if whole - start >= 14 {
        return (whole - start <= 34).then_some(whole);
    }
    // Groups of four, the last of which may be shorter.
    let is_group = |group: &[u8]| {
        group.iter().any(u8::is_ascii_digit) || group.len() == 4 && !group.iter().any(u8::is_ascii_lowercase)
    };
    let (account, end) = read_spaced(bytes, start, 34, is_group)?;
    (account.len() >= 14).then_some(end)
}

/// Reads at most so many letters and digits, with marks between groups that belong to it; returns them in upper case.
fn read_spaced(
    bytes: Bytes<'_>,
    start: usize,
    most: usize,
    belongs: impl Fn(&[u8]) -> bool,
) -> Option<(Vec<u8>, usize)> {
    let mut account = Vec::with_capacity(most);
    let (mut place, mut end) = (start, start);
    while account.len() < most {
        let byte = byte_at(bytes, place);
        if is_alnum(byte) {
            account.push(byte.to_ascii_uppercase());
            end = place + 1;
        } else if matches!(byte, b' ' | b'-' | b'.' | b'\n' | b'\r' | b'\t') && place - end < 2 {
            let group = run_end(bytes, place, 2, |byte| !is_alnum(byte));
            if !belongs(&bytes[group..run_end(bytes, group, 34, is_alnum)]) {
                break;
            }
        } else {
            break;
        }
        place += 1;
    }
    (!account.is_empty()).then_some((account, end))
}

/// Returns the end of `AB123456C` or `AB 12 34 56 C`, from the first digit.
fn find_nino(bytes: Bytes<'_>, prefix: [u8; 2], digit: usize) -> Option<usize> {
    let mut place = digit;
    for count in 0..6 {
        if !byte_at(bytes, place).is_ascii_digit() {
            return None;
        }
        place += 1;
        place += usize::from(count % 2 == 1 && byte_at(bytes, place) == b' ');
    }
    check::is_nino(prefix, byte_at(bytes, place)).then_some(place + 1)
}

/// Returns the end of an id by its shape and check digits alone, and how sure it is. The groups start the number.
pub(super) fn find_by_shape(bytes: Bytes<'_>, groups: &Groups) -> Option<(usize, Confidence)> {
    let whole = |count: usize| {
        let end = groups.end(count);
        (!(is_alnum(byte_at(bytes, end)) || byte_at(bytes, end) == b'-' && is_alnum(byte_at(bytes, end + 1))))
            .then_some(end)
    };
    if groups.starts_with(&[3, 2, 4])
        && groups.mark(0) == b'-'
        && groups.has_same_marks(3)
        && (check::is_ssn(groups.digits(3)) || check::is_itin(groups.digits(3)))
    {
        return whole(3).map(|end| (end, Confidence::Medium));
    }
    let is_dotted = groups.mark(0) == b'.' && groups.mark(1) == b'.' && groups.mark(2) == b'-';
    if groups.starts_with(&[3, 3, 3, 2]) && is_dotted && check::is_cpf(groups.digits(4)) {
        return whole(4).map(|end| (end, Confidence::High));
    }
    for shape in [&[15][..], &[13, 2], &[1, 2, 2, 2, 3, 3, 2]] {
        if groups.starts_with(shape) && groups.has_same_marks(shape.len()) && check::is_nir(groups.digits(shape.len()))
        {
            return whole(shape.len()).map(|end| (end, Confidence::High));
        }
    }
    None
}

/// Returns the end of a Spanish id whose eight digits are here.
pub(super) fn find_spanish(bytes: Bytes<'_>, start: usize, end: usize) -> Option<usize> {
    let letter = end + usize::from(byte_at(bytes, end) == b'-');
    let fits = end - start == 8
        && byte_at(bytes, letter).is_ascii_alphabetic()
        && !is_alnum(byte_at(bytes, letter + 1))
        && check::is_dni(&bytes[start..end], b' ', bytes[letter]);
    fits.then_some(letter + 1)
}

/// Returns the end of a number that a word announced as a document's: enough letters and digits in all.
pub(super) fn find_announced(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    if date::find_date(bytes, start).is_some() {
        return None;
    }
    let mut count = 0;
    let mut digits = 0;
    let mut has_small = false;
    let (mut place, mut end) = (start, start);
    while count < 20 {
        let byte = byte_at(bytes, place);
        if is_alnum(byte) {
            count += 1;
            digits += usize::from(byte.is_ascii_digit());
            has_small |= byte.is_ascii_lowercase();
            end = place + 1;
        } else if !(matches!(byte, b' ' | b'-' | b'.' | b'/') && place - end < 1 && continues_number(bytes, place + 1))
        {
            break;
        }
        place += 1;
    }
    // Some ids are mostly letters, all of them capitals: `GOMC900514HDFNRR09`.
    let is_lettered = count >= 8 && !has_small;
    (matches!(count, 5..=18) && digits >= 4 && (digits * 2 >= count || is_lettered)).then_some(end)
}

/// Whether the next group of an announced number has a digit, or is its last letter.
fn continues_number(bytes: Bytes<'_>, start: usize) -> bool {
    let end = run_end(bytes, start, 12, is_alnum);
    let group = &bytes[start..end];
    group.iter().any(u8::is_ascii_digit) && !group[0].is_ascii_lowercase()
        || group.len() == 1 && group[0].is_ascii_uppercase()
}

/// Returns the end of the digits that a word announced, if their count is right.
pub(super) fn find_announced_digits(bytes: Bytes<'_>, start: usize, counts: &[usize]) -> Option<usize> {
    let groups = Groups::read(bytes, start);
    let count = (1..=groups.count()).rev().find(|count| counts.contains(&groups.digits(*count).len()))?;
    let digits = groups.digits(count);
    let is_real = digits.windows(2).any(|pair| pair[0] != pair[1]) && date::find_numeric_date(bytes, start).is_none();
    (is_real && !is_alnum(byte_at(bytes, groups.end(count)))).then(|| groups.end(count))
}

/// Returns the end of the digits of any number, if their check digits make it an id.
pub(super) fn find_checked(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let groups = Groups::read(bytes, start);
    let fits = |digits: &[u8]| {
        check::is_pesel(digits)
            || check::is_steuer_id(digits)
            || check::is_aadhaar(digits)
            || check::is_cpf(digits)
            || check::is_nir(digits)
    };
    let count = (1..=groups.count()).find(|count| fits(groups.digits(*count)))?;
    (!is_alnum(byte_at(bytes, groups.end(count)))).then(|| groups.end(count))
}
