//! Learning a chain from the sessions of logs.
//!
//! How many events before the next one matter, and how much room symbols get that never came there, is not known
//! before. One session of five is held out, and what foretells these best is taken; then all sessions are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use lictor_logic::{Atom, Value};
use rustc_hash::FxHashMap;

use crate::chain::{Chain, END, FIRST, LOSS_WINDOW, MAX_ORDER, MIN_LOSS_WINDOW, OTHER, OTHER_ACTION, forget, mean};
use crate::symbol::{Constants, RecentValues, Step, Symbol, is_personal, read_symbol};

/// The fewest sessions that a chain is learnt from.
pub const MIN_SESSIONS: usize = 10;

/// The counts that a symbol may have before it was seen.
const SMOOTHINGS: [f64; 4] = [0.5, 0.1, 0.02, 0.004];

/// A value that this many sessions have is the same in all of them.
const MIN_CONSTANT_SESSIONS: usize = 3;

/// A class of events that occurs less often is no class of its own.
const MIN_SYMBOL_COUNT: u64 = 3;

/// Nor is one that is a smaller part of all events: it costs time and brings nothing.
const MIN_SYMBOL_PART: u64 = 5000;

/// One session of so many is held out.
const HELD_OUT: usize = 5;

/// The share of windows that may be more surprising than the limit.
const SURPRISING_SHARE: f64 = 0.01;

/// Why no chain was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainError {
    message: String,
}

impl ChainError {
    pub(crate) fn new(message: impl Into<String>) -> ChainError {
        ChainError { message: message.into() }
    }
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ChainError {}

impl Chain {
    /// Learns a chain from the events of sessions. `atoms` are the facts that the formulas of the policy ask for: values
    /// that they name are told apart.
    ///
    /// # Errors
    ///
    /// There are fewer than [`MIN_SESSIONS`] sessions.
    pub fn learn(sessions: &[Vec<Step>], atoms: &[Atom]) -> Result<Chain, ChainError> {
        if sessions.len() < MIN_SESSIONS {
            return Err(ChainError::new(format!(
                "{} sessions are too few to learn a chain\nhint: give logs with at least {MIN_SESSIONS} sessions",
                sessions.len()
            )));
        }
        let constants = find_constants(sessions, atoms);
        let symbols = find_symbols(sessions, &constants);
        let words: Vec<Vec<u32>> = {
            let reader = Chain::new(constants.clone(), symbols.clone(), 0, 0.0);
            sessions.iter().map(|session| reader.read_session(session)).collect()
        };
        let is_held = |(place, _): &(usize, &Vec<u32>)| place % HELD_OUT == HELD_OUT - 1;
        let held: Vec<&[u32]> = words.iter().enumerate().filter(is_held).map(|(_, word)| &word[..]).collect();
        let kept: Vec<&[u32]> = words.iter().enumerate().filter(|it| !is_held(it)).map(|(_, word)| &word[..]).collect();
        let mut best: Option<(f64, Chain)> = None;
        for order in 1..=MAX_ORDER {
            let mut chain = Chain::new(constants.clone(), symbols.clone(), order, 0.0);
            chain.count(&kept);
            for smoothing in SMOOTHINGS {
                chain.smoothing = smoothing;
                let losses = held.iter().flat_map(|word| chain.losses(word)).collect::<Vec<f64>>();
                let loss = mean(losses.iter().copied());
                if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                    best = Some((loss, chain.clone()));
                }
            }
        }
        // INVARIANT: the loops above ran.
        let Some((_, fitted)) = best else { return Err(ChainError::new("no order was tried")) };
        let mut windows: Vec<f64> = held.iter().flat_map(|word| fitted.window_losses(word)).collect();
        windows.sort_unstable_by(f64::total_cmp);
        let mut chain = Chain::new(constants, symbols, fitted.order, fitted.smoothing);
        chain.count(&words.iter().map(|word| &word[..]).collect::<Vec<_>>());
        let place = ((windows.len() as f64) * (1.0 - SURPRISING_SHARE)) as usize;
        chain.loss_limit = windows.get(place).or(windows.last()).copied().unwrap_or(f64::INFINITY);
        chain.gaps = measure_gaps(sessions, &words, chain.symbols.len());
        chain.sessions = sessions.len() as u64;
        chain.events = sessions.iter().map(|session| session.len() as u64).sum();
        chain.names = collect_names(sessions, atoms);
        chain.seal();
        Ok(chain)
    }

    /// Returns the symbols of a session, with its end.
    pub(crate) fn read_session(&self, session: &[Step]) -> Vec<u32> {
        let mut recent = RecentValues::default();
        session.iter().map(|step| self.read(step, &mut recent)).chain([END]).collect()
    }

