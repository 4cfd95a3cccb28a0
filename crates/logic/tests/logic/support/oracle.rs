//! Live verdicts by definition: looks for lassos that continue a trace, and evaluates the formula on each.
//!
//! A trace is violated if no continuation satisfies the formula, and every satisfiable formula of the logic has a
//! continuation that is a lasso. So one satisfying and one violating lasso prove a verdict inconclusive, and no
//! satisfying lasso among many supports a violation. How many are tried is the caller's choice.

use std::fmt;

use lictor_logic::{Arena, Atom, Ending, Fact, Facts, Formula, Node, Span, Term, Time, Value, Verdict, Word, evaluate};

use crate::support::random::Random;
use crate::support::trace::Entry;

/// Finds continuations of a trace on which a formula has a given value.
#[derive(Debug)]
pub(crate) struct Oracle<'a> {
    arena: &'a Arena,
    f: Formula,
    /// Every fact that the formula can tell from its absence, over the values that matter.
    ground: Vec<Fact>,
    /// The facts that a further position may have.
    letters: Vec<Vec<Fact>>,
    /// The bounds in time.
    bounds: Vec<Span>,
}

/// A trace so far: its positions, and the moment that every later position is after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefix {
    pub(crate) positions: Vec<Facts>,
    pub(crate) after: Option<Time>,
}

impl Prefix {
    pub(crate) fn push(&mut self, entry: &Entry) {
        match entry {
            Entry::Position(facts) => {
                // A position without a time is at the time of what is before it, also of a tick.
                let after = self.after.filter(|_| facts.time.is_none()).map(|time| Time(time.0 + 1));
                let is_first = after > self.positions.iter().filter_map(|facts| facts.time).max();
                self.positions.push(Facts { time: facts.time.or(after.filter(|_| is_first)), ..facts.clone() });
            }
            Entry::Tick(time) => {
                self.after = self.after.max(Some(*time));
                // It is the first known time.
                if self.positions.iter().all(|facts| facts.time.is_none())
                    && let Some(last) = self.positions.last_mut()
                {
                    last.time = Some(Time(time.0 + 1));
                }
            }
        }
    }

    fn last_time(&self) -> Time {
        let times = self.positions.iter().filter_map(|facts| facts.time).chain(self.after);
        times.max().unwrap_or_default()
    }
}

/// An infinite word: positions, of which those from `from` on are repeated.
#[derive(Debug)]
pub(crate) struct Lasso {
    positions: Vec<Facts>,
    from: usize,
    period: Span,
}

impl fmt::Display for Lasso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, facts) in self.positions.iter().enumerate() {
            if index == self.from {
                f.write_str("( ")?;
            }
            write!(f, "{} ", Entry::Position(facts.clone()))?;
        }
        write!(f, ")*")?;
        if self.period > Span(0) { write!(f, " every {}", self.period) } else { Ok(()) }
    }
}

