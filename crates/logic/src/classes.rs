//! Bindings in the same state move together.
//!
//! A class is a point and the number of bindings at it. When a position leaves a million bindings untouched, only their
//! classes step. Two classes that reach the same state merge; one of them becomes a forwarding address until no binding
//! refers to it.

use crate::cache::Cache;
use crate::cells::{CellId, ClassId};
use crate::skeleton::Skeleton;
use crate::state::Point;
use crate::verdict::Verdict;

const NO_ID: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct BindingClass {
    point: Point,
    /// How many bindings are in it, including those by a forwarding address.
    members: u64,
    /// How many bindings hold this number itself.
    references: u64,
    /// The class it was merged into; itself if it was not.
    forward: ClassId,
    /// Distinguishes it from earlier uses of its number.
    stamp: u32,
    /// Whether an empty letter moves it.
    restless: bool,
    /// The cell of its only member, if known.
    sole: CellId,
}

/// How many bindings have each verdict, now and if the trace ended here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    live: [u64; 3],
    end: [u64; 3],
}

impl Tally {
    pub(crate) fn count(&self, verdict: Verdict) -> u64 {
        self.live[verdict as usize]
    }

    pub(crate) fn count_at_end(&self, verdict: Verdict) -> u64 {
        self.end[verdict as usize]
    }
}

/// The classes of the bindings of one formula.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    list: Vec<BindingClass>,
    free: Vec<ClassId>,
    /// For each state without slots, its class.
    of_state: Vec<ClassId>,
    restless: usize,
    pub(crate) tally: Tally,
    /// Counts changes of the set of occupied states.
    pub(crate) changes: u64,
}

impl Classes {
    /// Returns the class of a binding, by the number it holds.
    pub(crate) fn find(&self, mut class: ClassId) -> ClassId {
        while self.list[class as usize].forward != class {
            class = self.list[class as usize].forward;
        }
        class
    }

    pub(crate) fn point(&self, class: ClassId) -> &Point {
        &self.list[class as usize].point
    }

    /// Prefetches a class; the result has no meaning.
    #[inline]
    pub(crate) fn prefetch(&self, class: ClassId) -> u64 {
        self.list.get(class as usize).map_or(0, |entry| entry.members + u64::from(entry.stamp))
    }

    pub(crate) fn members(&self, class: ClassId) -> u64 {
        self.list[class as usize].members
    }

    pub(crate) fn stamp(&self, class: ClassId) -> u32 {
        self.list[class as usize].stamp
    }

    /// Whether this is still the class that had this stamp.
    pub(crate) fn is_current(&self, class: ClassId, stamp: u32) -> bool {
        self.list.get(class as usize).is_some_and(|it| it.stamp == stamp && it.forward == class && it.members > 0)
    }

    /// Whether an empty letter leaves all classes unchanged.
    pub(crate) fn are_idle(&self) -> bool {
        self.restless == 0
    }

