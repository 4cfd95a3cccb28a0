//! Quantified formulas: a state for each binding of values, and one for all the values never seen.
//!
//! `forall s. G(erasure(s) -> G !discloses(s))` is a formula about each subject separately. A position touches the
//! bindings whose values occur in its facts; all others read one letter and move together (`classes.rs`). So the cost
//! of a position is the bindings it touches and the number of distinct states, never the number of bindings.
//!
//! With several variables a binding may give values to only some of them. The state of a full binding is that of the
//! most specific stored one below it; when a position touches values together, their joint binding gets a cell.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::cache::Cache;
use crate::cells::{Cells, ClassId};
use crate::classes::Classes;
use crate::facts::Facts;
use crate::interval::Time;
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::population::{BindingVerdict, Population, StepContext};
use crate::probe::{Binding, BorrowedBinding, Probe};
use crate::state::Point;
use crate::touch::{
    BindingSet, CandidateFact, LetterReader, TouchedBinding, background_bits, collect_borrowed, collect_named,
    collect_named_in_facts, collect_sliced, lookup_masks,
};
use crate::value::Value;
use crate::verdict::Verdict;
use crate::work::Work;

/// Up to so many bindings that a position touches are looked at without a copy of their values.
const MAX_BORROWED_BINDINGS: usize = 16;

/// The bindings of one formula in one trace.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    populations: Vec<Population>,
    /// Whether bindings exclude each other, and the count of changes at which that was computed.
    joint: Option<(u64, bool)>,
}

impl Bindings {
    pub(crate) fn new(monitor: &Monitor, cache: &mut Cache) -> Bindings {
        let parts = lookup_masks(monitor);
        let width = monitor.compiled.prefix.len();
        let populations = monitor.compiled.rigid.valuations().map(|valuation| {
            let mut classes = Classes::default();
            let start = cache.start(&monitor.compiled.skeleton, valuation);
            let unseen = classes.enter(cache, &monitor.compiled.skeleton, start, None);
            let mut population = Population {
                valuation,
                is_realised: monitor.compiled.rigid.is_realised_by_unseen(valuation),
                unseen,
                cells: Cells::new(width, parts.clone()),
                classes,
                due: vec![VecDeque::new(); monitor.compiled.skeleton.clocks.len()],
            };
            for binding in monitor.compiled.rigid.constant_bindings(valuation) {
                let point = population.classes.point(population.unseen).clone();
                let class = population.classes.enter(cache, &monitor.compiled.skeleton, point, None);
                population.cells.insert(&binding, class);
            }
            population
        });
        Bindings { populations: populations.collect(), joint: None }
    }

