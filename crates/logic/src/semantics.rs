//! The definition: the value of a formula on a word, slow and plainly right.
//!
//! All other code of this crate is tested against [`evaluate`]. It computes, from the leaves up, one table per
//! subformula with its value at every position. Values are those of Kleene: true, false, or `None` for undetermined,
//! which comes only from unknown facts and an open future.
//!
//! Two operators are spelled out, `U` and `S`; all others are written in terms of them, as the textbooks do. On a
//! finite word this is LTL on finite traces (De Giacomo, Vardi 2013), on a lasso LTL with past (Lichtenstein, Pnueli,
//! Zuck 1985); bounds are those of MTL over points (Koymans 1990).

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::facts::{Fact, Facts};
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::measure::{Aggregate, AggregateKind, FixedDecimal, Measure, Quantity};
use crate::term::{Atom, Term};
use crate::value::Value;
use crate::word::{Ending, Layout, Word};

/// Whether a formula without free variables holds at the first position of a word; `None` if undetermined.
///
/// On a word that stops or repeats and has no unknown facts it is always determined. On the empty finite word no fact
/// holds, and of the temporal operators those hold that ask for no position: `N G R W Z H T`.
///
/// Quantifiers range over every value there could be: those in the word and in the formula, and values never seen. All
/// unseen values behave alike, so as many represent them as the formula has variables. A value never seen is in no
/// known fact, equal to itself alone and in no order with others; while facts may still come or are unknown, its order
/// is not determined. A comparison with `_`, or with a variable that nothing binds, is false.
///
/// ```
/// use lictor_logic::{Arena, Ending, Facts, Word, evaluate};
/// let mut arena = Arena::new();
/// let p = arena.fact("p");
/// let always = arena.always(p);
/// let seen = [Facts::parse("p").unwrap(), Facts::parse("p").unwrap()];
/// assert_eq!(evaluate(&arena, always, &Word { positions: &seen, ending: Ending::Stops }), Some(true));
/// assert_eq!(evaluate(&arena, always, &Word { positions: &seen, ending: Ending::Open }), None);
/// ```
pub fn evaluate(arena: &Arena, f: Formula, word: &Word<'_>) -> Option<bool> {
    let layout = Layout::new(word, arena, f);
    let domain = domain(arena, f, word.positions);
    let is_whole = word.ending != Ending::Open && word.positions.iter().all(|facts| facts.unknown.is_empty());
    Evaluation { arena, layout, domain, is_whole }.table(f, &mut VariableScope::default()).first().copied().flatten()
}

/// The value of a subformula at every position of the layout.
type TruthTable = Rc<[Option<bool>]>;

/// The value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DomainValue<'a> {
    Value(&'a Value),
    /// The n-th of the values never seen.
    Unseen(usize),
}

/// The values of variables, and the tables computed under them.
#[derive(Default)]
struct VariableScope<'a> {
    binding: Vec<(&'a Arc<str>, DomainValue<'a>)>,
    tables: FxHashMap<Formula, TruthTable>,
}

impl<'a> VariableScope<'a> {
    fn datum(&self, term: &'a Term) -> Option<DomainValue<'a>> {
        match term {
            Term::Any => None,
            Term::Value(value) => Some(DomainValue::Value(value)),
            // The innermost quantifier of a name binds it.
            Term::Var(name) => self.binding.iter().rev().find(|(bound, _)| *bound == name).map(|(_, datum)| *datum),
        }
    }
}

struct Evaluation<'a> {
    arena: &'a Arena,
    layout: Layout<'a>,
    domain: Vec<DomainValue<'a>>,
    /// Whether no unseen value can come.
    is_whole: bool,
}

