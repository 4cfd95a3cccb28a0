//! The work of steps, and the state of a trace that took too much of it.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::{Cache, CacheLimits};
use crate::interval::Time;
use crate::skeleton::Skeleton;
use crate::state::{Handle, Point, Residual, Times};

impl Cache {
    /// Returns the work of all steps that were computed, and of the searches for continuations that are kept.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.saturating_add(self.satisfy.spent())
    }

    /// Returns the state of a trace for which the formula exceeded a limit.
    pub(crate) fn stopped_point(&mut self, skeleton: &Skeleton) -> Point {
        let handle = self.keep(skeleton, Residual::stopped());
        Point { handle, times: Times::default() }
    }

    /// Whether a trace has exceeded a limit of the formula.
    #[inline]
    pub(crate) fn is_stopped(&self, point: &Point) -> bool {
        match &point.handle {
            Handle::Cached(id) => self.is_stopped_at(*id),
            Handle::Loose(portable) => portable.is_stopped(),
        }
    }

    /// Whether a cached state is one beyond a limit.
    #[inline]
    pub(crate) fn is_stopped_at(&self, id: u32) -> bool {
        self.info[id as usize].is_stopped
    }

    /// Returns the work of a step, as far as the state and the unknown bits of the letter say: the same whether it is
    /// cached or not.
    pub(crate) fn estimate_work(&self, point: &Point, unknown: u64) -> u64 {
        let (size, open) = match &point.handle {
            Handle::Cached(id) => (self.info[*id as usize].size, self.info[*id as usize].open),
            Handle::Loose(portable) => (portable.size() as u32, portable.open_members() as u32),
        };
        let resolutions = 1u64.checked_shl((unknown & self.support(point)).count_ones()).unwrap_or(u64::MAX);
        // Too many resolutions are read at once.
        let is_blurred = resolutions.saturating_mul(open.into()) > self.limits.resolutions as u64;
        let resolutions = if is_blurred { 1 } else { resolutions };
        resolutions.saturating_mul(1 + u64::from(size))
    }

    /// Returns a hash of a step, equal for equal steps; none if the state is not cached.
    pub(crate) fn hash_step(
        &self,
        skeleton: &Skeleton,
        point: &Point,
        (bits, unknown): (u64, u64),
        time: Time,
    ) -> Option<u64> {
        let Handle::Cached(id) = point.handle else { return None };
        if point.times.is_empty() {
            return Some(FxBuildHasher.hash_one((id, bits, unknown)));
        }
        let letter = self.letter_at(skeleton, point, bits, unknown, time);
        Some(FxBuildHasher.hash_one((id, letter)))
    }

    /// Returns how many states are cached.
    pub(crate) fn usage_states(&self) -> usize {
        self.states.len()
    }

    /// Returns the limits.
    pub(crate) fn limits(&self) -> CacheLimits {
        self.limits
    }
}
