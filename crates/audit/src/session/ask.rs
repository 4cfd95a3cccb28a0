//! The stage that judges events with the answers of labelers, and asks for those on which a verdict depends.

use std::borrow::Cow;
use std::sync::Arc;

use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::session::SessionError;
use lictor_judge::{Judge, SessionState};

use super::deferred::{DeferredEvents, LEFT_EVENTS, SessionAsker, WantedAnswers};
use crate::answers::AnswerBook;

/// Asks labelers about the events of all sessions.
#[derive(Debug)]
pub(crate) struct AskStage {
    /// The answers of labelers, if some are known or asked for.
    answers: Option<Arc<AnswerBook>>,
}

/// The questions of one session that wait.
#[derive(Debug, Default)]
pub(crate) struct SessionQuestions {
    /// The events that questions may look back at.
    recent: Vec<Event>,
    /// The last events, if questions about them wait.
    deferred: Option<Box<DeferredEvents>>,
}

/// A session as labelers know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedAbout<'a> {
    /// The file in which it begins, and its name.
    pub(crate) file: &'a Arc<str>,
    pub(crate) name: &'a Text,
}

impl SessionQuestions {
    /// Whether a state of the session is kept for questions that wait.
    pub(crate) fn is_waiting(&self) -> bool {
        self.deferred.is_some()
    }
}

impl AskStage {
    pub(crate) fn new(answers: Option<Arc<AnswerBook>>) -> AskStage {
        AskStage { answers }
    }

    /// Whether no answers are known, and none is asked for.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.answers.is_none()
    }

    /// Judges an event with the answers of labelers, as far as they are known or cannot wait. Returns the event as it was
    /// judged, and what has to be asked about the events before it.
    pub(crate) fn advance<'e>(
        &self,
        judge: &mut Judge,
        (about, questions): (AskedAbout<'_>, &mut SessionQuestions),
        state: &mut SessionState,
        event: &'e Event,
    ) -> Result<(Cow<'e, Event>, Option<WantedAnswers>), SessionError> {
        let Some(answers) = &self.answers else {
            judge.advance(state, event)?;
            return Ok((Cow::Borrowed(event), None));
        };
        let asker = asker(answers, about, judge);
        let step = state.steps() + 1;
        let mut event = answers.add_known(&asker.key(step), event);
        let urgent = judge.urgent_questions(state, &event)?;
        if urgent.iter().any(|question| answers.can_ask(question)) {
            asker.ask_about(step, event.to_mut(), &questions.recent, urgent);
        }
        if questions.deferred.is_none() {
            let waiting = judge.questions(state, &event)?;
            if !waiting.iter().any(|question| answers.can_ask(question)) {
                judge.advance(state, &event)?;
                asker.remember(&mut questions.recent, &event);
                return Ok((event, None));
            }
            questions.deferred = Some(Box::new(DeferredEvents::new(state.clone(), questions.recent.clone())));
        }
        let before = state.clone();
        let mut doubts = judge.advance_doubtful(state, &event)?;
        // Mostly the event itself says what is not known about it.
        let recent = &questions.recent;
        if !doubts.is_empty() && asker.ask_event(judge, (&before, recent), event.to_mut(), &doubts, &doubts)? {
            *state = before;
            doubts = judge.advance_doubtful(state, &event)?;
        }
        asker.remember(&mut questions.recent, &event);
        let mut wanted = (!doubts.is_empty()).then_some(WantedAnswers::AtLastEvent(doubts));
        if let Some(deferred) = &mut questions.deferred {
            deferred.push(event.clone().into_owned());
            if wanted.is_none() && deferred.is_full() {
                wanted = Some(WantedAnswers::Oldest(LEFT_EVENTS));
            }
        }
        Ok((event, wanted))
    }

    /// Asks about events whose questions wait. `note` is called for each event that has new answers.
    pub(crate) fn ask_deferred(
        &self,
        judge: &mut Judge,
        (about, questions): (AskedAbout<'_>, &mut SessionQuestions),
        state: &mut SessionState,
        wanted: WantedAnswers,
        note: &mut dyn FnMut(&Judge, &Event),
    ) -> Result<(), SessionError> {
        let (Some(answers), Some(deferred)) = (&self.answers, questions.deferred.take()) else { return Ok(()) };
        let asker = asker(answers, about, judge);
        let asked = deferred.ask(judge, &asker, wanted, note)?;
        (*state, questions.deferred) = (asked.state, asked.deferred);
        Ok(())
    }
}

fn asker<'a>(answers: &'a AnswerBook, about: AskedAbout<'a>, judge: &Judge) -> SessionAsker<'a> {
    SessionAsker { answers, file: about.file, session: about.name, window: judge.question_window() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_policy::Policy;

    #[test]
    fn ask_stage_without_labelers_judges_at_once() {
        let mut judge = Judge::new(&Policy::default()).unwrap();
        for answers in [None, Some(Arc::new(AnswerBook::default()))] {
            let (stage, mut state) = (AskStage::new(answers), judge.start());
            let mut questions = SessionQuestions::default();
            let about = AskedAbout { file: &"log".into(), name: &"s".into() };
            let (_, wanted) =
                stage.advance(&mut judge, (about, &mut questions), &mut state, &Event::default()).unwrap();
            assert_eq!((wanted, state.steps(), questions.is_waiting()), (None, 1, false));
        }
    }
}
