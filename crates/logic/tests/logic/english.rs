//! Formulas in English: exact, and to be read in one way only.

use std::collections::HashMap;

use lictor_logic::{Arena, Binary, Formula, Interval, Node, Span, Spelling, Unary};

fn check(formula: &str, expect: &str) {
    let mut arena = Arena::new();
    let f = arena.parse(formula).unwrap_or_else(|errors| panic!("{formula}\n{errors}"));
    assert_eq!(arena.english(f), expect, "{formula}");
}

#[test]
fn english_names_first_step_without_temporal_operator() {
    check("a", "a holds at the first step");
    check("!a -> F b", "if a does not hold at the first step then, at some step, b holds");
    check("true & false", "both true holds and false holds");
}

#[test]
fn english_counts_steps_from_innermost_operator() {
    check("G a", "at every step, a holds");
    check("F !a", "at some step, a does not hold");
    check(
        "G(tool_call -> F verified)",
        "at every step, if tool_call holds then, at that step or a later one, verified holds",
    );
    check("G F a", "at every step, at that step or a later one, a holds");
    check("G(a -> G b)", "at every step, if a holds then, at that step and every later one, b holds");
    check("X a", "there is a step right after the first step and, at it, a holds");
    check("G(a -> X b)", "at every step, if a holds then there is a step right after that step and, at it, b holds");
    check("G N a", "at every step, if there is a step right after that step then, at it, a holds");
    check("G Y a", "at every step, there is a step right before that step and, at it, a holds");
    check("G Z a", "at every step, if there is a step right before that step then, at it, a holds");
    check("G(a -> X F b)", "at every step, if a holds then, at a step after that step, b holds");
    check("G(a -> N G b)", "at every step, if a holds then, at every step after that step, b holds");
    check("G(a -> Y O b)", "at every step, if a holds then, at a step before that step, b holds");
    check("G(a -> O b)", "at every step, if a holds then, at that step or an earlier one, b holds");
    check("G(a -> H b)", "at every step, if a holds then, at that step and every earlier one, b holds");
}

#[test]
fn english_until_release_since_and_trigger() {
    check("a U b", "at some step, b holds, and until then a holds");
    check("!p W s", "from the first step on, p does not hold until s holds, or for ever");
    check("a R b", "from the first step on, b holds up to and including the first step at which a holds, or for ever");
    check("a M b", "at some step, a holds, and up to and including then b holds");
    check("G(a S b)", "at every step, at that step or an earlier one, b holds, and since then a holds");
    check(
        "G(a T b)",
        "at every step, up to that step, b holds ever since and including the last step at which a holds, \
         or from the beginning",
    );
    check(
        "(a & b) U F c",
        "at some step, (at that step or a later one, c holds), and until then (both a holds and b holds)",
    );
}

#[test]
fn english_bounds_in_steps_and_time() {
    check("F[0,3] a", "at the first step or a later one at most 3 steps after it, a holds");
    check(
        "G(a -> F<=30s b)",
        "at every step, if a holds then, at that step or a later one at most 30s after it, b holds",
    );
    check("F[2,5] a", "at a step between 2 and 5 steps after the first step, a holds");
    check("F[1,1] a", "at a step exactly 1 step after the first step, a holds");
    check("G[2s,] a", "at every step at least 2s after the first step, a holds");
    check("G O[1h,2h] a", "at every step, at a step between 1h and 2h before that step, a holds");
    check("G H[0,2] a", "at every step, at that step and every earlier one at most 2 steps before it, a holds");
    check("a U[2,5] b", "at a step between 2 and 5 steps after the first step, b holds, and until then a holds");
    check(
        "G(a W[0,5] b)",
        "at every step, at that step and every later one at most 5 steps after it, a holds \
         unless, at it or at an earlier one not before that step, b holds",
    );
    check(
        "G(a W[2,5] b)",
        "at every step, either (at a step between 2 and 5 steps after that step, b holds, and until then a holds) \
         or (at that step and every later one at most 5 steps after it, a holds), or both",
    );
    check(
        "G(a R[2,5] b)",
        "at every step, at every step between 2 and 5 steps after that step, b holds \
         unless, at an earlier one not before that step, a holds",
    );
    check(
        "G(a M[2,5] b)",
        "at every step, both (at every step between 2 and 5 steps after that step, b holds \
         unless, at an earlier one not before that step, a holds) \
         and (at that step or a later one at most 5 steps after it, a holds)",
    );
    check(
        "G(a T[0,5] b)",
        "at every step, at that step and every earlier one at most 5 steps before it, b holds \
         unless, at a later one not after that step, a holds",
    );
}

