//! The recorded answers of labelers under another policy: an answer to another question, or of another labeler or
//! version, says nothing about what the policy asks.

use lictor::event::labeler::{Inquiry, Labelers, Question, name_of};
use lictor::event::{Answer, AnswerValue, Event};
use lictor::json::Text;
use lictor::judge::Judge;
use lictor::policy::{LabelerDefinition, LabelerSource, Policy};
use lictor_label::cache::hash_question;

use crate::{complaint, labelers};

/// The questions of a policy, and the labelers that it would ask.
#[derive(Debug)]
pub(super) struct RecordedAnswers {
    labelers: Labelers,
    questions: Vec<Question>,
    /// The labelers that read nothing of a question but the name of its fact.
    learnt: Vec<Text>,
}

impl RecordedAnswers {
    /// Opens the labelers of a policy, none of which is asked.
    pub(super) fn open(policy: &Policy, judge: &Judge) -> RecordedAnswers {
        let labelers = match labelers::open_without_asking(None, policy) {
            Ok(opened) => opened.labelers,
            Err(error) => {
                complaint::note(&format!("recorded answers count whatever the version of their labeler is: {error:#}"));
                Labelers::default()
            }
        };
        let is_learnt = |it: &&LabelerDefinition| matches!(it.source, LabelerSource::Learnt(_));
        let learnt = policy.labelers.iter().filter(is_learnt).map(|it| it.name.clone()).collect();
        RecordedAnswers { labelers, questions: judge.policy_questions().cloned().collect(), learnt }
    }

    /// Makes answers unclear that the policy did not ask for. Whether there are any.
    pub(super) fn void_foreign(&self, event: &mut Event) -> bool {
        let reasons: Vec<Option<&str>> = event.answers.iter().map(|answer| self.find_reason(event, answer)).collect();
        for (answer, why) in event.answers.iter_mut().zip(&reasons) {
            if let Some(why) = why {
                *answer = Answer { chance: None, says: AnswerValue::Unclear, ..answer.clone() }.because(why);
            }
        }
        reasons.iter().any(Option::is_some)
    }

    /// Says why an answer does not count; none if it does, or if its fact is not asked for.
    fn find_reason(&self, event: &Event, answer: &Answer) -> Option<&'static str> {
        let by = answer.by.as_deref()?;
        let about = |question: &&Question| question.fact.name == answer.fact.name;
        let reasons = self.questions.iter().filter(about).map(|question| match self.labelers.version(&question.by) {
            Some(version) if version == by => {
                self.is_other_question(version, event, question, answer).then_some("other_question")
            }
            Some(version) if name_of(version) == name_of(by) => Some("other_version"),
            // Only the log has its answers.
            None if name_of(by) == question.by => None,
            _ => Some("other_labeler"),
        });
        // One question that it answers is enough; of several reasons the first is named.
        reasons.reduce(|first, next| first.and(next).and(first)).flatten()
    }

    /// Whether the key of an answer shows that its question was another one. If a question to the same labeler looks back,
    /// the events before are needed for that.
    fn is_other_question(&self, version: &str, event: &Event, question: &Question, answer: &Answer) -> bool {
        let looks_back = self.questions.iter().any(|it| it.by == question.by && it.window > 0);
        let key = answer.key.as_ref().filter(|_| !looks_back && !self.learnt.contains(&question.by));
        key.is_some_and(|key| *key != hash_question(version, &Inquiry::new(event, &[]), question))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lictor::event::Kind;
    use lictor::event::labeler::Labeler;
    use lictor_logic::Fact;

    use super::*;

    struct Small;

    impl Labeler for Small {
        fn version(&self) -> &str {
            "small@2"
        }

        fn answer(&self, _: &Inquiry<'_>) -> Vec<Answer> {
            Vec::new()
        }
    }

    #[test]
    fn recorded_answer_counts_for_its_own_question() {
        let question = |words: &str| Question::new(Fact::new("angry", []), words).asked_of("small".into(), 0);
        let labelers = Labelers::new([(Text::from("small"), Arc::new(Small) as Arc<dyn Labeler>)]);
        let answers = RecordedAnswers { labelers, questions: vec![question("is angry")], learnt: Vec::new() };
        let event = Event { text: Some("No!".into()), ..Event::new(Kind::UserMessage) };
        let key = |words: &str| hash_question("small@2", &Inquiry::new(&event, &[]), &question(words));
        let answer = |by: &str| Answer::new(Fact::new("angry", []), AnswerValue::Yes).by(by);
        for (answer, why) in [
            (answer("small@2"), None),
            (Answer { key: Some(key("is angry")), ..answer("small@2") }, None),
            (Answer { key: Some(key("is friendly")), ..answer("small@2") }, Some("other_question")),
            (answer("small@1"), Some("other_version")),
            (answer("large@2"), Some("other_labeler")),
            (Answer::new(Fact::new("late", []), AnswerValue::Yes).by("large@2"), None),
            (Answer::new(Fact::new("angry", []), AnswerValue::Yes), None),
        ] {
            let mut event = Event { answers: vec![answer.clone()], ..event.clone() };
            assert_eq!(answers.void_foreign(&mut event), why.is_some(), "{answer:?}");
            let says = if why.is_some() { AnswerValue::Unclear } else { AnswerValue::Yes };
            assert_eq!((event.answers[0].says, event.answers[0].why.as_deref()), (says, why), "{answer:?}");
        }
    }
}