impl<'a> Oracle<'a> {
    pub(crate) fn new(arena: &'a Arena, f: Formula, trace: &[Entry]) -> Oracle<'a> {
        let vocabulary = Vocabulary::from_formula(arena, f, trace);
        let ground = vocabulary.ground();
        Oracle { arena, f, letters: letters(&ground), ground, bounds: vocabulary.bounds }
    }

    /// A continuation of the trace, for some resolution of its unknown facts, on which the formula has this value.
    ///
    /// Tries all lassos with few further positions, the smallest first, then longer ones at random; `effort` in all.
    pub(crate) fn example(&self, prefix: &Prefix, value: bool, effort: usize) -> Option<Lasso> {
        let delays = self.delays(prefix);
        let mut words: Vec<Vec<Facts>> = self.resolutions(&prefix.positions);
        let mut try_out = |size, number| self.try_out(&mut words, prefix, &delays, size, number, value);
        // All lassos with so many further positions: the choices for each, where the loop begins, and the last delay.
        let choices = self.letters.len() * delays.len();
        let count = |size: usize| choices.checked_pow(size as u32)?.checked_mul(size)?.checked_mul(delays.len());
        let (mut spent, mut size) = (0, 1);
        while let Some(count) = count(size).filter(|count| spent + count <= effort / 2) {
            if let Some(lasso) = (0..count).find_map(|number| try_out(size, number)) {
                return Some(lasso);
            }
            spent += count;
            size += 1;
        }
        let mut random = Random::new(effort as u64);
        (spent..effort).find_map(|_| {
            let longer = size + random.below(3);
            try_out(longer, random.below(count(longer)?))
        })
    }

    /// By how much later a further position may be: not at all, half of a bound, all of it, more, or just so much that
    /// an earlier position is a bound ago.
    fn delays(&self, prefix: &Prefix) -> Vec<Span> {
        let mut delays = vec![Span(0)];
        // With bounds, time must be able to pass, even if all of them are zero.
        delays.extend(self.bounds.first().map(|_| Span::from_seconds(1)));
        for bound in &self.bounds {
            delays.extend([Span(bound.0 / 2), *bound, Span(bound.0 + bound.0 / 2)]);
            let times = prefix.positions.iter().filter_map(|facts| facts.time);
            delays.extend(times.map(|time| time.plus(*bound).since(prefix.last_time())));
        }
        // A position without a time after a tick is a nanosecond later, and a period so short would take years to write out.
        delays.retain(|delay| delay.0 == 0 || delay.0 >= 500_000_000);
        delays.sort_unstable();
        delays.dedup();
        delays
    }

    /// Evaluates the lasso of this number among those with `size` further positions.
    fn try_out(
        &self,
        words: &mut [Vec<Facts>],
        prefix: &Prefix,
        delays: &[Span],
        size: usize,
        number: usize,
        value: bool,
    ) -> Option<Lasso> {
        let mut rest = number;
        let mut digit = |base: usize| {
            let digit = rest % base;
            rest /= base;
            digit
        };
        let from = prefix.positions.len() + digit(size);
        let gap = delays[digit(delays.len())];
        let is_timed = delays.len() > 1;
        let mut now = prefix.last_time();
        let mut further = Vec::with_capacity(size);
        for _ in 0..size {
            let letter = digit(self.letters.len());
            now = now.plus(delays[digit(delays.len())]);
            further.push(Facts { time: is_timed.then_some(now), known: self.letters[letter].clone(), unknown: vec![] });
        }
        let start = further[from - prefix.positions.len()].time.unwrap_or_default();
        let period = Span(now.since(start).0 + gap.0);
        let first = further[0].time;
        // A tick promises later times, and time does not stand still for ever.
        if is_timed && (period == Span(0) || prefix.after.is_some_and(|after| first <= Some(after))) {
            return None;
        }
        let period = if is_timed { period } else { Span(0) };
        for word in words {
            word.truncate(prefix.positions.len());
            word.append(&mut further.clone());
            let ending = Ending::Repeats { from, period };
            if evaluate(self.arena, self.f, &Word { positions: word, ending }) == Some(value) {
                return Some(Lasso { positions: word.clone(), from, period });
            }
        }
        None
    }

    /// The verdict at the end of a trace, for every resolution of its unknown facts.
    ///
    /// Finite-trace LTL decides, unless a live verdict had been reached already: where no continuation has the value
    /// that the finite trace has, every continuation has the other. With no effort, finite-trace LTL decides alone.
    pub(crate) fn end(&self, prefix: &Prefix, effort: usize) -> Verdict {
        let mut verdicts = self.resolutions(&prefix.positions).into_iter().map(|positions| {
            let word = Word { positions: &positions, ending: Ending::Stops };
            let value = evaluate(self.arena, self.f, &word) == Some(true);
            let resolved = Prefix { positions, after: prefix.after };
            let stands = effort == 0 || self.example(&resolved, value, effort).is_some();
            Verdict::from_truth(Some(value == stands))
        });
        let first = verdicts.next().unwrap_or(Verdict::Inconclusive);
        if verdicts.all(|verdict| verdict == first) { first } else { Verdict::Inconclusive }
    }

    /// Returns the positions under every resolution of their unknown facts.
    fn resolutions(&self, positions: &[Facts]) -> Vec<Vec<Facts>> {
        let known = |facts: &Facts| Facts { unknown: Vec::new(), ..facts.clone() };
        let mut words = vec![positions.iter().map(known).collect::<Vec<_>>()];
        for (index, facts) in positions.iter().enumerate() {
            for fact in self.ground.iter().filter(|fact| facts.unknown.iter().any(|atom| fits(atom, fact))) {
                let mut with = words.clone();
                with.iter_mut().for_each(|word| word[index].known.push(fact.clone()));
                words.append(&mut with);
            }
        }
        assert!(words.len() <= 1 << 10, "too many unknown facts to try them all");
        words
    }
}

fn fits(atom: &Atom, fact: &Fact) -> bool {
    atom.name == fact.name
        && atom.terms.iter().zip(&fact.values).all(|(term, value)| match term {
            Term::Value(wanted) => wanted == value,
            _ => true,
        })
}

/// Every set of facts while they are few, else those with few present or few absent.
fn letters(ground: &[Fact]) -> Vec<Vec<Fact>> {
    let count = ground.len();
    let is_chosen = |bits: u64| {
        let present = bits.count_ones() as usize;
        count <= 3 || present <= 1 || present + 1 >= count || (present == 2 && count <= 6)
    };
    let subset = |bits: u64| (0..count).filter(|i| bits >> i & 1 == 1).map(|i| ground[i].clone()).collect();
    if count <= 12 {
        return (0..1 << count).filter(|bits| is_chosen(*bits)).map(subset).collect();
    }
    let full = u64::MAX >> (64 - count);
    [0, full].into_iter().chain((0..count).flat_map(|i| [1 << i, full & !(1 << i)])).map(subset).collect()
}

/// The atoms, values and time bounds of a formula and a trace.
struct Vocabulary {
    atoms: Vec<Atom>,
    values: Vec<Value>,
    bounds: Vec<Span>,
}

impl Vocabulary {
    fn from_formula(arena: &Arena, f: Formula, trace: &[Entry]) -> Vocabulary {
        let mut vocabulary = Vocabulary { atoms: Vec::new(), values: Vec::new(), bounds: Vec::new() };
        vocabulary.visit(arena, f);
        for entry in trace {
            if let Entry::Position(facts) = entry {
                let known = facts.known.iter().flat_map(|fact| fact.values.to_vec());
                let unknown = facts.unknown.iter().flat_map(|atom| atom.terms.to_vec()).filter_map(term_value);
                known.chain(unknown).for_each(|value| vocabulary.add(value));
            }
        }
        vocabulary.values.push(Value::text("unseen"));
        vocabulary
    }

