//! The definition: what a formula means on a word, by the book, slow and plainly right.
//!
//! Everything else in this crate is judged by [`evaluate`]. It computes, from the leaves up, one table per subformula
//! with its value at every position. Values are those of Kleene: true, false, or `None` for not determined, which
//! comes only from facts that nobody could tell and from an open future.
//!
//! Two operators are spelled out, `U` and `S`; all others are written in terms of them, as the textbooks do. On a
//! finite word this is LTL on finite traces (De Giacomo, Vardi 2013), on a lasso LTL with past (Lichtenstein, Pnueli,
//! Zuck 1985); bounds are those of MTL over points (Koymans 1990).

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::facts::{Fact, Facts};
use crate::formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::measure::{Aggregate, AggregateKind, FixedDecimal, Measure, Quantity};
use crate::term::{Atom, Comparison, Term, Value};
use crate::word::{Ending, Layout, Word};

/// Does a formula without free variables hold at the first position of a word? `None` where that is not determined.
///
/// On a word that stops or repeats and has no unknown facts it always is. On the empty finite word no fact holds, and
/// of the temporal operators those hold that ask for no position: `N G R W Z H T`.
///
/// Quantifiers range over every value there could be: those in the word and in the formula, and values never seen.
/// One of the latter is as good as another, so as many stand for all of them as the formula has variables. A value
/// never seen is in no known fact, equal to itself alone and in no order with others; while facts may still come or are
/// unknown, its order is not determined. A comparison with `_`, or with a variable that nothing binds, is false.
///
/// ```
/// use lictor_logic::{Arena, Ending, Facts, Word, evaluate};
/// let mut arena = Arena::new();
/// let p = arena.fact("p");
/// let always = arena.always(p);
/// let seen = [Facts::of(["p"]), Facts::of(["p"])];
/// assert_eq!(evaluate(&arena, always, &Word { positions: &seen, ending: Ending::Stops }), Some(true));
/// assert_eq!(evaluate(&arena, always, &Word { positions: &seen, ending: Ending::Open }), None);
/// ```
pub fn evaluate(arena: &Arena, f: Formula, word: &Word<'_>) -> Option<bool> {
    let layout = Layout::new(word, arena, f);
    let domain = domain(arena, f, word.positions);
    let is_whole = word.ending != Ending::Open && word.positions.iter().all(|facts| facts.unknown.is_empty());
    Evaluation { arena, layout, domain, is_whole }.table(f, &mut Scope::default()).first().copied().flatten()
}

/// The value of a subformula at every position that is laid out.
type Table = Rc<[Option<bool>]>;

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Datum<'a> {
    Value(&'a Value),
    /// The n-th of the values never seen.
    Unseen(usize),
}

/// What the variables stand for, and the tables computed under it.
#[derive(Default)]
struct Scope<'a> {
    binding: Vec<(&'a Arc<str>, Datum<'a>)>,
    tables: FxHashMap<Formula, Table>,
}

impl<'a> Scope<'a> {
    fn datum(&self, term: &'a Term) -> Option<Datum<'a>> {
        match term {
            Term::Any => None,
            Term::Value(value) => Some(Datum::Value(value)),
            // The innermost quantifier of a name binds it.
            Term::Var(name) => self.binding.iter().rev().find(|(bound, _)| *bound == name).map(|(_, datum)| *datum),
        }
    }
}

struct Evaluation<'a> {
    arena: &'a Arena,
    layout: Layout<'a>,
    domain: Vec<Datum<'a>>,
    /// Have all values that ever come been seen?
    is_whole: bool,
}

