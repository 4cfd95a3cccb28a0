//! Calls: `name(…)` is a pattern where a pattern of that name exists, else a fact.

use std::ops::Range;

use super::bound::{End, end};
use super::{Frame, Given, Operand, Parser, Then};
use crate::error::nearest;
use crate::interval::{Interval, Span};
use crate::lexer::{Kind, Token};
use crate::pattern::{self, Parameter, Pattern};
use crate::spelling::Sign;
use crate::term::Comparison;

/// A pattern whose arguments are being read.
#[derive(Debug)]
pub(super) struct Call<'a> {
    name: &'a str,
    span: Range<usize>,
    pub(super) open: Range<usize>,
    arguments: Vec<Argument<'a>>,
    /// An error is reported already; what follows from it is not.
    is_bad: bool,
}

#[derive(Debug)]
enum Argument<'a> {
    Formula(Operand),
    Number { digits: &'a str, unit: &'a str },
    Bound(Interval),
}

impl<'a> Call<'a> {
    pub(super) fn with(mut self, operand: Operand) -> Call<'a> {
        self.arguments.push(Argument::Formula(operand));
        self
    }
}

impl<'a> Parser<'a> {
    /// Reads `name(`: a fact as a whole, of a pattern as much as is no formula. `None` if a formula comes next.
    pub(super) fn call(&mut self) -> Option<Operand> {
        let Kind::Name { name, quoted } = self.kind(0) else { return None };
        if self.has_misnamed() {
            self.advance();
            self.skip_arguments();
            return Some(self.placeholder());
        }
        let is_pattern = !quoted && pattern::names().any(|known| known == name);
        if !is_pattern && !self.has_formulas() {
            return Some(self.fact());
        }
        let span = self.span();
        if !is_pattern {
            let words = Sign::words(true).chain(Sign::words(false)).chain(pattern::names());
            let hint = match nearest(name, words) {
                Some(word) => format!("did you mean `{word}`?"),
                None => "a fact takes values and variables; only a pattern takes formulas: `response(a, b)`".to_owned(),
            };
            self.complain(format!("unknown operator or pattern `{name}`"), hint);
        }
        self.advance();
        let open = self.advance();
        self.arguments(Call { name, span, open, arguments: Vec::new(), is_bad: !is_pattern })
    }

    /// Is an operator among the arguments that was meant to be a variable? That is reported at its quantifier.
    fn has_misnamed(&self) -> bool {
        let written = |token: &Token<'_>| self.text.get(token.span.clone()).unwrap_or("");
        let tokens = self.tokens.get(self.at..).unwrap_or(&[]).iter();
        // A call that is never closed must not be searched to the end of the text again and again.
        let mut arguments = tokens.take(64).take_while(|token| token.kind != Kind::Close);
        !self.misnamed.is_empty() && arguments.any(|token| self.misnamed.contains(written(token)))
    }

    /// Is there anything among the arguments at hand that only a formula has?
    fn has_formulas(&self) -> bool {
        let mut ahead = 2;
        loop {
            match self.kind(ahead) {
                Kind::Text(_) | Kind::Number { .. } | Kind::Any | Kind::Name { .. } => {}
                Kind::Sign(Sign::True | Sign::False) => {}
                Kind::Sign(_) | Kind::Open | Kind::Compare(_) | Kind::OpenBracket => return true,
                _ => return false,
            }
            match self.kind(ahead + 1) {
                Kind::Comma => ahead += 2,
                Kind::Sign(_) | Kind::Open | Kind::Compare(_) | Kind::OpenBracket => return true,
                _ => return false,
            }
        }
    }

