//! Bindings that stand at the same state move together.
//!
//! A class is a point and the number of bindings that stand at it. When a position leaves a million bindings untouched,
//! only their classes step. Two classes that come to stand at the same state become one; the lesser one stays behind as
//! a forwarding address until no binding refers to it.

use crate::cache::Cache;
use crate::cells::{CellId, ClassId};
use crate::state::Point;
use crate::stepper::Skeleton;
use crate::verdict::Verdict;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Class {
    point: Point,
    /// How many bindings stand here, those that come by way of a forwarding address included.
    members: u64,
    /// How many bindings hold this very number.
    references: u64,
    /// Where this class went; itself if it is still one.
    forward: ClassId,
    /// Told apart from earlier uses of the same number.
    stamp: u32,
    /// Would an empty letter move it?
    restless: bool,
    /// The cell of its only member, where that is known.
    sole: CellId,
}

/// How many bindings have each verdict, now and if the trace stopped here.
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
    list: Vec<Class>,
    free: Vec<ClassId>,
    /// The class that stands at a state without slots.
    of_state: Vec<ClassId>,
    restless: usize,
    pub(crate) tally: Tally,
    /// Counts changes of the set of occupied states.
    pub(crate) changes: u64,
}

impl Classes {
    /// The class a binding belongs to, by the number it holds.
    pub(crate) fn find(&self, mut class: ClassId) -> ClassId {
        while self.list[class as usize].forward != class {
            class = self.list[class as usize].forward;
        }
        class
    }

    pub(crate) fn point(&self, class: ClassId) -> &Point {
        &self.list[class as usize].point
    }

    /// Reads a class, so that it is near when it is needed.
    #[inline]
    pub(crate) fn warm(&self, class: ClassId) -> u64 {
        self.list.get(class as usize).map_or(0, |entry| entry.members + u64::from(entry.stamp))
    }

    pub(crate) fn members(&self, class: ClassId) -> u64 {
        self.list[class as usize].members
    }

    pub(crate) fn stamp(&self, class: ClassId) -> u32 {
        self.list[class as usize].stamp
    }

    /// Is this still the same class as when it had this stamp?
    pub(crate) fn is_current(&self, class: ClassId, stamp: u32) -> bool {
        self.list.get(class as usize).is_some_and(|it| it.stamp == stamp && it.forward == class && it.members > 0)
    }

    /// Does an empty letter leave all of them where they are?
    pub(crate) fn are_idle(&self) -> bool {
        self.restless == 0
    }

    /// The classes that have members.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = ClassId> + '_ {
        let is_occupied = |(index, class): &(usize, &Class)| class.members > 0 && class.forward == *index as u32;
        self.list.iter().enumerate().filter(is_occupied).map(|(index, _)| index as ClassId)
    }

    /// Adds a binding at a point; gives the class to hold.
    pub(crate) fn enter(
        &mut self,
        cache: &mut Cache,
        skeleton: &Skeleton,
        point: Point,
        cell: Option<CellId>,
    ) -> ClassId {
        let class = match point.id() {
            Some(state) => match self.of_state.get(state as usize) {
                Some(&class) if class != NONE => class,
                _ => self.open(cache, skeleton, point),
            },
            None => self.open(cache, skeleton, point),
        };
        let entry = &mut self.list[class as usize];
        entry.sole = if entry.members == 0 { cell.unwrap_or(NONE) } else { NONE };
        entry.members += 1;
        entry.references += 1;
        self.count(cache, skeleton, class, 1, true);
        class
    }

    /// The cell of the only member of a class, if it has one and that is known.
    pub(crate) fn sole(&self, class: ClassId) -> Option<CellId> {
        let entry = &self.list[class as usize];
        (entry.members == 1 && entry.sole != NONE).then_some(entry.sole)
    }

    /// Tells a class with one member which cell that is.
    pub(crate) fn name_sole(&mut self, class: ClassId, cell: CellId) {
        let entry = &mut self.list[class as usize];
        if entry.members == 1 {
            entry.sole = cell;
        }
    }

    /// Takes one binding out of its class, given the number it holds.
    pub(crate) fn leave(&mut self, cache: &Cache, skeleton: &Skeleton, held: ClassId) {
        let class = self.find(held);
        self.count(cache, skeleton, class, 1, false);
        let entry = &mut self.list[class as usize];
        entry.members -= 1;
        entry.sole = NONE;
        self.release(held, 1);
    }

    /// Gives back a held number.
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
                *entry = Class { point, members: 0, references: 0, forward: class, stamp, restless, sole: NONE };
                class
            }
            None => {
                let class = self.list.len() as ClassId;
                self.list.push(Class {
                    point,
                    members: 0,
                    references: 0,
                    forward: class,
                    stamp: 0,
                    restless,
                    sole: NONE,
                });
                class
            }
        };
        if let Some(state) = state {
            self.place(state, class);
        }
        class
    }

    fn place(&mut self, state: u32, class: ClassId) {
        if self.of_state.len() <= state as usize {
            self.of_state.resize(state as usize + 1, NONE);
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
            self.of_state[state as usize] = NONE;
        }
        self.free.push(class);
    }

    /// Moves each class to where `next` leads it; classes that meet become one.
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
                self.of_state[state as usize] = NONE;
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
            self.of_state[state as usize] = NONE;
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
        match self.of_state.get(state as usize).copied().filter(|other| *other != NONE && *other != class) {
            None => {
                self.place(state, class);
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
                target.sole = NONE;
                self.count(cache, skeleton, other, members, true);
            }
        }
    }

    fn count(&mut self, cache: &Cache, skeleton: &Skeleton, class: ClassId, members: u64, add: bool) {
        let point = &self.list[class as usize].point;
        let (live, end) = (cache.verdict(skeleton, point) as usize, cache.at_end(skeleton, point) as usize);
        if add {
            self.tally.live[live] += members;
            self.tally.end[end] += members;
        } else {
            self.tally.live[live] -= members;
            self.tally.end[end] -= members;
        }
    }
}