#[test]
fn english_brackets_nested_connectives() {
    check("G(a & (b | c))", "at every step, both a holds and (either b holds or c holds, or both)");
    check("G(a & b | c)", "at every step, either (both a holds and b holds) or c holds, or both");
    check("G(a & b & c)", "at every step, all of (a holds), (b holds) and (c holds)");
    check(
        "G(a | !b | F c)",
        "at every step, at least one of (a holds), (b does not hold) and (at that step or a later one, c holds)",
    );
    check("G(a & b -> c)", "at every step, if both a holds and b holds then c holds");
    check("G(F a -> b)", "at every step, if (at that step or a later one, a holds) then b holds");
    check("G(a -> (b -> c))", "at every step, if a holds then (if b holds then c holds)");
    check("G((a -> b) -> c)", "at every step, if (if a holds then b holds) then c holds");
    check("G(a <-> F b)", "at every step, a holds if and only if (at that step or a later one, b holds)");
    check("!(a & b)", "it is not the case that (both a holds at the first step and b holds at the first step)");
    check("!!G a", "it is not the case that (it is not the case that (at every step, a holds))");
    check("G a & F b", "both (at every step, a holds) and (at some step, b holds)");
}

#[test]
fn english_values_and_variables() {
    check(
        "G forall p. processes(p) & !legitimate(p) -> O consent(p)",
        "at every step, for every value of p, if both processes(p) holds and legitimate(p) does not hold then, \
         at that step or an earlier one, consent(p) holds",
    );
    check(
        "G exists x, y, z. p(x,y,z,_,\"a b\") & x > 10",
        "at every step, for some value of x, y and z, both p(x,y,z,_,\"a b\") holds and x is greater than 10",
    );
    check("forall x. !(x = 3)", "for every value of x, x does not equal 3");
    check("forall x. x != 3 | x <= 4", "for every value of x, either x differs from 3 or x is at most 4, or both");
    check("F `a b`", "at some step, `a b` holds");
    check("a -> forall x. F p(x)", "if a holds at the first step then, for every value of x, at some step, p(x) holds");
}

/// Every formula that one operator makes of the given ones.
fn apply_every_operator(arena: &mut Arena, given: &[Formula], bounds: &[Interval]) -> Vec<Formula> {
    use {Binary::*, Unary::*};
    let mut made = Vec::new();
    for f in given {
        made.push(arena.not(*f));
        made.extend([Next, WeakNext, Previous, WeakPrevious].map(|operator| arena.unary(operator, *f)));
        for bound in bounds {
            let unary = [Eventually, Always, Once, Historically];
            made.extend(unary.map(|operator| arena.insert(Node::Unary(operator, *bound, *f))));
        }
        for g in given {
            made.extend([arena.and([*f, *g]), arena.or([*f, *g]), arena.implies(*f, *g), arena.iff(*f, *g)]);
            made.extend([arena.and([*f, *g, *f]), arena.or([*f, *g, *f])]);
            for bound in bounds {
                let binary = [Until, Release, Since, Trigger];
                made.extend(binary.map(|operator| arena.insert(Node::Binary(operator, *bound, *f, *g))));
                // With a bound that begins later, these are described by the formulas that define them.
                if matches!(bound, Interval::Steps { from: 0, .. }) {
                    let weak = [WeakUntil, StrongRelease];
                    made.extend(weak.map(|operator| arena.insert(Node::Binary(operator, *bound, *f, *g))));
                }
            }
        }
    }
    made
}

#[test]
fn english_differs_for_different_formulas() {
    let mut arena = Arena::new();
    let bounds = [
        Interval::UNBOUNDED,
        Interval::Steps { from: 0, to: Some(3) },
        Interval::Steps { from: 2, to: None },
        Interval::Time { from: Span(5), to: Some(Span(7)) },
    ];
    let mut formulas = vec![arena.fact("a"), arena.fact("b")];
    let small = apply_every_operator(&mut arena, &formulas, &bounds);
    formulas.extend(small);
    let large = apply_every_operator(&mut arena, &formulas, &[Interval::UNBOUNDED]);
    formulas.extend(large);
    let mut sentences: HashMap<String, Formula> = HashMap::new();
    for f in formulas {
        if let Some(other) = sentences.insert(arena.english(f), f) {
            let show = |f| arena.show(f, Spelling::Ascii).to_string();
            assert_eq!(f, other, "{} and {} are both: {}", show(f), show(other), arena.english(f));
        }
    }
}
