//! The state of a trace as data that survives a restart.
//!
//! A snapshot holds residuals, not numbers of states, so any set with the same formulas can restore it, with any cached
//! transitions. It names its formulas by short hashes, and a set with other formulas refuses it. Most formulas are
//! untouched in most traces; of those it holds only the hash.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::after::After;
use crate::bindings::Bindings;
use crate::clock::Clock;
use crate::data::{DataStore, SavedDataStore};
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::monitor_set::{Entry, MonitorId, MonitorSet};
use crate::state::{Point, PortableResidual};
use crate::trace_state::{ExtendedState, MonitorState, TraceState};
use crate::value::Value;

/// The version of the snapshot format.
const SNAPSHOT_VERSION: u32 = 2;

/// A [`TraceState`] as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    version: u32,
    positions: u64,
    clock: Option<Time>,
    /// The time that the moments of the states are counted from, if the trace began without a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Time>,
    /// The hashes of its formulas, in their order; none for a removed one.
    formulas: Vec<Option<Arc<str>>>,
    /// The behavior after a verdict of those monitors whose formula another one has too, by their indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<(u32, SavedAfter)>,
    /// The states of some of them, by their indexes. All others are in their start state.
    #[serde(rename = "seats")]
    states: Vec<(u32, SavedMonitorState)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedMonitorState {
    #[serde(default, skip_serializing_if = "is_zero")]
    satisfied: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    violated: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    decided_at: u32,
    state: SavedState,
}

/// An [`After`] as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SavedAfter {
    Latch,
    Reset,
    Each,
}

