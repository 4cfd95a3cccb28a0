//! Spans in the original text.

use super::{BUILTIN, expect_none};

#[test]
fn spans_cover_original_text() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("mail alice@example.com now", &[("email", "alice@example.com")]),
        ("mail alice%40example.com now", &[("email", "alice%40example.com")]),
        ("é ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ ü", &[("email", "ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ")]),
        ("a l i c e @ e x a m p l e . c o m", &[("email", "a l i c e @ e x a m p l e . c o m")]),
        ("xx YWxpY2VAZXhhbXBsZS5jb20= yy", &[("email", "YWxpY2VAZXhhbXBsZS5jb20")]),
        ("“4111\u{200b}1111\u{200b}1111\u{200b}1111”", &[("payment", "4111\u{200b}1111\u{200b}1111\u{200b}1111")]),
        ("née le 5 avril 1990, à Paris", &[("dob", "5 avril 1990")]),
        (
            "order #A-7421 for bob@example.org",
            &[("order_id", "#A-7421"), ("order_id", "A-7421"), ("email", "bob@example.org")],
        ),
        ("Hauptstraße 5, 10115 Berlin, danke", &[("address", "Hauptstraße 5, 10115 Berlin")]),
        ("Call +1 (555) 234-5678.", &[("phone", "+1 (555) 234-5678")]),
        ("… IBAN DE89 3704 0044 0532 0130 00 …", &[("iban", "DE89 3704 0044 0532 0130 00")]),
        ("I have diabetes — and asthma", &[("health", "diabetes"), ("health", "asthma")]),
    ];
    expect_none(cases.iter().filter_map(|(text, wanted)| {
        let spans = BUILTIN.spans(text);
        let spans: Vec<(&str, &str)> =
            spans.iter().map(|span| (span.category.as_str(), &text[span.range.clone()])).collect();
        (spans != *wanted).then(|| format!("{text:?}: {wanted:?}; found {spans:?}"))
    }));
}

#[test]
fn spans_cover_hidden_text() {
    let hidden: String =
        "alice@example.com".chars().filter_map(|letter| char::from_u32(letter as u32 + 0xE0000)).collect();
    let text = format!("hello{hidden} there");
    let spans = BUILTIN.spans(&text);
    assert_eq!(spans.len(), 1);
    assert_eq!(text[spans[0].range.clone()], hidden);
}
