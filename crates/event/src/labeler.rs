//! Labelers: they answer the questions of a policy about an event.
//!
//! An [annotator](crate::annotator) chooses its own questions. A labeler is asked those of a policy, and only those
//! whose answers can still change a verdict. It never fails: what it cannot tell is [`AnswerValue::Unclear`], and what
//! it did not find out in time, or for its price, is [`AnswerValue::Failed`]; both leave the fact unknown.
//!
//! ```
//! use lictor_event::labeler::{Inquiry, Labeler, Question};
//! use lictor_event::{Answer, AnswerValue, Event, Kind};
//! use lictor_logic::Fact;
//!
//! struct Shouting;
//!
//! impl Labeler for Shouting {
//!     fn version(&self) -> &str {
//!         "shouting@1"
//!     }
//!     fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
//!         let text = inquiry.event.text.as_deref().unwrap_or_default();
//!         let says = if text == text.to_uppercase() { AnswerValue::Yes } else { AnswerValue::No };
//!         inquiry.questions.iter().map(|question| Answer::new(question.fact.clone(), says)).collect()
//!     }
//! }
//!
//! let event = Event { text: Some("WHERE IS MY ORDER".into()), ..Event::new(Kind::UserMessage) };
//! let questions = [Question::new(Fact::new("shouts", []), "the user shouts")];
//! let inquiry = Inquiry::new(&event, &questions);
//! assert_eq!(Shouting.answer(&inquiry)[0].says, AnswerValue::Yes);
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lictor_json::Text;
use lictor_logic::Fact;

use crate::answer::DRIFT;
use crate::{Answer, AnswerValue, Event};

/// Answers questions about events.
pub trait Labeler: Send + Sync {
    /// Returns its name and version, such as `small@7f3a`: equal versions give equal answers, as far as it is able to.
    fn version(&self) -> &str;

    /// Answers each question about an event, in their order.
    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer>;

    /// Whether it can be asked. One that cannot only [completes](Labeler::complete) answers that events bring along.
    fn is_asked(&self) -> bool {
        true
    }

    /// Adds what it knows to its answers that an event of a tenant brings along, such as their chances.
    fn complete(&self, _tenant: &str, _event: &mut Event) {}
}

/// A question about an event: whether a fact holds there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// The fact.
    pub fact: Fact,
    /// The statement that is true or false: "the user threatens somebody".
    pub statement: Text,
    /// Texts of which the statement is true.
    pub yes: Vec<Text>,
    /// Texts of which it is false.
    pub no: Vec<Text>,
    /// The name of the labeler that is asked.
    pub by: Text,
    /// How many events before are shown to it.
    pub window: u32,
}

impl Question {
    /// Returns a question without examples.
    pub fn new(fact: Fact, statement: impl Into<Text>) -> Question {
        let (yes, no, by, window) = (Vec::new(), Vec::new(), Text::default(), 0);
        Question { fact, statement: statement.into(), yes, no, by, window }
    }

    /// Returns the question for the labeler of a name, which is shown some events before.
    #[must_use]
    pub fn asked_of(self, by: Text, window: u32) -> Question {
        Question { by, window, ..self }
    }

    /// Returns the question with examples.
    #[must_use]
    pub fn with_examples(self, yes: Vec<Text>, no: Vec<Text>) -> Question {
        Question { yes, no, ..self }
    }
}

/// Questions about one event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Inquiry<'a> {
    /// The tenant whose event it is. Nothing that is remembered of it may serve another tenant.
    pub tenant: &'a str,
    /// The event.
    pub event: &'a Event,
    /// The events right before it, oldest first, as far as the questions may look back.
    pub before: &'a [Event],
    /// The questions.
    pub questions: &'a [Question],
}

impl<'a> Inquiry<'a> {
    /// Returns questions about an event alone.
    pub fn new(event: &'a Event, questions: &'a [Question]) -> Inquiry<'a> {
        Inquiry { tenant: "", event, before: &[], questions }
    }

    /// Returns the inquiry of a tenant.
    #[must_use]
    pub fn of_tenant(self, tenant: &'a str) -> Inquiry<'a> {
        Inquiry { tenant, ..self }
    }

    /// Returns the inquiry with the events before its own.
    #[must_use]
    pub fn after(self, before: &'a [Event]) -> Inquiry<'a> {
        Inquiry { before, ..self }
    }
}

/// The labelers of a policy, by their names.
#[derive(Clone, Default)]
pub struct Labelers {
    list: Vec<(Text, Arc<dyn Labeler>)>,
    is_silent: bool,
}

impl fmt::Debug for Labelers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.list.iter().map(|(name, labeler)| (name, labeler.version()))).finish()
    }
}

impl Labelers {
    /// Returns labelers by their names.
    pub fn new(list: impl IntoIterator<Item = (Text, Arc<dyn Labeler>)>) -> Labelers {
        Labelers { list: list.into_iter().collect(), is_silent: false }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns labelers that are not asked: they only [complete](Labelers::complete) answers that events bring along.
    #[must_use]
    pub fn without_asking(mut self) -> Labelers {
        self.is_silent = true;
        self
    }

    /// Whether any of them could be asked, even if they are [silent](Labelers::without_asking).
    pub fn has_asked(&self) -> bool {
        self.list.iter().any(|(_, labeler)| labeler.is_asked())
    }

    /// Whether there is a labeler of that name, which is asked.
    pub fn has(&self, name: &str) -> bool {
        !self.is_silent && self.list.iter().any(|(known, labeler)| known == name && labeler.is_asked())
    }

    /// Returns the version of the labeler of that name.
    pub fn version(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(known, _)| known == name).map(|(_, labeler)| labeler.version())
    }

