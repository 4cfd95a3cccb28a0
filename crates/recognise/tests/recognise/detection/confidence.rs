//! How sure findings are.

use lictor_recognise::Confidence::{self, High, Low, Medium};

use super::{BUILTIN, expect_none};

#[test]
fn confidence_follows_what_finding_rests_on() {
    let cases: &[(&str, &str, Confidence)] = &[
        ("write to nora@mail.example", "email", High),
        ("write to nora [at] mail [dot] com", "email", Medium),
        ("write to moc.liam@aron", "email", Low),
        ("bm9yYUBtYWlsLmV4YW1wbGU=", "email", High),
        ("+47 22 12 34 56", "phone", High),
        ("phone: 22 12 34 56", "phone", Medium),
        ("(212) 555-0187", "phone", Medium),
        ("0171 2345678", "phone", Low),
        ("please call 0171 2345678", "phone", Low),
        ("5105 1051 0510 5100", "payment", High),
        ("card number 1234 5678 1234 5678", "payment", Medium),
        ("card 4222 2222 2222 2", "payment", High),
        ("FI21 1234 5600 0007 85", "iban", High),
        ("IBAN FI00 1234 5600 0007 85", "iban", Medium),
        ("123-45-6789", "gov_id", Medium),
        ("912-70-1234", "gov_id", Medium),
        ("12345678Z", "gov_id", High),
        ("born on 3 May 1971", "dob", Medium),
        ("84.12.9.200", "ip_address", Medium),
        ("2001:db8:85a3::8a2e:370:7334", "ip_address", High),
        ("order no. 77123", "order_id", Medium),
        ("#B-7712", "order_id", Low),
        ("12 Main Street", "address", Low),
        ("asthma", "health", Medium),
    ];
    expect_none(cases.iter().filter_map(|(text, category, wanted)| {
        let spans = BUILTIN.spans(text);
        let found: Vec<Confidence> =
            spans.iter().filter(|span| span.category == *category).map(|span| span.confidence).collect();
        (found != [*wanted]).then(|| format!("{text:?}: {category} {wanted:?}; found {spans:?}"))
    }));
}

#[test]
fn confidence_levels_are_ordered() {
    assert!(Low < Medium && Medium < High);
    assert_eq!([Low, Medium, High].map(Confidence::name), ["low", "medium", "high"]);
}