impl<'a> Evaluation<'a> {
    fn table(&self, f: Formula, scope: &mut Scope<'a>) -> Table {
        if let Some(table) = scope.tables.get(&f) {
            return Rc::clone(table);
        }
        let table = match &self.arena[f] {
            Node::True => self.everywhere(Some(true)),
            Node::False => self.everywhere(Some(false)),
            Node::Fact(atom) => self.tabulate(|i| match self.layout.facts(i) {
                Some(facts) => known(atom, facts, scope),
                None if self.layout.is_empty() => Some(false),
                None => None,
            }),
            Node::Compare(comparison, left, right) => {
                self.everywhere(self.compare(*comparison, scope.datum(left), scope.datum(right)))
            }
            Node::Measure(comparison, left, right) => {
                let (left, right) = (self.measure(left, scope), self.measure(right, scope));
                self.tabulate(|i| Quantity::compare(*comparison, &left[i], &right[i]))
            }
            Node::Not(g) => {
                let g = self.table(*g, scope);
                self.tabulate(|i| not(g[i]))
            }
            Node::And(list) => {
                let list: Vec<Table> = list.iter().map(|g| self.table(*g, scope)).collect();
                self.tabulate(|i| list.iter().map(|g| g[i]).reduce(and).unwrap_or(Some(true)))
            }
            Node::Or(list) => {
                let list: Vec<Table> = list.iter().map(|g| self.table(*g, scope)).collect();
                self.tabulate(|i| list.iter().map(|g| g[i]).reduce(or).unwrap_or(Some(false)))
            }
            Node::Implies(g, h) => {
                let (g, h) = (self.table(*g, scope), self.table(*h, scope));
                self.tabulate(|i| or(not(g[i]), h[i]))
            }
            Node::Iff(g, h) => {
                let (g, h) = (self.table(*g, scope), self.table(*h, scope));
                self.tabulate(|i| or(and(g[i], h[i]), and(not(g[i]), not(h[i]))))
            }
            Node::Unary(operator, interval, g) => {
                let g = self.table(*g, scope);
                self.unary(*operator, *interval, &g)
            }
            Node::Binary(operator, interval, g, h) => {
                let (g, h) = (self.table(*g, scope), self.table(*h, scope));
                self.binary(*operator, *interval, &g, &h)
            }
            Node::Quantified(quantifier, variables, body) => self.quantify(*quantifier, variables, *body, scope),
        };
        scope.tables.insert(f, Rc::clone(&table));
        table
    }

    fn tabulate(&self, value: impl Fn(usize) -> Option<bool>) -> Table {
        // The empty word has no position to speak of; its one entry says what holds of nothing.
        (0..self.layout.length.max(1)).map(value).collect()
    }

    fn everywhere(&self, value: Option<bool>) -> Table {
        self.tabulate(|_| value)
    }

    fn quantify(&self, quantifier: Quantifier, variables: &'a [Arc<str>], body: Formula, scope: &Scope<'a>) -> Table {
        let Some((variable, rest)) = variables.split_first() else {
            return self.table(body, &mut Scope { binding: scope.binding.clone(), ..Scope::default() });
        };
        let mut inner = Scope { binding: scope.binding.clone(), ..Scope::default() };
        let mut result = self.everywhere(Some(quantifier == Quantifier::Forall));
        for datum in &self.domain {
            inner.binding.truncate(scope.binding.len());
            inner.binding.push((variable, *datum));
            let table = self.quantify(quantifier, rest, body, &inner);
            result = match quantifier {
                Quantifier::Forall => self.tabulate(|i| and(result[i], table[i])),
                Quantifier::Exists => self.tabulate(|i| or(result[i], table[i])),
            };
        }
        result
    }

    /// What a measure comes to at every position.
    fn measure(&self, measure: &'a Measure, scope: &Scope<'a>) -> Vec<Quantity> {
        let positions = 0..self.layout.length.max(1);
        match measure {
            Measure::Term(term) => {
                let quantity = match scope.datum(term) {
                    Some(Datum::Value(value)) => Quantity::of(value),
                    // What nobody has seen is no number that anybody could name.
                    Some(Datum::Unseen(_)) | None => Quantity::Nothing,
                };
                positions.map(|_| quantity.clone()).collect()
            }
            Measure::Computed(sign, left, right) => {
                let (left, right) = (self.measure(left, scope), self.measure(right, scope));
                positions.map(|i| Quantity::computed(*sign, &left[i], &right[i])).collect()
            }
            // A word that repeats has no last time to count up to.
            Measure::Aggregate(_) if self.layout.repeats() => positions.map(|_| Quantity::Unknown).collect(),
            Measure::Aggregate(aggregate) => {
                let mut happened = Vec::new();
                self.happenings(&aggregate.variables, aggregate.body, scope, None, &mut happened);
                positions.map(|i| self.gather(aggregate, i, &happened)).collect()
            }
        }
    }

