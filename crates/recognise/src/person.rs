//! Numbers that states give to persons, by shape and check digits; and accounts, which look alike.

use std::ops::Range;

use super::bytes::{at, before, is_alnum, run, run_back};
use super::check;
use super::date;
use super::groups::Groups;

/// What letters and digits turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paper {
    /// An account.
    Account,
    /// A number of a person.
    Person,
}

/// What the letters before a digit and the digits from there on are, together.
pub(super) fn lettered(bytes: &[u8], digit: usize) -> Option<(Paper, Range<usize>)> {
    // `X-1234567-L` has a mark between its letter and its digits, all others have none.
    let start = match before(bytes, digit, 1) {
        b'-' => digit.checked_sub(2)?,
        _ => run_back(bytes, digit, 7, |byte| byte.is_ascii_alphabetic()),
    };
    if is_alnum(before(bytes, start, 1)) {
        return None;
    }
    let is_whole = |end: &usize| !is_alnum(at(bytes, *end));
    match &bytes[start..digit] {
        [letter] | [letter, b'-'] if matches!(letter | 0x20, b'x' | b'y' | b'z') => {
            nie(bytes, start, digit).map(|end| (Paper::Person, start..end))
        }
        [first, second] if second.is_ascii_alphabetic() => match account(bytes, start).filter(is_whole) {
            Some(end) => Some((Paper::Account, start..end)),
            None => nino(bytes, [*first, *second], digit).filter(is_whole).map(|end| (Paper::Person, start..end)),
        },
        letters if letters.len() == 6 => {
            let fits = bytes.get(start..start + 16).is_some_and(check::codice_fiscale) && is_whole(&(start + 16));
            fits.then_some((Paper::Person, start..start + 16))
        }
        _ => None,
    }
}

fn nie(bytes: &[u8], start: usize, digit: usize) -> Option<usize> {
    let end = run(bytes, digit, 8, |byte| byte.is_ascii_digit());
    let letter = end + usize::from(at(bytes, end) == b'-');
    let fits = end - digit == 7
        && at(bytes, letter).is_ascii_alphabetic()
        && check::dni(&bytes[digit..end], bytes[start], bytes[letter])
        && !is_alnum(at(bytes, letter + 1));
    fits.then_some(letter + 1)
}

/// Where the account ends that starts here: its country, its length, its check digits.
pub(super) fn account(bytes: &[u8], start: usize) -> Option<usize> {
    let length = check::iban_length(bytes.get(start..start + 2)?)?;
    let (account, end) = spaced(bytes, start, length, |_| true)?;
    (account.len() == length && check::iban(&account)).then_some(end)
}

/// Where an account ends that a word announced: the shape is enough.
pub(super) fn announced_account(bytes: &[u8], start: usize) -> Option<usize> {
    let head = bytes.get(start..start + 4)?;
    let is_headed = head[..2].iter().all(u8::is_ascii_alphabetic) && head[2..].iter().all(u8::is_ascii_digit);
    if !is_headed {
        return None;
    }
    if let Some(end) = account(bytes, start) {
        return Some(end);
    }
    let whole = run(bytes, start, 35, is_alnum);
    if whole - start >= 14 {
        return (whole - start <= 34).then_some(whole);
    }
    // Groups of four, the last of which may be shorter.
    let is_group = |group: &[u8]| {
        group.iter().any(u8::is_ascii_digit) || group.len() == 4 && !group.iter().any(u8::is_ascii_lowercase)
    };
    let (account, end) = spaced(bytes, start, 34, is_group)?;
    (account.len() >= 14).then_some(end)
}

/// Letters and digits, at most so many, with marks between groups that belong to it; in upper case.
fn spaced(bytes: &[u8], start: usize, most: usize, belongs: impl Fn(&[u8]) -> bool) -> Option<(Vec<u8>, usize)> {
    let mut account = Vec::with_capacity(most);
    let (mut place, mut end) = (start, start);
    while account.len() < most {
        let byte = at(bytes, place);
        if is_alnum(byte) {
            account.push(byte.to_ascii_uppercase());
            end = place + 1;
        } else if matches!(byte, b' ' | b'-' | b'.' | b'\n' | b'\r' | b'\t') && place - end < 2 {
            let group = run(bytes, place, 2, |byte| !is_alnum(byte));
            if !belongs(&bytes[group..run(bytes, group, 34, is_alnum)]) {
                break;
            }
        } else {
            break;
        }
        place += 1;
    }
    (!account.is_empty()).then_some((account, end))
}

