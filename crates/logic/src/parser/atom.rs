//! Parses facts, their arguments, and comparisons.

use std::sync::Arc;

use super::position::ground_values;
use super::{Operand, Parser, PatternArguments};
use crate::arena::{Arena, Node};
use crate::facts::Fact;
use crate::lexer::{Grammar, TokenKind, lex};
use crate::measure::Measure;
use crate::parse_error::{Faults, ParseErrors, nearest};
use crate::pattern;
use crate::spelling::Sign;
use crate::term::{Atom, Term};
use crate::value::Value;

impl Fact {
    /// Parses a fact: `verified`, `consent("alice",3,true)`. A bare word among the values is a string:
    /// `consent(alice)`.
    ///
    /// No word is reserved here, since a fact has no operators.
    pub fn parse(text: &str) -> Result<Fact, ParseErrors> {
        let (atom, mut faults) = parse_ground_atom(text);
        match ground_values(&atom) {
            Some(values) if faults.is_empty() => return Ok(Fact::new(atom.name, values)),
            Some(_) => {}
            None => {
                faults.add(0..text.len(), "a fact has no `_` among its values", "give every value, or leave it out")
            }
        }
        Err(ParseErrors::new(text, faults))
    }
}

impl Atom {
    /// Parses an atom without variables, in the notation of facts; `_` matches any value.
    pub fn parse(text: &str) -> Result<Atom, ParseErrors> {
        let (atom, faults) = parse_ground_atom(text);
        if faults.is_empty() { Ok(atom) } else { Err(ParseErrors::new(text, faults)) }
    }
}

fn parse_ground_atom(text: &str) -> (Atom, Faults) {
    let mut faults = Faults::default();
    let tokens = lex(text, Grammar::Fact, &mut faults);
    let (mut arena, arguments) = (Arena::new(), PatternArguments::default());
    let mut parser = Parser::new(&mut arena, text, &tokens, &arguments);
    parser.grammar = Grammar::Fact;
    let atom = parser.read_ground_atom();
    if atom.is_some() && *parser.kind(0) != TokenKind::End {
        let message = format!("expected the end of the fact, found {}", parser.describe_token());
        parser.report(message, "a fact is a name with values: `consent(\"alice\",3)`");
    }
    (atom.unwrap_or_else(|| Atom::new("", [])), faults.join(parser.faults))
}

impl<'a> Parser<'a> {
    /// Reads a fact without arguments, a comparison, or a parameter of the current pattern.
    pub(super) fn read_atom(&mut self) -> Operand {
        if matches!(self.kind(1), TokenKind::Compare(_)) {
            return self.read_comparison();
        }
        let TokenKind::Name { name, quoted } = self.kind(0) else {
            let message = format!("{} is a value, not a formula", self.describe_token());
            self.report(message, "write a fact, as in `p(\"a\")`, or compare it, as in `x = \"a\"`");
            self.advance();
            return self.build_placeholder();
        };
        self.advance();
        if let Some((_, operand)) = self.given.operands.iter().find(|(parameter, _)| !quoted && parameter == name) {
            return *operand;
        }
        self.build_leaf(Node::Fact(Atom::new(&**name, [])))
    }

    pub(super) fn read_comparison(&mut self) -> Operand {
        let span = self.span();
        let left = self.read_side();
        let TokenKind::Compare(comparison) = self.kind(0) else { return self.build_placeholder() };
        self.advance();
        let right = self.read_sum(0);
        self.build_comparison(*comparison, left.map(Measure::Term), right, span)
    }

    pub(super) fn read_side(&mut self) -> Option<Term> {
        if *self.kind(0) == TokenKind::Any {
            let message = "`_` stands for any value and cannot be compared";
            self.report(message, "bind a variable instead: `exists x. p(x) & x > 10`");
            self.advance();
            return None;
        }
        self.read_term()
    }

    /// Reads a fact with its arguments.
    pub(super) fn read_fact(&mut self) -> Operand {
        let (at, span) = (self.at, self.span());
        let TokenKind::Name { name, quoted } = self.kind(0) else { return self.build_placeholder() };
        self.advance();
        if !quoted && let Some(stranger) = self.find_unbound_name(at + 2) {
            let words = Sign::words(true).chain(Sign::words(false)).chain(pattern::pattern_names());
            if let Some(word) = nearest(name, words) {
                let hint = format!("did you mean `{word}`? for a fact, quote its value: `{name}(\"{stranger}\")`");
                self.faults.add(span, format!("unknown operator or pattern `{name}`"), hint);
                self.skip_arguments();
                return self.build_placeholder();
            }
        }
        let terms = self.read_terms();
        self.build_leaf(Node::Fact(Atom::new(&**name, terms)))
    }

