//! Numbered events: the verdict does not depend on the order in which they come. If some are missing, it is the verdict
//! that all possible missing events agree on.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::sync::LazyLock;

use lictor_audit::report::Report;
use lictor_audit::{AuditOptions, audit};
use lictor_decode::input::{Input, InputLimits};
use lictor_event::order::{GapCause, ReorderWindow};
use lictor_event::{Event, Kind};
use lictor_judge::Judge;
use lictor_judge::guard::{Cause, Decision, Guard};
use lictor_logic::Verdict;
use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;

const POLICY: &str = r#"
lictor: 1
name: test
tools:
  look: {effects: [read]}
  pay: {effects: [payment, write]}
  mail: {effects: [external]}
properties:
  - {id: approved, formula: 'always (effect("payment") implies once approval)', after: each}
  - {id: forgotten, formula: 'always forall s. (discloses(s) implies not once erasure(s))'}
  - {id: answered, formula: 'always (user_message implies eventually assistant_message)'}
  - {id: soon, formula: 'always (user_message implies eventually[0,5s] assistant_message)', after: reset}
  - {id: known, formula: 'always (effect("external") implies not argument_from("to", "tool"))'}
  - {id: few, formula: 'always count(t: tool_call(t)) <= 3'}
  - {id: everywhere, formula: 'always (effect("payment") implies once approval)', history: global}
"#;

fn judge(policy: &str) -> Judge {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap();
    Judge::new(&loaded.policy).unwrap()
}

/// Returns a judge of its own by [`POLICY`], which is compiled once.
fn usual_judge() -> Judge {
    static JUDGE: LazyLock<Judge> = LazyLock::new(|| judge(POLICY));
    JUDGE.fork()
}

fn run(judge: &mut Judge, lines: &[String], options: &AuditOptions) -> Report {
    let mut text = lines.join("\n");
    text.push('\n');
    judge.clear_histories();
    audit(judge, &[Input::from_bytes("log.jsonl", text.into_bytes())], options, &()).unwrap()
}

fn options(window: usize, threads: usize, chunk: usize) -> AuditOptions {
    AuditOptions::default()
        .reorder(Some(ReorderWindow::default().events(window)))
        .threads(Some(threads))
        .limits(InputLimits::default().chunk(chunk))
}

/// Returns the sessions and findings of a report, without line numbers.
fn told(report: &Report) -> String {
    let mut text = String::new();
    let mut sessions: Vec<_> = report.sessions.iter().collect();
    sessions.sort_by(|one, other| one.name.cmp(&other.name));
    for session in sessions {
        writeln!(text, "{} {} {:?}", session.name, session.steps, session.outcomes).unwrap();
        for gap in &session.gaps {
            writeln!(text, "  {gap}").unwrap();
        }
    }
    let mut findings: Vec<_> = report.findings.iter().collect();
    findings.sort_by(|one, other| {
        (&one.session, one.step, &one.fingerprint).cmp(&(&other.session, other.step, &other.fingerprint))
    });
    for finding in findings {
        let steps: Vec<u32> = finding.witness.iter().map(|proof| proof.step).collect();
        writeln!(text, "{} {} {} {steps:?}", finding.session, finding.property.id, finding.fingerprint).unwrap();
    }
    text
}

const EVENTS: [&str; 8] = [
    r#""kind":"user_message","text":"hello""#,
    r#""kind":"assistant_message","text":"it is bob@example.com","subjects":["bob"]"#,
    r#""kind":"tool_call","id":"c","tool":"pay","args":{"to":"eve"}"#,
    r#""kind":"tool_call","id":"c","tool":"mail","args":{"to":"eve"}"#,
    r#""kind":"tool_result","id":"c","text":"write to eve""#,
    r#""kind":"approval""#,
    r#""kind":"erasure","subjects":["bob"]"#,
    r#""kind":"tool_call","id":"d","tool":"look","args":{}"#,
];

