//! Named patterns: formulas that people write again and again, under the names the literature gives them.
//!
//! Absence, existence, universality, precedence and response in five scopes are those of Dwyer, Avrunin and Corbett
//! (ICSE 1999), in their published LTL form. The others are the templates of Declare (Pesic, Schonenberg, van der Aalst
//! 2007), read over finite traces: a step that must come is asked for with `X`, one that may not come with `N`, and one
//! that came before with `Y`.
//!
//! A pattern is a macro: the parser reads its formula with the arguments in the place of the parameters.

use std::fmt;

use crate::error::Faults;
use crate::formula::Arena;
use crate::lexer::{Grammar, lex};
use crate::parser::{Given, Operand, Parser};

/// A name for a formula with parameters.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// What it is called; several patterns share a name if their parameters differ.
    pub name: &'static str,
    /// Its parameters: `n` is a number, `bound` a bound such as `30s`, `5` or `[1,5]`, any other a formula.
    pub parameters: &'static [&'static str],
    /// What it says, in a line.
    pub meaning: &'static str,
    body: Body,
}

/// What a pattern stands for.
#[derive(Clone, Copy, Debug)]
enum Body {
    Formula(&'static str),
    AtLeast,
    AtMost,
    Exactly,
    Fewer,
}

/// Every pattern, those of one kind together.
pub fn patterns() -> &'static [Pattern] {
    PATTERNS
}

impl Pattern {
    /// The formula it stands for, in terms of its parameters; where it counts, for `n` = 2.
    pub fn formula(&self) -> &'static str {
        match self.body {
            Body::Formula(formula) => formula,
            Body::AtLeast => "F(p & X F p)",
            Body::AtMost => "G(p -> N G(p -> N G !p))",
            Body::Exactly => "F(p & X F p) & G(p -> N G(p -> N G !p))",
            Body::Fewer => "G(p -> N G !p)",
        }
    }

    /// Its formula with the arguments in place, or a hint why there is none.
    pub(crate) fn expand(&self, arena: &mut Arena, given: Given, n: u32) -> Result<Operand, String> {
        match self.body {
            Body::Formula(formula) => read(arena, formula, &given),
            Body::AtLeast => at_least(arena, given, n),
            Body::AtMost => at_most(arena, given, n),
            Body::Exactly if n == 0 => at_most(arena, given, n),
            Body::Exactly => {
                let least = at_least(arena, given.clone(), n)?;
                let most = at_most(arena, given, n)?;
                let both = Given { operands: vec![("least", least), ("most", most)], bound: None };
                read(arena, "least & most", &both)
            }
            Body::Fewer => match n.checked_sub(1) {
                Some(most) => at_most(arena, given, most),
                None => Err("nothing holds fewer than 0 times; begin with 1".to_owned()),
            },
        }
    }
}

impl fmt::Display for Pattern {
    /// `response(p, s)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.parameters.join(", "))
    }
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parameter {
    Formula,
    Count,
    Bound,
}

impl Parameter {
    pub(crate) fn of(name: &str) -> Parameter {
        match name {
            "n" => Parameter::Count,
            "bound" => Parameter::Bound,
            _ => Parameter::Formula,
        }
    }
}

/// The names of all patterns.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PATTERNS.iter().map(|pattern| pattern.name)
}

fn read(arena: &mut Arena, formula: &str, given: &Given) -> Result<Operand, String> {
    let mut faults = Faults::default();
    let tokens = lex(formula, Grammar::Formula, &mut faults);
    let (operand, found) = Parser::new(arena, formula, &tokens, given).parse();
    if found.is_empty() { Ok(operand) } else { Err("it gets too large; use smaller numbers or nest less".to_owned()) }
}

fn at_least(arena: &mut Arena, given: Given, n: u32) -> Result<Operand, String> {
    if n == 0 {
        return Err("everything holds at least 0 times; begin with 1".to_owned());
    }
    nest(arena, given, ["F p", "F(p & X rest)"], n - 1)
}

fn at_most(arena: &mut Arena, given: Given, n: u32) -> Result<Operand, String> {
    nest(arena, given, ["G !p", "G(p -> N rest)"], n)
}

/// The innermost formula, and `n` times another one around it.
fn nest(arena: &mut Arena, mut given: Given, [innermost, around]: [&str; 2], n: u32) -> Result<Operand, String> {
    let mut rest = read(arena, innermost, &given)?;
    let arguments = given.operands.len();
    for _ in 0..n {
        given.operands.truncate(arguments);
        given.operands.push(("rest", rest));
        rest = read(arena, around, &given)?;
    }
    Ok(rest)
}

const fn row(
    name: &'static str,
    parameters: &'static [&'static str],
    meaning: &'static str,
    formula: &'static str,
) -> Pattern {
    Pattern { name, parameters, meaning, body: Body::Formula(formula) }
}

const fn count(name: &'static str, body: Body, meaning: &'static str) -> Pattern {
    Pattern { name, parameters: &["n", "p"], meaning, body }
}

const P: &[&str] = &["p"];
const PQ: &[&str] = &["p", "q"];
const PR: &[&str] = &["p", "r"];
const PQR: &[&str] = &["p", "q", "r"];
const PS: &[&str] = &["p", "s"];
const PSQ: &[&str] = &["p", "s", "q"];
const PSR: &[&str] = &["p", "s", "r"];
const PSQR: &[&str] = &["p", "s", "q", "r"];
const SP: &[&str] = &["s", "p"];
const SPQ: &[&str] = &["s", "p", "q"];
const SPR: &[&str] = &["s", "p", "r"];
const SPQR: &[&str] = &["s", "p", "q", "r"];

