//! Proposals change nothing: a session contains only what was committed to it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::LazyLock;

use lictor_event::Event;
use lictor_event::record::LogRecord;
use lictor_json as json;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::{Proposal, Session};
use lictor_logic::{Time, WitnessBasis};
use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;

/// Past and future, values, sums over a window, deadlines, restarts, and histories across sessions.
const POLICY: &str = r#"
lictor: 1
name: rules
facts:
  paid(payee, amount): {on: tool_call(pay), payee: args.to, amount: args.amount}
properties:
  - {id: once-each, formula: 'always forall p. (paid(p, _) -> !previous once paid(p, _))', after: reset}
  - {id: settle, formula: 'always forall p. (paid(p, _) -> eventually[0,5s] tool_result)'}
  - {id: window, formula: 'always forall p. (paid(p, _) -> sum[0,10s](a: paid(p, a)) <= 7)'}
  - {id: named-first, formula: 'always !argument_from("to", "assistant")'}
  - {id: all-payments, formula: 'always (tool_call("pay") -> sum(a: paid(_, a)) <= 20)', history: global}
"#;

#[derive(Clone, Copy, Debug)]
enum Fate {
    Observed,
    Committed,
    Dropped,
    /// Committed after something else was proposed in the other session.
    CommittedLate,
}

/// Returns a judge of its own by the policy, which is compiled once.
fn judge() -> Judge {
    static JUDGE: LazyLock<Judge> = LazyLock::new(|| {
        let loaded =
            Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
        Judge::new(&loaded.policy).unwrap()
    });
    JUDGE.fork()
}

fn event(session: usize, second: u32, what: usize, amount: i64) -> Event {
    let what = match what {
        0 => r#""kind":"tool_call","id":"a","tool":"pay","args":{"to":"x","amount":AMOUNT}"#,
        1 => r#""kind":"tool_call","id":"b","tool":"pay","args":{"to":"y","amount":AMOUNT}"#,
        2 => r#""kind":"tool_result","id":"a","text":"y"}"#.trim_end_matches('}'),
        3 => r#""kind":"assistant_message","text":"I shall pay x""#,
        _ => r#""kind":"user_message","text":"pay y""#,
    };
    let what = what.replace("AMOUNT", &amount.to_string());
    let line = format!(r#"{{"session":"s{session}","time":"2026-05-01T10:00:{second:02}Z",{what}}}"#);
    LogRecord { value: json::parse_str(&line).unwrap(), file: "-".into(), line: 1, index: 0 }.native_event().unwrap()
}

/// Witnesses of a session take work in proportion to its events and findings; beyond that they are marked.
#[test]
fn witness_budget_marks_findings_beyond_it() {
    let policy = "lictor: 1\nname: p\nfacts:\n  paid: {on: tool_call(pay)}\n  asked: {on: tool_call(ask)}\nproperties:\n  \
                  - {id: ask-first, formula: 'always (paid -> once asked)'}\n";
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let mut session = Session::new(&mut judge, "s0");
    let mut incomplete = 0;
    for step in 1..=3000 {
        let findings = session.observe(&mut judge, &event(0, 0, 0, 1)).unwrap();
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.step, finding.witness.last().map(|proof| proof.step)), (step, Some(step)));
        assert!(step > 100 || finding.basis == WitnessBasis::Proof, "step {step}");
        assert_eq!(finding.basis_note().is_some(), finding.to_json().contains("\"witness_basis\":\"changes\""));
        incomplete += usize::from(finding.basis == WitnessBasis::Changes);
    }
    assert!(incomplete > 1000, "{incomplete}");
}