    /// Adds to the answers that an event brings along what their labelers know: their chances. What the event itself
    /// claims does not count: neither chances, nor answers of labelers that could be asked, even if they are
    /// [silent](Labelers::without_asking): they may be answers to another question, or of another version.
    pub fn complete(&self, tenant: &str, event: &mut Event) {
        if !event.answers.is_empty() {
            let could_ask = |by: &str| self.list.iter().any(|(known, it)| known == name_of(by) && it.is_asked());
            event.answers.retain(|answer| !answer.by.as_deref().is_some_and(could_ask));
            for answer in &mut event.answers {
                answer.chance = None;
                // Only the labeler itself knows whether its answers drift.
                answer.why.take_if(|why| why == DRIFT);
            }
            self.list.iter().for_each(|(_, labeler)| labeler.complete(tenant, event));
        }
    }

    /// Asks the labelers about an event and adds their answers to it; `before` are the events right before it. It never
    /// fails and never panics: a question without a proper answer gets [`AnswerValue::Failed`].
    pub fn answer(&self, tenant: &str, event: &mut Event, before: &[Event], questions: &[Question]) {
        for (name, labeler) in self.list.iter().filter(|(name, _)| self.has(name)) {
            let asked: Vec<Question> = questions.iter().filter(|it| it.by == *name).cloned().collect();
            let window = asked.iter().map(|question| question.window as usize).max();
            let Some(window) = window else { continue };
            let before = &before[before.len().saturating_sub(window)..];
            let inquiry = Inquiry::new(event, &asked).of_tenant(tenant).after(before);
            let (given, why) = match catch_unwind(AssertUnwindSafe(|| labeler.answer(&inquiry))) {
                Ok(given) => (given, "no_answer"),
                Err(_) => (Vec::new(), "panicked"),
            };
            let answers = asked.into_iter().map(|Question { fact, .. }| {
                let mut own = given.iter().filter(|answer| answer.fact == fact);
                match (own.next(), own.next()) {
                    (Some(answer), None) => match &answer.by {
                        Some(_) => answer.clone(),
                        None => answer.clone().by(labeler.version()),
                    },
                    // No answer, or several, which leaves it open which one counts.
                    _ => Answer::new(fact, AnswerValue::Failed).by(labeler.version()).because(why),
                }
            });
            event.answers.extend(answers.collect::<Vec<_>>());
        }
    }
}

/// Returns the name of a labeler without its version.
pub fn name_of(version: &str) -> &str {
    version.split_once('@').map_or(version, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    /// Answers in one of the ways in which a labeler can.
    struct ScriptedLabeler(fn(&Inquiry<'_>) -> Vec<Answer>);

    impl Labeler for ScriptedLabeler {
        fn version(&self) -> &str {
            "scripted@1"
        }

        fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
            (self.0)(inquiry)
        }
    }

    fn threatens() -> Fact {
        Fact::new("threatens", [])
    }

    fn ask(script: fn(&Inquiry<'_>) -> Vec<Answer>, before: &[Event]) -> Vec<Answer> {
        let labelers = Labelers::new([(Text::from("small"), Arc::new(ScriptedLabeler(script)) as _)]);
        let question = Question::new(threatens(), "the user threatens somebody");
        let mut event = Event::new(Kind::UserMessage);
        labelers.answer("", &mut event, before, &[question.asked_of("small".into(), 2)]);
        event.answers
    }

    #[test]
    fn silent_labeler_still_drops_answers_of_logs() {
        let scripted = Arc::new(ScriptedLabeler(|_| Vec::new()));
        let labelers = Labelers::new([(Text::from("small"), scripted as _)]);
        for labelers in [labelers.clone(), labelers.without_asking()] {
            let mut event = Event::new(Kind::UserMessage);
            event.answers =
                ["small@0", "small@1", "log@1"].map(|by| Answer::new(threatens(), AnswerValue::No).by(by)).into();
            labelers.complete("", &mut event);
            let kept: Vec<_> = event.answers.iter().map(|answer| answer.by.as_deref()).collect();
            assert_eq!(kept, [Some("log@1")]);
        }
    }

    #[test]
    fn labeler_failure_leaves_fact_unknown() {
        let failures: [fn(&Inquiry<'_>) -> Vec<Answer>; 4] = [
            |_| panic!("the labeler has a bug"),
            |_| Vec::new(),
            |_| vec![Answer::new(Fact::new("other", []), AnswerValue::Yes)],
            |_| [AnswerValue::Yes, AnswerValue::No].map(|says| Answer::new(threatens(), says)).into(),
        ];
        for (place, failure) in failures.into_iter().enumerate() {
            let why = if place == 0 { "panicked" } else { "no_answer" };
            let failed = Answer::new(threatens(), AnswerValue::Failed).by("scripted@1").because(why);
            assert_eq!(ask(failure, &[]), [failed]);
        }
    }

    #[test]
    fn labeler_sees_its_window_only() {
        let before: Vec<Event> = (0..5).map(|seq| Event { seq: Some(seq), ..Event::default() }).collect();
        let script = |inquiry: &Inquiry<'_>| {
            let seen: Vec<_> = inquiry.before.iter().map(|event| event.seq).collect();
            let says = if seen == [Some(3), Some(4)] { AnswerValue::Yes } else { AnswerValue::No };
            vec![Answer::new(threatens(), says)]
        };
        assert_eq!(ask(script, &before)[0].says, AnswerValue::Yes);
        assert_eq!(ask(script, &before[..1])[0].says, AnswerValue::No);
    }
}
