//! Quantified formulas: a state for each binding of values, and one for all the values never seen.
//!
//! `forall s. G(erasure(s) -> G !discloses(s))` is a formula about each subject by itself. A position touches the
//! bindings whose values occur in its facts; all others read the same letter and move together (`classes.rs`). So a
//! position costs the bindings it touches and the number of distinct states, never the number of bindings.
//!
//! With several variables a binding may give values to only some of them. The state of a full binding is that of the
//! most specific stored one below it; when a position touches values together, their joint binding gets a cell.

use std::collections::VecDeque;

use crate::cache::Cache;
use crate::cells::{CellId, Cells, mask_of, part_of};
use crate::classes::{ClassId, Classes};
use crate::facts::Facts;
use crate::interval::Time;
use crate::letter::read;
use crate::monitor::Monitor;
use crate::probe::{Argument, Binding, Pattern, Probe};
use crate::state::Point;
use crate::term::{Term, Value};
use crate::verdict::Verdict;

/// A fact whose name some pattern asks for: the bit, and the values still to be compared.
pub(crate) type Hit<'a> = (u8, &'a [Value]);

/// What a monitor and its cache know, for one step.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) monitor: &'a Monitor,
    pub(crate) cache: &'a mut Cache,
    pub(crate) time: Time,
    /// Are bindings with a definite verdict started anew?
    pub(crate) reset: bool,
}

/// A binding that has come to a definite verdict; none for all values never seen.
pub(crate) type Decided = (Verdict, Option<Box<Binding>>);

/// The bindings of one formula in one trace.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    engines: Vec<Engine>,
    /// The joint verdict and the changes it was found at.
    joint: Option<(u64, bool)>,
}

/// The bindings of one valuation of the rigid comparisons.
#[derive(Clone, Debug)]
struct Engine {
    valuation: usize,
    /// Do values that were never seen give this valuation?
    is_realised: bool,
    unseen: ClassId,
    cells: Cells,
    classes: Classes,
    /// For each clock, when something is due, the earliest first.
    due: Vec<VecDeque<Due>>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    end: Time,
    class: ClassId,
    stamp: u32,
}

/// The class of a cell that has left one and not yet entered another.
const MOVING: ClassId = ClassId::MAX;

/// A binding that a position touches, and the letter it reads.
struct Touch {
    binding: Box<Binding>,
    cell: Option<CellId>,
    bits: u64,
    unknown: u64,
}

impl Bindings {
    pub(crate) fn new(monitor: &Monitor, cache: &mut Cache) -> Bindings {
        let parts = masks(monitor);
        let width = monitor.compiled.prefix.len();
        let engines = monitor.compiled.rigid.valuations().map(|valuation| {
            let mut classes = Classes::default();
            let start = cache.start(&monitor.compiled.skeleton, valuation);
            let unseen = classes.enter(cache, &monitor.compiled.skeleton, start, None);
            let mut engine = Engine {
                valuation,
                is_realised: monitor.compiled.rigid.is_given_unseen(valuation),
                unseen,
                cells: Cells::new(width, parts.clone()),
                classes,
                due: vec![VecDeque::new(); monitor.compiled.skeleton.clocks.len()],
            };
            for binding in monitor.compiled.rigid.of_constants(valuation) {
                let point = engine.classes.point(engine.unseen).clone();
                let class = engine.classes.enter(cache, &monitor.compiled.skeleton, point, None);
                engine.cells.insert(&binding, class);
            }
            engine
        });
        Bindings { engines: engines.collect(), joint: None }
    }

