//! The ports of the two waists: annotators before the judge, observers after it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use lictor_event::annotator::{Annotation, Annotator, AnnotatorError, Annotators};
use lictor_event::{Answer, AnswerValue, Event, Kind};
use lictor_judge::Judge;
use lictor_judge::guard::{Action, Guard, GuardOptions};
use lictor_judge::observer::{Feed, FeedEntry};
use lictor_logic::{Fact, Time, Verdict};
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: threats
properties:
  - id: no-payment-after-threat
    says: Nothing is paid after a threat.
    formula: always (tool_call("pay") -> !once threatens)
    respond: block
    unknown: ask
  - id: answered
    says: A payment is confirmed within a minute.
    formula: always (tool_call("pay") -> eventually[0,60s] tool_result)
"#;

fn guard() -> Guard {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default())
}

fn threatens(says: AnswerValue) -> Answer {
    Answer::new(Fact::new("threatens", []), says)
}

fn message(answers: Vec<Answer>) -> Event {
    Event { answers, text: Some("pay me, or else".into()), ..Event::new(Kind::UserMessage) }
}

fn payment() -> Event {
    Event { tool: Some("pay".into()), id: Some("c1".into()), ..Event::new(Kind::ToolCall) }
}

/// Returns the action on a payment after a message with these answers.
fn decided_after(answers: Vec<Answer>) -> Action {
    let mut guard = guard();
    guard.decide(message(answers), None);
    guard.decide(payment(), None).action
}

#[test]
fn answers_make_facts_known_absent_or_unknown() {
    assert_eq!(decided_after(vec![]), Action::Forward);
    assert_eq!(decided_after(vec![threatens(AnswerValue::Yes)]), Action::Block);
    assert_eq!(decided_after(vec![threatens(AnswerValue::No)]), Action::Forward);
    assert_eq!(decided_after(vec![threatens(AnswerValue::Unclear)]), Action::Ask);
    assert_eq!(decided_after(vec![threatens(AnswerValue::Failed)]), Action::Ask);
}

#[test]
fn contradicting_answers_leave_a_fact_unknown() {
    assert_eq!(decided_after(vec![threatens(AnswerValue::Yes), threatens(AnswerValue::No)]), Action::Ask);
    assert_eq!(decided_after(vec![threatens(AnswerValue::Failed), threatens(AnswerValue::No)]), Action::Forward);
    let labeled = Event { labels: vec!["threatens".into()], ..message(vec![threatens(AnswerValue::No)]) };
    let mut guard = guard();
    guard.decide(labeled, None);
    assert_eq!(guard.decide(payment(), None).action, Action::Ask);
}

