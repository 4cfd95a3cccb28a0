//! Questions that wait: a labeler is asked about an event only once a verdict depends on its answer.
//!
//! The events are judged with their facts unknown. As soon as it is unknown whether an event violates a property, or what
//! becomes of one at the end, the open questions are asked, the oldest first, until it is known. Most sessions end before
//! anything depends on most answers.

use std::collections::VecDeque;
use std::sync::Arc;

use lictor_event::labeler::Question;
use lictor_event::{Answer, AnswerValue, Event};
use lictor_json::Text;
use lictor_judge::session::SessionError;
use lictor_judge::{Judge, SessionState};

use crate::answers::{AnswerBook, EventKey};

/// How many events of a session wait at most: each is judged again when questions are asked.
const MAX_EVENTS: usize = 128;

/// How many of them may go on waiting when there are too many.
pub(crate) const LEFT_EVENTS: usize = MAX_EVENTS / 2;

/// Asks labelers about the events of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionAsker<'a> {
    pub(crate) answers: &'a AnswerBook,
    /// The file in which the session begins, and its name.
    pub(crate) file: &'a Arc<str>,
    pub(crate) session: &'a Text,
    /// How many events questions look back at.
    pub(crate) window: usize,
}

/// Events with questions that wait, and those after them.
#[derive(Debug)]
pub(crate) struct DeferredEvents {
    /// The state before the first of them.
    start: SessionState,
    /// The events before the first that questions may look back at.
    before: Vec<Event>,
    events: VecDeque<Event>,
}

/// Which answers are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WantedAnswers {
    /// Those that say whether the last event violates some properties, by number.
    AtLastEvent(Vec<usize>),
    /// Those that say what becomes of some properties, by number, if the session ends here.
    AtEnd(Vec<usize>),
    /// Everything about the oldest events, until no more than so many are left.
    Oldest(usize),
}

/// What became of a session after questions were asked.
#[derive(Debug)]
pub(crate) struct AskedSession {
    /// The state after the last event.
    pub(crate) state: SessionState,
    /// The events whose questions still wait.
    pub(crate) deferred: Option<Box<DeferredEvents>>,
}

impl SessionAsker<'_> {
    /// Returns the event by which answers are kept.
    pub(crate) fn key(&self, step: u32) -> EventKey {
        EventKey { file: Arc::clone(self.file), session: self.session.clone(), step }
    }

    /// Adds the answers of labelers to an event. Returns whether one was asked.
    pub(crate) fn ask_about(
        &self,
        step: u32,
        event: &mut Event,
        before: &[Event],
        mut questions: Vec<Question>,
    ) -> bool {
        questions.retain(|question| self.answers.can_ask(question));
        if !questions.is_empty() {
            self.answers.ask(self.key(step), event, before, &questions);
        }
        !questions.is_empty()
    }

    /// Asks what matters to some properties about an event, in as few requests as possible: first what may spare other
    /// questions. Stops as soon as it is known whether the event violates the properties of `doubts`, if there are any.
    /// Returns whether a labeler was asked.
    pub(crate) fn ask_event(
        &self,
        judge: &mut Judge,
        (state, before): (&SessionState, &[Event]),
        event: &mut Event,
        properties: &[usize],
        doubts: &[usize],
    ) -> Result<bool, SessionError> {
        let (mut is_asked, mut left) = (false, properties.to_vec());
        loop {
            let mut asked: Vec<Question> = Vec::new();
            for property in left.iter().copied() {
                let mut chosen = self.choose_questions(judge, state, event, property)?;
                chosen.retain(|question| !asked.contains(question));
                asked.append(&mut chosen);
            }
            if !self.ask_about(state.steps() + 1, event, before, asked) {
                return Ok(is_asked);
            }
            is_asked = true;
            if !doubts.is_empty() {
                let open = judge.advance_doubtful(&mut state.clone(), event)?;
                left.retain(|property| open.contains(property));
            }
        }
    }

    /// Returns the questions to ask next for a property: the one whose answer settles whether the event violates it, or
    /// spares most others; all if none does. Most facts do not hold, so a no counts first.
    fn choose_questions(
        &self,
        judge: &mut Judge,
        state: &SessionState,
        event: &Event,
        property: usize,
    ) -> Result<Vec<Question>, SessionError> {
        let find_open = |judge: &mut Judge, event: &Event| -> Result<Vec<Question>, SessionError> {
            let mut open = judge.questions_about(state, event, &[property])?;
            open.retain(|question| self.answers.can_ask(question));
            Ok(open)
        };
        let mut open = find_open(judge, event)?;
        if open.len() < 2 {
            return Ok(open);
        }
        let is_doubtful_now = judge.advance_doubtful(&mut state.clone(), event)?.contains(&property);
        for says in [AnswerValue::No, AnswerValue::Yes] {
            // Asking one of them leaves the others, if nothing is gained.
            let (mut least, mut best) = ((is_doubtful_now, open.len() - 1), None);
            for (place, question) in open.iter().enumerate() {
                let mut tried = event.clone();
                tried.answers.push(Answer::new(question.fact.clone(), says).by(&question.by));
                let is_doubtful = judge.advance_doubtful(&mut state.clone(), &tried)?.contains(&property);
                let score = (is_doubtful, find_open(judge, &tried)?.len());
                if score < least {
                    (least, best) = (score, Some(place));
                }
            }
            if let Some(place) = best {
                return Ok(vec![open.swap_remove(place)]);
            }
        }
        Ok(open)
    }

    /// Keeps an event for questions that look back.
    pub(crate) fn remember(&self, recent: &mut Vec<Event>, event: &Event) {
        if self.window > 0 {
            recent.push(event.clone());
            recent.drain(..recent.len().saturating_sub(self.window));
        }
    }
}

