//! Rows of tables, with few values stored inline.

use std::collections::VecDeque;
use std::ops::Deref;

use super::stamp::Stamp;
use crate::interval::Interval;
use crate::value::Value;

/// The values of a row. Most rows have one or two, stored inline to avoid an allocation and a cache miss.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowValues {
    One([Value; 1]),
    Two([Value; 2]),
    /// Any other number of values.
    Many(Box<[Value]>),
}

impl Deref for RowValues {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        match self {
            RowValues::One(values) => values,
            RowValues::Two(values) => values,
            RowValues::Many(values) => values,
        }
    }
}

impl FromIterator<Value> for RowValues {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> RowValues {
        let mut values = values.into_iter();
        match (values.next(), values.next(), values.next()) {
            (Some(first), None, _) => RowValues::One([first]),
            (Some(first), Some(second), None) => RowValues::Two([first, second]),
            (first, second, third) => {
                RowValues::Many(first.into_iter().chain(second).chain(third).chain(values).collect())
            }
        }
    }
}

/// Prefetches a value; the result has no meaning.
pub(super) fn prefetch_value(value: &Value) -> u64 {
    match value {
        Value::Text(text) => u64::from(text.as_bytes().first().copied().unwrap_or_default()),
        _ => 0,
    }
}

/// The stamp of a row, and whether it is only possible.
pub(super) type RowStamp = (Stamp, bool);

/// A row of a table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) values: RowValues,
    /// Its last stamp.
    last: RowStamp,
    /// Earlier stamps that the lower end of a bound still needs, or that are certain while the last is only possible;
    /// the oldest first.
    #[expect(clippy::box_collection, reason = "most rows have none, and a row must be small")]
    older: Option<Box<VecDeque<RowStamp>>>,
}

impl Row {
    pub(super) fn new(values: RowValues, made: RowStamp) -> Row {
        Row { values, last: made, older: None }
    }

    /// Returns a row with these stamps, the oldest first; none if there are none.
    pub(super) fn from_stamps(values: RowValues, times: &[RowStamp]) -> Option<Row> {
        let (last, older) = times.split_last()?;
        let older = (!older.is_empty()).then(|| Box::new(older.iter().copied().collect()));
        Some(Row { values, last: *last, older })
    }

    /// Adds a stamp. Earlier stamps are kept if the bound has a lower end.
    pub(super) fn add(&mut self, made: RowStamp, needs_older: bool) {
        let before = std::mem::replace(&mut self.last, made);
        let (_, maybe) = made;
        // A certain stamp outlasts all earlier ones, and a possible stamp the earlier possible ones.
        if !needs_older && !maybe {
            self.older = None;
        } else if needs_older || !before.1 {
            self.older.get_or_insert_default().push_back(before);
        }
    }

    /// Whether the last stamp is only possible.
    pub(super) fn is_doubtful(&self) -> bool {
        self.last.1
    }

    /// Makes every stamp only possible.
    pub(super) fn make_possible(&mut self) {
        self.last.1 = true;
        self.older.iter_mut().flat_map(|older| older.iter_mut()).for_each(|(_, maybe)| *maybe = true);
    }

    /// Drops the stamps that a bound will never reach again; whether all were dropped.
    pub(super) fn expire(&mut self, interval: Interval, now: Stamp) -> bool {
        if let Some(older) = &mut self.older {
            while older.front().is_some_and(|(stamp, _)| stamp.is_over(interval, now)) {
                older.pop_front();
            }
            if older.is_empty() {
                self.older = None;
            }
        }
        self.last.0.is_over(interval, now)
    }

    /// Whether the row is only possibly within a bound; none if it is not within it.
    #[inline]
    pub(super) fn possible_within(&self, interval: Interval, now: Stamp) -> Option<bool> {
        match &self.older {
            None => self.last.0.is_within(interval, now).then_some(self.last.1),
            Some(_) => self.times().filter(|(stamp, _)| stamp.is_within(interval, now)).map(|(_, maybe)| maybe).min(),
        }
    }

    /// Returns all stamps, the oldest first.
    pub(super) fn times(&self) -> impl Iterator<Item = RowStamp> {
        self.older.iter().flat_map(|older| older.iter().copied()).chain([self.last])
    }
}
