//! Answers that a log brings along, such as the output of an earlier run: they count if they are the same labeler's, of the
//! same version, to the same question.

use lictor_event::labeler::{Inquiry, Labelers, Question, name_of};
use lictor_event::{Answer, AnswerValue, Event};

use crate::answer_key::hash_question;

/// Removes the answers of labelers that could be asked, unless they are to a question of the policy about this event, and of
/// the present version. Failed ones are removed, too, since asking again may help. Returns how many others were removed.
pub fn leave_out_foreign(labelers: &Labelers, questions: &[Question], event: &mut Event, before: &[Event]) -> usize {
    if event.answers.is_empty() {
        return 0;
    }
    let answers = std::mem::take(&mut event.answers);
    let is_failed = |answer: &Answer| find_version(labelers, answer).is_some() && answer.says == AnswerValue::Failed;
    let is_own = |answer: &Answer| match find_version(labelers, answer) {
        Some(version) => is_current(version, questions, event, before, answer),
        None => true,
    };
    let (own, foreign): (Vec<Answer>, Vec<Answer>) =
        answers.into_iter().filter(|answer| !is_failed(answer)).partition(is_own);
    event.answers = own;
    foreign.len()
}

/// Returns the present version of the labeler of an answer; none if the answer is of no labeler that could be asked.
pub fn find_version<'l>(labelers: &'l Labelers, answer: &Answer) -> Option<&'l str> {
    let name = name_of(answer.by.as_deref()?);
    labelers.has(name).then(|| labelers.version(name)).flatten()
}

/// Whether an answer is of this version, and to a question of the policy.
fn is_current(version: &str, questions: &[Question], event: &Event, before: &[Event], answer: &Answer) -> bool {
    let Some(key) = answer.key.as_deref().filter(|_| answer.by.as_deref() == Some(version)) else { return false };
    // The labeler saw the events before as far as any question that was asked together with this one looks back.
    let mut windows: Vec<u32> = questions.iter().filter(|it| it.by == name_of(version)).map(|it| it.window).collect();
    windows.sort_unstable();
    windows.dedup();
    let own = questions.iter().filter(|it| it.by == name_of(version) && it.fact == answer.fact);
    let mut inquiries =
        own.flat_map(|it| windows.iter().filter(|window| **window >= it.window).map(move |window| (it, *window)));
    inquiries.any(|(question, window)| {
        let before = &before[before.len().saturating_sub(window as usize)..];
        *key == *hash_question(version, &Inquiry::new(event, &[]).after(before), question)
    })
}
