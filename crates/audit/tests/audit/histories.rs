//! Properties that look beyond the session are judged as if all events of one owner were one session.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use lictor_audit::{AuditOptions, audit};
use lictor_decode::input::Input;
use lictor_event::{Event, Kind};
use lictor_judge::finding::Finding;
use lictor_judge::session::Session;
use lictor_judge::{Judge, SavedHistories};
use lictor_logic::Time;
use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;

const KINDS: [&str; 4] = ["subject", "principal", "agent", "global"];

/// A required earlier event, a sum, a deadline, and a property that restarts.
fn policy(history: &str) -> String {
    format!(
        r#"
lictor: 1
name: wide
facts:
  paid(payee, amount): {{on: tool_call(pay), payee: args.to, amount: args.amount}}
properties:
  - id: asked-first
    formula: always (tool_call("pay") implies once user_message)
    history: {history}
  - id: structuring
    formula: 'always forall p. (exists a. paid(p, a)) implies sum[0,1h](a: paid(p, a)) <= 20'
    history: {history}
  - id: answered
    formula: always (user_message implies eventually[0,30m] assistant_message)
    history: {history}
    after: reset
"#
    )
}

fn judge(history: &str) -> Judge {
    thread_local! {
        static MADE: RefCell<BTreeMap<String, Judge>> = const { RefCell::new(BTreeMap::new()) };
    }
    let make = || {
        let loaded = Policy::parse(&policy(history), "policy.yaml", &FileResolver);
        Judge::new(&loaded.unwrap_or_else(|problems| panic!("{problems}")).policy).unwrap()
    };
    MADE.with_borrow_mut(|made| made.entry(history.to_owned()).or_insert_with(make).fork())
}

/// An event in a session. Each names its owners, so that they do not depend on the session.
#[derive(Clone, Debug)]
struct Step {
    session: usize,
    owner: usize,
    what: usize,
    amount: i64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..3usize, 0..2usize, 0..4usize, 1..12i64).prop_map(|(session, owner, what, amount)| Step {
        session,
        owner,
        what,
        amount,
    });
    prop::collection::vec(step, 1..24)
}

