//! Which answers of labelers carry a finding with a risk.
//!
//! A risk is the sum of many chances, so its witness may prove nothing. The events of the session are read again, and the
//! answers are named that add most to the probability of the violation.

use lictor_event::Event;
use lictor_json::Text;
use lictor_logic::{After, Choice, FactInfluence, Facts};

use crate::Judge;
use crate::finding::{Finding, FindingGround};

/// How many answers are named for a finding.
const MAX_GROUNDS: usize = 3;

/// Sessions with more events are not read again.
const MAX_EVENTS: usize = 5_000;

/// Answers that carry less than this share of what the first one carries are not named.
const MIN_SHARE: f64 = 0.05;

impl Judge {
    /// Names the answers that carry each finding with a risk. The events are all of one session, with their answers. A
    /// property with quantifiers gets none.
    pub fn add_grounds(&mut self, events: &[Event], findings: &mut [Finding]) {
        let has_risk = findings.iter().any(|finding| finding.risk.is_some());
        if !has_risk || events.len() > MAX_EVENTS {
            return;
        }
        let trace = self.read_doubtful(events);
        for place in 0..findings.len() {
            let finding = &findings[place];
            let number = self.properties().iter().position(|property| property.id == finding.property.id);
            let Some(number) = number.filter(|_| finding.risk.is_some()) else { continue };
            let step = finding.step as usize;
            // A property that was reset has forgotten what was before.
            let is_earlier = |other: &&Finding| other.property.id == finding.property.id && other.step < finding.step;
            let start = match finding.property.after {
                After::Reset => findings.iter().filter(is_earlier).map(|other| other.step as usize).max().unwrap_or(0),
                _ => 0,
            };
            let Some(part) = trace.get(start..step.min(trace.len())) else { continue };
            let influences = self.risks.find_influences(number, part);
            findings[place].grounds = name_grounds(influences, &events[start..], start);
        }
    }

    /// Returns the facts of events as properties with a risk read them.
    fn read_doubtful(&mut self, events: &[Event]) -> Vec<(Facts, Vec<Choice>)> {
        let mut state = self.start();
        let mut trace = Vec::with_capacity(events.len());
        for event in events {
            let labeled = self.label(&state, event);
            let time = labeled.observation.time;
            trace.push(labeled.labels.doubtful_facts(time, &self.prepared().plan.names));
            self.recycle(labeled.labels, labeled.observation);
            self.add_event(&mut state, event);
        }
        trace
    }
}

/// Returns the answers that carry most of a risk; `events` are those of the influences, the first after `start` others.
fn name_grounds(influences: Vec<FactInfluence>, events: &[Event], start: usize) -> Vec<FindingGround> {
    let weigh = |it: FactInfluence| {
        let mut answers = events.get(it.position)?.answers.iter();
        let answer = answers.find(|answer| answer.fact == it.fact && answer.chance.is_some())?;
        let chance = answer.chance?;
        // An offence carries the risk by its chance to hold, an excuse by its chance not to.
        let weight = if it.influence > 0.0 { it.influence * chance } else { -it.influence * (1.0 - chance) };
        let (step, fact) = ((start + it.position + 1) as u32, Text::new(it.fact.to_string()));
        Some((weight, FindingGround { step, fact, by: answer.by.clone(), chance }))
    };
    let mut weighed: Vec<(f64, FindingGround)> = influences.into_iter().filter_map(weigh).collect();
    weighed.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.step.cmp(&second.step)));
    let least = weighed.first().map_or(0.0, |(weight, _)| weight * MIN_SHARE);
    weighed.retain(|(weight, _)| *weight > 0.0 && *weight >= least);
    weighed.into_iter().map(|(_, ground)| ground).take(MAX_GROUNDS).collect()
}
