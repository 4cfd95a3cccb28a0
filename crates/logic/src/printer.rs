//! Prints formulas in any spelling, such that they parse back to the same formula.
//!
//! Parentheses are printed if the grammar needs them or a reader would stumble: operators of one rank that are not
//! associative (`->` in `->`, `U` in `U`) and comparisons under an operator are always wrapped.

use std::fmt::{self, Display, Write};

use crate::arena::{Arena, Node};
use crate::formula::Formula;
use crate::interval::Interval;
use crate::measure::{Aggregate, Measure};
use crate::name_syntax::is_name;
use crate::pattern;
use crate::spelling::{Sign, Spelling, spell_comparison};
use crate::term::{Atom, Term, write_arguments};
use crate::value::write_quoted;

impl Arena {
    /// Returns a formula as text.
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
        FormulaDisplay { arena: self, formula: f, spelling }
    }
}

struct FormulaDisplay<'a> {
    arena: &'a Arena,
    formula: Formula,
    spelling: Spelling,
}

/// A part that is still to be printed.
enum PrintPart {
    Text(&'static str),
    Owned(String),
    Bound(Interval),
    Operand(PlacedOperand),
}

/// An operand and its context.
#[derive(Clone, Copy)]
struct PlacedOperand {
    formula: Formula,
    /// The least precedence without parentheses.
    least: u8,
    /// Whether nothing follows it up to the next `)`. Then a quantifier needs no parentheses: its scope reaches that
    /// far.
    is_last: bool,
}

impl Display for FormulaDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An explicit stack: an arena may hold formulas of any depth.
        let mut pieces = vec![PrintPart::Operand(PlacedOperand { formula: self.formula, least: 0, is_last: true })];
        while let Some(piece) = pieces.pop() {
            match piece {
                PrintPart::Text(text) => f.write_str(text)?,
                PrintPart::Owned(text) => f.write_str(&text)?,
                PrintPart::Bound(interval) => write!(f, "{interval}")?,
                PrintPart::Operand(operand) if self.is_wrapped(operand) => {
                    f.write_char('(')?;
                    pieces.push(PrintPart::Text(")"));
                    pieces.push(PrintPart::Operand(PlacedOperand { least: 0, is_last: true, ..operand }));
                }
                PrintPart::Operand(operand) => {
                    let start = pieces.len();
                    self.write_node(f, operand, &mut pieces)?;
                    pieces[start..].reverse();
                }
            }
        }
        Ok(())
    }
}

