//! How many questions are asked, compared with asking everything: on the examples of all packs, with each fact that has
//! no values in turn as the one that a labeler answers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "it prints the share that it measures")]

use std::collections::HashMap;

use lictor_event::record::LogRecord;
use lictor_event::{Answer, AnswerValue, Event};
use lictor_judge::{Judge, SessionState};
use lictor_logic::Fact;
use lictor_policy::pack::{Page, packs};
use lictor_policy::vocabulary::builtin;
use lictor_policy::{FactDefinition, FileResolver, Policy};

/// The questions of one property, as many as there are and as many as matter.
#[derive(Clone, Copy, Debug, Default)]
struct QuestionCount {
    all: usize,
    asked: usize,
}

/// Returns the definition of a fact that a labeler is asked for at every event.
fn define_asked(name: &str) -> FactDefinition {
    let text =
        format!("lictor: 1\nlabelers: {{asker: {{log: true}}}}\nfacts: {{{name}: {{ask: it holds, by: asker}}}}\n");
    let loaded = Policy::parse(&text, "asked.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    loaded.policy.facts[0].clone()
}

fn read_events(page: &Page) -> Vec<Vec<Event>> {
    let read = |line: &lictor_policy::pack::ExampleLine| {
        let value = lictor_json::parse_str(&line.text).unwrap();
        LogRecord { value, file: "page".into(), line: line.line, index: line.line }.native_event().unwrap()
    };
    page.traces.iter().map(|trace| trace.lines.iter().map(read).collect()).collect()
}

/// Follows a trace with true answers, and counts the questions about one fact.
fn count_questions(plain: &Judge, asking: &Judge, name: &str, events: &[Event]) -> QuestionCount {
    let (mut plain, mut asking) = (plain.fork(), asking.fork());
    let mut sessions: HashMap<Option<String>, (SessionState, SessionState)> = HashMap::new();
    let mut count = QuestionCount::default();
    for event in events {
        let session = event.session.as_ref().map(ToString::to_string);
        let (truth, state) = sessions.entry(session).or_insert_with(|| (plain.start(), asking.start()));
        plain.advance(truth, event).unwrap();
        let holds = plain.last_facts(event.time).known.iter().any(|fact| &*fact.name == name);
        let mut event = event.clone();
        event.labels.retain(|label| label != name);
        event.facts.retain(|fact| &*fact.name != name);
        let all = asking.all_questions(state, &event).unwrap();
        let asked = asking.questions(state, &event).unwrap();
        count.all += all.len();
        count.asked += asked.len();
        // What is not asked stays unknown, as it would in an audit.
        if !asked.is_empty() {
            let says = if holds { AnswerValue::Yes } else { AnswerValue::No };
            event.answers.push(Answer::new(Fact::new(name, []), says).by("asker@1"));
        }
        asking.advance(state, &event).unwrap();
    }
    count
}

/// The examples are short and most of their events matter, so that about half of the questions is what is left.
#[test]
fn pack_examples_need_half_of_questions() {
    let mut sum = QuestionCount::default();
    let mut by_pack: Vec<(&str, QuestionCount)> = Vec::new();
    let mut properties = 0;
    for pack in packs() {
        let mut of_pack = QuestionCount::default();
        for page in &pack.pages {
            let mut policy = pack.policy(page).unwrap_or_else(|problems| panic!("{problems}")).policy;
            let id = format!("{}/{}", pack.name, page.id);
            policy.properties.retain(|property| property.id == id);
            let [property] = &policy.properties[..] else { continue };
            let names: Vec<String> = property.fact_names().iter().map(ToString::to_string).collect();
            // Built-in facts are never asked, and a fact with values would be many questions.
            let can_be_asked =
                |name: &&String| builtin(name).is_none() && !property.formula.contains(&format!("{name}("));
            for name in names.iter().filter(can_be_asked) {
                let mut asking = policy.clone();
                asking.facts.retain(|fact| fact.name != name.as_str());
                asking.facts.push(define_asked(name));
                let (plain, asking) = (Judge::new(&policy).unwrap(), Judge::new(&asking).unwrap());
                properties += 1;
                for events in read_events(page) {
                    let count = count_questions(&plain, &asking, name, &events);
                    of_pack.all += count.all;
                    of_pack.asked += count.asked;
                }
            }
        }
        sum.all += of_pack.all;
        sum.asked += of_pack.asked;
        by_pack.push((&pack.name, of_pack));
    }
    for (name, QuestionCount { all, asked }) in &by_pack {
        println!("{name}: {asked} of {all}");
    }
    println!("{properties} facts of properties: {} of {} questions are asked", sum.asked, sum.all);
    assert!(properties > 20 && sum.all > 300, "{properties} facts, {sum:?}");
    assert!(sum.asked * 100 <= sum.all * 55, "{} of {} questions are asked: {by_pack:?}", sum.asked, sum.all);
}
