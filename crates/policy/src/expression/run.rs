//! One running evaluation: its scope, its remaining work budget, and the variables of its loops.

use std::cell::Cell;

use super::reason::{NoValue, UnknownCause};
use super::scope::EvaluationScope;
use super::value::CelValue;

/// The work budget of one evaluation: rounds of loops, elements compared, bytes made.
const MAX_WORK: usize = 4_000_000;

/// How many bytes of text are scanned for one unit of work.
const SCAN_BYTES_PER_WORK: usize = 64;

/// One evaluation.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) scope: &'a EvaluationScope<'a>,
    /// Whether a condition is evaluated, and not a value.
    pub(super) is_condition: bool,
    left: Cell<usize>,
}

/// The variables of the running loops, the innermost first.
#[derive(Debug)]
pub(super) struct LoopFrame<'f, 'a> {
    pub(super) value: CelValue<'a>,
    pub(super) outer: Option<&'f LoopFrame<'f, 'a>>,
}

impl<'a> Run<'a> {
    /// Starts the evaluation of a value.
    pub(super) fn new(scope: &'a EvaluationScope<'a>) -> Run<'a> {
        Run { scope, is_condition: false, left: Cell::new(MAX_WORK) }
    }

    /// Starts the evaluation of a condition.
    pub(super) fn condition(scope: &'a EvaluationScope<'a>) -> Run<'a> {
        Run { is_condition: true, ..Run::new(scope) }
    }

    /// Spends work; returns unknown above the limit, so that no log can stop its reader.
    pub(super) fn spend(&self, work: usize, at: u32) -> Result<(), NoValue> {
        match self.left.get().checked_sub(work) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(UnknownCause::Work.to_unknown(at)),
        }
    }

    /// Spends the work of scanning so many bytes of text, which is fast.
    pub(super) fn scan(&self, bytes: usize, at: u32) -> Result<(), NoValue> {
        self.spend(bytes / SCAN_BYTES_PER_WORK, at)
    }
}

pub(super) type LoopFrames<'f, 'a> = Option<&'f LoopFrame<'f, 'a>>;