impl FormulaDisplay<'_> {
    fn is_wrapped(&self, operand: PlacedOperand) -> bool {
        match &self.arena[operand.formula] {
            Node::Quantified(..) => !operand.is_last,
            node => precedence(node) < operand.least,
        }
    }

    /// Writes the beginning of a node and pushes the rest in reading order.
    fn write_node(&self, f: &mut fmt::Formatter<'_>, operand: PlacedOperand, rest: &mut Vec<PrintPart>) -> fmt::Result {
        let is_last = operand.is_last;
        let node = &self.arena[operand.formula];
        match node {
            Node::True => f.write_str(self.spell(Sign::True)),
            Node::False => f.write_str(self.spell(Sign::False)),
            Node::Fact(atom) => write!(f, "{}", FormulaText(atom)),
            Node::Compare(comparison, left, right) => {
                let symbol = spell_comparison(*comparison, self.spelling);
                write!(f, "{} {symbol} {}", FormulaText(left), FormulaText(right))
            }
            Node::Measure(comparison, left, right) => {
                self.push_measure(left, false, rest);
                rest.push(PrintPart::Text(" "));
                rest.push(PrintPart::Text(spell_comparison(*comparison, self.spelling)));
                rest.push(PrintPart::Text(" "));
                self.push_measure(right, false, rest);
                Ok(())
            }
            Node::Not(g) => self.write_prefix(
                f,
                Sign::Not,
                Interval::UNBOUNDED,
                PlacedOperand { formula: *g, least: 7, is_last },
                rest,
            ),
            Node::Unary(operator, interval, g) => self.write_prefix(
                f,
                Sign::Unary(*operator),
                *interval,
                PlacedOperand { formula: *g, least: 7, is_last },
                rest,
            ),
            Node::And(list) => self.push_infix(list, Sign::And, Interval::UNBOUNDED, 5, is_last, rest),
            Node::Or(list) => self.push_infix(list, Sign::Or, Interval::UNBOUNDED, 4, is_last, rest),
            Node::Implies(g, h) => self.push_infix(&[*g, *h], Sign::Implies, Interval::UNBOUNDED, 3, is_last, rest),
            Node::Iff(g, h) => self.push_infix(&[*g, *h], Sign::Iff, Interval::UNBOUNDED, 3, is_last, rest),
            Node::Binary(operator, interval, g, h) => {
                self.push_infix(&[*g, *h], Sign::Binary(*operator), *interval, 7, is_last, rest)
            }
            Node::Quantified(quantifier, variables, g) => {
                f.write_str(self.spell(Sign::Quantifier(*quantifier)))?;
                f.write_str(if self.spelling == Spelling::Unicode { "" } else { " " })?;
                for (index, name) in variables.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    write!(f, "{}", FormulaText(&Term::Var(name.clone())))?;
                }
                f.write_str(". ")?;
                rest.push(PrintPart::Operand(PlacedOperand { formula: *g, least: 0, is_last }));
                Ok(())
            }
        }
    }

    /// Pushes a measure; nested arithmetic is in parentheses.
    fn push_measure(&self, measure: &Measure, inside: bool, rest: &mut Vec<PrintPart>) {
        match measure {
            Measure::Term(term) => rest.push(PrintPart::Owned(FormulaText(term).to_string())),
            Measure::Computed(sign, left, right) => {
                rest.extend(inside.then_some(PrintPart::Text("(")));
                self.push_measure(left, true, rest);
                rest.push(PrintPart::Owned(format!(" {} ", sign.symbol())));
                self.push_measure(right, true, rest);
                rest.extend(inside.then_some(PrintPart::Text(")")));
            }
            Measure::Aggregate(Aggregate { kind, interval, variables, body }) => {
                rest.push(PrintPart::Text(kind.name()));
                rest.push(PrintPart::Bound(*interval));
                rest.push(PrintPart::Text("("));
                let names: Vec<String> =
                    variables.iter().map(|name| FormulaText(&Term::Var(name.clone())).to_string()).collect();
                if !names.is_empty() {
                    rest.push(PrintPart::Owned(format!("{}: ", names.join(", "))));
                }
                rest.push(PrintPart::Operand(PlacedOperand { formula: *body, least: 0, is_last: true }));
                rest.push(PrintPart::Text(")"));
            }
        }
    }

    fn spell(&self, sign: Sign) -> &'static str {
        sign.spell(self.spelling)
    }

    fn write_prefix(
        &self,
        f: &mut fmt::Formatter<'_>,
        sign: Sign,
        interval: Interval,
        operand: PlacedOperand,
        rest: &mut Vec<PrintPart>,
    ) -> fmt::Result {
        let word = self.spell(sign);
        write!(f, "{word}{interval}")?;
        let is_letter = word.ends_with(|c: char| c.is_ascii_alphabetic()) || !interval.is_unbounded();
        if self.spelling == Spelling::Words || (is_letter && !self.is_wrapped(operand)) {
            f.write_char(' ')?;
        }
        rest.push(PrintPart::Operand(operand));
        Ok(())
    }

    fn push_infix(
        &self,
        operands: &[Formula],
        sign: Sign,
        interval: Interval,
        least: u8,
        is_last: bool,
        rest: &mut Vec<PrintPart>,
    ) -> fmt::Result {
        for (index, formula) in operands.iter().enumerate() {
            if index > 0 {
                rest.extend([
                    PrintPart::Text(" "),
                    PrintPart::Text(self.spell(sign)),
                    PrintPart::Bound(interval),
                    PrintPart::Text(" "),
                ]);
            }
            let is_last = is_last && index + 1 == operands.len();
            rest.push(PrintPart::Operand(PlacedOperand { formula: *formula, least, is_last }));
        }
        Ok(())
    }
}

/// Returns how tightly a node binds.
fn precedence(node: &Node) -> u8 {
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

/// An atom or a term in a formula: names are in backticks if the lexer would not read them as such.
pub(crate) struct FormulaText<'a, T>(pub(crate) &'a T);

impl Display for FormulaText<'_, Atom> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FormulaText(Atom { name, terms }) = self;
        let is_pattern = !terms.is_empty() && pattern::pattern_names().any(|known| *known == **name);
        write_name(f, name, !is_pattern)?;
        let terms: Vec<FormulaText<'_, Term>> = terms.iter().map(FormulaText).collect();
        write_arguments(f, &terms)
    }
}

impl Display for FormulaText<'_, Term> {
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
