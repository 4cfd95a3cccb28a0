//! Parses calls: `name(…)` is a pattern if one of that name exists, else a fact.

use std::ops::Range;

use super::bound::{BoundEnd, parse_end};
use super::{Continuation, Frame, Operand, Parser, PatternArguments};
use crate::comparison::Comparison;
use crate::interval::{Interval, Span};
use crate::lexer::{Token, TokenKind};
use crate::parse_error::nearest;
use crate::pattern::{self, Parameter, Pattern};
use crate::spelling::Sign;

/// A pattern whose arguments are being read.
#[derive(Debug)]
pub(super) struct PatternCall<'a> {
    name: &'a str,
    span: Range<usize>,
    pub(super) open: Range<usize>,
    arguments: Vec<CallArgument<'a>>,
    /// Whether an error is already reported.
    is_bad: bool,
}

#[derive(Debug)]
enum CallArgument<'a> {
    Formula(Operand),
    Number { digits: &'a str, unit: &'a str },
    Bound(Interval),
}

impl<'a> PatternCall<'a> {
    pub(super) fn with_formula(mut self, operand: Operand) -> PatternCall<'a> {
        self.arguments.push(CallArgument::Formula(operand));
        self
    }
}

impl<'a> Parser<'a> {
    /// Reads a call: a whole fact, or the arguments of a pattern before the first formula. `None` if a formula follows.
    pub(super) fn read_call(&mut self) -> Option<Operand> {
        let TokenKind::Name { name, quoted } = self.kind(0) else { return None };
        if self.has_misnamed() {
            self.advance();
            self.skip_arguments();
            return Some(self.build_placeholder());
        }
        let is_pattern = !quoted && pattern::pattern_names().any(|known| known == name);
        if !is_pattern && !self.has_formulas() {
            return Some(self.read_fact());
        }
        let span = self.span();
        if !is_pattern {
            let words = Sign::words(true).chain(Sign::words(false)).chain(pattern::pattern_names());
            let hint = match nearest(name, words) {
                Some(word) => format!("did you mean `{word}`?"),
                None => "a fact takes values and variables; only a pattern takes formulas: `response(a, b)`".to_owned(),
            };
            self.report(format!("unknown operator or pattern `{name}`"), hint);
        }
        self.advance();
        let open = self.advance();
        self.read_arguments(PatternCall { name, span, open, arguments: Vec::new(), is_bad: !is_pattern })
    }

    /// Whether an argument is an operator that a quantifier has as variable. That is reported at the quantifier.
    fn has_misnamed(&self) -> bool {
        let written = |token: &Token<'_>| self.text.get(token.span.clone()).unwrap_or("");
        let tokens = self.tokens.get(self.at..).unwrap_or(&[]).iter();
        // An unclosed call must not be searched to the end of the text each time.
        let mut arguments = tokens.take(64).take_while(|token| token.kind != TokenKind::Close);
        !self.misnamed.is_empty() && arguments.any(|token| self.misnamed.contains(written(token)))
    }

    /// Whether the arguments contain a token that only a formula has.
    fn has_formulas(&self) -> bool {
        let mut ahead = 2;
        loop {
            match self.kind(ahead) {
                TokenKind::Text(_) | TokenKind::Number { .. } | TokenKind::Any | TokenKind::Name { .. } => {}
                TokenKind::Sign(Sign::True | Sign::False) => {}
                TokenKind::Sign(_) | TokenKind::Open | TokenKind::Compare(_) | TokenKind::OpenBracket => return true,
                _ => return false,
            }
            match self.kind(ahead + 1) {
                TokenKind::Comma => ahead += 2,
                TokenKind::Sign(_) | TokenKind::Open | TokenKind::Compare(_) | TokenKind::OpenBracket => return true,
                _ => return false,
            }
        }
    }