#[rustfmt::skip]
const PATTERNS: &[Pattern] = &[
    row("absence", P, "p never holds", "G !p"),
    row("absence_before", PR, "p does not hold before the first r", "F r -> !p U r"),
    row("absence_after", PQ, "p does not hold from the first q on", "G(q -> G !p)"),
    row("absence_between", PQR, "p does not hold from any q to the next r", "G(q & !r & F r -> !p U r)"),
    row("absence_after_until", PQR, "p does not hold from any q to the next r, if one comes or not", "G(q & !r -> !p W r)"),
    count("absence", Body::Fewer, "p holds at fewer than n steps"),

    row("existence", P, "p holds at some step", "F p"),
    row("existence_before", PR, "p holds before the first r", "!r W (p & !r)"),
    row("existence_after", PQ, "p holds at or after the first q", "G !q | F(q & F p)"),
    row("existence_between", PQR, "p holds from any q to the next r", "G(q & !r -> !r W (p & !r))"),
    row("existence_after_until", PQR, "p holds from any q to the next r, if one comes or not", "G(q & !r -> !r U (p & !r))"),
    count("existence", Body::AtLeast, "p holds at n steps or more"),

    row("universality", P, "p holds at every step", "G p"),
    row("universality_before", PR, "p holds at every step before the first r", "F r -> p U r"),
    row("universality_after", PQ, "p holds at every step from the first q on", "G(q -> G p)"),
    row("universality_between", PQR, "p holds at every step from any q to the next r", "G(q & !r & F r -> p U r)"),
    row("universality_after_until", PQR, "p holds at every step from any q to the next r, if one comes or not", "G(q & !r -> p W r)"),

    row("precedence", SP, "p holds only once s has held", "!p W s"),
    row("precedence_before", SPR, "before the first r, p holds only once s has held", "F r -> !p U (s | r)"),
    row("precedence_after", SPQ, "from q on, p holds only once s has held", "G !q | F(q & !p W s)"),
    row("precedence_between", SPQR, "from any q to the next r, p holds only once s has held", "G(q & !r & F r -> !p U (s | r))"),
    row("precedence_after_until", SPQR, "from any q to the next r, if one comes or not, p holds only once s has held", "G(q & !r -> !p W (s | r))"),

    row("response", PS, "every p is followed by s", "G(p -> F s)"),
    row("response_before", PSR, "before the first r, every p is followed by s", "F r -> (p -> !r U (s & !r)) U r"),
    row("response_after", PSQ, "from the first q on, every p is followed by s", "G(q -> G(p -> F s))"),
    row("response_between", PSQR, "from any q to the next r, every p is followed by s", "G(q & !r & F r -> (p -> !r U (s & !r)) U r)"),
    row("response_after_until", PSQR, "from any q to the next r, if one comes or not, every p is followed by s", "G(q & !r -> (p -> !r U (s & !r)) W r)"),

    row("response_without", PQR, "every p is followed by r, and q does not hold until then", "G(p -> !q U r)"),
    row("respond_within", &["p", "s", "bound"], "every p is followed by s within the bound", "G(p -> F[bound] s)"),
    row("response_chain", &["p", "s", "t"], "every p is followed by s and then by t", "G(p -> F(s & X F t))"),
    row("precedence_chain", &["s", "t", "p"], "p holds only once s and then t have held", "F p -> !p U (s & !p & X(!p U t))"),

    count("at_least", Body::AtLeast, "p holds at n steps or more"),
    count("at_most", Body::AtMost, "p holds at n steps or fewer"),
    count("exactly", Body::Exactly, "p holds at n steps, no more and no fewer"),

    row("init", P, "p holds at the first step", "p"),
    row("end", P, "p holds at the last step; without an end, again and again", "G F p"),
    row("last", P, "p holds at the last step; without an end, again and again", "G F p"),
    row("choice", PQ, "p holds at some step, or q does", "F p | F q"),
    row("exclusive_choice", PQ, "p holds at some step, or q does, but not both", "(F p | F q) & !(F p & F q)"),
    row("responded_existence", PQ, "if p ever holds, q does, before or after it", "F p -> F q"),
    row("co_existence", PQ, "p and q both hold at some step, or neither ever does", "F p <-> F q"),
    row("succession", PS, "every p is followed by s, and s holds only once p has held", "G(p -> F s) & !s W p"),
    row("alternate_response", PS, "every p is followed by s before the next p", "G(p -> X(!p U s))"),
    row("alternate_precedence", SP, "p holds only once s has held since the last p", "!p W s & G(p -> N(!p W s))"),
    row("alternate_succession", PS, "p and s take turns, p first", "G(p -> X(!p U s)) & !s W p & G(s -> N(!s W p))"),
    row("chain_response", PS, "right after every p comes s", "G(p -> X s)"),
    row("chain_precedence", SP, "right before every p comes s", "G(p -> Y s)"),
    row("chain_succession", PS, "right after every p comes s, and right before every s comes p", "G(p -> X s) & G(s -> Y p)"),
    row("not_co_existence", PQ, "p and q do not both hold, each at some step", "!(F p & F q)"),
    row("not_succession", PS, "no p is followed by s", "G(p -> !F s)"),
    row("not_chain_succession", PS, "right after no p comes s", "G(p -> N !s)"),
    // What was granted and not revoked since.
    row("in_force", &["g", "r"], "g has held, and r has not since", "!r S g"),
    row("in_force_within", &["g", "r", "bound"], "g has held within the bound, and r has not since", "!r S[bound] g"),
];
