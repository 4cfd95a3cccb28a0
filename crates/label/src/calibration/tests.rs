//! Calibrations are fitted, checked and used.

use lictor_logic::Fact;

use super::simulation::Simulation;
use super::*;

const SOURCE: Simulation = Simulation { seed: 1, answers: 4000, base_rate: 0.2, distance: 2.0, odds_factor: None };
const KIND: Kind = Kind::ToolResult;

fn fit(sample: &[LabelledAnswer]) -> Calibration {
    Calibration::fit("scripted@1", "2026-11-17", sample).unwrap()
}

fn answer(says: AnswerValue, score: Option<f64>) -> Answer {
    Answer { score, ..Answer::new(Fact::new("angry", []), says).by("scripted@1") }
}

fn chance(calibration: &Calibration, says: AnswerValue, score: Option<f64>, tool: Option<&str>) -> Option<f64> {
    calibration.chance(&answer(says, score), &KIND, tool).map(Chance::to_f64)
}

#[test]
fn chance_without_score_follows_bayes() {
    let calibration = fit(&SOURCE.draw("angry", None));
    // Both error rates are Φ(−1) = 0.159.
    let yes = chance(&calibration, AnswerValue::Yes, None, None).unwrap();
    let no = chance(&calibration, AnswerValue::No, None, None).unwrap();
    assert!((yes - 0.2 * 0.841 / (0.2 * 0.841 + 0.8 * 0.159)).abs() < 0.05, "{yes}");
    assert!((no - 0.2 * 0.159 / (0.2 * 0.159 + 0.8 * 0.841)).abs() < 0.02, "{no}");
    assert_eq!(chance(&calibration, AnswerValue::Unclear, None, None), None);
    assert_eq!(chance(&calibration, AnswerValue::Failed, None, None), None);
}

#[test]
fn chance_follows_score_by_platt_and_isotonic() {
    for (answers, seed) in [(2000, 2), (20_000, 3)] {
        let source = Simulation { seed, answers, odds_factor: Some(10.0), ..SOURCE };
        let calibration = fit(&source.draw("angry", None));
        let check = &calibration.facts["angry"].check;
        assert!(check.passed && check.brier < check.raw_brier && check.ece < check.raw_ece, "{check:?}");
        for true_chance in [0.05, 0.2, 0.5, 0.8] {
            let odds = 10.0 * true_chance / (1.0 - true_chance);
            let says = if true_chance > 0.2 { AnswerValue::Yes } else { AnswerValue::No };
            let found = chance(&calibration, says, Some(odds / (1.0 + odds)), None).unwrap();
            assert!((found - true_chance).abs() < 0.09, "{answers} answers, {true_chance}: {found}");
        }
    }
}

#[test]
fn repeated_evidence_counts_once() {
    let sample = SOURCE.draw("angry", None);
    let small = &sample[..40];
    let copies: Vec<LabelledAnswer> = small.iter().cycle().take(40 * small.len()).cloned().collect();
    assert_eq!(fit(&copies).examples(), 40);
    // Two texts in many sessions are two answers.
    let keyed = sample.iter().map(|it| {
        let key = if it.truth { "one" } else { "other" };
        LabelledAnswer { answer: Answer { key: Some(key.into()), ..it.answer.clone() }, ..it.clone() }
    });
    let calibration = fit(&keyed.collect::<Vec<_>>());
    assert_eq!((calibration.examples(), calibration.too_few().count()), (2, 1));
}

#[test]
fn calibration_needs_several_sessions_to_check() {
    let sample = SOURCE.draw("angry", None);
    let name = |it: &LabelledAnswer| if it.is_held_out() { "h" } else { "f" };
    let two = sample.iter().enumerate().map(|(event, it)| LabelledAnswer {
        session: name(it).into(),
        event: event as u64,
        ..it.clone()
    });
    let two: Vec<LabelledAnswer> = two.collect();
    assert!(two.iter().any(|it| it.is_held_out()) && two.iter().any(|it| !it.is_held_out()));
    let shortage = fit(&two).too_few().map(|(_, shortage)| shortage.to_string()).collect::<Vec<_>>();
    assert_eq!(shortage, ["missing: 4 sessions to check"]);
}

