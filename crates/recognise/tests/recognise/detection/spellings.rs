//! Spellings that hide a value from a search for its plain form, and the person that is found all the same.

use super::{BUILTIN, expect_none, found};

/// A category, and spellings of one value of it.
const HIDDEN: &[(&str, &[&str])] = &[
    (
        "email",
        &[
            "j\u{43e}hn@mail.org",
            "jo\u{ad}hn@mail.org",
            "john\u{200b}@mail.org",
            "john\u{ff20}mail.org",
            "john%40mail.org",
            "john&#64;mail.org",
            "john&#x40;mail.org",
            r"john\u0040mail.org",
            "j o h n @ m a i l . o r g",
            "john [at] mail.org",
            "john (at) mail (dot) org",
            "am9obkBtYWlsLm9yZyBhbmQgbW9yZQ==",
            "6a6f686e406d61696c2e6f7267",
            "gro.liam@nhoj",
        ],
    ),
    (
        "payment",
        &[
            "5105.1051.0510.5100",
            "5105\u{200b}1051\u{200b}0510\u{200b}5100",
            "５１０５１０５１０５１０５１００",
            "٥١٠٥ ١٠٥١ ٠٥١٠ ٥١٠٠",
            "5105\n1051\n0510\n5100",
            "NTEwNSAxMDUxIDA1MTAgNTEwMA==",
            "3530 1113 3330 0000",
            "3714-4963-5398-431",
            "3056 9309 0259 04",
        ],
    ),
    ("iban", &["FI21\u{200b}1234\u{200b}5600\u{200b}0007\u{200b}85", "fi2112345600000785"]),
];

#[test]
fn hidden_spellings_have_their_category() {
    expect_none(HIDDEN.iter().flat_map(|(category, spellings)| {
        spellings.iter().filter_map(move |spelling| {
            let found = found(spelling);
            (found.categories != [*category]).then(|| format!("{spelling:?} is {category}; found {found:?}"))
        })
    }));
}

#[test]
fn hidden_mailbox_names_its_owner() {
    expect_none(HIDDEN[0].1.iter().filter_map(|spelling| {
        let found = found(spelling);
        (found.subjects != ["john@mail.org"]).then(|| format!("{spelling:?}: {:?}", found.subjects))
    }));
}

#[test]
fn hidden_tag_characters_are_read() {
    let hidden: String = "john@mail.org".chars().filter_map(|letter| char::from_u32(0xE0000 + letter as u32)).collect();
    assert_eq!(found(&hidden).subjects, ["john@mail.org"]);
}

/// Phone numbers of many countries as they are printed there, and dates of birth in the order of several languages.
#[test]
fn phone_forms_of_countries_are_found() {
    let phones = [
        "Tel. 030 / 2345678",
        "Telefon 0171-2345678",
        "(089) 2345678",
        "0171/2345678",
        "+43 1 5880 1000",
        "+41 (0)44 668 18 00",
        "020 7946 0018",
        "02 9876 5432",
        "06-23456789",
        "Rufen Sie 0301234567 an",
        "joignable au 0612345678",
        "my new number is 0712345678",
        "+1 212 555 0187 ext. 12",
        "212-555-0187x99",
        "001-212-555-0187",
    ];
    expect_none(phones.iter().filter_map(|text| {
        let spans = BUILTIN.spans(text);
        (!spans.iter().any(|span| span.category == "phone")).then(|| format!("{text}: {spans:?}"))
    }));
}

#[test]
fn numbers_of_programs_are_no_phones() {
    let others = [
        "tool call_id: 0123456789",
        "call 2147483647 times",
        "call 000012345678",
        "0001 0002 0003",
        "exit code 0, 0.25 s, 01:23:45",
        "2024-01-02 03-04-05",
        "id 0123456789",
        "row 01 02 03 04",
        "lot 0007-001-22",
    ];
    expect_none(others.iter().filter_map(|text| {
        let found = found(text);
        (!found.categories.is_empty()).then(|| format!("{text}: {:?}", found.categories))
    }));
}
