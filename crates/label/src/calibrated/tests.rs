//! Drift is reported with each answer, kept between runs, and shared by processes.

use std::collections::BTreeMap;

use lictor_event::labeler::Question;
use lictor_logic::Fact;

use super::*;
use crate::calibration::{LabelledAnswer, Stratum};

/// Says yes to everything; every text is another key.
struct YesLabeler;

impl Labeler for YesLabeler {
    fn version(&self) -> &str {
        "small@1"
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        let text = inquiry.event.text.clone();
        let answer = |it: &Question| Answer { key: text.clone(), ..Answer::new(it.fact.clone(), AnswerValue::Yes) };
        inquiry.questions.iter().map(|it| answer(it).by("small@1")).collect()
    }
}

#[derive(Default)]
struct MemoryDrift(Mutex<BTreeMap<(String, String), String>>);

impl DriftStore for MemoryDrift {
    fn load(&self, tenant: &str, labeler: &str) -> Option<Json> {
        lictor_json::parse_str(self.0.lock().unwrap().get(&(tenant.to_owned(), labeler.to_owned()))?).ok()
    }

    fn save(&self, tenant: &str, labeler: &str, counts: &Json) {
        self.0.lock().unwrap().insert((tenant.to_owned(), labeler.to_owned()), counts.to_string());
    }
}

/// The calibration of a labeler that says yes to one message in four.
fn calibration() -> Calibration {
    let sample = (0..2000u64).map(|k| {
        let (truth, is_wrong) = (k % 4 == 0, k % 19 == 0);
        let says = if truth != is_wrong { AnswerValue::Yes } else { AnswerValue::No };
        LabelledAnswer {
            session: format!("s{}", k / 20).into(),
            event: k % 20,
            stratum: Stratum::new(&Kind::UserMessage, None),
            answer: Answer::new(Fact::new("angry", []), says).by("small@1"),
            truth,
        }
    });
    let calibration = Calibration::fit("small@1", "2026-11-17", &sample.collect::<Vec<_>>()).unwrap();
    assert!(calibration.has_passed("angry"));
    calibration
}

fn watching(store: &Arc<MemoryDrift>) -> CalibratedLabeler {
    let store: Arc<dyn DriftStore> = Arc::clone(store) as _;
    CalibratedLabeler::new(Arc::new(YesLabeler), calibration()).watching(Some(("small".into(), store)))
}

fn ask(labeler: &CalibratedLabeler, text: &str) -> Answer {
    ask_for(labeler, "", text)
}

fn ask_for(labeler: &CalibratedLabeler, tenant: &str, text: &str) -> Answer {
    let event = Event { text: Some(text.into()), ..Event::new(Kind::UserMessage) };
    let questions = [Question::new(Fact::new("angry", []), "angry")];
    labeler.answer(&Inquiry::new(&event, &questions).of_tenant(tenant)).remove(0)
}

fn ask_until_drift(labeler: &CalibratedLabeler) -> usize {
    (0..500).find(|number| ask(labeler, &number.to_string()).is_suspended()).unwrap()
}

#[test]
fn drift_takes_chance_and_says_why() {
    let labeler = watching(&Arc::default());
    let first = ask(&labeler, "first");
    assert!(first.chance.is_some() && first.why.is_none(), "{first:?}");
    assert_eq!(labeler.drift(""), [("angry".into(), false)]);
    let until = ask_until_drift(&labeler);
    assert!((5..100).contains(&until), "{until}");
    let late = ask(&labeler, "late");
    assert_eq!((late.says, late.chance, late.why.as_deref()), (AnswerValue::Yes, None, Some("drift")));
    assert_eq!(labeler.drift(""), [("angry".into(), true)]);
}

/// The traffic of one tenant says nothing about that of another, in one process or after a restart.
#[test]
fn drift_of_one_tenant_leaves_others_alone() {
    let store = Arc::default();
    let labeler = watching(&store);
    let is_suspended = |number: &usize| ask_for(&labeler, "loud", &number.to_string()).is_suspended();
    assert!((0..500).any(|number| is_suspended(&number)));
    let restarted = watching(&store);
    for labeler in [&labeler, &restarted] {
        let quiet = ask_for(labeler, "quiet", "hello");
        assert!(quiet.chance.is_some() && quiet.why.is_none(), "{quiet:?}");
        assert!(ask_for(labeler, "loud", "late").is_suspended());
        assert_eq!(labeler.drift("quiet"), [("angry".into(), false)]);
        assert_eq!(labeler.drift("loud"), [("angry".into(), true)]);
    }
}

#[test]
fn drift_holds_after_a_restart() {
    let store = Arc::default();
    ask_until_drift(&watching(&store));
    let labeler = watching(&store);
    assert!(ask(&labeler, "late").is_suspended(), "the first answer of the next process");
    let moved = calibration().with_base_rate("angry", None, 0.5).unwrap();
    let store: Arc<dyn DriftStore> = store;
    let renewed = CalibratedLabeler::new(Arc::new(YesLabeler), moved).watching(Some(("small".into(), store)));
    assert!(!ask(&renewed, "late").is_suspended(), "a new calibration starts anew");
}

#[test]
fn drift_counts_of_short_processes_add_up() {
    let store = Arc::default();
    let until = (0..500).find(|number: &usize| ask(&watching(&store), &number.to_string()).is_suspended()).unwrap();
    assert_eq!(until, ask_until_drift(&watching(&Arc::default())));
}

#[test]
fn drift_found_elsewhere_is_adopted() {
    let store = Arc::default();
    let (one, other) = (watching(&store), watching(&store));
    // The counts of a tenant are loaded with its first answer.
    assert!(!ask(&other, "the same").is_suspended());
    ask_until_drift(&one);
    let found = (0..SAVE_INTERVAL).filter(|_| ask(&other, "the same").is_suspended()).count();
    assert_eq!(found, 0, "a text that is repeated counts once");
    let answers: Vec<bool> = (0..60).map(|number| ask(&other, &number.to_string()).is_suspended()).collect();
    assert_eq!(answers.last(), Some(&true));
}

#[test]
fn answer_without_chance_says_why() {
    let labeler = CalibratedLabeler::of_logs(calibration());
    let answer = |fact: &str, by: &str| Answer::new(Fact::new(fact, []), AnswerValue::Yes).by(by);
    let mut event = Event::new(Kind::UserMessage);
    event.answers = vec![
        answer("angry", "small@1"),
        answer("angry", "small@0"),
        answer("late", "small@1"),
        answer("angry", "other@1"),
    ];
    labeler.complete("", &mut event);
    let reasons: Vec<_> = event.answers.iter().map(|it| (it.chance.is_some(), it.why.as_deref())).collect();
    let expected = [(true, None), (false, Some("other_version")), (false, Some("unweighed")), (false, None)];
    assert_eq!(reasons, expected);
}