fn line(place: usize, step: &Step) -> String {
    let what = match step.what {
        0 => r#""kind":"user_message","text":"go""#.to_owned(),
        1 => r#""kind":"assistant_message","text":"done""#.to_owned(),
        _ => format!(r#""kind":"tool_call","tool":"pay","args":{{"to":"p{}","amount":{}}}"#, step.what, step.amount),
    };
    let owner = step.owner;
    format!(
        r#"{{"session":"s{}","time":{},{what},"subjects":["a{owner}"],"principal":"b{owner}","agent":"c{owner}"}}"#,
        step.session,
        1_700_000_000 + place * 600
    )
}

fn events(lines: &[String]) -> Vec<Event> {
    let input = Input::from_bytes("log", lines.join("\n").into_bytes());
    let sessions = lictor_audit::sessions(&[input], &AuditOptions::default()).unwrap().sessions;
    let mut events: Vec<Event> = sessions.into_iter().flat_map(|(_, events)| events).collect();
    events.sort_by_key(|event| event.source.line);
    events
}

/// The violated property, what decided it, and the line.
type BrokenProperties = BTreeSet<(String, String, u32)>;

fn told<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> BrokenProperties {
    let one =
        |finding: &Finding| (finding.property.id.to_string(), format!("{:?}", finding.decided), finding.source.line);
    findings.into_iter().map(one).collect()
}

/// The definition: all events of one owner, judged as one session.
fn by_definition(history: &str, steps: &[Step], events: &[Event]) -> BrokenProperties {
    let mut judge = judge("session");
    let mut sessions: BTreeMap<usize, Session> = BTreeMap::new();
    let mut broken = BrokenProperties::new();
    for (step, event) in steps.iter().zip(events) {
        let owner = if history == "global" { 0 } else { step.owner };
        let session = sessions.entry(owner).or_insert_with(|| Session::new(&mut judge, "all"));
        broken.extend(told(&session.observe(&mut judge, event).unwrap()));
    }
    broken
}

/// Judges one event after the other, each in its session.
fn live(judge: &mut Judge, events: &[Event], mut between: impl FnMut(&mut Judge)) -> Vec<Finding> {
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut findings = Vec::new();
    for event in events {
        let name = event.session.clone().unwrap_or_default();
        let session = sessions.entry(name.to_string()).or_insert_with(|| Session::new(judge, name));
        let proposal = session.propose(judge, event).unwrap();
        let foreseen = told(&proposal.findings);
        assert_eq!(told(&session.propose(judge, event).unwrap().findings), foreseen, "proposing changes nothing");
        let committed = session.commit(judge, proposal).unwrap();
        assert_eq!(told(&committed), foreseen);
        findings.extend(committed);
        between(judge);
    }
    findings
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(32), ..ProptestConfig::default() })]

    #[test]
    fn shared_history_equals_one_session_per_owner(steps in steps()) {
        let lines: Vec<String> = steps.iter().enumerate().map(|(place, step)| line(place, step)).collect();
        let events = events(&lines);
        for history in KINDS {
            let defined = by_definition(history, &steps, &events);
            let mut one = judge(history);
            let lived = live(&mut one, &events, |_| {});
            prop_assert_eq!(&told(&lived), &defined, "{}", history);
            // Saved and restored after every event.
            let restored = live(&mut judge(history), &events, |judge| {
                let text = serde_json::to_string(&judge.save_histories()).unwrap();
                let saved: SavedHistories = serde_json::from_str(&text).unwrap();
                judge.restore_histories(&saved).unwrap();
            });
            prop_assert_eq!(told(&restored), defined.clone(), "{}", history);
            let witness = |findings: &[Finding]| format!("{:?}", findings.iter().map(|finding| &finding.witness).collect::<Vec<_>>());
            prop_assert_eq!(witness(&restored), witness(&lived), "{}", history);
            // Audited with threads, in one file and in a file for each session, backwards.
            for threads in [1, 3] {
                let options = AuditOptions::default().threads(Some(threads));
                let whole = Input::from_bytes("log", lines.join("\n").into_bytes());
                let report = audit(&mut judge(history), &[whole], &options, &()).unwrap();
                prop_assert_eq!(&told(&report.findings), &defined, "{} with {} threads", history, threads);
                let violations: u32 =
                    report.sessions.iter().flat_map(|session| &session.outcomes).map(|outcome| outcome.violations).sum();
                prop_assert_eq!(violations as usize, report.findings.len());
                let parts: Vec<Input> = (0..3).rev().filter_map(|session| {
                    let of = |(place, step): (usize, &Step)| (step.session == session).then(|| lines[place].as_str());
                    let part: Vec<&str> = steps.iter().enumerate().filter_map(of).collect();
                    (!part.is_empty()).then(|| Input::from_bytes(format!("part{session}"), part.join("\n").into_bytes()))
                }).collect();
                let parted = audit(&mut judge(history), &parts, &options, &()).unwrap();
                prop_assert_eq!(parted.findings.len(), report.findings.len(), "{}", history);
            }
        }
    }

    #[test]
    fn audit_continues_histories_of_last_audit(steps in steps(), cut in 0..24usize) {
        let lines: Vec<String> = steps.iter().enumerate().map(|(place, step)| line(place, step)).collect();
        let cut = cut.min(lines.len());
        for history in KINDS {
            let options = AuditOptions::default();
            let input = |lines: &[String]| Input::from_bytes("log", lines.join("\n").into_bytes());
            let whole = audit(&mut judge(history), &[input(&lines)], &options, &()).unwrap();
            let (mut first, mut second) = (judge(history), judge(history));
            let mut count = 0;
            if cut > 0 {
                count += audit(&mut first, &[input(&lines[..cut])], &options, &()).unwrap().findings.len();
            }
            second.restore_histories(&first.save_histories()).unwrap();
            if cut < lines.len() {
                count += audit(&mut second, &[input(&lines[cut..])], &options, &()).unwrap().findings.len();
            }
            prop_assert_eq!(count, whole.findings.len(), "{}", history);
        }
    }
}

