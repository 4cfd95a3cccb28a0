//! Bindings with equal distributions move together.
//!
//! A group is a distribution and the number of bindings that have it. Groups that become equal are merged; one of them
//! becomes a forwarding address, until the cells are assigned anew.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::distribution::{Distribution, WeightedPoint};
use crate::state::Handle;

pub(super) type GroupId = u32;

#[derive(Clone, Debug)]
struct BeliefGroup {
    distribution: Distribution,
    members: u64,
    /// The group it was merged into; itself if it was not.
    forward: GroupId,
}

/// The distributions of the bindings of one formula.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    list: Vec<BeliefGroup>,
    /// Groups in use, by the fingerprint of their distribution.
    places: FxHashMap<u64, GroupId>,
}

impl Groups {
    pub(super) fn find(&self, mut id: GroupId) -> GroupId {
        while let Some(group) = self.list.get(id as usize).filter(|group| group.forward != id) {
            id = group.forward;
        }
        id
    }

    /// Returns the first group on the way to where a group was merged into for which something holds.
    pub(super) fn find_first(&self, mut id: GroupId, holds: impl Fn(GroupId) -> bool) -> Option<GroupId> {
        loop {
            let next = self.list.get(id as usize)?.forward;
            if holds(id) {
                return Some(id);
            }
            if next == id {
                return None;
            }
            id = next;
        }
    }

    pub(super) fn distribution(&self, id: GroupId) -> &Distribution {
        &self.list[self.find(id) as usize].distribution
    }

    pub(super) fn leave(&mut self, id: GroupId) {
        let id = self.find(id);
        self.list[id as usize].members -= 1;
    }

    /// Adds a binding with a distribution, and returns its group.
    pub(super) fn enter(&mut self, distribution: Distribution) -> GroupId {
        let fingerprint = fingerprint(&distribution);
        if let Some(id) = self.places.get(&fingerprint).copied()
            && self.list[id as usize].distribution.is_same(&distribution)
        {
            self.list[id as usize].members += 1;
            return id;
        }
        let id = self.list.len() as GroupId;
        self.list.push(BeliefGroup { distribution, members: 1, forward: id });
        self.places.insert(fingerprint, id);
        id
    }

    /// Returns the groups in use with their members.
    pub(super) fn occupied(&self) -> impl Iterator<Item = (GroupId, u64, &Distribution)> {
        let groups = self.list.iter().enumerate().map(|(id, group)| (id as GroupId, group));
        let is_occupied = |(id, group): &(GroupId, &BeliefGroup)| group.forward == *id && group.members > 0;
        groups.filter(is_occupied).map(|(id, group)| (id, group.members, &group.distribution))
    }

    /// Returns how many groups there are, in use or not.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Changes every distribution in use, and merges those that become equal.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(GroupId, u64, &mut Distribution)) {
        self.places.clear();
        for id in 0..self.list.len() as GroupId {
            let group = &mut self.list[id as usize];
            if group.forward != id || group.members == 0 {
                continue;
            }
            change(id, group.members, &mut group.distribution);
            let members = group.members;
            let fingerprint = fingerprint(&group.distribution);
            match self.places.get(&fingerprint).copied() {
                Some(same) if self.list[same as usize].distribution.is_same(&self.list[id as usize].distribution) => {
                    self.list[same as usize].members += members;
                    let merged = &mut self.list[id as usize];
                    (merged.forward, merged.members) = (same, 0);
                }
                _ => drop(self.places.insert(fingerprint, id)),
            }
        }
    }

    /// Whether most groups are not in use any more.
    pub(super) fn is_sparse(&self) -> bool {
        const MIN_SPARSE_GROUPS: usize = 64;
        self.list.len() > MIN_SPARSE_GROUPS && self.list.len() > 4 * self.occupied().count()
    }
}

/// Returns a number that equal distributions share, in whatever order their points are.
fn fingerprint(distribution: &Distribution) -> u64 {
    let hash_point = |weighted: &WeightedPoint| {
        let mut hasher = FxHasher::default();
        if let Handle::Cached(id) = weighted.point.handle {
            id.hash(&mut hasher);
        }
        (weighted.point.times.len(), weighted.broken as u8, weighted.weight).hash(&mut hasher);
        weighted.point.times.iter().for_each(|time| time.0.hash(&mut hasher));
        hasher.finish()
    };
    distribution.points.iter().fold(distribution.lost, |sum, weighted| sum.wrapping_add(hash_point(weighted)))
}
