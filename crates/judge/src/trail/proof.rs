//! Builds the finding of a violated property with its witness.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{After, Moment, Prover, Value, Witness, WitnessBasis};

use super::{EventSummary, Trail, TrailBudget, TrailEnd};
use crate::finding::{DecidedBy, Finding, WitnessEvent};
use crate::{Provers, Violation};
use lictor_event::{Kind, Source};
use lictor_json::Text;
use lictor_policy::Property;

/// Everything a finding is made of.
pub(super) struct Case<'a> {
    pub(super) trail: &'a Trail,
    pub(super) later: TrailEnd<'a>,
    pub(super) broken: &'a Violation,
}

impl Case<'_> {
    pub(super) fn finding(&self, provers: &mut Provers) -> Finding {
        let prepared = Arc::clone(&provers.prepared);
        let parsed = &prepared.formulas[self.broken.property];
        let bound = parsed.variables.iter().zip(&self.broken.binding);
        let bound: Vec<_> = bound.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
        let recorded = self.trail.moments.len();
        let from = match parsed.after {
            After::Reset => {
                let key = (self.broken.property, self.broken.binding.clone());
                self.trail.resets.get(&key).copied().unwrap_or(0)
            }
            After::Latch | After::Each => 0,
        };
        let from = from.max(self.trail.begun.get(&self.broken.property).copied().unwrap_or(0));
        // The formula asks for a few facts of each event: no others are copied.
        let (names, asked) = (&prepared.plan.names, prepared.asked(self.broken.property));
        let is_asked = |name| asked.contains(&name);
        let mut later = self.later.moments(names, is_asked);
        // Passing time decides a deadline, not the event after it.
        if self.broken.by == DecidedBy::Deadline {
            later.truncate(1);
        }
        let at_end = self.broken.by == DecidedBy::End;
        self.trail.budget.earn();
        let mut budget = self.trail.budget.get();
        let length = (recorded - from + later.len()) as u64;
        if budget.left() < TrailBudget::PER_SEARCHED_MOMENT * length {
            return self.finding_without_search(&prepared.properties[self.broken.property], &bound, later);
        }
        let trace: Vec<Moment> = self.trail.moments.some(from..recorded, names, &is_asked).chain(later).collect();
        let mut find = |prover: &mut Prover| prover.find_within(&trace, at_end, &bound, &mut budget);
        let witness = provers.of(self.broken.property).and_then(&mut find);
        if witness.is_none() && self.broken.risk.is_some() {
            // The answers as they were said do not prove it; their chances do.
            let later = self.later.moments(names, is_asked);
            return self.finding_without_search(&prepared.properties[self.broken.property], &bound, later);
        }
        let count = witness.as_ref().map_or(0, |witness| witness.steps.len()) as u64;
        budget.spend(TrailBudget::PER_WITNESS_EVENT * count);
        self.trail.budget.set(budget);
        // The time before the event after the trail is a moment without an event.
        let event = recorded + usize::from(self.later.passed().is_some());
        let summary = |entry: usize| match from + entry {
            place if place >= event => self.later.summary(),
            place => self.trail.moments.summary(place),
        };
        let at = self.at();
        let proofs = witness.iter().flat_map(|witness| &witness.steps).filter_map(|step| {
            let summary = summary(step.entry)?;
            let session = summary.session.clone();
            Some(WitnessEvent {
                session: session.filter(|session| at.is_none_or(|at| at.session.as_ref() != Some(session))),
                present: step.present.iter().map(ToString::to_string).collect(),
                absent: step.absent.iter().map(ToString::to_string).collect(),
                ..WitnessEvent::of(summary)
            })
        });
        let proofs = condensed(gathered(proofs.collect()));
        let basis = witness.as_ref().map_or(WitnessBasis::Proof, |witness| witness.basis);
        let bound = match witness.filter(|_| bound.is_empty()) {
            Some(Witness { binding, .. }) => binding,
            None => bound,
        };
        self.write(&prepared.properties[self.broken.property], bound, proofs, basis)
    }

    /// Returns the finding with the deciding event alone, at which the residual certainly changed.
    fn finding_without_search(
        &self,
        property: &Arc<Property>,
        bound: &[(Arc<str>, Value)],
        later: Vec<Moment>,
    ) -> Finding {
        let summary = self.at().filter(|_| self.broken.by == DecidedBy::Event);
        let witness = summary.zip(later.last()).map(|(summary, moment)| WitnessEvent {
            present: match moment {
                Moment::Position(facts) => facts.known.iter().map(ToString::to_string).collect(),
                Moment::Tick(_) => Vec::new(),
            },
            ..WitnessEvent::of(summary)
        });
        self.write(property, bound.to_vec(), witness.into_iter().collect(), WitnessBasis::Changes)
    }

    fn write(
        &self,
        property: &Arc<Property>,
        bound: Vec<(Arc<str>, Value)>,
        witness: Vec<WitnessEvent>,
        basis: WitnessBasis,
    ) -> Finding {
        let at = self.at();
        Finding {
            session: at.and_then(|summary| summary.session.clone()).unwrap_or_else(|| self.trail.session.clone()),
            decided: self.broken.by,
            step: at.map_or(0, |summary| summary.step),
            source: at.map_or_else(Source::default, |summary| summary.source.clone()),
            kind: at.map_or(Kind::Facts, |summary| summary.kind.clone()),
            tool: at.and_then(|summary| summary.tool.clone()),
            binding: bound.into_iter().map(|(name, value)| (Text::new(name), value)).collect(),
            witness,
            basis,
            risk: self.broken.risk,
            grounds: Vec::new(),
            owed: None,
            suppressed: None,
            fingerprint: String::new(),
            property: Arc::clone(property),
        }
    }

    /// The event at which it was decided.
    fn at(&self) -> Option<&EventSummary> {
        match self.broken.by {
            DecidedBy::Event => self.later.summary(),
            // The last event before the time that passed.
            DecidedBy::Deadline | DecidedBy::End => self.trail.moments.last(),
        }
    }
}

