//! The definition: the value of a formula on a word, slow and plainly right.
//!
//! All other code of this crate is tested against [`evaluate`]. It computes, from the leaves up, one table per
//! subformula with its value at every position. Values are those of Kleene: true, false, or `None` for undetermined,
//! which comes only from unknown facts and an open future.
//!
//! Two operators are spelled out, `U` and `S`; all others are written in terms of them, as the textbooks do. On a
//! finite word this is LTL on finite traces (De Giacomo, Vardi 2013), on a lasso LTL with past (Lichtenstein, Pnueli,
//! Zuck 1985); bounds are those of MTL over points (Koymans 1990).

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Node};
use crate::facts::{Fact, Facts};
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::measure::{Aggregate, AggregateKind, FixedDecimal, Measure, Quantity};
use crate::term::{Atom, Term};
use crate::value::Value;
use crate::word::{Layout, Word};

/// Whether a formula without free variables holds at the first position of a word; `None` if undetermined.
///
/// On a word that stops or repeats and has no unknown facts it is always determined. On the empty finite word no fact
/// holds, and of the temporal operators those hold that ask for no position: `N G R W Z H T`.
///
/// Quantifiers range over every value there could be: those in the word and in the formula, and values never seen. A
/// value never seen is in no known fact and equal to itself alone. There are unseen numbers below, between and above
/// any numbers, and unseen texts likewise, except below `""` and between a text and the one that directly follows it.
/// All values in one such gap behave alike, so one represents them, and another if that one is taken. Arithmetic with
/// an unseen number is undetermined. A comparison with `_`, or with a variable that nothing binds, is false.
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
    let domain = Domain::new(arena, f, word.positions);
    Evaluation { arena, layout, domain }.table(f, &mut VariableScope::default()).first().copied().flatten()
}

/// The value of a subformula at every position of the layout.
type TruthTable = Rc<[Option<bool>]>;

/// The value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DomainValue<'a> {
    Value(&'a Value),
    /// The n-th of the values never seen, if the formula asks for no order.
    Unseen(usize),
    /// A value never seen, by its place in the order.
    Between(Place),
}

/// The place of a value never seen in the order of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    kind: OrderedKind,
    /// How many known values of the kind are less.
    gap: usize,
    /// Its place among unseen values in the same gap.
    within: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OrderedKind {
    Number,
    Text,
}

