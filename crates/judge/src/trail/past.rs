//! The moments of a trail that earlier policies judged.
//!
//! Of them the trail has the facts that those policies looked for. A fact that the policy looked for in the same way is
//! as it was found. Of the others, the kind and the tool of the event tell some. The rest is unknown there, and what the
//! earlier policies found beyond the present one is kept for a policy that asks for it again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_json::Text;
use lictor_logic::{Fact, Value};

use super::EventSummary;
use crate::PreparedPolicy;
use crate::facts::{ImpliedFact, Labels, NameId};
use crate::past::{PastPolicies, PolicyScope};

/// Of how many earlier policies a trail notes which moments they judged; what earlier ones found is then not told.
const MAX_PAST_POLICIES: usize = 64;

/// The moments that earlier policies judged.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrailPast {
    /// In the order of their moments.
    eras: Vec<Era>,
    /// The facts that the present policy does not look for, or in another way, by the number of their moment.
    others: BTreeMap<usize, OtherFacts>,
    /// The names of facts that are unknown at some moment because the policy of that moment did not look for them.
    untold: BTreeSet<NameId>,
}

/// The moments that one policy judged.
#[derive(Clone, Debug)]
struct Era {
    saved: SavedEra,
    /// The facts that it did not look for in the way of the present policy.
    uncovered: Arc<[NameId]>,
}

/// The end of the moments that a policy judged, as data.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedEra {
    /// How many moments there were until its end, dropped ones included.
    pub(crate) until: usize,
    /// The fingerprint of the policy.
    pub(crate) policy: Text,
    /// Whether a version of Lictor saved them that did not note which events came with facts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_old: bool,
}

/// An unknown fact; `None` among the values stands for any value.
pub(crate) type UnknownFact = (Arc<str>, Vec<Option<Value>>);

/// Facts that the present policy does not use.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherFacts {
    pub(crate) facts: Vec<Fact>,
    pub(crate) unknown: Vec<UnknownFact>,
}

impl TrailPast {
    /// Returns the past of saved eras for a policy; none if there are none.
    pub(crate) fn new(eras: &[SavedEra], prepared: &PreparedPolicy, past: &PastPolicies) -> Option<Box<TrailPast>> {
        if eras.is_empty() {
            return None;
        }
        let (now, names) = (prepared.scope(), &prepared.plan.names);
        let uncovered = |scope: Option<&PolicyScope>| {
            let is_covered = |name: &str| scope.is_some_and(|scope| scope.has_same_fact(now, name));
            (0..names.len() as NameId).filter(|name| !is_covered(&names[*name as usize])).collect()
        };
        let era = |saved: &SavedEra| {
            let scope = past.scope(&saved.policy).map(Arc::as_ref);
            Era { uncovered: uncovered(scope), saved: saved.clone() }
        };
        Some(Box::new(TrailPast { eras: eras.iter().map(era).collect(), ..TrailPast::default() }))
    }

    /// Adds an era to saved ones. Those of the same policy are one.
    pub(crate) fn extend(eras: &mut Vec<SavedEra>, era: SavedEra) {
        match eras.last_mut() {
            Some(last) if last.until >= era.until => {}
            Some(last) if last.policy == era.policy && last.is_old == era.is_old => last.until = era.until,
            _ => eras.push(era),
        }
        if eras.len() > MAX_PAST_POLICIES {
            // Together they are the moments of a policy that is not known.
            let first = eras.remove(0);
            eras[0] = SavedEra { until: eras[0].until.max(first.until), policy: Text::default(), is_old: true };
        }
    }

    /// Returns the facts that some policy did not look for in the way of the present one.
    pub(super) fn uncovered(&self) -> impl Iterator<Item = NameId> {
        self.eras.iter().flat_map(|era| era.uncovered.iter().copied())
    }

    /// Returns the eras as data.
    pub(crate) fn eras(&self) -> Vec<SavedEra> {
        self.eras.iter().map(|era| era.saved.clone()).collect()
    }

    /// Drops what concerns forgotten moments. Whether something is left.
    pub(super) fn forget(&mut self, forgotten: usize) -> bool {
        self.eras.retain(|era| era.saved.until > forgotten);
        self.others = self.others.split_off(&forgotten);
        !self.eras.is_empty()
    }

    /// Whether a fact was looked for at every moment in the way of the present policy, or the events tell it.
    pub(super) fn tells(&self, name: NameId) -> bool {
        !self.untold.contains(&name)
    }

    /// Returns the facts of a moment that the present policy does not use.
    pub(super) fn others(&self, place: usize) -> Option<&OtherFacts> {
        self.others.get(&place)
    }

    /// Whether a fact at a moment is as the policy of that moment found it.
    pub(super) fn has_found(&self, place: usize, name: NameId) -> bool {
        self.era(place).is_none_or(|era| !era.uncovered.contains(&name))
    }

    fn era(&self, place: usize) -> Option<&Era> {
        self.eras.iter().find(|era| place < era.saved.until)
    }

    /// Fills in the facts of the moment with this number.
    pub(super) fn fill(
        &mut self,
        place: usize,
        summary: &EventSummary,
        (facts, unknown): (&[Fact], &[UnknownFact]),
        prepared: &PreparedPolicy,
        labels: &mut Labels,
    ) {
        let plan = &prepared.plan;
        let Some(era) = self.era(place) else {
            facts.iter().for_each(|fact| labels.add(plan.id(&fact.name), &fact.values));
            for (name, values) in unknown {
                plan.id(name).into_iter().for_each(|name| labels.doubt(name, values.clone()));
            }
            return;
        };
        let (uncovered, is_old) = (Arc::clone(&era.uncovered), era.saved.is_old);
        let found = |name: &str| plan.id(name).filter(|name| !uncovered.contains(name));
        let mut others = OtherFacts::default();
        for fact in facts {
            match found(&fact.name) {
                Some(name) => labels.push(name, &fact.values),
                None => others.facts.push(fact.clone()),
            }
        }
        for (name, values) in unknown {
            match found(name) {
                Some(name) => labels.doubt(name, values.clone()),
                None => others.unknown.push((Arc::clone(name), values.clone())),
            }
        }
        for name in uncovered.iter().copied() {
            match plan.find_implied(name, summary.kind()) {
                ImpliedFact::Absent if !is_old => {}
                ImpliedFact::Present(values) if !is_old => labels.push(name, &values),
                _ => {
                    labels.doubt(name, Vec::new());
                    self.untold.insert(name);
                }
            }
        }
        if !others.facts.is_empty() || !others.unknown.is_empty() {
            self.others.insert(place, others);
        }
    }
}
