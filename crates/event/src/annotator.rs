//! Annotators: programs that find out more about events before anything is judged.
//!
//! An annotator names the facts it can answer about an event, and answers for a batch of events at a time. A failure
//! (an error, a panic, too few answers) cannot harm a session: the event then carries [`AnswerValue::Failed`] for each
//! missing answer, and the fact is unknown.
//!
//! ```
//! use lictor_event::annotator::{Annotation, Annotator, AnnotatorError, Annotators};
//! use lictor_event::{Answer, AnswerValue, Event, Kind};
//! use lictor_logic::Fact;
//!
//! struct Shouting;
//!
//! impl Annotator for Shouting {
//!     fn name(&self) -> &str {
//!         "shouting@1"
//!     }
//!     fn questions(&self, event: &Event) -> Vec<Fact> {
//!         if event.kind == Kind::UserMessage { vec![Fact::new("shouts", [])] } else { Vec::new() }
//!     }
//!     fn annotate(&self, events: &[&Event]) -> Vec<Result<Annotation, AnnotatorError>> {
//!         let shouts = |event: &&Event| event.text.as_deref().is_some_and(|text| text == text.to_uppercase());
//!         let says = |event| if shouts(event) { AnswerValue::Yes } else { AnswerValue::No };
//!         events.iter().map(|event| Ok(Answer::new(Fact::new("shouts", []), says(event)).into())).collect()
//!     }
//! }
//!
//! let mut event = Event::new(Kind::UserMessage);
//! event.text = Some("WHERE IS MY ORDER".into());
//! Annotators::new([Box::new(Shouting) as _]).annotate(std::slice::from_mut(&mut event));
//! assert_eq!(event.answers[0].says, AnswerValue::Yes);
//! assert_eq!(event.answers[0].by.as_deref(), Some("shouting@1"));
//! ```

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use lictor_json::Text;
use lictor_logic::Fact;

use crate::{Answer, AnswerValue, Event};

/// Finds out more about events.
pub trait Annotator: Send + Sync {
    /// Returns its name and version, which its answers carry.
    fn name(&self) -> &str;

    /// Returns the facts that it can answer about an event; none where it has nothing to say.
    fn questions(&self, event: &Event) -> Vec<Fact>;

    /// Returns what it finds out about each event of a batch, in their order.
    fn annotate(&self, events: &[&Event]) -> Vec<Result<Annotation, AnnotatorError>>;
}

/// An annotator that waits for other services. The caller that polls it sets the timeout, and records a dropped future
/// by [`record_failure`].
pub trait AsyncAnnotator: Send + Sync {
    /// Returns its name and version, which its answers carry.
    fn name(&self) -> &str;

    /// Returns the facts that it can answer about an event; none where it has nothing to say.
    fn questions(&self, event: &Event) -> Vec<Fact>;

    /// Returns what it finds out about each event of a batch, in their order.
    fn annotate<'a>(&'a self, events: &'a [&'a Event]) -> AnnotationFuture<'a>;
}

/// The annotations of a batch, some time later.
pub type AnnotationFuture<'a> = Pin<Box<dyn Future<Output = Vec<Result<Annotation, AnnotatorError>>> + Send + 'a>>;

/// What an annotator finds out about one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotation {
    /// Answers to its questions. Answers to others are dropped.
    pub answers: Vec<Answer>,
    /// The purposes that the event serves, for events that do not say.
    pub purposes: Option<Vec<Text>>,
    /// The categories of personal data that it carries, for events that do not say.
    pub categories: Option<Vec<Text>>,
    /// The persons it is about, for events that do not say.
    pub subjects: Option<Vec<Text>>,
}

impl From<Answer> for Annotation {
    fn from(answer: Answer) -> Annotation {
        Annotation { answers: vec![answer], ..Annotation::default() }
    }
}

/// Why an annotator has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatorError {
    message: String,
}

impl AnnotatorError {
    /// Returns an error with a message for people.
    pub fn new(message: impl Into<String>) -> AnnotatorError {
        AnnotatorError { message: message.into() }
    }
}

