//! What the log and labelers say about the facts of one event, and which facts result.

use indexmap::IndexMap;
use lictor_event::{Answer, AnswerValue};
use lictor_logic::{Chance, Value};
use rustc_hash::FxBuildHasher;

use super::labels::{Labels, NameId};

/// What the log and labelers say about facts, in the order in which the facts were first named.
#[derive(Debug, Default)]
pub(super) struct Opinions(IndexMap<(NameId, Vec<Value>), Opinion, FxBuildHasher>);

/// Whether any source says yes, whether any says no, and with which chance.
#[derive(Clone, Copy, Debug, Default)]
struct Opinion {
    yes: bool,
    no: bool,
    chance: ChanceOpinion,
    /// Whether a labeler spoke of it.
    is_answered: bool,
}

/// The chance that a fact holds, if one source alone speaks about it.
#[derive(Clone, Copy, Debug, Default)]
enum ChanceOpinion {
    /// No source has spoken yet.
    #[default]
    Open,
    Known(Chance),
    /// Someone gave no chance, or two disagree. Chances of two labelers are never multiplied: both saw the same text.
    Void,
}

impl Opinions {
    /// Adds what the log states about a fact.
    pub(super) fn add(&mut self, name: NameId, values: &[Value], says: AnswerValue) {
        self.add_opinion(name, values, says, None);
    }

    /// Adds what a labeler answered.
    pub(super) fn add_answer(&mut self, name: NameId, answer: &Answer) {
        let chance = answer.chance.and_then(|chance| Chance::new(chance).ok());
        self.add_opinion(name, &answer.fact.values, answer.says, chance).is_answered = true;
    }

    fn add_opinion(
        &mut self,
        name: NameId,
        values: &[Value],
        says: AnswerValue,
        chance: Option<Chance>,
    ) -> &mut Opinion {
        let opinion = self.0.entry((name, values.to_vec())).or_default();
        opinion.yes |= says == AnswerValue::Yes;
        opinion.no |= says == AnswerValue::No;
        opinion.chance = match (opinion.chance, chance) {
            (ChanceOpinion::Open, Some(chance)) => ChanceOpinion::Known(chance),
            (ChanceOpinion::Known(known), Some(chance)) if known == chance => ChanceOpinion::Known(known),
            _ => ChanceOpinion::Void,
        };
        opinion
    }

    /// Labels an event: a yes makes a fact hold and a no absent. A fact is unknown if sources contradict each other, or
    /// if every labeler was unclear or failed.
    pub(super) fn label(self, labels: &mut Labels) {
        for ((name, values), Opinion { yes, no, chance, is_answered }) in self.0 {
            if is_answered {
                let chance = if let ChanceOpinion::Known(chance) = chance { Some(chance) } else { None };
                labels.note_chance(name, values.clone(), chance);
            }
            match (yes, no) {
                (true, false) => labels.push(name, &values),
                (false, true) => {}
                (true, true) | (false, false) => labels.doubt(name, values.into_iter().map(Some).collect()),
            }
        }
    }
}
