//! Curves from scores to chances.

use super::*;

const PROBABILITY: ScoreScale = ScoreScale { is_about_answer: false, is_probability: true };

/// Scores that are spread evenly, with truths that hold exactly as often as `rate` says.
fn draw(count: usize, rate: impl Fn(f64) -> f64) -> Vec<(f64, bool)> {
    let spread = |k: usize| (k as f64 + 0.5) / count as f64;
    (0..count).map(|k| (spread(k), (k as f64 * 0.618_033_988_749_895).fract() < rate(spread(k)))).collect()
}

#[test]
fn platt_repairs_odds_ten_times_too_high() {
    let rate = |score: f64| score / (score + 10.0 * (1.0 - score));
    let curve = ScoreCurve::fit(PROBABILITY, &draw(800, rate)).unwrap();
    assert_eq!(curve.method, FitMethod::Platt);
    for score in [0.1, 0.3, 0.5, 0.7, 0.9, 0.95] {
        let found = curve.read(score).unwrap();
        assert!((found - rate(score)).abs() < 0.03, "{score}: {found} {}", rate(score));
    }
}

#[test]
fn platt_table_equals_its_formula() {
    let examples = draw(900, |score| score * score);
    let evidence: Vec<(f64, bool)> = examples.iter().map(|(s, t)| (PROBABILITY.to_evidence(*s), *t)).collect();
    let (slope, offset) = fit_platt(&evidence);
    let curve = ScoreCurve::fit(PROBABILITY, &examples).unwrap();
    for k in 1..1000 {
        let score = f64::from(k) / 1000.0;
        let exact = clip(logistic(slope * PROBABILITY.to_evidence(score) + offset), 900);
        assert!((curve.read(score).unwrap() - exact).abs() < 2e-3, "{score}");
    }
}

#[test]
fn platt_fits_scores_of_any_size() {
    let scale = ScoreScale { is_about_answer: false, is_probability: false };
    let wide: Vec<(f64, bool)> = draw(400, |score| score).iter().map(|(s, t)| (s * 2e6 - 1e6, *t)).collect();
    let curve = ScoreCurve::fit(scale, &wide).unwrap();
    assert!((curve.read(0.0).unwrap() - 0.5).abs() < 0.05 && curve.read(1e9).unwrap() > 0.8);
    assert!(curve.read(-1e9).unwrap() < 0.2);
    let equal: Vec<(f64, bool)> = (0..200).map(|k| (7.0, k % 4 == 0)).collect();
    assert!((ScoreCurve::fit(scale, &equal).unwrap().read(7.0).unwrap() - 0.25).abs() < 0.02);
}

#[test]
fn isotonic_equals_best_rising_fit() {
    // The slow definition: the chance of a place is the largest, over its beginnings, of the smallest mean to an end.
    let mut state = 7u64;
    for case in 0..200 {
        let examples: Vec<(f64, bool)> = (0..12)
            .map(|k| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (f64::from(k), (state >> 60) < 8)
            })
            .collect();
        let truth: Vec<f64> = examples.iter().map(|(_, truth)| f64::from(u8::from(*truth))).collect();
        let mean = |from: usize, to: usize| truth[from..=to].iter().sum::<f64>() / (to - from + 1) as f64;
        let blocks = truth.iter().enumerate().map(|(k, &chance)| {
            let place = k as f64;
            Block { first: place, last: place, count: 1.0, chance }
        });
        let pooled = pool_violators(blocks);
        for k in 0..12 {
            let smallest = |from: usize| (k..12).map(|to| mean(from, to)).fold(f64::INFINITY, f64::min);
            let exact = (0..=k).map(smallest).fold(f64::NEG_INFINITY, f64::max);
            let place = k as f64;
            let block = pooled.iter().find(|block| block.first <= place && place <= block.last).unwrap();
            assert!((block.chance - exact).abs() < 1e-12, "case {case}, place {k}: {examples:?}");
        }
    }
}

#[test]
fn isotonic_follows_a_curve_platt_cannot() {
    let rate = |score: f64| if score < 0.5 { 0.1 } else { 0.6 };
    let curve = ScoreCurve::fit(PROBABILITY, &draw(4000, rate)).unwrap();
    assert_eq!(curve.method, FitMethod::Isotonic);
    for score in [0.1, 0.3, 0.45, 0.55, 0.8, 0.95] {
        assert!((curve.read(score).unwrap() - rate(score)).abs() < 0.05, "{score}: {:?}", curve.read(score));
    }
    assert!(curve.rows.windows(2).all(|rows| rows[0].0 < rows[1].0 && rows[0].1 <= rows[1].1));
}

#[test]
fn curve_needs_enough_examples_of_both_kinds() {
    assert!(ScoreCurve::fit(PROBABILITY, &draw(90, |score| score)).is_none());
    assert!(ScoreCurve::fit(PROBABILITY, &draw(5000, |_| 0.002)).is_none());
    assert!(ScoreCurve::fit(PROBABILITY, &[]).is_none());
}

#[test]
fn scale_is_found_from_truth() {
    use AnswerValue::{No, Yes};
    let says = |score: f64| if score > 0.5 { Yes } else { No };
    let fact: Vec<_> = draw(300, |score| score).iter().map(|(s, t)| (says(*s), *s, *t)).collect();
    assert_eq!(ScoreScale::find(&fact), Some(PROBABILITY));
    let sure = |score: f64| score.max(1.0 - score);
    let answer: Vec<_> = draw(300, |score| score).iter().map(|(s, t)| (says(*s), sure(*s), *t)).collect();
    let scale = ScoreScale::find(&answer).unwrap();
    assert!(scale.is_about_answer && scale.is_probability);
    assert_eq!((scale.score_of_fact(No, 0.75), scale.score_of_fact(Yes, 0.75)), (0.25, 0.75));
    let large: Vec<_> = answer.iter().map(|(says, score, truth)| (*says, 100.0 * score, *truth)).collect();
    let scale = ScoreScale::find(&large).unwrap();
    assert_eq!((scale.is_probability, scale.score_of_fact(No, 75.0)), (false, -75.0));
    // One answer that contradicts its score does not turn the reading.
    let mut noisy = fact;
    noisy[299].0 = No;
    assert_eq!(ScoreScale::find(&noisy), Some(PROBABILITY));
    assert_eq!(ScoreScale::find(&[]), None);
}

#[test]
fn score_that_is_a_chance_is_kept() {
    for count in [500, 4000] {
        let curve = ScoreCurve::fit(PROBABILITY, &draw(count, |score| score)).unwrap();
        assert_eq!((curve.method, curve.read(0.3)), (FitMethod::Identity, Some(0.3)), "{count}");
        assert!(curve.read(0.0).unwrap() > 0.0 && curve.read(1.0).unwrap() < 1.0);
    }
}