    /// Reads the arguments that are no formulas, up to the first formula or the end of the call.
    fn read_arguments(&mut self, mut call: PatternCall<'a>) -> Option<Operand> {
        loop {
            let is_whole = matches!(self.kind(1), TokenKind::Comma | TokenKind::Close);
            match self.kind(0) {
                TokenKind::Number { digits, unit } if is_whole => {
                    if !unit.is_empty()
                        && let Err((message, hint)) = parse_end(digits, unit)
                    {
                        self.report(message, hint);
                        call.is_bad = true;
                    }
                    call.arguments.push(CallArgument::Number { digits, unit });
                    self.advance();
                }
                TokenKind::OpenBracket | TokenKind::Compare(Comparison::AtMost | Comparison::AtLeast) => {
                    let interval = self.read_bound();
                    call.arguments.push(CallArgument::Bound(interval));
                }
                TokenKind::Text(_) | TokenKind::Any if is_whole && call.is_bad => {
                    self.advance();
                }
                TokenKind::Close if call.arguments.is_empty() => {}
                _ => {
                    self.stack.push(Frame::Call(call));
                    return None;
                }
            }
            match self.kind(0) {
                TokenKind::Comma => {
                    self.advance();
                }
                TokenKind::Close => {
                    let operand = self.finish_call(call);
                    self.advance();
                    return Some(operand);
                }
                _ => {
                    let hint = "separate the arguments of a pattern by commas";
                    self.report(format!("expected `,` or `)`, found {}", self.describe_token()), hint);
                    call.is_bad = true;
                    self.stack.push(Frame::Call(call));
                    return None;
                }
            }
        }
    }

    /// Reads a comma after a formula: the next argument of the innermost call.
    pub(super) fn read_comma(&mut self, operand: Operand) -> Continuation {
        let operand = self.reduce(operand, 0);
        if matches!(self.stack.last(), Some(Frame::Call(_)))
            && let Some(Frame::Call(call)) = self.stack.pop()
        {
            self.advance();
            return self.read_arguments(call.with_formula(operand)).map_or(Continuation::Operand, Continuation::Grown);
        }
        self.report("unexpected `,`", "commas separate arguments only; join formulas with `&`");
        let span = self.span();
        self.skip();
        self.push_list_operand(Sign::And, operand, span);
        Continuation::Operand
    }

    /// Expands the called pattern; the current token is the closing parenthesis.
    pub(super) fn finish_call(&mut self, call: PatternCall<'a>) -> Operand {
        let span = call.span.start..self.span().end;
        if call.is_bad {
            return self.build_placeholder();
        }
        let rows = || pattern::patterns().iter().filter(|row| row.name == call.name);
        let Some((given, count, row)) = rows().find_map(|row| match_arguments(row, &call.arguments)) else {
            let mut forms: Vec<String> = rows().map(|row| format!("`{row}`")).collect();
            let last = forms.pop().unwrap_or_default();
            let forms = if forms.is_empty() { last } else { format!("{} or {last}", forms.join(", ")) };
            let note = match rows().flat_map(|row| row.parameters).map(|name| Parameter::from_name(name)).max() {
                Some(Parameter::Count) => " with a number `n`",
                Some(Parameter::Bound) => " with a bound such as `30s` or `[1,5]`",
                _ => "",
            };
            let hint = format!("write {forms}{note}; a fact of this name goes in backticks");
            self.faults.add(span, format!("the arguments do not fit the pattern `{}`", call.name), hint);
            return self.build_placeholder();
        };
        match row.expand(self.arena, given, count) {
            Ok(operand) => operand,
            Err(hint) => {
                if !std::mem::replace(&mut self.is_too_large, true) {
                    self.faults.add(span, format!("the pattern `{row}` cannot be expanded"), hint);
                }
                self.build_placeholder()
            }
        }
    }
}

/// Returns the arguments by the parameters of a pattern, if they fit.
fn match_arguments(
    row: &'static Pattern,
    arguments: &[CallArgument<'_>],
) -> Option<(PatternArguments, u32, &'static Pattern)> {
    if row.parameters.len() != arguments.len() {
        return None;
    }
    let (mut given, mut count) = (PatternArguments::default(), 0);
    for (name, argument) in row.parameters.iter().zip(arguments) {
        match (Parameter::from_name(name), argument) {
            (Parameter::Formula, CallArgument::Formula(operand)) => given.operands.push((name, *operand)),
            (Parameter::Count, CallArgument::Number { digits, unit: "" }) => count = digits.parse().ok()?,
            (Parameter::Bound, CallArgument::Bound(interval)) => given.bound = Some(*interval),
            (Parameter::Bound, CallArgument::Number { digits, unit }) => {
                given.bound = Some(match parse_end(digits, unit).ok()? {
                    BoundEnd::Steps(to) => Interval::Steps { from: 0, to: Some(to) },
                    BoundEnd::Time(to) => Interval::Time { from: Span(0), to: Some(to) },
                    BoundEnd::Open => Interval::UNBOUNDED,
                });
            }
            _ => return None,
        }
    }
    Some((given, count, row))
}
