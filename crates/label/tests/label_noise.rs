//! What calibration and belief buy where labels are wrong, on the simulated labelers of the example `label_noise`, which
//! prints the same numbers from more traces.

#[path = "../examples/label_noise/audit.rs"]
mod audit;
#[path = "../examples/label_noise/extraction.rs"]
mod extraction;
#[path = "../examples/label_noise/labeler.rs"]
mod labeler;

use audit::{AuditScores, EXCUSE, OFFENCE, Property, audit_traces};
use extraction::{ExtractionNoise, TOOL_SETS, follow_dialogues};
use labeler::{Random, SimulatedLabeler, fit, plant_odds};

const BASE_RATE: f64 = 0.05;
const TRACES: usize = 400;

/// Audits with a calibration whose odds are multiplied, at a base rate; also whether the check of new answers passes.
fn audit_planted(property: Property, accuracy: f64, factor: f64, base_rate: f64) -> (AuditScores, bool) {
    let labeler = SimulatedLabeler::with_accuracy(accuracy, BASE_RATE, 3.0);
    let mut random = Random(7);
    let calibration = fit(&labeler.sample(&mut random, property.asked, BASE_RATE, 6000)).unwrap();
    let planted = plant_odds(&calibration, property.asked, BASE_RATE, factor).unwrap();
    let passes =
        planted.check(&labeler.sample(&mut random, property.asked, base_rate, 3000)).values().all(|check| check.passed);
    (audit_traces(property, labeler, &planted, (base_rate, TRACES, 8)).unwrap(), passes)
}

#[test]
fn calibrated_belief_has_lowest_brier() {
    for property in [EXCUSE, OFFENCE] {
        for accuracy in [0.77, 0.87, 0.98] {
            let (scores, passes) = audit_planted(property, accuracy, 1.0, BASE_RATE);
            let [said, thresholded, belief] = scores.map(|score| score.brier());
            assert!(passes && belief < said && belief < thresholded, "{property:?} {accuracy}: {scores:?}");
        }
    }
    let [said, _, belief] = audit_planted(EXCUSE, 0.77, 1.0, BASE_RATE).0.map(|score| score.f1());
    assert!(belief > said + 0.2, "{belief} {said}");
}

#[test]
fn check_fires_where_belief_is_miscalibrated() {
    for accuracy in [0.77, 0.87, 0.98] {
        let sound = audit_planted(EXCUSE, accuracy, 1.0, BASE_RATE).0[2].brier();
        for (factor, base_rate) in [(3.0, BASE_RATE), (10.0, BASE_RATE), (1.0, 0.2)] {
            let (scores, passes) = audit_planted(EXCUSE, accuracy, factor, base_rate);
            assert!(!passes, "accuracy {accuracy}, odds times {factor}, base rate {base_rate}");
            if base_rate == BASE_RATE {
                assert!(scores[2].brier() > sound, "accuracy {accuracy}, odds times {factor}");
            }
        }
    }
}

#[test]
fn labels_as_said_beat_stale_belief() {
    // With a base rate of 0.2 where 0.05 was fitted, the plain reading is the better number at low accuracy.
    let (scores, _) = audit_planted(EXCUSE, 0.77, 1.0, 0.2);
    assert!(scores[0].brier() < scores[2].brier(), "{scores:?}");
}

#[test]
fn base_rates_of_tools_repair_what_they_tell() {
    for (name, rates) in TOOL_SETS {
        for share in [0.0, 0.1, 0.25, 0.5] {
            for noise in
                [ExtractionNoise { dropped: share, invented: 0.0 }, ExtractionNoise { dropped: 0.0, invented: share }]
            {
                let [plain, strata] = follow_dialogues(rates, noise, 1500, 9).unwrap();
                let (missed, stopped) = (plain.attack_success(), plain.false_positives());
                let is_zero = share == 0.0 && (missed, stopped) == (0.0, 0.0);
                assert!(is_zero || share > 0.0, "{name} {noise:?}");
                // The ranges that C-Trace reports for its recogniser at 10 % and 50 %.
                assert!(share > 0.1 || (missed <= 0.12 && stopped <= 0.16), "{name} {noise:?}: {missed} {stopped}");
                assert!(missed <= 0.6 && stopped <= 0.54, "{name} {noise:?}: {missed} {stopped}");
                let worse = (strata.attack_success() > missed, strata.false_positives() > stopped);
                assert!(worse != (true, true), "{name} {noise:?}: {plain:?} {strata:?}");
                if name == "telling" && noise.dropped >= 0.25 {
                    assert!(strata.attack_success() < 0.5 * missed, "{noise:?}: {strata:?}");
                }
            }
        }
    }
}
