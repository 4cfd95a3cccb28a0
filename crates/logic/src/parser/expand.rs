//! Expands patterns: parses the formula of one with the arguments in place of its parameters.

use super::{Operand, Parser, PatternArguments};
use crate::arena::Arena;
use crate::lexer::{Grammar, lex};
use crate::parse_error::Faults;
use crate::pattern::{Pattern, PatternBody};

impl Pattern {
    /// Returns its formula with the arguments in place, or a hint why there is none.
    pub(super) fn expand(&self, arena: &mut Arena, given: PatternArguments, n: u32) -> Result<Operand, String> {
        match self.body {
            PatternBody::Formula(formula) => parse_body(arena, formula, &given),
            PatternBody::AtLeast => build_at_least(arena, given, n),
            PatternBody::AtMost => build_at_most(arena, given, n),
            PatternBody::Exactly if n == 0 => build_at_most(arena, given, n),
            PatternBody::Exactly => {
                let least = build_at_least(arena, given.clone(), n)?;
                let most = build_at_most(arena, given, n)?;
                let both = PatternArguments { operands: vec![("least", least), ("most", most)], bound: None };
                parse_body(arena, "least & most", &both)
            }
            PatternBody::InTurns => build_in_turns(arena, given, n),
            PatternBody::Fewer => match n.checked_sub(1) {
                Some(most) => build_at_most(arena, given, most),
                None => Err("nothing holds fewer than 0 times; begin with 1".to_owned()),
            },
        }
    }
}

/// Parses a formula in which the parameters are names for the arguments.
fn parse_body(arena: &mut Arena, formula: &str, given: &PatternArguments) -> Result<Operand, String> {
    let mut faults = Faults::default();
    let tokens = lex(formula, Grammar::Formula, &mut faults);
    let (operand, found) = Parser::new(arena, formula, &tokens, given).parse();
    if found.is_empty() {
        Ok(operand)
    } else {
        Err("it becomes too large; use smaller numbers or nest fewer patterns".to_owned())
    }
}

/// Returns the formula that holds if `p` holds at `n` positions or more.
fn build_at_least(arena: &mut Arena, given: PatternArguments, n: u32) -> Result<Operand, String> {
    if n == 0 {
        return Err("everything holds at least 0 times; begin with 1".to_owned());
    }
    nest_formula(arena, given, ["F p", "F(p & X rest)"], n - 1)
}

/// Returns the formula that holds if `p` holds at `n` positions or fewer.
fn build_at_most(arena: &mut Arena, given: PatternArguments, n: u32) -> Result<Operand, String> {
    nest_formula(arena, given, ["G !p", "G(p -> N rest)"], n)
}

/// Returns the formula that holds if every `p` is followed by `s`, at the `n`th `t` after it or before.
fn build_in_turns(arena: &mut Arena, given: PatternArguments, n: u32) -> Result<Operand, String> {
    if n == 0 {
        return Err("nothing comes within 0 turns; begin with 1".to_owned());
    }
    let answered = nest_formula(arena, given.clone(), ["!t U s", "!t U (s | t & X rest)"], n - 1)?;
    let mut given = given;
    given.operands.push(("answered", answered));
    parse_body(arena, "G(p -> X answered)", &given)
}

/// Returns the innermost formula, with another one `n` times around it.
fn nest_formula(
    arena: &mut Arena,
    mut given: PatternArguments,
    [innermost, around]: [&str; 2],
    n: u32,
) -> Result<Operand, String> {
    let mut rest = parse_body(arena, innermost, &given)?;
    let arguments = given.operands.len();
    for _ in 0..n {
        given.operands.truncate(arguments);
        given.operands.push(("rest", rest));
        rest = parse_body(arena, around, &given)?;
    }
    Ok(rest)
}
