//! The recorded answers of labelers under another policy: an answer to another question, or of another labeler or
//! version, says nothing about what the policy asks.

use lictor::event::labeler::{Inquiry, Labelers, Question, name_of};
use lictor::event::{Answer, AnswerValue, Event};
use lictor::judge::Judge;
use lictor::policy::Policy;
use lictor_label::cache::hash_question;

use crate::{complaint, labelers};

/// The questions of a policy, and the labelers that it would ask.
#[derive(Debug)]
pub(super) struct RecordedAnswers {
    labelers: Labelers,
    questions: Vec<Question>,
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
        RecordedAnswers { labelers, questions: judge.policy_questions().cloned().collect() }
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
        let reasons = self.questions.iter().filter(about).map(|question| {
            if name_of(by) != question.by {
                return Some("other_labeler");
            }
            match self.labelers.version(&question.by) {
                Some(version) if version != by => Some("other_version"),
                Some(version) if self.is_other_question(version, event, question, answer) => Some("other_question"),
                _ => None,
            }
        });
        // One question that it answers is enough; of several reasons the first is named.
        reasons.reduce(|first, next| first.and(next).and(first)).flatten()
    }

    /// Whether the key of an answer shows that its question was another one. If a question to the same labeler looks back,
    /// the events before are needed for that.
    fn is_other_question(&self, version: &str, event: &Event, question: &Question, answer: &Answer) -> bool {
        let looks_back = self.questions.iter().any(|it| it.by == question.by && it.window > 0);
        let key = answer.key.as_ref().filter(|_| !looks_back);
        key.is_some_and(|key| *key != hash_question(version, &Inquiry::new(event, &[]), question))
    }
}