    /// Reads the arguments that are no formulas, up to one that is or to the end of the call.
    fn arguments(&mut self, mut call: Call<'a>) -> Option<Operand> {
        loop {
            let is_whole = matches!(self.kind(1), Kind::Comma | Kind::Close);
            match self.kind(0) {
                Kind::Number { digits, unit } if is_whole => {
                    if !unit.is_empty()
                        && let Err((message, hint)) = end(digits, unit)
                    {
                        self.complain(message, hint);
                        call.is_bad = true;
                    }
                    call.arguments.push(Argument::Number { digits, unit });
                    self.advance();
                }
                Kind::OpenBracket | Kind::Compare(Comparison::AtMost | Comparison::AtLeast) => {
                    let interval = self.bound();
                    call.arguments.push(Argument::Bound(interval));
                }
                Kind::Text(_) | Kind::Any if is_whole && call.is_bad => {
                    self.advance();
                }
                Kind::Close if call.arguments.is_empty() => {}
                _ => {
                    self.stack.push(Frame::Call(call));
                    return None;
                }
            }
            match self.kind(0) {
                Kind::Comma => {
                    self.advance();
                }
                Kind::Close => {
                    let operand = self.end_call(call);
                    self.advance();
                    return Some(operand);
                }
                _ => {
                    let hint = "separate the arguments of a pattern by commas";
                    self.complain(format!("expected `,` or `)`, found {}", self.found()), hint);
                    call.is_bad = true;
                    self.stack.push(Frame::Call(call));
                    return None;
                }
            }
        }
    }

    /// A comma behind a formula: the next argument of the innermost call.
    pub(super) fn comma(&mut self, operand: Operand) -> Then {
        let operand = self.reduce(operand, 0);
        if matches!(self.stack.last(), Some(Frame::Call(_)))
            && let Some(Frame::Call(call)) = self.stack.pop()
        {
            self.advance();
            return self.arguments(call.with(operand)).map_or(Then::Operand, Then::Grown);
        }
        self.complain("unexpected `,`", "commas separate arguments only; join formulas with `&`");
        let span = self.span();
        self.skip();
        self.list(Sign::And, operand, span);
        Then::Operand
    }

    /// Writes out the pattern that was called; the closing parenthesis is at hand.
    pub(super) fn end_call(&mut self, call: Call<'a>) -> Operand {
        let span = call.span.start..self.span().end;
        if call.is_bad {
            return self.placeholder();
        }
        let rows = || pattern::patterns().iter().filter(|row| row.name == call.name);
        let Some((given, count, row)) = rows().find_map(|row| given(row, &call.arguments)) else {
            let mut forms: Vec<String> = rows().map(|row| format!("`{row}`")).collect();
            let last = forms.pop().unwrap_or_default();
            let forms = if forms.is_empty() { last } else { format!("{} or {last}", forms.join(", ")) };
            let note = match rows().flat_map(|row| row.parameters).map(|name| Parameter::of(name)).max() {
                Some(Parameter::Count) => " with a number `n`",
                Some(Parameter::Bound) => " with a bound such as `30s` or `[1,5]`",
                _ => "",
            };
            let hint = format!("write {forms}{note}; a fact of this name goes in backticks");
            self.faults.add(span, format!("the arguments do not fit the pattern `{}`", call.name), hint);
            return self.placeholder();
        };
        match row.expand(self.arena, given, count) {
            Ok(operand) => operand,
            Err(hint) => {
                if !std::mem::replace(&mut self.is_too_large, true) {
                    self.faults.add(span, format!("the pattern `{row}` cannot be written out"), hint);
                }
                self.placeholder()
            }
        }
    }
}

/// The arguments by the parameters of a pattern, if they fit.
fn given(row: &'static Pattern, arguments: &[Argument<'_>]) -> Option<(Given, u32, &'static Pattern)> {
    if row.parameters.len() != arguments.len() {
        return None;
    }
    let (mut given, mut count) = (Given::default(), 0);
    for (name, argument) in row.parameters.iter().zip(arguments) {
        match (Parameter::of(name), argument) {
            (Parameter::Formula, Argument::Formula(operand)) => given.operands.push((name, *operand)),
            (Parameter::Count, Argument::Number { digits, unit: "" }) => count = digits.parse().ok()?,
            (Parameter::Bound, Argument::Bound(interval)) => given.bound = Some(*interval),
            (Parameter::Bound, Argument::Number { digits, unit }) => {
                given.bound = Some(match end(digits, unit).ok()? {
                    End::Steps(to) => Interval::Steps { from: 0, to: Some(to) },
                    End::Time(to) => Interval::Time { from: Span(0), to: Some(to) },
                    End::Open => Interval::UNBOUNDED,
                });
            }
            _ => return None,
        }
    }
    Some((given, count, row))
}
