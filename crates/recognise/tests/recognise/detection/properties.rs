//! Properties of every text.

use lictor_json::{Json, Object, Text};
use lictor_recognise::PersonalData;
use proptest::prelude::*;
use proptest::sample::select;

use super::{BUILTIN, found};

/// Pieces of texts that recognisers look at twice.
const PIECES: &[&str] = &[
    "@",
    ".",
    "[at]",
    "(at)",
    " at ",
    " dot ",
    "dot",
    "alice",
    "example",
    "com",
    "@example.com",
    "4111",
    "1111",
    " ",
    "-",
    "\n",
    "+",
    "#",
    "%40",
    "&#64;",
    "&amp;",
    "\\u0040",
    "\\n",
    "\\",
    "%",
    "&",
    "order",
    "booking",
    "id",
    "no.",
    "A-7421",
    "born",
    "DOB",
    "1990-04-05",
    "5 April",
    "1990",
    "street",
    "Street",
    "Main",
    "12",
    "rue",
    "de",
    "Via",
    "Roma",
    "straße",
    "5",
    "phone",
    "cvv",
    "card",
    "ending in",
    "IBAN",
    "DE89",
    "3704",
    "passport",
    "SSN",
    "123-45-6789",
    "MRN",
    "ICD-10",
    "E11.9",
    "diabetes",
    "address:",
    "zip",
    "P.O. Box",
    "X",
    "1234567",
    "L",
    "AB",
    "123456",
    "C",
    "203.0.113.7",
    "2001:db8::1:2",
    "YWxpY2VAZXhhbXBsZS5jb20=",
    "616c696365406578616d706c65",
    "é",
    "ß",
    "中",
    "电话",
    "дата рождения",
    "😀",
    "\u{200b}",
    "\u{301}",
    "＠",
    "４",
    "\u{e0061}",
    "\u{ad}",
    "\"",
    ":",
    "{",
    "}",
    "(",
    ")",
    "…",
];

pub(super) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat()),
        "[ -~]{0,200}",
        "[0-9 .+()/-]{0,60}",
    ]
}

/// Every letter in the width of ideographs.
fn wide(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_graphic() { shifted(letter, 0xFEE0) } else { letter }).collect()
}

fn shifted(letter: char, by: u32) -> char {
    char::from_u32(letter as u32 + by).unwrap_or(letter)
}

/// Something invisible between all letters.
fn sprinkled(text: &str) -> String {
    text.chars().flat_map(|letter| ['\u{200b}', letter, '\u{ad}']).collect()
}

fn cards() -> impl Strategy<Value = String> {
    let heads = select(&["4", "51", "55", "2221", "6011", "65"][..]);
    (heads, prop::collection::vec(0u8..10, 16)).prop_map(|(head, digits)| {
        let mut number: Vec<u8> = head.bytes().map(|digit| digit - b'0').chain(digits).take(15).collect();
        let sum: u32 = number
            .iter()
            .rev()
            .enumerate()
            .map(|(place, digit)| {
                let value = u32::from(*digit) << ((place + 1) % 2);
                if value > 9 { value - 9 } else { value }
            })
            .sum();
        number.push(((10 - sum % 10) % 10) as u8);
        number.iter().map(|digit| char::from(digit + b'0')).collect()
    })
}