    fn visit(&mut self, arena: &Arena, f: Formula) {
        match &arena[f] {
            Node::Fact(atom) => {
                atom.terms.iter().cloned().filter_map(term_value).for_each(|value| self.add(value));
                if !self.atoms.contains(atom) {
                    self.atoms.push(atom.clone());
                }
            }
            Node::Compare(_, left, right) => {
                for value in [left, right].into_iter().cloned().filter_map(term_value) {
                    // A number in a comparison matters together with its neighbors on both sides.
                    if let Value::Integer(integer) = value {
                        self.add(Value::Integer(integer - 1));
                        self.add(Value::Integer(integer + 1));
                    }
                    self.add(value);
                }
            }
            Node::Unary(_, interval, _) | Node::Binary(_, interval, ..) => {
                if let lictor_logic::Interval::Time { from, to } = interval {
                    self.bounds.extend([*from].into_iter().chain(*to));
                }
            }
            _ => {}
        }
        arena[f].operands().into_iter().for_each(|g| self.visit(arena, g));
    }

    fn add(&mut self, value: Value) {
        if !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    fn ground(&self) -> Vec<Fact> {
        let mut ground: Vec<Fact> = Vec::new();
        for atom in &self.atoms {
            let mut lists = vec![Vec::new()];
            for term in &atom.terms {
                let options = match term {
                    Term::Value(value) => std::slice::from_ref(value),
                    _ => &self.values[..],
                };
                let extend = |list: Vec<Value>| {
                    options.iter().map(move |value| list.iter().chain([value]).cloned().collect::<Vec<Value>>())
                };
                lists = lists.into_iter().flat_map(extend).collect();
            }
            for values in lists {
                let fact = Fact::new(atom.name.clone(), values);
                if !ground.contains(&fact) {
                    ground.push(fact);
                }
            }
        }
        ground
    }
}

fn term_value(term: Term) -> Option<Value> {
    match term {
        Term::Value(value) => Some(value),
        _ => None,
    }
}