    /// Reads a position. `whole` is given if letters need more than a look at single facts. False if nothing moved.
    pub(crate) fn step(
        &mut self,
        scene: &mut Scene<'_>,
        hits: &[Hit<'_>],
        whole: Option<&Facts>,
        decided: &mut Vec<Decided>,
    ) -> bool {
        let shape = scene.monitor.shape;
        match whole {
            None if shape.single => {
                let background = if shape.mixed { background(scene.monitor, hits) } else { 0 };
                return self.engines[0].step_single(scene, hits, background, decided);
            }
            None if shape.sliced => {
                let background = background(scene.monitor, hits);
                let touches = sliced(scene.monitor, hits, background);
                self.step_touched(scene, touches, (background, 0), decided);
            }
            _ => {
                let owned;
                let facts = match whole {
                    Some(facts) => facts,
                    None => {
                        owned = gather(scene.monitor, hits);
                        &owned
                    }
                };
                let background = read(scene.monitor, facts, &vec![None; scene.monitor.compiled.prefix.len()]);
                let touched = thetas(scene.monitor, facts);
                for engine in &mut self.engines {
                    let touches = engine.closure(scene.monitor, &touched, facts);
                    engine.step_touched(scene, touches, background, decided);
                }
            }
        }
        true
    }

    fn step_touched(
        &mut self,
        scene: &mut Scene<'_>,
        touches: Vec<Touch>,
        background: (u64, u64),
        decided: &mut Vec<Decided>,
    ) {
        let mut shares: Vec<Vec<Touch>> = self.engines.iter().map(|_| Vec::new()).collect();
        for touch in touches {
            // A sliced formula binds all variables at once, so exactly one valuation fits.
            for valuation in scene.monitor.compiled.rigid.compatible(&touch.binding) {
                let Touch { binding, bits, unknown, .. } = &touch;
                let cell = self.engines[valuation].cells.find(binding);
                shares[valuation].push(Touch { binding: binding.clone(), cell, bits: *bits, unknown: *unknown });
            }
        }
        for (engine, touches) in self.engines.iter_mut().zip(shares) {
            engine.step_touched(scene, touches, background, decided);
        }
    }

    /// Lets pass every deadline before the time of the scene.
    pub(crate) fn expire(&mut self, scene: &mut Scene<'_>, decided: &mut Vec<Decided>) {
        for engine in &mut self.engines {
            engine.expire(scene, decided);
        }
    }

    /// The earliest moment after which something expires.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.engines.iter().flat_map(|engine| &engine.due).filter_map(|queue| queue.front()).map(|due| due.end).min()
    }

    /// Would an empty letter leave everything where it is?
    pub(crate) fn is_idle(&self) -> bool {
        self.engines.iter().all(|engine| engine.classes.are_idle())
    }

    /// The verdict on all bindings together: the worst, but satisfied only if no value to come can change that.
    pub(crate) fn verdict(&mut self, monitor: &Monitor, cache: &mut Cache) -> Verdict {
        let is_violated = |engine: &Engine| {
            engine.classes.tally.count(Verdict::Violated) > 0 && engine.count(monitor, cache, Verdict::Violated) > 0
        };
        if self.engines.iter().any(is_violated) {
            return Verdict::Violated;
        }
        let open =
            self.engines.iter().any(|engine| engine.classes.tally.count(Verdict::Satisfied) < engine.population());
        if !open {
            return Verdict::Satisfied;
        }
        if self.conflict(monitor, cache) { Verdict::Violated } else { Verdict::Inconclusive }
    }

    /// The verdict if the trace stopped here.
    pub(crate) fn at_end(&self, monitor: &Monitor, cache: &Cache) -> Verdict {
        let mut worst = Verdict::Satisfied;
        for engine in &self.engines {
            for verdict in [Verdict::Violated, Verdict::Inconclusive] {
                if engine.count_at_end(monitor, cache, verdict) > 0 {
                    worst = worst.max(verdict);
                }
            }
        }
        worst
    }

