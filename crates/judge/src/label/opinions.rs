//! What the log and labelers say about the facts of one event, and which facts result.

use indexmap::IndexMap;
use lictor_event::AnswerValue;
use lictor_logic::Value;
use rustc_hash::FxBuildHasher;

use super::facts::{Labels, NameId};

/// What the log and labelers say about facts, in the order in which the facts were first named.
#[derive(Debug, Default)]
pub(super) struct Opinions(IndexMap<(NameId, Vec<Value>), Opinion, FxBuildHasher>);

/// Whether any source says yes, and whether any says no.
#[derive(Clone, Copy, Debug, Default)]
struct Opinion {
    yes: bool,
    no: bool,
}

impl Opinions {
    /// Adds what one source says about a fact.
    pub(super) fn add(&mut self, name: NameId, values: &[Value], says: AnswerValue) {
        let opinion = self.0.entry((name, values.to_vec())).or_default();
        opinion.yes |= says == AnswerValue::Yes;
        opinion.no |= says == AnswerValue::No;
    }

    /// Labels an event: a yes makes a fact hold and a no absent. A fact is unknown if sources contradict each other, or
    /// if every labeler was unclear or failed.
    pub(super) fn label(self, labels: &mut Labels) {
        for ((name, values), Opinion { yes, no }) in self.0 {
            match (yes, no) {
                (true, false) => labels.push(name, &values),
                (false, true) => {}
                (true, true) | (false, false) => labels.doubt(name, values.into_iter().map(Some).collect()),
            }
        }
    }
}
