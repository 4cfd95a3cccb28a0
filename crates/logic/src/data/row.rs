//! Rows of tables, with the few values they mostly have beside them and not elsewhere.

use std::collections::VecDeque;
use std::ops::Deref;

use super::store::Stamp;
use crate::interval::Interval;
use crate::term::Value;

/// The values of a row. Most rows have one or two, and each allocation would be a look elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Values {
    One([Value; 1]),
    Two([Value; 2]),
    /// Any other number of them.
    Many(Box<[Value]>),
}

impl Deref for Values {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        match self {
            Values::One(values) => values,
            Values::Two(values) => values,
            Values::Many(values) => values,
        }
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Values {
        let mut values = values.into_iter();
        match (values.next(), values.next(), values.next()) {
            (Some(first), None, _) => Values::One([first]),
            (Some(first), Some(second), None) => Values::Two([first, second]),
            (first, second, third) => {
                Values::Many(first.into_iter().chain(second).chain(third).chain(values).collect())
            }
        }
    }
}

/// Brings a value near to be compared; what comes of it is of no use.
pub(super) fn warm(value: &Value) -> u64 {
    match value {
        Value::Text(text) => u64::from(text.as_bytes().first().copied().unwrap_or_default()),
        _ => 0,
    }
}

/// When a row was made, and whether that is only possible.
pub(super) type Made = (Stamp, bool);

/// A row of a table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) values: Values,
    /// The last time it was made.
    last: Made,
    /// The times before it that a lower end of a bound still needs, or that are certain where the last is only possible;
    /// the oldest first.
    #[expect(clippy::box_collection, reason = "most rows have none, and a row must be small")]
    older: Option<Box<VecDeque<Made>>>,
}

impl Row {
    pub(super) fn new(values: Values, made: Made) -> Row {
        Row { values, last: made, older: None }
    }

    /// A row that was made at these times, the oldest first; none if there are none.
    pub(super) fn of(values: Values, times: &[Made]) -> Option<Row> {
        let (last, older) = times.split_last()?;
        let older = (!older.is_empty()).then(|| Box::new(older.iter().copied().collect()));
        Some(Row { values, last: *last, older })
    }

    /// The row is made once more; whether the times before still matter depends on the bound having a lower end.
    pub(super) fn add(&mut self, made: Made, needs_older: bool) {
        let before = std::mem::replace(&mut self.last, made);
        let (_, maybe) = made;
        // What is certain now outlasts whatever was before, and what is possible now what was possible before.
        if !needs_older && !maybe {
            self.older = None;
        } else if needs_older || !before.1 {
            self.older.get_or_insert_default().push_back(before);
        }
    }

    /// Whether the last time is only possible.
    pub(super) fn is_doubtful(&self) -> bool {
        self.last.1
    }

    /// Every time is only possible from now on.
    pub(super) fn doubt(&mut self) {
        self.last.1 = true;
        self.older.iter_mut().flat_map(|older| older.iter_mut()).for_each(|(_, maybe)| *maybe = true);
    }

    /// Forgets the times that a bound will never reach again; whether that was all.
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

    /// Whether it is only possible that it is within a bound; none if it is not at all.
    #[inline]
    pub(super) fn within(&self, interval: Interval, now: Stamp) -> Option<bool> {
        match &self.older {
            None => self.last.0.is_within(interval, now).then_some(self.last.1),
            Some(_) => self.times().filter(|(stamp, _)| stamp.is_within(interval, now)).map(|(_, maybe)| maybe).min(),
        }
    }

    /// All times, the oldest first.
    pub(super) fn times(&self) -> impl Iterator<Item = Made> {
        self.older.iter().flat_map(|older| older.iter().copied()).chain([self.last])
    }
}
