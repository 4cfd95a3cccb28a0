//! The facts of one position as text: `@12s a, consent("alice") ?b`.

use super::bound::parse_span;
use super::{Parser, PatternArguments};
use crate::arena::Arena;
use crate::facts::{Fact, Facts};
use crate::interval::{Span, Time};
use crate::lexer::{Grammar, TokenKind, lex};
use crate::parse_error::{Faults, ParseErrors};
use crate::term::{Atom, Term};
use crate::value::Value;

/// The hint for a token where a fact is expected.
const FACT_HINT: &str = "write facts with commas between them: `a, consent(\"alice\")`";

impl Facts {
    /// Parses the facts of one position, with commas or spaces between them; an empty text has none.
    ///
    /// `?` before a fact makes it unknown; then `_` matches any value. `@12s` or `@1m30s` in front is the time of the
    /// position since the origin. Facts are written as in [`Fact::parse`]. The conformance cases use this notation.
    ///
    /// ```
    /// use lictor_logic::{Facts, Time};
    /// let facts = Facts::parse("@5s paid, approved(\"alice\", 30) ?refunded(_)")?;
    /// assert_eq!(facts.to_string(), "{paid, approved(\"alice\",30), refunded(_)?}");
    /// assert_eq!(facts.time, Some(Time::from_seconds(5)));
    /// # Ok::<(), lictor_logic::ParseErrors>(())
    /// ```
    pub fn parse(text: &str) -> Result<Facts, ParseErrors> {
        let mut faults = Faults::default();
        let tokens = lex(text, Grammar::Position, &mut faults);
        let (mut arena, arguments) = (Arena::new(), PatternArguments::default());
        let mut parser = Parser::new(&mut arena, text, &tokens, &arguments);
        parser.grammar = Grammar::Position;
        let facts = parser.read_position();
        let faults = faults.join(parser.faults);
        if faults.is_empty() { Ok(facts) } else { Err(ParseErrors::new(text, faults)) }
    }
}

impl Parser<'_> {
    fn read_position(&mut self) -> Facts {
        let mut facts = Facts::default();
        if *self.kind(0) == TokenKind::At {
            self.advance();
            facts.time = self.read_time();
        }
        let mut needs_fact = false;
        loop {
            match self.kind(0) {
                TokenKind::Question => {
                    self.advance();
                    facts.unknown.extend(self.read_ground_atom());
                }
                TokenKind::Name { .. } => {
                    let span = self.span();
                    if let Some(atom) = self.read_ground_atom() {
                        match ground_values(&atom) {
                            Some(values) => facts.known.push(Fact::new(atom.name, values)),
                            None => {
                                let hint = "write every value, or `?` before the fact if it is unknown";
                                self.faults.add(span, format!("`_` in the known fact `{atom}`"), hint);
                            }
                        }
                    }
                }
                TokenKind::End if !needs_fact => return facts,
                TokenKind::End => {
                    self.report("expected a fact after `,`, found the end", FACT_HINT);
                    return facts;
                }
                TokenKind::At => {
                    self.report("the time is not at the beginning", "write it once, before the facts: `@12s a, b`");
                    self.skip();
                    self.skip();
                }
                _ => {
                    self.report(format!("expected a fact, found {}", self.describe_token()), FACT_HINT);
                    self.skip();
                }
            }
            needs_fact = *self.kind(0) == TokenKind::Comma;
            if needs_fact {
                self.advance();
            }
        }
    }

    /// Reads a name with its values; none, reported, if no name is at hand.
    pub(super) fn read_ground_atom(&mut self) -> Option<Atom> {
        let TokenKind::Name { name, .. } = self.kind(0) else {
            let message = format!("expected the name of a fact, found {}", self.describe_token());
            self.report(message, "a fact is a name with values: `consent(\"alice\",3)`");
            return None;
        };
        self.advance();
        let terms = if *self.kind(0) == TokenKind::Open { self.read_terms() } else { Vec::new() };
        Some(Atom::new(&**name, terms))
    }

    /// Reads `12s` or `1m30s`: the time since the origin.
    fn read_time(&mut self) -> Option<Time> {
        let text = self.token_text();
        let time = match self.kind(0) {
            TokenKind::Number { .. } => parse_time(text),
            _ => None,
        };
        if time.is_none() {
            let message = format!("expected a time after `@`, found {}", self.describe_token());
            self.report(message, "write numbers with the units `d`, `h`, `m`, `s` or `ms`: `@1m30s`");
        }
        self.advance();
        time
    }
}

/// Returns the values of an atom; none if it has a `_`.
pub(super) fn ground_values(atom: &Atom) -> Option<Box<[Value]>> {
    let value = |term: &Term| match term {
        Term::Value(value) => Some(value.clone()),
        Term::Any | Term::Var(_) => None,
    };
    atom.terms.iter().map(value).collect()
}

/// Returns the sum of numbers with units, such as `1m30s`, as a time since the origin.
fn parse_time(text: &str) -> Option<Time> {
    let (mut total, mut rest) = (Span(0), text);
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())?);
        let (unit, after) = after.split_at(after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()));
        let (_, size) = Span::UNITS.iter().find(|(name, _)| *name == unit)?;
        total = Span(total.0.checked_add(parse_span(digits, *size)?.0)?);
        rest = after;
    }
    i64::try_from(total.0).ok().map(Time)
}
