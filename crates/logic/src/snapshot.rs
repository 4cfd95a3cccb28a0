//! Where a trace stands, as data that outlives the process.
//!
//! A snapshot holds residuals, not numbers of states, so it can be restored by any watch with the same formulas,
//! whatever that watch has learnt. It names its formulas, and is refused by others. In most traces most formulas of a policy
//! have not been touched: those are named, by a short hash, and nothing else is said of them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::binding::Bindings;
use crate::data::{SavedStore, Store};
use crate::interval::Time;
use crate::monitor_set::{Entry, MonitorId, MonitorSet};
use crate::state::{Point, Portable};
use crate::term::Value;
use crate::trace_state::{Seat, TraceState, Wide};

/// The version of the format that is written.
const VERSION: u32 = 2;

/// A [`TraceState`] as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    version: u32,
    positions: u64,
    clock: Option<Time>,
    /// The marks of its formulas, in their order; none where one was removed.
    formulas: Vec<Option<Arc<str>>>,
    /// Where it stands with some of them, by their places. With all others it stands where every trace begins.
    seats: Vec<(u32, SavedSeat)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedSeat {
    #[serde(default, skip_serializing_if = "is_zero")]
    satisfied: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    violated: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    decided_at: u32,
    state: SavedState,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedState {
    /// Where every trace begins, after it was elsewhere.
    Start,
    Point(SavedPoint),
    Bindings {
        residuals: Vec<Portable>,
        bindings: Vec<SavedBinding>,
    },
    Data {
        point: SavedPoint,
        store: SavedStore,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedPoint {
    residual: Portable,
    times: Vec<Time>,
}

/// A binding (none: all values never seen) and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedBinding {
    valuation: usize,
    values: Option<Vec<Option<Value>>>,
    /// A place in the list of residuals.
    residual: usize,
    times: Vec<Time>,
}

/// Why a snapshot was not restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotError {
    message: String,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SnapshotError {}

impl Snapshot {
    /// What was saved of the formula at a place.
    fn seat(&self, place: usize) -> Option<&SavedSeat> {
        self.seats.iter().find(|(of, _)| *of as usize == place).map(|(_, seat)| seat)
    }
}

impl MonitorSet {
    /// Where a trace stands, as data.
    pub fn snapshot(&self, standing: &TraceState) -> Snapshot {
        let mut formulas = Vec::with_capacity(standing.seats.len());
        let mut seats = Vec::new();
        for (index, seat) in standing.seats.iter().enumerate() {
            let entry = self.entry_at(index);
            let state = entry.and_then(|entry| match entry.is_at_start(seat) {
                true => Some(SavedState::Start),
                false => save(entry, seat),
            });
            formulas.push(entry.filter(|_| state.is_some()).map(|entry| Arc::clone(entry.monitor.mark())));
            let (satisfied, violated, decided_at) = (seat.satisfied, seat.violated, seat.decided_at);
            match state {
                None => {}
                Some(SavedState::Start) if (satisfied, violated, decided_at) == (0, 0, 0) => {}
                Some(state) => seats.push((index as u32, SavedSeat { satisfied, violated, decided_at, state })),
            }
        }
        let (positions, clock) = (standing.positions, standing.clock);
        Snapshot { version: VERSION, positions, clock, formulas, seats }
    }

    /// The trace of a snapshot, ready to go on. The monitors must be those it was taken with, in the same order.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<TraceState, SnapshotError> {
        let refuse = |message: String| Err(SnapshotError { message });
        check_version(snapshot)?;
        let monitors = self.len();
        if snapshot.formulas.len() > monitors {
            return refuse(format!("the snapshot has {} formulas, there are only {monitors}", snapshot.formulas.len()));
        }
        let mut seats = Vec::with_capacity(snapshot.formulas.len());
        for (index, formula) in snapshot.formulas.iter().enumerate() {
            let (Some(entry), Some(formula)) = (self.entry_at_mut(index), formula) else {
                seats.push(Seat::new(Wide::Vacant));
                continue;
            };
            if formula != entry.monitor.mark() {
                return refuse(format!("the snapshot is of another formula than `{}`", entry.monitor.text()));
            }
            seats.push(seat(entry, snapshot.seat(index))?);
        }
        Ok(self.resume(seats, snapshot.positions, snapshot.clock))
    }

    /// The trace of a snapshot that was perhaps taken with other monitors: those whose formula is in it go on, in
    /// whatever order, and the others begin here. Beside it, which those are.
    pub fn migrate(&mut self, snapshot: &Snapshot) -> Result<(TraceState, Vec<MonitorId>), SnapshotError> {
        check_version(snapshot)?;
        let mut begun = Vec::new();
        let mut seats = Vec::with_capacity(self.len());
        for index in 0..self.len() {
            let Some(entry) = self.entry_at_mut(index) else {
                seats.push(Seat::new(Wide::Vacant));
                continue;
            };
            let same = snapshot.formulas.iter().position(|formula| formula.as_ref() == Some(entry.monitor.mark()));
            seats.push(match same {
                Some(place) => seat(entry, snapshot.seat(place))?,
                None => {
                    begun.push(MonitorId(index as u32));
                    Seat::new(entry.start_state())
                }
            });
        }
        Ok((self.resume(seats, snapshot.positions, snapshot.clock), begun))
    }

    /// Whether two traces stand at the same place with a monitor.
    pub(crate) fn is_same(&self, one: &TraceState, other: &TraceState, monitor: usize) -> bool {
        let state = |standing: &TraceState| save(self.entry_at(monitor)?, standing.seats.get(monitor)?);
        state(one) == state(other)
    }
}

fn check_version(snapshot: &Snapshot) -> Result<(), SnapshotError> {
    if snapshot.version == VERSION {
        return Ok(());
    }
    Err(SnapshotError { message: format!("the snapshot has version {}, this is version {VERSION}", snapshot.version) })
}

/// Where a trace stands with a monitor: where every trace begins if nothing was saved of it.
fn seat(entry: &mut Entry, saved: Option<&SavedSeat>) -> Result<Seat, SnapshotError> {
    let Some(saved) = saved else { return Ok(Seat::new(entry.start_state())) };
    let Some(state) = load(entry, &saved.state) else {
        return Err(SnapshotError { message: format!("the snapshot of `{}` is damaged", entry.monitor.text()) });
    };
    let mut seat = Seat::new(state);
    seat.satisfied = saved.satisfied;
    seat.violated = saved.violated;
    seat.decided_at = saved.decided_at;
    Ok(seat)
}

/// None if the monitor is gone.
fn save(entry: &Entry, seat: &Seat) -> Option<SavedState> {
    let point = |point: &Point| SavedPoint { residual: entry.cache.portable(point), times: point.times.to_vec() };
    Some(match seat.wide.as_deref() {
        None => SavedState::Point(point(&Point::cached(seat.at))),
        Some(Wide::Vacant) => return None,
        Some(Wide::Point(it)) => SavedState::Point(point(it)),
        Some(Wide::Data(it, store)) => SavedState::Data { point: point(it), store: store.save() },
        Some(Wide::Bindings(bindings)) => {
            let mut residuals: Vec<Portable> = Vec::new();
            let mut places = rustc_hash::FxHashMap::default();
            let mut saved = Vec::new();
            for (valuation, binding, point) in bindings.standings() {
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
            // The same trace gives the same snapshot, whatever order a table keeps its cells in.
            saved.sort_by(|a, b| (a.valuation, &a.values).cmp(&(b.valuation, &b.values)));
            SavedState::Bindings { residuals, bindings: saved }
        }
    })
}

/// None if the data is not a state of the monitor.
fn load(entry: &mut Entry, saved: &SavedState) -> Option<Wide> {
    let monitor = entry.monitor.clone();
    let skeleton = &monitor.compiled.skeleton;
    match saved {
        SavedState::Start => Some(entry.start_state()),
        SavedState::Data { point, store } => {
            let store = Store::load(monitor.data.as_ref()?, store, entry.rows)?;
            let handle = entry.cache.adopt(skeleton, &point.residual)?;
            Some(Wide::Data(Point { handle, times: point.times.iter().copied().collect() }, store))
        }
        SavedState::Point(saved) => {
            if saved.residual.clocks().len() != saved.times.len() {
                return None;
            }
            let handle = entry.cache.adopt(skeleton, &saved.residual)?;
            Some(Wide::Point(Point { handle, times: saved.times.iter().copied().collect() }))
        }
        SavedState::Bindings { residuals, bindings } => {
            if !monitor.shape.quantified {
                return None;
            }
            let mut handles = Vec::with_capacity(residuals.len());
            for residual in residuals {
                handles.push((entry.cache.adopt(skeleton, residual)?, residual.clocks().len()));
            }
            let mut standings = Vec::with_capacity(bindings.len());
            for saved in bindings {
                let (handle, slots) = handles.get(saved.residual)?;
                if *slots != saved.times.len() {
                    return None;
                }
                let point = Point { handle: handle.clone(), times: saved.times.iter().copied().collect() };
                standings.push((saved.valuation, saved.values.clone().map(Vec::into_boxed_slice), point));
            }
            Some(Wide::Bindings(Arc::new(Bindings::restore(&monitor, &mut entry.cache, standings)?)))
        }
    }
}
