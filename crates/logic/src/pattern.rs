//! Named patterns: common formulas, under their names in the literature.
//!
//! Absence, existence, universality, precedence and response in five scopes are those of Dwyer, Avrunin and Corbett
//! (ICSE 1999), in their published LTL form. The others are the templates of Declare (Pesic, Schonenberg, van der Aalst
//! 2007), read over finite traces: a step that must come is asked for with `X`, one that may not come with `N`, and one
//! that came before with `Y`.
//!
//! A pattern is a macro: the parser reads its formula with the parameters replaced by the arguments, in
//! `parser/expand.rs`.

use std::fmt;

/// A name for a formula with parameters.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its name; patterns with different parameters may share one.
    pub name: &'static str,
    /// Its parameters: `n` is a number, `bound` a bound such as `30s`, `5` or `[1,5]`, any other a formula.
    pub parameters: &'static [&'static str],
    /// Its meaning, in a line.
    pub meaning: &'static str,
    pub(crate) body: PatternBody,
}

/// The formula of a pattern, or how it is built for a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PatternBody {
    /// Its formula, in terms of its parameters.
    Formula(&'static str),
    AtLeast,
    AtMost,
    Exactly,
    Fewer,
    InTurns,
}

/// Returns every pattern, those of one kind together.
pub fn patterns() -> &'static [Pattern] {
    PATTERNS
}

impl Pattern {
    /// Returns its formula, in terms of its parameters; for `n` = 2 if it counts.
    pub fn formula(&self) -> &'static str {
        match self.body {
            PatternBody::Formula(formula) => formula,
            PatternBody::AtLeast => "F(p & X F p)",
            PatternBody::AtMost => "G(p -> N G(p -> N G !p))",
            PatternBody::Exactly => "F(p & X F p) & G(p -> N G(p -> N G !p))",
            PatternBody::Fewer => "G(p -> N G !p)",
            PatternBody::InTurns => "G(p -> X(!t U (s | t & X(!t U s))))",
        }
    }
}

impl fmt::Display for Pattern {
    /// `response(p, s)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.parameters.join(", "))
    }
}

/// The kind of argument that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parameter {
    Formula,
    Count,
    Bound,
}

impl Parameter {
    pub(crate) fn from_name(name: &str) -> Parameter {
        match name {
            "n" => Parameter::Count,
            "bound" => Parameter::Bound,
            _ => Parameter::Formula,
        }
    }
}

/// Returns the names of all patterns.
pub(crate) fn pattern_names() -> impl Iterator<Item = &'static str> {
    PATTERNS.iter().map(|pattern| pattern.name)
}

const fn pattern_row(
    name: &'static str,
    parameters: &'static [&'static str],
    meaning: &'static str,
    formula: &'static str,
) -> Pattern {
    Pattern { name, parameters, meaning, body: PatternBody::Formula(formula) }
}

