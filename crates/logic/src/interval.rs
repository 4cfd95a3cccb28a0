//! Time, and the bounds of temporal operators.
//!
//! A bound counts positions (`[0,4]`) or event time (`[0,30s]`). Both ends belong to it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment in event time: nanoseconds since the Unix epoch, or since any other origin a trace keeps to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// Returns the moment this many whole seconds after the origin.
    pub const fn from_seconds(seconds: i64) -> Time {
        Time(seconds.saturating_mul(1_000_000_000))
    }

    /// Returns the moment this much later, at most the last one that fits.
    #[must_use]
    pub const fn plus(self, span: Span) -> Time {
        Time(self.0.saturating_add_unsigned(span.0))
    }

    /// Returns how long ago `earlier` was; zero if it is not earlier.
    pub fn since(self, earlier: Time) -> Span {
        Span(u64::try_from(i128::from(self.0) - i128::from(earlier.0)).unwrap_or(0))
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Span {
    /// The units a bound can be written in, the largest first, in nanoseconds.
    pub const UNITS: [(&'static str, u64); 5] = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
    ];

    /// Returns it as a person says it, rounded: to seconds below ten minutes, then to ten seconds, to minutes from an hour
    /// on, and to hours from a day on. A part of a second is in milliseconds.
    ///
    /// ```
    /// use lictor_logic::Span;
    /// let rounded = [599_987_041_401, 598_600_000_000, 8_000_000_000_000].map(|it| Span(it).to_rounded());
    /// assert_eq!(rounded, ["10m", "9m 59s", "2h 13m"]);
    /// ```
    pub fn to_rounded(self) -> String {
        const MINUTE: u64 = 60_000_000_000;
        let grain = match self.0 {
            0..1_000_000_000 => 1_000_000,
            1_000_000_000..600_000_000_000 => 1_000_000_000,
            600_000_000_000..3_600_000_000_000 => 10_000_000_000,
            3_600_000_000_000..86_400_000_000_000 => MINUTE,
            _ => 60 * MINUTE,
        };
        // Never nothing, for what is left is something.
        let count = (self.0.saturating_add(grain / 2) / grain).max(u64::from(self.0 > 0));
        let mut rest = count.saturating_mul(grain);
        let mut parts = Vec::new();
        for (unit, size) in Span::UNITS {
            if rest >= size {
                parts.push(format!("{}{unit}", rest / size));
                rest %= size;
            }
        }
        if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
    }

    /// Returns a span of this many whole seconds.
    pub const fn from_seconds(seconds: u64) -> Span {
        Span(seconds.saturating_mul(1_000_000_000))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        match Span::UNITS.iter().find(|(_, size)| self.0.is_multiple_of(*size)) {
            Some((unit, size)) => write!(f, "{}{unit}", self.0 / size),
            // Bounds are rarely finer than milliseconds, so this is mostly the rest of one.
            None => {
                let fraction = format!("{:06}", self.0 % 1_000_000);
                write!(f, "{}.{}ms", self.0 / 1_000_000, fraction.trim_end_matches('0'))
            }
        }
    }
}

/// The bound of a temporal operator: from one distance to another, both included.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interval {
    /// Counted in positions; `to: None` has no end.
    Steps {
        /// The least distance.
        from: u32,
        /// The greatest distance.
        to: Option<u32>,
    },
    /// Measured in event time; `to: None` has no end.
    Time {
        /// The least distance.
        from: Span,
        /// The greatest distance.
        to: Option<Span>,
    },
}

impl Interval {
    /// No bound at all.
    pub const UNBOUNDED: Interval = Interval::Steps { from: 0, to: None };

    /// Whether there is no bound.
    pub fn is_unbounded(self) -> bool {
        matches!(self, Interval::Steps { from: 0, to: None })
    }

    /// Whether it has an upper end.
    pub(crate) fn has_end(self) -> bool {
        matches!(self, Interval::Steps { to: Some(_), .. } | Interval::Time { to: Some(_), .. })
    }

    /// Whether it is measured in event time.
    pub fn is_time(self) -> bool {
        matches!(self, Interval::Time { .. })
    }

    /// Whether a distance of so many positions and so much time is within it.
    pub fn contains(self, steps: u32, span: Span) -> bool {
        match self {
            Interval::Steps { from, to } => from <= steps && to.is_none_or(|to| steps <= to),
            Interval::Time { from, to } => from <= span && to.is_none_or(|to| span <= to),
        }
    }

    /// Whether a distance of so many positions and so much time is beyond its end.
    pub fn is_past(self, steps: u32, span: Span) -> bool {
        match self {
            Interval::Steps { to, .. } => to.is_some_and(|to| steps > to),
            Interval::Time { to, .. } => to.is_some_and(|to| span > to),
        }
    }
}

impl fmt::Display for Interval {
    /// Writes `[from,to]`, with `inf` for no end; nothing for no bound.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interval::Steps { from: 0, to: None } => Ok(()),
            Interval::Steps { from, to: Some(to) } => write!(f, "[{from},{to}]"),
            Interval::Steps { from, to: None } => write!(f, "[{from},inf]"),
            Interval::Time { from: Span(0), to: Some(to) } if to.0 > 0 => write!(f, "[0,{to}]"),
            Interval::Time { from, to: Some(to) } => write!(f, "[{from},{to}]"),
            Interval::Time { from, to: None } => write!(f, "[{from},inf]"),
        }
    }
}
