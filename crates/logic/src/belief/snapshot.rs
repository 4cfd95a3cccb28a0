//! A belief as data that survives a restart.
//!
//! Like the [`Snapshot`](crate::Snapshot) of a trace it holds residuals, not numbers of states. Residuals are in a form
//! that does not depend on the order in which a monitor learnt its states, and so are the points: equal beliefs have
//! equal snapshots, on every machine.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::bindings::{BeliefPopulation, BindingBeliefs};
use super::distribution::{Broken, Distribution, MAX_POINTS, PointTable, WeightedPoint};
use super::groups::GroupId;
use super::{Belief, BeliefMonitor, BeliefState};
use crate::chance::ONE;
use crate::clock::Clock;
use crate::interval::Time;
use crate::snapshot::{SavedAfter, SnapshotError};
use crate::state::{Point, PortableResidual};
use crate::value::Value;

/// The version of the format.
const BELIEF_VERSION: u32 = 1;

/// A [`Belief`] as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeliefSnapshot {
    version: u32,
    /// The hash of its formula.
    formula: Arc<str>,
    after: SavedAfter,
    clock: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Time>,
    /// Each distribution once, sorted.
    distributions: Vec<SavedDistribution>,
    state: SavedBeliefState,
}

/// Distributions by their places in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedBeliefState {
    Single(usize),
    Bindings { shared: bool, populations: Vec<SavedPopulation> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedPopulation {
    unseen: usize,
    /// Sorted by their values.
    bindings: Vec<(Vec<Option<Value>>, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct SavedDistribution {
    /// In units of 2⁻⁶³, like all weights.
    lost: u64,
    points: Vec<SavedWeightedPoint>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct SavedWeightedPoint {
    residual: PortableResidual,
    times: Vec<Time>,
    broken: Broken,
    weight: u64,
}

impl BeliefMonitor {
    /// Returns a belief as data.
    ///
    /// ```
    /// use lictor_logic::{BeliefMonitor, Facts, Monitor};
    /// let mut monitor = BeliefMonitor::new(Monitor::parse("G(pay -> O approved)")?)?;
    /// let mut belief = monitor.start();
    /// monitor.step(&mut belief, &Facts::from_names(["approved"])?, &[]);
    /// let snapshot = monitor.snapshot(&belief);
    /// let mut other = BeliefMonitor::new(Monitor::parse("G(pay -> O approved)")?)?;
    /// let restored = other.restore(&snapshot)?;
    /// assert_eq!(other.snapshot(&restored), snapshot);
    /// let mut another = BeliefMonitor::new(Monitor::parse("G !pay")?)?;
    /// assert!(another.restore(&snapshot).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self, belief: &Belief) -> BeliefSnapshot {
        let mut distributions: Vec<SavedDistribution> =
            belief.distributions().into_iter().map(|it| self.save_distribution(it)).collect();
        distributions.sort_unstable();
        distributions.dedup();
        // INVARIANT: the list has every distribution of the belief.
        let place = |it: &Distribution| distributions.binary_search(&self.save_distribution(it)).unwrap_or_default();
        let state = match &belief.state {
            BeliefState::Single(distribution) => SavedBeliefState::Single(place(distribution)),
            BeliefState::Bindings(bindings) => {
                let populations = bindings.populations.iter().map(|population| {
                    let BeliefPopulation { cells, groups, unseen, .. } = population;
                    let mut places: FxHashMap<GroupId, usize> = FxHashMap::default();
                    let mut place = |group: GroupId| {
                        let group = groups.find(group);
                        *places.entry(group).or_insert_with(|| place(groups.distribution(group)))
                    };
                    let unseen = place(*unseen);
                    let saved = cells.iter().map(|cell| (cells.key(cell).to_vec(), place(cells.class(cell))));
                    let mut bindings: Vec<(Vec<Option<Value>>, usize)> = saved.collect();
                    bindings.sort_unstable();
                    SavedPopulation { unseen, bindings }
                });
                SavedBeliefState::Bindings { shared: bindings.is_shared, populations: populations.collect() }
            }
        };
        BeliefSnapshot {
            version: BELIEF_VERSION,
            formula: Arc::clone(self.monitor.formula_hash()),
            after: self.monitor.after.into(),
            clock: belief.clock.latest(),
            start: belief.clock.start(),
            distributions,
            state,
        }
    }

    /// Returns the belief of a snapshot. The monitor must have the formula it was taken with.
    pub fn restore(&mut self, snapshot: &BeliefSnapshot) -> Result<Belief, SnapshotError> {
        if snapshot.version != BELIEF_VERSION {
            return Err(SnapshotError::new(format!(
                "unsupported version {} of a belief; only version {BELIEF_VERSION} can be read",
                snapshot.version
            )));
        }
        if snapshot.formula != *self.monitor.formula_hash() || snapshot.after != self.monitor.after.into() {
            return Err(SnapshotError::new(format!(
                "the belief is not one of `{}`; restore it with the formula it was taken with, and the same behavior \
                 after a verdict",
                self.monitor.text()
            )));
        }
        match self.load_state(snapshot) {
            Some(state) => {
                let clock = Clock::restored(snapshot.clock, snapshot.start);
                Ok(Belief { state, clock, ..self.start() })
            }
            None => Err(SnapshotError::new(format!(
                "the belief of `{}` is damaged: its states are not valid",
                self.monitor.text()
            ))),
        }
    }

    /// Returns the state of a snapshot; none if it is not one of this formula.
    fn load_state(&mut self, snapshot: &BeliefSnapshot) -> Option<BeliefState> {
        let mut distributions = Vec::with_capacity(snapshot.distributions.len());
        for saved in &snapshot.distributions {
            distributions.push(self.load_distribution(saved)?);
        }
        let load = |place: &usize| distributions.get(*place).cloned();
        match (&snapshot.state, &self.initial) {
            (SavedBeliefState::Single(place), BeliefState::Single(_)) => Some(BeliefState::Single(load(place)?)),
            (SavedBeliefState::Bindings { shared, populations }, BeliefState::Bindings(initial)) => {
                if populations.len() != initial.populations.len() {
                    return None;
                }
                let mut loaded = Vec::with_capacity(populations.len());
                for (saved, BeliefPopulation { valuation, start, .. }) in populations.iter().zip(&initial.populations) {
                    let mut population = BeliefPopulation::new(&self.monitor, *valuation, start.clone());
                    population.groups.leave(population.unseen);
                    population.unseen = population.groups.enter(load(&saved.unseen)?);
                    for (values, place) in &saved.bindings {
                        if values.len() != population.cells.width() || population.cells.find(values).is_some() {
                            return None;
                        }
                        let group = population.groups.enter(load(place)?);
                        population.cells.insert(values, group);
                    }
                    loaded.push(population);
                }
                Some(BeliefState::Bindings(BindingBeliefs { populations: loaded, is_shared: *shared }))
            }
            _ => None,
        }
    }

    fn save_distribution(&self, distribution: &Distribution) -> SavedDistribution {
        let mut points: Vec<SavedWeightedPoint> = Vec::with_capacity(distribution.points.len());
        for weighted in &distribution.points {
            let residual = self.cache.portable(&weighted.point);
            // INVARIANT: a residual of the cache is valid.
            let residual = residual.canonical().unwrap_or(residual);
            let (times, broken, weight) = (weighted.point.times.to_vec(), weighted.broken, weighted.weight);
            points.push(SavedWeightedPoint { residual, times, broken, weight });
        }
        points.sort_unstable();
        SavedDistribution { lost: distribution.lost, points }
    }

    /// Returns a distribution from data; none if it is not one of this formula.
    fn load_distribution(&mut self, saved: &SavedDistribution) -> Option<Distribution> {
        let mut whole = saved.lost;
        let mut table = PointTable::default();
        for point in &saved.points {
            whole = whole.checked_add(point.weight)?;
            if point.residual.clocks().len() != point.times.len() || point.weight == 0 {
                return None;
            }
            let handle = self.cache.adopt(&self.monitor.compiled.skeleton, &point.residual)?;
            let times = point.times.iter().copied().collect();
            table.add(WeightedPoint { point: Point { handle, times }, broken: point.broken, weight: point.weight });
        }
        let is_valid = whole == ONE && saved.points.len() <= MAX_POINTS;
        is_valid.then_some(Distribution { points: table.points, lost: saved.lost })
    }
}
