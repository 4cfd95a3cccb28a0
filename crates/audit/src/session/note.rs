//! The stage that notes what judged events had: for the coverage of the log, and for histories across sessions.

use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::{HistoryTimes, Judge, SessionState};
use lictor_logic::Time;

use crate::closed_session::EventPlace;
use crate::coverage::SeenFacts;
use crate::shared_history::{HistoryChange, HistoryEntry};

/// What the events of all sessions of a thread had.
pub(crate) struct NoteStage {
    /// The facts and tools.
    seen: SeenFacts,
    /// The events, if properties are judged over shared histories.
    history: Vec<HistoryEntry>,
    shows_content: bool,
}

/// What is noted of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionNotes {
    /// Its latest times in the histories across sessions.
    times: HistoryTimes,
    /// The last place of an event.
    last_place: EventPlace,
    /// Whether some event had a fact that a property asks for.
    has_facts: bool,
}

impl SessionNotes {
    /// Returns the last place of an event, as histories across sessions count it.
    pub(crate) fn last_place(&self) -> EventPlace {
        self.last_place
    }

    /// Whether some event had a fact that a property asks for.
    pub(crate) fn has_facts(&self) -> bool {
        self.has_facts
    }
}

impl NoteStage {
    pub(crate) fn new(judge: &Judge, shows_content: bool) -> NoteStage {
        NoteStage { seen: SeenFacts::new(judge), history: Vec::new(), shows_content }
    }

    /// Notes the event that was judged last; `joined` is its number if it is an entry of another system.
    #[inline]
    pub(crate) fn note_event(
        &mut self,
        judge: &Judge,
        (state, notes): (&SessionState, &mut SessionNotes),
        event: &Event,
        (place, joined): (EventPlace, Option<u32>),
        session: impl FnOnce() -> Text,
    ) {
        self.seen.note(judge, event);
        notes.has_facts = notes.has_facts || self.seen.is_asked(judge);
        if let Some(history_event) = judge.last_history_event(state, event, session, self.shows_content) {
            // Events of one session stay in their order, independent of lines and times.
            notes.last_place = notes.last_place.max(place);
            let order = notes.last_place;
            for (time, event) in notes.times.place_event(history_event) {
                self.history.push(HistoryEntry { time, order, joined, change: HistoryChange::Event(event) });
            }
        }
    }

    /// Notes an event that has new answers, after it was judged again.
    pub(crate) fn note_answers(&mut self, judge: &Judge, notes: &mut SessionNotes, event: &Event) {
        self.seen.note_answers(judge, event);
        notes.has_facts |= self.seen.is_asked(judge);
    }

    /// Notes missing events before an event of a time and place.
    pub(crate) fn note_missing(
        &mut self,
        judge: &Judge,
        notes: &mut SessionNotes,
        count: u64,
        (next, place): (Option<Time>, EventPlace),
    ) {
        if judge.has_shared_histories() {
            let (time, order) = (notes.times.place_gap(next), notes.last_place.max(place));
            self.history.push(HistoryEntry { time, order, joined: None, change: HistoryChange::Missing(count) });
        }
    }

    /// Returns what was seen, and the entries of the histories across sessions.
    pub(crate) fn into_parts(self) -> (SeenFacts, Vec<HistoryEntry>) {
        (self.seen, self.history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_logic::Fact;
    use lictor_policy::{FileResolver, Policy};

    #[test]
    fn note_stage_marks_sessions_with_asked_facts() {
        let policy = Policy::parse(
            "lictor: 1\nproperties:\n  - id: quiet\n    formula: G !loud\n",
            "policy.yaml",
            &FileResolver,
        )
        .unwrap()
        .policy;
        let mut judge = Judge::new(&policy).unwrap();
        let mut stage = NoteStage::new(&judge, false);
        let (mut state, mut notes) = (judge.start(), SessionNotes::default());
        for (fact, has_facts) in [("other", false), ("loud", true), ("other", true)] {
            let event = Event { facts: vec![Fact::parse(fact).unwrap()], ..Event::default() };
            judge.advance(&mut state, &event).unwrap();
            stage.note_event(&judge, (&state, &mut notes), &event, (EventPlace::default(), None), Text::default);
            assert_eq!(notes.has_facts(), has_facts, "{fact}");
        }
        assert!(stage.into_parts().1.is_empty(), "no property looks across sessions");
    }
}
