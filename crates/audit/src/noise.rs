//! Which single answer or label, if it is wrong, turns a finding.
//!
//! Every answer of a session is flipped in turn and the rest of the session judged again from there, by states alone. So
//! a finding is named exactly if it does not occur any more. The work is bounded; a finding beyond the bound says so.

use std::collections::HashMap;

use lictor_event::{AnswerValue, Event};
use lictor_json::Text;
use lictor_judge::finding::{DecidedBy, Finding};
use lictor_judge::session::SessionError;
use lictor_judge::{Judge, SessionState};

/// How many events may be judged again for one session.
const MAX_JUDGED_EVENTS: u64 = 2_000_000;

/// The labels on which a finding rests alone.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingNoise {
    /// The finding, by its fingerprint.
    pub fingerprint: String,
    /// Its property.
    pub property: Text,
    /// Its session.
    pub session: Text,
    /// The step at which it was decided.
    pub step: u32,
    /// The labels each of which, if it alone were wrong, would turn the finding.
    pub turning: Vec<TurningLabel>,
    /// Whether all labels were tried; otherwise the session has too many events.
    pub is_complete: bool,
}

/// An answer or label that would turn a finding if it were wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct TurningLabel {
    /// The step of its event.
    pub step: u32,
    /// The fact.
    pub fact: Text,
    /// What was said.
    pub says: AnswerValue,
    /// The labeler that said it; none for a label of the log.
    pub by: Option<Text>,
    /// How sure the labeler was, on its own scale.
    pub score: Option<f64>,
}

/// Returns the labels on which each finding of a session rests. The events are all of the session, with their answers.
pub(crate) fn find_noise(
    judge: &mut Judge,
    events: &[Event],
    findings: &[Finding],
) -> Result<Vec<FindingNoise>, SessionError> {
    let mut noise: Vec<FindingNoise> = findings.iter().map(FindingNoise::of).collect();
    if findings.is_empty() {
        return Ok(noise);
    }
    let placed = PlacedFindings::new(judge, findings);
    let mut budget = MAX_JUDGED_EVENTS;
    let mut state = judge.start();
    for (place, event) in events.iter().enumerate() {
        for (label, flips) in find_labels(event, place as u32 + 1) {
            budget = budget.saturating_sub((flips.len() * (events.len() - place)) as u64);
            if budget == 0 {
                noise.iter_mut().for_each(|it| it.is_complete = false);
                return Ok(noise);
            }
            let mut is_turning = vec![false; findings.len()];
            for flipped in flips {
                let found = find_again(judge, state.clone(), &flipped, &events[place + 1..], &placed)?;
                is_turning.iter_mut().zip(found).for_each(|(turning, found)| *turning |= !found);
            }
            // What was decided before the event does not depend on it.
            let turned = noise.iter_mut().zip(is_turning).filter(|(it, turning)| *turning && it.step >= label.step);
            turned.for_each(|(it, _)| it.turning.push(label.clone()));
        }
        judge.advance(&mut state, event)?;
    }
    Ok(noise)
}

impl FindingNoise {
    fn of(finding: &Finding) -> FindingNoise {
        FindingNoise {
            fingerprint: finding.fingerprint.clone(),
            property: finding.property.id.clone(),
            session: finding.session.clone(),
            step: finding.step,
            turning: Vec::new(),
            is_complete: true,
        }
    }
}

/// Returns the answers and labels of an event, each with the event as it would be if that one alone were wrong.
fn find_labels(event: &Event, step: u32) -> Vec<(TurningLabel, Vec<Event>)> {
    let mut labels = Vec::new();
    for (place, answer) in event.answers.iter().enumerate() {
        let opposites: &[AnswerValue] = match answer.says {
            AnswerValue::Yes => &[AnswerValue::No],
            AnswerValue::No => &[AnswerValue::Yes],
            AnswerValue::Unclear | AnswerValue::Failed => &[AnswerValue::Yes, AnswerValue::No],
        };
        let flip = |says: &AnswerValue| {
            let mut flipped = event.clone();
            let answer = &mut flipped.answers[place];
            answer.says = *says;
            // It is certainly wrong, so the opposite is certain.
            answer.chance = answer.chance.map(|_| f64::from(u8::from(*says == AnswerValue::Yes)));
            flipped
        };
        let (fact, by) = (Text::new(answer.fact.to_string()), answer.by.clone());
        let label = TurningLabel { step, fact, says: answer.says, by, score: answer.score };
        labels.push((label, opposites.iter().map(flip).collect()));
    }
    for (place, name) in event.labels.iter().enumerate() {
        let mut flipped = event.clone();
        let (fact, says) = match name.strip_prefix('!') {
            Some(denied) => (denied, AnswerValue::No),
            None => (name.as_str(), AnswerValue::Yes),
        };
        match says {
            AnswerValue::Yes => flipped.labels[place] = Text::new(format!("!{fact}")),
            _ => flipped.labels[place] = fact.into(),
        }
        let label = TurningLabel { step, fact: fact.into(), says, by: None, score: None };
        labels.push((label, vec![flipped]));
    }
    labels
}

/// The findings of a session, each with the number of its property, by where they are decided.
struct PlacedFindings<'a> {
    list: &'a [Finding],
    by_step: HashMap<u32, Vec<(usize, usize)>>,
    at_end: Vec<(usize, usize)>,
}

impl PlacedFindings<'_> {
    fn new<'a>(judge: &Judge, list: &'a [Finding]) -> PlacedFindings<'a> {
        let mut placed = PlacedFindings { list, by_step: HashMap::new(), at_end: Vec::new() };
        for (number, finding) in list.iter().enumerate() {
            let property = judge.properties().iter().position(|property| property.id == finding.property.id);
            let Some(property) = property else { continue };
            // The finding of a deadline that passed before an event names the event before it.
            let step = match finding.decided {
                DecidedBy::Event => finding.step,
                DecidedBy::Deadline => finding.step + 1,
                DecidedBy::End => {
                    placed.at_end.push((number, property));
                    continue;
                }
            };
            placed.by_step.entry(step).or_default().push((number, property));
        }
        placed
    }
}

/// Judges a changed event and those after it, and returns whether each finding occurs again.
fn find_again(
    judge: &mut Judge,
    mut state: SessionState,
    flipped: &Event,
    rest: &[Event],
    findings: &PlacedFindings<'_>,
) -> Result<Vec<bool>, SessionError> {
    let mut found = vec![false; findings.list.len()];
    let mut before: Vec<u32> = Vec::new();
    for event in std::iter::once(flipped).chain(rest) {
        let due = findings.by_step.get(&(state.steps() + 1)).map(Vec::as_slice).unwrap_or_default();
        before.clear();
        before.extend(due.iter().map(|(_, property)| state.violations()[*property].count));
        judge.advance(&mut state, event)?;
        for ((finding, property), before) in due.iter().zip(&before) {
            found[*finding] |= state.violations()[*property].count > *before;
        }
    }
    for (finding, property) in &findings.at_end {
        found[*finding] = judge.is_owed(&mut state, *property)?;
    }
    // What lies before the change stays as it is.
    let first = state.steps() - rest.len() as u32;
    findings.list.iter().zip(&mut found).for_each(|(finding, found)| *found |= finding.step < first);
    Ok(found)
}