/// `AB123456C`, `AB 12 34 56 C`, from the first digit.
fn nino(bytes: &[u8], prefix: [u8; 2], digit: usize) -> Option<usize> {
    let mut place = digit;
    for count in 0..6 {
        if !at(bytes, place).is_ascii_digit() {
            return None;
        }
        place += 1;
        place += usize::from(count % 2 == 1 && at(bytes, place) == b' ');
    }
    check::nino(prefix, at(bytes, place)).then_some(place + 1)
}

/// Where a number of a person ends, by nothing but its shape and its check digits. The groups start the number.
pub(super) fn shaped(bytes: &[u8], groups: &Groups) -> Option<usize> {
    let whole = |count: usize| {
        let end = groups.end(count);
        (!(is_alnum(at(bytes, end)) || at(bytes, end) == b'-' && is_alnum(at(bytes, end + 1)))).then_some(end)
    };
    if groups.starts_with(&[3, 2, 4]) && groups.mark(0) == b'-' && groups.is_even(3) && check::ssn(groups.digits(3)) {
        return whole(3);
    }
    let is_dotted = groups.mark(0) == b'.' && groups.mark(1) == b'.' && groups.mark(2) == b'-';
    if groups.starts_with(&[3, 3, 3, 2]) && is_dotted && check::cpf(groups.digits(4)) {
        return whole(4);
    }
    for shape in [&[15][..], &[13, 2], &[1, 2, 2, 2, 3, 3, 2]] {
        if groups.starts_with(shape) && groups.is_even(shape.len()) && check::nir(groups.digits(shape.len())) {
            return whole(shape.len());
        }
    }
    None
}

/// Where a Spanish number ends whose eight digits are here.
pub(super) fn spanish(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let letter = end + usize::from(at(bytes, end) == b'-');
    let fits = end - start == 8
        && at(bytes, letter).is_ascii_alphabetic()
        && !is_alnum(at(bytes, letter + 1))
        && check::dni(&bytes[start..end], b' ', bytes[letter]);
    fits.then_some(letter + 1)
}

/// Where a number ends that a word announced as one of a document: letters and digits, enough of both in all.
pub(super) fn announced(bytes: &[u8], start: usize) -> Option<usize> {
    if date::date(bytes, start).is_some() {
        return None;
    }
    let mut count = 0;
    let mut digits = 0;
    let (mut place, mut end) = (start, start);
    while count < 20 {
        let byte = at(bytes, place);
        if is_alnum(byte) {
            count += 1;
            digits += usize::from(byte.is_ascii_digit());
            end = place + 1;
        } else if !(matches!(byte, b' ' | b'-' | b'.' | b'/') && place - end < 1 && goes_on(bytes, place + 1)) {
            break;
        }
        place += 1;
    }
    (matches!(count, 5..=18) && digits >= 4 && digits * 2 >= count).then_some(end)
}

/// Whether the next group of an announced number has a digit, or is its last letter.
fn goes_on(bytes: &[u8], start: usize) -> bool {
    let end = run(bytes, start, 12, is_alnum);
    let group = &bytes[start..end];
    group.iter().any(u8::is_ascii_digit) && !group[0].is_ascii_lowercase()
        || group.len() == 1 && group[0].is_ascii_uppercase()
}

/// Where the digits end that a word announced, if their count is right.
pub(super) fn announced_digits(bytes: &[u8], start: usize, counts: &[usize]) -> Option<usize> {
    let groups = Groups::read(bytes, start);
    let count = (1..=groups.count()).rev().find(|count| counts.contains(&groups.digits(*count).len()))?;
    let digits = groups.digits(count);
    let is_real = digits.windows(2).any(|pair| pair[0] != pair[1]) && date::in_digits(bytes, start).is_none();
    (is_real && !is_alnum(at(bytes, groups.end(count)))).then(|| groups.end(count))
}

/// Where the digits end of what may be any number, if their check digits make it one of a person.
pub(super) fn checked(bytes: &[u8], start: usize) -> Option<usize> {
    let groups = Groups::read(bytes, start);
    let fits = |digits: &[u8]| {
        check::pesel(digits)
            || check::steuer_id(digits)
            || check::aadhaar(digits)
            || check::cpf(digits)
            || check::nir(digits)
    };
    let count = (1..=groups.count()).find(|count| fits(groups.digits(*count)))?;
    (!is_alnum(at(bytes, groups.end(count)))).then(|| groups.end(count))
}