impl fmt::Display for AnnotatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AnnotatorError {}

/// Annotators that are asked one after another.
#[derive(Default)]
pub struct Annotators {
    list: Vec<Box<dyn Annotator>>,
}

impl fmt::Debug for Annotators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|annotator| annotator.name())).finish()
    }
}

impl Annotators {
    /// Returns a list of annotators, asked in this order.
    pub fn new(list: impl IntoIterator<Item = Box<dyn Annotator>>) -> Annotators {
        Annotators { list: list.into_iter().collect() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether one of them has something to say about an event.
    pub fn is_asked(&self, event: &Event) -> bool {
        let events = std::slice::from_ref(event);
        self.list.iter().any(|annotator| !Batch::gather(events, |event| annotator.questions(event)).is_empty())
    }

    /// Adds what the annotators find out to a batch of events. It never fails and never panics; see the module.
    pub fn annotate(&self, events: &mut [Event]) {
        for annotator in &self.list {
            let name = annotator.name();
            let mut batch = Batch::gather(events, |event| annotator.questions(event));
            if batch.is_empty() {
                continue;
            }
            let asked = batch.events(events);
            let annotations = catch_unwind(AssertUnwindSafe(|| annotator.annotate(&asked))).unwrap_or_default();
            batch.add(events, name, annotations);
        }
    }
}

/// Adds what an annotator that waits finds out to a batch of events.
pub async fn annotate_async(annotator: &dyn AsyncAnnotator, events: &mut [Event]) {
    let mut batch = Batch::gather(events, |event| annotator.questions(event));
    if !batch.is_empty() {
        let asked = batch.events(events);
        let annotations = annotator.annotate(&asked).await;
        batch.add(events, annotator.name(), annotations);
    }
}

/// Records that an annotator did not answer about a batch of events: it was too late, or over its budget.
pub fn record_failure(annotator: &dyn AsyncAnnotator, events: &mut [Event]) {
    Batch::gather(events, |event| annotator.questions(event)).add(events, annotator.name(), Vec::new());
}

/// The events of a batch that an annotator is asked about, by their places, with its questions.
struct Batch(Vec<(usize, Vec<Fact>)>);

impl Batch {
    fn gather(events: &[Event], questions: impl Fn(&Event) -> Vec<Fact>) -> Batch {
        // A panic in `questions` must not reach the caller either.
        let asked = |event: &Event| catch_unwind(AssertUnwindSafe(|| questions(event))).unwrap_or_default();
        let gathered = events.iter().enumerate().map(|(place, event)| (place, asked(event)));
        Batch(gathered.filter(|(_, questions)| !questions.is_empty()).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn events<'e>(&self, events: &'e [Event]) -> Vec<&'e Event> {
        self.0.iter().map(|(place, _)| &events[*place]).collect()
    }

    fn add(&mut self, events: &mut [Event], name: &str, annotations: Vec<Result<Annotation, AnnotatorError>>) {
        // A list of another length belongs to other events: none of it is used.
        let mut annotations = if annotations.len() == self.0.len() { annotations } else { Vec::new() }.into_iter();
        for (place, questions) in self.0.drain(..) {
            let annotation = annotations.next().and_then(Result::ok).unwrap_or_default();
            let event = &mut events[place];
            let Annotation { answers, purposes, categories, subjects } = annotation;
            event.purposes = event.purposes.take().or(purposes);
            event.categories = event.categories.take().or(categories);
            event.subjects = event.subjects.take().or(subjects);
            for question in questions {
                let mut given = answers.iter().filter(|answer| answer.fact == question).peekable();
                if given.peek().is_none() {
                    event.answers.push(Answer::new(question.clone(), AnswerValue::Failed).by(name));
                }
                event.answers.extend(given.map(|answer| answer.clone().by(name)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::Kind;

    type Script = fn(&[&Event]) -> Vec<Result<Annotation, AnnotatorError>>;

    /// Answers in one of the ways in which an annotator can.
    struct ScriptedAnnotator(Script);

    fn threatens() -> Fact {
        Fact::new("threatens", [])
    }

    fn yes() -> Result<Annotation, AnnotatorError> {
        Ok(Answer::new(threatens(), AnswerValue::Yes).into())
    }

    impl Annotator for ScriptedAnnotator {
        fn name(&self) -> &str {
            "scripted@1"
        }

        fn questions(&self, event: &Event) -> Vec<Fact> {
            if event.kind == Kind::UserMessage { vec![threatens()] } else { Vec::new() }
        }

        fn annotate(&self, events: &[&Event]) -> Vec<Result<Annotation, AnnotatorError>> {
            (self.0)(events)
        }
    }

    impl AsyncAnnotator for ScriptedAnnotator {
        fn name(&self) -> &str {
            "scripted@1"
        }

        fn questions(&self, event: &Event) -> Vec<Fact> {
            Annotator::questions(self, event)
        }

        fn annotate<'a>(&'a self, events: &'a [&'a Event]) -> AnnotationFuture<'a> {
            Box::pin(async move { (self.0)(events) })
        }
    }

    fn batch() -> Vec<Event> {
        [Kind::UserMessage, Kind::ToolCall, Kind::UserMessage].map(Event::new).into()
    }

    fn said(events: &[Event]) -> Vec<Vec<AnswerValue>> {
        events.iter().map(|event| event.answers.iter().map(|answer| answer.says).collect()).collect()
    }

    #[test]
    fn annotator_gets_its_events_as_one_batch() {
        let mut events = batch();
        Annotators::new([Box::new(ScriptedAnnotator(|events| events.iter().map(|_| yes()).collect())) as _])
            .annotate(&mut events);
        assert_eq!(said(&events), [vec![AnswerValue::Yes], vec![], vec![AnswerValue::Yes]]);
    }

    #[test]
    fn annotator_failure_leaves_facts_unknown() {
        let failures: [Script; 5] = [
            |events| events.iter().map(|_| Err(AnnotatorError::new("no route to host"))).collect(),
            |_| panic!("the annotator has a bug"),
            |_| Vec::new(),
            |_| vec![yes(), yes(), yes()],
            |events| events.iter().map(|_| Ok(Answer::new(Fact::new("other", []), AnswerValue::Yes).into())).collect(),
        ];
        for failure in failures {
            let mut events = batch();
            Annotators::new([Box::new(ScriptedAnnotator(failure)) as _]).annotate(&mut events);
            assert_eq!(said(&events), [vec![AnswerValue::Failed], vec![], vec![AnswerValue::Failed]]);
        }
    }

    #[test]
    fn given_annotations_win_over_computed_ones() {
        let computed = |events: &[&Event]| {
            let categories = Some(vec![Text::from("email")]);
            events.iter().map(|_| Ok(Annotation { categories: categories.clone(), ..Annotation::default() })).collect()
        };
        let mut events = batch();
        events[0].categories = Some(Vec::new());
        Annotators::new([Box::new(ScriptedAnnotator(computed)) as _]).annotate(&mut events);
        assert_eq!(events[0].categories.as_deref(), Some(&[][..]));
        assert_eq!(events[2].categories.as_deref(), Some(&[Text::from("email")][..]));
    }

    #[test]
    fn async_annotator_answers_or_is_recorded_as_failed() {
        let annotator = ScriptedAnnotator(|events| events.iter().map(|_| yes()).collect());
        let mut events = batch();
        let mut future = Box::pin(annotate_async(&annotator, &mut events));
        assert_eq!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(()));
        drop(future);
        assert_eq!(said(&events), [vec![AnswerValue::Yes], vec![], vec![AnswerValue::Yes]]);
        let mut events = batch();
        record_failure(&annotator, &mut events);
        assert_eq!(said(&events), [vec![AnswerValue::Failed], vec![], vec![AnswerValue::Failed]]);
    }
}
