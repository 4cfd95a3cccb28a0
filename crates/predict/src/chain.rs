//! What is learnt of how the events of an agent follow each other: how often each symbol came after the few before it.
//!
//! A chain knows nothing of properties. What a symbol does to them is computed, so one chain serves every property,
//! those that are written later too, and a violation that no log has still has a probability.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::symbol::{Constants, RecentValues, Step, Symbol, read_symbol};
use lictor_math::ln;

/// The end of a session.
pub(crate) const END: u32 = 0;
/// An action of the agent that is in no class of its own.
pub(crate) const OTHER_ACTION: u32 = 1;
/// Any other event that is in no class of its own.
pub(crate) const OTHER: u32 = 2;
/// What is before the first event.
pub(crate) const START: u32 = 3;
/// Paths are followed for this many symbols for each action that is looked ahead.
pub(crate) const SYMBOLS_PER_ACTION: u32 = 8;
/// Stands in contexts for a symbol that is not looked at.
pub(crate) const FORGOTTEN: u32 = u32::MAX;
/// The most events before the next one that a chain looks at.
pub(crate) const MAX_ORDER: usize = 3;

/// The last symbols, the latest at the end. Those that are not looked at are forgotten.
pub(crate) type SymbolContext = [u32; MAX_ORDER];
/// The number of the first symbol.
pub(crate) const FIRST: u32 = 4;

/// The number of symbols whose mean loss says whether a session is like those that were learnt from.
pub(crate) const LOSS_WINDOW: usize = 20;

/// The fewest symbols that say so.
pub(crate) const MIN_LOSS_WINDOW: usize = 5;

/// A chain, learnt from logs.
#[derive(Clone, Debug)]
pub struct Chain {
    pub(crate) constants: Constants,
    pub(crate) symbols: Vec<Symbol>,
    numbers: FxHashMap<Symbol, u32>,
    /// The kinds of events that the logs had.
    kinds: BTreeSet<Arc<str>>,
    pub(crate) order: usize,
    pub(crate) smoothing: f64,
    pub(crate) rows: FxHashMap<SymbolContext, Row>,
    /// The mean loss of a window that only one of a hundred was above.
    pub(crate) loss_limit: f64,
    /// The time before an event of each symbol, on average.
    pub(crate) gaps: Vec<i64>,
    pub(crate) sessions: u64,
    pub(crate) events: u64,
    /// The names of the facts that it was learnt with.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) hash: Arc<str>,
}

/// How often each symbol came after a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) total: u64,
    /// By number, with its count.
    pub(crate) next: Vec<(u32, u64)>,
}

impl Row {
    pub(crate) fn count(&self, symbol: u32) -> u64 {
        self.next.binary_search_by_key(&symbol, |(symbol, _)| *symbol).map_or(0, |place| self.next[place].1)
    }

    pub(crate) fn add(&mut self, symbol: u32) {
        self.total += 1;
        match self.next.binary_search_by_key(&symbol, |(symbol, _)| *symbol) {
            Ok(place) => self.next[place].1 += 1,
            Err(place) => self.next.insert(place, (symbol, 1)),
        }
    }
}

/// Where a session is in a chain: its last symbols, and how well the chain foretold them.
#[derive(Clone, Debug)]
pub struct ChainPlace {
    pub(crate) context: SymbolContext,
    pub(crate) recent: RecentValues,
    losses: VecDeque<f64>,
    /// Whether the last event was passed over, because no log had its kind.
    is_passed: bool,
}

impl Chain {
    pub(crate) fn new(constants: Constants, symbols: Vec<Symbol>, order: usize, smoothing: f64) -> Chain {
        let numbers = symbols.iter().zip(FIRST..).map(|(symbol, number)| (symbol.clone(), number)).collect();
        let kinds = symbols.iter().map(|symbol| Arc::clone(&symbol.kind)).collect();
        Chain {
            constants,
            symbols,
            numbers,
            kinds,
            order,
            smoothing,
            rows: FxHashMap::default(),
            loss_limit: f64::INFINITY,
            gaps: Vec::new(),
            sessions: 0,
            events: 0,
            names: Vec::new(),
            hash: Arc::from(""),
        }
    }