    /// Returns the classes that have members.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = ClassId> + '_ {
        let is_occupied = |(index, class): &(usize, &BindingClass)| class.members > 0 && class.forward == *index as u32;
        self.list.iter().enumerate().filter(is_occupied).map(|(index, _)| index as ClassId)
    }

    /// Adds a binding at a point and returns its class.
    pub(crate) fn enter(
        &mut self,
        cache: &mut Cache,
        skeleton: &Skeleton,
        point: Point,
        cell: Option<CellId>,
    ) -> ClassId {
        let class = match point.id() {
            Some(state) => match self.of_state.get(state as usize) {
                Some(&class) if class != NO_ID => class,
                _ => self.open(cache, skeleton, point),
            },
            None => self.open(cache, skeleton, point),
        };
        let entry = &mut self.list[class as usize];
        entry.sole = if entry.members == 0 { cell.unwrap_or(NO_ID) } else { NO_ID };
        entry.members += 1;
        entry.references += 1;
        self.count(cache, skeleton, class, 1, true);
        class
    }

    /// Returns the cell of the only member of a class, if it has one and the cell is known.
    pub(crate) fn sole_member(&self, class: ClassId) -> Option<CellId> {
        let entry = &self.list[class as usize];
        (entry.members == 1 && entry.sole != NO_ID).then_some(entry.sole)
    }

    /// Records the cell of the only member of a class.
    pub(crate) fn set_sole_member(&mut self, class: ClassId, cell: CellId) {
        let entry = &mut self.list[class as usize];
        if entry.members == 1 {
            entry.sole = cell;
        }
    }

    /// Removes one binding from its class, given the number it holds.
    pub(crate) fn leave(&mut self, cache: &Cache, skeleton: &Skeleton, held: ClassId) {
        let class = self.find(held);
        self.count(cache, skeleton, class, 1, false);
        let entry = &mut self.list[class as usize];
        entry.members -= 1;
        entry.sole = NO_ID;
        self.release(held, 1);
    }

    /// Releases references to a class number.
    fn release(&mut self, held: ClassId, references: u64) {
        let entry = &mut self.list[held as usize];
        entry.references -= references;
        if entry.references > 0 {
            return;
        }
        let forward = entry.forward;
        if forward != held {
            // A forwarding address holds the number it forwards to.
            self.close(held);
            self.release(forward, 1);
        } else if entry.members == 0 {
            self.close(held);
        }
    }

    fn open(&mut self, cache: &mut Cache, skeleton: &Skeleton, point: Point) -> ClassId {
        self.changes += 1;
        let restless = !cache.is_idle(skeleton, &point);
        self.restless += usize::from(restless);
        let state = point.id();
        let class = match self.free.pop() {
            Some(class) => {
                let entry = &mut self.list[class as usize];
                let stamp = entry.stamp.wrapping_add(1);
                *entry =
                    BindingClass { point, members: 0, references: 0, forward: class, stamp, restless, sole: NO_ID };
                class
            }
            None => {
                let class = self.list.len() as ClassId;
                self.list.push(BindingClass {
                    point,
                    members: 0,
                    references: 0,
                    forward: class,
                    stamp: 0,
                    restless,
                    sole: NO_ID,
                });
                class
            }
        };
        if let Some(state) = state {
            self.assign_state(state, class);
        }
        class
    }

    fn assign_state(&mut self, state: u32, class: ClassId) {
        if self.of_state.len() <= state as usize {
            self.of_state.resize(state as usize + 1, NO_ID);
        }
        self.of_state[state as usize] = class;
    }

    fn close(&mut self, class: ClassId) {
        self.changes += 1;
        let entry = &mut self.list[class as usize];
        self.restless -= usize::from(entry.restless);
        entry.restless = false;
        entry.stamp = entry.stamp.wrapping_add(1);
        if let Some(state) = entry.point.id()
            && self.of_state.get(state as usize) == Some(&class)
        {
            self.of_state[state as usize] = NO_ID;
        }
        self.free.push(class);
    }

    /// Moves each class to the point that `next` returns; classes that meet are merged.
    pub(crate) fn advance(
        &mut self,
        cache: &mut Cache,
        skeleton: &Skeleton,
        mut next: impl FnMut(&mut Cache, &Point) -> Point,
    ) {
        let classes: Vec<ClassId> = self.occupied().collect();
        let targets: Vec<Point> = classes.iter().map(|class| next(cache, self.point(*class))).collect();
        for class in &classes {
            if let Some(state) = self.list[*class as usize].point.id() {
                self.of_state[state as usize] = NO_ID;
            }
        }
        for (class, target) in classes.into_iter().zip(targets) {
            self.relocate(cache, skeleton, class, target);
        }
    }

    /// Moves one class, all its members with it.
    pub(crate) fn relocate(&mut self, cache: &mut Cache, skeleton: &Skeleton, class: ClassId, target: Point) {
        self.changes += 1;
        let members = self.list[class as usize].members;
        self.count(cache, skeleton, class, members, false);
        if let Some(state) = self.list[class as usize].point.id()
            && self.of_state[state as usize] == class
        {
            self.of_state[state as usize] = NO_ID;
        }
        let restless = !cache.is_idle(skeleton, &target);
        let state = target.id();
        let entry = &mut self.list[class as usize];
        self.restless -= usize::from(entry.restless);
        entry.point = target;
        entry.restless = restless;
        self.restless += usize::from(restless);
        let Some(state) = state else {
            self.count(cache, skeleton, class, members, true);
            return;
        };
        match self.of_state.get(state as usize).copied().filter(|other| *other != NO_ID && *other != class) {
            None => {
                self.assign_state(state, class);
                self.count(cache, skeleton, class, members, true);
            }
            Some(other) => {
                let entry = &mut self.list[class as usize];
                self.restless -= usize::from(entry.restless);
                entry.restless = false;
                entry.members = 0;
                entry.forward = other;
                let target = &mut self.list[other as usize];
                target.members += members;
                target.references += 1;
                target.sole = NO_ID;
                self.count(cache, skeleton, other, members, true);
            }
        }
    }

    fn count(&mut self, cache: &Cache, skeleton: &Skeleton, class: ClassId, members: u64, add: bool) {
        let point = &self.list[class as usize].point;
        let (live, end) = (cache.verdict(skeleton, point) as usize, cache.end_verdict(skeleton, point) as usize);
        if add {
            self.tally.live[live] += members;
            self.tally.end[end] += members;
        } else {
            self.tally.live[live] -= members;
            self.tally.end[end] -= members;
        }
    }
}
