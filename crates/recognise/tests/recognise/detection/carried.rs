//! Texts with exactly the categories that they hold.

use super::{categories, expect_none, found};
use crate::samples::CARRIED;

#[test]
fn recognise_texts_have_exact_categories() {
    assert!(CARRIED.iter().map(|(_, texts)| texts.len()).sum::<usize>() >= 120);
    expect_none(CARRIED.iter().flat_map(|(wanted, texts)| {
        texts
            .iter()
            .filter(|text| categories(text) != *wanted)
            .map(move |text| format!("{text:?} carries `{wanted}`; found `{}`", categories(text)))
    }));
}

#[test]
fn subject_name_is_normalized() {
    let cases: &[(&str, &[&str])] = &[
        (
            "alice@example.com",
            &[
                "alice@example.com",
                "ALICE@Example.COM",
                "alice [at] example [dot] com",
                "alice%40example.com",
                "a l i c e @ e x a m p l e . c o m",
                "аlice@еxample.com",
                "YWxpY2VAZXhhbXBsZS5jb20=",
                "alice at example dot com",
            ],
        ),
        (
            "+15552345678",
            &["+1 (555) 234-5678", "555-234-5678", "(555) 234-5678", "phone 1 555 234 5678", "+15552345678"],
        ),
        ("+33612345678", &["+33 6 12 34 56 78", "06 12 34 56 78", "phone: 0033 612345678"]),
        ("0301234567", &["Telefon 030 1234567"]),
    ];
    expect_none(cases.iter().flat_map(|(name, texts)| {
        texts
            .iter()
            .filter(|text| found(text).subjects != [*name])
            .map(move |text| format!("{text:?} is about `{name}`; found {:?}", found(text).subjects))
    }));
}
