//! A small measurement can be repeated to the byte, and its sums add up.

use lictor_lab::trucks::client::MAX_ACTIONS;
use lictor_lab::trucks::measure::{MeasurePlan, TUNING_SEEDS, measure};
use lictor_lab::trucks::report::{draw_sweeps, write_tables};
use lictor_lab::trucks::run::{RunRecord, Strategy};

#[test]
fn small_measurement_repeats_and_adds_up() {
    let plan = MeasurePlan {
        first_seed: TUNING_SEEDS,
        temperatures: vec![0.8],
        runs: 1,
        learning_runs: 10,
        sweep: Vec::new(),
        ..MeasurePlan::default()
    };
    let (first, second) = (measure(&plan).unwrap(), measure(&plan).unwrap());
    assert_eq!(write_tables(&plan, &first), write_tables(&plan, &second));
    assert_eq!(draw_sweeps(&first), draw_sweeps(&second));
    for result in first {
        let strategies: Vec<Strategy> = result.cells.iter().map(|cell| cell.strategy).collect();
        assert_eq!(strategies, Strategy::ALL.map(|(strategy, _)| strategy));
        for cell in &result.cells {
            assert_eq!(cell.runs.len(), 1);
            cell.runs.iter().for_each(|run| check_sums(cell.strategy, run));
        }
        let is_used =
            |strategy: Strategy| result.cells.iter().any(|it| it.strategy == strategy && it.runs[0].extra_calls > 0);
        assert!(is_used(Strategy::Inject) && is_used(Strategy::Resample) && is_used(Strategy::Switch));
    }
}

fn check_sums(strategy: Strategy, run: &RunRecord) {
    let score = &run.score;
    assert_eq!(score.violating_actions as usize, score.broken.len());
    assert_eq!(score.violations as usize, score.broken.iter().map(|(_, places)| places.len()).sum::<usize>());
    // One call in each reply, but for the last one, which says that all is done.
    assert_eq!(run.replies, u64::from(score.actions) + u64::from(score.is_done && score.actions < MAX_ACTIONS));
    assert!(run.replaced <= run.extra_calls && score.malformed == 0, "{run:?}");
    assert!(strategy != Strategy::None || run.extra_calls == 0);
    assert!(strategy == Strategy::Switch || run.cost == run.tokens as f64);
    assert!(strategy != Strategy::Resample || run.extra_calls.is_multiple_of(5), "{run:?}");
}