fn accounts() -> impl Strategy<Value = String> {
    prop::collection::vec(0u8..10, 18).prop_map(|digits| {
        let digits: String = digits.iter().map(|digit| char::from(digit + b'0')).collect();
        // D and E are 13 and 14, the check digits are zero while they are computed.
        let remainder =
            format!("{digits}131400").bytes().fold(0, |rest, digit| (rest * 10 + u32::from(digit - b'0')) % 97);
        format!("DE{:02}{digits}", 98 - remainder)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(800), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recognise_survives_any_text(text in texts()) {
        let found = found(&text);
        prop_assert!(found.categories.is_sorted_by(|one, next| one < next), "{:?}", found);
        prop_assert!(found.subjects.is_sorted_by(|one, next| one < next), "{:?}", found);
    }

    #[test]
    fn spans_are_whole_characters(text in texts()) {
        let spans = BUILTIN.spans(&text);
        for span in &spans {
            prop_assert!(span.range.start < span.range.end, "{:?}", span);
            prop_assert!(text.get(span.range.clone()).is_some(), "{:?}", span);
        }
        let mut categories: Vec<Text> = spans.into_iter().map(|span| span.category).collect();
        categories.sort();
        categories.dedup();
        prop_assert_eq!(categories, found(&text).categories);
    }

    #[test]
    fn json_value_has_categories_of_strings(texts in prop::collection::vec(texts(), 0..4)) {
        let mut one_by_one = PersonalData::default();
        for text in &texts {
            BUILTIN.text(text, &mut one_by_one);
        }
        let mut object = Object::new();
        object.insert("list", texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<Json>>());
        let mut together = PersonalData::default();
        BUILTIN.value(&Json::from(object), &mut together);
        prop_assert_eq!(together, one_by_one);
    }

    #[test]
    fn json_any_key_is_read(key in texts(), parent in texts(), value in texts()) {
        let mut inner = Object::new();
        inner.insert(key, Json::from(value));
        let mut outer = Object::new();
        outer.insert(parent, inner);
        BUILTIN.value(&Json::from(outer), &mut PersonalData::default());
    }

    #[test]
    fn email_is_found_in_disguise(local in "[a-z][a-z0-9]{0,11}([._+-][a-z0-9]{1,8})?", host in "[a-z][a-z0-9-]{0,10}[a-z]", end in select(&["com", "org", "de", "co.uk"][..])) {
        prop_assume!(!["git", "this", "super", "return"].contains(&local.as_str()));
        let mailbox = format!("{local}@{host}.{end}");
        let plain = found(&mailbox);
        prop_assert_eq!(&plain.subjects, &[mailbox.as_str()]);
        prop_assert!(plain.categories.contains(&Text::from("email")));
        for disguised in [wide(&mailbox), sprinkled(&mailbox), mailbox.to_uppercase(), mailbox.replace('@', "%40"), mailbox.replace('@', " [at] ")] {
            let disguised_found = found(&disguised);
            prop_assert_eq!(&disguised_found.subjects, &plain.subjects, "{}", disguised);
        }
    }

    #[test]
    fn card_is_found_in_disguise(card in cards()) {
        prop_assume!(card.bytes().any(|digit| digit != card.as_bytes()[0]));
        let grouped = |mark: &str| [&card[..4], &card[4..8], &card[8..12], &card[12..]].join(mark);
        let arabic: String = card.chars().map(|digit| shifted(digit, 0x0660 - 0x30)).collect();
        for spelling in [card.clone(), wide(&card), sprinkled(&card), arabic, grouped(" "), grouped("-"), grouped("."), grouped("\n"), sprinkled(&grouped(" "))] {
            prop_assert_eq!(found(&spelling).categories, ["payment"], "{:?}", spelling);
        }
    }

    #[test]
    fn iban_is_found_in_disguise(account in accounts()) {
        let grouped = account.as_bytes().chunks(4).map(|group| String::from_utf8_lossy(group).into_owned()).collect::<Vec<_>>().join(" ");
        for spelling in [account.clone(), wide(&account), sprinkled(&account), grouped.clone(), sprinkled(&grouped), account.to_lowercase()] {
            prop_assert_eq!(found(&spelling).categories, ["iban"], "{:?}", spelling);
        }
    }

    #[test]
    fn card_is_found_inside_sentence(card in cards(), before in "[a-z ,]{0,80} ", after in " [a-z ,]{0,80}") {
        prop_assume!(card.bytes().any(|digit| digit != card.as_bytes()[0]));
        let text = format!("{before}{card}{after}");
        prop_assert!(found(&text).categories.contains(&Text::from("payment")), "{:?}", text);
    }
}

/// Texts that would take for ever if a candidate were looked at from every place: each is searched to its end.
#[test]
fn recognise_long_text_takes_linear_time() {
    for piece in PIECES
        .iter()
        .copied()
        .chain(["a", "1", " ", "@ a ", "a dot ", "1 a ", "(at) ", "born in ", "4 ", "a@", "order #"])
    {
        let mut text = piece.repeat(100_000 / piece.len());
        text.push_str("\n\n, bob@example.org");
        let subjects = found(&text).subjects;
        assert!(subjects.iter().any(|subject| subject == "bob@example.org"), "{piece:?}: {} subjects", subjects.len());
    }
}