    /// Do bindings exclude each other through facts they share? For one variable; see `Cache::conflict`.
    fn conflict(&mut self, monitor: &Monitor, cache: &mut Cache) -> bool {
        let Some(own) = monitor.shape.own else { return false };
        let changes = self.engines.iter().map(|engine| engine.classes.changes).sum();
        if let Some((at, conflict)) = self.joint
            && at == changes
        {
            return conflict;
        }
        let mut points: Vec<Point> = Vec::new();
        for engine in &self.engines {
            for class in engine.classes.occupied() {
                let only_unseen = class == engine.classes.find(engine.unseen) && engine.classes.members(class) == 1;
                if engine.is_realised || !only_unseen {
                    points.push(engine.classes.point(class).clone());
                }
            }
        }
        let conflict = cache.conflict(&monitor.compiled.skeleton, &points, own);
        self.joint = Some((changes, conflict));
        conflict
    }

    /// How many bindings have a cell.
    pub(crate) fn len(&self) -> usize {
        self.engines.iter().map(|engine| engine.cells.len()).sum()
    }

    /// The bindings with a cell and where each stands, and where all other values stand.
    pub(crate) fn standings(&self) -> impl Iterator<Item = (usize, Option<&Binding>, &Point)> {
        self.engines.iter().flat_map(|engine| {
            let unseen = engine.classes.find(engine.unseen);
            let cells = engine.cells.iter().map(|cell| {
                let class = engine.classes.find(engine.cells.class(cell));
                (engine.valuation, Some(engine.cells.key(cell)), engine.classes.point(class))
            });
            std::iter::once((engine.valuation, None, engine.classes.point(unseen))).chain(cells)
        })
    }

    /// Is a valuation given by some value?
    pub(crate) fn is_realised(&self, valuation: usize) -> bool {
        self.engines[valuation].is_realised
    }

    /// Puts the bindings back where a snapshot says they stood.
    pub(crate) fn restore(
        monitor: &Monitor,
        cache: &mut Cache,
        standings: Vec<(usize, Option<Box<Binding>>, Point)>,
    ) -> Option<Bindings> {
        let mut bindings = Bindings::new(monitor, cache);
        for engine in &mut bindings.engines {
            engine.abandon(monitor, cache);
        }
        let skeleton = &monitor.compiled.skeleton;
        for (valuation, binding, point) in standings {
            let engine = bindings.engines.get_mut(valuation)?;
            match binding {
                None => {
                    engine.classes.leave(cache, skeleton, engine.unseen);
                    engine.unseen = engine.classes.enter(cache, skeleton, point, None);
                    engine.note_all_due(monitor, cache, engine.unseen);
                }
                Some(binding) => {
                    if binding.len() != monitor.compiled.prefix.len() || engine.cells.find(&binding).is_some() {
                        return None;
                    }
                    let class = engine.classes.enter(cache, skeleton, point, None);
                    let cell = engine.cells.insert(&binding, class);
                    engine.classes.name_sole(class, cell);
                    engine.note_all_due(monitor, cache, class);
                }
            }
        }
        for engine in &mut bindings.engines {
            engine.due.iter_mut().for_each(|queue| queue.make_contiguous().sort_by_key(|due| due.end));
        }
        Some(bindings)
    }
}

impl Engine {
    /// Takes out all cells.
    fn abandon(&mut self, monitor: &Monitor, cache: &Cache) {
        let cells: Vec<CellId> = self.cells.iter().collect();
        for cell in cells {
            self.classes.leave(cache, &monitor.compiled.skeleton, self.cells.class(cell));
            self.cells.remove(cell);
        }
    }

    fn population(&self) -> u64 {
        self.cells.len() as u64 + 1
    }

    /// How many bindings have a verdict, the unseen one only if some value stands for it.
    fn count(&self, monitor: &Monitor, cache: &Cache, verdict: Verdict) -> u64 {
        let point = self.classes.point(self.classes.find(self.unseen));
        let unseen = cache.verdict(&monitor.compiled.skeleton, point) == verdict;
        self.classes.tally.count(verdict) - u64::from(unseen && !self.is_realised)
    }