#[test]
fn answer_unlike_the_sample_has_no_chance() {
    let source = Simulation { seed: 2, answers: 2000, odds_factor: Some(10.0), ..SOURCE };
    let calibration = fit(&source.draw("angry", None));
    assert!(chance(&calibration, AnswerValue::Yes, Some(0.9), None).is_some());
    for score in [None, Some(-3.0), Some(5.0), Some(f64::NAN)] {
        assert_eq!(chance(&calibration, AnswerValue::Yes, score, None), None, "{score:?}");
        assert_eq!(chance(&calibration, AnswerValue::No, score, None), None, "{score:?}");
    }
}

#[test]
fn chance_of_rare_stratum_is_pooled() {
    let mut sample = SOURCE.draw("angry", Some("mail"));
    sample.extend(Simulation { seed: 9, answers: 15, ..SOURCE }.draw("angry", Some("wire")));
    sample.extend(Simulation { seed: 8, base_rate: 0.7, ..SOURCE }.draw("angry", Some("chat")));
    let calibration = fit(&sample);
    let basis = |tool| calibration.chance_with_basis(&answer(AnswerValue::Yes, None), &KIND, Some(tool)).unwrap();
    assert_eq!((basis("mail").1, basis("chat").1), (ChanceBasis::Stratum, ChanceBasis::Stratum));
    assert!(basis("mail").0 < basis("wire").0 && basis("wire").0 < basis("chat").0);
    assert_eq!((basis("wire").1, basis("wire")), (ChanceBasis::Pooled, basis("never seen")));
    let rare: Vec<String> =
        calibration.strata("angry").filter(|it| !it.2).map(|(stratum, ..)| stratum.to_string()).collect();
    assert_eq!(rare, ["tool_result of wire"]);
}

#[test]
fn chance_of_rare_fact_has_own_base_rate() {
    // Four positives among 400 do not tell how often the labeler misses them, but they do tell that they are rare.
    for odds_factor in [None, Some(3.0)] {
        let score = odds_factor.map(|_| 0.9);
        let with_scores = Simulation { odds_factor, ..SOURCE }.draw("angry", Some("mail"));
        let rare = Simulation { seed: 12, answers: 600, base_rate: 0.01, odds_factor, ..SOURCE };
        let calibration = fit(&[with_scores, rare.draw("angry", Some("wire"))].concat());
        let yes = Answer { score, ..answer(AnswerValue::Yes, None) };
        let (chance, basis) = calibration.chance_with_basis(&yes, &KIND, Some("wire")).unwrap();
        assert!(basis == ChanceBasis::Pooled && chance.to_f64() < 0.25, "{odds_factor:?} {chance}");
        assert!(calibration.chance(&yes, &KIND, Some("mail")).unwrap().to_f64() > 0.4, "{odds_factor:?}");
    }
}

#[test]
fn chance_is_missing_with_too_few_examples() {
    let calibration = fit(&Simulation { answers: 60, ..SOURCE }.draw("angry", None));
    assert_eq!(chance(&calibration, AnswerValue::Yes, None, None), None);
    let (fact, shortage) = calibration.too_few().next().unwrap();
    assert_eq!((fact, shortage.examples()), ("angry", 60));
    assert!(shortage.to_string().contains("true to check"), "{shortage}");
    assert!(!calibration.has_passed("angry"));
}

#[test]
fn chance_is_missing_for_another_labeler() {
    let calibration = fit(&SOURCE.draw("angry", None));
    let other = answer(AnswerValue::Yes, None).by("scripted@2");
    assert_eq!(calibration.chance(&other, &KIND, None), None);
    let error = Calibration::fit("scripted@2", "", &SOURCE.draw("angry", None)).unwrap_err().to_string();
    assert!(error.contains("`scripted@1`") && error.contains("hint:"), "{error}");
    assert!(Calibration::fit("scripted@2", "", &[]).is_err());
}

#[test]
fn chance_is_missing_after_failed_check() {
    let mut calibration = fit(&SOURCE.draw("angry", None));
    assert!(calibration.has_passed("angry"));
    calibration.facts.get_mut("angry").unwrap().check.passed = false;
    assert_eq!(chance(&calibration, AnswerValue::Yes, None, None), None);
}

