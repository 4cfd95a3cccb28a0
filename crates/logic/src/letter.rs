//! From the facts of a position to the letter that a formula reads.

use crate::facts::Facts;
use crate::monitor::Monitor;
use crate::probe::{Binding, LocalEvaluator, Probe};

/// Returns the letter that a binding reads: the bits that are set and those that are unknown.
pub(crate) fn read_letter(monitor: &Monitor, facts: &Facts, binding: &Binding) -> (u64, u64) {
    let compiled = &monitor.compiled;
    let (mut bits, mut unknown) = (0, 0);
    for (bit, probe) in compiled.probes.iter().enumerate() {
        let answer = match probe {
            Probe::Pattern(pattern) => pattern.answer(facts, binding),
            Probe::Local { variables, body } => {
                LocalEvaluator { arena: &compiled.arena, prefix: &compiled.prefix, binding, facts }
                    .answer(variables, *body)
            }
        };
        match answer {
            Some(true) => bits |= 1 << bit,
            Some(false) => {}
            None => unknown |= 1 << bit,
        }
    }
    (bits, unknown)
}
