//! Persons: one spelling for each identifier, and the categories that identify.

use lictor_json::{Json, Object};
use lictor_recognise::{CustomCategory, PersonalData, Recogniser, normalize_identifier};
use proptest::prelude::*;

use super::properties::texts;
use super::{BUILTIN, expect_none, found};

/// The spellings of one identifier, the normal form first.
const SPELLINGS: &[&[&str]] = &[
    &["nora@mail.example", "Nora@Mail.Example", " NORA@MAIL.EXAMPLE", "nora＠mail.example", "nora%40mail.example"],
    &[
        "+491701234567",
        "+49 170 1234567",
        "+49 (0)170 1234567",
        "+49-170-123-45-67",
        "0049 170 1234567",
        "+49 0170 1234567",
    ],
    &[
        "+12125550187",
        "(212) 555-0187",
        "212-555-0187",
        "+1 212 555 0187",
        "+1.212.555.0187",
        "+１ ２１２ ５５５ ０１８７",
    ],
    &["03012345678", "030 12345678", "030/12345678", "(030) 12345678"],
    &["FI2112345600000785", "FI21 1234 5600 0007 85", "fi21 1234 5600 0007 85", "FI21-1234-5600-0007-85"],
    &["5105105105105100", "5105 1051 0510 5100", "5105-1051-0510-5100", "５１０５ １０５１ ０５１０ ５１００"],
    &["customer-17", " customer-17 "],
    &["Nora Berg", "Nora Berg"],
    &["", " "],
];

#[test]
fn identifier_spellings_have_one_form() {
    expect_none(SPELLINGS.iter().flat_map(|spellings| {
        spellings.iter().filter_map(|spelling| {
            let normal = normalize_identifier(spelling);
            (normal != spellings[0]).then(|| format!("{spelling:?} is {normal:?}, not {:?}", spellings[0]))
        })
    }));
}

#[test]
fn identifier_of_mailbox_keeps_its_letters() {
    for (text, subject) in [
        ("Write to Info@Müller.de today", "info@müller.de"),
        ("Write to info@xn--mller-kva.de today", "info@müller.de"),
        ("Write to info@m%C3%BCller.de today", "info@müller.de"),
        ("Write to info@muller.de today", "info@muller.de"),
        ("Пишите на user@почта.рф.", "user@почта.рф"),
        ("Пишите на иван@почта.рф.", "иван@почта.рф"),
        ("γράψε στο nikos@παράδειγμα.ελ.", "nikos@παράδειγμα.ελ"),
        ("请写信到ann@example.com谢谢", "ann@example.com"),
        (r#"{"b":"{\"c\":\"x\\nann@example.org\"}"}"#, "ann@example.org"),
    ] {
        assert_eq!(found(text).subjects, [subject], "{text}");
        assert_eq!(normalize_identifier(subject), subject);
    }
}

#[test]
fn identifier_of_phone_without_country_is_digits() {
    for (text, subject) in [
        ("Li Wei's mobile: 138 1234 5678", "13812345678"),
        ("phone: 98765 43210", "9876543210"),
        ("Call +39 (0)6 6982 1234", "+390669821234"),
        ("Call 0039 06 69821234", "+390669821234"),
    ] {
        assert_eq!(found(text).subjects, [subject], "{text}");
    }
}

#[test]
fn identifier_of_phone_is_subject() {
    for text in ["Call me: +49 170 1234567.", "tel +49(0)170/1234567", "Reach Nora on 0049 170 123 4567 today"] {
        assert_eq!(found(text).subjects, ["+491701234567"], "{text}");
    }
}

fn identifying(name: &str) -> Recogniser {
    let category = CustomCategory { name: name.into(), identifies: true, ..CustomCategory::default() };
    Recogniser::new(&[category]).unwrap()
}

#[test]
fn identifier_of_builtin_category_needs_policy() {
    for (category, text, subject) in [
        ("iban", "pay to FI21 1234 5600 0007 85 now", "FI2112345600000785"),
        ("payment", "charge 5105-1051-0510-5100 now", "5105105105105100"),
        ("gov_id", "SSN 123-45-6789", "123456789"),
        ("order_id", "order no. 77123", "77123"),
    ] {
        assert!(found(text).subjects.is_empty(), "{text}");
        let mut found = PersonalData::default();
        identifying(category).text(text, &mut found);
        assert_eq!((found.categories[0].as_str(), found.subjects[0].as_str()), (category, subject), "{text}");
        let spans = identifying(category).spans(text);
        assert!(spans.iter().any(|span| span.subject.as_deref() == Some(subject)), "{spans:?}");
    }
    // The last digits of a card are those of many cards.
    let mut found = PersonalData::default();
    identifying("payment").text("my card ending in 7447, cvv 123", &mut found);
    assert!(found.subjects.is_empty(), "{found:?}");
}

#[test]
fn identifier_under_key_is_normalized() {
    let mut object = Object::new();
    object.insert("iban", "fi21 1234 5600 0007 85");
    let mut found = PersonalData::default();
    identifying("iban").value(&Json::from(object), &mut found);
    assert_eq!(found.subjects, ["FI2112345600000785"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn identifier_normal_form_is_final(text in texts()) {
        let once = normalize_identifier(&text).into_owned();
        prop_assert_eq!(normalize_identifier(&once), once.as_str());
    }

    #[test]
    fn spans_name_the_subjects(text in texts()) {
        let mut subjects: Vec<_> = BUILTIN.spans(&text).into_iter().filter_map(|span| span.subject).collect();
        subjects.sort();
        subjects.dedup();
        // Two findings at one place may name one person in two ways; the surer one is kept.
        let all = found(&text).subjects;
        prop_assert!(subjects.iter().all(|subject| all.contains(subject)), "{:?} {:?}", subjects, all);
        prop_assert_eq!(subjects.is_empty(), all.is_empty());
    }
}
