//! What an audit finds if it takes labels as said, thresholds their chances, or follows the belief.

use std::error::Error;

use lictor_event::{AnswerValue, Kind};
use lictor_label::{Calibration, DriftWatch};
use lictor_logic::{BeliefMonitor, Chance, Choice, Fact, Facts, Monitor, Verdict};

use crate::labeler::{Random, SimulatedLabeler, fit, plant_odds};

/// The number of events of a trace.
const EVENTS: usize = 20;

/// How often the certain fact occurs at an event.
const CERTAIN_RATE: f64 = 0.1;

/// A property with one certain fact, `pay`, and one that a labeler is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Property {
    /// The formula.
    pub(crate) formula: &'static str,
    /// The fact that the labeler is asked about.
    pub(crate) asked: &'static str,
}

/// The asked fact excuses what would be a violation.
pub(crate) const EXCUSE: Property = Property { formula: "always (pay implies once approved)", asked: "approved" };

/// The asked fact makes a violation.
pub(crate) const OFFENCE: Property =
    Property { formula: "always (pay implies not once threatens)", asked: "threatens" };

/// How often one way to audit was right.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AuditScore {
    hits: f64,
    false_alarms: f64,
    misses: f64,
    square_errors: f64,
    traces: f64,
}

impl AuditScore {
    fn add(&mut self, probability: f64, truth: bool) {
        let found = probability >= 0.5;
        self.hits += f64::from(u8::from(found && truth));
        self.false_alarms += f64::from(u8::from(found && !truth));
        self.misses += f64::from(u8::from(!found && truth));
        self.square_errors += (probability - f64::from(u8::from(truth))).powi(2);
        self.traces += 1.0;
    }

    /// Returns the harmonic mean of precision and recall of violations.
    pub(crate) fn f1(&self) -> f64 {
        2.0 * self.hits / (2.0 * self.hits + self.false_alarms + self.misses).max(1.0)
    }

    /// Returns the mean square of probability minus truth.
    pub(crate) fn brier(&self) -> f64 {
        self.square_errors / self.traces.max(1.0)
    }
}

/// The scores of the three ways to audit: as said, thresholded, belief.
pub(crate) type AuditScores = [AuditScore; 3];

/// A mean over independent calibrations, and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) half_width: f64,
}

impl Estimate {
    fn from_values(values: &[f64]) -> Estimate {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // The 97.5 % point of Student's distribution for ten values; for fewer it is a little more.
        Estimate { mean, half_width: 2.26 * (variance / count).sqrt() }
    }
}

/// A condition under which audits are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditCase {
    pub(crate) property: Property,
    /// The accuracy of plain answers.
    pub(crate) accuracy: f64,
    /// How far the odds of the calibration's chances are off.
    pub(crate) planted: f64,
    /// The base rate at the fit, and that of the audited traces.
    pub(crate) fitted_rate: f64,
    pub(crate) live_rate: f64,
    /// The numbers of calibrations, of answers that each is fitted and checked on, and of traces for each.
    pub(crate) calibrations: u64,
    pub(crate) answers: u64,
    pub(crate) traces: usize,
}

/// What a case gives: for labels as said, thresholded chances, and the belief.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditResult {
    pub(crate) f1: [Estimate; 3],
    pub(crate) brier: [Estimate; 3],
    /// The share of calibrations that fail a check on as many new answers of the audited traffic.
    pub(crate) failed: f64,
    /// The share of calibrations that the watch over answers suspends within 4,000 answers.
    pub(crate) suspended: f64,
}

impl AuditCase {
    /// Fits calibrations and audits traces with each. The odds of the labeler's own scores are 3 times too high.
    pub(crate) fn run(&self) -> Result<AuditResult, Box<dyn Error>> {
        let AuditCase { property, planted, fitted_rate, live_rate, .. } = *self;
        let labeler = SimulatedLabeler::with_accuracy(self.accuracy, fitted_rate, 3.0);
        let (mut f1, mut brier) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
        let (mut failed, mut suspended) = (0.0, 0.0);
        for seed in 0..self.calibrations {
            let mut random = Random(1_000_003 * (seed + 1));
            let sound = fit(&labeler.sample(&mut random, property.asked, fitted_rate, self.answers))?;
            let calibration = plant_odds(&sound, property.asked, fitted_rate, planted)?;
            let live = labeler.sample(&mut random, property.asked, live_rate, self.answers);
            failed += f64::from(u8::from(!calibration.check(&live).values().all(|check| check.passed)));
            let mut watch = DriftWatch::new(&sound);
            live.iter().take(4000).for_each(|it| watch.observe(&it.answer, &Kind::Facts, None));
            suspended += f64::from(u8::from(watch.is_suspended(property.asked)));
            let scores = audit_traces(property, labeler, &calibration, (live_rate, self.traces, seed))?;
            for (place, score) in scores.iter().enumerate() {
                f1[place].push(score.f1());
                brier[place].push(score.brier());
            }
        }
        let count = self.calibrations as f64;
        let estimate = |values: [Vec<f64>; 3]| values.map(|values| Estimate::from_values(&values));
        Ok(AuditResult {
            f1: estimate(f1),
            brier: estimate(brier),
            failed: failed / count,
            suspended: suspended / count,
        })
    }
}

/// Audits traces whose asked fact has a base rate. An answer without a chance is read plainly.
fn audit_traces(
    property: Property,
    labeler: SimulatedLabeler,
    calibration: &Calibration,
    (base_rate, traces, seed): (f64, usize, u64),
) -> Result<AuditScores, Box<dyn Error>> {
    let monitor = Monitor::parse(property.formula)?;
    let mut believer = BeliefMonitor::new(monitor.clone())?;
    let mut random = Random(seed);
    let mut scores = AuditScores::default();
    for _ in 0..traces {
        let mut runs = [monitor.run(), monitor.run(), monitor.run()];
        let mut belief = believer.start();
        for _ in 0..EVENTS {
            let certain = if random.happens(CERTAIN_RATE) { Facts::from_names(["pay"])? } else { Facts::default() };
            let truth = random.happens(base_rate);
            let answer = labeler.answer(&mut random, property.asked, truth);
            let plain = if answer.says == AnswerValue::Yes { Chance::ALWAYS } else { Chance::NEVER };
            let chance = calibration.chance(&answer, &Kind::Facts, None).unwrap_or(plain);
            let readings = [truth, answer.says == AnswerValue::Yes, chance.to_f64() >= 0.5];
            for (run, holds) in runs.iter_mut().zip(readings) {
                let mut facts = certain.clone();
                facts.known.extend(holds.then(|| Fact::new(property.asked, [])));
                run.step(&facts);
            }
            believer.step(&mut belief, &certain, &[Choice::new(answer.fact.clone(), chance)]);
        }
        let [truth, said, thresholded] = runs.map(|mut run| run.verdict() == Verdict::Violated);
        let as_number = |found: bool| f64::from(u8::from(found));
        let probabilities = [as_number(said), as_number(thresholded), belief.violated().least.to_f64()];
        for (score, probability) in scores.iter_mut().zip(probabilities) {
            score.add(probability, truth);
        }
    }
    Ok(scores)
}