impl WitnessEvent {
    /// Describes an event without facts and without its session.
    fn of(summary: &EventSummary) -> WitnessEvent {
        WitnessEvent {
            session: None,
            step: summary.step,
            source: summary.source.clone(),
            kind: summary.kind.clone(),
            tool: summary.tool.clone(),
            time: summary.time,
            present: Vec::new(),
            absent: Vec::new(),
            content: summary.content.clone(),
        }
    }
}

/// Shortens a witness by naming facts that are missing everywhere only once: for a sum, only the events that add to it
/// are of interest.
fn gathered(mut proofs: Vec<WitnessEvent>) -> Vec<WitnessEvent> {
    const MIN_GATHERED_STRETCHES: usize = 3;
    let Some(last) = proofs.last() else { return proofs };
    let is_one_session = proofs.iter().all(|proof| proof.session == last.session);
    let missing: BTreeSet<String> = proofs.iter().flat_map(|proof| &proof.absent).cloned().collect();
    for fact in missing.into_iter().filter(|_| is_one_session) {
        let name = fact.split('(').next().unwrap_or_default();
        let is_missing = |proof: &WitnessEvent| proof.absent.contains(&fact);
        let steps: Vec<u32> = proofs.iter().filter(|proof| is_missing(proof)).map(|proof| proof.step).collect();
        let stretches = steps.windows(2).filter(|pair| pair[0] + 1 < pair[1]).count() + 1;
        let (Some(first), Some(end)) = (steps.first().copied(), steps.last().copied()) else { continue };
        // Where it is not missing it holds, so "all other steps" means the same as the list.
        let holds = |proof: &WitnessEvent| proof.present.iter().any(|held| held.split('(').next() == Some(name));
        let within = proofs.iter().filter(|proof| (first..=end).contains(&proof.step));
        let told = within.filter(|proof| is_missing(proof) || holds(proof)).count();
        if stretches < MIN_GATHERED_STRETCHES || told != (end - first + 1) as usize {
            continue;
        }
        proofs.iter_mut().for_each(|proof| proof.absent.retain(|other| *other != fact));
        if let Some(last) = proofs.last_mut() {
            last.absent.push(format!("{fact} (at all other steps from {first} to {end})"));
        }
        proofs.retain(|proof| !proof.present.is_empty() || !proof.absent.is_empty());
    }
    proofs
}

