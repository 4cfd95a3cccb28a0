//! The bindings of one formula that give its rigid comparisons the same answers: their cells, classes and deadlines.

use std::collections::VecDeque;

use crate::after::After;
use crate::cache::{Cache, VIOLATED_STATE};
use crate::cells::{CellId, Cells, ClassId, binding_mask, binding_part};
use crate::classes::Classes;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::probe::{Binding, Probe};
use crate::state::Point;
use crate::touch::{BindingIndex, BindingSet, CandidateFact, TouchedBinding, collect_sliced};
use crate::value::Value;
use crate::verdict::Verdict;
use crate::work::Work;

/// The monitor, cache and time of one step.
#[derive(Debug)]
pub(crate) struct StepContext<'a> {
    pub(crate) monitor: &'a Monitor,
    pub(crate) cache: &'a mut Cache,
    pub(crate) time: Time,
    /// What happens to bindings with a definite verdict.
    pub(crate) after: After,
    /// What the step has looked at.
    pub(crate) work: Work,
}

impl<'a> StepContext<'a> {
    /// Returns the context of a step that has not begun.
    pub(crate) fn new(monitor: &'a Monitor, cache: &'a mut Cache, time: Time, after: After) -> StepContext<'a> {
        let work = Work::within(cache.limits().work);
        StepContext { monitor, cache, time, after, work }
    }

    /// Counts the step of a state.
    fn charge_state(&mut self, point: &Point, unknown: u64) {
        let estimate = self.cache.estimate_work(point, unknown);
        self.work.charge(usize::try_from(estimate).unwrap_or(usize::MAX));
    }
}

/// The work of finding one binding that a position touches by joining others, and of moving one.
const JOINED_BINDING_WORK: usize = 64;
const MOVED_BINDING_WORK: usize = 16;

/// The work of moving the bindings with the same open deadlines, which share no transition with others.
const TIMED_CLASS_WORK: usize = 64;

/// A definite verdict and its binding; none for all values never seen.
pub(crate) type BindingVerdict = (Verdict, Option<Box<Binding>>);

/// The bindings of one valuation of the rigid comparisons.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) valuation: usize,
    /// Whether values that were never seen give this valuation.
    pub(crate) is_realised: bool,
    pub(crate) unseen: ClassId,
    pub(crate) cells: Cells,
    pub(crate) classes: Classes,
    /// For each clock, its deadlines, the earliest first.
    pub(crate) due: Vec<VecDeque<Deadline>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) end: Time,
    class: ClassId,
    stamp: u32,
}

/// The class of a cell that has left its class and not yet entered another.
const MOVING_CLASS: ClassId = ClassId::MAX;

