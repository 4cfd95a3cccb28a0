//! A trail as data that survives a restart.

use std::sync::Arc;

use lictor_logic::{Fact, Moment, Term, Time, Value};
use serde::{Deserialize, Serialize};

use super::past::{SavedEra, UnknownFact};
use super::{EventSummary, Trail, TrailPast};
use crate::PreparedPolicy;
use crate::facts::{Labels, Plan};
use crate::past::PastPolicies;
use lictor_event::{Kind, Source};
use lictor_json::Text;

/// A trail without the session it belongs to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedTrail {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    moments: Vec<SavedMoment>,
    /// After which moment a property, by its name, last restarted for a binding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resets: Vec<(Text, Vec<Option<Value>>, usize)>,
    /// After which moment a property, by its name, began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    begun: Vec<(Text, usize)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    forgotten: usize,
    /// The moments that earlier policies judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    eras: Vec<SavedEra>,
    /// The names of facts that were unknown at a forgotten moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<Arc<str>>,
}

/// A moment, with the event that it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedMoment {
    Tick(Time),
    Event(SavedEvent),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedEvent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text>,
    step: u32,
    kind: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Time>,
    file: Arc<str>,
    line: u32,
    record: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    facts: Vec<Fact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<UnknownFact>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stated: bool,
}

/// The moments of a session from one save to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedMoments(Vec<SavedMoment>);

impl SavedTrail {
    /// Takes out the moments.
    pub(crate) fn take_moments(&mut self) -> SavedMoments {
        SavedMoments(std::mem::take(&mut self.moments))
    }

    /// Puts the saved parts back; `total` is how many moments there were. `false` if some are missing.
    pub(crate) fn put_moments(&mut self, parts: impl IntoIterator<Item = SavedMoments>, total: usize) -> bool {
        self.moments = parts.into_iter().flat_map(|part| part.0).collect();
        // Moments dropped since the save are still here, in front.
        let surplus = self.moments.len().checked_sub(total.saturating_sub(self.forgotten));
        surplus.map(|surplus| self.moments.drain(..surplus)).is_some()
    }

    /// How many moments there were.
    fn len(&self) -> usize {
        self.forgotten + self.moments.len()
    }

    /// Notes that all moments up to here were judged by a policy, by its fingerprint. `is_old` means that a version of
    /// Lictor saved them that did not note which events came with facts.
    pub(crate) fn close_era(&mut self, policy: &str, is_old: bool) {
        if self.len() > 0 {
            let era = SavedEra { until: self.len(), policy: policy.into(), is_old };
            TrailPast::extend(&mut self.eras, era);
        }
    }

    /// The fingerprints of the policies that judged its moments before the last one.
    pub(crate) fn past_policies(&self) -> impl Iterator<Item = &str> {
        self.eras.iter().map(|era| era.policy.as_str())
    }
}

impl Trail {
    /// Saves the moments from a number on; earlier parts are [put before them](SavedTrail::put_moments).
    pub(crate) fn save(&self, prepared: &PreparedPolicy, from: usize) -> SavedTrail {
        let mut resets: Vec<_> = self.resets.iter().collect();
        resets.sort_unstable();
        let mut begun: Vec<_> = self.begun.iter().collect();
        begun.sort_unstable();
        let named = |((property, binding), place): (&(usize, Vec<Option<Value>>), &usize)| {
            (prepared.properties[*property].id.clone(), binding.clone(), *place)
        };
        SavedTrail {
            moments: (from.saturating_sub(self.forgotten)..self.moments.len())
                .filter_map(|place| self.saved_moment(place, &prepared.plan))
                .collect(),
            resets: resets.into_iter().map(named).collect(),
            begun: begun
                .into_iter()
                .map(|(property, place)| (prepared.properties[*property].id.clone(), *place))
                .collect(),
            forgotten: self.forgotten,
            eras: self.past.as_ref().map(|past| past.eras()).unwrap_or_default(),
            unknown: match self.forgotten {
                0 => Vec::new(),
                _ => self.unknown.iter().map(|name| Arc::clone(&prepared.plan.names[*name as usize])).collect(),
            },
        }
    }

