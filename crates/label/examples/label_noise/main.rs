//! Measures what calibration and belief buy where labels are wrong, on simulated labelers: `docs/reference/calibration.md`
//! quotes the output.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod audit;
mod extraction;
mod labeler;

use std::error::Error;

use lictor_event::Kind;
use lictor_label::{DriftWatch, FactCheck};

use audit::{AuditScores, EXCUSE, OFFENCE, Property, audit_traces};
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

/// The number of traces for each number of the tables.
const TRACES: usize = 2000;

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

fn print_scores(name: &str, scores: &AuditScores) {
    let [said, thresholded, belief] = scores;
    println!(
        "{name}   {:.2}  {:.2}  {:.2}   {:.3}  {:.3}  {:.3}",
        said.f1(),
        thresholded.f1(),
        belief.f1(),
        said.brier(),
        thresholded.brier(),
        belief.brier()
    );
}

fn print_curve(property: Property) -> Result<(), Box<dyn Error>> {
    println!("`{}`, {TRACES} traces of 20 events, calibrated: as said, thresholded, belief", property.formula);
    println!("accuracy  F1                 Brier");
    for step in 0..=10 {
        let accuracy = 0.5 + 0.05 * f64::from(step);
        let labeler = SimulatedLabeler::with_accuracy(accuracy, BASE_RATE, RAW_ODDS);
        let calibration = fit(&labeler.sample(&mut Random(2), property.asked, BASE_RATE, SAMPLE))?;
        match calibration.has_passed(property.asked) {
            true => {
                let scores = audit_traces(property, labeler, &calibration, (BASE_RATE, TRACES, 3))?;
                print_scores(&format!("{accuracy:6.2}"), &scores);
            }
            false => println!("{accuracy:6.2}   calibration did not pass: no chances"),
        }
    }
    println!();
    Ok(())
}

fn print_miscalibrated() -> Result<(), Box<dyn Error>> {
    let property = EXCUSE;
    println!("`{}`, miscalibrated: as said, thresholded, belief", property.formula);
    println!("accuracy  planted            F1                 Brier               check  drift after");
    for accuracy in [0.77, 0.87, 0.98] {
        for (name, factor, rate) in [
            ("none", 1.0, BASE_RATE),
            ("odds x3", 3.0, BASE_RATE),
            ("odds x10", 10.0, BASE_RATE),
            ("rate 0.05 -> 0.20", 1.0, MOVED_RATE),
        ] {
            let labeler = SimulatedLabeler::with_accuracy(accuracy, BASE_RATE, RAW_ODDS);
            let mut random = Random(4);
            let calibration = fit(&labeler.sample(&mut random, property.asked, BASE_RATE, SAMPLE))?;
            let planted = plant_odds(&calibration, property.asked, BASE_RATE, factor)?;
            let live = labeler.sample(&mut random, property.asked, rate, 4000);
            let passed = planted.check(&live).values().all(|check| check.passed);
            let mut watch = DriftWatch::new(&calibration);
            let drift = live.iter().position(|it| {
                watch.observe(&it.answer, &Kind::Facts, None);
                watch.is_suspended(property.asked)
            });
            let scores = audit_traces(property, labeler, &planted, (rate, TRACES, 5))?;
            let drift = drift.map_or("-".to_owned(), |answers| format!("{} answers", answers + 1));
            let check = if passed { "passes" } else { "fails" };
            let [said, thresholded, belief] = &scores;
            println!(
                "{accuracy:8.2}  {name:17}  {:.2}  {:.2}  {:.2}   {:.3}  {:.3}  {:.3}   {check:6} {drift}",
                said.f1(),
                thresholded.f1(),
                belief.f1(),
                said.brier(),
                thresholded.brier(),
                belief.brier()
            );
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
