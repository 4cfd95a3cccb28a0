//! Calls that a forecast objects to: they wait for a reviewer, or are blocked.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_event::{Event, Kind};
use lictor_judge::guard::{Action, Capabilities, Decision, Guard, GuardOptions, Refusal};
use lictor_judge::{Foresight, Judge};
use lictor_policy::{FileResolver, Policy, Response};

/// Returns a guard of a policy that forecasts by a chain: after `open_shell`, `drop` mostly follows.
fn guard(property: &str, predict: &str) -> Guard {
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    let text = format!(
        "lictor: 1\nname: shop\nproperties:\n  - {{id: no-drop, formula: 'always !tool_call(\"drop\")', {property}}}\n\
         predict: {{chain: '{chain}', within: 2, {predict}}}\n"
    );
    let policy = Policy::parse(&text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    let judge = Judge::new(&policy).unwrap();
    let foresight = Foresight::open(&judge, &policy).unwrap_or_else(|problem| panic!("{problem}"));
    Guard::new(judge, GuardOptions::default()).foreseeing(foresight)
}

fn event(kind: Kind) -> Event {
    Event { session: Some("s".into()), text: Some("Tidy up.".into()), ..Event::new(kind) }
}

fn call(tool: &str) -> Event {
    Event { session: Some("s".into()), tool: Some(tool.into()), id: Some("c1".into()), ..Event::new(Kind::ToolCall) }
}

/// Decides on a call after the message of a user.
fn decide(guard: &mut Guard, tool: &str) -> Decision {
    assert_eq!(guard.decide(event(Kind::UserMessage), None).action, Action::Forward);
    guard.decide(call(tool), None)
}

const BLOCKS: &str = "respond: block, says: Nothing is dropped., remedy: Archive it.";

#[test]
fn forecast_stops_risky_call_and_says_why() {
    let mut guard = guard(BLOCKS, "risk: 0.6, intervene: [stop]");
    let decision = decide(&mut guard, "open_shell");
    assert_eq!((decision.action, decision.step), (Action::Block, None));
    let forecast = decision.forecast.as_ref().unwrap();
    let score = forecast.score.unwrap();
    assert!(forecast.response == Response::Block && score.chance > 0.8 && score.most >= score.chance, "{score:?}");
    assert!(decision.objections.is_empty(), "no property is violated yet");
    let message = decision.message.as_deref().unwrap();
    let percent = format!("is {:.0} %", score.chance * 100.0);
    for wanted in ["not carried out", "a rule is violated within 2 actions", &percent, "Archive it."] {
        assert!(message.contains(wanted), "{wanted} in {message}");
    }
    let decision = guard.decide(call("open_console"), None);
    assert!(decision.action == Action::Forward && decision.forecast.is_none());
}

#[test]
fn forecast_asks_and_approval_outweighs_it() {
    let mut guard = guard(BLOCKS, "risk: 0.6, intervene: [resample, ask]");
    let decision = decide(&mut guard, "open_shell");
    assert_eq!((decision.action, decision.approval_id.as_deref()), (Action::Ask, Some("c1")));
    let answer = Event { id: Some("c1".into()), text: None, ..event(Kind::Approval) };
    let settled = guard.decide(answer, None).settled;
    assert_eq!((settled[0].action, settled[0].forecast.is_none()), (Action::Forward, true));
}

#[test]
fn forecast_without_reviewer_blocks_call() {
    let mut guard = guard(BLOCKS, "risk: 0.6, intervene: [ask]");
    guard.decide(event(Kind::UserMessage), None);
    let decision = guard.decide_within(Capabilities { ask: false, rewrite: true }, call("open_shell"), None);
    assert_eq!((decision.action, decision.refused), (Action::Block, Some(Refusal::Alone)));
}

#[test]
fn forecast_never_softens_a_block() {
    let mut asking = guard(BLOCKS, "risk: 0.6, intervene: [ask]");
    let decision = decide(&mut asking, "drop");
    assert_eq!(decision.action, Action::Block);
    assert!(decision.approval_id.is_none() && decision.objections.len() == 1);
}

#[test]
fn forecast_of_shadow_property_stops_nothing() {
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    let text = format!(
        "lictor: 1\nname: shop\nproperties:\n  - {{id: no-drop, formula: 'always !tool_call(\"drop\")', mode: shadow}}\n\
         predict: {{chain: '{chain}', within: 2, intervene: [stop]}}\n"
    );
    let policy = Policy::parse(&text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    let judge = Judge::new(&policy).unwrap();
    assert!(Foresight::open(&judge, &policy).is_err(), "nothing is left to forecast");
}

#[test]
fn unknown_session_is_stopped_if_undecided_intervenes() {
    for (undecided, action) in [("forward", Action::Forward), ("intervene", Action::Block)] {
        let mut guard = guard(BLOCKS, &format!("risk: 0.6, undecided: {undecided}, intervene: [stop]"));
        for _ in 0..30 {
            guard.decide(event(Kind::UserMessage), None);
        }
        let decision = guard.decide(call("open_console"), None);
        assert_eq!(decision.action, action, "{undecided}");
        if let Some(forecast) = &decision.forecast {
            assert!(forecast.score.is_none() && forecast.to_string().contains("no forecast"), "{forecast}");
        }
    }
}

#[test]
fn forecast_decision_is_read_back_from_line() {
    let mut guard = guard(BLOCKS, "risk: 0.6, intervene: [stop]");
    let decision = decide(&mut guard, "open_shell");
    let read = Decision::from_line(&decision.line(), decision.event.clone(), guard.judge());
    assert_eq!(read.line(), decision.line());
    assert!(read.line().contains("\"forecast\":{\"response\":\"block\""), "{}", read.line());
}

#[test]
fn forecast_of_text_stops_nothing() {
    let mut guard = guard(BLOCKS, "risk: 0.01, intervene: [stop]");
    guard.decide(event(Kind::UserMessage), None);
    assert_eq!(guard.decide(event(Kind::AssistantMessage), None).action, Action::Forward);
}

/// A session must not become unforeseeable by talk: its number is then a reason for care, and never one to be at ease.
#[test]
fn talk_does_not_hide_a_risky_call() {
    for talk in 0..12 {
        let mut guard = guard(BLOCKS, "risk: 0.6, intervene: [stop]");
        guard.decide(event(Kind::UserMessage), None);
        (0..talk).for_each(|_| drop(guard.decide(event(Kind::AssistantMessage), None)));
        let decision = guard.decide(call("open_shell"), None);
        assert_eq!(decision.action, Action::Block, "after {talk} messages");
        let decision = guard.decide(call("open_console"), None);
        assert_eq!(decision.action, Action::Forward, "after {talk} messages");
        assert!(talk < 8 || decision.is_unforeseen, "after {talk} messages");
    }
}

#[test]
fn chain_holds_no_texts_of_logs() {
    let text = "lictor: 1\nname: p\nfacts:\n  mailed(to): {on: tool_call(mail), to: args.to}\nproperties:\n  \
                - {id: a, formula: 'always !mailed(\"boss@example.org\")'}\n  \
                - {id: b, formula: 'always !argument(\"note\", \"secret\")'}\n";
    let policy = Policy::parse(text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    let mail = || {
        let arguments = serde_json::json!({"to": "ann@example.org", "note": "Ann Smith has cancer"}).to_string();
        let arguments = lictor_event::Arguments::from_json(lictor_json::parse_str(&arguments).unwrap());
        Event { args: Some(arguments), ..call("mail") }
    };
    let sessions: Vec<Vec<Event>> = (0..30).map(|_| vec![event(Kind::UserMessage), mail(), mail()]).collect();
    let chain = Judge::new(&policy).unwrap().learn_chain(sessions.iter().map(|events| &events[..])).unwrap();
    let written = chain.to_file();
    assert!(written.contains("boss@example.org"), "what a formula names is kept");
    assert!(!written.contains("ann@") && !written.contains("Ann Smith"), "{written}");
}