#[test]
fn proposal_sees_later_events_of_other_sessions() {
    let mut judge = judge("global");
    let (mut one, mut other) = (Session::new(&mut judge, "one"), Session::new(&mut judge, "other"));
    let event = |line: &str| events(&[line.to_owned()]).remove(0);
    let asks = event(r#"{"kind":"user_message","text":"go","time":1}"#);
    let pays = event(r#"{"kind":"tool_call","tool":"pay","args":{"to":"p","amount":15},"time":2}"#);
    one.observe(&mut judge, &asks).unwrap();
    let (first, second) = (one.propose(&mut judge, &pays).unwrap(), other.propose(&mut judge, &pays).unwrap());
    assert!(first.findings.is_empty() && second.findings.is_empty());
    assert!(one.commit(&mut judge, first).unwrap().is_empty());
    let found = other.commit(&mut judge, second).unwrap();
    assert_eq!(found.len(), 1, "15 and 15 are more than 20");
    assert_eq!((found[0].session.as_str(), found[0].step), ("other", 1));
    let paid = found[0].witness.iter().filter(|proof| !proof.present.is_empty());
    let sessions: Vec<Option<&str>> = paid.map(|proof| proof.session.as_deref()).collect();
    assert_eq!(sessions, [Some("one"), None]);
    assert_eq!(other.report(&mut judge).unwrap().violations, ["structuring"]);
    assert!(one.report(&mut judge).unwrap().violations.is_empty());
}

#[test]
fn shared_history_deadline_passes_without_events() {
    let mut judge = judge("subject");
    let mut session = Session::new(&mut judge, "s");
    let mut event = Event { kind: Kind::UserMessage, time: Some(Time::from_seconds(10)), ..Event::default() };
    event.subjects = Some(vec!["Ann@example.org".into()]);
    session.observe(&mut judge, &event).unwrap();
    assert!(judge.tick_histories(Time::from_seconds(1809)).iter().all(|finding| finding.property.id != "answered"));
    let late = judge.tick_histories(Time::from_seconds(1810));
    assert_eq!(late.len(), 1);
    assert_eq!((late[0].property.id.as_str(), late[0].session.as_str(), late[0].step), ("answered", "s", 1));
}

#[test]
fn shared_histories_of_other_policy_are_refused() {
    let mut one = judge("subject");
    let lines = [line(0, &Step { session: 0, owner: 0, what: 0, amount: 1 })];
    live(&mut one, &events(&lines), |_| {});
    let saved = one.save_histories();
    let error = judge("agent").restore_histories(&saved).unwrap_err().to_string();
    assert!(error.contains("history"), "{error}");
    let changed = policy("subject").replace("<= 20", "<= 30");
    let loaded = Policy::parse(&changed, "policy.yaml", &FileResolver).unwrap();
    let error = Judge::new(&loaded.policy).unwrap().restore_histories(&saved).unwrap_err().to_string();
    assert!(error.contains("another policy"), "{error}");
}

/// The log of two owners in the same sessions. The second owner may have events from the year 2100.
fn log_with_jumps(steps: &[(Step, bool)]) -> Vec<String> {
    let dated = |(place, (step, jumps)): (usize, &(Step, bool))| {
        let line = line(place, step);
        let time = 1_700_000_000 + place * 600;
        match *jumps && step.owner == 1 {
            true => line.replace(&format!("\"time\":{time}"), &format!("\"time\":{}", 4_102_444_800 + place)),
            false => line,
        }
    };
    steps.iter().enumerate().map(dated).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    /// Times that jump ahead are those of one owner: nothing is found, or lost, in the histories of another.
    #[test]
    fn clock_jump_spares_histories_of_others(steps in steps(), jumps in prop::collection::vec(any::<bool>(), 24)) {
        let steps: Vec<(Step, bool)> = steps.into_iter().zip(jumps).collect();
        let lines = log_with_jumps(&steps);
        let all = events(&lines);
        let (own, of_own): (Vec<Step>, Vec<Event>) = steps
            .iter()
            .zip(&all)
            .filter(|((step, _), _)| step.owner == 0)
            .map(|((step, _), event)| (step.clone(), event.clone()))
            .unzip();
        let is_own = |line: u32| steps[line as usize - 1].0.owner == 0;
        for history in ["subject", "principal", "agent"] {
            let expected = by_definition(history, &own, &of_own);
            let input = Input::from_bytes("log", lines.join("\n").into_bytes());
            let report = audit(&mut judge(history), &[input], &AuditOptions::default(), &()).unwrap();
            let found: BrokenProperties = told(&report.findings).into_iter().filter(|(_, _, line)| is_own(*line)).collect();
            prop_assert_eq!(&found, &expected, "{}\n{}", history, lines.join("\n"));
        }
    }
}