#[test]
fn base_rate_can_be_set_without_a_sample() {
    for odds_factor in [None, Some(3.0)] {
        let source = Simulation { odds_factor, ..SOURCE };
        let rare = Simulation { seed: 77, base_rate: 0.02, answers: 20_000, ..source }.draw("angry", None);
        let stale = fit(&source.draw("angry", None));
        let moved = stale.clone().with_base_rate("angry", Some(&Stratum::new(&KIND, None)), 0.02).unwrap();
        assert!(!stale.check(&rare)["angry"].passed);
        assert!(moved.check(&rare)["angry"].passed, "{odds_factor:?} {:#?}", moved.check(&rare)["angry"]);
        assert_ne!(stale.hash(), moved.hash());
        assert!(stale.clone().with_base_rate("angry", None, 1.0).is_err());
        assert!(stale.with_base_rate("calm", None, 0.1).unwrap_err().to_string().contains("angry"));
    }
}

#[test]
fn base_rate_of_unseen_stratum_moves_pooled_chance() {
    let wire = Stratum::new(&KIND, Some("wire"));
    for odds_factor in [None, Some(3.0)] {
        let calibration = fit(&Simulation { odds_factor, ..SOURCE }.draw("angry", None));
        let calibration = calibration.with_base_rate("angry", Some(&wire), 0.6).unwrap();
        let score = odds_factor.map(|_| 0.5);
        let here = chance(&calibration, AnswerValue::Yes, score, None).unwrap();
        let there = chance(&calibration, AnswerValue::Yes, score, Some("wire")).unwrap();
        let odds = |p: f64| p / (1.0 - p);
        // The odds are those of the base rates: 1.5 and 0.25.
        assert!((odds(there) / odds(here) - 6.0).abs() < 0.7, "{here} {there}");
    }
}

#[test]
fn check_finds_planted_miscalibration() {
    for odds_factor in [None, Some(1.0)] {
        let mut sample = Simulation { odds_factor, ..SOURCE }.draw("angry", None);
        let later = Simulation { odds_factor, seed: 5, ..SOURCE }.draw("angry", None);
        let calibration = fit(&sample);
        let check = &calibration.check(&later)["angry"];
        assert!(check.passed, "{check:#?}");
        for factor in [3.0, 10.0, 1.0 / 3.0] {
            let odds = 0.25 * factor;
            let stratum = Stratum::new(&KIND, None);
            let planted = calibration.clone().with_base_rate("angry", Some(&stratum), odds / (1.0 + odds)).unwrap();
            assert!(!planted.check(&later)["angry"].passed, "odds times {factor}, scores: {odds_factor:?}");
        }
        let moved = Simulation { odds_factor, seed: 6, base_rate: 0.05, ..SOURCE }.draw("angry", None);
        assert!(!calibration.check(&moved)["angry"].passed, "moved base rate, scores: {odds_factor:?}");
        // A fit whose own halves differ fails too.
        for it in sample.iter_mut().filter(|it| it.is_held_out()) {
            it.truth ^= it.event % 3 == 0;
        }
        assert!(!fit(&sample).has_passed("angry"));
    }
}

#[test]
fn fit_is_the_same_in_any_order() {
    let mut sample = Simulation { odds_factor: Some(3.0), ..SOURCE }.draw("angry", Some("mail"));
    sample.extend(SOURCE.draw("rude", None));
    let calibration = fit(&sample);
    let hash = calibration.hash().to_owned();
    assert_eq!(calibration.facts().map(|(name, _)| name).collect::<Vec<_>>(), ["angry", "rude"]);
    assert_eq!(fit(&sample).hash(), hash);
    // The two halves of the sample do not depend on what else is in it.
    let more: Vec<LabelledAnswer> = sample.into_iter().filter(|it| &*it.answer.fact.name == "angry").collect();
    assert_eq!(fit(&more).facts["angry"], calibration.facts["angry"]);
}

#[test]
fn sound_calibration_mostly_passes() {
    for (odds_factor, answers) in [(None, 2000), (Some(3.0), 2000), (Some(3.0), 6000)] {
        let passes = (100..120).filter(|seed| {
            let source = Simulation { seed: *seed, answers, odds_factor, ..SOURCE };
            fit(&source.draw("angry", None)).has_passed("angry")
        });
        let passes = passes.count();
        assert!(passes >= 17, "{passes} of 20 with {answers} answers, scores: {odds_factor:?}");
    }
}

#[test]
fn labeler_without_errors_passes() {
    for odds_factor in [None, Some(1.0), Some(10.0)] {
        let source = Simulation { answers: 800, distance: 20.0, odds_factor, ..SOURCE };
        let calibration = fit(&source.draw("angry", None));
        let check = &calibration.facts["angry"].check;
        assert!(check.passed && check.brier < 1e-3, "{odds_factor:?} {check:#?}");
    }
}
