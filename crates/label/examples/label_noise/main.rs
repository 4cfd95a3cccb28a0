//! Measures what calibration and belief buy where labels are wrong, on simulated labelers: `docs/reference/calibration.md`
//! quotes the output.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod audit;
mod extraction;
mod labeler;

use std::error::Error;

use lictor_label::FactCheck;

use audit::{AuditCase, EXCUSE, Estimate, OFFENCE, Property};
use extraction::{ExtractionNoise, TOOL_SETS, follow_dialogues};
use labeler::{Random, SimulatedLabeler, fit, plant_odds};

/// The base rate of the asked fact.
const BASE_RATE: f64 = 0.05;

/// The base rate to which it moves.
const MOVED_RATE: f64 = 0.2;

/// How far the odds of the labeler's own scores are off, which the calibration repairs.
const RAW_ODDS: f64 = 3.0;

/// The number of answers in the labelled sample: half fits, half checks.
const SAMPLE: u64 = 8000;

/// The number of calibrations, each fitted on a sample of its own, for each number of the tables of audits.
const CALIBRATIONS: u64 = 10;

/// The number of traces for each calibration.
const TRACES: usize = 400;

fn main() -> Result<(), Box<dyn Error>> {
    print_check()?;
    print_planted()?;
    for property in [EXCUSE, OFFENCE] {
        print_curve(property)?;
    }
    print_miscalibrated()?;
    print_extraction()
}

fn print_check() -> Result<(), Box<dyn Error>> {
    println!("Held-out half, {SAMPLE} answers, base rate {BASE_RATE}: raw -> calibrated");
    println!("accuracy  odds off     Brier             ECE               log loss          bins   passed");
    for accuracy in [0.77, 0.87, 0.98] {
        for factor in [1.0, 3.0, 10.0] {
            let labeler = SimulatedLabeler::with_accuracy(accuracy, BASE_RATE, factor);
            let calibration = fit(&labeler.sample(&mut Random(1), "approved", BASE_RATE, SAMPLE))?;
            let Some((_, check)) = calibration.facts().next() else { return Err("no fact".into()) };
            println!(
                "{accuracy:8.2}  {factor:8.0}  {:.4} -> {:.4}  {:.4} -> {:.4}  {:.4} -> {:.4}  {}/{}  {}",
                check.raw_brier,
                check.brier,
                check.raw_ece,
                check.ece,
                check.raw_log_loss,
                check.log_loss,
                count_within(check),
                check.bins.len(),
                if check.passed { "yes" } else { "no" }
            );
        }
    }
    println!();
    Ok(())
}

fn count_within(check: &FactCheck) -> usize {
    check.bins.iter().filter(|bin| bin.is_within()).count()
}

fn print_planted() -> Result<(), Box<dyn Error>> {
    println!("Share of 40 checks that fail, accuracy 0.87, calibration of 8000 answers, checked on new ones");
    println!("checked on  sound  odds x3  odds x10  odds /3  base rate {BASE_RATE} -> {MOVED_RATE}");
    for answers in [500, 2000, 8000] {
        let mut failed = [0; 5];
        for seed in 0..40 {
            let labeler = SimulatedLabeler::with_accuracy(0.87, BASE_RATE, RAW_ODDS);
            let mut random = Random(1000 + seed);
            let calibration = fit(&labeler.sample(&mut random, "approved", BASE_RATE, 8000))?;
            let later = labeler.sample(&mut random, "approved", BASE_RATE, answers);
            let moved = labeler.sample(&mut random, "approved", MOVED_RATE, answers);
            let fails = |factor: f64, sample| -> Result<usize, Box<dyn Error>> {
                let planted = plant_odds(&calibration, "approved", BASE_RATE, factor)?;
                Ok(planted.check(sample).values().filter(|check| !check.passed).count())
            };
            for (place, factor) in [1.0, 3.0, 10.0, 1.0 / 3.0].into_iter().enumerate() {
                failed[place] += fails(factor, &later)?;
            }
            failed[4] += fails(1.0, &moved)?;
        }
        let [sound, three, ten, third, rate] = failed.map(|count| count as f64 / 40.0);
        println!("{answers:10}  {sound:5.2}  {three:7.2}  {ten:8.2}  {third:7.2}  {rate:11.2}");
    }
    println!();
    Ok(())
}

fn show(estimates: &[Estimate; 3], digits: usize) -> String {
    let one = |it: &Estimate| format!("{:.digits$} ±{:.digits$}", it.mean, it.half_width);
    estimates.iter().map(one).collect::<Vec<_>>().join("  ")
}

/// Returns a case at the base rate, without anything planted.
fn sound_case(property: Property, accuracy: f64) -> AuditCase {
    AuditCase {
        property,
        accuracy,
        planted: 1.0,
        fitted_rate: BASE_RATE,
        live_rate: BASE_RATE,
        calibrations: CALIBRATIONS,
        answers: SAMPLE,
        traces: TRACES,
    }
}

fn print_curve(property: Property) -> Result<(), Box<dyn Error>> {
    println!("`{}`: as said, thresholded, belief", property.formula);
    println!("accuracy  F1                                 Brier");
    for step in 0..=10 {
        let accuracy = 0.5 + 0.05 * f64::from(step);
        let result = sound_case(property, accuracy).run()?;
        println!("{accuracy:8.2}  {}  {}", show(&result.f1, 2), show(&result.brier, 3));
    }
    println!();
    Ok(())
}

fn print_miscalibrated() -> Result<(), Box<dyn Error>> {
    println!("`{}`, planted errors: as said, thresholded, belief", EXCUSE.formula);
    println!(
        "accuracy  planted       F1                                 Brier                                check  watch"
    );
    for accuracy in [0.77, 0.87, 0.98] {
        for (name, planted, live_rate) in [
            ("none", 1.0, BASE_RATE),
            ("odds x3", 3.0, BASE_RATE),
            ("odds x10", 10.0, BASE_RATE),
            ("rate to 0.20", 1.0, MOVED_RATE),
        ] {
            let result = AuditCase { planted, live_rate, ..sound_case(EXCUSE, accuracy) }.run()?;
            let (f1, brier) = (show(&result.f1, 2), show(&result.brier, 3));
            println!("{accuracy:8.2}  {name:12}  {f1}  {brier}  {:5.2}  {:5.2}", result.failed, result.suspended);
        }
    }
    println!();
    Ok(())
}

fn print_extraction() -> Result<(), Box<dyn Error>> {
    println!("Recogniser noise: attack success / false positives in %, plain monitor -> base rate of each tool");
    println!("tools     noise  drop-out                      over-typing");
    for (name, rates) in TOOL_SETS {
        for noise in [0.0, 0.1, 0.25, 0.5] {
            let mut cells = Vec::new();
            for noise in
                [ExtractionNoise { dropped: noise, invented: 0.0 }, ExtractionNoise { dropped: 0.0, invented: noise }]
            {
                let [plain, strata] = follow_dialogues(rates, noise, 4000, 6)?;
                let cell = |score: extraction::ExtractionScore| {
                    format!("{:4.1} / {:4.1}", 100.0 * score.attack_success(), 100.0 * score.false_positives())
                };
                cells.push(format!("{} -> {}", cell(plain), cell(strata)));
            }
            println!("{name:8}  {:4.0} %  {}   {}", 100.0 * noise, cells[0], cells[1]);
        }
    }
    Ok(())
}