    fn count_at_end(&self, monitor: &Monitor, cache: &Cache, verdict: Verdict) -> u64 {
        let point = self.classes.point(self.classes.find(self.unseen));
        let unseen = cache.at_end(&monitor.compiled.skeleton, point) == verdict;
        self.classes.tally.count_at_end(verdict) - u64::from(unseen && !self.is_realised)
    }

    /// One variable, and every fact that has it tells its value: the hot path.
    /// False if nothing moved.
    fn step_single(
        &mut self,
        scene: &mut Scene<'_>,
        hits: &[Hit<'_>],
        background: u64,
        decided: &mut Vec<Decided>,
    ) -> bool {
        let monitor = scene.monitor;
        if let ([(bit, values)], 0, true) = (hits, background, self.classes.are_idle()) {
            let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { return false };
            return match single_value(pattern, values) {
                Some(value) => self.step_value(scene, value, 1 << bit, decided),
                None => false,
            };
        }
        let mut touches: [(Option<&Value>, u64); 4] = [(None, 0); 4];
        let mut count = 0;
        for (bit, values) in hits {
            let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
            let Some(value) = single_value(pattern, values) else { continue };
            match touches[..count].iter().position(|(other, _)| *other == Some(value)) {
                Some(index) => touches[index].1 |= 1 << bit,
                None if count == touches.len() => {
                    // More values in one position than there is room for here.
                    let touches = sliced(monitor, hits, background)
                        .into_iter()
                        .map(|touch| Touch { cell: self.cells.find(&touch.binding), ..touch })
                        .collect();
                    self.step_touched(scene, touches, (background, 0), decided);
                    return true;
                }
                None => {
                    touches[count] = (Some(value), 1 << bit);
                    count += 1;
                }
            }
        }
        if background != 0 || !self.classes.are_idle() || count > 1 {
            let touches = touches[..count]
                .iter()
                .filter_map(|(value, bits)| {
                    let value = (*value)?;
                    let cell = self.cells.find_value(value).map(|(cell, _)| cell);
                    Some(Touch { binding: [Some(value.clone())].into(), cell, bits: bits | background, unknown: 0 })
                })
                .collect();
            self.step_touched(scene, touches, (background, 0), decided);
            return true;
        }
        match touches[0] {
            (Some(value), bits) if count == 1 => self.step_value(scene, value, bits, decided),
            _ => false,
        }
    }

    /// One value is touched and nobody else moves. False if it does not move either.
    #[inline]
    fn step_value(&mut self, scene: &mut Scene<'_>, value: &Value, bits: u64, decided: &mut Vec<Decided>) -> bool {
        let skeleton = &scene.monitor.compiled.skeleton;
        let found = self.cells.find_value(value);
        let class = self.classes.find(found.map_or(self.unseen, |(_, class)| class));
        let from = self.classes.point(class);
        if let Some(state) = from.id()
            && scene.cache.look_up(state, bits, skeleton.width) == Some(state)
        {
            return false;
        }
        let target = advance(scene, from, bits, 0);
        match found {
            Some((cell, held)) => self.move_cell(scene, cell, held, target, decided),
            None => {
                if target.id().is_some() && target.id() == from.id() {
                    return false;
                }
                let class = self.classes.enter(scene.cache, skeleton, target, None);
                let cell = self.cells.insert(&[Some(value.clone())], class);
                self.classes.name_sole(class, cell);
                self.note_due(scene, class);
                self.settle(scene, cell, decided);
            }
        }
        true
    }

    fn move_cell(
        &mut self,
        scene: &mut Scene<'_>,
        cell: CellId,
        held: ClassId,
        target: Point,
        decided: &mut Vec<Decided>,
    ) {
        let skeleton = &scene.monitor.compiled.skeleton;
        if self.classes.sole(held) == Some(cell) {
            // Alone in its class, it takes the class along, and with it the deadlines that are noted already.
            self.classes.relocate(scene.cache, skeleton, held, target);
            self.note_due(scene, held);
        } else {
            let class = self.classes.enter(scene.cache, skeleton, target, Some(cell));
            self.classes.leave(scene.cache, skeleton, held);
            self.cells.assign(cell, class);
            self.note_all_due(scene.monitor, scene.cache, class);
        }
        self.settle(scene, cell, decided);
        self.forget_if_unseen(scene, cell);
    }

    /// A binding that stands where its values would stand unseen needs no cell.
    fn forget_if_unseen(&mut self, scene: &mut Scene<'_>, cell: CellId) {
        let class = self.classes.find(self.cells.class(cell));
        let point = self.classes.point(class);
        // Where values are compared, one that was seen must not be taken for one that was not.
        let is_compared = !scene.monitor.compiled.rigid.is_trivial();
        if is_compared || point.id().is_none() || self.stand_in(self.cells.key(cell), true) != class {
            return;
        }
        // With several variables, a partial binding may be what others are looked up by.
        let key = self.cells.key(cell);
        if key.iter().all(Option::is_some) {
            self.classes.leave(scene.cache, &scene.monitor.compiled.skeleton, self.cells.class(cell));
            self.cells.remove(cell);
        }
    }

    /// Several touched bindings, and all others by the background letter.
    fn step_touched(
        &mut self,
        scene: &mut Scene<'_>,
        touches: Vec<Touch>,
        background: (u64, u64),
        decided: &mut Vec<Decided>,
    ) {
        let skeleton = &scene.monitor.compiled.skeleton;
        // Everybody steps from where they stood before this position.
        let mut moves: Vec<(Box<Binding>, Option<CellId>, Point)> = Vec::with_capacity(touches.len());
        for touch in touches {
            let class = match touch.cell {
                Some(cell) => self.classes.find(self.cells.class(cell)),
                None => self.stand_in(&touch.binding, false),
            };
            let target = advance(scene, self.classes.point(class), touch.bits, touch.unknown);
            moves.push((touch.binding, touch.cell, target));
        }
        for (_, cell, _) in &moves {
            if let Some(cell) = cell {
                self.classes.leave(scene.cache, skeleton, self.cells.class(*cell));
                self.cells.assign(*cell, MOVING);
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
            self.classes.name_sole(class, cell);
            self.note_all_due(scene.monitor, scene.cache, class);
            self.settle(scene, cell, decided);
            cells.push(cell);
        }
        for cell in cells {
            self.forget_if_unseen(scene, cell);
        }
    }

    fn step_background(&mut self, scene: &mut Scene<'_>, (bits, unknown): (u64, u64), decided: &mut Vec<Decided>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        let (width, time) = (skeleton.width, scene.time);
        let next =
            |cache: &mut Cache, point: &Point| advance_in(cache, scene.monitor, point, bits, unknown, width, time);
        self.classes.advance(scene.cache, skeleton, next);
        let moved: Vec<ClassId> = self.classes.occupied().collect();
        for class in moved {
            self.note_due(scene, class);
            self.settle_class(scene, class, decided);
        }
    }

    /// The class of the most specific stored binding below this one; `strictly` leaves out the binding itself.
    fn stand_in(&self, binding: &Binding, strictly: bool) -> ClassId {
        let mask = mask_of(binding);
        if binding.len() > 1 {
            // All proper parts, larger ones first: stored bindings are closed under union, so the largest is unique.
            let mut parts: Vec<u32> = (1..=mask).filter(|part| part & mask == *part).collect();
            parts.sort_by_key(|part| std::cmp::Reverse(part.count_ones()));
            for part in parts {
                if strictly && part == mask {
                    continue;
                }
                if let Some(cell) = self.cells.find(&part_of(binding, part)) {
                    return self.classes.find(self.cells.class(cell));
                }
            }
        }
        self.classes.find(self.unseen)
    }

    /// Every binding that a position touches: those it names, joined with the stored ones they agree with.
    fn closure(&self, monitor: &Monitor, thetas: &[Box<Binding>], facts: &Facts) -> Vec<Touch> {
        let rigid = &monitor.compiled.rigid;
        let mut bindings: Vec<Box<Binding>> = Vec::new();
        let mut queue: Vec<Box<Binding>> = Vec::new();
        let add = |binding: Box<Binding>, bindings: &mut Vec<Box<Binding>>, queue: &mut Vec<Box<Binding>>| {
            if !bindings.contains(&binding) {
                bindings.push(binding.clone());
                queue.push(binding);
            }
        };
        for theta in thetas {
            add(theta.clone(), &mut bindings, &mut queue);
        }
        let stored: Vec<u32> = self.cells.masks();
        while let Some(binding) = queue.pop() {
            let mask = mask_of(&binding);
            for other in thetas {
                if let Some(joined) = join(&binding, other) {
                    add(joined, &mut bindings, &mut queue);
                }
            }
            for stored in &stored {
                for cell in self.cells.agreeing(*stored, stored & mask, &binding) {
                    if let Some(joined) = join(&binding, self.cells.key(cell)) {
                        add(joined, &mut bindings, &mut queue);
                    }
                }
            }
        }
        bindings.retain(|binding| rigid.compatible(binding).contains(&self.valuation));
        bindings
            .into_iter()
            .map(|binding| {
                let (bits, unknown) = read(monitor, facts, &binding);
                Touch { cell: self.cells.find(&binding), binding, bits, unknown }
            })
            .collect()
    }

    /// Counts a definite verdict of a cell, and starts it anew if verdicts do not latch.
    fn settle(&mut self, scene: &mut Scene<'_>, cell: CellId, decided: &mut Vec<Decided>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        let held = self.cells.class(cell);
        let verdict = scene.cache.verdict(skeleton, self.classes.point(self.classes.find(held)));
        if !verdict.is_definite() {
            return;
        }
        decided.push((verdict, Some(self.cells.key(cell).into())));
        if scene.reset {
            let start = scene.cache.start(skeleton, self.valuation);
            let class = self.classes.enter(scene.cache, skeleton, start, Some(cell));
            self.classes.leave(scene.cache, skeleton, held);
            self.cells.assign(cell, class);
        }
    }

    /// The same for a class that moved as a whole.
    fn settle_class(&mut self, scene: &mut Scene<'_>, class: ClassId, decided: &mut Vec<Decided>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        let verdict = scene.cache.verdict(skeleton, self.classes.point(class));
        if !verdict.is_definite() {
            return;
        }
        let start = scene.cache.start(skeleton, self.valuation);
        let already = scene.cache.verdict(skeleton, &start).is_definite();
        let unseen = self.classes.find(self.unseen) == class;
        if unseen && self.is_realised {
            decided.push((verdict, None));
        }
        if scene.reset || verdict == Verdict::Violated {
            let of_class = |cell: &CellId| {
                let held = self.cells.class(*cell);
                held != MOVING && self.classes.find(held) == class
            };
            let cells: Vec<CellId> = match self.classes.sole(class) {
                Some(cell) => vec![cell],
                None if unseen && self.classes.members(class) == 1 => Vec::new(),
                None => self.cells.iter().filter(of_class).collect(),
            };
            decided.extend(cells.into_iter().map(|cell| (verdict, Some(self.cells.key(cell).into()))));
        }
        if scene.reset && !already {
            let sole = self.classes.sole(class);
            self.classes.relocate(scene.cache, skeleton, class, start);
            if let Some(cell) = sole {
                self.forget_if_unseen(scene, cell);
            }
        }
    }

    /// Remembers when the deadlines that began at this position end.
    fn note_due(&mut self, scene: &Scene<'_>, class: ClassId) {
        let time = scene.time;
        self.note_due_if(scene.monitor, scene.cache, class, |start| start == time);
    }

    fn note_all_due(&mut self, monitor: &Monitor, cache: &Cache, class: ClassId) {
        self.note_due_if(monitor, cache, class, |_| true);
    }

    fn note_due_if(&mut self, monitor: &Monitor, cache: &Cache, class: ClassId, is_new: impl Fn(Time) -> bool) {
        let class = self.classes.find(class);
        let point = self.classes.point(class);
        if point.times.is_empty() {
            return;
        }
        let stamp = self.classes.stamp(class);
        for (clock, start) in cache.clocks(point).iter().zip(point.times.iter()) {
            let clock = usize::from(*clock);
            if let Some(to) = monitor.compiled.skeleton.clocks[clock].to.filter(|_| is_new(*start)) {
                let due = Due { end: start.plus(to), class, stamp };
                let queue = &mut self.due[clock];
                // Deadlines of one operator come in order, except those a binding takes along from a shared class.
                match queue.back() {
                    Some(last) if last.end > due.end => {
                        queue.insert(queue.partition_point(|other| other.end <= due.end), due);
                    }
                    _ => queue.push_back(due),
                }
            }
        }
        // Entries of deadlines that were met stay behind; now and then they are swept out.
        let classes = &self.classes;
        for queue in &mut self.due {
            if queue.len() > 1024 && queue.len() > 2 * (self.cells.len() + 1) {
                queue.retain(|due| classes.is_current(due.class, due.stamp));
            }
        }
    }

    fn expire(&mut self, scene: &mut Scene<'_>, decided: &mut Vec<Decided>) {
        let skeleton = &scene.monitor.compiled.skeleton;
        for clock in 0..self.due.len() {
            while let Some(due) = self.due[clock].front().copied().filter(|due| due.end < scene.time) {
                self.due[clock].pop_front();
                if !self.classes.is_current(due.class, due.stamp) {
                    continue;
                }
                let point = self.classes.point(due.class).clone();
                if let Some(target) = scene.cache.expire(skeleton, &point, scene.time) {
                    self.classes.relocate(scene.cache, skeleton, due.class, target);
                    let class = self.classes.find(due.class);
                    self.settle_class(scene, class, decided);
                }
            }
        }
    }
}

/// Where a point goes.
fn advance(scene: &mut Scene<'_>, point: &Point, bits: u64, unknown: u64) -> Point {
    let width = scene.monitor.compiled.skeleton.width;
    advance_in(scene.cache, scene.monitor, point, bits, unknown, width, scene.time)
}

fn advance_in(
    cache: &mut Cache,
    monitor: &Monitor,
    point: &Point,
    bits: u64,
    unknown: u64,
    width: u32,
    time: Time,
) -> Point {
    if unknown == 0
        && let Some(target) = point.id().and_then(|id| cache.look_up(id, bits, width))
    {
        return Point::cached(target);
    }
    cache.step(&monitor.compiled.skeleton, point, bits, unknown, time)
}

/// Two bindings as one, if they agree.
fn join(left: &Binding, right: &Binding) -> Option<Box<Binding>> {
    let pair = |(left, right): (&Option<Value>, &Option<Value>)| match (left, right) {
        (Some(left), Some(right)) if left != right => None,
        (Some(value), _) | (None, Some(value)) => Some(Some(value.clone())),
        (None, None) => Some(None),
    };
    left.iter().zip(right).map(pair).collect()
}

/// The bits that facts set for every binding alike.
fn background(monitor: &Monitor, hits: &[Hit<'_>]) -> u64 {
    hits.iter().fold(0, |bits, (bit, values)| match &monitor.compiled.probes[usize::from(*bit)] {
        Probe::Pattern(pattern) if pattern.mask() == 0 && pattern.fits(values, &[]) => bits | 1 << bit,
        _ => bits,
    })
}

/// The touched bindings of a formula whose patterns bind all variables or none.
fn sliced(monitor: &Monitor, hits: &[Hit<'_>], background: u64) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    for (bit, values) in hits {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if pattern.mask() == 0 {
            continue;
        }
        let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len()) else { continue };
        match touches.iter_mut().find(|touch| *touch.binding == *binding) {
            Some(touch) => touch.bits |= 1 << bit,
            None => {
                touches.push(Touch { binding: binding.into(), cell: None, bits: 1 << bit | background, unknown: 0 });
            }
        }
    }
    touches
}

/// The value of the only variable, if the other arguments fit.
fn single_value<'a>(pattern: &Pattern, values: &'a [Value]) -> Option<&'a Value> {
    if let [Argument::Variable(0)] = pattern.slots[..] {
        return values.first();
    }
    let mut found = None;
    if pattern.slots.len() > values.len() {
        return None;
    }
    for (argument, value) in pattern.slots.iter().zip(values) {
        match argument {
            Argument::Any => {}
            Argument::Value(wanted) if wanted == value => {}
            Argument::Variable(_) if found.is_none_or(|other| other == value) => found = Some(value),
            _ => return None,
        }
    }
    found
}

