//! Faults that only the whole of a native log shows, which several threads decode.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_audit::{AuditOptions, audit, take_inventory};
use lictor_decode::input::{Input, InputLimits};
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = "lictor: 1\nname: t\nproperties: [{id: p, formula: 'always !tool_call(\"pay\")'}]\n";

/// Returns the faults of an audit and of an inventory, which must be the same.
fn find_faults(lines: &[String], options: &AuditOptions) -> Vec<(&'static str, u32)> {
    let mut judge = Judge::new(&Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap().policy).unwrap();
    let log = format!("{}\n", lines.join("\n"));
    let inputs = [Input::from_bytes("log.jsonl", log.into_bytes())];
    let inventory = take_inventory(&inputs, options, &mut []).unwrap();
    let report = audit(&mut judge, &inputs, options, &()).unwrap();
    let [counted, judged] =
        [inventory.faults, report.faults].map(|faults| faults.iter().map(|it| (it.code, it.line)).collect::<Vec<_>>());
    assert_eq!(counted, judged);
    judged
}

#[test]
fn faults_of_log_do_not_depend_on_parts() {
    let said = |number: usize, more: &str| {
        format!(r#"{{"session":"s{}","kind":"assistant_message","text":"{number}"{more}}}"#, number % 5)
    };
    let unnamed = |kind: &str, more: &str| format!(r#"{{"kind":"{kind}"{more}}}"#);
    let hidden = r#","calls":[{"name":"pay","arguments":{"amount":5}}]"#;
    let call = r#"{"session":"s1","kind":"tool_call","tool":"pay","args":{"amount":5.0}}"#.to_owned();
    let other = call.replace("5.0", "6");
    let filled = |first: String, last: String| -> Vec<String> {
        [first].into_iter().chain((0..50).map(|number| said(number, ""))).chain([last]).collect()
    };
    let cases = [
        (vec![said(0, hidden)], vec![("decode.unread_call", 1)]),
        (filled(said(0, ""), said(1, hidden)), vec![("decode.unread_call", 52)]),
        (filled(said(0, hidden), said(1, hidden)), vec![("decode.unread_call", 1)]),
        (filled(call.clone(), said(1, hidden)), vec![]),
        (filled(said(1, hidden), call), vec![]),
        (filled(other.clone(), said(1, hidden)), vec![("decode.unread_call", 52)]),
        (filled(said(1, hidden), other), vec![("decode.unread_call", 1)]),
        (filled(unnamed("session_start", ""), unnamed("session_start", "")), vec![("decode.no_session", 52)]),
        (filled(unnamed("session_start", ""), unnamed("session_end", "")), vec![]),
        (
            filled(unnamed("user_message", r#","user_id":"a""#), unnamed("user_message", r#","user_id":"b""#)),
            vec![("decode.mixed_sessions", 1)],
        ),
        (filled(unnamed("user_message", r#","user_id":"a""#), unnamed("user_message", r#","user_id":"a""#)), vec![]),
        (
            filled(unnamed("user_message", r#","case":"a""#), unnamed("user_message", r#","case":"b""#))
                .into_iter()
                .chain([unnamed("error", r#","case":"b""#)])
                .collect(),
            vec![("decode.mixed_sessions", 1)],
        ),
        (filled(unnamed("user_message", r#","case":"a""#), unnamed("user_message", r#","case":"b""#)), vec![]),
    ];
    for (lines, wanted) in cases {
        for threads in [1, 2, 3] {
            for chunk in [100, 1 << 20] {
                let options =
                    AuditOptions::default().threads(Some(threads)).limits(InputLimits::default().chunk(chunk));
                assert_eq!(find_faults(&lines, &options), wanted, "{threads} threads, {chunk} bytes: {lines:?}");
            }
        }
    }
}

#[test]
fn records_without_named_key_are_counted_once() {
    let line = |number: usize| match number % 10 {
        7 => format!(r#"{{"kind":"user_message","text":"{number}"}}"#),
        _ => format!(r#"{{"kind":"user_message","text":"{number}","chat":"c{}"}}"#, number % 3),
    };
    let lines: Vec<String> = (1..=40).map(line).collect();
    for threads in [1, 2] {
        for chunk in [100, 1 << 20] {
            let options = AuditOptions::default()
                .threads(Some(threads))
                .session_key(Some("chat".into()))
                .limits(InputLimits::default().chunk(chunk));
            assert_eq!(find_faults(&lines, &options), [("decode.no_session", 7)]);
        }
    }
}
