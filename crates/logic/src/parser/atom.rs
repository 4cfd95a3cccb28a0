//! Facts, their arguments and comparisons.

use std::sync::Arc;

use super::{Given, Operand, Parser};
use crate::error::{Faults, ParseErrors, nearest};
use crate::facts::Fact;
use crate::formula::{Arena, Node};
use crate::lexer::{Grammar, Kind, lex};
use crate::measure::Measure;
use crate::pattern;
use crate::spelling::Sign;
use crate::term::{Atom, Term, Value};

impl Fact {
    /// Reads a fact: `verified`, `consent("alice",3,true)`. A bare word among the values is a string: `consent(alice)`.
    ///
    /// No word is reserved here, since a fact has no operators.
    pub fn parse(text: &str) -> Result<Fact, ParseErrors> {
        let (atom, mut faults) = ground(text);
        let value = |term: &Term| match term {
            Term::Value(value) => Some(value.clone()),
            Term::Any | Term::Var(_) => None,
        };
        match atom.terms.iter().map(value).collect::<Option<Box<[Value]>>>() {
            Some(values) if faults.is_empty() => Ok(Fact::new(atom.name, values)),
            Some(_) => Err(ParseErrors::new(text, faults)),
            None => {
                faults.add(0..text.len(), "a fact has no `_` among its values", "give every value, or leave it out");
                Err(ParseErrors::new(text, faults))
            }
        }
    }
}

impl Atom {
    /// Reads an atom without variables, in the notation of facts; `_` stands for any value.
    pub fn parse(text: &str) -> Result<Atom, ParseErrors> {
        let (atom, faults) = ground(text);
        if faults.is_empty() { Ok(atom) } else { Err(ParseErrors::new(text, faults)) }
    }
}

fn ground(text: &str) -> (Atom, Faults) {
    let mut faults = Faults::default();
    let tokens = lex(text, Grammar::Fact, &mut faults);
    let (mut arena, given) = (Arena::new(), Given::default());
    let mut parser = Parser::new(&mut arena, text, &tokens, &given);
    parser.grammar = Grammar::Fact;
    let hint = "a fact is a name with values: `consent(\"alice\",3)`";
    let atom = match parser.kind(0) {
        Kind::Name { name, .. } => {
            parser.advance();
            let terms = if *parser.kind(0) == Kind::Open { parser.terms() } else { Vec::new() };
            Atom::new(&**name, terms)
        }
        _ => {
            parser.complain(format!("expected the name of a fact, found {}", parser.found()), hint);
            Atom::new("", [])
        }
    };
    if !atom.name.is_empty() && *parser.kind(0) != Kind::End {
        parser.complain(format!("expected the end of the fact, found {}", parser.found()), hint);
    }
    (atom, faults.join(parser.faults))
}

impl<'a> Parser<'a> {
    /// A fact without arguments, a comparison, or a parameter of the pattern at hand.
    pub(super) fn atom(&mut self) -> Operand {
        if matches!(self.kind(1), Kind::Compare(_)) {
            return self.comparison();
        }
        let Kind::Name { name, quoted } = self.kind(0) else {
            let message = format!("{} is a value, not a formula", self.found());
            self.complain(message, "write a fact, as in `p(\"a\")`, or compare it, as in `x = \"a\"`");
            self.advance();
            return self.placeholder();
        };
        self.advance();
        if let Some((_, operand)) = self.given.operands.iter().find(|(parameter, _)| !quoted && parameter == name) {
            return *operand;
        }
        self.leaf(Node::Fact(Atom::new(&**name, [])))
    }

    pub(super) fn comparison(&mut self) -> Operand {
        let span = self.span();
        let left = self.side();
        let Kind::Compare(comparison) = self.kind(0) else { return self.placeholder() };
        self.advance();
        let right = self.sum(0);
        self.compared(*comparison, left.map(Measure::Term), right, span)
    }

    pub(super) fn side(&mut self) -> Option<Term> {
        if *self.kind(0) == Kind::Any {
            let message = "`_` stands for any value and cannot be compared";
            self.complain(message, "bind a variable instead: `exists x. p(x) & x > 10`");
            self.advance();
            return None;
        }
        self.term()
    }

    /// A fact with its arguments; its name is at hand.
    pub(super) fn fact(&mut self) -> Operand {
        let (at, span) = (self.at, self.span());
        let Kind::Name { name, quoted } = self.kind(0) else { return self.placeholder() };
        self.advance();
        if !quoted && let Some(stranger) = self.stranger(at + 2) {
            let words = Sign::words(true).chain(Sign::words(false)).chain(pattern::names());
            if let Some(word) = nearest(name, words) {
                let hint = format!("did you mean `{word}`? for a fact, quote its value: `{name}(\"{stranger}\")`");
                self.faults.add(span, format!("unknown operator or pattern `{name}`"), hint);
                self.skip_arguments();
                return self.placeholder();
            }
        }
        let terms = self.terms();
        self.leaf(Node::Fact(Atom::new(&**name, terms)))
    }