impl<'a> Evaluation<'a> {
    fn table(&self, f: Formula, scope: &mut VariableScope<'a>) -> TruthTable {
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
                let list: Vec<TruthTable> = list.iter().map(|g| self.table(*g, scope)).collect();
                self.tabulate(|i| list.iter().map(|g| g[i]).reduce(and).unwrap_or(Some(true)))
            }
            Node::Or(list) => {
                let list: Vec<TruthTable> = list.iter().map(|g| self.table(*g, scope)).collect();
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

    fn tabulate(&self, value: impl Fn(usize) -> Option<bool>) -> TruthTable {
        // The empty word has no position; its one entry is the value on it.
        (0..self.layout.length.max(1)).map(value).collect()
    }

    fn everywhere(&self, value: Option<bool>) -> TruthTable {
        self.tabulate(|_| value)
    }

    fn quantify(
        &self,
        quantifier: Quantifier,
        variables: &'a [Arc<str>],
        body: Formula,
        scope: &VariableScope<'a>,
    ) -> TruthTable {
        let Some((variable, rest)) = variables.split_first() else {
            return self.table(body, &mut VariableScope { binding: scope.binding.clone(), ..VariableScope::default() });
        };
        let mut inner = VariableScope { binding: scope.binding.clone(), ..VariableScope::default() };
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

    /// Returns the value of a measure at every position.
    fn measure(&self, measure: &'a Measure, scope: &VariableScope<'a>) -> Vec<Quantity> {
        let positions = 0..self.layout.length.max(1);
        match measure {
            Measure::Term(term) => {
                let quantity = match scope.datum(term) {
                    Some(DomainValue::Value(value)) => Quantity::from_value(value),
                    // An unseen value has no number.
                    Some(DomainValue::Unseen(_)) | None => Quantity::Nothing,
                };
                positions.map(|_| quantity.clone()).collect()
            }
            Measure::Computed(sign, left, right) => {
                let (left, right) = (self.measure(left, scope), self.measure(right, scope));
                positions.map(|i| Quantity::compute(*sign, &left[i], &right[i])).collect()
            }
            // A word that repeats has no end to count up to.
            Measure::Aggregate(_) if self.layout.repeats() => positions.map(|_| Quantity::Unknown).collect(),
            Measure::Aggregate(aggregate) => {
                let mut happened = Vec::new();
                self.happenings(&aggregate.variables, aggregate.body, scope, None, &mut happened);
                positions.map(|i| self.gather(aggregate, i, &happened)).collect()
            }
        }
    }

    /// Collects every choice of values for some variables: the value of the first one, and the table of the body.
    fn happenings(
        &self,
        variables: &'a [Arc<str>],
        body: Formula,
        scope: &VariableScope<'a>,
        first: Option<&'a Value>,
        happened: &mut Vec<(Option<&'a Value>, TruthTable)>,
    ) {
        let mut inner = VariableScope { binding: scope.binding.clone(), ..VariableScope::default() };
        let Some((variable, rest)) = variables.split_first() else {
            happened.push((first, self.table(body, &mut inner)));
            return;
        };
        // The body holds for no unseen value: other formulas are refused.
        for datum in &self.domain {
            let DomainValue::Value(value) = datum else { continue };
            inner.binding.truncate(scope.binding.len());
            inner.binding.push((variable, *datum));
            self.happenings(rest, body, &inner, first.or(Some(value)), happened);
        }
    }

    fn gather(&self, aggregate: &Aggregate, i: usize, happened: &[(Option<&Value>, TruthTable)]) -> Quantity {
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
            values.iter().map(|(_, value)| value.and_then(FixedDecimal::from_value)).collect();
        let number = |number: Option<FixedDecimal>| number.map_or(Quantity::Nothing, Quantity::Number);
        match (aggregate.kind, numbers) {
            (AggregateKind::Count, _) => Quantity::Number(FixedDecimal::from_whole(values.len() as u64)),
            (AggregateKind::Distinct, _) => {
                let mut different: Vec<Option<&Value>> = values.iter().map(|(_, value)| *value).collect();
                different.sort_unstable();
                different.dedup();
                Quantity::Number(FixedDecimal::from_whole(different.len() as u64))
            }
            (AggregateKind::Latest, _) => {
                let last = values.iter().max().and_then(|(_, value)| *value);
                last.map_or(Quantity::Nothing, Quantity::from_value)
            }
            (_, None) => Quantity::Unknown,
            (AggregateKind::Sum, Some(numbers)) => {
                Quantity::Number(numbers.into_iter().fold(FixedDecimal::ZERO, FixedDecimal::saturating_add))
            }
            (AggregateKind::Min, Some(numbers)) => number(numbers.into_iter().min()),
            (AggregateKind::Max, Some(numbers)) => number(numbers.into_iter().max()),
            (AggregateKind::Average, Some(numbers)) => {
                let count = FixedDecimal::from_whole(numbers.len() as u64);
                number(numbers.into_iter().fold(FixedDecimal::ZERO, FixedDecimal::saturating_add).divide(count))
            }
        }
    }

    fn compare(
        &self,
        comparison: Comparison,
        left: Option<DomainValue<'_>>,
        right: Option<DomainValue<'_>>,
    ) -> Option<bool> {
        let (Some(left), Some(right)) = (left, right) else { return Some(false) };
        match (left, right) {
            (DomainValue::Value(left), DomainValue::Value(right)) => Some(comparison.holds(left, right)),
            // Every value compares with itself alike.
            (left, right) if left == right => Some(comparison.holds(&Value::Bool(true), &Value::Bool(true))),
            _ => match comparison {
                Comparison::Equal => Some(false),
                Comparison::Unequal => Some(true),
                _ => self.is_whole.then_some(false),
            },
        }
    }

    fn unary(&self, operator: Unary, interval: Interval, f: &TruthTable) -> TruthTable {
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

    fn binary(&self, operator: Binary, interval: Interval, f: &TruthTable, g: &TruthTable) -> TruthTable {
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

    /// Whether g holds at this or a later position within the bound, and f at all positions before it from here.
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

    /// Until, or f holds up to the end of the bound.
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

    /// Whether g held at this or an earlier position within the bound, and f at all positions after it up to here.
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

/// Returns true if a known fact matches the atom, undetermined if an unknown one might.
fn known<'a>(atom: &'a Atom, facts: &Facts, scope: &VariableScope<'a>) -> Option<bool> {
    let fits = |fact: &Fact| {
        fact.name == atom.name
            && atom.terms.len() <= fact.values.len()
            && atom.terms.iter().zip(&fact.values).all(|(term, value)| match scope.datum(term) {
                Some(datum) => datum == DomainValue::Value(value),
                None => *term == Term::Any,
            })
    };
    let might_fit = |unknown: &Atom| {
        unknown.name == atom.name
            && atom.terms.iter().zip(&unknown.terms).all(|pair| match pair {
                (term, Term::Value(value)) if *term != Term::Any => {
                    scope.datum(term) == Some(DomainValue::Value(value))
                }
                _ => true,
            })
    };
    if facts.known.iter().any(fits) {
        return Some(true);
    }
    if facts.unknown.iter().any(might_fit) { None } else { Some(false) }
}

/// Returns all values that a variable can have; empty if the formula has none.
fn domain<'a>(arena: &'a Arena, f: Formula, positions: &'a [Facts]) -> Vec<DomainValue<'a>> {
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
                // Variables of aggregates range over seen values.
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
    let mut domain: Vec<DomainValue<'a>> = Vec::new();
    for value in terms.chain(known) {
        if !domain.contains(&DomainValue::Value(value)) {
            domain.push(DomainValue::Value(value));
        }
    }
    domain.extend((0..variables).map(DomainValue::Unseen));
    domain
}