impl DeferredEvents {
    pub(crate) fn new(start: SessionState, before: Vec<Event>) -> DeferredEvents {
        DeferredEvents { start, before, events: VecDeque::new() }
    }

    /// Adds the next event, with the answers that are known.
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Whether so many events wait that some questions have to be asked.
    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= MAX_EVENTS
    }

    /// Asks for answers. `note` is called for each event that has new ones, after it was judged.
    pub(crate) fn ask(
        self,
        judge: &mut Judge,
        asker: &SessionAsker<'_>,
        wanted: WantedAnswers,
        note: &mut dyn FnMut(&Judge, &Event),
    ) -> Result<AskedSession, SessionError> {
        match wanted {
            WantedAnswers::AtLastEvent(properties) => self.ask_forwards(judge, asker, properties, note),
            WantedAnswers::AtEnd(properties) => self.ask_backwards(judge, asker, properties, note),
            WantedAnswers::Oldest(left) => self.ask_oldest(judge, asker, left, note),
        }
    }

    /// Asks what matters to some properties, the oldest question first, until it is known whether the last event violates
    /// them.
    fn ask_forwards(
        mut self,
        judge: &mut Judge,
        asker: &SessionAsker<'_>,
        mut properties: Vec<usize>,
        note: &mut dyn FnMut(&Judge, &Event),
    ) -> Result<AskedSession, SessionError> {
        let (mut state, mut before) = (self.start.clone(), self.before.clone());
        let mut place = 0;
        while place < self.events.len() {
            let is_asked = asker.ask_event(judge, (&state, &before), &mut self.events[place], &properties, &[])?;
            let event = &self.events[place];
            let mut open = judge.advance_doubtful(&mut state, event)?;
            if is_asked {
                note(judge, event);
            }
            asker.remember(&mut before, event);
            place += 1;
            if !is_asked {
                continue;
            }
            let mut ahead = state.clone();
            for event in self.events.range(place..) {
                open = judge.advance_doubtful(&mut ahead, event)?;
            }
            properties.retain(|property| open.contains(property));
            if properties.is_empty() {
                state = ahead;
                break;
            }
        }
        self.finish(judge, asker, state)
    }

    /// Asks what matters to some properties, the latest question first, until it is known what becomes of them at the end:
    /// what is owed is mostly settled late.
    fn ask_backwards(
        mut self,
        judge: &mut Judge,
        asker: &SessionAsker<'_>,
        mut properties: Vec<usize>,
        note: &mut dyn FnMut(&Judge, &Event),
    ) -> Result<AskedSession, SessionError> {
        let mut states = vec![self.start.clone()];
        for event in &self.events {
            let mut state = states[states.len() - 1].clone();
            judge.advance(&mut state, event)?;
            states.push(state);
        }
        let mut last = states.pop().unwrap_or_else(|| self.start.clone());
        for (place, state) in states.iter().enumerate().rev() {
            let from = place.saturating_sub(asker.window);
            let earlier = self.events.range(from..place);
            let before: Vec<Event> = self.before.iter().chain(earlier).cloned().collect();
            let before = &before[before.len().saturating_sub(asker.window)..];
            if !asker.ask_event(judge, (state, before), &mut self.events[place], &properties, &[])? {
                continue;
            }
            let mut ahead = state.clone();
            judge.advance(&mut ahead, &self.events[place])?;
            note(judge, &self.events[place]);
            for event in self.events.range(place + 1..) {
                judge.advance(&mut ahead, event)?;
            }
            let open = judge.find_unknown_ends(&mut ahead)?;
            last = ahead;
            properties.retain(|property| open.contains(property));
            if properties.is_empty() {
                break;
            }
        }
        self.finish(judge, asker, last)
    }

    /// Returns the session with the events that still wait.
    fn finish(
        mut self,
        judge: &mut Judge,
        asker: &SessionAsker<'_>,
        state: SessionState,
    ) -> Result<AskedSession, SessionError> {
        self.drop_settled(judge, asker)?;
        let deferred = (!self.events.is_empty()).then(|| Box::new(self));
        Ok(AskedSession { state, deferred })
    }

    /// Asks everything about the oldest events, so that there is room again.
    fn ask_oldest(
        mut self,
        judge: &mut Judge,
        asker: &SessionAsker<'_>,
        left: usize,
        note: &mut dyn FnMut(&Judge, &Event),
    ) -> Result<AskedSession, SessionError> {
        while self.events.len() > left
            && let Some(mut event) = self.events.pop_front()
        {
            let asked = judge.questions(&self.start, &event)?;
            let is_asked = asker.ask_about(self.start.steps() + 1, &mut event, &self.before, asked);
            judge.advance(&mut self.start, &event)?;
            if is_asked {
                note(judge, &event);
            }
            asker.remember(&mut self.before, &event);
        }
        let mut state = self.start.clone();
        for event in &self.events {
            judge.advance(&mut state, event)?;
        }
        let deferred = (!self.events.is_empty()).then(|| Box::new(self));
        Ok(AskedSession { state, deferred })
    }

    /// Drops the first events as long as nothing about them can matter any more.
    fn drop_settled(&mut self, judge: &mut Judge, asker: &SessionAsker<'_>) -> Result<(), SessionError> {
        while let Some(event) = self.events.front() {
            let waiting = judge.questions(&self.start, event)?;
            if waiting.iter().any(|question| asker.answers.can_ask(question)) {
                break;
            }
            judge.advance(&mut self.start, event)?;
            asker.remember(&mut self.before, event);
            self.events.pop_front();
        }
        Ok(())
    }
}