    /// The first name among the arguments from a token on that no quantifier binds.
    fn stranger(&self, from: usize) -> Option<&'a str> {
        let tokens = self.tokens.get(from..).unwrap_or(&[]).iter();
        tokens.take_while(|token| token.kind != Kind::Close).find_map(|token| match &token.kind {
            Kind::Name { name, quoted: false } if !self.binds(name) => Some(&**name),
            _ => None,
        })
    }

    fn binds(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|count| *count > 0)
    }

    /// The arguments of a fact, from the opening parenthesis to the closing one.
    fn terms(&mut self) -> Vec<Term> {
        let open = self.advance();
        let mut terms = Vec::new();
        if *self.kind(0) == Kind::Close {
            self.advance();
            return terms;
        }
        loop {
            terms.extend(self.term());
            match self.kind(0) {
                Kind::Comma => self.advance(),
                Kind::Close => {
                    self.advance();
                    return terms;
                }
                Kind::End => {
                    self.unclosed(open);
                    return terms;
                }
                _ => {
                    let hint = "separate the arguments of a fact by commas; quote a value that is no plain word";
                    self.complain(format!("expected `,` or `)`, found {}", self.found()), hint);
                    self.at -= usize::from(self.at > 0);
                    self.skip_arguments();
                    return terms;
                }
            };
        }
    }

    /// Goes on behind the parenthesis that closes the arguments; the token at hand is one of theirs.
    pub(super) fn skip_arguments(&mut self) {
        let mut open = 1usize;
        while open > 0 && *self.kind(0) != Kind::End {
            self.at += 1;
            match self.kind(0) {
                Kind::Open => open += 1,
                Kind::Close => open -= 1,
                _ => {}
            }
        }
        self.at += usize::from(*self.kind(0) == Kind::Close);
        self.quiet = self.at + 1;
    }

    /// A value, a variable or `_`.
    fn term(&mut self) -> Option<Term> {
        let term = match self.kind(0) {
            Kind::Any => Term::Any,
            Kind::Text(text) => Term::Value(Value::text(&**text)),
            Kind::Number { digits, unit } => match number(digits, unit) {
                Ok(value) => Term::Value(value),
                Err((message, hint)) => {
                    self.complain(message, hint);
                    Term::Any
                }
            },
            Kind::Sign(sign @ (Sign::True | Sign::False)) => Term::Value(Value::Bool(*sign == Sign::True)),
            Kind::Name { name, quoted } if self.grammar == Grammar::Fact => Term::Value(match &**name {
                "true" if !quoted => Value::Bool(true),
                "false" if !quoted => Value::Bool(false),
                name => Value::text(name),
            }),
            Kind::Name { name, .. } if self.binds(name) => Term::Var(Arc::from(&**name)),
            Kind::Name { name, .. } => {
                let near = if self.faults.is_full() { None } else { nearest(name, self.bound_names()) };
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("write `\"{name}\"` for a value, or bind it with `forall {name}.`"),
                };
                self.complain(format!("no quantifier binds `{name}`"), hint);
                Term::Any
            }
            _ => {
                let message = format!("expected a value or a variable, found {}", self.found());
                self.complain(message, "values are strings, numbers, `true` and `false`; `_` is any");
                return None;
            }
        };
        self.advance();
        Some(term)
    }

    fn bound_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.variables.keys().map(|name| &**name).filter(|name| self.binds(name)).collect();
        // The order of a hash map is no order; a hint must not depend on it.
        names.sort_unstable();
        names
    }
}

fn number(digits: &str, unit: &str) -> Result<Value, (String, String)> {
    let written = format!("{digits}{unit}");
    let quote = format!("write `\"{written}\"` if it is a name and not a quantity");
    if !unit.is_empty() {
        return Err((format!("`{written}` is no number"), quote));
    }
    if digits.contains(['.', 'e', 'E']) {
        let number = digits.parse().ok().and_then(Value::number);
        return number.ok_or_else(|| (format!("the number `{written}` is too large"), quote));
    }
    let exponent =
        digits.parse::<f64>().map_or_else(|_| quote.clone(), |near| format!("{quote}; `{near:e}` is near it"));
    digits.parse().map(Value::Integer).map_err(|_| (format!("the whole number `{written}` is too large"), exponent))
}
