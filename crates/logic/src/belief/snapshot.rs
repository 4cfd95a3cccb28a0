//! A belief as data that survives a restart.
//!
//! Like the [`Snapshot`](crate::Snapshot) of a trace it holds residuals, not numbers of states. Residuals are in a form
//! that does not depend on the order in which a monitor learnt its states, and so are the points: equal beliefs have
//! equal snapshots, on every machine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::distribution::{Broken, Distribution, MAX_POINTS, PointTable, WeightedPoint};
use super::{Belief, BeliefMonitor};
use crate::after::After;
use crate::chance::ONE;
use crate::interval::Time;
use crate::snapshot::SnapshotError;
use crate::state::{Point, PortableResidual};

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
    distribution: SavedDistribution,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedAfter {
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
        BeliefSnapshot {
            version: BELIEF_VERSION,
            formula: Arc::clone(self.monitor.formula_hash()),
            after: self.monitor.after.into(),
            clock: belief.clock,
            distribution: self.save_distribution(&belief.distribution),
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
        match self.load_distribution(&snapshot.distribution) {
            Some(distribution) => Ok(Belief { distribution, clock: snapshot.clock }),
            None => Err(SnapshotError::new(format!(
                "the belief of `{}` is damaged: its states are not valid",
                self.monitor.text()
            ))),
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
