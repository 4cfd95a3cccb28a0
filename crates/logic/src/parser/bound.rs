//! Parses the bounds of temporal operators: `[0,5]`, `[2s,1m]`, `[3,inf]`, `<=30s`, `>=2`.

use std::ops::Range;

use super::Parser;
use crate::comparison::Comparison;
use crate::formula::Unary;
use crate::interval::{Interval, Span};
use crate::lexer::TokenKind;
use crate::spelling::{Sign, Spelling};

/// One end of a bound as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundEnd {
    Steps(u32),
    Time(Span),
    Open,
}

impl Parser<'_> {
    /// Reads the bound of a unary operator; next and previous take none.
    pub(super) fn read_unary_bound(&mut self, operator: Unary) -> Interval {
        let exact = match operator {
            Unary::Next => "F",
            Unary::WeakNext => "G",
            Unary::Previous => "O",
            Unary::WeakPrevious => "H",
            _ => return self.read_bound(),
        };
        if self.is_bound() {
            let word = Sign::Unary(operator).spell(Spelling::Words);
            let hint = format!("for a step a number of steps away write `{exact}[3,3]`");
            self.report(format!("`{word}` takes no bound"), hint);
            self.read_bound();
        }
        Interval::UNBOUNDED
    }

    pub(super) fn is_bound(&self) -> bool {
        matches!(self.kind(0), TokenKind::OpenBracket | TokenKind::Compare(_))
    }

    /// Reads a bound, if there is one. An invalid bound is reported and left out.
    pub(super) fn read_bound(&mut self) -> Interval {
        let start = self.span().start;
        let read = match self.kind(0) {
            TokenKind::OpenBracket => self.read_brackets(),
            TokenKind::Compare(comparison) => self.read_relation(*comparison),
            _ => return Interval::UNBOUNDED,
        };
        let end = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(start, |token| token.span.end);
        match read {
            Some((from, to)) => self.build_interval(from, to, start..end),
            None => Interval::UNBOUNDED,
        }
    }

    fn read_relation(&mut self, comparison: Comparison) -> Option<(BoundEnd, BoundEnd)> {
        if !matches!(comparison, Comparison::AtMost | Comparison::AtLeast) {
            let hint = "write `<=5`, `>=5` or `[0,5]`; both ends belong to a bound";
            self.report(format!("{} is not a bound", self.describe_token()), hint);
        }
        self.advance();
        let end = self.read_end()?;
        match comparison {
            Comparison::AtLeast | Comparison::Greater => Some((end, BoundEnd::Open)),
            _ => Some((BoundEnd::Steps(0), end)),
        }
    }

    fn read_brackets(&mut self) -> Option<(BoundEnd, BoundEnd)> {
        self.advance();
        if let (TokenKind::Name { name, .. }, Some(bound)) = (self.kind(0), self.given.bound)
            && name == "bound"
        {
            self.at += 2;
            return Some(match bound {
                Interval::Steps { from, to } => (BoundEnd::Steps(from), to.map_or(BoundEnd::Open, BoundEnd::Steps)),
                Interval::Time { from, to } => (BoundEnd::Time(from), to.map_or(BoundEnd::Open, BoundEnd::Time)),
            });
        }
        let ends = self.read_ends();
        if ends.is_some() && *self.kind(0) == TokenKind::CloseBracket {
            self.advance();
            return ends;
        }
        if ends.is_some() {
            let hint = "close a bound with `]`; both ends belong to it";
            self.report(format!("expected `]`, found {}", self.describe_token()), hint);
        }
        // Continue after the bound if it is closed, but do not skip the formula if it is not.
        let inside = |kind: &TokenKind<'_>| {
            matches!(
                kind,
                TokenKind::Number { .. }
                    | TokenKind::Comma
                    | TokenKind::Dot
                    | TokenKind::Colon
                    | TokenKind::Infinity
                    | TokenKind::Bad
            ) || matches!(kind, TokenKind::Name { .. } | TokenKind::Compare(_))
        };
        let tokens = self.tokens.get(self.at..).unwrap_or(&[]);
        let length = tokens.iter().take_while(|token| inside(&token.kind)).count();
        match self.kind(length) {
            TokenKind::CloseBracket => self.at += length + 1,
            TokenKind::Close if ends.is_some() => self.at += length + 1,
            _ => {}
        }
        self.quiet = self.quiet.max(self.at + 1);
        None
    }

    fn read_ends(&mut self) -> Option<(BoundEnd, BoundEnd)> {
        let from = self.read_end()?;
        if *self.kind(0) != TokenKind::Comma {
            let number = self.text.get(self.tokens.get(self.at - 1)?.span.clone()).unwrap_or("5");
            let hint = format!("a bound has two ends: write `[0,{number}]`, `[{number},inf]` or `[{number},{number}]`");
            self.report(format!("expected `,`, found {}", self.describe_token()), hint);
            return None;
        }
        self.advance();
        match self.kind(0) {
            TokenKind::CloseBracket => Some((from, BoundEnd::Open)),
            TokenKind::Infinity => {
                self.advance();
                Some((from, BoundEnd::Open))
            }
            TokenKind::Name { name, quoted: false } if name == "inf" => {
                self.advance();
                Some((from, BoundEnd::Open))
            }
            _ => Some((from, self.read_end()?)),
        }
    }

    /// Reads one number of a bound, with its unit.
    fn read_end(&mut self) -> Option<BoundEnd> {
        let TokenKind::Number { digits, unit } = self.kind(0) else {
            let hint = "write steps, as in `[0,5]`, or time, as in `[0,30s]`";
            self.report(format!("expected a number, found {}", self.describe_token()), hint);
            return None;
        };
        match parse_end(digits, unit) {
            Ok(end) => {
                self.advance();
                Some(end)
            }
            Err((message, hint)) => {
                self.report(message, hint);
                self.advance();
                None
            }
        }
    }

    fn build_interval(&mut self, from: BoundEnd, to: BoundEnd, span: Range<usize>) -> Interval {
        let interval = match (from, to) {
            (BoundEnd::Steps(0), BoundEnd::Time(to)) => Interval::Time { from: Span(0), to: Some(to) },
            (BoundEnd::Time(from), BoundEnd::Steps(0)) => Interval::Time { from, to: Some(Span(0)) },
            (BoundEnd::Steps(from), BoundEnd::Steps(to)) => Interval::Steps { from, to: Some(to) },
            (BoundEnd::Steps(from), BoundEnd::Open) => Interval::Steps { from, to: None },
            (BoundEnd::Time(from), BoundEnd::Time(to)) => Interval::Time { from, to: Some(to) },
            (BoundEnd::Time(from), BoundEnd::Open) => Interval::Time { from, to: None },
            (BoundEnd::Steps(_), BoundEnd::Time(_)) | (BoundEnd::Time(_), BoundEnd::Steps(_)) | (BoundEnd::Open, _) => {
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

/// Parses a number of steps, or of units of time to the nanosecond.
pub(super) fn parse_end(digits: &str, unit: &str) -> Result<BoundEnd, (String, String)> {
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
            return Err((format!("`{written}` is not a number of steps"), hint));
        }
        let steps = digits.parse().map_err(|_| {
            (format!("`{written}` steps are too many"), format!("at most {}, or write `inf` for no end", u32::MAX))
        });
        return Ok(BoundEnd::Steps(steps?));
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
    parse_span(digits, *size).map(BoundEnd::Time).ok_or_else(|| {
        let hint = "write a number such as `30` or `1.5`, to the nanosecond and below 500 years".to_owned();
        (format!("`{written}` is not a valid duration"), hint)
    })
}

/// Returns so many units of a size in nanoseconds; none if the result is not a whole number.
pub(super) fn parse_span(digits: &str, size: u64) -> Option<Span> {
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
