//! One grammar, several spellings: parsing, printing, and round trips between them.

use std::sync::Arc;

use lictor_logic::{
    Arena, Atom, Binary, Comparison, Fact, Formula, Interval, Node, Quantifier, Span, Spelling, Term, Unary, Value,
    operators,
};
use proptest::prelude::*;

use crate::support::size::cases;

const SPELLINGS: [Spelling; 4] = [Spelling::Words, Spelling::Ascii, Spelling::Unicode, Spelling::Letters];

fn ascii(text: &str) -> String {
    let mut arena = Arena::new();
    let f = arena.parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    for spelling in SPELLINGS {
        let shown = arena.show(f, spelling).to_string();
        assert_eq!(arena.parse(&shown).as_ref(), Ok(&f), "{text} is shown as {shown}");
    }
    arena.show(f, Spelling::Ascii).to_string()
}

fn check(text: &str, expect: &str) {
    assert_eq!(ascii(text), expect, "{text}");
}

#[test]
fn operator_spellings_parse_to_same_formula() {
    for operator in operators() {
        let spellings = [operator.word, operator.unicode].into_iter().chain(operator.synonyms.iter().copied());
        for spelling in spellings {
            let written = |sign: &str| match operator.meaning {
                _ if ["true", "false"].contains(&operator.ascii) => sign.to_owned(),
                _ if ["forall", "exists"].contains(&operator.ascii) => format!("{sign} x. p(x)"),
                _ if operator.ascii == "!" || "XNFGYZOH".contains(operator.ascii) => format!("{sign} a"),
                _ => format!("a {sign} b"),
            };
            check(&written(spelling), &ascii(&written(operator.ascii)));
        }
    }
}

#[test]
fn spellings_mix_in_one_formula() {
    check("always (tool_call implies eventually verified)", "G(tool_call -> F verified)");
    check("□(tool_call → ◇verified)", "G(tool_call -> F verified)");
    check("G (tool_call => ⋄ verified)", "G(tool_call -> F verified)");
    check("[] (a -> <> b)", "G(a -> F b)");
    check("a&&b||c", "a & b | c");
    check("a /\\ b \\/ ~c", "a & b | !c");
    check("a𝒰b", "a U b");
    check("∀x.p(x)", "forall x. p(x)");
    check("□∀ x, y: p(x,y) ∧ x ≠ y ∧ x ≤ 3", "G forall x, y. p(x,y) & x != y & x <= 3");
}

#[test]
fn precedence_is_unary_then_until_then_connectives() {
    check("!a U b", "!a U b");
    check("!(a U b)", "!(a U b)");
    check("G a U b", "G a U b");
    check("a U b U c", "a U (b U c)");
    check("(a U b) U c", "(a U b) U c");
    check("a S b W c", "a S (b W c)");
    check("a U b & c", "a U b & c");
    check("a U (b & c)", "a U (b & c)");
    check("a | b & c", "a | b & c");
    check("(a | b) & c", "(a | b) & c");
    check("a -> b -> c", "a -> (b -> c)");
    check("(a -> b) -> c", "(a -> b) -> c");
    check("a <-> b -> c", "a <-> (b -> c)");
    check("a -> b <-> c", "(a -> b) <-> c");
    check("a & b -> c | d", "a & b -> c | d");
    check("X N Y Z !a", "X N Y Z !a");
    check("(((a)))", "a");
}

#[test]
fn conjunctions_parse_flat() {
    let mut arena = Arena::new();
    let f = arena.parse("a & (b & c) & d").unwrap();
    assert!(matches!(&arena[f], Node::And(list) if list.len() == 4));
    check("(a | b) | (c | d)", "a | b | c | d");
}