    /// Returns how many events before the next one it looks at.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Returns the number of sessions that it was learnt from.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    /// Returns the number of events that it was learnt from.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of classes of events that it tells apart.
    pub fn classes(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the hash of its content, which names it in records.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether it was learnt with a fact of this name. What follows such facts it does not know.
    pub fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| &**known == name)
    }

    /// Whether it was learnt from an event of this tool.
    pub fn knows_tool(&self, name: &str) -> bool {
        self.symbols.iter().any(|symbol| symbol.tool.as_deref() == Some(name))
    }

    /// Returns the place before the first event of a session.
    pub fn start(&self) -> ChainPlace {
        ChainPlace {
            context: self.start_context(),
            recent: RecentValues::default(),
            losses: VecDeque::new(),
            is_passed: false,
        }
    }

    /// Reads an event of a session. One of a kind that no log had says nothing about the agent: a log of messages has no
    /// approvals and no notes of a gateway. It is passed over, unless it is an action of the agent; until the next event
    /// nothing is known of what follows it.
    pub fn follow(&self, place: &mut ChainPlace, step: &Step) {
        place.is_passed = !step.is_action && !self.kinds.contains(&step.kind);
        if place.is_passed {
            return;
        }
        let symbol = self.read(step, &mut place.recent);
        place.losses.push_back(self.loss(place.context, symbol));
        if place.losses.len() > LOSS_WINDOW {
            place.losses.pop_front();
        }
        place.context = self.push(place.context, symbol);
    }

    /// Returns the context before the first event.
    pub(crate) fn start_context(&self) -> SymbolContext {
        forget(self.order, [START; MAX_ORDER])
    }

    /// Returns a context moved on by a symbol.
    pub(crate) fn push(&self, [_, second, third]: SymbolContext, symbol: u32) -> SymbolContext {
        forget(self.order, [second, third, symbol])
    }

    /// Returns the number of an event's symbol.
    pub(crate) fn read(&self, step: &Step, recent: &mut RecentValues) -> u32 {
        let symbol = read_symbol(step, &self.constants, recent);
        self.number(&symbol)
    }

    pub(crate) fn number(&self, symbol: &Symbol) -> u32 {
        let known = self.numbers.get(symbol).or_else(|| self.numbers.get(&symbol.without_tool()));
        known.copied().unwrap_or(if symbol.is_action { OTHER_ACTION } else { OTHER })
    }

    /// Returns the symbol of a number; none for the special ones.
    pub(crate) fn symbol(&self, number: u32) -> Option<&Symbol> {
        self.symbols.get(number.checked_sub(FIRST)? as usize)
    }

    /// Whether a symbol is an action of the agent.
    pub(crate) fn is_action(&self, number: u32) -> bool {
        number == OTHER_ACTION || self.symbol(number).is_some_and(|symbol| symbol.is_action)
    }

    /// Returns the time before an event of a symbol, on average.
    pub(crate) fn gap(&self, number: u32) -> i64 {
        let place = number.checked_sub(FIRST).map(|place| place as usize);
        place.and_then(|place| self.gaps.get(place)).copied().unwrap_or(0)
    }

    /// Returns the numbers of all symbols that can come next.
    pub(crate) fn successors(&self) -> impl Iterator<Item = u32> + use<> {
        let end = FIRST + self.symbols.len() as u32;
        (0..end).filter(|number| *number != START)
    }

    /// Returns the number of all symbols that can come next.
    pub(crate) fn width(&self) -> usize {
        self.symbols.len() + FIRST as usize - 1
    }

    /// Returns what came after a context; after its last symbols only if it never occurred as a whole.
    pub(crate) fn row(&self, context: SymbolContext) -> (SymbolContext, &Row) {
        for order in (0..=self.order).rev() {
            let context = forget(order, context);
            if let Some(row) = self.rows.get(&context) {
                return (context, row);
            }
        }
        (forget(0, context), &EMPTY)
    }

    /// Whether the last event is of a class that no log had: nothing was learnt of what follows it.
    pub(crate) fn is_unseen(&self, place: &ChainPlace) -> bool {
        let (context, last) = (place.context, MAX_ORDER - 1);
        place.is_passed || context[last] != FORGOTTEN && self.row(context).0[last] == FORGOTTEN
    }

    /// Returns the probability that a symbol comes after a row's context.
    pub(crate) fn probability(&self, row: &Row, symbol: u32) -> f64 {
        (row.count(symbol) as f64 + self.smoothing) / (row.total as f64 + self.smoothing * self.width() as f64)
    }

    /// Returns how surprising a symbol is, as the negative logarithm of its probability.
    pub(crate) fn loss(&self, context: SymbolContext, symbol: u32) -> f64 {
        -ln(self.probability(self.row(context).1, symbol))
    }

    /// Whether the last events of a session are so surprising that the chain says nothing about it.
    pub fn is_out_of_model(&self, place: &ChainPlace) -> bool {
        place.losses.len() >= MIN_LOSS_WINDOW && mean(place.losses.iter().copied()) > self.loss_limit
    }
}

static EMPTY: Row = Row { total: 0, next: Vec::new() };

/// Forgets all but the last symbols of a context.
pub(crate) fn forget(order: usize, mut context: SymbolContext) -> SymbolContext {
    context[..MAX_ORDER - order].fill(FORGOTTEN);
    context
}

pub(crate) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

impl ChainPlace {
    /// Returns a seed for random paths that depends on the last symbols alone, so that a forecast can be repeated.
    pub(crate) fn seed(&self) -> u64 {
        self.context.iter().fold(0x51ed_270b, |seed: u64, symbol| seed.rotate_left(9) ^ u64::from(*symbol))
    }
}
