//! Findings in JSON: by its strings and by its keys.

use lictor_json::parse_str;
use lictor_recognise::PersonalData;

use super::{BUILTIN, expect_none, found as found_in_text};

fn found(json: &str) -> PersonalData {
    let mut found = PersonalData::default();
    BUILTIN.value(&parse_str(json).unwrap(), &mut found);
    found
}

#[test]
fn json_key_names_category() {
    let cases = [
        (r#"{"email": "somebody"}"#, "email"),
        (r#"{"customerEmail": "somebody"}"#, "email"),
        (r#"{"e_mail": ["somebody"]}"#, "email"),
        (r#"{"dob": 19900405}"#, "dob"),
        (r#"{"date_of_birth": "the fifth of April"}"#, "dob"),
        (r#"{"birthDate": "05.04."}"#, "dob"),
        (r#"{"ssn": 123456789}"#, "gov_id"),
        (r#"{"passport_no": "X-1"}"#, "gov_id"),
        (r#"{"gov_id": "unusual"}"#, "gov_id"),
        (r#"{"national_id": "unusual"}"#, "gov_id"),
        (r#"{"passport": {"number": "X-1"}}"#, "gov_id"),
        (r#"{"phone": "ask Bob"}"#, "phone"),
        (r#"{"mobile": "0151 2345"}"#, "phone"),
        (r#"{"address": "Evergreen"}"#, "address"),
        (r#"{"street": "Evergreen"}"#, "address"),
        (r#"{"address": {"city": "Springfield"}}"#, "address"),
        (r#"{"postal_code": "10115"}"#, "address"),
        (r#"{"iban": "unusual"}"#, "iban"),
        (r#"{"card_number": "**** 4242"}"#, "payment"),
        (r#"{"cardNumber": 4111}"#, "payment"),
        (r#"{"cvv": "123"}"#, "payment"),
        (r#"{"order_id": 7}"#, "order_id"),
        (r#"{"orders": [{"id": 7}]}"#, "order_id"),
        (r#"{"diagnosis": "unclear"}"#, "health"),
        (r#"{"patient": {"mrn": "S1"}}"#, "health"),
        (r#"{"n": 4111111111111111}"#, "payment"),
        (r#"[["alice@example.com"]]"#, "email"),
        (r#"{"note": "see order #A-7421"}"#, "order_id"),
        (r#"{"geburtsdatum": "5.4.", "straße": "Am Markt"}"#, "address dob"),
    ];
    expect_none(cases.into_iter().filter_map(|(json, wanted)| {
        let categories = found(json).categories.join(" ");
        (categories != wanted).then(|| format!("{json} carries `{wanted}`; found `{categories}`"))
    }));
}

#[test]
fn json_key_names_category_in_text() {
    let cases = [
        (r#"{"street":"Lindenhof 3"}"#, "address"),
        (r#"{"user":{"shipping_address":{"line1":"Lindenhof"}}}"#, "address"),
        (r#"{"licenseNumber":"D1234562","diagnosis":"melancholia"}"#, "gov_id health"),
        (r#"{"national_id": "AB-77-1"}"#, "gov_id"),
        (r#"[{"id":1,"dob":"the fifth"},{"id":2}]"#, "dob"),
        (r#"{"body":"{\"street\":\"Lindenhof\"}"}"#, "address"),
        (r#"200 OK: {"street": "Lindenhof", "x": "cut"#, "address"),
        ("{'street': 'Lindenhof'}", "address"),
        (r#"{"street":"","email":"n/a","street_count":3}"#, ""),
    ];
    expect_none(cases.into_iter().filter_map(|(text, wanted)| {
        let categories = found_in_text(text).categories.join(" ");
        (categories != wanted).then(|| format!("{text} carries `{wanted}`; found `{categories}`"))
    }));
    let text = r#"{"id":7,"street":"Lindenhof 3"}"#;
    let spans = BUILTIN.spans(text);
    assert!(spans.iter().any(|span| &text[span.range.clone()] == "Lindenhof 3"), "{spans:?}");
    let open = r#"{"id":7,"street":"Lindenh"#;
    assert_eq!(&open[BUILTIN.open_from(open)..], "Lindenh");
}

#[test]
fn json_other_keys_and_placeholders_are_ignored() {
    let cases = [
        r#"{"email": ""}"#,
        r#"{"num_emails": 4, "num_addresses": 3, "ssn": "REDACTED"}"#,
        r#"{"email": null, "phone": "n/a", "dob": "unknown"}"#,
        r#"{"email": true, "address": false}"#,
        r#"{"email_verified": "yes", "email_count": 5, "email_id": 33}"#,
        r#"{"phone_type": "home", "mobile": "iOS", "cell": "B2"}"#,
        r#"{"address": "0x7ffe12", "ip_address": "10.0.0.1", "mac_address": "aa:bb"}"#,
        r#"{"order": "asc", "order_status": "shipped", "order_count": 15}"#,
        r#"{"flight_number": "HAT136", "date": "2024-05-20", "city": "Paris"}"#,
        r#"{"user_id": 5, "id": 7, "name": "Alice", "number": 12}"#,
        r#"{"payment": {"amount": 55}, "card_type": "gold"}"#,
        r#"{"timestamp": 1716206400000, "nanos": 1716206400000000000, "big": 123456789012345678901234567890}"#,
        "5",
        "[]",
        "{}",
        r#""""#,
    ];
    expect_none(cases.into_iter().filter_map(|json| {
        let found = found(json);
        (found != PersonalData::default()).then(|| format!("{json} carries nothing; found {found:?}"))
    }));
}

#[test]
fn json_key_names_person() {
    let found = found(r#"{"phone": "0301234567", "contacts": {"email": "Bob@Example.com"}}"#);
    assert_eq!(found.subjects, ["0301234567", "bob@example.com"]);
}

/// Arguments and results as four kinds of agents pass them around.
#[test]
fn json_agent_calls_have_their_categories() {
    let calls = [
        (
            "a shop",
            r##"{"email": "mia@example.com", "order_id": "#W2378156", "shipping_address": {"line1": "742 Evergreen Terrace", "city": "Springfield"}}"##,
            "address email order_id",
        ),
        (
            "an airline",
            r#"{"reservation_id": "4WQ150", "user": {"email": "mia@example.com"}, "flights": [{"flight_number": "HAT136", "date": "2024-05-20"}]}"#,
            "email order_id",
        ),
        (
            "a clinic",
            r#"{"mrn": "S6534835", "dob": "1990-04-05", "contact": "mia@example.com", "note": "type 2 diabetes, on metformin"}"#,
            "dob email health",
        ),
        (
            "a bank",
            r#"{"customer": {"address": "Hauptstraße 5, Berlin", "birthDate": "1990-04-05", "eMail": "mia@example.com", "passportNumber": "C01X00T47"}, "account": "DE89370400440532013000", "card": "4111 1111 1111 1111"}"#,
            "address dob email gov_id iban payment",
        ),
    ];
    expect_none(calls.into_iter().filter_map(|(agent, json, wanted)| {
        let categories = found(json).categories.join(" ");
        (categories != wanted).then(|| format!("{agent}: `{wanted}`; found `{categories}`"))
    }));
}

/// The same data in a log that has the JSON as text.
#[test]
fn json_as_text_has_nearly_same_categories() {
    let json = r#"{"email": "mia@example.com", "dob": "1990-04-05", "order_id": "W2378156", "mrn": "S6534835", "phone": "030 1234567", "iban": "DE89370400440532013000"}"#;
    let mut text = PersonalData::default();
    BUILTIN.text(json, &mut text);
    assert_eq!(text, found(json));
}
