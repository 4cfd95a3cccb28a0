//! How good forecasts were: against what happened, and against a forecast that always says the base rate.

use lictor_math::{ReliabilityBin, clopper_pearson, draw_reliability, write_reliability_table};

/// The number of bins of a reliability table.
const BINS: usize = 10;

/// The confidence of the bars of a bin.
const CONFIDENCE: f64 = 0.95;

/// A forecast and what happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredForecast {
    /// The session that it was made in, by a number.
    pub session: usize,
    /// How many actions of the session were before it.
    pub actions: u32,
    /// The forecast.
    pub chance: f64,
    /// The upper end of its interval.
    pub most: f64,
    /// Whether the pattern happened in time.
    pub has_happened: bool,
}

/// How good forecasts were.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ForecastScores {
    /// The number of forecasts.
    pub forecasts: usize,
    /// The share of them whose pattern happened.
    pub base_rate: f64,
    /// The mean squared difference between forecast and what happened.
    pub brier: f64,
    /// The same for a forecast that always says the base rate.
    pub base_brier: f64,
    /// The probability that a forecast whose pattern happened was higher than one whose did not; `None` without both.
    pub auroc: Option<f64>,
    /// Forecasts of about the same probability, with how often the pattern happened. Forecasts of one session are one
    /// cluster: the bars are as wide as the number of sessions says.
    pub bins: Vec<ReliabilityBin>,
}

/// How early violations were announced, at some number of false alarms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeadTime {
    /// The forecast from which on an alarm is raised.
    pub threshold: f64,
    /// False alarms for each 100 forecasts.
    pub false_alarms: f64,
    /// The share of patterns that were announced before they happened.
    pub announced: f64,
    /// How many actions before, on average over those.
    pub actions: f64,
}

impl ForecastScores {
    /// Returns the scores of some forecasts; `None` without any.
    pub fn new(forecasts: &[ScoredForecast]) -> Option<ForecastScores> {
        let count = forecasts.len();
        if count == 0 {
            return None;
        }
        let hits = forecasts.iter().filter(|it| it.has_happened).count();
        let base_rate = hits as f64 / count as f64;
        let truth = |it: &ScoredForecast| f64::from(u8::from(it.has_happened));
        let brier = forecasts.iter().map(|it| (it.chance - truth(it)).powi(2)).sum::<f64>() / count as f64;
        let mut sorted: Vec<&ScoredForecast> = forecasts.iter().collect();
        sorted.sort_by(|a, b| a.chance.total_cmp(&b.chance));
        Some(ForecastScores {
            forecasts: count,
            base_rate,
            brier,
            base_brier: base_rate * (1.0 - base_rate),
            auroc: measure_auroc(&sorted, hits),
            bins: fill_bins(&sorted),
        })
    }

    /// Returns how much better the Brier score is than that of the base rate: 1 is perfect, 0 is no better.
    pub fn skill(&self) -> f64 {
        if self.base_brier == 0.0 { 0.0 } else { 1.0 - self.brier / self.base_brier }
    }

    /// Returns the reliability table as text, with a plot of each bin.
    pub fn to_table(&self) -> String {
        write_reliability_table(&self.bins, "forecasts")
    }

    /// Returns the reliability table as an SVG picture.
    pub fn to_svg(&self, title: &str) -> String {
        let caption = format!("{} forecasts in {} bins with 95 % bars by session", self.forecasts, self.bins.len());
        draw_reliability(&self.bins, title, &caption)
    }
}

/// Counts the pairs in the right order; equal forecasts count half.
fn measure_auroc(sorted: &[&ScoredForecast], hits: usize) -> Option<f64> {
    let misses = sorted.len() - hits;
    if hits == 0 || misses == 0 {
        return None;
    }
    let (mut below, mut pairs) = (0.0, 0.0);
    for group in sorted.chunk_by(|a, b| a.chance == b.chance) {
        let hit = group.iter().filter(|it| it.has_happened).count() as f64;
        let missed = group.len() as f64 - hit;
        pairs += hit * (below + 0.5 * missed);
        below += missed;
    }
    Some(pairs / (hits as f64 * misses as f64))
}

/// Puts forecasts into bins of about equal size. Equal forecasts are in one bin.
fn fill_bins(sorted: &[&ScoredForecast]) -> Vec<ReliabilityBin> {
    let size = sorted.len().div_ceil(BINS);
    let (mut bins, mut open): (Vec<ReliabilityBin>, Vec<&ScoredForecast>) = (Vec::new(), Vec::new());
    for group in sorted.chunk_by(|a, b| a.chance == b.chance) {
        open.extend(group);
        if open.len() >= size {
            bins.push(count_bin(&open));
            open.clear();
        }
    }
    if !open.is_empty() {
        bins.push(count_bin(&open));
    }
    bins
}

fn count_bin(forecasts: &[&ScoredForecast]) -> ReliabilityBin {
    let count = forecasts.len();
    let hits = forecasts.iter().filter(|it| it.has_happened).count();
    let mean_chance = forecasts.iter().map(|it| it.chance).sum::<f64>() / count as f64;
    // Forecasts of one session tell as much as one of them.
    let sessions: std::collections::BTreeSet<usize> = forecasts.iter().map(|it| it.session).collect();
    let (rate, effective) = (hits as f64 / count as f64, sessions.len() as f64);
    let (least, most) = clopper_pearson(rate * effective, effective, CONFIDENCE);
    ReliabilityBin { count: count as u64, positives: hits as u64, mean_chance, least, most }
}

impl LeadTime {
    /// Returns how early patterns were announced, with the lowest threshold that raises at most so many false alarms for
    /// each 100 forecasts; `None` if the pattern never happened.
    pub fn measure(forecasts: &[ScoredForecast], false_alarms: f64) -> Option<LeadTime> {
        let mut missed: Vec<f64> = forecasts.iter().filter(|it| !it.has_happened).map(|it| it.chance).collect();
        missed.sort_by(|a, b| b.total_cmp(a));
        let allowed = (forecasts.len() as f64 * false_alarms / 100.0) as usize;
        let threshold = missed.get(allowed).map_or(0.0, |chance| chance.next_up());
        let is_alarm = |it: &&ScoredForecast| it.chance >= threshold;
        let raised = forecasts.iter().filter(|it| !it.has_happened).filter(is_alarm).count();
        let (mut patterns, mut announced, mut actions) = (0u32, 0u32, 0.0);
        // The forecasts in a row for which the pattern was within reach.
        for run in forecasts.chunk_by(|a, b| a.session == b.session && a.has_happened == b.has_happened) {
            let [.., last] = run else { continue };
            if !last.has_happened {
                continue;
            }
            patterns += 1;
            if let Some(first) = run.iter().find(is_alarm) {
                announced += 1;
                actions += f64::from(last.actions - first.actions + 1);
            }
        }
        (patterns > 0).then(|| LeadTime {
            threshold,
            false_alarms: raised as f64 * 100.0 / forecasts.len().max(1) as f64,
            announced: f64::from(announced) / f64::from(patterns),
            actions: if announced == 0 { 0.0 } else { actions / f64::from(announced) },
        })
    }
}