/// Sessions as they were written: the numbers from 1 or from 0, the times rising.
fn log() -> impl Strategy<Value = Vec<String>> {
    // No two at the same time: across sessions, only times say what was first.
    let event = (0..4usize, 0..EVENTS.len(), 1..4u32);
    (prop::collection::vec(event, 1..60), 0..2i64).prop_map(|(events, base)| {
        let (mut second, mut numbers) = (0, [base; 4]);
        let line = |(session, event, pause): (usize, usize, u32)| {
            second += pause;
            let number = numbers[session];
            numbers[session] += 1;
            let (minutes, seconds) = (second / 60, second % 60);
            format!(
                r#"{{"session":"s{session}","seq":{number},"time":"2026-05-01T10:{minutes:02}:{seconds:02}Z",{}}}"#,
                EVENTS[event]
            )
        };
        events.into_iter().map(line).collect()
    })
}

/// Returns the lines in another order, none after more than so many of its successors.
fn shuffled(lines: &[String], most: usize, mut seed: u64) -> Vec<String> {
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    // A line may be taken before others as long as none of them is passed too often.
    let (mut waiting, mut result): (Vec<(usize, &String)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut lines = lines.iter();
    loop {
        while waiting.len() <= most {
            let Some(line) = lines.next() else { break };
            waiting.push((0, line));
        }
        if waiting.is_empty() {
            return result;
        }
        let urgent = waiting.iter().position(|(passed, _)| *passed >= most);
        let taken = urgent.unwrap_or_else(|| next(waiting.len()));
        waiting[..taken].iter_mut().for_each(|(passed, _)| *passed += 1);
        result.push(waiting.remove(taken).1.clone());
    }
}

/// Whether a session that is counted from 0 has its first two events the other way round: then 0 comes too late.
fn begins_with_one(lines: &[String]) -> bool {
    (0..4).any(|session| {
        let of = |number: u32| format!(r#""session":"s{session}","seq":{number},"#);
        let place = |number: u32| lines.iter().position(|line| line.contains(&of(number)));
        place(0).zip(place(1)).is_some_and(|(zero, one)| one < zero)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(32), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reorder_window_gives_verdict_of_sorted_log(lines in log(), window in 0..9usize, seed: u64) {
        let mut judge = usual_judge();
        let mixed = shuffled(&lines, window, seed);
        prop_assume!(!begins_with_one(&mixed));
        let sorted = run(&mut judge, &lines, &options(window, 1, 1 << 20));
        prop_assert_eq!(sorted.gaps().count(), 0);
        // Numbers that fall nowhere out of order change nothing at all.
        let plain = run(&mut judge, &lines, &options(0, 1, 1 << 20).reorder(None));
        prop_assert_eq!(told(&plain), told(&sorted));
        for (threads, chunk) in [(1, 1 << 20), (1, 200), (3, 100), (2, 1000)] {
            let report = run(&mut judge, &mixed, &options(window, threads, chunk));
            prop_assert_eq!(told(&report), told(&sorted), "{} threads, chunks of {}:\n{}", threads, chunk, mixed.join("\n"));
        }
    }

    #[test]
    fn gaps_are_reported_alike_on_any_threads(lines in log(), lost in prop::collection::vec(any::<prop::sample::Index>(), 1..6), seed: u64) {
        let mut judge = usual_judge();
        let mut torn = shuffled(&lines, 5, seed);
        for place in &lost {
            if torn.len() > 1 {
                torn.remove(place.index(torn.len()));
            }
        }
        let expected = run(&mut judge, &torn, &options(2, 1, 1 << 20));
        for (threads, chunk) in [(1, 200), (3, 100), (2, 1000)] {
            let report = run(&mut judge, &torn, &options(2, threads, chunk));
            prop_assert_eq!(told(&report), told(&expected), "{} threads, chunks of {}", threads, chunk);
        }
        // Each number that is not the last is judged, reported as missing, or both if it came too late.
        for session in &expected.sessions {
            let missing: u64 = session.gaps.iter().filter(|gap| gap.cause == GapCause::Missing).map(lictor_event::order::Gap::count).sum();
            let late = session.gaps.iter().filter(|gap| gap.cause != GapCause::Missing).count() as u64;
            let numbers = torn.iter().filter(|line| line.contains(&format!(r#""session":"{}""#, session.name)));
            prop_assert_eq!(u64::from(session.steps) + late, numbers.count() as u64);
            prop_assert!(late <= missing || late <= missing + 1);
        }
    }
}

/// Formulas over two bare facts, of every sort that a gap could change.
const FORMULAS: [&str; 16] = [
    "always (a implies once b)",
    "always (a implies eventually b)",
    "always not (a and b)",
    "always (a implies next b)",
    "always (a implies weak_next not a)",
    "eventually (a and once b)",
    "always (a implies previous b)",
    "a until b",
    "always (b implies (not a since b))",
    "always (a implies eventually[0,2] b)",
    "always (a implies once[1,2] b)",
    "eventually[3,4] a",
    "not next next next true",
    "always (a implies historically not b)",
    "always forall x. (c(x) implies once d(x))",
    "always forall x. (c(x) implies not once d(x))",
];

fn bare_policy(formula: &str, after: &str) -> String {
    format!("lictor: 1\nname: bare\nproperties:\n  - {{id: p, formula: '{formula}', after: {after}}}\n")
}

/// The facts of a position of a session, of sixteen.
fn bare(session: usize, number: usize, facts: usize) -> String {
    let names = ["a", "b", "c(1)", "d(1)"];
    let held: Vec<String> = names
        .iter()
        .enumerate()
        .filter(|(bit, _)| facts >> bit & 1 == 1)
        .map(|(_, name)| format!("\"{name}\""))
        .collect();
    format!(r#"{{"session":"s{session}","seq":{},"facts":[{}]}}"#, number + 1, held.join(","))
}

#[test]
fn gap_verdict_is_consensus_of_all_fillings() {
    let (mut compared, mut definite, mut seed) = (0, [0, 0], 7u64);
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for (place, formula) in FORMULAS.iter().enumerate() {
        let mut judge = judge(&bare_policy(formula, "latch"));
        let is_quantified = place >= 14;
        for _ in 0..20 {
            let length = 2 + next(5);
            let facts: Vec<usize> = (0..length).map(|_| next(16)).collect();
            let from = next(length - 1);
            let to = (from + 1 + next(2)).min(length - 1);
            let lines: Vec<String> = (0..length).map(|number| bare(0, number, facts[number])).collect();
            let torn: Vec<String> = lines[..from].iter().chain(&lines[to..]).cloned().collect();
            let report = run(&mut judge, &torn, &options(1, 1, 1 << 20));
            let verdict = report.sessions[0].outcomes[0].verdict;
            assert_eq!(report.sessions[0].gaps.len(), 1, "{torn:?}");
            // One log has a session for each filling.
            let ways: usize = if is_quantified { 16 } else { 4 };
            let fillings = ways.pow((to - from) as u32);
            let position = |filling: usize, number: usize| match (from..to).contains(&number) {
                true => bare(filling, number, filling / ways.pow((number - from) as u32) % ways),
                false => bare(filling, number, facts[number]),
            };
            let whole: Vec<String> = (0..fillings)
                .flat_map(|filling| (0..length).map(move |number| (filling, number)))
                .map(|(filling, number)| position(filling, number))
                .collect();
            let report = run(&mut judge, &whole, &options(0, 1, 1 << 20));
            let all: Vec<Verdict> = report.sessions.iter().map(|session| session.outcomes[0].verdict).collect();
            assert_eq!(all.len(), fillings);
            let agreed = if all.iter().all(|other| *other == all[0]) { all[0] } else { Verdict::Inconclusive };
            let is_right = verdict == agreed || is_quantified && verdict == Verdict::Inconclusive;
            assert!(is_right, "{formula}: {verdict}, but {agreed} by every filling of {torn:?}");
            compared += 1;
            definite[usize::from(verdict == Verdict::Violated)] += usize::from(verdict.is_definite());
        }
    }
    assert!(compared == 320 && definite.iter().all(|count| *count > 20), "{compared} {definite:?}");
}

fn outcomes(report: &Report, session: usize) -> Vec<(String, Verdict)> {
    let named = report.properties.iter().zip(&report.sessions[session].outcomes);
    named.map(|(property, outcome)| (property.id.to_string(), outcome.verdict)).collect()
}

fn line(session: &str, number: i64, second: u32, event: &str) -> String {
    format!(r#"{{"session":"{session}","seq":{number},"time":"2026-05-01T10:00:{second:02}Z",{event}}}"#)
}

#[test]
fn gap_makes_only_dependent_properties_inconclusive() {
    let lines = [
        line("s", 1, 0, EVENTS[0]),
        line("s", 4, 1, EVENTS[1]),
        line("s", 5, 2, EVENTS[2]),
        line("s", 6, 3, EVENTS[5]),
    ];
    let report = run(&mut usual_judge(), &lines, &options(64, 1, 1 << 20));
    let verdicts = outcomes(&report, 0);
    let of = |id: &str| verdicts.iter().find(|(name, _)| name == id).unwrap().1;
    // The missing events may have approved the payment, erased a person's data or called tools. The answer is there in
    // every case.
    assert_eq!(of("approved"), Verdict::Inconclusive);
    assert_eq!(of("forgotten"), Verdict::Inconclusive);
    assert_eq!(of("few"), Verdict::Inconclusive);
    assert_eq!(of("soon"), Verdict::Inconclusive);
    assert_eq!(of("everywhere"), Verdict::Inconclusive);
    assert_eq!(of("answered"), Verdict::Satisfied);
    let gaps: Vec<String> = report.gaps().map(|(_, gap)| gap.to_string()).collect();
    assert_eq!(gaps, ["gap: events 2 to 3 are missing"]);
    assert!(report.findings.is_empty());
}

#[test]
fn gap_keeps_violations_it_cannot_change() {
    let lines = [
        line("s", 1, 0, EVENTS[2]),
        line("s", 2, 0, EVENTS[0]),
        line("s", 9, 1, EVENTS[6]),
        line("s", 10, 2, EVENTS[1]),
        line("s", 11, 2, EVENTS[4]),
    ];
    let report = run(&mut usual_judge(), &lines, &options(64, 1, 1 << 20));
    let found: Vec<(&str, u32)> =
        report.findings.iter().map(|finding| (finding.property.id.as_str(), finding.step)).collect();
    assert_eq!(found, [("approved", 1), ("everywhere", 1), ("forgotten", 4)]);
}

#[test]
fn gap_with_missing_call_makes_result_unknown() {
    let policy = "lictor: 1\nname: t\nproperties:\n  - {id: p, formula: 'always not tool_failed(\"pay\")'}\n";
    let lines = [line("s", 1, 0, EVENTS[0]), line("s", 3, 0, r#""kind":"tool_result","id":"x","failed":true"#)];
    let report = run(&mut judge(policy), &lines, &options(64, 1, 1 << 20));
    assert_eq!(report.sessions[0].outcomes[0].verdict, Verdict::Inconclusive);
}

#[test]
fn duplicate_event_is_ignored_and_conflict_is_inconclusive() {
    let mut judge = usual_judge();
    let lines = [line("s", 1, 0, EVENTS[0]), line("s", 2, 1, EVENTS[1]), line("s", 1, 0, EVENTS[0])];
    let report = run(&mut judge, &lines, &options(64, 1, 1 << 20));
    assert_eq!(report.gaps().map(|(_, gap)| gap.cause).collect::<Vec<_>>(), [GapCause::Repeated]);
    assert_eq!(report.verdict(), Some(Verdict::Satisfied));
    let lines = [line("s", 1, 0, EVENTS[0]), line("s", 2, 1, EVENTS[1]), line("s", 1, 0, EVENTS[2])];
    let report = run(&mut judge, &lines, &options(64, 1, 1 << 20));
    assert_eq!(report.gaps().map(|(_, gap)| gap.cause).collect::<Vec<_>>(), [GapCause::Conflicting]);
    assert_eq!(report.verdict(), Some(Verdict::Inconclusive));
}

#[test]
fn shared_history_is_inconclusive_across_gap() {
    let mut judge = usual_judge();
    let mut lines = vec![line("s", 1, 0, EVENTS[0]), line("s", 2, 1, EVENTS[1]), line("t", 1, 5, EVENTS[2])];
    let of = |report: &Report| report.findings.iter().filter(|finding| finding.property.id == "everywhere").count();
    assert_eq!(of(&run(&mut judge, &lines, &options(64, 1, 1 << 20))), 1);
    // The missing event may have been the approval.
    lines[1] = line("s", 3, 1, EVENTS[1]);
    let report = run(&mut judge, &lines, &options(64, 1, 1 << 20));
    assert_eq!(of(&report), 0);
    assert!(report.sessions.iter().all(|session| session.outcomes[6].verdict == Verdict::Inconclusive));
}

#[test]
fn event_without_number_is_judged_on_arrival() {
    let lines =
        [line("s", 1, 0, EVENTS[0]), r#"{"session":"s","kind":"approval"}"#.to_owned(), line("s", 2, 0, EVENTS[1])];
    let report = run(&mut usual_judge(), &lines, &options(64, 1, 1 << 20));
    assert_eq!((report.sessions[0].steps, report.gaps().count()), (3, 0));
}

/// Decides on events of one session, of that number and kind; gives the decisions.
fn decided(policy: &str, events: &[(i64, &str)], is_restored: bool) -> Vec<Decision> {
    let mut guard = Guard::new(judge(policy), lictor_judge::guard::GuardOptions::default());
    let mut decisions = Vec::new();
    for (number, kind) in events {
        let event = Event { session: Some("s".into()), seq: Some(*number), ..Event::new(Kind::named(kind)) };
        decisions.push(guard.decide(event, None));
        if is_restored {
            let (saved, _) = guard.save("s", 0).unwrap();
            guard = Guard::new(judge(policy), lictor_judge::guard::GuardOptions::default());
            guard.restore(&saved).unwrap();
        }
    }
    decisions
}

const LIVE: &str = "
lictor: 1
name: live
properties:
  - {id: asked, formula: 'always (pay implies once approval)', unknown: block}
  - {id: tolerant, formula: 'always (pay implies once user_message)', unknown: observe}
  - {id: wide, formula: 'always (look implies not once erase)', unknown: steer, history: global}
";

#[test]
fn early_live_event_gets_response_for_unknown() {
    let events = [(1, "greet"), (4, "pay"), (5, "approval"), (6, "pay"), (3, "look"), (9, "look"), (10, "look")];
    for is_restored in [false, true] {
        let decisions = decided(LIVE, &events, is_restored);
        let told: Vec<String> = decisions
            .iter()
            .map(|decision| {
                let gap = decision.gap.as_ref().map(|gap| format!(" {} {}-{}", gap.cause.name(), gap.first, gap.last));
                format!("{}{}", decision.action.name(), gap.unwrap_or_default())
            })
            .collect();
        // First the approval may be missing, then it comes. A late event is decided when it arrives. Histories across
        // sessions are in doubt after a gap until an event is forwarded.
        let expected =
            ["forward", "block missing 2-3", "steer", "forward", "forward late 3-3", "steer missing 7-8", "forward"];
        assert_eq!(told, expected);
        let line: serde_json::Value = serde_json::from_str(&decisions[1].line()).unwrap();
        assert_eq!(line["gap"], serde_json::json!({"cause": "missing", "first": 2, "last": 3}));
        let objections: Vec<&str> =
            decisions[1].objections.iter().map(|objection| objection.property.id.as_str()).collect();
        assert!(decisions[1].objections.iter().all(|objection| matches!(objection.why, Cause::Unknown)));
        assert_eq!(objections, ["asked", "tolerant", "wide"]);
    }
}

/// Events without numbers are judged in the order of the log, so falling times are reported: once, for any threads.
#[test]
fn native_events_with_falling_times_are_reported() {
    let line = |session: usize, second: usize, seq: &str| {
        format!(
            r#"{{"kind":"tool_call","tool":"pay","session":"s{session}","time":"2026-05-01T10:00:{second:02}Z"{seq}}}"#
        )
    };
    let faults = |lines: &[String], threads: usize| {
        let report = run(&mut usual_judge(), lines, &options(64, threads, 100));
        report.faults.iter().map(|fault| (fault.code, fault.line, fault.message.clone())).collect::<Vec<_>>()
    };
    let ordered: Vec<String> = (0..40).map(|place| line(place % 4, place, "")).collect();
    let mut shuffled = ordered.clone();
    shuffled.swap(9, 17);
    shuffled.swap(10, 30);
    let numbered: Vec<String> =
        (0..40).map(|place| line(place % 4, 59 - place, &format!(r#","seq":{place}"#))).collect();
    let equal: Vec<String> = (0..8).map(|_| line(0, 1, "")).collect();
    // The clocks of several writers differ by less than a second.
    let jitter = [line(0, 2, ""), line(0, 1, "").replace(":01Z", ":01.500Z"), line(0, 3, "")].to_vec();
    for threads in [1, 2, 3] {
        let found = faults(&shuffled, threads);
        assert!(matches!(&found[..], [("decode.unordered_log", 14, _)]), "{found:?}");
        assert!(found[0].2.starts_with("2 sessions have"), "{found:?}");
        for lines in [&ordered, &numbered, &equal, &jitter] {
            assert_eq!(faults(lines, threads), [], "{lines:?}");
        }
    }
}

/// Requests and responses of OpenAI state the time of the reply only, so the user's message has none.
#[test]
fn untimed_events_count_as_of_first_known_time() {
    let mut judge = judge(
        "lictor: 1\nname: t\nproperties:\n  \
         - {id: soon, formula: 'always (user_message implies eventually[0,30m] assistant_message)'}\n  \
         - {id: recent, formula: 'always (assistant_message implies once[0,30m] user_message)'}\n",
    );
    let exchange = |created: i64, messages: &str| {
        format!(
            r#"{{"request":{{"model":"m","messages":[{messages}]}},"response":{{"id":"chatcmpl-{created}","object":"chat.completion","created":{created},"model":"m","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"Reply {created}."}}}}]}}}}"#
        )
    };
    let hello = r#"{"role":"user","content":"Hello, where is my order?"}"#;
    let lines = [exchange(1_777_885_200, hello)];
    let report = run(&mut judge, &lines, &options(64, 1, 1 << 16));
    assert_eq!(report.coverage.content.events, 2);
    assert_eq!(told(&report).matches("Violated").count(), 0, "{}", told(&report));
    assert!(report.findings.is_empty(), "{}", told(&report));
    // The bound runs from the first known time on.
    let late: Vec<String> = [
        r#"{"session":"s","kind":"user_message","text":"Hello"}"#,
        r#"{"session":"s","time":"2026-05-04T09:00:00Z","kind":"tool_call","tool":"look","args":{}}"#,
        r#"{"session":"s","time":"2026-05-04T09:30:01Z","kind":"assistant_message","text":"Hi"}"#,
    ]
    .map(str::to_owned)
    .to_vec();
    let report = run(&mut judge, &late, &options(64, 1, 1 << 16));
    let broken: Vec<&str> = report.findings.iter().map(|finding| finding.property.id.as_str()).collect();
    assert_eq!(broken, ["soon", "recent"]);
}
