//! Which facts a log brings into play: a property whose facts never held was not put to the test.

use std::sync::Arc;

use super::batch::Batches;
use super::{AuditError, Options};
use crate::input::Input;
use crate::judge::Judge;
use crate::policy::Property;

/// A property, and the facts it asks for that never held.
#[derive(Clone, Debug)]
pub struct Untested {
    /// The property.
    pub property: Arc<Property>,
    /// The facts it asks for that held at no event.
    pub missing: Vec<Arc<str>>,
    /// Whether none of its facts ever held, so that the log says nothing about it.
    pub entirely: bool,
}

/// The properties of which some fact held at no event of the inputs.
pub fn untested(judge: &Judge, inputs: &[Input], options: &Options) -> Result<Vec<Untested>, AuditError> {
    let mut judge = judge.fork();
    let prepared = Arc::clone(judge.prepared());
    let mut held = vec![false; prepared.plan.names.len()];
    let mut track = judge.start();
    let mut events = 0;
    let mut batches = Batches::new(inputs, options);
    for batch in batches.by_ref() {
        let decoded = batch.decode();
        for event in &decoded.events {
            judge.step(&mut track, event);
            judge.names_held(&mut held);
        }
        events += decoded.events.len();
    }
    if events == 0 {
        let (files, faults) = batches.into_files();
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    let mut untested = Vec::new();
    for (property, parsed) in prepared.properties.iter().zip(&prepared.formulas) {
        let asked = parsed.names();
        let is_missing = |name: &Arc<str>| prepared.plan.id(name).is_some_and(|id| !held[id as usize]);
        let missing: Vec<Arc<str>> = asked.iter().filter(|name| is_missing(name)).cloned().collect();
        if !missing.is_empty() {
            let entirely = missing.len() == asked.len();
            untested.push(Untested { property: Arc::clone(property), missing, entirely });
        }
    }
    Ok(untested)
}
