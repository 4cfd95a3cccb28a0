//! The words that formulas are evaluated on, and the layout of an infinite one in a finite table.
//!
//! A word is a sequence of positions and its ending. `Layout` writes out so many positions that everything after the
//! last one repeats: the value of any subformula at a position beyond the table is that at its fold.

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Node};
use crate::facts::Facts;
use crate::formula::{Binary, Formula, Unary};
use crate::interval::{Interval, Span, Time};

/// Positions and what comes after them.
///
/// A position without a time is at the time of the one before it; time never goes back. Positions before the first
/// known time are at that time, or at the origin if no position has one.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// The positions so far.
    pub positions: &'a [Facts],
    /// What comes after them.
    pub ending: Ending,
}

/// What comes after the last position of a word.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing: the word is finite.
    Stops,
    /// The positions from `from` on, again and again, each time `period` later.
    ///
    /// A period shorter than the repeated part is extended to its length. Without positions to repeat, the word stops.
    /// The evaluation of a time bound takes as many rounds as the period fits into it.
    Repeats {
        /// The first position that is repeated.
        from: usize,
        /// How much later each repetition is than the one before.
        period: Span,
    },
    /// Further positions without end, of which nothing is known.
    Open,
}

/// A word written out as far as its subformulas need to become periodic.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    positions: &'a [Facts],
    times: Vec<Time>,
    /// How many positions are written out.
    pub(crate) length: usize,
    /// Where the repeated part begins.
    from: usize,
    /// How many positions are repeated; none in a finite word.
    round: usize,
    period: Span,
}

impl<'a> Layout<'a> {
    pub(crate) fn new(word: &Word<'a>, arena: &Arena, f: Formula) -> Layout<'a> {
        let mut now = word.positions.iter().find_map(|facts| facts.time).unwrap_or_default();
        let clock = |facts: &Facts| {
            now = facts.time.map_or(now, |time| now.max(time));
            now
        };
        let times: Vec<Time> = word.positions.iter().map(clock).collect();
        let seen = times.len();
        let (from, round, period) = match word.ending {
            Ending::Repeats { from, period } if from < seen => {
                (from, seen - from, period.max(times[seen - 1].since(times[from])))
            }
            // An open word is a lasso that repeats one position where every fact and the time are unknown.
            Ending::Open => (seen, 1, Span(0)),
            Ending::Stops | Ending::Repeats { .. } => (seen, 0, Span(0)),
        };
        let mut layout = Layout { positions: word.positions, times, length: seen, from, round, period };
        if round > 0 {
            layout.length = from + round * (layout.rounds(arena, f, &mut FxHashMap::default()) + 1);
        }
        layout
    }

    /// Returns after how many rounds of the repeated part the value of a formula is equal in every further round.
    ///
    /// Facts repeat from the first round on. What a future operator sees from a position is the same one round later,
    /// so it is periodic as soon as its operands are. A past operator also sees the stem. Let its operands be periodic
    /// from round s on and its bound reach back r rounds.
    /// - If the bound has an end, a position r rounds after s sees only periodic operands, at the same distances as its
    ///   twin one round later.
    /// - If it has none, let a position be r + 1 rounds after s, so that everything up to round s + 1 is at least as
    ///   far away as the bound asks. A witness after s moves along with the round. A witness before s needs the other
    ///   operand throughout a whole round, hence for ever, and so serves every later round, and a witness in round
    ///   s + 1 of a position's later twin serves the position itself.
    /// - If no time passes in a round, or nothing is known of time, distances do not change from round to round, and
    ///   the second argument holds with r = 0.
    fn rounds(&self, arena: &Arena, f: Formula, known: &mut FxHashMap<Formula, usize>) -> usize {
        if let Some(rounds) = known.get(&f) {
            return *rounds;
        }
        let node = &arena[f];
        let operands = node.operands().iter().map(|g| self.rounds(arena, *g, known)).max().unwrap_or(0);
        let own = match node {
            Node::Unary(Unary::Previous | Unary::WeakPrevious, ..) => 1,
            Node::Unary(Unary::Once | Unary::Historically, interval, _)
            | Node::Binary(Binary::Since | Binary::Trigger, interval, ..) => 1 + self.reach(*interval),
            _ => 0,
        };
        known.insert(f, operands + own);
        operands + own
    }

    /// Returns how many rounds the last decisive distance of a bound spans.
    fn reach(&self, interval: Interval) -> usize {
        match interval {
            Interval::Steps { from, to } => (to.unwrap_or(from) as usize).div_ceil(self.round),
            Interval::Time { from, to } if self.period.0 > 0 => to.unwrap_or(from).0.div_ceil(self.period.0) as usize,
            Interval::Time { .. } => 0,
        }
    }

    /// Whether there is no position.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether it repeats for ever.
    pub(crate) fn repeats(&self) -> bool {
        self.round > 0
    }

    /// Whether there is a position of this number.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.round > 0 || position < self.length
    }

    /// Returns the written-out position where every subformula has the value of this one.
    pub(crate) fn fold(&self, position: usize) -> usize {
        match position.checked_sub(self.length) {
            Some(beyond) => self.length - self.round + beyond % self.round,
            None => position,
        }
    }

    /// Returns the facts of a position; `None` if nothing is known of it.
    pub(crate) fn facts(&self, position: usize) -> Option<&'a Facts> {
        match position.checked_sub(self.from) {
            Some(after) if self.round > 0 => self.positions.get(self.from + after % self.round),
            _ => self.positions.get(position),
        }
    }

    fn time(&self, position: usize) -> Option<Time> {
        match position.checked_sub(self.from) {
            Some(after) if self.round > 0 => {
                let start = *self.times.get(self.from + after % self.round)?;
                Some(start.plus(Span(self.period.0.saturating_mul((after / self.round) as u64))))
            }
            _ => self.times.get(position).copied(),
        }
    }

    /// Whether the distance between two positions is within a bound; `None` if their times are unknown.
    pub(crate) fn within(&self, interval: Interval, earlier: usize, later: usize) -> Option<bool> {
        let steps = u32::try_from(later - earlier).unwrap_or(u32::MAX);
        if !interval.is_time() || steps == 0 {
            return Some(interval.contains(steps, Span(0)));
        }
        if let (Some(start), Some(end)) = (self.time(earlier), self.time(later)) {
            return Some(interval.contains(steps, end.since(start)));
        }
        // The later time is only known to be not before the last one seen.
        let least = match (self.time(earlier), self.times.last()) {
            (Some(start), Some(last)) => last.since(start),
            _ => Span(0),
        };
        let Interval::Time { from, to } = interval else { return None };
        match to {
            _ if interval.is_past(steps, least) => Some(false),
            None if from <= least => Some(true),
            _ => None,
        }
    }

    /// Returns where a search for a later witness within a bound may end.
    ///
    /// One round after both the periodic part and the bound have begun, every position has a twin one round before it
    /// that is not too near, no farther, and has the same values; a witness there would have been found already.
    pub(crate) fn search_end(&self, interval: Interval, position: usize) -> usize {
        if self.round == 0 {
            return self.length;
        }
        let periodic = position.max(self.length - self.round);
        let begun = match interval {
            Interval::Steps { from, .. } => position + from as usize,
            Interval::Time { from, .. } if self.period.0 > 0 => {
                periodic + self.round * from.0.div_ceil(self.period.0) as usize
            }
            // The distance does not grow: it is within the bound by now or never. Where times are unknown, only the
            // position itself is at a known distance, so the twins begin after it.
            Interval::Time { .. } => position + 1,
        };
        periodic.max(begun) + self.round
    }
}