impl Population {
    /// Removes all cells.
    pub(crate) fn clear_cells(&mut self, monitor: &Monitor, cache: &Cache) {
        let cells: Vec<CellId> = self.cells.iter().collect();
        for cell in cells {
            self.classes.leave(cache, &monitor.compiled.skeleton, self.cells.class(cell));
            self.cells.remove(cell);
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.cells.len() as u64 + 1
    }

    /// Returns how many bindings have a verdict; the unseen binding counts only if some value gives it.
    pub(crate) fn count(&self, monitor: &Monitor, cache: &Cache, verdict: Verdict) -> u64 {
        let point = self.classes.point(self.classes.find(self.unseen));
        let unseen = cache.verdict(&monitor.compiled.skeleton, point) == verdict;
        self.classes.tally.count(verdict) - u64::from(unseen && !self.is_realised)
    }

    pub(crate) fn count_at_end(&self, monitor: &Monitor, cache: &Cache, verdict: Verdict) -> u64 {
        let point = self.classes.point(self.classes.find(self.unseen));
        let unseen = cache.end_verdict(&monitor.compiled.skeleton, point) == verdict;
        self.classes.tally.count_at_end(verdict) - u64::from(unseen && !self.is_realised)
    }

    /// Steps a formula with one variable whose value every fact gives: the hot path. False if nothing moved.
    pub(crate) fn step_single(
        &mut self,
        scene: &mut StepContext<'_>,
        candidates: &[CandidateFact<'_>],
        background: u64,
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let monitor = scene.monitor;
        if let ([(bit, values)], 0, true) = (candidates, background, self.classes.are_idle()) {
            let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { return false };
            return match pattern.single_value(values) {
                Some(value) => self.step_value(scene, value, 1 << bit, decided),
                None => false,
            };
        }
        let mut touches: [(Option<&Value>, u64); 4] = [(None, 0); 4];
        let mut count = 0;
        for (bit, values) in candidates {
            let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
            let Some(value) = pattern.single_value(values) else { continue };
            match touches[..count].iter().position(|(other, _)| *other == Some(value)) {
                Some(index) => touches[index].1 |= 1 << bit,
                None if count == touches.len() => {
                    // More values in one position than fit the array.
                    let touches = collect_sliced(monitor, candidates, background)
                        .into_iter()
                        .map(|touch| TouchedBinding { cell: self.cells.find(&touch.binding), ..touch })
                        .collect();
                    return self.step_touched(scene, touches, (background, 0), decided);
                }
                None => {
                    touches[count] = (Some(value), 1 << bit);
                    count += 1;
                }
            }
        }
        if background != 0 || !self.classes.are_idle() || count > 1 {
            let rests = |(value, bits): &(Option<&Value>, u64)| {
                let found = value.and_then(|value| self.cells.find_value(value));
                let class = self.classes.find(found.map_or(self.unseen, |(_, class)| class));
                self.leaves_unchanged(scene, class, bits | background)
            };
            if self.leaves_all_unchanged(scene, background) && touches[..count].iter().all(rests) {
                return false;
            }
            let touches = touches[..count]
                .iter()
                .filter_map(|(value, bits)| {
                    let value = (*value)?;
                    let cell = self.cells.find_value(value).map(|(cell, _)| cell);
                    Some(TouchedBinding {
                        binding: [Some(value.clone())].into(),
                        cell,
                        bits: bits | background,
                        unknown: 0,
                    })
                })
                .collect();
            return self.step_touched(scene, touches, (background, 0), decided);
        }
        match touches[0] {
            (Some(value), bits) if count == 1 => self.step_value(scene, value, bits, decided),
            _ => false,
        }
    }

    /// Whether a letter leaves the binding of a value unchanged.
    #[inline]
    pub(crate) fn leaves_value_unchanged(&self, cache: &Cache, width: u32, value: &Value, bits: u64) -> bool {
        let class = self.cells.find_value(value).map_or(self.unseen, |(_, class)| class);
        let state = self.classes.point(self.classes.find(class)).id();
        state.is_some_and(|state| cache.look_up(state, bits, width) == Some(state))
    }

    /// Whether a letter leaves a class unchanged, with nothing to report.
    pub(crate) fn leaves_unchanged(&self, scene: &StepContext<'_>, class: ClassId, bits: u64) -> bool {
        let width = scene.monitor.compiled.skeleton.width;
        self.classes.point(class).id().is_some_and(|state| {
            let is_silent = state > VIOLATED_STATE || scene.after == After::Latch;
            is_silent && scene.cache.look_up(state, bits, width) == Some(state)
        })
    }

    /// Whether a letter leaves all classes unchanged, with nothing to report.
    pub(crate) fn leaves_all_unchanged(&self, scene: &StepContext<'_>, bits: u64) -> bool {
        match bits {
            0 => self.classes.are_idle(),
            _ => self.classes.occupied().all(|class| self.leaves_unchanged(scene, class, bits)),
        }
    }

    /// Steps the binding of one touched value; no other moves. False if it does not move either.
    #[inline]
    fn step_value(
        &mut self,
        scene: &mut StepContext<'_>,
        value: &Value,
        bits: u64,
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let skeleton = &scene.monitor.compiled.skeleton;
        let found = self.cells.find_value(value);
        let class = self.classes.find(found.map_or(self.unseen, |(_, class)| class));
        let from = self.classes.point(class);
        if let Some(state) = from.id()
            && scene.cache.look_up(state, bits, skeleton.width) == Some(state)
        {
            return false;
        }
        let (target, broke) = advance(scene, from, bits, 0);
        if broke {
            decided.push((Verdict::Violated, Some([Some(value.clone())].into())));
        }
        match found {
            Some((cell, held)) => self.move_cell(scene, cell, held, target, decided),
            None => {
                if target.id().is_some() && target.id() == from.id() {
                    return broke;
                }
                let class = self.classes.enter(scene.cache, skeleton, target, None);
                let cell = self.cells.insert(&[Some(value.clone())], class);
                self.classes.set_sole_member(class, cell);
                // It inherits the deadlines of all unseen values, which may be older than this position.
                self.record_all_deadlines(scene.monitor, scene.cache, class);
                self.settle(scene, cell, decided);
            }
        }
        true
    }

    fn move_cell(
        &mut self,
        scene: &mut StepContext<'_>,
        cell: CellId,
        held: ClassId,
        target: Point,
        decided: &mut Vec<BindingVerdict>,
    ) {
        let skeleton = &scene.monitor.compiled.skeleton;
        if self.classes.sole_member(held) == Some(cell) {
            // The only member moves its class, with the deadlines that are already recorded.
            self.classes.relocate(scene.cache, skeleton, held, target);
            self.record_new_deadlines(scene, held);
        } else {
            let class = self.classes.enter(scene.cache, skeleton, target, Some(cell));
            self.classes.leave(scene.cache, skeleton, held);
            self.cells.assign(cell, class);
            self.record_all_deadlines(scene.monitor, scene.cache, class);
        }
        self.settle(scene, cell, decided);
        self.forget_if_unseen(scene, cell);
    }

    /// Removes the cell of a binding in the state that its values would have unseen.
    fn forget_if_unseen(&mut self, scene: &mut StepContext<'_>, cell: CellId) {
        let class = self.classes.find(self.cells.class(cell));
        let point = self.classes.point(class);
        // If values are compared, a seen value must not be treated as unseen.
        let is_compared = !scene.monitor.compiled.rigid.is_trivial();
        if is_compared || point.id().is_none() || self.find_inherited_class(self.cells.key(cell), true) != class {
            return;
        }
        // With several variables, other bindings may be looked up by a partial one.
        let key = self.cells.key(cell);
        if key.iter().all(Option::is_some) {
            self.classes.leave(scene.cache, &scene.monitor.compiled.skeleton, self.cells.class(cell));
            self.cells.remove(cell);
        }
    }

    /// Steps several touched bindings, and all others by the background letter. False if nothing moved.
    pub(crate) fn step_touched(
        &mut self,
        scene: &mut StepContext<'_>,
        touches: Vec<TouchedBinding>,
        background: (u64, u64),
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let skeleton = &scene.monitor.compiled.skeleton;
        if background.1 == 0
            && self.leaves_all_unchanged(scene, background.0)
            && self.leaves_touched_unchanged(scene, &touches)
        {
            return false;
        }
        // Every binding steps from its state before this position.
        let mut moves: Vec<(Box<Binding>, Option<CellId>, Point)> = Vec::with_capacity(touches.len());
        for touch in touches {
            let class = self.touched_class(&touch);
            scene.work.charge(MOVED_BINDING_WORK);
            scene.charge_state(self.classes.point(class), touch.unknown);
            if scene.work.is_exceeded() {
                return true;
            }
            let (target, broke) = advance(scene, self.classes.point(class), touch.bits, touch.unknown);
            if broke {
                decided.push((Verdict::Violated, Some(touch.binding.clone())));
            }
            moves.push((touch.binding, touch.cell, target));
        }
        for (_, cell, _) in &moves {
            if let Some(cell) = cell {
                self.classes.leave(scene.cache, skeleton, self.cells.class(*cell));
                self.cells.assign(*cell, MOVING_CLASS);
            }
        }
        if background != (0, 0) || !self.classes.are_idle() {
            self.step_background(scene, background, decided);
        }
        let mut cells = Vec::with_capacity(moves.len());
        for (binding, cell, target) in moves {
            let class = self.classes.enter(scene.cache, skeleton, target, cell);
            let cell = match cell {
                Some(cell) => {
                    self.cells.assign(cell, class);
                    cell
                }
                None => self.cells.insert(&binding, class),
            };
            self.classes.set_sole_member(class, cell);
            self.record_all_deadlines(scene.monitor, scene.cache, class);
            self.settle(scene, cell, decided);
            cells.push(cell);
        }
        // In reverse, because `Cells` finds the last ones first.
        for cell in cells.into_iter().rev() {
            self.forget_if_unseen(scene, cell);
        }
        true
    }

    /// Returns the class of a touched binding.
    pub(crate) fn touched_class(&self, touch: &TouchedBinding) -> ClassId {
        match touch.cell {
            Some(cell) => self.classes.find(self.cells.class(cell)),
            None => self.find_inherited_class(&touch.binding, false),
        }
    }

    /// Whether the letters of touched bindings leave each of them unchanged, so that those without a cell need none.
    fn leaves_touched_unchanged(&self, scene: &StepContext<'_>, touches: &[TouchedBinding]) -> bool {
        // If values are compared, a seen value must not be treated as unseen.
        let is_compared = !scene.monitor.compiled.rigid.is_trivial();
        touches.iter().all(|touch| {
            let may_rest = touch.unknown == 0 && !(touch.cell.is_none() && is_compared);
            may_rest && self.leaves_unchanged(scene, self.touched_class(touch), touch.bits)
        })
    }

    fn step_background(
        &mut self,
        scene: &mut StepContext<'_>,
        (bits, unknown): (u64, u64),
        decided: &mut Vec<BindingVerdict>,
    ) {
        let skeleton = &scene.monitor.compiled.skeleton;
        if scene.after == After::Each {
            let classes: Vec<ClassId> = self.classes.occupied().collect();
            for class in classes {
                if advance(scene, self.classes.point(class), bits, unknown).1 {
                    self.report_class(class, Verdict::Violated, decided);
                }
            }
        }
        let (monitor, time, after, mut work) = (scene.monitor, scene.time, scene.after, scene.work);
        let next = |cache: &mut Cache, point: &Point| {
            let mut scene = StepContext { monitor, cache, time, after, work };
            scene.charge_state(point, unknown);
            scene.work.charge(if point.times.is_empty() { 0 } else { TIMED_CLASS_WORK });
            // Beyond the limit, all bindings are dropped after the step.
            let target = match scene.work.is_exceeded() {
                true => point.clone(),
                false => advance(&mut scene, point, bits, unknown).0,
            };
            work = scene.work;
            target
        };
        self.classes.advance(scene.cache, skeleton, next);
        scene.work = work;
        let moved: Vec<ClassId> = self.classes.occupied().collect();
        for class in moved {
            self.record_new_deadlines(scene, class);
            self.settle_class(scene, class, decided);
        }
    }

    /// Returns the class of the most specific stored binding below this one; `strictly` leaves out the binding itself.
    fn find_inherited_class(&self, binding: &Binding, strictly: bool) -> ClassId {
        let mask = binding_mask(binding);
        if binding.len() > 1 {
            // All proper parts, larger ones first: stored bindings are closed under union, so the largest is unique.
            let mut parts: Vec<u32> = (1..=mask).filter(|part| part & mask == *part).collect();
            parts.sort_by_key(|part| std::cmp::Reverse(part.count_ones()));
            for part in parts {
                if strictly && part == mask {
                    continue;
                }
                if let Some(cell) = self.cells.find(&binding_part(binding, part)) {
                    return self.classes.find(self.cells.class(cell));
                }
            }
        }
        self.classes.find(self.unseen)
    }

    /// Returns every binding that a position touches: those it names, joined with the stored ones they agree with. Beyond
    /// the limit on work, none.
    pub(crate) fn collect_touched(
        &self,
        monitor: &Monitor,
        named: &BindingSet,
        letter: &dyn Fn(&Binding) -> (u64, u64),
        work: &mut Work,
    ) -> Vec<TouchedBinding> {
        let rigid = &monitor.compiled.rigid;
        let stored: Vec<u32> = self.cells.masks();
        let mut joints = BindingIndex::new(named);
        let mut bindings = named.clone();
        let mut next = 0;
        while let Some(binding) = bindings.get_index(next).cloned() {
            next += 1;
            work.charge(JOINED_BINDING_WORK);
            if work.is_exceeded() {
                return Vec::new();
            }
            let mask = binding_mask(&binding);
            bindings.extend(joints.find_widening(&binding).into_iter().filter_map(|other| join(&binding, other)));
            for stored in &stored {
                let agreeing = self.cells.find_agreeing(*stored, stored & mask, &binding);
                work.charge(agreeing.len());
                bindings.extend(agreeing.into_iter().filter_map(|cell| join(&binding, self.cells.key(cell))));
            }
        }
        bindings.retain(|binding| rigid.compatible_valuations(binding).contains(&self.valuation));
        bindings
            .into_iter()
            .map(|binding| {
                let (bits, unknown) = letter(&binding);
                TouchedBinding { cell: self.cells.find(&binding), binding, bits, unknown }
            })
            .collect()
    }

    /// Reports a definite verdict of a cell, and restarts the cell if verdicts are reset.
    fn settle(&mut self, scene: &mut StepContext<'_>, cell: CellId, decided: &mut Vec<BindingVerdict>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        let held = self.cells.class(cell);
        let verdict = scene.cache.verdict(skeleton, self.classes.point(self.classes.find(held)));
        if !verdict.is_definite() {
            return;
        }
        decided.push((verdict, Some(self.cells.key(cell).into())));
        if scene.after == After::Reset {
            let start = scene.cache.start(skeleton, self.valuation);
            let class = self.classes.enter(scene.cache, skeleton, start, Some(cell));
            self.classes.leave(scene.cache, skeleton, held);
            self.cells.assign(cell, class);
        }
    }

    /// Reports a definite verdict of a class that moved as a whole, like [`Population::settle`] for one cell.
    fn settle_class(&mut self, scene: &mut StepContext<'_>, class: ClassId, decided: &mut Vec<BindingVerdict>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        let verdict = scene.cache.verdict(skeleton, self.classes.point(class));
        if !verdict.is_definite() {
            return;
        }
        let start = scene.cache.start(skeleton, self.valuation);
        let already = scene.cache.verdict(skeleton, &start).is_definite();
        // If verdicts latch, satisfied bindings are not reported.
        if scene.after != After::Latch || verdict == Verdict::Violated {
            self.report_class(class, verdict, decided);
        } else if self.is_realised && self.classes.find(self.unseen) == class {
            decided.push((verdict, None));
        }
        if scene.after == After::Reset && !already {
            let sole = self.classes.sole_member(class);
            self.classes.relocate(scene.cache, skeleton, class, start);
            if let Some(cell) = sole {
                self.forget_if_unseen(scene, cell);
            }
        }
    }

    /// Reports a verdict for every member of a class.
    fn report_class(&self, class: ClassId, verdict: Verdict, decided: &mut Vec<BindingVerdict>) {
        let unseen = self.classes.find(self.unseen) == class;
        if unseen && self.is_realised {
            decided.push((verdict, None));
        }
        let of_class = |cell: &CellId| {
            let held = self.cells.class(*cell);
            held != MOVING_CLASS && self.classes.find(held) == class
        };
        let cells: Vec<CellId> = match self.classes.sole_member(class) {
            Some(cell) => vec![cell],
            None if unseen && self.classes.members(class) == 1 => Vec::new(),
            None => self.cells.iter().filter(of_class).collect(),
        };
        decided.extend(cells.into_iter().map(|cell| (verdict, Some(self.cells.key(cell).into()))));
    }

    /// Records the deadlines that began at this position.
    fn record_new_deadlines(&mut self, scene: &StepContext<'_>, class: ClassId) {
        let time = scene.time;
        self.record_deadlines_if(scene.monitor, scene.cache, class, |start| start == time);
    }

    pub(crate) fn record_all_deadlines(&mut self, monitor: &Monitor, cache: &Cache, class: ClassId) {
        self.record_deadlines_if(monitor, cache, class, |_| true);
    }

    fn record_deadlines_if(&mut self, monitor: &Monitor, cache: &Cache, class: ClassId, is_new: impl Fn(Time) -> bool) {
        let class = self.classes.find(class);
        let point = self.classes.point(class);
        if point.times.is_empty() {
            return;
        }
        let stamp = self.classes.stamp(class);
        for (clock, start) in cache.clocks(point).iter().zip(point.times.iter()) {
            let clock = usize::from(*clock);
            if let Some(to) = monitor.compiled.skeleton.clocks[clock].to.filter(|_| is_new(*start)) {
                let due = Deadline { end: start.plus(to), class, stamp };
                let queue = &mut self.due[clock];
                // Deadlines of one operator come in order, except those that a binding inherits from a shared class.
                match queue.back() {
                    Some(last) if last.end > due.end => {
                        queue.insert(queue.partition_point(|other| other.end <= due.end), due);
                    }
                    _ => queue.push_back(due),
                }
            }
        }
        // Entries of met deadlines remain in the queue; they are removed from time to time.
        let classes = &self.classes;
        for queue in &mut self.due {
            if queue.len() > 1024 && queue.len() > 2 * (self.cells.len() + 1) {
                queue.retain(|due| classes.is_current(due.class, due.stamp));
            }
        }
    }

    pub(crate) fn expire(&mut self, scene: &mut StepContext<'_>, decided: &mut Vec<BindingVerdict>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        for clock in 0..self.due.len() {
            while let Some(due) = self.due[clock].front().copied().filter(|due| due.end < scene.time) {
                self.due[clock].pop_front();
                if !self.classes.is_current(due.class, due.stamp) {
                    continue;
                }
                let point = self.classes.point(due.class).clone();
                scene.charge_state(&point, 0);
                if scene.work.is_exceeded() {
                    return;
                }
                if let Some(target) = scene.cache.expire(skeleton, &point, scene.time) {
                    self.classes.relocate(scene.cache, skeleton, due.class, target);
                    let class = self.classes.find(due.class);
                    self.settle_class(scene, class, decided);
                }
            }
        }
    }
}

/// Returns the next point, and whether it is a violation. With [`After::Each`], violations are excused on the way, also
/// those that are only possible.
fn advance(scene: &mut StepContext<'_>, point: &Point, bits: u64, unknown: u64) -> (Point, bool) {
    let skeleton = &scene.monitor.compiled.skeleton;
    let target = match point.id().and_then(|id| scene.cache.look_up(id, bits, skeleton.width)) {
        Some(target) if unknown == 0 => Point::cached(target),
        _ => scene.cache.step(skeleton, point, bits, unknown, scene.time),
    };
    if scene.cache.is_stopped(&target) {
        scene.work.exceed();
    }
    if scene.after == After::Each && scene.cache.may_be_violated(skeleton, &target) {
        let is_certain = scene.cache.verdict(skeleton, &target) == Verdict::Violated;
        let letter = (bits | scene.monitor.excuse, unknown);
        return (scene.cache.step_excused(skeleton, point, letter, scene.time, !is_certain), is_certain);
    }
    (target, false)
}

/// Returns two bindings as one, if they agree.
pub(crate) fn join(left: &Binding, right: &Binding) -> Option<Box<Binding>> {
    let pair = |(left, right): (&Option<Value>, &Option<Value>)| match (left, right) {
        (Some(left), Some(right)) if left != right => None,
        (Some(value), _) | (None, Some(value)) => Some(Some(value.clone())),
        (None, None) => Some(None),
    };
    left.iter().zip(right).map(pair).collect()
}
