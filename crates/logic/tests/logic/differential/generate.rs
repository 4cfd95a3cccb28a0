//! Random formulas and traces, by fragment of the logic.

use std::sync::Arc;

use lictor_logic::{
    Arena, Atom, Binary, Comparison, Fact, Facts, Formula, Interval, Node, Quantifier, Span, Term, Time, Unary, Value,
};

use crate::support::random::Random;
use crate::support::trace::Entry;

/// Which operators, facts and traces are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// Future operators without bounds.
    Future,
    /// Past operators under one future operator each.
    Past,
    /// Past operators under future ones, and both side by side.
    Mixed,
    /// Like `Mixed`, with bounds in steps.
    Steps,
    /// Like `Mixed`, with bounds in time, on traces with times and ticks.
    Timed,
    /// Quantifiers in front of a formula or under an `always`, facts with and without values.
    Quantified,
    /// Mixed formulas on traces with unknown facts.
    Unknown,
    /// All of these at once.
    Everything,
    /// Like `Quantified`, over numbers and texts, with many comparisons.
    Ordered,
    /// Like `Mixed`, with chains of equivalences that have more alternatives than are listed.
    Dense,
}

impl Fragment {
    fn is_timed(self) -> bool {
        matches!(self, Fragment::Timed | Fragment::Everything)
    }

    fn is_quantified(self) -> bool {
        matches!(self, Fragment::Quantified | Fragment::Everything | Fragment::Ordered)
    }

    /// The values of facts.
    fn values(self) -> Vec<Value> {
        match self {
            Fragment::Ordered => vec![Value::Integer(2), Value::Integer(3), Value::text("b")],
            _ => VALUES.map(Value::text).to_vec(),
        }
    }
}

/// A formula and a trace to judge by it.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) arena: Arena,
    pub(crate) f: Formula,
    pub(crate) trace: Vec<Entry>,
}

/// The pair of this number.
pub(crate) fn generate(fragment: Fragment, number: u64) -> Pair {
    let mut random = Random::new(number.wrapping_mul(16).wrapping_add(fragment as u64));
    // If all choices came from one sequence, nearby seeds would begin alike; one draw separates them.
    let atoms = match random.below(4) {
        _ if fragment == Fragment::Dense => NAMES.len(),
        0 => 3,
        _ => 2,
    };
    let mut generator = Generator { fragment, random, arena: Arena::new(), atoms, variables: Vec::new() };
    let size = 2 + generator.random.below(9);
    let f = generator.root(size);
    let trace = generator.trace();
    Pair { arena: generator.arena, f, trace }
}

struct Generator {
    fragment: Fragment,
    random: Random,
    arena: Arena,
    /// How many names of facts there are.
    atoms: usize,
    variables: Vec<Arc<str>>,
}

const NAMES: [&str; 11] = ["p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"];
const VALUES: [&str; 2] = ["a", "b"];

