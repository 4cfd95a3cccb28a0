//! The measurement: every strategy over the same seeds, and the threshold from low to high.
//!
//! Three sets of seeds never meet: those on which the agent's numbers were set, those from which chains are learnt, and
//! those that are measured.

use std::sync::Arc;

use lictor::predict::Chain;

use super::run::{RunRecord, Strategy, TruckRuns, learn_chain};
use crate::paired::PairedDifference;

/// The first seeds of the three sets.
pub const TUNING_SEEDS: u64 = 1_000;
/// The first seed from which a chain is learnt.
pub const LEARNING_SEEDS: u64 = 10_000;
/// The first seed that is measured.
pub const MEASURED_SEEDS: u64 = 20_000;

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurePlan {
    /// The first seed of the measured runs.
    pub first_seed: u64,
    /// The temperatures of the agent.
    pub temperatures: Vec<f64>,
    /// The runs of each cell.
    pub runs: u64,
    /// The runs from which each chain is learnt.
    pub learning_runs: u64,
    /// The threshold of the comparison.
    pub threshold: f64,
    /// The thresholds of the sweep.
    pub sweep: Vec<f64>,
}

impl Default for MeasurePlan {
    fn default() -> MeasurePlan {
        MeasurePlan {
            first_seed: MEASURED_SEEDS,
            temperatures: vec![0.2, 0.8],
            runs: 40,
            learning_runs: 200,
            threshold: 0.3,
            sweep: (1..=9).map(|tenth| f64::from(tenth) / 10.0).collect(),
        }
    }
}

/// What was measured at one temperature.
#[derive(Debug)]
pub struct TemperatureResult {
    /// The temperature.
    pub temperature: f64,
    /// The chain of the forecasts.
    pub chain: Arc<Chain>,
    /// One cell for each strategy, none first, at the threshold of the comparison.
    pub cells: Vec<Cell>,
    /// The cells of the sweep, strategy by strategy.
    pub sweep: Vec<Cell>,
}

/// The runs of one strategy at one threshold.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The strategy.
    pub strategy: Strategy,
    /// The threshold.
    pub threshold: f64,
    /// The runs, by seed.
    pub runs: Vec<RunRecord>,
}

impl Cell {
    fn measure(
        strategy: Strategy,
        threshold: f64,
        chain: &Arc<Chain>,
        (plan, temperature): (&MeasurePlan, f64),
    ) -> Result<Cell, String> {
        let mut runs = TruckRuns::new(strategy, threshold, Some(chain))?;
        let seeds = plan.first_seed..plan.first_seed + plan.runs;
        let runs = seeds.map(|seed| Ok(runs.run(seed, temperature)?.0)).collect::<Result<_, String>>()?;
        Ok(Cell { strategy, threshold, runs })
    }

    /// Returns the mean of a number over the runs.
    pub fn mean(&self, read: impl Fn(&RunRecord) -> f64) -> f64 {
        mean(&self.runs, &read, None)
    }

    /// Returns the number of violating actions for each 100 actions.
    pub fn violating_share(&self) -> f64 {
        violating_share(&self.runs, None)
    }

    /// Returns how a mean differs from that of other runs with the same seeds.
    pub fn compare_mean(&self, other: &Cell, read: impl Fn(&RunRecord) -> f64) -> PairedDifference {
        let pairs = self.runs.len().min(other.runs.len());
        PairedDifference::bootstrap(pairs, |places| {
            (mean(&self.runs, &read, Some(places)), mean(&other.runs, &read, Some(places)))
        })
    }

    /// Returns how the number of violating actions for each 100 actions differs from that of other runs.
    pub fn compare_share(&self, other: &Cell) -> PairedDifference {
        let pairs = self.runs.len().min(other.runs.len());
        PairedDifference::bootstrap(pairs, |places| {
            (violating_share(&self.runs, Some(places)), violating_share(&other.runs, Some(places)))
        })
    }
}

/// Adds up a number over some of the runs, or all, in one order.
fn sum(runs: &[RunRecord], read: &dyn Fn(&RunRecord) -> f64, places: Option<&[usize]>) -> f64 {
    match places {
        Some(places) => places.iter().map(|place| read(&runs[*place])).sum(),
        None => runs.iter().map(read).sum(),
    }
}

fn mean(runs: &[RunRecord], read: &dyn Fn(&RunRecord) -> f64, places: Option<&[usize]>) -> f64 {
    sum(runs, read, places) / sum(runs, &|_| 1.0, places).max(1.0)
}

fn violating_share(runs: &[RunRecord], places: Option<&[usize]>) -> f64 {
    let violating = sum(runs, &|run| f64::from(run.score.violating_actions), places);
    100.0 * violating / sum(runs, &|run| f64::from(run.score.actions), places).max(1.0)
}

/// Learns the chains and makes all runs.
///
/// # Errors
///
/// A run failed, or there are too few runs to learn from.
pub fn measure(plan: &MeasurePlan) -> Result<Vec<TemperatureResult>, String> {
    plan.temperatures.iter().map(|temperature| measure_temperature(plan, *temperature)).collect()
}

fn measure_temperature(plan: &MeasurePlan, temperature: f64) -> Result<TemperatureResult, String> {
    let chain = Arc::new(learn_chain(LEARNING_SEEDS..LEARNING_SEEDS + plan.learning_runs, temperature)?);
    let measure = |strategy, threshold| Cell::measure(strategy, threshold, &chain, (plan, temperature));
    let cells = Strategy::ALL.iter().map(|(strategy, _)| measure(*strategy, plan.threshold));
    let cells = cells.collect::<Result<Vec<Cell>, String>>()?;
    let mut sweep = Vec::new();
    for (strategy, _) in Strategy::ALL.iter().skip(1) {
        for threshold in &plan.sweep {
            sweep.push(measure(*strategy, *threshold)?);
        }
    }
    Ok(TemperatureResult { temperature, chain, cells, sweep })
}
