//! Questions that wait: an audit that asks labelers late finds what one finds that knows all answers, and asks less.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "it prints the share that it measures")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lictor_audit::report::Report;
use lictor_audit::{AnswerBook, AuditOptions, audit};
use lictor_decode::input::Input;
use lictor_event::labeler::{Inquiry, Labeler, Labelers};
use lictor_event::record::LogRecord;
use lictor_event::{Answer, AnswerValue, Event};
use lictor_judge::Judge;
use lictor_logic::Verdict;
use lictor_policy::pack::{Page, compose_policy, packs};
use lictor_policy::vocabulary::builtin;
use lictor_policy::{FactDefinition, FileResolver, Policy};

use crate::labels::Numbers;

/// Says which facts hold at an event, as it is written there, and counts what it is asked.
#[derive(Default)]
struct TruthfulLabeler {
    questions: AtomicUsize,
    requests: AtomicUsize,
}

impl Labeler for TruthfulLabeler {
    fn version(&self) -> &str {
        "asker@1"
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.questions.fetch_add(inquiry.questions.len(), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = |question: &lictor_event::labeler::Question| {
            let holds = inquiry.event.more.get("truths").is_some_and(|truths| {
                let truths = truths.as_array().unwrap_or_default();
                truths.iter().any(|name| name.as_str() == Some(&*question.fact.name))
            });
            Answer::new(question.fact.clone(), if holds { AnswerValue::Yes } else { AnswerValue::No })
        };
        inquiry.questions.iter().map(answer).collect()
    }
}

fn policy(text: &str) -> Policy {
    Policy::parse(text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy
}

/// Audits a log by a fork of a judge, and returns the report, and how many questions were asked in how many requests.
fn audit_asking(judge: &Judge, log: &str) -> (Report, usize, usize) {
    let labeler = Arc::new(TruthfulLabeler::default());
    let labelers = Labelers::new([("asker".into(), Arc::clone(&labeler) as _)]);
    let options = AuditOptions::default().answers(Some(Arc::new(AnswerBook::new(labelers))));
    let input = Input::from_bytes("log.jsonl", log.as_bytes().to_vec());
    let report = audit(&mut judge.fork(), &[input], &options, &()).unwrap();
    (report, labeler.questions.load(Ordering::Relaxed), labeler.requests.load(Ordering::Relaxed))
}

/// Returns what became of each property of each session, and the findings.
fn outcomes(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for session in &report.sessions {
        for outcome in &session.outcomes {
            let (verdict, step, count) = (outcome.verdict, outcome.violated_at_step, outcome.violations);
            lines.push(format!("{} {verdict:?} {step:?} {count}", session.name));
        }
    }
    lines.extend(report.findings.iter().map(|it| format!("{} {} {}", it.session, it.property.id, it.step)));
    lines
}

/// Formulas about two facts that are asked for, `p` and `q`, and two that are known.
const FORMULAS: [&str; 12] = [
    "always (tool_call(\"pay\") implies once p)",
    "always (tool_call(\"pay\") implies (not q since p))",
    "always (p implies eventually tool_call(\"pay\"))",
    "always (p implies next (not q until tool_call(\"ship\")))",
    "always not (p and q)",
    "always (tool_call(\"ship\") implies (p or historically not q))",
    "eventually (p and tool_call(\"pay\"))",
    "always (q implies previous p)",
    "(not tool_call(\"pay\")) until p",
    "always (tool_call(\"pay\") implies not once (p and once q))",
    "always ((p and tool_call(\"pay\")) implies next next not tool_call(\"ship\"))",
    "eventually[0,20s] p or always (tool_call(\"pay\") implies q)",
];

#[test]
fn late_questions_find_what_all_answers_find() {
    let mut numbers = Numbers(0x5eed_0011);
    let mut below = |end: usize| numbers.below(end as u64) as usize;
    let (mut asked_sum, mut all) = (0, 0);
    for round in 0..crate::cases(14) {
        let mut properties = String::new();
        for place in 0..1 + below(3) {
            let formula = FORMULAS[below(FORMULAS.len())];
            let after = ["latch", "reset"][below(2)];
            writeln!(properties, "  - {{id: r{place}, formula: '{formula}', after: {after}}}").unwrap();
        }
        let head = "lictor: 1\nname: x\nlabelers: {asker: {log: true}}\n";
        let facts = "facts:\n  p: {ask: it is p, by: asker}\n  q: {ask: it is q, by: asker}\nproperties:\n";
        let policy = policy(&format!("{head}{facts}{properties}"));
        let (mut bare, mut answered) = (String::new(), String::new());
        for session in 0..40 {
            for second in 0..2 + below(if session == 0 { 300 } else { 12 }) {
                let kind = ["\"kind\":\"tool_call\",\"tool\":\"pay\"", "\"kind\":\"tool_call\",\"tool\":\"ship\""];
                let kind = kind.get(below(4)).copied().unwrap_or("\"kind\":\"user_message\",\"text\":\"hi\"");
                let (p, q) = (below(3) == 0, below(4) == 0);
                let truths: Vec<&str> = [("\"p\"", p), ("\"q\"", q)].iter().filter(|it| it.1).map(|it| it.0).collect();
                let time = format!("2026-05-01T10:{:02}:{:02}Z", second / 60, second % 60);
                let line = format!(
                    "{{\"session\":\"s{session}\",{kind},\"time\":\"{time}\",\"truths\":[{}]",
                    truths.join(",")
                );
                let says = |holds: bool| if holds { "yes" } else { "no" };
                let answers = [("p", p), ("q", q)].map(|(fact, holds)| {
                    format!("{{\"fact\":\"{fact}\",\"says\":\"{}\",\"by\":\"asker@1\"}}", says(holds))
                });
                writeln!(bare, "{line}}}").unwrap();
                writeln!(answered, "{line},\"answers\":[{}]}}", answers.join(",")).unwrap();
                all += 2;
            }
        }
        let mut judge = Judge::new(&policy).unwrap();
        let (late, asked, _) = audit_asking(&judge, &bare);
        let input = Input::from_bytes("log.jsonl", answered.into_bytes());
        let known = audit(&mut judge, &[input], &AuditOptions::default(), &()).unwrap();
        assert_eq!(outcomes(&late), outcomes(&known), "round {round}:\n{properties}");
        asked_sum += asked;
    }
    println!("{asked_sum} of {all} questions are asked");
    assert!(asked_sum > 0 && asked_sum * 3 < all * 2, "{asked_sum} of {all}");
}

/// What a log says of a fact does not replace the labeler that can be asked for it. Answers of others do not count; a label
/// that contradicts the labeler makes the fact unknown.
#[test]
fn statements_in_log_replace_no_labeler() {
    let head = "lictor: 1\nname: x\nlabelers: {asker: {log: true}}\nfacts: {p: {ask: it is p, by: asker}}\n";
    let formula = "always (tool_call(\"pay\") implies not once p)";
    let judge = Judge::new(&policy(&format!("{head}properties: [{{id: r, formula: '{formula}'}}]\n"))).unwrap();
    for (statement, verdict) in [
        ("", Verdict::Violated),
        ("\"answers\":[{\"fact\":\"p\",\"says\":\"no\"}],", Verdict::Violated),
        ("\"answers\":[{\"fact\":\"p\",\"says\":\"no\",\"by\":\"other@1\"}],", Verdict::Violated),
        ("\"answers\":[{\"fact\":\"p\",\"says\":\"no\",\"by\":\"asker@1\"}],", Verdict::Violated),
        ("\"labels\":[\"!p\"],", Verdict::Inconclusive),
        ("\"labels\":[\"p\"],", Verdict::Violated),
    ] {
        let log = format!(
            "{{\"kind\":\"user_message\",\"text\":\"hi\",{statement}\"truths\":[\"p\"]}}\n\
             {{\"kind\":\"tool_call\",\"tool\":\"pay\",\"truths\":[]}}\n"
        );
        let (report, asked, _) = audit_asking(&judge, &log);
        assert_eq!(report.sessions[0].outcomes[0].verdict, verdict, "{statement}");
        assert!(asked > 0, "{statement}");
    }
}

/// Returns the definition of a fact that a labeler is asked for at every event.
fn define_asked(name: &str) -> FactDefinition {
    let text =
        format!("lictor: 1\nlabelers: {{asker: {{log: true}}}}\nfacts: {{{name}: {{ask: it holds, by: asker}}}}\n");
    policy(&text).facts[0].clone()
}

fn read_events(page: &Page) -> Vec<Vec<Event>> {
    let read = |line: &lictor_policy::pack::ExampleLine| {
        let value = lictor_json::parse_str(&line.text).unwrap();
        LogRecord { value, file: "page".into(), line: line.line, index: line.line }.native_event().unwrap()
    };
    page.traces.iter().map(|trace| trace.lines.iter().map(read).collect()).collect()
}

/// Returns a log in which some facts are not stated, but what holds is known to the labeler. Also returns how many questions
/// could be asked.
fn hide_facts(plain: &mut Judge, asking: &mut Judge, names: &[String], events: &[Event]) -> (String, usize) {
    let (mut log, mut all) = (String::new(), 0);
    let mut states = std::collections::HashMap::new();
    for event in events {
        let key = event.session.clone();
        let (truth, open) = states.entry(key).or_insert_with(|| (plain.start(), asking.start()));
        plain.advance(truth, event).unwrap();
        let holding = plain.last_facts(event.time).known;
        let mut event = event.clone();
        event.labels.retain(|label| !names.iter().any(|name| label == name));
        event.facts.retain(|fact| !names.iter().any(|name| *fact.name == **name));
        all += asking.all_questions(open, &event).unwrap().len();
        asking.advance(open, &event).unwrap();
        let truths = names.iter().filter(|name| holding.iter().any(|fact| *fact.name == ***name));
        let truths: Vec<lictor_json::Json> = truths.map(|name| name.as_str().into()).collect();
        event.more.insert("truths", truths);
        writeln!(log, "{}", event.to_json()).unwrap();
    }
    (log, all)
}

/// Returns the facts of properties that a labeler could be asked for: built-in facts are computed, and a fact with values
/// would be many questions.
fn find_askable(policy: &Policy) -> Vec<String> {
    let of_property = |property: &Arc<lictor_policy::Property>| {
        let can_be = |name: &&str| builtin(name).is_none() && !property.formula.contains(&format!("{name}("));
        let names: Vec<String> = property.fact_names().iter().map(ToString::to_string).collect();
        names.into_iter().filter(|name| can_be(&name.as_str())).collect::<Vec<_>>()
    };
    let mut names: Vec<String> = policy.properties.iter().flat_map(of_property).collect();
    names.sort();
    names.dedup();
    names
}

/// The examples are short and made so that their facts matter: facts that a property forbids outright, and those that begin
/// an obligation, are asked at every event.
#[test]
fn pack_examples_need_few_questions() {
    let (mut sum, mut sum_all, mut requests, mut events_all) = (0, 0, 0, 0);
    for pack in packs() {
        let (mut asked, mut all) = (0, 0);
        let policy = policy(&compose_policy(&pack.name).unwrap());
        let names = find_askable(&policy);
        let mut asking = policy.clone();
        asking.facts.retain(|fact| !names.iter().any(|name| fact.name == name.as_str()));
        asking.facts.extend(names.iter().map(|name| define_asked(name)));
        let mut judges = (Judge::new(&policy).unwrap(), Judge::new(&asking).unwrap());
        for events in pack.pages.iter().flat_map(read_events) {
            let (log, count) = hide_facts(&mut judges.0, &mut judges.1, &names, &events);
            all += count;
            let (_, questions, of_log) = audit_asking(&judges.1, &log);
            asked += questions;
            requests += of_log;
            events_all += events.len();
        }
        println!("{}: {asked} of {all}", pack.name);
        (sum, sum_all) = (sum + asked, sum_all + all);
    }
    println!("{sum} of {sum_all} questions are asked, in {requests} requests about {events_all} events");
    assert!(sum_all > 3000 && sum * 100 <= sum_all * 45, "{sum} of {sum_all}");
}