const fn counting_row(name: &'static str, body: PatternBody, meaning: &'static str) -> Pattern {
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
    pattern_row("absence", P, "p never holds", "G !p"),
    pattern_row("absence_before", PR, "p does not hold before the first r", "F r -> !p U r"),
    pattern_row("absence_after", PQ, "p does not hold from the first q on", "G(q -> G !p)"),
    pattern_row("absence_between", PQR, "p does not hold from any q to the next r", "G(q & !r & F r -> !p U r)"),
    pattern_row("absence_after_until", PQR, "p does not hold from any q to the next r, if one comes or not", "G(q & !r -> !p W r)"),
    counting_row("absence", PatternBody::Fewer, "p holds at fewer than n steps"),

    pattern_row("existence", P, "p holds at some step", "F p"),
    pattern_row("existence_before", PR, "p holds before the first r", "!r W (p & !r)"),
    pattern_row("existence_after", PQ, "p holds at or after the first q", "G !q | F(q & F p)"),
    pattern_row("existence_between", PQR, "p holds from any q to the next r", "G(q & !r -> !r W (p & !r))"),
    pattern_row("existence_after_until", PQR, "p holds from any q to the next r, if one comes or not", "G(q & !r -> !r U (p & !r))"),
    counting_row("existence", PatternBody::AtLeast, "p holds at n steps or more"),

    pattern_row("universality", P, "p holds at every step", "G p"),
    pattern_row("universality_before", PR, "p holds at every step before the first r", "F r -> p U r"),
    pattern_row("universality_after", PQ, "p holds at every step from the first q on", "G(q -> G p)"),
    pattern_row("universality_between", PQR, "p holds at every step from any q to the next r", "G(q & !r & F r -> p U r)"),
    pattern_row("universality_after_until", PQR, "p holds at every step from any q to the next r, if one comes or not", "G(q & !r -> p W r)"),

    pattern_row("precedence", SP, "p holds only once s has held", "!p W s"),
    pattern_row("precedence_before", SPR, "before the first r, p holds only once s has held", "F r -> !p U (s | r)"),
    pattern_row("precedence_after", SPQ, "from q on, p holds only once s has held", "G !q | F(q & !p W s)"),
    pattern_row("precedence_between", SPQR, "from any q to the next r, p holds only once s has held", "G(q & !r & F r -> !p U (s | r))"),
    pattern_row("precedence_after_until", SPQR, "from any q to the next r, if one comes or not, p holds only once s has held", "G(q & !r -> !p W (s | r))"),

    pattern_row("response", PS, "every p is followed by s", "G(p -> F s)"),
    pattern_row("response_before", PSR, "before the first r, every p is followed by s", "F r -> (p -> !r U (s & !r)) U r"),
    pattern_row("response_after", PSQ, "from the first q on, every p is followed by s", "G(q -> G(p -> F s))"),
    pattern_row("response_between", PSQR, "from any q to the next r, every p is followed by s", "G(q & !r & F r -> (p -> !r U (s & !r)) U r)"),
    pattern_row("response_after_until", PSQR, "from any q to the next r, if one comes or not, every p is followed by s", "G(q & !r -> (p -> !r U (s & !r)) W r)"),

    pattern_row("response_without", PQR, "every p is followed by r, and q does not hold until then", "G(p -> !q U r)"),
    pattern_row("respond_within", &["p", "s", "bound"], "every p is followed by s within the bound", "G(p -> F[bound] s)"),
    Pattern {
        name: "respond_in_turns",
        parameters: &["p", "s", "t", "n"],
        meaning: "every p is followed by s, at the nth t after it or before",
        body: PatternBody::InTurns,
    },
    pattern_row("response_chain", &["p", "s", "t"], "every p is followed by s and then by t", "G(p -> F(s & X F t))"),
    pattern_row("precedence_chain", &["s", "t", "p"], "p holds only once s and then t have held", "F p -> !p U (s & !p & X(!p U t))"),

    counting_row("at_least", PatternBody::AtLeast, "p holds at n steps or more"),
    counting_row("at_most", PatternBody::AtMost, "p holds at n steps or fewer"),
    counting_row("exactly", PatternBody::Exactly, "p holds at n steps, no more and no fewer"),

    pattern_row("init", P, "p holds at the first step", "p"),
    pattern_row("end", P, "p holds at the last step; without an end, again and again", "G F p"),
    pattern_row("last", P, "p holds at the last step; without an end, again and again", "G F p"),
    pattern_row("choice", PQ, "p holds at some step, or q does", "F p | F q"),
    pattern_row("exclusive_choice", PQ, "p holds at some step, or q does, but not both", "(F p | F q) & !(F p & F q)"),
    pattern_row("responded_existence", PQ, "if p ever holds, q does, before or after it", "F p -> F q"),
    pattern_row("co_existence", PQ, "p and q both hold at some step, or neither ever does", "F p <-> F q"),
    pattern_row("succession", PS, "every p is followed by s, and s holds only once p has held", "G(p -> F s) & !s W p"),
    pattern_row("alternate_response", PS, "every p is followed by s before the next p", "G(p -> X(!p U s))"),
    pattern_row("alternate_precedence", SP, "p holds only once s has held since the last p", "!p W s & G(p -> N(!p W s))"),
    pattern_row("alternate_succession", PS, "p and s take turns, p first", "G(p -> X(!p U s)) & !s W p & G(s -> N(!s W p))"),
    pattern_row("chain_response", PS, "right after every p comes s", "G(p -> X s)"),
    pattern_row("chain_precedence", SP, "right before every p comes s", "G(p -> Y s)"),
    pattern_row("chain_succession", PS, "right after every p comes s, and right before every s comes p", "G(p -> X s) & G(s -> Y p)"),
    pattern_row("not_co_existence", PQ, "p and q do not both hold, each at some step", "!(F p & F q)"),
    pattern_row("not_succession", PS, "no p is followed by s", "G(p -> !F s)"),
    pattern_row("not_chain_succession", PS, "right after no p comes s", "G(p -> N !s)"),
    // Permissions that were granted and not revoked since.
    pattern_row("in_force", &["g", "r"], "g has held, and r has not since", "!r S g"),
    pattern_row("in_force_within", &["g", "r", "bound"], "g has held within the bound, and r has not since", "!r S[bound] g"),
];
