//! A compiled formula: immutable, shareable, deterministic.

use std::sync::Arc;

use crate::compile::{CompileError, Compiled, compile};
use crate::formula::{Arena, Formula};
use crate::probe::{Pattern, Probe};
use crate::spelling::Spelling;
use crate::term::Value;
use crate::verdict::Verdict;

/// A formula made ready to follow traces.
///
/// ```
/// use lictor_logic::{Arena, Monitor};
/// let mut arena = Arena::new();
/// let formula = arena.parse("G(request -> F answer)").unwrap();
/// let monitor = Monitor::new(&arena, formula).unwrap();
/// assert_eq!(monitor.text(), "G(request -> F answer)");
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) compiled: Compiled,
    text: String,
}

impl Monitor {
    /// Compiles a formula, or says why it cannot be monitored and what to do about it.
    pub fn new(arena: &Arena, formula: Formula) -> Result<Monitor, CompileError> {
        let compiled = compile(arena, formula)?;
        Ok(Monitor { compiled, text: arena.show(formula, Spelling::Ascii).to_string() })
    }

    /// The formula, in ASCII.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables whose bindings have a state of their own.
    pub fn variables(&self) -> &[Arc<str>] {
        &self.compiled.prefix
    }

    /// Is there a time bound in it?
    pub fn is_timed(&self) -> bool {
        !self.compiled.skeleton.clocks.is_empty()
    }

    /// Does the formula have a state for each binding of values?
    pub(crate) fn is_quantified(&self) -> bool {
        !self.compiled.prefix.is_empty()
    }

    /// The verdict on the formula, from the verdict on what is run for it.
    pub(crate) fn outward(&self, verdict: Verdict) -> Verdict {
        if self.compiled.negated { verdict.negated() } else { verdict }
    }

    /// The patterns among its letter bits.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (u8, &Pattern)> {
        self.compiled.probes.iter().enumerate().filter_map(|(bit, probe)| match probe {
            Probe::Pattern(pattern) => Some((bit as u8, pattern)),
            Probe::Local { .. } => None,
        })
    }

    /// Do values fit the pattern of a letter bit, in a formula without bindings?
    pub(crate) fn fits(&self, bit: u8, values: &[Value]) -> bool {
        match &self.compiled.probes[usize::from(bit)] {
            Probe::Pattern(pattern) => pattern.fits(values, &[]),
            Probe::Local { .. } => false,
        }
    }

    /// Does some letter bit need a look at all facts of a position together?
    pub(crate) fn has_local(&self) -> bool {
        self.compiled.probes.iter().any(|probe| matches!(probe, Probe::Local { .. }))
    }
}
