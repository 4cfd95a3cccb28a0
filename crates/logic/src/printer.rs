//! Formulas to text, in any spelling, such that the parser reads the same formula back.
//!
//! Parentheses stand where the grammar needs them and where a reader would stumble: operators of one rank that are not
//! associative (`->` in `->`, `U` in `U`) and comparisons under an operator are always wrapped.

use std::fmt::{self, Display, Write};

use crate::formula::{Arena, Formula, Node};
use crate::interval::Interval;
use crate::lexer::is_name;
use crate::measure::{Aggregate, Measure};
use crate::pattern;
use crate::spelling::{Sign, Spelling, spell_comparison};
use crate::term::{Atom, Term, write_arguments, write_quoted};

impl Arena {
    /// A formula as text.
    ///
    /// ```
    /// use lictor_logic::{Arena, Spelling};
    /// let mut arena = Arena::new();
    /// let f = arena.parse("response(tool_call, verified)")?;
    /// assert_eq!(arena.show(f, Spelling::Words).to_string(), "always (tool_call implies eventually verified)");
    /// assert_eq!(arena.show(f, Spelling::Ascii).to_string(), "G(tool_call -> F verified)");
    /// assert_eq!(arena.show(f, Spelling::Unicode).to_string(), "□(tool_call → ◇verified)");
    /// assert_eq!(arena.show(f, Spelling::Letters).to_string(), "G(tool_call → F verified)");
    /// # Ok::<(), lictor_logic::ParseErrors>(())
    /// ```
    pub fn show(&self, f: Formula, spelling: Spelling) -> impl Display {
        Shown { arena: self, formula: f, spelling }
    }
}

struct Shown<'a> {
    arena: &'a Arena,
    formula: Formula,
    spelling: Spelling,
}

/// What is still to be written.
enum Piece {
    Text(&'static str),
    Written(String),
    Bound(Interval),
    Operand(Operand),
}

/// An operand and where it stands.
#[derive(Clone, Copy)]
struct Operand {
    formula: Formula,
    /// How tightly it must hold together to stand without parentheses.
    least: u8,
    /// Does nothing follow it up to the next `)`? Then a quantifier needs no parentheses: it reaches that far anyway.
    is_last: bool,
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A stack of its own: an arena may hold formulas of any depth.
        let mut pieces = vec![Piece::Operand(Operand { formula: self.formula, least: 0, is_last: true })];
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Written(text) => f.write_str(&text)?,
                Piece::Bound(interval) => write!(f, "{interval}")?,
                Piece::Operand(operand) if self.is_wrapped(operand) => {
                    f.write_char('(')?;
                    pieces.push(Piece::Text(")"));
                    pieces.push(Piece::Operand(Operand { least: 0, is_last: true, ..operand }));
                }
                Piece::Operand(operand) => {
                    let start = pieces.len();
                    self.node(f, operand, &mut pieces)?;
                    pieces[start..].reverse();
                }
            }
        }
        Ok(())
    }
}

