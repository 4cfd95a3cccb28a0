//! The bounds of temporal operators: `[0,5]`, `[2s,1m]`, `[3,inf]`, `<=30s`, `>=2`.

use std::ops::Range;

use super::Parser;
use crate::formula::Unary;
use crate::interval::{Interval, Span};
use crate::lexer::Kind;
use crate::spelling::{Sign, Spelling};
use crate::term::Comparison;

/// One end of a bound as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Steps(u32),
    Time(Span),
    Open,
}

impl Parser<'_> {
    /// The bound of a unary operator; next and previous take none.
    pub(super) fn unary_bound(&mut self, operator: Unary) -> Interval {
        let exact = match operator {
            Unary::Next => "F",
            Unary::WeakNext => "G",
            Unary::Previous => "O",
            Unary::WeakPrevious => "H",
            _ => return self.bound(),
        };
        if self.is_bound() {
            let word = Sign::Unary(operator).spell(Spelling::Words);
            let hint = format!("for a step a number of steps away write `{exact}[3,3]`");
            self.complain(format!("`{word}` takes no bound"), hint);
            self.bound();
        }
        Interval::UNBOUNDED
    }

    pub(super) fn is_bound(&self) -> bool {
        matches!(self.kind(0), Kind::OpenBracket | Kind::Compare(_))
    }

    /// The bound at hand, or none. One that cannot be read is reported and left out.
    pub(super) fn bound(&mut self) -> Interval {
        let start = self.span().start;
        let read = match self.kind(0) {
            Kind::OpenBracket => self.brackets(),
            Kind::Compare(comparison) => self.relation(*comparison),
            _ => return Interval::UNBOUNDED,
        };
        let end = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(start, |token| token.span.end);
        match read {
            Some((from, to)) => self.interval(from, to, start..end),
            None => Interval::UNBOUNDED,
        }
    }

    fn relation(&mut self, comparison: Comparison) -> Option<(End, End)> {
        if !matches!(comparison, Comparison::AtMost | Comparison::AtLeast) {
            let hint = "write `<=5`, `>=5` or `[0,5]`; both ends belong to a bound";
            self.complain(format!("{} makes no bound", self.found()), hint);
        }
        self.advance();
        let end = self.end()?;
        match comparison {
            Comparison::AtLeast | Comparison::Greater => Some((end, End::Open)),
            _ => Some((End::Steps(0), end)),
        }
    }

    fn brackets(&mut self) -> Option<(End, End)> {
        self.advance();
        if let (Kind::Name { name, .. }, Some(bound)) = (self.kind(0), self.given.bound)
            && name == "bound"
        {
            self.at += 2;
            return Some(match bound {
                Interval::Steps { from, to } => (End::Steps(from), to.map_or(End::Open, End::Steps)),
                Interval::Time { from, to } => (End::Time(from), to.map_or(End::Open, End::Time)),
            });
        }
        let ends = self.ends();
        if ends.is_some() && *self.kind(0) == Kind::CloseBracket {
            self.advance();
            return ends;
        }
        if ends.is_some() {
            let hint = "close a bound with `]`; both ends belong to it";
            self.complain(format!("expected `]`, found {}", self.found()), hint);
        }
        // Go on behind the bound if it is closed at all, but do not swallow the formula if it is not.
        let inside = |kind: &Kind<'_>| {
            matches!(kind, Kind::Number { .. } | Kind::Comma | Kind::Dot | Kind::Colon | Kind::Infinity | Kind::Bad)
                || matches!(kind, Kind::Name { .. } | Kind::Compare(_))
        };
        let tokens = self.tokens.get(self.at..).unwrap_or(&[]);
        let length = tokens.iter().take_while(|token| inside(&token.kind)).count();
        match self.kind(length) {
            Kind::CloseBracket => self.at += length + 1,
            Kind::Close if ends.is_some() => self.at += length + 1,
            _ => {}
        }
        self.quiet = self.quiet.max(self.at + 1);
        None
    }

    fn ends(&mut self) -> Option<(End, End)> {
        let from = self.end()?;
        if *self.kind(0) != Kind::Comma {
            let number = self.text.get(self.tokens.get(self.at - 1)?.span.clone()).unwrap_or("5");
            let hint = format!("a bound has two ends: write `[0,{number}]`, `[{number},inf]` or `[{number},{number}]`");
            self.complain(format!("expected `,`, found {}", self.found()), hint);
            return None;
        }
        self.advance();
        match self.kind(0) {
            Kind::CloseBracket => Some((from, End::Open)),
            Kind::Infinity => {
                self.advance();
                Some((from, End::Open))
            }
            Kind::Name { name, quoted: false } if name == "inf" => {
                self.advance();
                Some((from, End::Open))
            }
            _ => Some((from, self.end()?)),
        }
    }

    /// One number of a bound, with its unit.
    fn end(&mut self) -> Option<End> {
        let Kind::Number { digits, unit } = self.kind(0) else {
            let hint = "write steps, as in `[0,5]`, or time, as in `[0,30s]`";
            self.complain(format!("expected a number, found {}", self.found()), hint);
            return None;
        };
        match end(digits, unit) {
            Ok(end) => {
                self.advance();
                Some(end)
            }
            Err((message, hint)) => {
                self.complain(message, hint);
                self.advance();
                None
            }
        }
    }

    fn interval(&mut self, from: End, to: End, span: Range<usize>) -> Interval {
        let interval = match (from, to) {
            (End::Steps(0), End::Time(to)) => Interval::Time { from: Span(0), to: Some(to) },
            (End::Time(from), End::Steps(0)) => Interval::Time { from, to: Some(Span(0)) },
            (End::Steps(from), End::Steps(to)) => Interval::Steps { from, to: Some(to) },
            (End::Steps(from), End::Open) => Interval::Steps { from, to: None },
            (End::Time(from), End::Time(to)) => Interval::Time { from, to: Some(to) },
            (End::Time(from), End::Open) => Interval::Time { from, to: None },
            (End::Steps(_), End::Time(_)) | (End::Time(_), End::Steps(_)) | (End::Open, _) => {
                let hint = "give both numbers a unit, or none: `[1s,5s]` or `[1,5]`";
                self.faults.add(span, "a bound counts steps or measures time, not both", hint);
                return Interval::UNBOUNDED;
            }
        };
        let turned = match interval {
            Interval::Steps { from, to: Some(to) } if from > to => Interval::Steps { from: to, to: Some(from) },
            Interval::Time { from, to: Some(to) } if from > to => Interval::Time { from: to, to: Some(from) },
            _ => return interval,
        };
        self.faults.add(span, format!("the bound `{interval}` is empty"), format!("did you mean `{turned}`?"));
        Interval::UNBOUNDED
    }
}