    /// Every choice of values for some variables, with what the body is then; the value of the first variable is told.
    fn happenings(
        &self,
        variables: &'a [Arc<str>],
        body: Formula,
        scope: &Scope<'a>,
        first: Option<&'a Value>,
        happened: &mut Vec<(Option<&'a Value>, Table)>,
    ) {
        let mut inner = Scope { binding: scope.binding.clone(), ..Scope::default() };
        let Some((variable, rest)) = variables.split_first() else {
            happened.push((first, self.table(body, &mut inner)));
            return;
        };
        // The body holds for no value that was never seen: formulas of which that is not so are refused.
        for datum in &self.domain {
            let Datum::Value(value) = datum else { continue };
            inner.binding.truncate(scope.binding.len());
            inner.binding.push((variable, *datum));
            self.happenings(rest, body, &inner, first.or(Some(value)), happened);
        }
    }

    fn gather(&self, aggregate: &Aggregate, i: usize, happened: &[(Option<&Value>, Table)]) -> Quantity {
        // The values, from the first position on.
        let mut values: Vec<(usize, Option<&Value>)> = Vec::new();
        if !self.layout.is_empty() {
            for j in 0..=i {
                for (value, table) in happened {
                    match and(self.layout.within(aggregate.interval, j, i), table[j]) {
                        Some(true) => values.push((j, *value)),
                        Some(false) => {}
                        None => return Quantity::Unknown,
                    }
                }
            }
        }
        let numbers: Option<Vec<FixedDecimal>> =
            values.iter().map(|(_, value)| value.and_then(FixedDecimal::of)).collect();
        let number = |number: Option<FixedDecimal>| number.map_or(Quantity::Nothing, Quantity::Number);
        match (aggregate.kind, numbers) {
            (AggregateKind::Count, _) => Quantity::Number(FixedDecimal::whole(values.len() as u64)),
            (AggregateKind::Distinct, _) => {
                let mut different: Vec<Option<&Value>> = values.iter().map(|(_, value)| *value).collect();
                different.sort_unstable();
                different.dedup();
                Quantity::Number(FixedDecimal::whole(different.len() as u64))
            }
            (AggregateKind::Latest, _) => {
                let last = values.iter().max().and_then(|(_, value)| *value);
                last.map_or(Quantity::Nothing, Quantity::of)
            }
            (_, None) => Quantity::Unknown,
            (AggregateKind::Sum, Some(numbers)) => {
                Quantity::Number(numbers.into_iter().fold(FixedDecimal::ZERO, FixedDecimal::plus))
            }
            (AggregateKind::Min, Some(numbers)) => number(numbers.into_iter().min()),
            (AggregateKind::Max, Some(numbers)) => number(numbers.into_iter().max()),
            (AggregateKind::Average, Some(numbers)) => {
                let count = FixedDecimal::whole(numbers.len() as u64);
                number(numbers.into_iter().fold(FixedDecimal::ZERO, FixedDecimal::plus).over(count))
            }
        }
    }

    fn compare(&self, comparison: Comparison, left: Option<Datum<'_>>, right: Option<Datum<'_>>) -> Option<bool> {
        let (Some(left), Some(right)) = (left, right) else { return Some(false) };
        match (left, right) {
            (Datum::Value(left), Datum::Value(right)) => Some(comparison.holds(left, right)),
            // Whatever it is, a value compares with itself as any other does.
            (left, right) if left == right => Some(comparison.holds(&Value::Bool(true), &Value::Bool(true))),
            _ => match comparison {
                Comparison::Equal => Some(false),
                Comparison::Unequal => Some(true),
                _ => self.is_whole.then_some(false),
            },
        }
    }

    fn unary(&self, operator: Unary, interval: Interval, f: &Table) -> Table {
        let yes = |_| Some(true);
        let f = |i: usize| f[self.layout.fold(i)];
        if self.layout.is_empty() {
            let weak = [Unary::WeakNext, Unary::Always, Unary::WeakPrevious, Unary::Historically];
            return self.everywhere(Some(weak.contains(&operator)));
        }
        self.tabulate(|i| match operator {
            Unary::Next | Unary::WeakNext if self.layout.has(i + 1) => f(i + 1),
            Unary::Next => Some(false),
            Unary::WeakNext => Some(true),
            Unary::Previous | Unary::WeakPrevious if i > 0 => f(i - 1),
            Unary::Previous => Some(false),
            Unary::WeakPrevious => Some(true),
            Unary::Eventually => self.until(i, interval, yes, f),
            Unary::Always => not(self.until(i, interval, yes, |j| not(f(j)))),
            Unary::Once => self.since(i, interval, yes, f),
            Unary::Historically => not(self.since(i, interval, yes, |j| not(f(j)))),
        })
    }

    fn binary(&self, operator: Binary, interval: Interval, f: &Table, g: &Table) -> Table {
        if self.layout.is_empty() {
            let weak = [Binary::WeakUntil, Binary::Release, Binary::Trigger];
            return self.everywhere(Some(weak.contains(&operator)));
        }
        let f = |i: usize| f[self.layout.fold(i)];
        let g = |i: usize| g[self.layout.fold(i)];
        self.tabulate(|i| match operator {
            Binary::Until => self.until(i, interval, f, g),
            Binary::WeakUntil => self.weak_until(i, interval, f, g),
            Binary::Release => not(self.until(i, interval, |j| not(f(j)), |j| not(g(j)))),
            Binary::StrongRelease => not(self.weak_until(i, interval, |j| not(f(j)), |j| not(g(j)))),
            Binary::Since => self.since(i, interval, f, g),
            Binary::Trigger => not(self.since(i, interval, |j| not(f(j)), |j| not(g(j)))),
        })
    }

    /// There is a later position (or this one) within the bound where g holds, and f holds at all before it from here.
    fn until(
        &self,
        i: usize,
        interval: Interval,
        f: impl Fn(usize) -> Option<bool>,
        g: impl Fn(usize) -> Option<bool>,
    ) -> Option<bool> {
        let (mut found, mut so_far) = (Some(false), Some(true));
        for j in i..self.layout.search_end(interval, i) {
            found = or(found, and(so_far, and(self.layout.within(interval, i, j), g(j))));
            so_far = and(so_far, f(j));
            if found == Some(true) || so_far == Some(false) {
                break;
            }
        }
        found
    }

    /// Until, or f holds as far as the bound goes.
    fn weak_until(
        &self,
        i: usize,
        interval: Interval,
        f: impl Fn(usize) -> Option<bool>,
        g: impl Fn(usize) -> Option<bool>,
    ) -> Option<bool> {
        let whole = match interval {
            Interval::Steps { to, .. } => Interval::Steps { from: 0, to },
            Interval::Time { to, .. } => Interval::Time { from: Span(0), to },
        };
        let broken = self.until(i, whole, |_| Some(true), |j| not(f(j)));
        or(self.until(i, interval, f, g), not(broken))
    }

    /// There is an earlier position (or this one) within the bound where g held, and f held at all after it up to here.
    fn since(
        &self,
        i: usize,
        interval: Interval,
        f: impl Fn(usize) -> Option<bool>,
        g: impl Fn(usize) -> Option<bool>,
    ) -> Option<bool> {
        let (mut found, mut so_far) = (Some(false), Some(true));
        for j in (0..=i).rev() {
            found = or(found, and(so_far, and(self.layout.within(interval, j, i), g(j))));
            so_far = and(so_far, f(j));
            if found == Some(true) || so_far == Some(false) {
                break;
            }
        }
        found
    }
}

fn not(value: Option<bool>) -> Option<bool> {
    value.map(|value| !value)
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    not(and(not(left), not(right)))
}

/// True if a known fact fits the atom, not determined if an unknown one might.
fn known<'a>(atom: &'a Atom, facts: &Facts, scope: &Scope<'a>) -> Option<bool> {
    let fits = |fact: &Fact| {
        fact.name == atom.name
            && atom.terms.len() <= fact.values.len()
            && atom.terms.iter().zip(&fact.values).all(|(term, value)| match scope.datum(term) {
                Some(datum) => datum == Datum::Value(value),
                None => *term == Term::Any,
            })
    };
    let might_fit = |unknown: &Atom| {
        unknown.name == atom.name
            && atom.terms.iter().zip(&unknown.terms).all(|pair| match pair {
                (term, Term::Value(value)) if *term != Term::Any => scope.datum(term) == Some(Datum::Value(value)),
                _ => true,
            })
    };
    if facts.known.iter().any(fits) {
        return Some(true);
    }
    if facts.unknown.iter().any(might_fit) { None } else { Some(false) }
}

