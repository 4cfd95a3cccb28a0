//! Custom categories of a policy.

use lictor_json::{Text, parse_str};

use lictor_recognise::{BUILTIN_CATEGORIES, CustomCategory, PersonalData, Recogniser};

fn category(name: &str, pattern: Option<&str>, words: &[&str], identifies: bool) -> CustomCategory {
    let words = words.iter().map(|word| Text::from(*word)).collect();
    CustomCategory { name: name.into(), pattern: pattern.map(Text::from), words, identifies }
}

fn found(own: &[CustomCategory], text: &str) -> PersonalData {
    let mut found = PersonalData::default();
    Recogniser::new(own).unwrap().text(text, &mut found);
    found
}

#[test]
fn custom_pattern_finds_values_and_persons() {
    let own =
        [category("loyalty", Some(r"\bLC-\d{6}\b"), &[], true), category("locker", Some(r"locker (\d+)"), &[], true)];
    let both = found(&own, "LC-123456 and LC-123456, then LC-654321, locker 12");
    assert_eq!(both.categories, ["locker", "loyalty"]);
    assert_eq!(both.subjects, ["12", "LC-123456", "LC-654321"]);
    assert_eq!(found(&own, "LC-12345"), PersonalData::default());
}

#[test]
fn custom_words_match_whole_in_any_script() {
    let own = [category("religion", None, &["catholic", "Église", "P45", "Ислам", "仏教"], false)];
    for text in [
        "I am Catholic.",
        "CATHOLIC",
        "eglise",
        "une ÉGLISE",
        "form P45!",
        "ислам",
        "ИСЛАМ",
        "私は仏教徒です",
        "ca\u{200b}tholic",
    ] {
        assert_eq!(found(&own, text).categories, ["religion"], "{text}");
    }
    for text in ["catholicism", "P456", "xP45", "исламский"] {
        assert_eq!(found(&own, text).categories, Vec::<Text>::new(), "{text}");
    }
}

#[test]
fn custom_identifying_words_are_subjects() {
    let own = [category("staff", None, &["Alice Smith"], true)];
    assert_eq!(found(&own, "ask ALICE  smith").subjects, ["alice smith"]);
}

#[test]
fn custom_category_extends_builtin() {
    let own = [category("health", None, &["homesick"], false), category("order_id", Some("Z{5}"), &[], false)];
    assert_eq!(found(&own, "homesick ZZZZZ").categories, ["health", "order_id"]);
}

#[test]
fn custom_pattern_sees_original_and_folded() {
    let own = [category("code", Some("ß{3}|abc"), &[], false)];
    assert_eq!(found(&own, "ßßß").categories, ["code"]);
    assert_eq!(found(&own, "a\u{200b}bc").categories, ["code"]);
    assert_eq!(found(&own, "ａｂｃ").categories, ["code"]);
}

#[test]
fn custom_category_name_is_key() {
    let own = [category("loyalty_id", None, &[], true)];
    let mut found = PersonalData::default();
    Recogniser::new(&own).unwrap().value(&parse_str(r#"{"customerLoyaltyId": "any", "x": 1}"#).unwrap(), &mut found);
    assert_eq!(found, PersonalData { categories: vec!["loyalty_id".into()], subjects: vec!["any".into()] });
}

#[test]
fn custom_category_error_has_index() {
    let good = category("good", Some("x"), &[], false);
    let cases = [
        (category("bad", Some("("), &[], false), "cannot be used"),
        (category("bad", Some("a*"), &[], false), "empty text"),
        (category("bad", Some(r"\w{100}{100}{100}"), &[], false), "cannot be used"),
        (category("bad", None, &["\u{200b}"], false), "empty word"),
    ];
    for (bad, says) in cases {
        let (place, why) = Recogniser::new(&[good.clone(), bad]).unwrap_err();
        assert!(place == 1 && why.contains(says), "{why}");
    }
}

#[test]
fn builtin_category_names_are_complete() {
    let recogniser = Recogniser::builtin();
    assert!(BUILTIN_CATEGORIES.windows(2).all(|pair| pair[0] < pair[1]));
    for name in BUILTIN_CATEGORIES {
        assert!(format!("{recogniser:?}").contains(name));
    }
}