/// Reads a number of steps, or of units of time to the nanosecond.
pub(super) fn end(digits: &str, unit: &str) -> Result<End, (String, String)> {
    let written = format!("{digits}{unit}");
    if digits.starts_with('-') {
        return Err((
            format!("`{written}` is negative"),
            "a bound begins at 0 or later; use `O` to look back".to_owned(),
        ));
    }
    if unit.is_empty() {
        if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            let hint = "a number of steps is whole; time has a unit: `0.5s`".to_owned();
            return Err((format!("`{written}` is no number of steps"), hint));
        }
        let steps = digits.parse().map_err(|_| {
            (format!("`{written}` steps are too many"), format!("at most {}, or write `inf` for no end", u32::MAX))
        });
        return Ok(End::Steps(steps?));
    }
    let Some((_, size)) = Span::UNITS.iter().find(|(name, _)| *name == unit) else {
        let long = [("d", "d"), ("h", "h"), ("min", "m"), ("s", "s"), ("mil", "ms"), ("ms", "ms")];
        let meant = long.iter().find(|(beginning, _)| unit.to_lowercase().starts_with(beginning));
        let hint = match meant {
            Some((_, name)) => format!("did you mean `{digits}{name}`?"),
            None => "the units are `ms`, `s`, `m`, `h` and `d`".to_owned(),
        };
        return Err((format!("unknown unit `{unit}`"), hint));
    };
    span(digits, *size).map(End::Time).ok_or_else(|| {
        let hint = "write a number such as `30` or `1.5`, to the nanosecond and below 500 years".to_owned();
        (format!("`{written}` is no time that can be measured"), hint)
    })
}

/// So many units of a size in nanoseconds, if that is a whole number of them.
fn span(digits: &str, size: u64) -> Option<Span> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole: u64 = whole.parse().ok()?;
    let mut nanoseconds = u128::from(whole) * u128::from(size);
    if !fraction.is_empty() {
        let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let part = fraction.parse::<u64>().ok()?;
        let part = u128::from(part) * u128::from(size);
        if !part.is_multiple_of(scale) {
            return None;
        }
        nanoseconds += part / scale;
    }
    u64::try_from(nanoseconds).ok().map(Span)
}