    /// Reads a position. `whole` is given if letters need all facts together. False if nothing moved.
    pub(crate) fn step(
        &mut self,
        scene: &mut StepContext<'_>,
        candidates: &[CandidateFact<'_>],
        whole: Option<&Facts>,
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let shape = scene.monitor.shape;
        match whole {
            None if shape.single => {
                let background = if shape.mixed { background_bits(scene.monitor, candidates) } else { 0 };
                self.populations[0].step_single(scene, candidates, background, decided)
            }
            None if shape.sliced => {
                let background = background_bits(scene.monitor, candidates);
                let touches = collect_sliced(scene.monitor, candidates, background);
                self.step_touched(scene, touches, (background, 0), decided)
            }
            None => {
                let background = background_bits(scene.monitor, candidates);
                let named = collect_named(scene.monitor, candidates);
                let letters = LetterReader::new(scene.monitor, candidates);
                let letter = |binding: &Binding| (letters.letter_bits(binding), 0);
                self.step_closure(scene, &named, (background, 0), &letter, decided)
            }
            Some(facts) => {
                let letter = |binding: &Binding| read_letter(scene.monitor, facts, binding);
                let background = letter(&vec![None; scene.monitor.compiled.prefix.len()]);
                let named = collect_named_in_facts(scene.monitor, facts);
                self.step_closure(scene, &named, background, &letter, decided)
            }
        }
    }

    /// Whether a position leaves all bindings unchanged, with nothing to report. Only if no letter needs all facts
    /// together and no binding has a cell: false otherwise.
    pub(crate) fn leaves_all_unchanged(&self, scene: &StepContext<'_>, candidates: &[CandidateFact<'_>]) -> bool {
        let [population] = &self.populations[..] else { return false };
        let background = background_bits(scene.monitor, candidates);
        if population.cells.len() > 0 || !population.leaves_all_unchanged(scene, background) {
            return false;
        }
        let unseen = population.classes.find(population.unseen);
        if scene.monitor.shape.single {
            // Each value is compared with all others.
            let mut room = [None; MAX_BORROWED_BINDINGS];
            let Some(bound) = room.get_mut(..candidates.len()) else { return false };
            for (value, (bit, values)) in bound.iter_mut().zip(candidates) {
                *value = scene.monitor.bound_value(*bit, values);
            }
            let bound = &*bound;
            return bound.iter().copied().flatten().all(|touched| {
                let bits = bound
                    .iter()
                    .zip(candidates)
                    .fold(background, |bits, (value, (bit, _))| bits | u64::from(*value == Some(touched)) << bit);
                population.leaves_unchanged(scene, unseen, bits)
            });
        }
        let letter = |glance: &BorrowedBinding<'_>| {
            candidates.iter().fold(0, |bits, (bit, values)| match &scene.monitor.compiled.probes[usize::from(*bit)] {
                Probe::Pattern(pattern) if pattern.fits_borrowed(values, glance) => bits | 1 << bit,
                _ => bits,
            })
        };
        let mut room = [BorrowedBinding::default(); MAX_BORROWED_BINDINGS];
        let touched = collect_borrowed(scene.monitor, candidates, &mut room);
        touched.is_some_and(|touched| {
            touched.iter().all(|glance| population.leaves_unchanged(scene, unseen, letter(glance)))
        })
    }

    /// Steps the bindings that a position names, and their joins with others.
    fn step_closure(
        &mut self,
        scene: &mut StepContext<'_>,
        named: &BindingSet,
        background: (u64, u64),
        letter: &dyn Fn(&Binding) -> (u64, u64),
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let mut moved = false;
        for population in &mut self.populations {
            let touches = population.collect_touched(scene.monitor, named, letter, &mut scene.work);
            if scene.work.is_exceeded() {
                return true;
            }
            moved |= population.step_touched(scene, touches, background, decided);
        }
        moved
    }

    /// Whether a position violates, for some binding, a possible state that was not violated before.
    pub(crate) fn may_break(&self, monitor: &Monitor, cache: &mut Cache, facts: &Facts, time: Time) -> bool {
        let skeleton = &monitor.compiled.skeleton;
        let letter = |binding: &Binding| read_letter(monitor, facts, binding);
        let (bits, unknown) = letter(&vec![None; monitor.compiled.prefix.len()]);
        let named = collect_named_in_facts(monitor, facts);
        self.populations.iter().any(|population| {
            let mut work = Work::within(cache.limits().work);
            let touches = population.collect_touched(monitor, &named, &letter, &mut work);
            if work.is_exceeded() {
                return true;
            }
            let breaks = |cache: &mut Cache, class, bits, unknown| {
                cache.may_break(skeleton, population.classes.point(class), bits, unknown, time)
            };
            if touches.iter().any(|touch| breaks(cache, population.touched_class(touch), touch.bits, touch.unknown)) {
                return true;
            }
            // All others read the background letter; a class whose members are all touched has none left.
            let mut touched: FxHashMap<ClassId, u64> = FxHashMap::default();
            for touch in touches.iter().filter(|touch| touch.cell.is_some()) {
                *touched.entry(population.touched_class(touch)).or_default() += 1;
            }
            population.classes.occupied().any(|class| {
                let is_left = touched.get(&class).is_none_or(|count| *count < population.classes.members(class));
                is_left && breaks(cache, class, bits, unknown)
            })
        })
    }

    /// Returns the bindings that a position touches, with their points.
    pub(crate) fn touched_states(&self, monitor: &Monitor, facts: &Facts) -> Vec<(Box<Binding>, Point)> {
        let named = collect_named_in_facts(monitor, facts);
        let mut states = Vec::new();
        for population in &self.populations {
            for touch in population.collect_touched(monitor, &named, &|_| (0, 0), &mut Work::default()) {
                let point = population.classes.point(population.touched_class(&touch)).clone();
                states.push((touch.binding, point));
            }
        }
        states
    }

    /// Returns the points of all bindings, each once.
    pub(crate) fn occupied_states(&self) -> impl Iterator<Item = &Point> {
        self.populations
            .iter()
            .flat_map(|population| population.classes.occupied().map(|class| population.classes.point(class)))
    }

    fn step_touched(
        &mut self,
        scene: &mut StepContext<'_>,
        touches: Vec<TouchedBinding>,
        background: (u64, u64),
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let mut shares: Vec<Vec<TouchedBinding>> = self.populations.iter().map(|_| Vec::new()).collect();
        for touch in touches {
            // A sliced formula binds all variables at once, so exactly one valuation fits.
            for valuation in scene.monitor.compiled.rigid.compatible_valuations(&touch.binding) {
                let TouchedBinding { binding, bits, unknown, .. } = &touch;
                let cell = self.populations[valuation].cells.find(binding);
                shares[valuation].push(TouchedBinding {
                    binding: binding.clone(),
                    cell,
                    bits: *bits,
                    unknown: *unknown,
                });
            }
        }
        let mut moved = false;
        for (population, touches) in self.populations.iter_mut().zip(shares) {
            moved |= population.step_touched(scene, touches, background, decided);
        }
        moved
    }

    /// Whether a letter leaves the binding of a value unchanged. Only for a formula with one variable.
    #[inline]
    pub(crate) fn leaves_value_unchanged(&self, cache: &Cache, width: u32, value: &Value, bits: u64) -> bool {
        self.populations.first().is_some_and(|population| population.leaves_value_unchanged(cache, width, value, bits))
    }

    /// Prefetches the cells and classes of values. Single look-ups wait for memory each; together they wait once.
    pub(crate) fn prefetch(&self, values: &[&Value]) -> u64 {
        let Some(population) = self.populations.first() else { return 0 };
        let slots = values.iter().fold(0u64, |sum, value| sum.wrapping_add(population.cells.prefetch(value)));
        values.iter().fold(slots, |sum, value| {
            let class = population.cells.find_value(value).map_or(0, |(_, class)| class);
            sum.wrapping_add(population.classes.prefetch(class))
        })
    }

    /// Expires every deadline before the time of the context.
    pub(crate) fn expire(&mut self, scene: &mut StepContext<'_>, decided: &mut Vec<BindingVerdict>) {
        for population in &mut self.populations {
            population.expire(scene, decided);
        }
    }

    /// Returns the earliest deadline.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.populations
            .iter()
            .flat_map(|population| &population.due)
            .filter_map(|queue| queue.front())
            .map(|due| due.end)
            .min()
    }

    /// Whether an empty letter leaves all bindings unchanged.
    pub(crate) fn is_idle(&self) -> bool {
        self.populations.iter().all(|population| population.classes.are_idle())
    }

    /// Returns the verdict on all bindings together, for bindings of one trace or shared with others.
    pub(crate) fn verdict(shared: &mut Arc<Bindings>, monitor: &Monitor, cache: &mut Cache) -> Verdict {
        match Arc::get_mut(shared) {
            Some(own) => own.judge(monitor, cache),
            None => Bindings::clone(shared).judge(monitor, cache),
        }
    }

    /// Returns the verdict on all bindings together: the worst, but satisfied only if no later value can change that.
    fn judge(&mut self, monitor: &Monitor, cache: &mut Cache) -> Verdict {
        let is_violated = |population: &Population| {
            population.classes.tally.count(Verdict::Violated) > 0
                && population.count(monitor, cache, Verdict::Violated) > 0
        };
        if self.populations.iter().any(is_violated) {
            return Verdict::Violated;
        }
        let open = self
            .populations
            .iter()
            .any(|population| population.classes.tally.count(Verdict::Satisfied) < population.len());
        if !open {
            return Verdict::Satisfied;
        }
        if self.has_conflict(monitor, cache) { Verdict::Violated } else { Verdict::Inconclusive }
    }

    /// Returns the verdict if the trace ended here.
    pub(crate) fn end_verdict(&self, monitor: &Monitor, cache: &Cache) -> Verdict {
        let mut worst = Verdict::Satisfied;
        for population in &self.populations {
            for verdict in [Verdict::Violated, Verdict::Inconclusive] {
                if population.count_at_end(monitor, cache, verdict) > 0 {
                    worst = worst.max(verdict);
                }
            }
        }
        worst
    }

    /// Whether bindings exclude each other through facts they share. For one variable; see `Cache::has_conflict`.
    fn has_conflict(&mut self, monitor: &Monitor, cache: &mut Cache) -> bool {
        let Some(own) = monitor.shape.own else { return false };
        let changes = self.populations.iter().map(|population| population.classes.changes).sum();
        if let Some((at, conflict)) = self.joint
            && at == changes
        {
            return conflict;
        }
        let mut points: Vec<Point> = Vec::new();
        for population in &self.populations {
            for class in population.classes.occupied() {
                let only_unseen =
                    class == population.classes.find(population.unseen) && population.classes.members(class) == 1;
                if population.is_realised || !only_unseen {
                    points.push(population.classes.point(class).clone());
                }
            }
        }
        let conflict = cache.has_conflict(&monitor.compiled.skeleton, &points, own);
        self.joint = Some((changes, conflict));
        conflict
    }

    /// Whether more is stored than so many rows of a table.
    pub(crate) fn is_over(&self, rows: usize) -> bool {
        self.populations.iter().map(|population| population.cells.rows()).sum::<usize>() > rows
    }

    /// Returns how many bindings have a cell.
    pub(crate) fn len(&self) -> usize {
        self.populations.iter().map(|population| population.cells.len()).sum()
    }

    /// Returns the bindings with a cell and their points, and the point of all other values.
    pub(crate) fn binding_states(&self) -> impl Iterator<Item = (usize, Option<&Binding>, &Point)> {
        self.populations.iter().flat_map(|population| {
            let unseen = population.classes.find(population.unseen);
            let cells = population.cells.iter().map(|cell| {
                let class = population.classes.find(population.cells.class(cell));
                (population.valuation, Some(population.cells.key(cell)), population.classes.point(class))
            });
            std::iter::once((population.valuation, None, population.classes.point(unseen))).chain(cells)
        })
    }

    /// Whether two sets have the same bindings in the same states; false if a state has no number.
    pub(crate) fn is_same(&self, other: &Bindings) -> bool {
        let place = |(valuation, binding, point): (usize, Option<&Binding>, &Point)| {
            point.id().map(|id| (valuation, binding.map(<[Option<Value>]>::to_vec), id))
        };
        let is_plain = |point: &Point| point.id().is_some() && point.times.is_empty();
        std::ptr::eq(self, other)
            || other.binding_states().all(|(_, _, point)| is_plain(point))
                && self.binding_states().map(place).eq(other.binding_states().map(place))
    }

    /// Whether some value gives a valuation.
    pub(crate) fn is_realised(&self, valuation: usize) -> bool {
        self.populations[valuation].is_realised
    }

    /// Returns the bindings of a snapshot; none if they do not belong to this formula.
    pub(crate) fn restore(
        monitor: &Monitor,
        cache: &mut Cache,
        binding_states: Vec<(usize, Option<Box<Binding>>, Point)>,
    ) -> Option<Bindings> {
        let mut bindings = Bindings::new(monitor, cache);
        for population in &mut bindings.populations {
            population.clear_cells(monitor, cache);
        }
        let skeleton = &monitor.compiled.skeleton;
        for (valuation, binding, point) in binding_states {
            let population = bindings.populations.get_mut(valuation)?;
            match binding {
                None => {
                    population.classes.leave(cache, skeleton, population.unseen);
                    population.unseen = population.classes.enter(cache, skeleton, point, None);
                    population.record_all_deadlines(monitor, cache, population.unseen);
                }
                Some(binding) => {
                    if binding.len() != monitor.compiled.prefix.len() || population.cells.find(&binding).is_some() {
                        return None;
                    }
                    let class = population.classes.enter(cache, skeleton, point, None);
                    let cell = population.cells.insert(&binding, class);
                    population.classes.set_sole_member(class, cell);
                    population.record_all_deadlines(monitor, cache, class);
                }
            }
        }
        for population in &mut bindings.populations {
            population.due.iter_mut().for_each(|queue| queue.make_contiguous().sort_by_key(|due| due.end));
        }
        Some(bindings)
    }
}
