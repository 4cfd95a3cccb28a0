//! Formulas that restart after a verdict, where unknown facts leave it open whether there was one.
//!
//! Each resolution of the unknown facts is a trace of its own. One that reaches a verdict restarts there, whatever the
//! others do. So a possible state with a verdict becomes the start state, unless all possible states have that verdict:
//! then it is certain, and is reported before the trace restarts.

use std::sync::Arc;

use super::{Cache, select_slots};
use crate::interval::Time;
use crate::norm::{Clock, Norms};
use crate::skeleton::Skeleton;
use crate::state::{Handle, Member, Point, PortableResidual, Residual};
use crate::stepper::{StepInput, Stepper};
use crate::work::Work;

impl Cache {
    /// Lets possible states with a verdict restart at a point without times.
    pub(crate) fn restart_at(&mut self, start: &Point) {
        self.restart = Some(Arc::new(self.portable(start)));
    }

    /// Whether a state is a set of several possible ones.
    pub(crate) fn is_uncertain(&self, point: &Point) -> bool {
        match &point.handle {
            Handle::Cached(id) => {
                let members = &self.states[*id as usize].members;
                members.len() > 1 || members.iter().any(|member| member.blurred)
            }
            Handle::Loose(_) => true,
        }
    }

    /// Whether deadlines before a time violate a possible state that was not violated before.
    pub(crate) fn may_break_by_time(&mut self, skeleton: &Skeleton, point: &Point, time: Time) -> bool {
        let expired = select_slots(skeleton, self.clocks(point), &point.times, time, Clock::is_over);
        let (max_resolutions, limit) = (self.limits.resolutions, Work::within(self.limits.work));
        self.with_residual(skeleton, point, |residual, norms, satisfy| {
            let open = residual.members.iter().filter(|member| !member.formal_verdict().is_definite());
            let open = Residual { members: open.cloned().collect(), clocks: residual.clocks.clone() };
            norms.work = limit;
            let mut stepper = Stepper { norms, satisfy, skeleton, max_resolutions };
            let (after, _) = stepper.step(&open, &StepInput::Expired(expired));
            norms.work = Work::default();
            after.may_be_violated() || after.is_stopped()
        })
    }
}

/// Returns a residual in which possible states with a verdict have restarted. A verdict of all of them stays.
pub(super) fn restart_decided(restart: Option<&PortableResidual>, residual: Residual, norms: &mut Norms) -> Residual {
    let is_decided = |member: &Member| member.formal_verdict().is_definite();
    let may_be_decided = |member: &Member| member.blurred && (member.fails.is_top() || member.holds.is_top());
    let has_decided = match &residual.members[..] {
        [only] => may_be_decided(only) && !is_decided(only),
        members => members.iter().any(|member| is_decided(member) || may_be_decided(member)),
    };
    let Some(start) = restart.filter(|_| has_decided) else { return residual };
    // INVARIANT: the start state was exported by the cache that imports it.
    let Some(start) = start.import(norms) else { return residual };
    let open = residual.members.iter().filter(|member| !is_decided(member));
    let mut members: Vec<Member> = open.chain(&start.members).cloned().collect();
    members.sort_unstable();
    members.dedup();
    Residual { members: members.into(), clocks: residual.clocks }
}
