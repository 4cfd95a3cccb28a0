//! Moments in sequence, with all their facts in one buffer: a long session should not cost an allocation for each fact
//! of each event.

use std::ops::Range;
use std::sync::Arc;

use lictor_logic::{Facts, Moment, Time};

use super::{EventSummary, TrailEnd};
use crate::facts::{Labels, Mark, NameId};

/// The moments of a trail, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    slots: Vec<Slot>,
    /// The facts of all events.
    labels: Labels,
}

#[derive(Clone, Debug)]
struct Slot {
    what: MomentKind,
    /// Where its facts end.
    end: Mark,
}

/// The kind of a moment.
#[derive(Clone, Debug)]
enum MomentKind {
    Event(EventSummary),
    /// Time passed.
    Passed(Time),
}

impl Moments {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn pass(&mut self, now: Time) {
        self.slots.push(Slot { what: MomentKind::Passed(now), end: self.labels.end() });
    }

    pub(crate) fn add(&mut self, labels: &mut Labels, summary: EventSummary) {
        self.labels.append(labels);
        self.slots.push(Slot { what: MomentKind::Event(summary), end: self.labels.end() });
    }

    /// Whether some event has a fact of that name.
    pub(crate) fn has_fact(&self, name: NameId) -> bool {
        self.labels.iter().any(|(known, _)| known == name)
    }

    /// Drops the oldest moments.
    pub(crate) fn forget(&mut self, gone: usize) {
        let mark = self.start(gone);
        self.labels.forget(mark);
        self.slots.drain(..gone);
        self.slots.iter_mut().for_each(|slot| slot.end = slot.end.behind(mark));
    }

    /// Returns the event of a moment; `None` for passing time.
    pub(crate) fn summary(&self, place: usize) -> Option<&EventSummary> {
        match &self.slots.get(place)?.what {
            MomentKind::Event(summary) => Some(summary),
            MomentKind::Passed(_) => None,
        }
    }

    /// Returns the time of a moment.
    pub(crate) fn time(&self, place: usize) -> Option<Time> {
        match &self.slots.get(place)?.what {
            MomentKind::Event(summary) => summary.time,
            MomentKind::Passed(now) => Some(*now),
        }
    }

    /// The last event.
    pub(crate) fn last(&self) -> Option<&EventSummary> {
        (0..self.len()).rev().find_map(|place| self.summary(place))
    }

    /// Returns the last events with their facts, the oldest first.
    pub(crate) fn recent_events(&self, most: usize, names: &[Arc<str>]) -> Vec<(&EventSummary, Facts)> {
        let event = |place: usize| {
            let summary = self.summary(place)?;
            let (start, end) = (self.start(place), self.slots[place].end);
            Some((summary, self.labels.facts_between(start, end, summary.time, names, |_| true)))
        };
        let mut recent: Vec<(&EventSummary, Facts)> = (0..self.len()).rev().filter_map(event).take(most).collect();
        recent.reverse();
        recent
    }

    /// Returns a moment as the engine reads it, with the facts of some names.
    pub(crate) fn moment(&self, place: usize, names: &[Arc<str>], is_asked: impl Fn(NameId) -> bool) -> Moment {
        let Slot { what, end } = &self.slots[place];
        match what {
            MomentKind::Passed(now) => Moment::Tick(*now),
            MomentKind::Event(summary) => {
                let start = self.start(place);
                Moment::Position(self.labels.facts_between(start, *end, summary.time, names, is_asked))
            }
        }
    }

    /// Returns several moments like [`moment`](Moments::moment).
    pub(crate) fn some<'a>(
        &'a self,
        places: Range<usize>,
        names: &'a [Arc<str>],
        is_asked: impl Fn(NameId) -> bool + Copy + 'a,
    ) -> impl Iterator<Item = Moment> + 'a {
        places.map(move |place| self.moment(place, names, is_asked))
    }

    fn start(&self, place: usize) -> Mark {
        place.checked_sub(1).map_or_else(Mark::default, |last| self.slots[last].end)
    }
}

impl<'a> TrailEnd<'a> {
    /// Returns the moments in order as the engine reads them, with the facts of some names.
    pub(super) fn moments(self, names: &[Arc<str>], is_asked: impl Fn(NameId) -> bool) -> Vec<Moment> {
        match self {
            TrailEnd::Nothing => Vec::new(),
            TrailEnd::Time(now) => vec![Moment::Tick(now)],
            TrailEnd::Missing { labels, summary, count } => {
                let facts = labels.facts_between(Mark::default(), labels.end(), summary.time, names, is_asked);
                vec![Moment::Position(facts); count]
            }
            TrailEnd::Event { labels, summary, .. } => {
                let facts = labels.facts_between(Mark::default(), labels.end(), summary.time, names, is_asked);
                let before = self.passed().map(Moment::Tick);
                before.into_iter().chain([Moment::Position(facts)]).collect()
            }
        }
    }

    /// Returns the time that passed before an event, if a deadline was in it.
    pub(super) fn passed(self) -> Option<Time> {
        match self {
            TrailEnd::Event { summary, was_due: true, .. } => summary.time.map(|time| Time(time.0.saturating_sub(1))),
            TrailEnd::Event { .. } | TrailEnd::Missing { .. } | TrailEnd::Nothing | TrailEnd::Time(_) => None,
        }
    }

    /// The event.
    pub(super) fn summary(self) -> Option<&'a EventSummary> {
        match self {
            TrailEnd::Event { summary, .. } | TrailEnd::Missing { summary, .. } => Some(summary),
            TrailEnd::Nothing | TrailEnd::Time(_) => None,
        }
    }
}