/// Shortens a witness by merging stretches: if a fact is missing at event after event and nothing else matters, the
/// last event names the first.
fn condensed(proofs: Vec<WitnessEvent>) -> Vec<WitnessEvent> {
    let mut told: Vec<WitnessEvent> = Vec::new();
    // For each missing fact of the last event kept, since which event it is missing.
    let mut since: Vec<(String, u32)> = Vec::new();
    for mut proof in proofs {
        let mut still = Vec::new();
        for fact in &proof.absent {
            let before = since.iter().find(|(other, _)| other == fact).map(|(_, first)| *first);
            still.push((fact.clone(), before.unwrap_or(proof.step)));
        }
        let is_run = told.last().is_some_and(|last| {
            last.present.is_empty()
                && last.session == proof.session
                && last.step + 1 == proof.step
                && since.iter().all(|(fact, _)| proof.absent.contains(fact))
        });
        if is_run {
            told.pop();
        } else {
            still.iter_mut().for_each(|(_, first)| *first = proof.step);
        }
        for (text, (fact, first)) in proof.absent.iter_mut().zip(&still) {
            if *first < proof.step {
                *text = format!("{fact} (steps {first} to {})", proof.step);
            }
        }
        told.push(proof);
        since = still;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(step: u32, present: &[&str], absent: &[&str]) -> WitnessEvent {
        let texts = |facts: &[&str]| facts.iter().map(|fact| (*fact).to_owned()).collect();
        WitnessEvent {
            session: None,
            step,
            source: Source::default(),
            kind: Kind::Facts,
            tool: None,
            time: None,
            present: texts(present),
            absent: texts(absent),
            content: None,
        }
    }

    #[test]
    fn witness_shows_last_event_of_stretch() {
        let told = condensed(vec![
            proof(1, &[], &["consent"]),
            proof(2, &[], &["consent"]),
            proof(3, &["processes"], &["legitimate", "consent"]),
        ]);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].absent, ["legitimate", "consent (steps 1 to 3)"]);
    }

    #[test]
    fn witness_reports_absent_fact_once() {
        let paid = |step| proof(step, &["paid(\"p\",20)"], &[]);
        let other = |step| proof(step, &[], &["paid(\"p\",_)"]);
        let told = gathered(vec![other(1), paid(2), other(3), other(4), paid(5), other(6), paid(7)]);
        assert_eq!(told.iter().map(|proof| proof.step).collect::<Vec<_>>(), [2, 5, 7]);
        assert_eq!(told[2].absent, ["paid(\"p\",_) (at all other steps from 1 to 6)"]);
        let told = gathered(vec![other(1), paid(2), other(4), paid(5), other(6), paid(7)]);
        assert_eq!(told.len(), 6, "step 3 does not matter, so the list says more");
    }

    #[test]
    fn witness_keeps_events_with_facts() {
        let told = condensed(vec![proof(2, &["erasure"], &[]), proof(4, &["discloses"], &["retained"])]);
        assert_eq!(told.iter().map(|proof| proof.step).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(told[1].absent, ["retained"]);
        let told = condensed(vec![proof(1, &[], &["a"]), proof(3, &["b"], &["a"])]);
        assert_eq!(told.len(), 2, "there is an event between that does not matter");
    }
}