fn told(findings: Vec<Finding>) -> Vec<String> {
    let mut told: Vec<String> = findings
        .iter()
        .map(|finding| {
            let witness: Vec<_> = finding.witness.iter().map(|proof| (proof.step, &proof.present)).collect();
            format!(
                "{} {} {:?} {:?} {witness:?}",
                finding.session, finding.property.id, finding.decided, finding.binding
            )
        })
        .collect();
    told.sort_unstable();
    told
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(128), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn session_equals_its_committed_events(
        script in prop::collection::vec((0..2usize, 0..6usize, 1..5i64, 0..4usize, any::<bool>()), 1..25)
    ) {
        let (mut judge, mut plain) = (self::judge(), self::judge());
        let mut sessions: Vec<Session> = (0..2).map(|number| Session::new(&mut judge, format!("s{number}"))).collect();
        let mut twins: Vec<Session> = (0..2).map(|number| Session::new(&mut plain, format!("s{number}"))).collect();
        for (second, (of, what, amount, fate, ticks)) in script.into_iter().enumerate() {
            let fate = [Fate::Observed, Fate::Committed, Fate::Dropped, Fate::CommittedLate][fate];
            let event = event(of, 2 * second as u32, what, amount);
            let found = match fate {
                Fate::Observed => Some(sessions[of].observe(&mut judge, &event).unwrap()),
                Fate::Committed => {
                    let proposal = sessions[of].propose(&mut judge, &event).unwrap();
                    Some(sessions[of].commit(&mut judge, proposal).unwrap())
                }
                Fate::Dropped => {
                    drop(sessions[of].propose(&mut judge, &event).unwrap());
                    None
                }
                Fate::CommittedLate => {
                    let proposal = sessions[of].propose(&mut judge, &event).unwrap();
                    drop(sessions[1 - of].propose(&mut judge, &event).unwrap());
                    drop(sessions[of].propose(&mut judge, &event).unwrap());
                    Some(sessions[of].commit(&mut judge, proposal).unwrap())
                }
            };
            if let Some(found) = found {
                prop_assert_eq!(told(found), told(twins[of].observe(&mut plain, &event).unwrap()));
            }
            if ticks {
                let now = Time(event.time.unwrap().0 + 1_500_000_000);
                prop_assert_eq!(told(sessions[of].tick(&mut judge, now).unwrap()), told(twins[of].tick(&mut plain, now).unwrap()));
            }
        }
        for (session, twin) in sessions.iter_mut().zip(&mut twins) {
            prop_assert_eq!(told(session.finish(&mut judge).unwrap()), told(twin.finish(&mut plain).unwrap()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(128), failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks that a chain of proposals finds the same as a session that commits the steps, and changes nothing.
    #[test]
    fn proposal_upon_proposals_equals_committed_steps(
        script in prop::collection::vec((0..6usize, 1..5i64), 2..12),
        before in 0..6usize,
    ) {
        let (mut judge, mut plain) = (self::judge(), self::judge());
        let mut session = Session::new(&mut judge, "s0");
        let mut twin = Session::new(&mut plain, "s0");
        let events: Vec<Event> = script
            .iter()
            .enumerate()
            .map(|(second, (what, amount))| event(0, 2 * second as u32, *what, *amount))
            .collect();
        let before = before.min(events.len() - 1);
        for event in &events[..before] {
            prop_assert_eq!(told(session.observe(&mut judge, event).unwrap()), told(twin.observe(&mut plain, event).unwrap()));
        }
        let mut chain: Vec<Proposal> = Vec::new();
        let mut fork = session.fork();
        for event in &events[before..] {
            let proposal = match chain.last() {
                Some(last) => session.propose_upon(&mut judge, last, event).unwrap(),
                None => session.propose(&mut judge, event).unwrap(),
            };
            prop_assert_eq!(proposal.step() as usize, before + chain.len() + 1);
            let found = told(twin.observe(&mut plain, event).unwrap());
            prop_assert_eq!(told(proposal.findings.clone()), found.clone());
            prop_assert_eq!(told(fork.observe(&mut judge, event).unwrap()), found);
            chain.push(proposal);
        }
        prop_assert_eq!(session.steps() as usize, before);
        // Committed in order they are the same steps; any other order is refused.
        if chain.len() > 1 {
            let second = session.propose_upon(&mut judge, &chain[0], &events[before + 1]).unwrap();
            prop_assert!(session.commit(&mut judge, second).is_err());
        }
        for proposal in chain {
            prop_assert!(session.commit(&mut judge, proposal).is_ok());
        }
        prop_assert_eq!(told(session.finish(&mut judge).unwrap()), told(twin.finish(&mut plain).unwrap()));
    }
}

#[test]
fn stale_proposal_is_refused_and_changes_nothing() {
    let mut judge = judge();
    let mut session = Session::new(&mut judge, "s0");
    let mut other = Session::new(&mut judge, "s0");
    let proposal = session.propose(&mut judge, &event(0, 0, 0, 1)).unwrap();
    assert_eq!((proposal.session().as_str(), proposal.step()), ("s0", 1));
    let again = session.propose(&mut judge, &event(0, 0, 0, 1)).unwrap();
    assert!(other.commit(&mut judge, again).is_err());
    session.observe(&mut judge, &event(0, 1, 1, 1)).unwrap();
    let message = session.commit(&mut judge, proposal).unwrap_err().to_string();
    assert!(message.contains("step 1 of session `s0`"), "{message}");
    assert_eq!(session.steps(), 1);
}