    /// Returns the first name among the arguments from a token on that no quantifier binds.
    fn find_unbound_name(&self, from: usize) -> Option<&'a str> {
        let tokens = self.tokens.get(from..).unwrap_or(&[]).iter();
        tokens.take_while(|token| token.kind != TokenKind::Close).find_map(|token| match &token.kind {
            TokenKind::Name { name, quoted: false } if !self.is_bound_variable(name) => Some(&**name),
            _ => None,
        })
    }

    fn is_bound_variable(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|count| *count > 0)
    }

    /// Reads the arguments of a fact, from the opening parenthesis to the closing one.
    pub(super) fn read_terms(&mut self) -> Vec<Term> {
        let open = self.advance();
        let mut terms = Vec::new();
        if *self.kind(0) == TokenKind::Close {
            self.advance();
            return terms;
        }
        loop {
            terms.extend(self.read_term());
            match self.kind(0) {
                TokenKind::Comma => self.advance(),
                TokenKind::Close => {
                    self.advance();
                    return terms;
                }
                TokenKind::End => {
                    self.report_unclosed(open);
                    return terms;
                }
                _ => {
                    let hint = "separate the arguments of a fact by commas; quote a value that is no plain word";
                    self.report(format!("expected `,` or `)`, found {}", self.describe_token()), hint);
                    self.at -= usize::from(self.at > 0);
                    self.skip_arguments();
                    return terms;
                }
            };
        }
    }

    /// Skips to after the parenthesis that closes the arguments; the current token is one of theirs.
    pub(super) fn skip_arguments(&mut self) {
        let mut open = 1usize;
        while open > 0 && *self.kind(0) != TokenKind::End {
            self.at += 1;
            match self.kind(0) {
                TokenKind::Open => open += 1,
                TokenKind::Close => open -= 1,
                _ => {}
            }
        }
        self.at += usize::from(*self.kind(0) == TokenKind::Close);
        self.quiet = self.at + 1;
    }

    /// Reads a value, a variable or `_`.
    fn read_term(&mut self) -> Option<Term> {
        let term = match self.kind(0) {
            TokenKind::Any => Term::Any,
            TokenKind::Text(text) => Term::Value(Value::text(&**text)),
            TokenKind::Number { digits, unit } => match parse_number(digits, unit) {
                Ok(value) => Term::Value(value),
                Err((message, hint)) => {
                    self.report(message, hint);
                    Term::Any
                }
            },
            TokenKind::Sign(sign @ (Sign::True | Sign::False)) => Term::Value(Value::Bool(*sign == Sign::True)),
            TokenKind::Name { name, quoted } if self.grammar != Grammar::Formula => Term::Value(match &**name {
                "true" if !quoted => Value::Bool(true),
                "false" if !quoted => Value::Bool(false),
                name => Value::text(name),
            }),
            TokenKind::Name { name, .. } if self.is_bound_variable(name) => Term::Var(Arc::from(&**name)),
            TokenKind::Name { name, .. } => {
                let near = if self.faults.is_full() { None } else { nearest(name, self.bound_names()) };
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("write `\"{name}\"` for a value, or bind it with `forall {name}.`"),
                };
                self.report(format!("no quantifier binds `{name}`"), hint);
                Term::Any
            }
            _ => {
                let message = format!("expected a value or a variable, found {}", self.describe_token());
                self.report(message, "values are strings, numbers, `true` and `false`; `_` is any");
                return None;
            }
        };
        self.advance();
        Some(term)
    }

    fn bound_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.variables.keys().map(|name| &**name).filter(|name| self.is_bound_variable(name)).collect();
        // A hint must not depend on the order of a hash map.
        names.sort_unstable();
        names
    }
}

fn parse_number(digits: &str, unit: &str) -> Result<Value, (String, String)> {
    let written = format!("{digits}{unit}");
    let quote = format!("write `\"{written}\"` if it is a name and not a quantity");
    if !unit.is_empty() {
        return Err((format!("`{written}` is not a number"), quote));
    }
    if digits.contains(['.', 'e', 'E']) {
        let number = digits.parse().ok().and_then(Value::number);
        return number.ok_or_else(|| (format!("the number `{written}` is too large"), quote));
    }
    let exponent =
        digits.parse::<f64>().map_or_else(|_| quote.clone(), |near| format!("{quote}; `{near:e}` is near it"));
    digits.parse().map(Value::Integer).map_err(|_| (format!("the whole number `{written}` is too large"), exponent))
}
