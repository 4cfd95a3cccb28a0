//! Reports parse errors, and continues after them.

use std::ops::Range;

use super::{Continuation, Operand, Parser};
use crate::lexer::{Token, TokenKind};
use crate::parse_error::nearest;
use crate::spelling::Sign;

impl<'a> Parser<'a> {
    /// Reports an error at the current token, unless it follows from the one before.
    pub(super) fn report(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        if self.at >= self.quiet && *self.kind(0) != TokenKind::Bad {
            self.faults.add(self.span(), message, hint);
        }
        self.quiet = self.at + 1;
    }

    /// Skips the current token, which is already reported.
    pub(super) fn skip(&mut self) {
        self.at += 1;
        self.quiet = self.at + 1;
    }

    /// Returns the text of the current token.
    pub(super) fn token_text(&self) -> &'a str {
        self.text.get(self.span()).unwrap_or("")
    }

    /// Returns the current token for a message, shortened.
    pub(super) fn describe_token(&self) -> String {
        let written = self.token_text();
        match written.char_indices().nth(30) {
            _ if written.is_empty() => "the end".to_owned(),
            Some((end, _)) => format!("`{}…`", written.get(..end).unwrap_or("")),
            None => format!("`{written}`"),
        }
    }

    pub(super) fn report_missing_operand(&mut self) {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let before = before.and_then(|token| self.text.get(token.span.clone()));
        let hint = match (before, self.kind(0)) {
            (None, TokenKind::End) => "write a formula, such as `always (a implies eventually b)`".to_owned(),
            (None, _) => "begin with a fact, such as `a`, or with `!`, `(` or a temporal operator".to_owned(),
            (Some("("), TokenKind::Close) => "write a formula between the parentheses".to_owned(),
            (Some(before), _) => format!("write a formula after `{before}`"),
        };
        self.report(format!("expected a formula, found {}", self.describe_token()), hint);
    }

    pub(super) fn report_misplaced(&mut self) {
        let hint = match self.kind(0) {
            TokenKind::Compare(_) => "a comparison has a variable or a value on both sides: `x > 10`",
            TokenKind::OpenBracket => "a bound stands right after a temporal operator: `F[0,5] a`",
            TokenKind::Infinity => "infinity is the end of a bound only: `F[3,inf] a`",
            TokenKind::Dot | TokenKind::Colon => "a dot ends the variables of a quantifier: `forall x. p(x)`",
            _ => "remove it",
        };
        self.report(format!("unexpected {}", self.describe_token()), hint);
        self.skip();
    }

    /// Reports a parenthesis that is open at the end, unless an unclosed string contains the closing one.
    pub(super) fn report_unclosed(&mut self, open: Range<usize>) {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        if before.is_none_or(|token| token.kind != TokenKind::Bad) {
            self.faults.add(open, "`(` is never closed", "add a `)`");
        }
    }

    /// Reports a missing operator between two operands, and continues as if it were present.
    pub(super) fn report_missing_operator(&mut self, operand: Operand) -> Continuation {
        if let TokenKind::Name { name, quoted: false } = self.kind(0)
            && let Some(word) = nearest(name, Sign::words(true))
            && let Some(sign) = Sign::from_word(word)
        {
            self.report(format!("unknown operator `{name}`"), format!("did you mean `{word}`?"));
            self.read_infix(sign, operand);
            return Continuation::Operand;
        }
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        if let Some(Token { kind: TokenKind::Name { name, quoted: false }, span }) = before
            && let Some(word) = nearest(name, Sign::words(false))
        {
            if self.at >= self.quiet {
                self.faults.add(span.clone(), format!("unknown operator `{name}`"), format!("did you mean `{word}`?"));
            }
            self.quiet = self.at + 1;
        }
        let hint = match self.kind(0) {
            TokenKind::Compare(_) => "a comparison has two sides, each a variable or a value: `1 < x & x < 10`",
            TokenKind::OpenBracket => "a bound stands right after a temporal operator: `F[0,5] a`",
            _ => "join two formulas with `&`, `|`, `->`, `<->` or a temporal operator such as `U`",
        };
        self.report(format!("expected an operator, found {}", self.describe_token()), hint);
        match self.kind(0) {
            TokenKind::Compare(_) => {
                self.skip();
                if matches!(
                    self.kind(0),
                    TokenKind::Name { .. } | TokenKind::Text(_) | TokenKind::Number { .. } | TokenKind::Any
                ) {
                    self.skip();
                }
                Continuation::Grown(operand)
            }
            TokenKind::OpenBracket => {
                self.read_bound();
                self.quiet = self.at + 1;
                Continuation::Grown(operand)
            }
            _ => {
                self.push_list_operand(Sign::And, operand, self.span());
                Continuation::Operand
            }
        }
    }
}
