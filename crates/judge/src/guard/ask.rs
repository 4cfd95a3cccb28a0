//! Asks labelers about an event before it is decided.

use lictor_event::Event;
use lictor_event::labeler::{Labelers, Question};

use super::{Decider, Guard, GuardedSession};
use crate::decision::Decision;
use crate::question::Asked;

impl Guard {
    /// Returns the questions about an event whose answers can still change a verdict, and the events before it that they
    /// may look back at. A caller that asks labelers itself, without holding the guard, adds their answers to the event
    /// before it decides. For an event that is not the next one of its session, all open questions are returned.
    pub fn questions(&mut self, event: &Event, is_next: bool) -> (Vec<Question>, Vec<Event>) {
        let Guard { decider, sessions, .. } = self;
        let name = event.session.clone().unwrap_or_default();
        match sessions.get(&name) {
            Some(guarded) => decider.questions(guarded, event, is_next),
            // A session that has not begun is not begun by a question.
            None => {
                let guarded = decider.begin(&name);
                decider.questions(&guarded, event, is_next)
            }
        }
    }
}

impl Decider {
    fn questions(&mut self, guarded: &GuardedSession, event: &Event, is_next: bool) -> (Vec<Question>, Vec<Event>) {
        let asked = if is_next { Asked::Relevant } else { Asked::All };
        let questions = self.judge.find_questions(guarded.session.state(), event, asked);
        let before = if questions.is_empty() { Vec::new() } else { guarded.recent.iter().cloned().collect() };
        (questions, before)
    }

    /// Adds the answers of labelers to an event.
    pub(super) fn ask_labelers(&mut self, guarded: &GuardedSession, labelers: &Labelers, event: &mut Event) {
        labelers.complete("", event);
        let (questions, before) = self.questions(guarded, event, true);
        if !questions.is_empty() {
            labelers.answer("", event, &before, &questions);
        }
    }

    /// Keeps an accepted event for questions that look back.
    pub(super) fn remember(&self, guarded: &mut GuardedSession, decision: &Decision) {
        let window = self.judge.question_window();
        if window == 0 || !decision.action.takes_effect() {
            return;
        }
        if guarded.recent.len() == window {
            guarded.recent.pop_front();
        }
        let event = decision.rewritten.as_deref().unwrap_or(&decision.event);
        guarded.recent.push_back(event.clone());
    }
}
