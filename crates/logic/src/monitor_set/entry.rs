//! The monitors of a set, their index by fact names, and the buffers of a step.

use std::sync::Arc;

use super::Conclusion;
use crate::after::After;
use crate::bindings::Bindings;
use crate::cache::Cache;
use crate::data::DataScratch;
use crate::monitor::Monitor;
use crate::observation::{Name, Observation};
use crate::population::BindingVerdict;
use crate::state::Point;
use crate::trace_state::{ExtendedState, MonitorState};

/// A monitor in a set, with its cache and its start state.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) cache: Cache,
    pub(crate) after: After,
    /// Whether it is neither quantified nor in need of whole positions.
    pub(crate) is_plain: bool,
    pub(crate) width: u32,
    /// The start state of a formula without quantifiers.
    pub(super) start: Point,
    /// The start state of all bindings.
    pub(super) fresh: Option<Arc<Bindings>>,
    /// For a formula about data, the numbers of its fact names.
    pub(crate) data_names: Vec<Name>,
    /// How many rows a trace may keep for it.
    pub(crate) rows: usize,
}

/// A monitor that asks for a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) monitor: u32,
    /// The letter bit, or the number of the name in a formula about data.
    pub(crate) bit: u8,
    /// Whether any values match and there is no binding: the bit is set without reading the fact.
    pub(crate) bare: bool,
    /// Whether the fact's first value is the binding and bindings share no facts: one look-up shows if anything moves.
    pub(crate) direct: bool,
    /// Whether it feeds the tables of a formula about data.
    pub(crate) data: bool,
}

/// A fact of the position that matches the name in a monitor's pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactMatch {
    pub(crate) bit: u8,
    /// Its index in the observation.
    pub(crate) place: u32,
    /// The next match of the same monitor.
    pub(crate) next: Option<u32>,
}

/// Buffers that every step reuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(super) observation: Observation,
    /// For each monitor, the letter bits set so far, and whether it is in `touched`.
    pub(crate) letters: Vec<u64>,
    pub(crate) is_touched: Vec<bool>,
    pub(crate) touched: Vec<u32>,
    /// For monitors that need values, the facts they ask for.
    pub(crate) matches: Vec<FactMatch>,
    /// For each monitor, its first and last match.
    pub(crate) ends: Vec<Option<(u32, u32)>>,
    /// The sum of what was prefetched; it keeps the compiler from dropping the reads.
    pub(crate) prefetch: u64,
    pub(crate) bindings: Vec<BindingVerdict>,
    /// The work of all steps of bindings and tables so far, which no cache changes.
    pub(crate) spent: u64,
    pub(crate) data: DataScratch,
    pub(crate) decided: Vec<Conclusion>,
}

impl Scratch {
    /// Adds a fact that a monitor asks for.
    pub(crate) fn add_match(&mut self, monitor: u32, bit: u8, place: u32) {
        let new = self.matches.len() as u32;
        self.matches.push(FactMatch { bit, place, next: None });
        let ends = &mut self.ends[monitor as usize];
        match ends {
            Some((_, last)) => {
                self.matches[*last as usize].next = Some(new);
                *last = new;
            }
            None => *ends = Some((new, new)),
        }
    }

    /// Returns the facts that a monitor asks for, in order.
    pub(crate) fn fact_matches(&self, monitor: u32) -> impl Iterator<Item = &FactMatch> {
        let first = self.ends[monitor as usize].map(|(first, _)| &self.matches[first as usize]);
        std::iter::successors(first, |found| found.next.map(|next| &self.matches[next as usize]))
    }
}

impl Entry {
    /// Returns the state of a trace before its first position.
    pub(crate) fn initial_state(&mut self) -> ExtendedState {
        if let Some(data) = &self.monitor.data {
            return ExtendedState::Data(self.start.clone(), Box::new(data.start(self.rows)));
        }
        if self.monitor.shape.quantified {
            let Entry { monitor, cache, fresh, .. } = self;
            ExtendedState::Bindings(Arc::clone(fresh.get_or_insert_with(|| Arc::new(Bindings::new(monitor, cache)))))
        } else {
            ExtendedState::Point(self.start.clone())
        }
    }

    /// Whether a trace has exceeded a limit of a formula that is not about data.
    #[inline]
    pub(crate) fn is_stopped(&self, monitor_state: &MonitorState) -> bool {
        match monitor_state.extended.as_deref() {
            None => self.cache.is_stopped_at(monitor_state.number),
            Some(ExtendedState::Point(point)) => self.cache.is_stopped(point),
            Some(_) => false,
        }
    }

    /// Whether a trace is in the start state of a monitor. False for a state with deadlines or data, which is saved in
    /// full.
    pub(crate) fn is_at_start(&self, monitor_state: &MonitorState) -> bool {
        match monitor_state.extended.as_deref() {
            // A decided formula keeps no bindings.
            None => !self.monitor.shape.quantified && self.start.id() == Some(monitor_state.number),
            Some(ExtendedState::Bindings(bindings)) => self.fresh.as_ref().is_some_and(|fresh| bindings.is_same(fresh)),
            Some(ExtendedState::Point(_) | ExtendedState::Data(..) | ExtendedState::Removed) => false,
        }
    }
}
