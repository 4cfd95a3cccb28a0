//! Drift is found where it is planted, and nowhere else.

use super::super::simulation::{Random, Simulation};
use super::*;
use lictor_logic::Fact;

const SOURCE: Simulation = Simulation { seed: 1, answers: 4000, base_rate: 0.2, distance: 2.0, odds_factor: None };

fn calibration() -> Calibration {
    Calibration::fit("scripted@1", "", &SOURCE.draw("angry", Some("mail"))).unwrap()
}

/// Watches answers of a source until the fact is suspended; the number of answers until then.
fn count_until_suspended(source: Simulation, tool: &str) -> Option<usize> {
    let mut watch = DriftWatch::new(&calibration());
    let sample = source.draw("angry", Some(tool));
    sample.iter().position(|it| {
        watch.observe(&it.answer, &Kind::ToolResult, Some(tool));
        watch.is_suspended("angry")
    })
}

#[test]
fn drift_suspends_after_moved_base_rate() {
    for (base_rate, most) in [(0.6, 200), (0.45, 400), (0.02, 700)] {
        let found = count_until_suspended(Simulation { seed: 5, base_rate, ..SOURCE }, "mail");
        assert!(found.is_some_and(|answers| answers < most), "{base_rate}: {found:?}");
    }
}

#[test]
fn drift_is_found_late_in_a_long_life() {
    let mut watch = DriftWatch::new(&calibration());
    for it in (Simulation { seed: 6, answers: 10_000, ..SOURCE }).draw("angry", None) {
        watch.observe(&it.answer, &Kind::ToolResult, Some("mail"));
    }
    assert!(!watch.is_suspended("angry"));
    for it in (Simulation { seed: 7, answers: 2000, base_rate: 0.5, ..SOURCE }).draw("angry", None) {
        watch.observe(&it.answer, &Kind::ToolResult, Some("mail"));
    }
    assert!(watch.is_suspended("angry"));
}

#[test]
fn drift_is_rarely_found_without_any() {
    let suspended = (10..40).filter(|seed| {
        let source = Simulation { seed: *seed, answers: 2000, ..SOURCE };
        count_until_suspended(source, "mail").is_some() || count_until_suspended(source, "chat").is_some()
    });
    assert_eq!(suspended.count(), 0);
}

#[test]
fn drift_bound_holds_at_any_time() {
    // At the edge of the range, where the bound is tightest: a run of 1,000 answers ends above 1/α in at most α.
    let mut random = Random(3);
    let alarms = (0..200).filter(|_| {
        let mut count = YesCount { range: (0.1, 0.3), yes: 0, answers: 0 };
        (0..ROUND).any(|_| {
            count.add(random.uniform() < 0.3);
            count.log_gain() >= ln(20.0)
        })
    });
    let alarms = alarms.count();
    assert!(alarms <= 18, "{alarms} of 200 at α = 0.05");
}

#[test]
fn drift_ignores_answers_that_tell_nothing() {
    let mut watch = DriftWatch::new(&calibration());
    let before = watch.clone();
    let fact = || Fact::new("angry", []);
    for answer in [
        Answer::new(fact(), AnswerValue::Unclear),
        Answer::new(fact(), AnswerValue::Failed),
        Answer::new(fact(), AnswerValue::Yes).by("other@1"),
        Answer::new(Fact::new("unheard", []), AnswerValue::Yes),
    ] {
        watch.observe(&answer, &Kind::ToolResult, Some("mail"));
    }
    assert_eq!(watch, before);
    assert!(!watch.is_suspended("unheard"));
}

#[test]
fn drift_counts_survive_saving() {
    let calibration = calibration();
    let mut watch = DriftWatch::new(&calibration);
    let late = Simulation { seed: 5, answers: 150, base_rate: 0.6, ..SOURCE }.draw("angry", None);
    for it in &late {
        watch.observe(&it.answer, &Kind::ToolResult, Some("mail"));
        let saved = watch.to_json().to_string();
        assert_eq!(DriftWatch::restore(&calibration, &lictor_json::parse_str(&saved).unwrap()), Ok(watch.clone()));
    }
    assert!(watch.is_suspended("angry"));
    let other = calibration.clone().with_base_rate("angry", None, 0.5).unwrap();
    assert!(DriftWatch::restore(&other, &watch.to_json()).unwrap_err().to_string().contains("not of"));
    for damaged in [
        r#"{}"#,
        r#""x""#,
        r#"{"angry":{"counts":[[1,2]],"suspended":false}}"#,
        r#"{"angry":{"counts":[[3,2],[0,0]],"suspended":false}}"#,
    ] {
        let text = format!(r#"{{"calibration":"{}","facts":{damaged}}}"#, calibration.hash());
        let error = DriftWatch::restore(&calibration, &lictor_json::parse_str(&text).unwrap()).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{damaged}: {error}");
    }
}
