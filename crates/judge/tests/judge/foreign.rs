//! A session works with its own judge only, and a proposal with its own session: everything else is an error.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_event::{Event, Kind};
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::session::Session;
use lictor_judge::{Judge, PastPolicies, PolicyMove};
use lictor_logic::Time;
use lictor_policy::{FileResolver, Policy};

const LARGE: &str = r#"
lictor: 1
name: large
properties:
  - {id: no-errors, formula: always !error}
  - {id: answered, formula: 'always (tool_call -> eventually[0,5s] tool_result)'}
  - {id: no-payments, formula: 'always !tool_call("pay")'}
  - {id: one-for-all, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', history: global}
"#;

const SMALL: &str = "{lictor: 1, name: small, properties: [{id: no-payments, formula: 'always !tool_call(\"pay\")'}]}";

fn judge(policy: &str) -> Judge {
    Judge::new(&Policy::parse(policy, "policy.yaml", &FileResolver).unwrap().policy).unwrap()
}

fn payment() -> Event {
    Event { tool: Some("pay".into()), time: Some(Time(1_000_000_000)), ..Event::new(Kind::ToolCall) }
}

/// Pairs of judges that have nothing to do with each other: of other policies, of the same one, and forks.
fn pairs() -> Vec<(Judge, Judge)> {
    let (large, small) = (judge(LARGE), judge(SMALL));
    let fork = large.fork();
    vec![(judge(LARGE), judge(SMALL)), (small, judge(LARGE)), (judge(LARGE), judge(LARGE)), (large, fork)]
}

#[test]
fn session_refuses_every_foreign_judge() {
    for (mut judge, mut other) in pairs() {
        let (mut session, now) = (Session::new(&mut judge, "s"), Time(9_000_000_000));
        session.observe(&mut judge, &payment()).unwrap();
        let before = session.report(&mut judge).unwrap();
        let proposal = session.propose(&mut judge, &payment()).unwrap();
        let refusals = [
            session.propose(&mut other, &payment()).unwrap_err(),
            session.propose_upon(&mut other, &proposal, &payment()).unwrap_err(),
            session.commit(&mut other, proposal).unwrap_err(),
            session.observe(&mut other, &payment()).unwrap_err(),
            session.observe_alone(&mut other, &payment()).unwrap_err(),
            session.miss(&mut other, 3, None).unwrap_err(),
            session.tick(&mut other, now).unwrap_err(),
            session.deadline(&other).unwrap_err(),
            session.owed(&mut other).unwrap_err(),
            session.finish(&mut other).unwrap_err(),
            session.report(&mut other).unwrap_err(),
            session.report_at_end(&mut other).unwrap_err(),
            session.save(&other, 0).unwrap_err(),
            session.fork().observe(&mut other, &payment()).unwrap_err(),
        ];
        for refusal in refusals {
            assert!(refusal.is_foreign() && !refusal.is_stale(), "{refusal}");
            assert!(refusal.to_string().contains("session `s` belongs to another judge; use the judge"), "{refusal}");
        }
        assert_eq!(session.report(&mut judge).unwrap(), before, "nothing has changed");
        let found = session.observe(&mut judge, &payment()).unwrap();
        assert!(found.iter().any(|finding| finding.property.id == "no-payments"), "the violation is still found");
    }
}

#[test]
fn session_state_refuses_every_foreign_judge() {
    for (mut judge, mut other) in pairs() {
        let mut state = judge.start();
        judge.advance(&mut state, &payment()).unwrap();
        let violations = state.violations().to_vec();
        assert!(other.advance(&mut state, &payment()).unwrap_err().is_foreign());
        assert!(other.advance_time(&mut state, Time(9_000_000_000)).unwrap_err().is_foreign());
        assert!(other.advance_missing(&mut state, 2, None).unwrap_err().is_foreign());
        assert!(other.verdict(&mut state, 0).unwrap_err().is_foreign());
        assert!(other.end(&mut state, 0).unwrap_err().is_foreign());
        assert_eq!((state.violations(), state.steps()), (&*violations, 1));
    }
}

#[test]
fn history_event_refuses_foreign_policy() {
    let (mut judge, mut other) = (judge(LARGE), self::judge(LARGE));
    let mut state = judge.start();
    judge.advance(&mut state, &payment()).unwrap();
    let event = judge.last_history_event(&state, &payment(), || "s".into(), false).unwrap();
    assert!(other.observe_shared(event.clone()).unwrap_err().is_foreign());
    // Forks have the same policy: an audit labels on many threads and judges the histories on one.
    assert!(judge.fork().observe_shared(event).unwrap().is_empty());
}

#[test]
fn chained_proposal_refuses_foreign_session() {
    let mut judge = judge(LARGE);
    let (mut session, other) = (Session::new(&mut judge, "s"), Session::new(&mut judge, "s"));
    let first = session.propose(&mut judge, &payment()).unwrap();
    let second = session.propose_upon(&mut judge, &first, &payment()).unwrap();
    assert!(other.propose_upon(&mut judge, &first, &payment()).unwrap_err().is_stale());
    assert!(other.propose_upon(&mut judge, &second, &payment()).unwrap_err().is_stale());
    assert!(session.fork().propose_upon(&mut judge, &second, &payment()).unwrap_err().is_stale());
    let third = session.propose_upon(&mut judge, &second, &payment()).unwrap();
    // After the first is committed, the others still continue the session.
    session.commit(&mut judge, first).unwrap();
    session.propose_upon(&mut judge, &third, &payment()).unwrap();
    session.observe(&mut judge, &payment()).unwrap();
    assert!(session.propose_upon(&mut judge, &third, &payment()).unwrap_err().is_stale());
    assert!(session.commit(&mut judge, second).unwrap_err().is_stale());
}

#[test]
fn restored_session_belongs_to_its_new_judge() {
    let (mut judge, mut other) = (judge(LARGE), self::judge(LARGE));
    let mut session = Session::new(&mut judge, "s");
    session.observe(&mut judge, &payment()).unwrap();
    let saved = session.save(&judge, 0).unwrap();
    let mut restored = Session::restore(&mut other, &saved).unwrap();
    assert!(restored.observe(&mut judge, &payment()).unwrap_err().is_foreign());
    assert_eq!(restored.report(&mut other).unwrap(), session.report(&mut judge).unwrap());
    let proposal = session.propose(&mut judge, &payment()).unwrap();
    assert!(restored.commit(&mut other, proposal).unwrap_err().is_stale());
    // A judge of another policy would lose the violations.
    assert!(Session::restore(&mut self::judge(SMALL), &saved).is_err());
    let past = PastPolicies::default();
    let (mut migrated, moved) = Session::migrate(&mut self::judge(SMALL), &saved, "", &past).unwrap();
    assert_eq!(moved, PolicyMove::default());
    assert!(migrated.report(&mut other).unwrap_err().is_foreign());
}

#[test]
fn guard_refuses_session_of_other_policy() {
    let mut guard = Guard::new(judge(LARGE), GuardOptions::default());
    guard.decide(payment(), None);
    let (saved, _) = guard.save("", 0).unwrap();
    let error = Guard::new(judge(SMALL), GuardOptions::default()).restore(&saved).unwrap_err();
    assert!(error.to_string().contains("another policy"), "{error}");
}