/// The fact is asked about messages of the user, and about the answers of one tool whose name is in the call.
#[test]
fn answer_counts_where_and_by_whom_asked() {
    let policy = |by: &str| {
        format!(
            "lictor: 1\nlabelers: {{human: {{log: true}}}}\nfacts: {{rude: {{ask: it is rude, of: [user_message, \
             \"tool_result(read)\"]{by}}}}}\nproperties: [{{id: p, formula: always !rude}}]\n"
        )
    };
    let said = |kind: Kind, text: &str, by: Option<&str>| {
        let answer = Answer { by: by.map(Into::into), ..Answer::new(Fact::new("rude", []), AnswerValue::Yes) };
        Event { answers: vec![answer], text: Some(text.into()), id: Some("c".into()), ..Event::new(kind) }
    };
    let call = |tool: &str| Event { tool: Some(tool.into()), id: Some("c".into()), ..Event::new(Kind::ToolCall) };
    let cases = [
        ("", call("read"), said(Kind::UserMessage, "you", None), Verdict::Violated),
        ("", call("read"), said(Kind::AssistantMessage, "you", None), Verdict::Satisfied),
        ("", call("read"), said(Kind::ToolResult, "you", None), Verdict::Violated),
        ("", call("write"), said(Kind::ToolResult, "you", None), Verdict::Satisfied),
        // No word of the user.
        ("", call("read"), said(Kind::UserMessage, " ", None), Verdict::Satisfied),
        (", by: human", call("read"), said(Kind::UserMessage, "you", Some("human")), Verdict::Violated),
        (", by: human", call("read"), said(Kind::UserMessage, "you", Some("human@2")), Verdict::Violated),
        (", by: human", call("read"), said(Kind::UserMessage, "you", None), Verdict::Inconclusive),
        (", by: human", call("read"), said(Kind::UserMessage, "you", Some("bot@1")), Verdict::Inconclusive),
        (", by: human", call("read"), said(Kind::AssistantMessage, "you", Some("human")), Verdict::Satisfied),
    ];
    for (by, call, event, verdict) in cases {
        let text = policy(by);
        let loaded = Policy::parse(&text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
        let mut judge = Judge::new(&loaded.policy).unwrap();
        let mut state = judge.start();
        judge.advance(&mut state, &call).unwrap();
        let is_taken = judge.takes_answer(&state, &event, &event.answers[0]).unwrap();
        assert_eq!(is_taken, verdict == Verdict::Violated, "{by} {event:?}");
        judge.advance(&mut state, &event).unwrap();
        assert_eq!(judge.end(&mut state, 0).unwrap(), verdict, "{by} {event:?}");
    }
}

/// Says yes about every message that mentions a threat; fails if `is_broken`.
struct Keyword {
    is_broken: bool,
}

impl Annotator for Keyword {
    fn name(&self) -> &str {
        "keyword@1"
    }

    fn questions(&self, event: &Event) -> Vec<Fact> {
        if event.kind == Kind::UserMessage { vec![Fact::new("threatens", [])] } else { Vec::new() }
    }

    fn annotate(&self, events: &[&Event]) -> Vec<Result<Annotation, AnnotatorError>> {
        assert!(!self.is_broken, "the annotator is broken");
        let says = |event: &&Event| event.text.as_deref().is_some_and(|text| text.contains("or else"));
        let answer = |event| threatens(if says(event) { AnswerValue::Yes } else { AnswerValue::No });
        events.iter().map(|event| Ok(answer(event).into())).collect()
    }
}

#[test]
fn machine_turn_raises_no_question() {
    let text = "lictor: 1\nlabelers: {asker: {log: true}}\nfacts: {rude: {ask: it is rude, of: user_message, by: asker}}\n\
                properties: [{id: p, formula: always !rude}]\n";
    let policy = Policy::parse(text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    let mut judge = Judge::new(&policy).unwrap();
    let state = judge.start();
    for (said, questions) in [("go on", 1), ("", 0), (" \u{200b}", 0), ("[Request interrupted by user]", 0)] {
        let event = Event { text: Some(said.into()), ..Event::new(Kind::UserMessage) };
        assert_eq!(judge.questions(&state, &event).unwrap().len(), questions, "{said:?}");
        assert_eq!(judge.all_questions(&state, &event).unwrap().len(), questions, "{said:?}");
    }
}

#[test]
fn guard_asks_annotators_before_it_decides() {
    for (is_broken, action) in [(false, Action::Block), (true, Action::Ask)] {
        let annotators = Annotators::new([Box::new(Keyword { is_broken }) as _]);
        let mut guard = guard().annotated_by(Arc::new(annotators));
        let decision = guard.decide(message(vec![]), None);
        assert_eq!(decision.event.answers[0].by.as_deref(), Some("keyword@1"));
        assert_eq!(guard.decide(payment(), None).action, action);
    }
}

#[test]
fn observer_sees_decisions_and_findings_in_order() {
    let feed = Feed::default();
    let mut reader = feed.subscribe();
    let mut guard = guard().observed_by(feed);
    guard.decide(Event { time: Some(Time(0)), ..payment() }, None);
    guard.tick(Time(61_000_000_000));
    guard.decide(message(vec![threatens(AnswerValue::Yes)]), None);
    guard.decide(payment(), None);
    let seen: Vec<String> = reader
        .read()
        .entries
        .iter()
        .map(|entry| match &**entry {
            FeedEntry::Decision(decision) => decision.action.name().to_owned(),
            FeedEntry::Finding(finding) => finding.property.id.to_string(),
            _ => "notice".to_owned(),
        })
        .collect();
    assert_eq!(seen, ["forward", "answered", "forward", "block"]);
}

/// One open question of the past leaves open only what depends on it, however long ago it was asked.
#[test]
fn open_question_leaves_later_events_decided() {
    let mut guard = guard();
    guard.decide(message(vec![threatens(AnswerValue::Unclear)]), None);
    for _ in 0..700 {
        let harmless = Event { tool: Some("read".into()), ..Event::new(Kind::ToolCall) };
        assert_eq!(guard.decide(harmless, None).action, Action::Forward);
    }
    assert_eq!(guard.decide(payment(), None).action, Action::Ask);
}
