//! Where one trace stands with every monitor of a watch.

use std::sync::Arc;

use crate::binding::Bindings;
use crate::data::Store;
use crate::interval::Time;
use crate::state::Point;
use crate::verdict::Verdict;

/// Where one trace stands. A clone goes its own way.
#[derive(Clone, Debug, Default)]
pub struct TraceState {
    pub(crate) seats: Vec<Seat>,
    /// Positions read.
    pub(crate) positions: u64,
    /// No position before this moment can come any more.
    pub(crate) clock: Option<Time>,
    /// For each 64 monitors two words of bits: those that an empty letter moves, and those with deadlines.
    marks: Vec<[u64; 2]>,
}

/// Where one trace stands with one monitor, in few bytes: most traces are idle most of the time.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    /// The number of its state, where `wide` is none.
    pub(crate) at: u32,
    pub(crate) satisfied: u32,
    pub(crate) violated: u32,
    /// The position that brought the last definite verdict, counted from 1; 0 if there is none.
    pub(crate) decided_at: u32,
    pub(crate) wide: Option<Box<Wide>>,
}

/// A state that is more than a number.
#[derive(Clone, Debug)]
pub(crate) enum Wide {
    Point(Point),
    /// Traces share them until one moves its own.
    Bindings(Arc<Bindings>),
    /// The past of a formula about data.
    Data(Point, Store),
    /// The monitor is gone.
    Vacant,
}

impl Seat {
    pub(crate) fn new(wide: Wide) -> Seat {
        let mut seat = Seat { at: 0, satisfied: 0, violated: 0, decided_at: 0, wide: None };
        seat.place(wide);
        seat
    }

    pub(crate) fn place(&mut self, wide: Wide) {
        match wide {
            Wide::Point(point) => self.place_point(point),
            wide => self.wide = Some(Box::new(wide)),
        }
    }

    pub(crate) fn place_point(&mut self, point: Point) {
        match point.id() {
            Some(id) => {
                self.at = id;
                self.wide = None;
            }
            None => match self.wide.as_deref_mut() {
                Some(Wide::Point(place)) => *place = point,
                _ => self.wide = Some(Box::new(Wide::Point(point))),
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
pub struct VerdictCounts {
    /// Times it was satisfied.
    pub satisfied: u32,
    /// Times it was violated.
    pub violated: u32,
    /// The position of the last definite verdict, counted from 1.
    pub decided_at: Option<u32>,
}

const RESTLESS: usize = 0;
const TIMED: usize = 1;

impl TraceState {
    /// How many positions have been read.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// The time of the last position, or up to when time has passed; none before the first.
    pub fn clock(&self) -> Option<Time> {
        self.clock
    }

    pub(crate) fn resumed(seats: Vec<Seat>, positions: u64, clock: Option<Time>) -> TraceState {
        let marks = vec![[0; 2]; seats.len().div_ceil(64)];
        TraceState { seats, positions, clock, marks }
    }

    pub(crate) fn seat(&mut self, seat: Seat) {
        self.seats.push(seat);
        if self.marks.len() * 64 < self.seats.len() {
            self.marks.push([0; 2]);
        }
    }

    #[inline]
    pub(crate) fn mark(&mut self, monitor: u32, restless: bool, timed: bool) {
        let (words, bit) = (&mut self.marks[monitor as usize / 64], 1u64 << (monitor % 64));
        for (word, on) in words.iter_mut().zip([restless, timed]) {
            if on { *word |= bit } else { *word &= !bit }
        }
    }

    /// Does an empty letter move any monitor?
    #[inline]
    pub(crate) fn has_restless(&self) -> bool {
        self.marks.iter().any(|words| words[RESTLESS] != 0)
    }

    /// Does any monitor have a deadline?
    #[inline]
    pub(crate) fn has_timed(&self) -> bool {
        self.marks.iter().any(|words| words[TIMED] != 0)
    }

    /// How many groups of 64 monitors there are.
    pub(crate) fn groups(&self) -> usize {
        self.marks.len()
    }

    pub(crate) fn restless(&self, group: usize) -> u64 {
        self.marks[group][RESTLESS]
    }

    pub(crate) fn timed(&self, group: usize) -> u64 {
        self.marks[group][TIMED]
    }
}