impl Shown<'_> {
    fn is_wrapped(&self, operand: Operand) -> bool {
        match &self.arena[operand.formula] {
            Node::Quantified(..) => !operand.is_last,
            node => level(node) < operand.least,
        }
    }

    /// Writes what comes first of a node and leaves the rest in reading order.
    fn node(&self, f: &mut fmt::Formatter<'_>, operand: Operand, rest: &mut Vec<Piece>) -> fmt::Result {
        let is_last = operand.is_last;
        let node = &self.arena[operand.formula];
        match node {
            Node::True => f.write_str(self.spell(Sign::True)),
            Node::False => f.write_str(self.spell(Sign::False)),
            Node::Fact(atom) => write!(f, "{}", Written(atom)),
            Node::Compare(comparison, left, right) => {
                let symbol = spell_comparison(*comparison, self.spelling);
                write!(f, "{} {symbol} {}", Written(left), Written(right))
            }
            Node::Measure(comparison, left, right) => {
                self.measure(left, false, rest);
                rest.push(Piece::Text(" "));
                rest.push(Piece::Text(spell_comparison(*comparison, self.spelling)));
                rest.push(Piece::Text(" "));
                self.measure(right, false, rest);
                Ok(())
            }
            Node::Not(g) => {
                self.prefix(f, Sign::Not, Interval::UNBOUNDED, Operand { formula: *g, least: 7, is_last }, rest)
            }
            Node::Unary(operator, interval, g) => {
                self.prefix(f, Sign::Unary(*operator), *interval, Operand { formula: *g, least: 7, is_last }, rest)
            }
            Node::And(list) => self.infix(list, Sign::And, Interval::UNBOUNDED, 5, is_last, rest),
            Node::Or(list) => self.infix(list, Sign::Or, Interval::UNBOUNDED, 4, is_last, rest),
            Node::Implies(g, h) => self.infix(&[*g, *h], Sign::Implies, Interval::UNBOUNDED, 3, is_last, rest),
            Node::Iff(g, h) => self.infix(&[*g, *h], Sign::Iff, Interval::UNBOUNDED, 3, is_last, rest),
            Node::Binary(operator, interval, g, h) => {
                self.infix(&[*g, *h], Sign::Binary(*operator), *interval, 7, is_last, rest)
            }
            Node::Quantified(quantifier, variables, g) => {
                f.write_str(self.spell(Sign::Quantifier(*quantifier)))?;
                f.write_str(if self.spelling == Spelling::Unicode { "" } else { " " })?;
                for (index, name) in variables.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    write!(f, "{}", Written(&Term::Var(name.clone())))?;
                }
                f.write_str(". ")?;
                rest.push(Piece::Operand(Operand { formula: *g, least: 0, is_last }));
                Ok(())
            }
        }
    }

    /// A measure; what is computed stands in parentheses inside of other computations.
    fn measure(&self, measure: &Measure, inside: bool, rest: &mut Vec<Piece>) {
        match measure {
            Measure::Term(term) => rest.push(Piece::Written(Written(term).to_string())),
            Measure::Computed(sign, left, right) => {
                rest.extend(inside.then_some(Piece::Text("(")));
                self.measure(left, true, rest);
                rest.push(Piece::Written(format!(" {} ", sign.symbol())));
                self.measure(right, true, rest);
                rest.extend(inside.then_some(Piece::Text(")")));
            }
            Measure::Aggregate(Aggregate { kind, interval, variables, body }) => {
                rest.push(Piece::Text(kind.name()));
                rest.push(Piece::Bound(*interval));
                rest.push(Piece::Text("("));
                let names: Vec<String> =
                    variables.iter().map(|name| Written(&Term::Var(name.clone())).to_string()).collect();
                if !names.is_empty() {
                    rest.push(Piece::Written(format!("{}: ", names.join(", "))));
                }
                rest.push(Piece::Operand(Operand { formula: *body, least: 0, is_last: true }));
                rest.push(Piece::Text(")"));
            }
        }
    }

    fn spell(&self, sign: Sign) -> &'static str {
        sign.spell(self.spelling)
    }

    fn prefix(
        &self,
        f: &mut fmt::Formatter<'_>,
        sign: Sign,
        interval: Interval,
        operand: Operand,
        rest: &mut Vec<Piece>,
    ) -> fmt::Result {
        let word = self.spell(sign);
        write!(f, "{word}{interval}")?;
        let is_letter = word.ends_with(|c: char| c.is_ascii_alphabetic()) || !interval.is_unbounded();
        if self.spelling == Spelling::Words || (is_letter && !self.is_wrapped(operand)) {
            f.write_char(' ')?;
        }
        rest.push(Piece::Operand(operand));
        Ok(())
    }

    fn infix(
        &self,
        operands: &[Formula],
        sign: Sign,
        interval: Interval,
        least: u8,
        is_last: bool,
        rest: &mut Vec<Piece>,
    ) -> fmt::Result {
        for (index, formula) in operands.iter().enumerate() {
            if index > 0 {
                rest.extend([
                    Piece::Text(" "),
                    Piece::Text(self.spell(sign)),
                    Piece::Bound(interval),
                    Piece::Text(" "),
                ]);
            }
            let is_last = is_last && index + 1 == operands.len();
            rest.push(Piece::Operand(Operand { formula: *formula, least, is_last }));
        }
        Ok(())
    }
}

/// How tightly a node holds together.
fn level(node: &Node) -> u8 {
    match node {
        Node::Quantified(..) => 0,
        Node::Iff(..) => 1,
        Node::Implies(..) => 2,
        Node::Or(_) => 3,
        Node::And(_) => 4,
        Node::Compare(..) | Node::Measure(..) => 5,
        Node::Binary(..) => 6,
        Node::Not(_) | Node::Unary(..) => 7,
        Node::True | Node::False | Node::Fact(_) => 8,
    }
}

/// An atom or a term as a formula has it: names in backticks where the lexer would not read them as such.
pub(crate) struct Written<'a, T>(pub(crate) &'a T);

impl Display for Written<'_, Atom> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written(Atom { name, terms }) = self;
        let is_pattern = !terms.is_empty() && pattern::names().any(|known| *known == **name);
        write_name(f, name, !is_pattern)?;
        let terms: Vec<Written<'_, Term>> = terms.iter().map(Written).collect();
        write_arguments(f, &terms)
    }
}

impl Display for Written<'_, Term> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // A dot would end the variables of the quantifier.
            Term::Var(name) => write_name(f, name, !name.contains('.')),
            term => write!(f, "{term}"),
        }
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: &str, is_plain: bool) -> fmt::Result {
    if is_plain && is_name(name) && Sign::from_word(name).is_none() {
        f.write_str(name)
    } else {
        write_quoted(f, name, '`')
    }
}
