//! Check digits: the sums that distinguish numbers of cards, accounts and persons from other numbers.

/// Whether digits pass the Luhn sum of cards (ISO/IEC 7812).
pub(super) fn passes_luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(digit & 0x0F) << (place & 1);
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether digits are a card number of a known network.
pub(super) fn is_card_number(digits: &[u8]) -> bool {
    let first = |count: usize| parse_digits(digits.get(..count).unwrap_or(digits));
    let length = digits.len();
    let known = matches!(
        (length, first(4)),
        (13 | 16 | 19, 4000..=4999)
            | (16, 5100..=5599 | 2221..=2720)
            | (15, 3400..=3499 | 3700..=3799)
            | (14, 3000..=3059 | 3095 | 3600..=3699 | 3800..=3999)
            | (16, 3500..=3599 | 5000..=5099 | 5600..=5899 | 6300..=6399 | 6700..=6799)
            | (16..=19, 3528..=3589 | 6011 | 6440..=6599 | 6200..=6299 | 3600..=3699 | 2200..=2205)
            | (15, 1800 | 2131)
            | (13..=19, 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763)
            | (16, 8100..=8299 | 9792)
    );
    // Numbers of a single digit pass the sum for some lengths, and are no cards.
    known && passes_luhn(digits) && digits.windows(2).any(|pair| pair[0] != pair[1])
}

/// Whether an account passes the remainder of ISO 13616. Letters are in upper case.
pub(super) fn is_iban(account: &[u8]) -> bool {
    let Some((head, tail)) = account.split_at_checked(4) else { return false };
    let remainder = tail.iter().chain(head).fold(0, |remainder, byte| match byte {
        b'0'..=b'9' => (remainder * 10 + u32::from(byte - b'0')) % 97,
        _ => (remainder * 100 + u32::from(byte.wrapping_sub(b'A') & 31) + 10) % 97,
    });
    remainder == 1
}

/// Returns how many characters an account of a country has.
pub(super) fn iban_length(country: &[u8]) -> Option<usize> {
    let country: [u8; 2] = country.try_into().ok()?;
    let length = match &country.map(|letter| letter.to_ascii_uppercase()) {
        b"NO" => 15,
        b"BE" => 16,
        b"DK" | b"FI" | b"FO" | b"GL" | b"NL" | b"SD" | b"FK" => 18,
        b"MK" | b"SI" => 19,
        b"AT" | b"BA" | b"EE" | b"KZ" | b"LT" | b"LU" | b"XK" | b"MN" => 20,
        b"CH" | b"HR" | b"LI" | b"LV" => 21,
        b"BG" | b"BH" | b"CR" | b"DE" | b"GB" | b"GE" | b"IE" | b"ME" | b"RS" | b"VA" => 22,
        b"AE" | b"GI" | b"IL" | b"IQ" | b"TL" | b"OM" | b"SO" => 23,
        b"AD" | b"CZ" | b"ES" | b"MD" | b"PK" | b"RO" | b"SA" | b"SE" | b"SK" | b"TN" | b"VG" => 24,
        b"LY" | b"PT" | b"ST" => 25,
        b"IS" | b"TR" => 26,
        b"BI" | b"DJ" | b"FR" | b"GR" | b"IT" | b"MC" | b"MR" | b"SM" => 27,
        b"AL" | b"AZ" | b"BY" | b"CY" | b"DO" | b"GT" | b"HU" | b"LB" | b"NI" | b"PL" | b"SV" => 28,
        b"BR" | b"EG" | b"PS" | b"QA" | b"UA" => 29,
        b"JO" | b"KW" | b"MU" | b"YE" => 30,
        b"MT" | b"SC" => 31,
        b"LC" => 32,
        b"RU" => 33,
        _ => return None,
    };
    Some(length)
}

/// Whether digits are a US social security number: never all zeros in a part, never 666 nor 9xx in front.
pub(super) fn is_ssn(digits: &[u8]) -> bool {
    match digits.len() {
        9 => {
            let (area, group, serial) =
                (parse_digits(&digits[..3]), parse_digits(&digits[3..5]), parse_digits(&digits[5..]));
            area != 0 && area != 666 && area < 900 && group != 0 && serial != 0
        }
        _ => false,
    }
}

