//! Coverage: which properties a log exercises. A property whose facts never hold is not exercised.

use std::collections::HashSet;
use std::sync::Arc;

use super::batch::Batches;
use super::{AuditError, AuditOptions};
use lictor_decode::input::Input;
use lictor_judge::Judge;
use lictor_policy::Property;

/// A property, and its facts that never held.
#[derive(Clone, Debug)]
pub struct UnexercisedProperty {
    /// The property.
    pub property: Arc<Property>,
    /// Its facts that held at no event.
    pub missing: Vec<Arc<str>>,
    /// Whether none of its facts ever held, so that the log does not exercise it at all.
    pub entirely: bool,
}

/// Returns the properties with a fact that holds at no event of the inputs.
pub fn find_unexercised(
    judge: &Judge,
    inputs: &[Input],
    options: &AuditOptions,
) -> Result<Vec<UnexercisedProperty>, AuditError> {
    let mut judge = judge.fork();
    let mut held = vec![false; judge.fact_names().len()];
    let mut follower = judge.follow();
    let mut events = 0;
    let mut batches = Batches::new(inputs, options);
    for batch in batches.by_ref() {
        let decoded = batch.decode();
        for event in &decoded.events {
            follower.advance(event);
            follower.mark_facts(&mut held);
        }
        events += decoded.events.len();
    }
    if events == 0 {
        let (files, faults) = batches.into_files();
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    let mut unexercised = Vec::new();
    let absent: HashSet<&Arc<str>> =
        judge.fact_names().iter().zip(&held).filter(|(_, held)| !**held).map(|(name, _)| name).collect();
    for (number, property) in judge.properties().iter().enumerate() {
        let asked = judge.fact_names_of(number);
        let missing: Vec<Arc<str>> = asked.iter().filter(|name| absent.contains(name)).cloned().collect();
        if !missing.is_empty() {
            let entirely = missing.len() == asked.len();
            unexercised.push(UnexercisedProperty { property: Arc::clone(property), missing, entirely });
        }
    }
    Ok(unexercised)
}