#[test]
fn quantifier_scope_reaches_to_the_right() {
    check("forall x. p(x) -> q(x)", "forall x. p(x) -> q(x)");
    check("(forall x. p(x)) -> q", "(forall x. p(x)) -> q");
    check("a & forall x. p(x) | b", "a & forall x. p(x) | b");
    check("!exists x. p(x) & q(x)", "!exists x. p(x) & q(x)");
    check("(!exists x. p(x)) & q", "!(exists x. p(x)) & q");
    check("forall x. exists x. p(x)", "forall x. exists x. p(x)");
    check("forall x.args.amount(x)", "forall x. args.amount(x)");
    check("forall a.b(a)", "forall a. b(a)");
    check("always forall p: once consent(p)", "G forall p. O consent(p)");
}

#[test]
fn capital_letters_are_operators_only_alone() {
    check("Fa", "Fa");
    check("F(a)", "F a");
    check("F[0,3]a", "F[0,3] a");
    check("G F a", "G F a");
    check("`G` & `next` & `a b` & `tick\\`` & `next.x`", "`G` & `next` & `a b` & `tick\\`` & next.x");
}

#[test]
fn bounds_parse_in_every_notation() {
    check("F<=5s a", "F[0,5s] a");
    check("F <= 5 a", "F[0,5] a");
    check("F≤5 a", "F[0,5] a");
    check("G>=3 a", "G[3,inf] a");
    check("F[0,inf] a", "F a");
    check("F[0s,inf] a", "F[0s,inf] a");
    check("F[2,] a", "F[2,inf] a");
    check("F[2,∞] a", "F[2,inf] a");
    check("F[0,30s] a", "F[0,30s] a");
    check("F[0s,30s] a", "F[0,30s] a");
    check("F[500ms,1.5m] a", "F[500ms,90s] a");
    check("F[0,48h] a", "F[0,2d] a");
    check("F[0,0] a", "F[0,0] a");
    check("F[0s,0] a", "F[0s,0s] a");
    check("eventually[1,2] (a & b)", "F[1,2](a & b)");
    check("a U<=5s b", "a U[0,5s] b");
    check("a until[1,2] b since[3,4] c", "a U[1,2] (b S[3,4] c)");
    check("a W[1,2] b & c R[0,3] d | a M[0,3] b", "a W[1,2] b & c R[0,3] d | a M[0,3] b");
    check("O[0,3] a & H<=1d b & a T[0,3] b", "O[0,3] a & H[0,1d] b & a T[0,3] b");
    check("forall x. F x <= 5", "forall x. F(x <= 5)");
    check("forall x. F<=5 x <= 5", "forall x. F[0,5](x <= 5)");
    check("F[0,4294967295] a", "F[0,4294967295] a");
}

#[test]
fn terms_parse_values_variables_and_wildcards() {
    check("p(\"a\", 'b', 3, -3.50, 1e3, 2.5e-1, true, _)", "p(\"a\",\"b\",3,-3.5,1000,0.25,true,_)");
    check(r#"p("\"\\\n\r\t\u{1f600}\u{7f}é")"#, r#"p("\"\\\n\r\t😀\u{7f}é")"#);
    check("p()", "p");
    check(
        "forall x. \"a\" = x & x == 'b' & -3 < x & true != x",
        "forall x. \"a\" = x & x = \"b\" & -3 < x & true != x",
    );
    check("forall `a.b`, `next`. p(`a.b`,`next`)", "forall `a.b`, `next`. p(`a.b`,`next`)");
    check("p(9223372036854775807,-9223372036854775808,1e300)", "p(9223372036854775807,-9223372036854775808,1e300)");
    check("forall x. !(x > 3) & F(x > 3)", "forall x. !(x > 3) & F(x > 3)");
    check("forall x. p(x) -> x > 3", "forall x. p(x) -> x > 3");
}

#[test]
fn fact_values_parse_without_quotes() {
    let fact = |text: &str| Fact::parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    assert_eq!(fact("verified"), Fact::new("verified", []));
    assert_eq!(fact(" consent(alice, 3, true) "), fact("consent(\"alice\",3,true)"));
    assert_eq!(fact("next"), Fact::new("next", []));
    assert_eq!(fact("response(X, a.b)"), Fact::new("response", [Value::text("X"), Value::text("a.b")]));
    assert_eq!(fact("`a b`(1.0)"), Fact::new("a b", [Value::Integer(1)]));
    assert_eq!(Atom::parse("p(_,x)").unwrap().to_string(), "p(_,\"x\")");
    for bad in ["", "p(_)", "a & b", "p(", "p(a", "p(a b)", "3", "p(5s)", "a b", "p(a))", "□", "`", "p(a@b)"] {
        assert!(Fact::parse(bad).is_err(), "{bad}");
    }
}

// Round trips.

/// Builds things from a tape of numbers, so that a failing case shrinks with its tape.
struct Builder<'a> {
    arena: &'a mut Arena,
    tape: std::slice::Iter<'a, u64>,
    odd: &'a [String],
    variables: Vec<Arc<str>>,
}

