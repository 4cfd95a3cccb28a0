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

use lictor_json::Text;
use lictor_logic::Fact;

use crate::{Answer, Event};

/// Answers questions about events.
pub trait Labeler: Send + Sync {
    /// Returns its name and version, such as `small@7f3a`: equal versions give equal answers, as far as it is able to.
    fn version(&self) -> &str;

    /// Answers each question about an event, in their order.
    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer>;
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
}

impl Question {
    /// Returns a question without examples.
    pub fn new(fact: Fact, statement: impl Into<Text>) -> Question {
        Question { fact, statement: statement.into(), yes: Vec::new(), no: Vec::new() }
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
