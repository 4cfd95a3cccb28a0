//! A small measurement can be repeated to the byte, and its sums add up.

use lictor_lab::trucks::measure::{MeasurePlan, TUNING_SEEDS, measure};
use lictor_lab::trucks::report::{draw_sweeps, write_tables};
use lictor_lab::trucks::run::Strategy;

fn plan() -> MeasurePlan {
    MeasurePlan { first_seed: TUNING_SEEDS, runs: 2, learning_runs: 12, sweep: vec![0.5], ..MeasurePlan::default() }
}

#[test]
fn measurement_repeats_to_the_byte() {
    let write = || {
        let results = measure(&plan()).unwrap();
        (write_tables(&plan(), &results), draw_sweeps(&results))
    };
    assert_eq!(write(), write());
}

#[test]
fn measurement_sums_add_up() {
    for result in measure(&plan()).unwrap() {
        let strategies: Vec<Strategy> = result.cells.iter().map(|cell| cell.strategy).collect();
        assert_eq!(strategies, Strategy::ALL.map(|(strategy, _)| strategy));
        assert_eq!(result.sweep.len(), 3);
        for cell in result.cells.iter().chain(&result.sweep) {
            assert_eq!(cell.runs.len(), 2);
            for run in &cell.runs {
                let score = &run.score;
                assert_eq!(score.violating_actions as usize, score.broken.len());
                assert_eq!(score.violations as usize, score.broken.iter().map(|(_, places)| places.len()).sum::<usize>());
                // One call in each reply, but for the last one, which says that all is done.
                assert_eq!(run.replies, u64::from(score.actions) + u64::from(score.is_done && score.actions < 60));
                assert!(run.replaced <= run.extra_calls && score.malformed == 0, "{run:?}");
                assert!(cell.strategy != Strategy::None || run.extra_calls == 0);
                assert!(cell.strategy == Strategy::Switch || run.cost == run.tokens as f64);
                assert!(cell.strategy != Strategy::Resample || run.extra_calls % 5 == 0, "{run:?}");
            }
        }
    }
}
