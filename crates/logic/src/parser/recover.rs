//! What the parser says about an error, and how it goes on after it.

use std::ops::Range;

use super::{Operand, Parser, Then};
use crate::error::nearest;
use crate::lexer::{Kind, Token};
use crate::spelling::Sign;

impl<'a> Parser<'a> {
    /// Reports an error at the token at hand, unless it follows from the one before.
    pub(super) fn complain(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        if self.at >= self.quiet && *self.kind(0) != Kind::Bad {
            self.faults.add(self.span(), message, hint);
        }
        self.quiet = self.at + 1;
    }

    /// Leaves out the token at hand, which is reported already.
    pub(super) fn skip(&mut self) {
        self.at += 1;
        self.quiet = self.at + 1;
    }

    /// The token at hand as it is written.
    pub(super) fn written(&self) -> &'a str {
        self.text.get(self.span()).unwrap_or("")
    }

    /// The token at hand for a message.
    pub(super) fn found(&self) -> String {
        let written = self.written();
        match written.char_indices().nth(30) {
            _ if written.is_empty() => "the end".to_owned(),
            Some((end, _)) => format!("`{}…`", written.get(..end).unwrap_or("")),
            None => format!("`{written}`"),
        }
    }

    pub(super) fn no_operand(&mut self) {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let before = before.and_then(|token| self.text.get(token.span.clone()));
        let hint = match (before, self.kind(0)) {
            (None, Kind::End) => "write a formula, such as `always (a implies eventually b)`".to_owned(),
            (None, _) => "begin with a fact, such as `a`, or with `!`, `(` or a temporal operator".to_owned(),
            (Some("("), Kind::Close) => "write a formula between the parentheses".to_owned(),
            (Some(before), _) => format!("write a formula after `{before}`"),
        };
        self.complain(format!("expected a formula, found {}", self.found()), hint);
    }

    pub(super) fn misplaced(&mut self) {
        let hint = match self.kind(0) {
            Kind::Compare(_) => "a comparison has a variable or a value on both sides: `x > 10`",
            Kind::OpenBracket => "a bound stands right after a temporal operator: `F[0,5] a`",
            Kind::Infinity => "infinity is the end of a bound only: `F[3,inf] a`",
            Kind::Dot | Kind::Colon => "a dot ends the variables of a quantifier: `forall x. p(x)`",
            _ => "remove it",
        };
        self.complain(format!("unexpected {}", self.found()), hint);
        self.skip();
    }

    /// Reports a parenthesis that is open at the end, unless a string that is never closed has swallowed the other one.
    pub(super) fn unclosed(&mut self, open: Range<usize>) {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        if before.is_none_or(|token| token.kind != Kind::Bad) {
            self.faults.add(open, "`(` is never closed", "add a `)`");
        }
    }

    /// Two operands side by side: says what is missing and goes on as if it were there.
    pub(super) fn no_operator(&mut self, operand: Operand) -> Then {
        if let Kind::Name { name, quoted: false } = self.kind(0)
            && let Some(word) = nearest(name, Sign::words(true))
            && let Some(sign) = Sign::from_word(word)
        {
            self.complain(format!("unknown operator `{name}`"), format!("did you mean `{word}`?"));
            self.infix(sign, operand);
            return Then::Operand;
        }
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        if let Some(Token { kind: Kind::Name { name, quoted: false }, span }) = before
            && let Some(word) = nearest(name, Sign::words(false))
        {
            if self.at >= self.quiet {
                self.faults.add(span.clone(), format!("unknown operator `{name}`"), format!("did you mean `{word}`?"));
            }
            self.quiet = self.at + 1;
        }
        let hint = match self.kind(0) {
            Kind::Compare(_) => "a comparison has two sides, each a variable or a value: `1 < x & x < 10`",
            Kind::OpenBracket => "a bound stands right after a temporal operator: `F[0,5] a`",
            _ => "join two formulas with `&`, `|`, `->`, `<->` or a temporal operator such as `U`",
        };
        self.complain(format!("expected an operator, found {}", self.found()), hint);
        match self.kind(0) {
            Kind::Compare(_) => {
                self.skip();
                if matches!(self.kind(0), Kind::Name { .. } | Kind::Text(_) | Kind::Number { .. } | Kind::Any) {
                    self.skip();
                }
                Then::Grown(operand)
            }
            Kind::OpenBracket => {
                self.bound();
                self.quiet = self.at + 1;
                Then::Grown(operand)
            }
            _ => {
                self.list(Sign::And, operand, self.span());
                Then::Operand
            }
        }
    }
}
