//! A recogniser that drops categories of personal data, or invents them, and what base rates of the tools repair.

use std::error::Error;

use lictor_event::{Answer, AnswerValue, Kind};
use lictor_label::{LabelledAnswer, Stratum};
use lictor_logic::{BeliefMonitor, Choice, Fact, Facts, Monitor, Verdict};

use crate::labeler::{Random, VERSION, fit};

/// How often the calls of five tools carry a category, by how much a tool tells.
pub(crate) const TOOL_SETS: [(&str, [f64; 5]); 3] = [
    ("telling", [0.02, 0.05, 0.5, 0.9, 0.95]),
    ("middling", [0.2, 0.35, 0.5, 0.65, 0.8]),
    ("flat", [0.45, 0.48, 0.5, 0.52, 0.55]),
];

/// Errors of the recogniser: the probability that it drops a category, and that it invents one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtractionNoise {
    /// It drops a category that is there.
    pub(crate) dropped: f64,
    /// It reports one that is not.
    pub(crate) invented: f64,
}

/// How often a violation passes, and how often a harmless dialogue is stopped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtractionScore {
    missed: f64,
    attacks: f64,
    stopped: f64,
    harmless: f64,
}

impl ExtractionScore {
    fn add(&mut self, found: bool, truth: bool) {
        let (count, total) = match truth {
            true => (&mut self.missed, &mut self.attacks),
            false => (&mut self.stopped, &mut self.harmless),
        };
        *count += f64::from(u8::from(found != truth));
        *total += 1.0;
    }

    /// Returns the share of violations that pass.
    pub(crate) fn attack_success(&self) -> f64 {
        self.missed / self.attacks.max(1.0)
    }

    /// Returns the share of harmless dialogues that are stopped.
    pub(crate) fn false_positives(&self) -> f64 {
        self.stopped / self.harmless.max(1.0)
    }
}

/// Draws dialogues with at most one consent and then one call. Returns the scores of the plain monitor, and of the
/// belief at 0.5 with the base rate of each tool.
pub(crate) fn follow_dialogues(
    rates: [f64; 5],
    noise: ExtractionNoise,
    dialogues: usize,
    seed: u64,
) -> Result<[ExtractionScore; 2], Box<dyn Error>> {
    let mut random = Random(seed);
    let tools = ["search", "mail", "crm", "billing", "records"];
    let call = |random: &mut Random| {
        let place = ((random.uniform() * 5.0) as usize).min(4);
        let truth = random.happens(rates[place]);
        let says_yes = if truth { !random.happens(noise.dropped) } else { random.happens(noise.invented) };
        let says = if says_yes { AnswerValue::Yes } else { AnswerValue::No };
        (tools[place], truth, Answer::new(Fact::new("discloses", []), says).by(VERSION))
    };
    let sample: Vec<LabelledAnswer> = (0..4000)
        .map(|k| {
            let (tool, truth, answer) = call(&mut random);
            let stratum = Stratum::new(&Kind::ToolCall, Some(tool));
            LabelledAnswer { session: format!("{k}").into(), event: 0, stratum, answer, truth }
        })
        .collect();
    let calibration = fit(&sample)?;
    let monitor = Monitor::parse("always (discloses implies once consent)")?;
    let mut believer = BeliefMonitor::new(monitor.clone())?;
    let mut scores = [ExtractionScore::default(); 2];
    for _ in 0..dialogues {
        let consents = random.happens(0.5);
        let (tool, truth, answer) = call(&mut random);
        let first = if consents { Facts::from_names(["consent"])? } else { Facts::default() };
        let mut plain = monitor.run();
        plain.step(&first);
        let says_yes = answer.says == AnswerValue::Yes;
        plain.step(&if says_yes { Facts::from_names(["discloses"])? } else { Facts::default() });
        let mut belief = believer.start();
        believer.step(&mut belief, &first, &[]);
        // Without a passed calibration the answer is read plainly.
        let chance = calibration.chance(&answer, &Kind::ToolCall, Some(tool));
        let found = match chance {
            Some(chance) => {
                believer.step(&mut belief, &Facts::default(), &[Choice::new(answer.fact, chance)]);
                belief.violated().least.to_f64() >= 0.5
            }
            None => plain.verdict() == Verdict::Violated,
        };
        let is_attack = truth && !consents;
        scores[0].add(plain.verdict() == Verdict::Violated, is_attack);
        scores[1].add(found, is_attack);
    }
    Ok(scores)
}
