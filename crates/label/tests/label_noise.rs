//! What calibration and belief buy where labels are wrong, on the simulated labelers of the example `label_noise`, which
//! prints the same numbers from more traces.

#[path = "../examples/label_noise/audit.rs"]
mod audit;
#[path = "../examples/label_noise/extraction.rs"]
mod extraction;
#[path = "../examples/label_noise/labeler.rs"]
mod labeler;

use std::error::Error;

use audit::{AuditCase, AuditResult, EXCUSE, OFFENCE, Property};
use extraction::{ExtractionNoise, TOOL_SETS, follow_dialogues};

const BASE_RATE: f64 = 0.05;

/// Audits with calibrations whose odds are multiplied, at a base rate.
fn audit(
    property: Property,
    accuracy: f64,
    planted: f64,
    live_rate: f64,
    traces: usize,
) -> Result<AuditResult, Box<dyn Error>> {
    let case = AuditCase {
        property,
        accuracy,
        planted,
        fitted_rate: BASE_RATE,
        live_rate,
        calibrations: 6,
        answers: 6000,
        traces,
    };
    case.run()
}

#[test]
fn calibrated_belief_has_lowest_brier() -> Result<(), Box<dyn Error>> {
    for property in [EXCUSE, OFFENCE] {
        for accuracy in [0.77, 0.87, 0.98] {
            let result = audit(property, accuracy, 1.0, BASE_RATE, 250)?;
            let [said, thresholded, belief] = result.brier.map(|it| it.mean);
            assert!(belief < said && belief < thresholded, "{property:?} {accuracy}: {result:?}");
            assert!(result.failed <= 0.25 && result.suspended == 0.0, "{property:?} {accuracy}: {result:?}");
        }
    }
    let [said, _, belief] = audit(EXCUSE, 0.77, 1.0, BASE_RATE, 250)?.f1;
    assert!(belief.mean - belief.half_width > said.mean + said.half_width, "{belief:?} {said:?}");
    Ok(())
}

#[test]
fn check_fires_where_belief_is_miscalibrated() -> Result<(), Box<dyn Error>> {
    for accuracy in [0.77, 0.87, 0.98] {
        let sound = audit(EXCUSE, accuracy, 1.0, BASE_RATE, 100)?.brier[2].mean;
        for (planted, live_rate) in [(3.0, BASE_RATE), (10.0, BASE_RATE), (1.0, 0.2)] {
            let result = audit(EXCUSE, accuracy, planted, live_rate, 100)?;
            let case = format!("accuracy {accuracy}, odds times {planted}, base rate {live_rate}: {result:?}");
            assert_eq!(result.failed, 1.0, "{case}");
            assert!(live_rate != BASE_RATE || result.brier[2].mean > sound, "{case}");
        }
    }
    Ok(())
}

#[test]
fn base_rates_of_tools_repair_what_they_tell() -> Result<(), Box<dyn Error>> {
    for (name, rates) in TOOL_SETS {
        for share in [0.0, 0.1, 0.25, 0.5] {
            for noise in
                [ExtractionNoise { dropped: share, invented: 0.0 }, ExtractionNoise { dropped: 0.0, invented: share }]
            {
                let [plain, strata] = follow_dialogues(rates, noise, 1500, 9)?;
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
    Ok(())
}