    /// Saves the last moments only, for data that is saved often; witnesses then reach back less far.
    pub(crate) fn save_last(&self, prepared: &PreparedPolicy, most: usize) -> SavedTrail {
        let gone = self.moments.len().saturating_sub(most);
        let mut saved = self.save(prepared, self.forgotten + gone);
        saved.resets.iter_mut().for_each(|(_, _, place)| *place = place.saturating_sub(gone));
        saved.begun.iter_mut().for_each(|(_, place)| *place = place.saturating_sub(gone));
        saved.forgotten += gone;
        saved
    }

    /// Loads a trail. Entries of properties that the policy does not have are dropped.
    pub(crate) fn load(session: Text, saved: &SavedTrail, prepared: &PreparedPolicy, past: &PastPolicies) -> Trail {
        let mut trail = Trail::of(session);
        trail.past = TrailPast::new(&saved.eras, prepared, past);
        for (place, moment) in saved.moments.iter().enumerate() {
            trail.restore(saved.forgotten + place, moment, prepared);
        }
        trail.unknown.extend(saved.unknown.iter().filter_map(|name| prepared.plan.id(name)));
        // Nothing is known of the forgotten moments of an earlier policy.
        if saved.forgotten > 0
            && let Some(past) = &trail.past
        {
            trail.unknown.extend(past.uncovered());
        }
        let known = |id: &Text| prepared.properties.iter().position(|property| property.id == *id);
        for (id, binding, place) in &saved.resets {
            if let Some(property) = known(id) {
                trail.resets.insert((property, binding.clone()), (*place).min(trail.moments.len()));
            }
        }
        for (id, place) in &saved.begun {
            if let Some(property) = known(id) {
                trail.begun.insert(property, (*place).min(trail.moments.len()));
            }
        }
        trail.forgotten = saved.forgotten;
        trail
    }

    fn saved_moment(&self, place: usize, plan: &Plan) -> Option<SavedMoment> {
        let facts = match self.moments.moment(place, &plan.names, |_| true) {
            Moment::Tick(now) => return Some(SavedMoment::Tick(now)),
            Moment::Position(facts) => facts,
        };
        let summary = self.moments.summary(place)?;
        let (mut known, mut doubted) = (facts.known, facts.unknown);
        let past = self.past.as_ref();
        let others = past.and_then(|past| past.others(self.forgotten + place)).cloned().unwrap_or_default();
        if let Some(past) = past {
            // What the event told was not found by the policy of its moment.
            let is_found = |name: &str| plan.id(name).is_none_or(|name| past.has_found(self.forgotten + place, name));
            known.retain(|fact| is_found(&fact.name));
            doubted.retain(|atom| is_found(&atom.name));
        }
        known.extend(others.facts);
        let value = |term: &Term| match term {
            Term::Value(value) => Some(value.clone()),
            Term::Any | Term::Var(_) => None,
        };
        let unknown = doubted.iter().map(|atom| (atom.name.clone(), atom.terms.iter().map(value).collect()));
        Some(SavedMoment::Event(SavedEvent {
            session: summary.session.clone(),
            step: summary.step,
            kind: summary.kind.name().into(),
            tool: summary.tool.clone(),
            time: facts.time,
            file: Arc::clone(&summary.source.file),
            line: summary.source.line,
            record: summary.source.record,
            content: summary.content.clone(),
            unknown: unknown.chain(others.unknown).collect(),
            facts: known,
            stated: summary.is_stated,
        }))
    }

    /// Adds the moment with a number. Facts that the policy does not ask for are dropped, unless an earlier policy did.
    fn restore(&mut self, place: usize, moment: &SavedMoment, prepared: &PreparedPolicy) {
        let event = match moment {
            SavedMoment::Tick(now) => return self.moments.pass(*now),
            SavedMoment::Event(event) => event,
        };
        let summary = EventSummary {
            session: event.session.clone(),
            step: event.step,
            kind: Kind::named(&event.kind),
            tool: event.tool.clone(),
            time: event.time,
            source: Source { file: Arc::clone(&event.file), line: event.line, record: event.record },
            content: event.content.clone(),
            is_stated: event.stated,
        };
        let mut labels = Labels::default();
        let facts = (&event.facts[..], &event.unknown[..]);
        match &mut self.past {
            Some(past) => past.fill(place, &summary, facts, prepared, &mut labels),
            None => TrailPast::default().fill(place, &summary, facts, prepared, &mut labels),
        }
        self.add(&mut labels, summary);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