/// Everything a variable can stand for; empty where the formula has none.
fn domain<'a>(arena: &'a Arena, f: Formula, positions: &'a [Facts]) -> Vec<Datum<'a>> {
    let (mut constants, mut variables) = (Vec::new(), 0);
    let mut seen = FxHashMap::default();
    let mut open = vec![f];
    while let Some(f) = open.pop() {
        if seen.insert(f, ()).is_some() {
            continue;
        }
        let node = &arena[f];
        match node {
            Node::Fact(atom) => constants.extend(&atom.terms),
            Node::Compare(_, left, right) => constants.extend([left, right]),
            Node::Measure(_, left, right) => {
                constants.extend(left.terms().into_iter().chain(right.terms()));
                // Variables of aggregates range over what was seen.
                variables += 1;
            }
            Node::Quantified(_, bound, _) => variables += bound.len(),
            _ => {}
        }
        open.extend(node.operands());
    }
    if variables == 0 {
        return Vec::new();
    }
    let unknown = positions.iter().flat_map(|facts| &facts.unknown).flat_map(|atom| &atom.terms);
    let terms = constants.into_iter().chain(unknown).filter_map(|term| match term {
        Term::Value(value) => Some(value),
        _ => None,
    });
    let known = positions.iter().flat_map(|facts| &facts.known).flat_map(|fact| &fact.values);
    let mut domain: Vec<Datum<'a>> = Vec::new();
    for value in terms.chain(known) {
        if !domain.contains(&Datum::Value(value)) {
            domain.push(Datum::Value(value));
        }
    }
    domain.extend((0..variables).map(Datum::Unseen));
    domain
}