impl From<After> for SavedAfter {
    fn from(after: After) -> SavedAfter {
        match after {
            After::Latch => SavedAfter::Latch,
            After::Reset => SavedAfter::Reset,
            After::Each => SavedAfter::Each,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedState {
    /// The start state, after the trace had left it.
    Start,
    Point(SavedPoint),
    Bindings {
        residuals: Vec<PortableResidual>,
        bindings: Vec<SavedBinding>,
    },
    Data {
        point: SavedPoint,
        store: SavedDataStore,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedPoint {
    residual: PortableResidual,
    times: Vec<Time>,
}

/// A binding (none: all values never seen) and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedBinding {
    valuation: usize,
    values: Option<Vec<Option<Value>>>,
    /// An index in the list of residuals.
    residual: usize,
    times: Vec<Time>,
}

/// Why a snapshot was not restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotError {
    message: String,
}

impl SnapshotError {
    pub(crate) fn new(message: String) -> SnapshotError {
        SnapshotError { message }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SnapshotError {}

impl Snapshot {
    fn clock(&self) -> Clock {
        Clock::restored(self.clock, self.start)
    }

    /// Returns the saved state of the formula at an index; none if it was in its start state.
    fn saved_state(&self, place: usize) -> Option<&SavedMonitorState> {
        self.states.iter().find(|(of, _)| *of as usize == place).map(|(_, monitor_state)| monitor_state)
    }

    /// Returns the index of the state that a monitor continues: one of its formula, and of its behavior after a verdict
    /// if several monitors had the formula.
    fn find_same(&self, monitor: &Monitor) -> Option<usize> {
        let has_formula = |place: &usize| self.formulas[*place].as_ref() == Some(monitor.formula_hash());
        let after = (!self.after.is_empty()).then(|| SavedAfter::from(monitor.after));
        let is_exact = |place: &usize| self.after.iter().any(|(of, it)| *of as usize == *place && Some(*it) == after);
        let mut same = (0..self.formulas.len()).filter(has_formula);
        let first = same.clone().next();
        same.find(is_exact).or(first)
    }
}

impl MonitorSet {
    /// Returns the state of a trace as data.
    pub fn snapshot(&self, trace_state: &TraceState) -> Snapshot {
        self.check_owner(trace_state);
        let mut formulas = Vec::with_capacity(trace_state.states.len());
        let mut states = Vec::new();
        for (index, monitor_state) in trace_state.states.iter().enumerate() {
            let entry = self.entry_by_index(index);
            let state = entry.and_then(|entry| match entry.is_at_start(monitor_state) {
                true => Some(SavedState::Start),
                false => save_state(entry, monitor_state),
            });
            formulas.push(entry.filter(|_| state.is_some()).map(|entry| Arc::clone(entry.monitor.formula_hash())));
            let (satisfied, violated, decided_at) =
                (monitor_state.satisfied, monitor_state.violated, monitor_state.decided_at);
            match state {
                None => {}
                Some(SavedState::Start) if (satisfied, violated, decided_at) == (0, 0, 0) => {}
                Some(state) => {
                    states.push((index as u32, SavedMonitorState { satisfied, violated, decided_at, state }))
                }
            }
        }
        let (positions, clock, start) = (trace_state.positions, trace_state.clock.latest(), trace_state.clock.start());
        let after = if self.has_shared_formulas { self.save_after(&formulas) } else { Vec::new() };
        Snapshot { version: SNAPSHOT_VERSION, positions, clock, start, formulas, after, states }
    }

    /// Returns the behavior after a verdict of each monitor whose formula another one has too.
    fn save_after(&self, formulas: &[Option<Arc<str>>]) -> Vec<(u32, SavedAfter)> {
        let is_shared = |formula: &Arc<str>| formulas.iter().flatten().filter(|it| *it == formula).count() > 1;
        let shared = formulas.iter().enumerate().filter(|(_, formula)| formula.as_ref().is_some_and(is_shared));
        shared.filter_map(|(index, _)| Some((index as u32, self.entry_by_index(index)?.after.into()))).collect()
    }

    /// Returns the trace of a snapshot. The monitors must be those it was taken with, in the same order.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<TraceState, SnapshotError> {
        let refuse = |message: String| Err(SnapshotError { message });
        check_version(snapshot)?;
        let monitors = self.len();
        if snapshot.formulas.len() > monitors {
            return refuse(format!(
                "snapshot has {} formulas but the set has {monitors}; restore it with the monitors it was taken with",
                snapshot.formulas.len()
            ));
        }
        let mut states = Vec::with_capacity(snapshot.formulas.len());
        for (index, formula) in snapshot.formulas.iter().enumerate() {
            let (Some(entry), Some(formula)) = (self.entry_by_index_mut(index), formula) else {
                states.push(MonitorState::new(ExtendedState::Removed));
                continue;
            };
            if formula != entry.monitor.formula_hash() {
                return refuse(format!(
                    "snapshot has another formula in place of `{}`; restore it with the monitors it was taken with, or migrate it",
                    entry.monitor.text()
                ));
            }
            states.push(restore_state(entry, snapshot.saved_state(index))?);
        }
        Ok(self.resume(states, snapshot.positions, snapshot.clock()))
    }

    /// Returns the trace of a snapshot that may have been taken with other monitors. Monitors whose formula is in it
    /// continue, in any order; if several of its monitors had the formula, from the one with the same [`After`]. The
    /// others start here, and are returned too.
    pub fn migrate(&mut self, snapshot: &Snapshot) -> Result<(TraceState, Vec<MonitorId>), SnapshotError> {
        check_version(snapshot)?;
        let mut begun = Vec::new();
        let mut states = Vec::with_capacity(self.len());
        for index in 0..self.len() {
            let Some(entry) = self.entry_by_index_mut(index) else {
                states.push(MonitorState::new(ExtendedState::Removed));
                continue;
            };
            states.push(match snapshot.find_same(&entry.monitor) {
                Some(place) => restore_state(entry, snapshot.saved_state(place))?,
                None => {
                    begun.push(MonitorId(index as u32));
                    MonitorState::new(entry.initial_state())
                }
            });
        }
        Ok((self.resume(states, snapshot.positions, snapshot.clock()), begun))
    }

    /// Puts the state of one monitor in a trace in place of its state in another trace of the same positions. Returns
    /// `false`, and changes nothing, if the two traces count time from different moments.
    pub fn transfer(&mut self, from: &TraceState, to: &mut TraceState, id: MonitorId) -> bool {
        self.check_owner(from);
        self.add_missing_states(to);
        let is_same_clock = from.clock.start() == to.clock.start();
        if !is_same_clock && !from.clock.is_unset() && !to.clock.is_unset() {
            return false;
        }
        let (Some(state), Some(place)) = (from.states.get(id.index()), to.states.get_mut(id.index())) else {
            return false;
        };
        *place = state.clone();
        self.mark_activity(to, id.index() as u32);
        true
    }

    /// Whether two traces have the same state with a monitor.
    pub(crate) fn is_same(&self, one: &TraceState, other: &TraceState, monitor: usize) -> bool {
        let state =
            |trace_state: &TraceState| save_state(self.entry_by_index(monitor)?, trace_state.states.get(monitor)?);
        state(one) == state(other)
    }
}

fn check_version(snapshot: &Snapshot) -> Result<(), SnapshotError> {
    if snapshot.version == SNAPSHOT_VERSION {
        return Ok(());
    }
    Err(SnapshotError {
        message: format!(
            "unsupported snapshot version {}; only version {SNAPSHOT_VERSION} can be read",
            snapshot.version
        ),
    })
}

/// Returns the saved state of a monitor, or its start state if nothing was saved.
fn restore_state(entry: &mut Entry, saved: Option<&SavedMonitorState>) -> Result<MonitorState, SnapshotError> {
    let Some(saved) = saved else { return Ok(MonitorState::new(entry.initial_state())) };
    let Some(state) = load_state(entry, &saved.state) else {
        return Err(SnapshotError {
            message: format!("snapshot is damaged: its state of `{}` is not valid", entry.monitor.text()),
        });
    };
    let mut monitor_state = MonitorState::new(state);
    monitor_state.satisfied = saved.satisfied;
    monitor_state.violated = saved.violated;
    monitor_state.decided_at = saved.decided_at;
    Ok(monitor_state)
}

/// Returns a state as data; none if the monitor was removed.
fn save_state(entry: &Entry, monitor_state: &MonitorState) -> Option<SavedState> {
    let point = |point: &Point| SavedPoint { residual: entry.cache.portable(point), times: point.times.to_vec() };
    Some(match monitor_state.extended.as_deref() {
        None => SavedState::Point(point(&Point::cached(monitor_state.number))),
        Some(ExtendedState::Removed) => return None,
        Some(ExtendedState::Point(it)) => SavedState::Point(point(it)),
        Some(ExtendedState::Data(it, store)) => SavedState::Data { point: point(it), store: store.save() },
        Some(ExtendedState::Bindings(bindings)) => {
            let mut residuals: Vec<PortableResidual> = Vec::new();
            let mut places = rustc_hash::FxHashMap::default();
            let mut saved = Vec::new();
            for (valuation, binding, point) in bindings.binding_states() {
                let place = match point.id().and_then(|id| places.get(&id).copied()) {
                    Some(place) => place,
                    None => {
                        residuals.push(entry.cache.portable(point));
                        let place = residuals.len() - 1;
                        point.id().map(|id| places.insert(id, place));
                        place
                    }
                };
                saved.push(SavedBinding {
                    valuation,
                    values: binding.map(<[Option<Value>]>::to_vec),
                    residual: place,
                    times: point.times.to_vec(),
                });
            }
            // Sorted, so that equal traces give equal snapshots.
            saved.sort_by(|a, b| (a.valuation, &a.values).cmp(&(b.valuation, &b.values)));
            SavedState::Bindings { residuals, bindings: saved }
        }
    })
}

/// Returns a state from data; none if the data is not a state of this monitor.
fn load_state(entry: &mut Entry, saved: &SavedState) -> Option<ExtendedState> {
    let monitor = entry.monitor.clone();
    let skeleton = &monitor.compiled.skeleton;
    match saved {
        SavedState::Start => Some(entry.initial_state()),
        SavedState::Data { point, store } => {
            let store = DataStore::load(monitor.data.as_ref()?, store, entry.rows)?;
            let handle = entry.cache.adopt(skeleton, &point.residual)?;
            Some(ExtendedState::Data(Point { handle, times: point.times.iter().copied().collect() }, Box::new(store)))
        }
        SavedState::Point(saved) => {
            if saved.residual.clocks().len() != saved.times.len() {
                return None;
            }
            let handle = entry.cache.adopt(skeleton, &saved.residual)?;
            Some(ExtendedState::Point(Point { handle, times: saved.times.iter().copied().collect() }))
        }
        SavedState::Bindings { residuals, bindings } => {
            if !monitor.shape.quantified {
                return None;
            }
            let mut handles = Vec::with_capacity(residuals.len());
            for residual in residuals {
                handles.push((entry.cache.adopt(skeleton, residual)?, residual.clocks().len()));
            }
            let mut binding_states = Vec::with_capacity(bindings.len());
            for saved in bindings {
                let (handle, slots) = handles.get(saved.residual)?;
                if *slots != saved.times.len() {
                    return None;
                }
                let point = Point { handle: handle.clone(), times: saved.times.iter().copied().collect() };
                binding_states.push((saved.valuation, saved.values.clone().map(Vec::into_boxed_slice), point));
            }
            Some(ExtendedState::Bindings(Arc::new(Bindings::restore(&monitor, &mut entry.cache, binding_states)?)))
        }
    }
}
