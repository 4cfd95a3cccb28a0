//! Violations under some resolution of unknown facts: whether a state has one, whether a position may bring one, and how
//! a trace continues after it.

use std::sync::Arc;

use super::Cache;
use crate::interval::Time;
use crate::skeleton::Skeleton;
use crate::state::{Handle, Point, Residual};
use crate::stepper::Stepper;
use crate::verdict::Verdict;
use crate::work::Work;

impl Cache {
    /// Returns the letter bits that can matter to a state.
    pub(crate) fn support(&self, point: &Point) -> u64 {
        match point.handle {
            Handle::Cached(id) => self.info[id as usize].support,
            Handle::Loose(_) => u64::MAX,
        }
    }

    /// Whether a state is violated under some resolution of unknown facts.
    pub(crate) fn may_be_violated(&self, skeleton: &Skeleton, point: &Point) -> bool {
        self.ask(skeleton, point, |info| info.may_be_violated, Residual::may_be_violated)
    }

    /// Whether a state is satisfied under some resolution of unknown facts.
    pub(crate) fn may_be_satisfied(&self, skeleton: &Skeleton, point: &Point) -> bool {
        let is_possible = |residual: &Residual| {
            residual.members.iter().any(|member| member.blurred || member.verdict() == Verdict::Satisfied)
        };
        match &point.handle {
            Handle::Cached(id) => is_possible(&self.states[*id as usize]),
            Handle::Loose(portable) => {
                portable.import(&mut skeleton.norms.clone()).is_none_or(|residual| is_possible(&residual))
            }
        }
    }

    /// Returns whether a cached state is violated under some resolution of unknown facts.
    #[inline]
    pub(crate) fn may_be_violated_at(&self, id: u32) -> bool {
        self.info[id as usize].may_be_violated
    }

    /// Whether a position violates a possible state of the trace that was not violated before.
    pub(crate) fn may_break(
        &mut self,
        skeleton: &Skeleton,
        point: &Point,
        bits: u64,
        unknown: u64,
        time: Time,
    ) -> bool {
        let support = point.id().map_or(u64::MAX, |id| self.info[id as usize].support);
        let letter = self.letter_at(skeleton, point, bits & support, unknown & support, time);
        let (max_resolutions, limit) = (self.limits.resolutions, Work::within(self.limits.work));
        self.with_residual(skeleton, point, |residual, norms, satisfy| {
            let open = residual.members.iter().filter(|member| !member.formal_verdict().is_definite());
            let open = Residual { members: open.cloned().collect(), clocks: residual.clocks.clone() };
            norms.work = limit;
            let mut stepper = Stepper { norms, satisfy, skeleton, max_resolutions };
            let (after, _) = stepper.step(&open, &letter);
            norms.work = Work::default();
            after.may_be_violated() || after.is_stopped()
        })
    }

    /// Returns the state after a position whose violation is excused, for a formula of which every violation is reported:
    /// the past stays as it was. If the violation is only `possible`, a violated member stays too, so that the formula
    /// is not satisfied at the end. It never steps; the others may be violated again.
    pub(crate) fn step_excused(
        &mut self,
        skeleton: &Skeleton,
        point: &Point,
        (bits, unknown): (u64, u64),
        time: Time,
        possible: bool,
    ) -> Point {
        let excused = self.step(skeleton, point, bits, unknown, time);
        if !possible {
            return excused;
        }
        let handle = match &excused.handle {
            Handle::Cached(id) => {
                let residual = self.states[*id as usize].or_violated();
                self.keep(skeleton, residual)
            }
            Handle::Loose(portable) => Handle::Loose(Arc::new(portable.or_violated())),
        };
        Point { handle, times: excused.times }
    }
}
