//! Clocks that do not agree: a definite verdict holds for all clock errors.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_audit::report::Report;
use lictor_audit::skew::SkewedPolicy;
use lictor_audit::{AuditOptions, audit};
use lictor_decode::input::Input;
use lictor_judge::Judge;
use lictor_logic::{Span, Verdict};
use lictor_policy::{FileResolver, Policy};

const FORMULAS: [&str; 10] = [
    "always (a implies eventually[0,4s] b)",
    "always (b implies once[0,4s] a)",
    "always (a implies always[0,3s] not b)",
    "always (b implies not once[0,5s] a)",
    "always (a implies eventually[4s,8s] b)",
    "eventually[2s,6s] (a and b)",
    "(not b) until[0,6s] a",
    "always (b implies ((not a) since[0,5s] b))",
    "always (a iff once[0,2s] b)",
    "historically[0,3s] a implies eventually b",
];

fn policy(formula: &str) -> Policy {
    let text = format!("lictor: 1\nname: t\nproperties:\n  - {{id: p, formula: '{formula}'}}\n");
    Policy::parse(&text, "policy.yaml", &FileResolver).unwrap().policy
}

/// Sessions of events at seconds, with the facts of each.
fn log(sessions: &[Vec<(i64, usize)>]) -> Input {
    let mut text = String::new();
    for (session, (second, facts)) in
        sessions.iter().enumerate().flat_map(|(session, events)| events.iter().map(move |event| (session, event)))
    {
        let held: Vec<&str> = ["\"a\"", "\"b\""]
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| facts >> bit & 1 == 1)
            .map(|(_, name)| name)
            .collect();
        text += &format!(
            "{{\"session\":\"s{session}\",\"time\":{},\"facts\":[{}]}}\n",
            1_700_000_000 + second,
            held.join(",")
        );
    }
    Input::from_bytes("log.jsonl", text.into_bytes())
}

fn run(judge: &mut Judge, sessions: &[Vec<(i64, usize)>]) -> Report {
    let options = AuditOptions::default().threads(Some(1));
    audit(judge, &[log(sessions)], &options, &()).unwrap()
}

#[test]
fn skewed_verdict_holds_for_all_clock_errors() {
    let mut seed = 3u64;
    let mut next = |below: i64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as i64 % below
    };
    let mut told = [0usize; 3];
    for formula in FORMULAS {
        let skewed = SkewedPolicy::new(&policy(formula), Span::from_seconds(1));
        assert!(skewed.uncovered.is_empty());
        let (mut judge, mut plain) = (Judge::new(&skewed.policy).unwrap(), Judge::new(&policy(formula)).unwrap());
        for _ in 0..12 {
            let mut second = 10;
            let events: Vec<(i64, usize)> = (0..1 + next(4))
                .map(|_| {
                    second += next(5);
                    (second, next(4) as usize)
                })
                .collect();
            let mut report = run(&mut judge, std::slice::from_ref(&events));
            skewed.merge_verdicts(&mut report);
            assert_eq!((report.properties.len(), report.sessions[0].outcomes.len()), (1, 1));
            let verdict = report.sessions[0].verdict();
            assert_eq!(report.findings.is_empty(), verdict != Verdict::Violated);
            told[verdict as usize] += 1;
            // Every way each clock could have been wrong, in whole seconds; the order is that of the log.
            let shifted = |way: usize| -> Vec<(i64, usize)> {
                let shift = |place: usize| (way / 3usize.pow(place as u32) % 3) as i64 - 1;
                events.iter().enumerate().map(|(place, (second, facts))| (second + shift(place), *facts)).collect()
            };
            let mut ways: Vec<_> = (0..3usize.pow(events.len() as u32)).map(shifted).collect();
            ways.retain(|moved| moved.is_sorted_by_key(|(second, _)| *second));
            let report = run(&mut plain, &ways);
            assert_eq!(report.sessions.len(), ways.len());
            for session in &report.sessions {
                let (by_that, moved) = (session.verdict(), &ways[session.name[1..].parse::<usize>().unwrap()]);
                let agrees = verdict == Verdict::Inconclusive || verdict == by_that;
                assert!(agrees, "{formula}: {verdict} of {events:?}, but {by_that} of {moved:?}");
            }
        }
    }
    assert!(told.iter().all(|count| *count > 10), "{told:?}");
}

#[test]
fn skew_keeps_untimed_and_lists_uncovered_properties() {
    let plain = policy("always (a implies once b)");
    let skewed = SkewedPolicy::new(&plain, Span::from_seconds(1));
    assert_eq!(skewed.policy.properties, plain.properties);
    let counting = policy("always count[0,1h](x: c(x)) <= 3");
    let skewed = SkewedPolicy::new(&counting, Span::from_seconds(1));
    assert_eq!(skewed.uncovered, ["p"]);
    assert_eq!(skewed.policy.properties, counting.properties);
}
