//! Tests of declarations that say something else than their kind, and of those that do not.

use lictor_json::parse_str;

use crate::native::NativeDecoder;
use crate::record::{DecodedEvents, Decoder, LogRecord};

fn decode(line: &str) -> DecodedEvents {
    let value = parse_str(line).unwrap();
    let mut out = DecodedEvents::default();
    let record = LogRecord { value, file: "log".into(), line: 7, index: 0 };
    let mut decoder = NativeDecoder::default();
    // A line that the fast path accepts is the same event.
    let mut fast = DecodedEvents::default();
    let is_read = decoder.text(line, &record.source(), &mut fast);
    decoder.record(record, &mut out);
    assert!(!is_read || fast.events == out.events, "{line}");
    out
}

#[test]
fn declaration_with_another_answer_is_a_fault() {
    let consents = [
        r#""status":"withdrawn""#,
        r#""withdrawn":true"#,
        r#""consent":false"#,
        r#""value":false"#,
        r#""accepted":false"#,
        r#""given":false"#,
        r#""opt_in":false"#,
        r#""state":"revoked""#,
        r#""revokedAt":"2026-06-01T00:00:00Z""#,
        r#""action":"withdraw""#,
        r#""type":"withdrawal""#,
        r#""type":"consent.withdrawn""#,
        r#""result":"declined""#,
        r#""result":{"status":"declined"}"#,
        r#""answer":"no""#,
        r#""consent_status":"pending""#,
        r#""granted":true,"decision":"Denied by the customer""#,
        r#""time":"2026-05-01T10:00:00Z","expires_at":"2026-04-01""#,
    ];
    let consents = consents.map(|more| format!(r#"{{"kind":"consent","subjects":["a"],"purposes":["p"],{more}}}"#));
    let approvals = [
        r#""result":"rejected""#,
        r#""text":"denied""#,
        r#""text":"I do not approve this""#,
        r#""allow":false"#,
        r#""value":false"#,
        r#""state":"requested""#,
        r#""action":"reject""#,
        r#""type":"approval_request""#,
        r#""failed":true"#,
    ];
    let approvals = approvals.map(|more| format!(r#"{{"kind":"approval","id":"c",{more}}}"#));
    let others = [
        r#"{"kind":"denial","id":"c","decision":"pending"}"#,
        r#"{"kind":"erasure","subjects":["a"],"status":"rejected"}"#,
        r#"{"kind":"erasure_done","subjects":["a"],"status":"failed"}"#,
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"granted":false,"decision":"granted"}"#,
    ];
    for line in consents.iter().chain(&approvals).map(String::as_str).chain(others) {
        let DecodedEvents { events, faults } = decode(line);
        assert_eq!(events, [], "{line}");
        assert_eq!(faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), ["native.granted"], "{line}");
    }
}

#[test]
fn declaration_with_neutral_members_is_read() {
    for line in [
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"status":"active","source":"web form","channel":"email"}"#,
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"granted":true,"withdrawn":false,"revoked_at":null}"#,
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"action":"opt_in","version":3}"#,
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"time":"2026-05-01T10:00:00Z","expires_at":"2027-05-01"}"#,
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"granted":false,"status":"withdrawn","withdrawn":true}"#,
        r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"granted":false,"status":"confirmed"}"#,
        r#"{"kind":"approval","id":"c","text":"No objections. Do not pay more than 500."}"#,
        r#"{"kind":"approval","id":"c","action":"cancel_order","reason":"customer rejected the goods"}"#,
        r#"{"kind":"approval","tool":"withdraw_cash","type":"withdrawal","status":"approved"}"#,
        r#"{"kind":"approval","id":"c","status":"approved","expired":false,"comment":"ok"}"#,
        r#"{"kind":"denial","id":"c","status":"rejected","text":"Not this week","approved":false}"#,
        r#"{"kind":"erasure","subjects":["a"],"status":"requested","text":"I withdraw my consent, delete it"}"#,
    ] {
        let DecodedEvents { events, faults } = decode(line);
        assert_eq!((events.len(), faults), (1, Vec::new()), "{line}");
    }
}