const NAMES: &[&str] = &[
    "a",
    "b",
    "tool_call",
    "args.amount",
    "next",
    "X",
    "F",
    "G",
    "always",
    "true",
    "_",
    "_.a",
    "a b",
    "`",
    "\\",
    "é",
    "日本",
    "response",
    "init",
    "inf",
    "forall",
    "x",
    "𝒰",
    "a𝒰b",
    "a.b.c",
    "a..b",
    ".a",
    "a.",
    "1a",
    "a-b",
    "a.1",
    "\n",
    "bound",
    "n",
];

impl Builder<'_> {
    fn pick(&mut self, below: usize) -> usize {
        (self.tape.next().copied().unwrap_or(0) % below as u64) as usize
    }

    fn name(&mut self) -> Arc<str> {
        let index = self.pick(NAMES.len() + self.odd.len());
        let name = NAMES.get(index).copied().or_else(|| Some(&self.odd[index - NAMES.len()]));
        Arc::from(name.filter(|name| !name.is_empty()).unwrap_or("z"))
    }

    fn value(&mut self) -> Value {
        let number = self.tape.next().copied().unwrap_or(0);
        match self.pick(5) {
            0 => Value::Bool(number % 2 == 0),
            1 => Value::Integer(number as i64),
            2 => Value::number(f64::from_bits(number)).unwrap_or(Value::Integer(1)),
            3 => Value::number(number as i64 as f64 / 8.0).unwrap_or(Value::Integer(1)),
            _ => Value::text(self.name()),
        }
    }

    fn term(&mut self) -> Term {
        match self.pick(3) {
            0 if !self.variables.is_empty() => {
                let index = self.pick(self.variables.len());
                Term::Var(self.variables[index].clone())
            }
            _ => Term::Value(self.value()),
        }
    }

    fn atom(&mut self) -> Atom {
        let name = self.name();
        let terms = (0..self.pick(4)).map(|_| if self.pick(4) == 0 { Term::Any } else { self.term() });
        let terms: Vec<Term> = terms.collect();
        Atom::new(name, terms)
    }

    fn interval(&mut self) -> Interval {
        let (low, high) = (self.tape.next().copied().unwrap_or(0), self.tape.next().copied().unwrap_or(9));
        let is_open = self.pick(4) == 0;
        match self.pick(4) {
            0 => Interval::UNBOUNDED,
            1 => {
                let (from, to) = ((low as u32).min(high as u32), (low as u32).max(high as u32));
                Interval::Steps { from, to: (!is_open).then_some(to) }
            }
            kind => {
                let size = if kind == 2 { 1 } else { 500_000_000 };
                let (low, high) = (low / size, high / size);
                let to = (!is_open).then_some(Span(low.max(high) * size));
                Interval::Time { from: Span(low.min(high) * size), to }
            }
        }
    }

    fn formula(&mut self, depth: usize) -> Formula {
        let is_leaf = depth == 0 || self.pick(6) == 0;
        let kind = if is_leaf { self.pick(3) } else { 3 + self.pick(11) };
        match kind {
            0 => {
                let atom = self.atom();
                self.arena.insert(Node::Fact(atom))
            }
            1 => {
                let comparison = Comparison::ALL[self.pick(6)].0;
                let node = Node::Compare(comparison, self.term(), self.term());
                self.arena.insert(node)
            }
            2 => {
                let truth = self.pick(2) == 0;
                self.arena.truth(truth)
            }
            3 => {
                let f = self.formula(depth - 1);
                self.arena.not(f)
            }
            4..=5 => {
                let list: Vec<Formula> = (0..2 + self.pick(3)).map(|_| self.formula(depth - 1)).collect();
                if kind == 4 { self.arena.and(list) } else { self.arena.or(list) }
            }
            6 => {
                let (f, g) = (self.formula(depth - 1), self.formula(depth - 1));
                self.arena.implies(f, g)
            }
            7 => {
                let (f, g) = (self.formula(depth - 1), self.formula(depth - 1));
                self.arena.iff(f, g)
            }
            8 => {
                let operator = [Unary::Next, Unary::WeakNext, Unary::Previous, Unary::WeakPrevious][self.pick(4)];
                let f = self.formula(depth - 1);
                self.arena.unary(operator, f)
            }
            9..=10 => {
                let operator = [Unary::Eventually, Unary::Always, Unary::Once, Unary::Historically][self.pick(4)];
                let (interval, f) = (self.interval(), self.formula(depth - 1));
                self.arena.insert(Node::Unary(operator, interval, f))
            }
            11..=12 => {
                use Binary::*;
                let operator = [Until, WeakUntil, Release, StrongRelease, Since, Trigger][self.pick(6)];
                let (interval, f, g) = (self.interval(), self.formula(depth - 1), self.formula(depth - 1));
                self.arena.insert(Node::Binary(operator, interval, f, g))
            }
            _ => {
                let mut names: Vec<Arc<str>> = (0..1 + self.pick(3)).map(|_| self.name()).collect();
                names.sort();
                names.dedup();
                let outer = self.variables.len();
                self.variables.extend(names.iter().cloned());
                let f = self.formula(depth - 1);
                self.variables.truncate(outer);
                let quantifier = if self.pick(2) == 0 { Quantifier::Forall } else { Quantifier::Exists };
                self.arena.insert(Node::Quantified(quantifier, names.into(), f))
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1500) as u32))]

    #[test]
    fn formula_display_parses_back(
        tape in prop::collection::vec(any::<u64>(), 1..120),
        odd in prop::collection::vec(any::<String>(), 4),
        depth in 0usize..6,
    ) {
        let mut arena = Arena::new();
        let f = Builder { arena: &mut arena, tape: tape.iter(), odd: &odd, variables: Vec::new() }.formula(depth);
        for spelling in SPELLINGS {
            let shown = arena.show(f, spelling).to_string();
            let read = arena.parse(&shown);
            prop_assert_eq!(read.as_ref(), Ok(&f), "{}", shown);
        }
        prop_assert!(!arena.english(f).is_empty());
    }

    #[test]
    fn fact_display_parses_back(
        tape in prop::collection::vec(any::<u64>(), 1..20),
        odd in prop::collection::vec(any::<String>(), 4),
    ) {
        let mut arena = Arena::new();
        let mut builder = Builder { arena: &mut arena, tape: tape.iter(), odd: &odd, variables: Vec::new() };
        let atom = builder.atom();
        prop_assert_eq!(Atom::parse(&atom.to_string()), Ok(atom.clone()));
        let values: Option<Vec<Value>> = atom.terms.iter().map(|term| match term {
            Term::Value(value) => Some(value.clone()),
            _ => None,
        }).collect();
        if let Some(values) = values {
            let fact = Fact::new(atom.name, values);
            prop_assert_eq!(Fact::parse(&fact.to_string()), Ok(fact));
        }
    }
}
