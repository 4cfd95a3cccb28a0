//! The state of one trace with every monitor of a set.

use std::sync::Arc;

use crate::bindings::Bindings;
use crate::clock::Clock;
use crate::data::DataStore;
use crate::interval::Time;
use crate::set_identity::SetStamp;
use crate::state::Point;
use crate::verdict::Verdict;

/// The state of one trace with every monitor of a [`MonitorSet`](crate::MonitorSet). A clone is independent.
///
/// It belongs to the set that read it last, and to clones made of that set later. Other sets panic on it.
#[derive(Clone, Debug, Default)]
pub struct TraceState {
    /// The set that read it last.
    pub(crate) stamp: SetStamp,
    pub(crate) states: Vec<MonitorState>,
    /// Positions read.
    pub(crate) positions: u64,
    pub(crate) clock: Clock,
    /// Whether it exceeded a limit of some formula that is not about data.
    pub(crate) has_stopped: bool,
    /// The marks of the first 64 monitors. Every position reads them, and few sets have more.
    first_marks: Marks,
    /// The marks of the others, 64 each.
    more_marks: Vec<Marks>,
}

/// Two words of bits for 64 monitors: those that an empty letter moves, and those with deadlines.
type Marks = [u64; 2];

/// The state of one trace with one monitor, in few bytes: most traces are idle most of the time.
#[derive(Clone, Debug)]
pub(crate) struct MonitorState {
    /// The number of its state, if `extended` is none.
    pub(crate) number: u32,
    pub(crate) satisfied: u32,
    pub(crate) violated: u32,
    /// The position that brought the last definite verdict, counted from 1; 0 if there is none.
    pub(crate) decided_at: u32,
    pub(crate) extended: Option<Box<ExtendedState>>,
}

/// A state that is more than a number.
#[derive(Clone, Debug)]
pub(crate) enum ExtendedState {
    Point(Point),
    /// Shared between traces until one of them moves.
    Bindings(Arc<Bindings>),
    /// The past of a formula about data. In a box, so that the other states, of which a trace has many, stay small.
    Data(Point, Box<DataStore>),
    /// The monitor was removed.
    Removed,
}

impl MonitorState {
    pub(crate) fn new(extended: ExtendedState) -> MonitorState {
        let mut monitor_state = MonitorState { number: 0, satisfied: 0, violated: 0, decided_at: 0, extended: None };
        monitor_state.set_state(extended);
        monitor_state
    }

    pub(crate) fn set_state(&mut self, extended: ExtendedState) {
        match extended {
            ExtendedState::Point(point) => self.set_point(point),
            extended => self.extended = Some(Box::new(extended)),
        }
    }

    pub(crate) fn set_point(&mut self, point: Point) {
        match point.id() {
            Some(id) => {
                self.number = id;
                self.extended = None;
            }
            None => match self.extended.as_deref_mut() {
                Some(ExtendedState::Point(place)) => *place = point,
                _ => self.extended = Some(Box::new(ExtendedState::Point(point))),
            },
        }
    }

    /// Counts a definite verdict.
    pub(crate) fn decide(&mut self, verdict: Verdict, position: u64) {
        self.decided_at = u32::try_from(position.max(1)).unwrap_or(u32::MAX);
        match verdict {
            Verdict::Satisfied => self.satisfied = self.satisfied.saturating_add(1),
            Verdict::Violated => self.violated = self.violated.saturating_add(1),
            Verdict::Inconclusive => {}
        }
    }
}

/// How often a formula was decided in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerdictCounts {
    /// Times it was satisfied.
    pub satisfied: u32,
    /// Times it was violated.
    pub violated: u32,
    /// The position of the last definite verdict, counted from 1.
    pub decided_at: Option<u32>,
}

const RESTLESS_WORD: usize = 0;
const TIMED_WORD: usize = 1;

impl TraceState {
    /// Returns how many positions have been read.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Returns the latest time that a position or tick had; none if none had one.
    pub fn clock(&self) -> Option<Time> {
        self.clock.latest()
    }

    pub(crate) fn resumed(states: Vec<MonitorState>, positions: u64, clock: Clock) -> TraceState {
        let more_marks = vec![[0; 2]; states.len().div_ceil(64).saturating_sub(1)];
        TraceState {
            stamp: SetStamp::default(),
            states,
            positions,
            clock,
            has_stopped: false,
            first_marks: [0; 2],
            more_marks,
        }
    }

    pub(crate) fn push_state(&mut self, monitor_state: MonitorState) {
        self.states.push(monitor_state);
        if self.groups() * 64 < self.states.len() {
            self.more_marks.push([0; 2]);
        }
    }

    #[inline]
    pub(crate) fn mark(&mut self, monitor: u32, restless: bool, timed: bool) {
        let words = match (monitor as usize / 64).checked_sub(1) {
            None => &mut self.first_marks,
            Some(group) => &mut self.more_marks[group],
        };
        let bit = 1u64 << (monitor % 64);
        for (word, on) in words.iter_mut().zip([restless, timed]) {
            if on { *word |= bit } else { *word &= !bit }
        }
    }

    /// Whether two states have the bindings of a monitor in common, as traces do until one of them moves.
    pub(crate) fn shares_bindings(&self, other: &TraceState, monitor: u32) -> bool {
        let extended = |state: &TraceState| match state.states.get(monitor as usize)?.extended.as_deref()? {
            ExtendedState::Bindings(bindings) => Some(Arc::as_ptr(bindings)),
            _ => None,
        };
        let shared = extended(self);
        shared.is_some() && shared == extended(other)
    }

    /// Whether an empty letter moves any monitor.
    #[inline]
    pub(crate) fn has_restless(&self) -> bool {
        self.has_mark(RESTLESS_WORD)
    }

    /// Whether any monitor has a deadline.
    #[inline]
    pub(crate) fn has_timed(&self) -> bool {
        self.has_mark(TIMED_WORD)
    }

    /// Returns the number of groups of 64 monitors.
    pub(crate) fn groups(&self) -> usize {
        1 + self.more_marks.len()
    }

    pub(crate) fn restless(&self, group: usize) -> u64 {
        self.marks(group)[RESTLESS_WORD]
    }

    pub(crate) fn timed(&self, group: usize) -> u64 {
        self.marks(group)[TIMED_WORD]
    }

    fn marks(&self, group: usize) -> &Marks {
        group.checked_sub(1).map_or(&self.first_marks, |group| &self.more_marks[group])
    }

    #[inline]
    fn has_mark(&self, word: usize) -> bool {
        self.first_marks[word] != 0 || self.more_marks.iter().any(|words| words[word] != 0)
    }
}