impl OrderedKind {
    fn of_value(value: &Value) -> Option<OrderedKind> {
        match value {
            Value::Bool(_) => None,
            Value::Integer(_) | Value::Decimal(_) => Some(OrderedKind::Number),
            Value::Text(_) => Some(OrderedKind::Text),
        }
    }
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
    domain: Domain<'a>,
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
                let holds = match (scope.datum(left), scope.datum(right)) {
                    (Some(left), Some(right)) => comparison.fits(self.domain.order(left, right)),
                    _ => false,
                };
                self.everywhere(Some(holds))
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
        for datum in self.domain.choices(&scope.binding) {
            inner.binding.truncate(scope.binding.len());
            inner.binding.push((variable, datum));
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
                    // It may be any number of its gap.
                    Some(DomainValue::Unseen(_) | DomainValue::Between(Place { kind: OrderedKind::Number, .. })) => {
                        Quantity::Unknown
                    }
                    Some(DomainValue::Between(Place { kind: OrderedKind::Text, .. })) | None => Quantity::Nothing,
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
        for value in &self.domain.known {
            inner.binding.truncate(scope.binding.len());
            inner.binding.push((variable, DomainValue::Value(value)));
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

static FALSE_VALUE: Value = Value::Bool(false);
static TRUE_VALUE: Value = Value::Bool(true);
/// The least text.
static EMPTY_TEXT: LazyLock<Value> = LazyLock::new(|| Value::text(""));

/// The values that a variable can have.
struct Domain<'a> {
    /// The values in the formula and in the word, and those that no other value behaves like.
    known: Vec<&'a Value>,
    /// Those that are numbers or texts, in their order.
    numbers: Vec<&'a Value>,
    texts: Vec<&'a Value>,
    /// Whether the formula compares values by more than equality.
    is_ordered: bool,
    /// How many variables the formula has.
    variables: usize,
}

impl<'a> Domain<'a> {
    fn new(arena: &'a Arena, f: Formula, positions: &'a [Facts]) -> Domain<'a> {
        let (mut constants, mut variables, mut is_ordered) = (Vec::new(), 0, false);
        let mut seen = FxHashMap::default();
        let mut open = vec![f];
        while let Some(f) = open.pop() {
            if seen.insert(f, ()).is_some() {
                continue;
            }
            let node = &arena[f];
            match node {
                Node::Fact(atom) => constants.extend(&atom.terms),
                Node::Compare(comparison, left, right) => {
                    constants.extend([left, right]);
                    is_ordered |= comparison.is_order();
                }
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
        let mut domain = Domain { known: Vec::new(), numbers: Vec::new(), texts: Vec::new(), is_ordered, variables };
        if variables == 0 {
            return domain;
        }
        let unknown = positions.iter().flat_map(|facts| &facts.unknown).flat_map(|atom| &atom.terms);
        let terms = constants.into_iter().chain(unknown).filter_map(|term| match term {
            Term::Value(value) => Some(value),
            _ => None,
        });
        let known = positions.iter().flat_map(|facts| &facts.known).flat_map(|fact| &fact.values);
        for value in terms.chain(known) {
            domain.add(value);
        }
        if is_ordered {
            [&FALSE_VALUE, &TRUE_VALUE, &*EMPTY_TEXT].into_iter().for_each(|value| domain.add(value));
        }
        domain.numbers.sort();
        domain.texts.sort();
        domain
    }

    fn add(&mut self, value: &'a Value) {
        if self.known.contains(&value) {
            return;
        }
        self.known.push(value);
        match OrderedKind::of_value(value) {
            Some(OrderedKind::Number) => self.numbers.push(value),
            Some(OrderedKind::Text) => self.texts.push(value),
            None => {}
        }
    }

    fn of_kind(&self, kind: OrderedKind) -> &[&'a Value] {
        match kind {
            OrderedKind::Number => &self.numbers,
            OrderedKind::Text => &self.texts,
        }
    }

    /// Returns one value for each kind of choice that a further variable has, beside those chosen for others.
    fn choices(&self, chosen: &[(&'a Arc<str>, DomainValue<'a>)]) -> Vec<DomainValue<'a>> {
        let mut choices: Vec<DomainValue<'a>> = self.known.iter().map(|value| DomainValue::Value(value)).collect();
        if !self.is_ordered {
            choices.extend((0..self.variables).map(DomainValue::Unseen));
            return choices;
        }
        for kind in [OrderedKind::Number, OrderedKind::Text] {
            for gap in (0..=self.of_kind(kind).len()).filter(|gap| self.has_room(kind, *gap)) {
                let mut taken: Vec<u128> = chosen
                    .iter()
                    .filter_map(|(_, datum)| match datum {
                        DomainValue::Between(place) if (place.kind, place.gap) == (kind, gap) => Some(place.within),
                        _ => None,
                    })
                    .collect();
                taken.sort_unstable();
                taken.dedup();
                // The ends are no places themselves, and nesting is far too shallow to use up the places in between.
                let ends: Vec<u128> = [0].into_iter().chain(taken.iter().copied()).chain([u128::MAX]).collect();
                let free = ends.windows(2).map(|pair| pair[0] + (pair[1] - pair[0]) / 2);
                let places = free.chain(taken).map(|within| Place { kind, gap, within });
                choices.extend(places.map(DomainValue::Between));
            }
        }
        choices
    }

    /// Whether there are values after so many known ones of a kind, and before the next.
    fn has_room(&self, kind: OrderedKind, gap: usize) -> bool {
        match (gap.checked_sub(1).map(|before| self.texts.get(before)), self.texts.get(gap)) {
            _ if kind == OrderedKind::Number => true,
            (Some(Some(Value::Text(before))), Some(Value::Text(after))) => {
                after.strip_prefix(&**before) != Some("\u{0}")
            }
            // There is no text below the first, which is empty.
            (before, _) => before.is_some(),
        }
    }

    /// Returns the order of two values; none if they are in no order.
    fn order(&self, left: DomainValue<'_>, right: DomainValue<'_>) -> Option<Ordering> {
        match (left, right) {
            (DomainValue::Value(left), DomainValue::Value(right)) => left.order(right),
            (DomainValue::Between(left), DomainValue::Between(right)) => {
                (left.kind == right.kind).then(|| left.cmp(&right))
            }
            (DomainValue::Value(value), DomainValue::Between(place)) => self.order_to_place(value, place),
            (DomainValue::Between(place), DomainValue::Value(value)) => {
                self.order_to_place(value, place).map(Ordering::reverse)
            }
            // Of unseen values without a place, only equality is asked.
            (left, right) => (left == right).then_some(Ordering::Equal),
        }
    }

    fn order_to_place(&self, value: &Value, place: Place) -> Option<Ordering> {
        if OrderedKind::of_value(value) != Some(place.kind) {
            return None;
        }
        let less = self.of_kind(place.kind).partition_point(|known| *known < value);
        Some(if less < place.gap { Ordering::Less } else { Ordering::Greater })
    }
}