impl Generator {
    fn one_in(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    fn root(&mut self, size: usize) -> Formula {
        match self.fragment {
            Fragment::Past => self.over_past(size),
            Fragment::Quantified | Fragment::Everything | Fragment::Ordered => self.quantified(size),
            _ => self.formula(size, true),
        }
    }

    fn over_past(&mut self, size: usize) -> Formula {
        if size > 5 && self.one_in(3) {
            let (f, g) = (self.over_past(size / 2), self.over_past(size / 2));
            return if self.one_in(2) { self.arena.and([f, g]) } else { self.arena.or([f, g]) };
        }
        let operator = if self.one_in(2) { Unary::Always } else { Unary::Eventually };
        let f = self.formula(size - 1, false);
        self.arena.unary(operator, f)
    }

    fn quantified(&mut self, size: usize) -> Formula {
        let names: &[&str] = if self.one_in(3) { &["x", "y"] } else { &["x"] };
        self.variables = names.iter().map(|name| Arc::from(*name)).collect();
        let mut f = self.formula(size, true);
        let is_inside = self.one_in(2);
        for name in names.iter().rev() {
            let quantifier = if self.one_in(3) { Quantifier::Exists } else { Quantifier::Forall };
            f = self.arena.insert(Node::Quantified(quantifier, [Arc::from(*name)].into(), f));
        }
        if is_inside { self.arena.always(f) } else { f }
    }

    /// A formula of about this size; under a past operator nothing speaks of the future.
    fn formula(&mut self, size: usize, future: bool) -> Formula {
        if size <= 1 {
            return self.leaf();
        }
        let past = !matches!(self.fragment, Fragment::Future);
        let left = 1 + self.random.below(size.saturating_sub(2).max(1));
        let right = size.saturating_sub(1 + left).max(1);
        match self.random.below(10) {
            0 => {
                let f = self.formula(size - 1, future);
                self.arena.not(f)
            }
            choice @ 1..=4 if size > 2 => {
                let (f, g) = (self.formula(left, future), self.formula(right, future));
                match choice {
                    1 => self.arena.and([f, g]),
                    2 => self.arena.or([f, g]),
                    3 => self.arena.implies(f, g),
                    _ => self.arena.iff(f, g),
                }
            }
            choice @ 5..=6 if size > 2 => {
                let is_past = past && (!future || choice == 6 && self.one_in(2));
                if !is_past && !future {
                    return self.formula(size, future);
                }
                let operators = [
                    &[Binary::Until, Binary::WeakUntil, Binary::Release, Binary::StrongRelease][..],
                    &[Binary::Since, Binary::Trigger],
                ][usize::from(is_past)];
                let operator = operators[self.random.below(operators.len())];
                let (f, g) = (self.formula(left, !is_past), self.formula(right, !is_past));
                let interval = self.interval();
                self.arena.insert(Node::Binary(operator, interval, f, g))
            }
            _ => {
                let is_past = past && (!future || self.one_in(3));
                let operators = [
                    [Unary::Next, Unary::WeakNext, Unary::Eventually, Unary::Always],
                    [Unary::Previous, Unary::WeakPrevious, Unary::Once, Unary::Historically],
                ][usize::from(is_past)];
                let index = self.random.below(operators.len());
                let f = self.formula(size - 1, !is_past);
                let interval = if index < 2 { Interval::UNBOUNDED } else { self.interval() };
                self.arena.insert(Node::Unary(operators[index], interval, f))
            }
        }
    }

    fn leaf(&mut self) -> Formula {
        if self.one_in(20) {
            let truth = self.one_in(2);
            return self.arena.truth(truth);
        }
        if self.fragment == Fragment::Dense && !self.one_in(3) {
            return self.chain();
        }
        let name = NAMES[self.random.below(self.atoms)];
        if !self.fragment.is_quantified() || name == "r" || self.one_in(8) {
            return self.arena.fact(name);
        }
        let term = if self.one_in(8) { self.value() } else { self.variable() };
        if self.fragment == Fragment::Ordered && self.one_in(3) {
            let (comparison, _) = Comparison::ALL[self.random.below(Comparison::ALL.len())];
            let (variable, other) = (self.variable(), self.ordered_value());
            let (left, right) = if self.one_in(2) { (variable, other) } else { (other, variable) };
            return self.arena.insert(Node::Compare(comparison, left, right));
        }
        if self.one_in(12) {
            let (comparison, _) = Comparison::ALL[self.random.below(Comparison::ALL.len())];
            let variable = self.variable();
            return self.arena.insert(Node::Compare(comparison, variable, term));
        }
        self.arena.insert(Node::Fact(Atom::new(name, [term])))
    }

    /// Equivalences of most facts in a row, some of them with another connective or about the past.
    fn chain(&mut self) -> Formula {
        let mut chain = self.arena.fact(NAMES[self.random.below(2)]);
        for name in NAMES.iter().skip(2) {
            let mut fact = self.arena.fact(name);
            if self.one_in(20) {
                fact = self.arena.unary(Unary::Once, fact);
            }
            chain = match self.random.below(12) {
                0 => self.arena.and([chain, fact]),
                1 => self.arena.or([chain, fact]),
                2 => self.arena.implies(chain, fact),
                _ => self.arena.iff(chain, fact),
            };
        }
        chain
    }

    fn value(&mut self) -> Term {
        let values = self.fragment.values();
        Term::Value(values[self.random.below(values.len())].clone())
    }

    /// A value to compare with: mostly one of two numbers, so that there are places below, between and above.
    fn ordered_value(&mut self) -> Term {
        let value = match self.random.below(12) {
            0 => Value::text("b"),
            1 => Value::text(""),
            2 => Value::Bool(true),
            3..=6 => Value::Integer(4),
            _ => Value::Integer(2),
        };
        Term::Value(value)
    }

    fn variable(&mut self) -> Term {
        Term::Var(Arc::clone(&self.variables[self.random.below(self.variables.len())]))
    }

    fn interval(&mut self) -> Interval {
        let has_steps = self.fragment == Fragment::Steps || self.fragment == Fragment::Everything && self.one_in(2);
        if !has_steps && !self.fragment.is_timed() || self.one_in(3) {
            return Interval::UNBOUNDED;
        }
        let has_end = !self.one_in(6);
        if has_steps {
            let from = self.random.below(3) as u32;
            let length = self.random.below(3) as u32;
            return Interval::Steps { from, to: has_end.then_some(from + length) };
        }
        // Bounds and event times are even, so that the halves tried in between are whole as well.
        // Above 0 as often as at it: what waits for a lower end is the hardest to remember.
        let from = if self.one_in(2) { 2 } else { 0 };
        let length = 2 * self.random.below(3) as u64;
        let to = has_end.then_some(Span::from_seconds(from + length));
        Interval::Time { from: Span::from_seconds(from), to }
    }

    fn trace(&mut self) -> Vec<Entry> {
        let mut now = 0;
        // All ways to resolve them are tried, so there must be few.
        let mut unknown = match self.fragment {
            Fragment::Unknown => 4,
            Fragment::Everything => 2,
            _ => 0,
        };
        // In some traces positions have no time, the first ones above all; the first known time is far from the origin.
        let untimed = if self.fragment.is_timed() && self.one_in(5) { 1 + self.random.below(3) } else { 0 };
        let mut trace = Vec::new();
        for place in 0..self.random.below(6) {
            let mut facts = self.facts();
            for name in NAMES.iter().take(self.atoms) {
                if unknown > 0 && self.one_in(4) {
                    let atom = self.unknown(name);
                    facts.known.retain(|fact| fact.name != atom.name);
                    facts.unknown.push(atom);
                    unknown -= 1;
                }
            }
            if self.fragment.is_timed() {
                now += if place == untimed && untimed > 0 { 100 } else { 2 * self.random.below(3) as i64 };
                let is_known = untimed == 0 || place >= untimed && !self.one_in(4);
                facts.time = is_known.then_some(Time::from_seconds(now));
            }
            trace.push(Entry::Position(facts));
            if self.fragment.is_timed() && self.one_in(4) {
                let tick = now + 1 + self.random.below(4) as i64;
                trace.push(Entry::Tick(Time::from_seconds(tick)));
                now = tick + 1 + (tick + 1) % 2;
            }
        }
        trace
    }

    fn unknown(&mut self, name: &str) -> Atom {
        if !self.fragment.is_quantified() || name == "r" {
            return Atom::new(name, []);
        }
        let term = if self.one_in(3) { Term::Any } else { self.value() };
        Atom::new(name, [term])
    }

    fn facts(&mut self) -> Facts {
        let mut facts = Facts::default();
        for name in NAMES.iter().take(self.atoms) {
            if !self.fragment.is_quantified() || *name == "r" {
                if self.one_in(2) {
                    facts.known.push(Fact::new(*name, []));
                }
                continue;
            }
            for value in self.fragment.values() {
                if self.one_in(4) {
                    facts.known.push(Fact::new(*name, [value]));
                }
            }
        }
        facts
    }
}