    /// Counts what comes after each context, and after each end of it.
    pub(crate) fn count(&mut self, words: &[&[u32]]) {
        for word in words {
            let mut context = self.start_context();
            for symbol in word.iter().copied() {
                for order in 0..=self.order {
                    self.rows.entry(forget(order, context)).or_default().add(symbol);
                }
                context = self.push(context, symbol);
            }
        }
    }

    fn losses(&self, word: &[u32]) -> Vec<f64> {
        let mut context = self.start_context();
        let loss = |symbol: &u32| {
            let loss = self.loss(context, *symbol);
            context = self.push(context, *symbol);
            loss
        };
        word.iter().map(loss).collect()
    }

    /// Returns the mean losses of the windows of a session, without its end.
    fn window_losses(&self, word: &[u32]) -> Vec<f64> {
        let losses = self.losses(&word[..word.len().saturating_sub(1)]);
        let window = |end: usize| mean(losses[end.saturating_sub(LOSS_WINDOW)..end].iter().copied());
        (MIN_LOSS_WINDOW..=losses.len()).map(window).collect()
    }
}

/// Finds the values that are the same in all sessions: those that formulas name, tools, and short numbers that come back.
/// Any other text may be of a person, however often it comes back, and so may a long number, such as that of an account: only
/// their roles are learnt.
fn find_constants(sessions: &[Vec<Step>], atoms: &[Atom]) -> Constants {
    let mut seen: FxHashMap<(&Arc<str>, usize, &Value), (usize, usize)> = FxHashMap::default();
    for (number, session) in sessions.iter().enumerate() {
        for (step, fact) in session.iter().flat_map(|step| step.facts.known.iter().map(move |fact| (step, fact))) {
            for (place, value) in fact.values.iter().enumerate() {
                let is_tool = matches!((value, &step.tool), (Value::Text(text), Some(tool)) if **text == **tool);
                if is_personal(value) || matches!(value, Value::Text(_)) && !is_tool {
                    continue;
                }
                let (last, count) = seen.entry((&fact.name, place, value)).or_insert((usize::MAX, 0));
                *count += usize::from(*last != number);
                *last = number;
            }
        }
    }
    let enough = MIN_CONSTANT_SESSIONS.max(sessions.len() / 100);
    let mut constants = Constants::default();
    for ((name, place, value), (_, count)) in seen {
        if count >= enough {
            constants.insert(name, place, value.clone());
        }
    }
    constants.add_atoms(atoms);
    constants
}

/// Finds the classes of events that occur often enough, sorted. A rare one loses its tool first.
fn find_symbols(sessions: &[Vec<Step>], constants: &Constants) -> Vec<Symbol> {
    let mut counts: BTreeMap<Symbol, u64> = BTreeMap::new();
    for session in sessions {
        let mut recent = RecentValues::default();
        for step in session {
            *counts.entry(read_symbol(step, constants, &mut recent)).or_default() += 1;
        }
    }
    let enough = MIN_SYMBOL_COUNT.max(counts.values().sum::<u64>() / MIN_SYMBOL_PART);
    let (mut symbols, mut rare): (BTreeSet<Symbol>, BTreeMap<Symbol, u64>) = Default::default();
    for (symbol, count) in counts {
        match count >= enough {
            true => drop(symbols.insert(symbol)),
            false => *rare.entry(symbol.without_tool()).or_default() += count,
        }
    }
    symbols.extend(rare.into_iter().filter(|(_, count)| *count >= enough).map(|(symbol, _)| symbol));
    symbols.into_iter().take((u32::MAX - FIRST - OTHER - OTHER_ACTION) as usize).collect()
}

/// Returns the time before an event of each symbol, on average over those with a time.
fn measure_gaps(sessions: &[Vec<Step>], words: &[Vec<u32>], symbols: usize) -> Vec<i64> {
    let mut sums = vec![(0i128, 0i128); symbols];
    for (session, word) in sessions.iter().zip(words) {
        for (pair, symbol) in session.windows(2).zip(&word[1..]) {
            let place = symbol.checked_sub(FIRST).map(|place| place as usize);
            let (Some(before), Some(after), Some(place)) = (pair[0].facts.time, pair[1].facts.time, place) else {
                continue;
            };
            sums[place].0 += i128::from(after.0.saturating_sub(before.0).max(0));
            sums[place].1 += 1;
        }
    }
    sums.into_iter().map(|(sum, count)| (sum / count.max(1)) as i64).collect()
}

fn collect_names(sessions: &[Vec<Step>], atoms: &[Atom]) -> Vec<Arc<str>> {
    let mut names: BTreeSet<&Arc<str>> = atoms.iter().map(|atom| &atom.name).collect();
    for step in sessions.iter().flatten() {
        names.extend(step.facts.known.iter().map(|fact| &fact.name));
        names.extend(step.facts.unknown.iter().map(|atom| &atom.name));
    }
    names.into_iter().cloned().collect()
}
