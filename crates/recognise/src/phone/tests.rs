//! Phone numbers in the forms of countries, and numbers that are none.

use super::*;

fn name(phone: Option<Phone>) -> Option<String> {
    phone.map(|phone| phone.name.to_string())
}

fn find_shape(text: &str) -> Option<String> {
    name(find_by_shape(text.into(), 0, &Groups::read(text.into(), 0)))
}

#[test]
fn phone_number_is_normalized() {
    for text in ["+1 (555) 234-5678", "+15552345678", "+1.555.234.5678", "+1-555-234-5678 2024-05-20"] {
        assert_eq!(name(find_announced(text.into(), 0)).as_deref(), Some("+15552345678"), "{text}");
    }
    for (text, wanted) in [
        ("0049 151 23456789", "+4915123456789"),
        ("555-234-5678", "+15552345678"),
        ("030/1234567", "0301234567"),
        ("+33 6 12 34 56 78 42", "+33612345678"),
    ] {
        assert_eq!(name(find_announced(text.into(), 0)).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn phone_zero_after_country_is_dropped() {
    for text in ["+49 170 1234567", "+49 (0)170 1234567", "+49(0) 170/123 45 67", "+49 0170 1234567", "+491701234567"] {
        assert_eq!(name(find_international(text.into(), 1)).as_deref(), Some("+491701234567"), "{text}");
    }
    // In Italy the zero belongs to the number.
    for text in ["+39 06 1234567", "+39 (0)6 1234567", "0039 06 1234567", "0039 (0)6/1234567"] {
        assert_eq!(name(find_announced(text.into(), 0)).as_deref(), Some("+39061234567"), "{text}");
    }
}

#[test]
fn phone_country_is_known_by_groups_only() {
    for text in ["646 555 0182", "646-555-0182", "(646) 555-0182", "1 646 555 0182", "1-646-555-0182"] {
        let start = usize::from(text.starts_with('('));
        assert_eq!(name(find_announced(text.into(), start)).as_deref(), Some("+16465550182"), "{text}");
    }
    for (text, wanted) in [
        ("138 1234 5678", "13812345678"),
        ("13812345678", "13812345678"),
        ("98765 43210", "9876543210"),
        ("9876543210", "9876543210"),
        ("532 123 45 67", "5321234567"),
    ] {
        assert_eq!(name(find_announced(text.into(), 0)).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn phone_extension_belongs_to_span() {
    for text in ["+1 555 234 5678x12", "+1 555 234 5678 ext. 123", "+1 555 234 5678 x4"] {
        let phone = find_international(text.into(), 1).map(|phone| (phone.range, phone.name.to_string()));
        assert_eq!(phone, Some((0..text.len(), "+15552345678".to_owned())), "{text}");
    }
    assert!(find_international("+1 555 234 5678xyz".into(), 1).is_none());
}

#[test]
fn phone_national_shape_is_found() {
    for (text, wanted) in [
        ("0171 2345678", "01712345678"),
        ("040/2345678", "0402345678"),
        ("020 7946 0958", "02079460958"),
        ("044 668 18 00", "0446681800"),
        ("06-12345678", "0612345678"),
        ("001-555-234-5678", "+15552345678"),
        ("0041 44 668 18 00", "+41446681800"),
        ("00 44 161 496 0345", "+441614960345"),
    ] {
        assert_eq!(find_shape(text).as_deref(), Some(wanted), "{text}");
    }
    for text in ["(030) 1234567", "(01234) 56789", "(555) 234-5678"] {
        assert!(find_in_brackets(text.into(), 1).is_some(), "{text}");
    }
}

#[test]
fn phone_lookalikes_are_not_found() {
    for text in ["2024-05-20", "12345", "+0200", "+12", "+1 5552", "12:30", "1234567890123456"] {
        assert!(find_announced(text.into(), 0).is_none(), "{text}");
    }
    for text in [
        "0000 1234567",
        "1234 567890",
        "05 04 1990",
        "0123 4567 8901 2345",
        "01 02 2024",
        "0170.1234567",
        "000 123 4567",
    ] {
        assert!(find_shape(text).is_none(), "{text}");
    }
    for text in ["(2) 1234567", "(2024) 1234567", "(0)", "(00) 1234567"] {
        assert!(find_in_brackets(text.into(), 1).is_none(), "{text}");
    }
}