/// Whether digits are a US ITIN: a nine in front, and a group that the tax office has assigned.
pub(super) fn is_itin(digits: &[u8]) -> bool {
    digits.len() == 9
        && digits[0] == b'9'
        && matches!(parse_digits(&digits[3..5]), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// Whether digits are a Polish PESEL: weights, and a day of birth in front.
pub(super) fn is_pesel(digits: &[u8]) -> bool {
    digits.len() == 11
        && matches!(parse_digits(&digits[2..4]) % 20, 1..=12)
        && matches!(parse_digits(&digits[4..6]), 1..=31)
        && weighted_sum(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10)
}

/// Whether digits are a German tax number of a person: ISO 7064 MOD 11,10, and among the first ten digits exactly one
/// occurs two or three times.
pub(super) fn is_steuer_id(digits: &[u8]) -> bool {
    if digits.len() != 11 || digits[0] == b'0' {
        return false;
    }
    let mut counts = [0; 10];
    for digit in &digits[..10] {
        counts[usize::from(digit & 0x0F) % 10] += 1;
    }
    let repeated = counts.iter().filter(|count| **count > 1).count();
    let product = digits[..10].iter().fold(10, |product, digit| {
        let sum = (u32::from(digit & 0x0F) + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    repeated == 1 && counts.iter().all(|count| *count < 4) && (11 - product) % 10 == u32::from(digits[10] & 0x0F)
}

/// Whether digits are a Brazilian CPF: two check digits.
pub(super) fn is_cpf(digits: &[u8]) -> bool {
    let check = |count: usize| {
        let weights = (2..=count as u32 + 1).rev();
        let sum: u32 =
            digits[..count].iter().zip(weights).map(|(digit, weight)| u32::from(digit & 0x0F) * weight).sum();
        (sum * 10 % 11) % 10 == u32::from(digits[count] & 0x0F)
    };
    digits.len() == 11 && digits.windows(2).any(|pair| pair[0] != pair[1]) && check(9) && check(10)
}

/// Whether digits are an Indian Aadhaar: Verhoeff's sum.
pub(super) fn is_aadhaar(digits: &[u8]) -> bool {
    /// The group of the five-sided prism, row by row.
    const PRODUCT: [[u8; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const PERMUTED: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    let sum = digits.iter().rev().enumerate().fold(0, |sum, (place, digit)| {
        PRODUCT[usize::from(sum)][usize::from(PERMUTED[place % 8][usize::from(digit & 0x0F) % 10])]
    });
    digits.len() == 12 && digits[0] >= b'2' && sum == 0
}

/// Whether digits are a French NIR: the month of birth where it should be, and the key.
pub(super) fn is_nir(digits: &[u8]) -> bool {
    digits.len() == 15
        && matches!(digits[0], b'1' | b'2')
        && matches!(parse_digits(&digits[3..5]), 1..=12 | 20 | 30..=42 | 50..=99)
        && 97 - parse_digits(&digits[..13]) % 97 == parse_digits(&digits[13..])
}

/// Whether a letter fits a Spanish DNI or NIE; the first letter of a NIE counts as 0, 1 or 2.
pub(super) fn is_dni(digits: &[u8], first: u8, letter: u8) -> bool {
    let start = match first.to_ascii_uppercase() {
        b'X' => 0,
        b'Y' => 1,
        b'Z' => 2,
        _ => 0,
    };
    let number = start * 10_000_000 + parse_digits(digits);
    b"TRWAGMYFPDXBNJZSQVHLCKE".get((number % 23) as usize) == Some(&letter.to_ascii_uppercase())
}

/// Whether a code is an Italian codice fiscale: sixteen letters and digits, the last decided by the others.
pub(super) fn is_codice_fiscale(code: &[u8]) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    const SHAPE: &[u8] = b"AAAAAA00A00A000A";
    if code.len() != 16 {
        return false;
    }
    let is_shaped = code.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'A' => byte.is_ascii_alphabetic(),
        // A letter replaces a digit where two persons would have the same code.
        _ => byte.is_ascii_digit() || b"LMNPQRSTUV".contains(&byte.to_ascii_uppercase()),
    });
    let value = |byte: u8| match byte {
        b'0'..=b'9' => usize::from(byte - b'0'),
        _ => usize::from(byte.to_ascii_uppercase().wrapping_sub(b'A')) % 26,
    };
    let sum: u32 = code[..15]
        .iter()
        .enumerate()
        .map(|(place, byte)| if place % 2 == 0 { ODD[value(*byte)] } else { value(*byte) as u32 })
        .sum();
    is_shaped && b"ABCDEHLMPRST".contains(&code[8].to_ascii_uppercase()) && sum % 26 == value(code[15]) as u32
}

/// Whether letters are those of a British NINO: two allowed letters, six digits, a last letter.
pub(super) fn is_nino(prefix: [u8; 2], last: u8) -> bool {
    let prefix = prefix.map(|letter| letter.to_ascii_uppercase());
    !b"DFIQUV".contains(&prefix[0])
        && !b"DFIOQUV".contains(&prefix[1])
        && ![*b"BG", *b"GB", *b"KN", *b"NK", *b"NT", *b"TN", *b"ZZ"].contains(&prefix)
        && matches!(last.to_ascii_uppercase(), b'A'..=b'D')
}

/// Returns the value of digits; more than eighteen count modulo 2^64.
pub(super) fn parse_digits(digits: &[u8]) -> u64 {
    digits.iter().fold(0u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit & 0x0F)))
}

fn weighted_sum(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(digit & 0x0F) * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with right check digits, each of which must be refused with any single digit changed.
    #[test]
    fn check_digits_catch_one_wrong_digit() {
        type Check = fn(&[u8]) -> bool;
        let cases: [(&str, Check, &str); 7] = [
            ("luhn", passes_luhn, "4111111111111111"),
            ("iban", is_iban, "DE89370400440532013000"),
            ("pesel", is_pesel, "44051401359"),
            ("steuer_id", is_steuer_id, "86095742719"),
            ("cpf", is_cpf, "52998224725"),
            ("aadhaar", is_aadhaar, "234123412346"),
            ("nir", is_nir, "294037512000591"),
        ];
        for (name, check, right) in cases {
            assert!(check(right.as_bytes()), "{name}: {right}");
            for place in 0..right.len() {
                for digit in b'0'..=b'9' {
                    let mut wrong = right.as_bytes().to_vec();
                    if !wrong[place].is_ascii_digit() || wrong[place] == digit {
                        continue;
                    }
                    wrong[place] = digit;
                    assert!(!check(&wrong), "{name}: {}", String::from_utf8_lossy(&wrong));
                }
            }
        }
    }

    #[test]
    fn card_number_belongs_to_network() {
        for card in ["4111111111111111", "5555555555554444", "378282246310005", "6011111111111117", "30569309025904"] {
            assert!(is_card_number(card.as_bytes()), "{card}");
        }
        for other in ["1234567812345670", "9999999999999995", "4111111111111112", "0000000000000000", "411111111111"] {
            assert!(!is_card_number(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn check_letters_follow_from_numbers() {
        assert!(is_dni(b"12345678", b' ', b'Z') && !is_dni(b"12345678", b' ', b'A'));
        assert!(is_dni(b"1234567", b'X', b'L') && !is_dni(b"1234567", b'Y', b'L'));
        assert!(is_codice_fiscale(b"RSSMRA85T10A562S") && !is_codice_fiscale(b"RSSMRA85T10A562T"));
        assert!(is_nino(*b"AB", b'C') && !is_nino(*b"GB", b'C') && !is_nino(*b"AB", b'E'));
        assert!(is_ssn(b"123456789") && !is_ssn(b"666456789") && !is_ssn(b"900456789") && !is_ssn(b"123006789"));
    }
}