/// The masks of the patterns, by which bindings are looked up.
fn masks(monitor: &Monitor) -> Vec<u32> {
    let width = monitor.compiled.prefix.len() as u32;
    let mut masks: Vec<u32> = if width > 1 { (1..1 << width).collect() } else { Vec::new() };
    masks.dedup();
    masks
}

/// The bindings that the facts of a position name.
fn thetas(monitor: &Monitor, facts: &Facts) -> Vec<Box<Binding>> {
    let compiled = &monitor.compiled;
    let width = compiled.prefix.len();
    let mut found: Vec<Box<Binding>> = Vec::new();
    let mut add = |binding: Vec<Option<Value>>| {
        if binding.iter().any(Option::is_some) && !found.iter().any(|other| **other == *binding) {
            found.push(binding.into());
        }
    };
    for (_, pattern) in monitor.patterns() {
        for fact in facts.known.iter().filter(|fact| fact.name == pattern.name) {
            pattern.bind(&fact.values, width).into_iter().for_each(&mut add);
        }
        // What is unknown touches as well; where it leaves a value open, only the others are named.
        for atom in facts.unknown.iter().filter(|atom| atom.name == pattern.name) {
            let mut binding = vec![None; width];
            for (argument, term) in pattern.slots.iter().zip(&atom.terms) {
                if let (Argument::Variable(index), Term::Value(value)) = (argument, term) {
                    binding[*index] = Some(value.clone());
                }
            }
            add(binding);
        }
    }
    // An inner quantifier may compare a variable with any value of the position; so may a rigid comparison.
    if monitor.shape.whole {
        for value in values_of(facts) {
            for index in 0..width {
                let mut binding = vec![None; width];
                binding[index] = Some(value.clone());
                add(binding);
            }
        }
    }
    found
}

fn values_of(facts: &Facts) -> Vec<Value> {
    let known = facts.known.iter().flat_map(|fact| fact.values.iter().cloned());
    let unknown = facts.unknown.iter().flat_map(|atom| atom.terms.iter()).filter_map(|term| match term {
        Term::Value(value) => Some(value.clone()),
        _ => None,
    });
    let mut values: Vec<Value> = known.chain(unknown).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The facts behind the hits, for letters that need them whole.
fn gather(monitor: &Monitor, hits: &[Hit<'_>]) -> Facts {
    let mut facts = Facts::default();
    for (bit, values) in hits {
        if let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] {
            let fact = crate::facts::Fact::new(pattern.name.clone(), values.to_vec());
            if !facts.known.contains(&fact) {
                facts.known.push(fact);
            }
        }
    }
    facts
}
