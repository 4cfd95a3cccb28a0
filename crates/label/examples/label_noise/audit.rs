//! What an audit finds if it takes labels as said, thresholds their chances, or follows the belief.

use std::error::Error;

use lictor_event::{AnswerValue, Kind};
use lictor_label::Calibration;
use lictor_logic::{BeliefMonitor, Choice, Fact, Facts, Monitor, Verdict};

use crate::labeler::{Random, SimulatedLabeler};

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

/// Audits traces whose asked fact has a base rate.
pub(crate) fn audit_traces(
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
            let chance = calibration.chance(&answer, &Kind::Facts, None).ok_or("the calibration failed its check")?;
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
