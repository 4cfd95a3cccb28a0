//! Quantified formulas: a state for each binding of values, and one for all the values never seen.
//!
//! `forall s. G(erasure(s) -> G !discloses(s))` is a formula about each subject by itself. A position touches the
//! bindings whose values occur in its facts; all others read the same letter and move together (`classes.rs`). So a
//! position costs the bindings it touches and the number of distinct states, never the number of bindings.
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
use crate::letter::read;
use crate::monitor::Monitor;
use crate::population::{BindingVerdict, Population, Scene};
use crate::probe::{Binding, Glance, Probe};
use crate::state::Point;
use crate::term::Value;
use crate::touch::{Asked, Found, Letters, Touch, background, glances, masks, named, sliced, thetas};
use crate::verdict::Verdict;

/// The bindings of one formula in one trace.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    populations: Vec<Population>,
    /// The joint verdict and the changes it was found at.
    joint: Option<(u64, bool)>,
}

impl Bindings {
    pub(crate) fn new(monitor: &Monitor, cache: &mut Cache) -> Bindings {
        let parts = masks(monitor);
        let width = monitor.compiled.prefix.len();
        let populations = monitor.compiled.rigid.valuations().map(|valuation| {
            let mut classes = Classes::default();
            let start = cache.start(&monitor.compiled.skeleton, valuation);
            let unseen = classes.enter(cache, &monitor.compiled.skeleton, start, None);
            let mut population = Population {
                valuation,
                is_realised: monitor.compiled.rigid.is_given_unseen(valuation),
                unseen,
                cells: Cells::new(width, parts.clone()),
                classes,
                due: vec![VecDeque::new(); monitor.compiled.skeleton.clocks.len()],
            };
            for binding in monitor.compiled.rigid.of_constants(valuation) {
                let point = population.classes.point(population.unseen).clone();
                let class = population.classes.enter(cache, &monitor.compiled.skeleton, point, None);
                population.cells.insert(&binding, class);
            }
            population
        });
        Bindings { populations: populations.collect(), joint: None }
    }

    /// Reads a position. `whole` is given if letters need more than a look at single facts. False if nothing moved.
    pub(crate) fn step(
        &mut self,
        scene: &mut Scene<'_>,
        hits: &[Asked<'_>],
        whole: Option<&Facts>,
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let shape = scene.monitor.shape;
        match whole {
            None if shape.single => {
                let background = if shape.mixed { background(scene.monitor, hits) } else { 0 };
                self.populations[0].step_single(scene, hits, background, decided)
            }
            None if shape.sliced => {
                let background = background(scene.monitor, hits);
                let touches = sliced(scene.monitor, hits, background);
                self.step_touched(scene, touches, (background, 0), decided)
            }
            None => {
                let background = background(scene.monitor, hits);
                let named = named(scene.monitor, hits);
                let letters = Letters::new(scene.monitor, hits);
                let letter = |binding: &Binding| (letters.of(binding), 0);
                self.step_closure(scene, &named, (background, 0), &letter, decided)
            }
            Some(facts) => {
                let letter = |binding: &Binding| read(scene.monitor, facts, binding);
                let background = letter(&vec![None; scene.monitor.compiled.prefix.len()]);
                let named = thetas(scene.monitor, facts);
                self.step_closure(scene, &named, background, &letter, decided)
            }
        }
    }

    /// Does a position leave all bindings where they are, with nothing to tell? Only where no letter needs it whole,
    /// and no binding stands apart yet: false otherwise.
    pub(crate) fn rest(&self, scene: &Scene<'_>, hits: &[Asked<'_>]) -> bool {
        let [population] = &self.populations[..] else { return false };
        if population.cells.len() > 0 || !population.all_rest(scene, background(scene.monitor, hits)) {
            return false;
        }
        let letter = |glance: &Glance<'_>| {
            hits.iter().fold(0, |bits, (bit, values)| match &scene.monitor.compiled.probes[usize::from(*bit)] {
                Probe::Pattern(pattern) if pattern.fits_glance(values, glance) => bits | 1 << bit,
                _ => bits,
            })
        };
        let mut room = [Glance::default(); 16];
        let unseen = population.classes.find(population.unseen);
        let touched = glances(scene.monitor, hits, &mut room);
        touched.is_some_and(|touched| touched.iter().all(|glance| population.rests(scene, unseen, letter(glance))))
    }

    /// Steps the bindings that a position names, and those that they make together with others.
    fn step_closure(
        &mut self,
        scene: &mut Scene<'_>,
        named: &Found,
        background: (u64, u64),
        letter: &dyn Fn(&Binding) -> (u64, u64),
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let mut moved = false;
        for population in &mut self.populations {
            let touches = population.closure(scene.monitor, named, letter);
            moved |= population.step_touched(scene, touches, background, decided);
        }
        moved
    }

    /// Whether a position breaks, for some binding, one of the ways it can stand that was not broken before.
    pub(crate) fn may_break(&self, monitor: &Monitor, cache: &mut Cache, facts: &Facts, time: Time) -> bool {
        let skeleton = &monitor.compiled.skeleton;
        let letter = |binding: &Binding| read(monitor, facts, binding);
        let (bits, unknown) = letter(&vec![None; monitor.compiled.prefix.len()]);
        let named = thetas(monitor, facts);
        self.populations.iter().any(|population| {
            let touches = population.closure(monitor, &named, &letter);
            let breaks = |cache: &mut Cache, class, bits, unknown| {
                cache.may_break(skeleton, population.classes.point(class), bits, unknown, time)
            };
            if touches.iter().any(|touch| breaks(cache, population.class_of(touch), touch.bits, touch.unknown)) {
                return true;
            }
            // All others read the background; of a class whose members are all touched nobody is left.
            let mut touched: FxHashMap<ClassId, u64> = FxHashMap::default();
            for touch in touches.iter().filter(|touch| touch.cell.is_some()) {
                *touched.entry(population.class_of(touch)).or_default() += 1;
            }
            population.classes.occupied().any(|class| {
                let is_left = touched.get(&class).is_none_or(|count| *count < population.classes.members(class));
                is_left && breaks(cache, class, bits, unknown)
            })
        })
    }

    fn step_touched(
        &mut self,
        scene: &mut Scene<'_>,
        touches: Vec<Touch>,
        background: (u64, u64),
        decided: &mut Vec<BindingVerdict>,
    ) -> bool {
        let mut shares: Vec<Vec<Touch>> = self.populations.iter().map(|_| Vec::new()).collect();
        for touch in touches {
            // A sliced formula binds all variables at once, so exactly one valuation fits.
            for valuation in scene.monitor.compiled.rigid.compatible(&touch.binding) {
                let Touch { binding, bits, unknown, .. } = &touch;
                let cell = self.populations[valuation].cells.find(binding);
                shares[valuation].push(Touch { binding: binding.clone(), cell, bits: *bits, unknown: *unknown });
            }
        }
        let mut moved = false;
        for (population, touches) in self.populations.iter_mut().zip(shares) {
            moved |= population.step_touched(scene, touches, background, decided);
        }
        moved
    }

    /// Would a letter leave the binding of a value where it stands? Only for a formula with one variable.
    #[inline]
    pub(crate) fn stays(&self, cache: &Cache, width: u32, value: &Value, bits: u64) -> bool {
        self.populations.first().is_some_and(|population| population.stays(cache, width, value, bits))
    }

    /// Brings near what values will be looked up soon. Each look-up by itself waits for memory; together they wait once.
    pub(crate) fn warm(&self, values: &[&Value]) -> u64 {
        let Some(population) = self.populations.first() else { return 0 };
        let slots = values.iter().fold(0u64, |sum, value| sum.wrapping_add(population.cells.warm(value)));
        values.iter().fold(slots, |sum, value| {
            let class = population.cells.find_value(value).map_or(0, |(_, class)| class);
            sum.wrapping_add(population.classes.warm(class))
        })
    }

    /// Lets pass every deadline before the time of the scene.
    pub(crate) fn expire(&mut self, scene: &mut Scene<'_>, decided: &mut Vec<BindingVerdict>) {
        for population in &mut self.populations {
            population.expire(scene, decided);
        }
    }

    /// The earliest moment after which something expires.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.populations
            .iter()
            .flat_map(|population| &population.due)
            .filter_map(|queue| queue.front())
            .map(|due| due.end)
            .min()
    }

    /// Would an empty letter leave everything where it is?
    pub(crate) fn is_idle(&self) -> bool {
        self.populations.iter().all(|population| population.classes.are_idle())
    }

    /// The verdict on all bindings together, of a trace of its own or shared with others.
    pub(crate) fn verdict(shared: &mut Arc<Bindings>, monitor: &Monitor, cache: &mut Cache) -> Verdict {
        match Arc::get_mut(shared) {
            Some(own) => own.judge(monitor, cache),
            None => Bindings::clone(shared).judge(monitor, cache),
        }
    }

    /// The verdict on all bindings together: the worst, but satisfied only if no value to come can change that.
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
            .any(|population| population.classes.tally.count(Verdict::Satisfied) < population.population());
        if !open {
            return Verdict::Satisfied;
        }
        if self.conflict(monitor, cache) { Verdict::Violated } else { Verdict::Inconclusive }
    }

    /// The verdict if the trace stopped here.
    pub(crate) fn at_end(&self, monitor: &Monitor, cache: &Cache) -> Verdict {
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

    /// Do bindings exclude each other through facts they share? For one variable; see `Cache::conflict`.
    fn conflict(&mut self, monitor: &Monitor, cache: &mut Cache) -> bool {
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
        let conflict = cache.conflict(&monitor.compiled.skeleton, &points, own);
        self.joint = Some((changes, conflict));
        conflict
    }

    /// How many bindings have a cell.
    pub(crate) fn len(&self) -> usize {
        self.populations.iter().map(|population| population.cells.len()).sum()
    }

    /// The bindings with a cell and where each stands, and where all other values stand.
    pub(crate) fn standings(&self) -> impl Iterator<Item = (usize, Option<&Binding>, &Point)> {
        self.populations.iter().flat_map(|population| {
            let unseen = population.classes.find(population.unseen);
            let cells = population.cells.iter().map(|cell| {
                let class = population.classes.find(population.cells.class(cell));
                (population.valuation, Some(population.cells.key(cell)), population.classes.point(class))
            });
            std::iter::once((population.valuation, None, population.classes.point(unseen))).chain(cells)
        })
    }

    /// Whether the same bindings stand at the same places, as far as states with a number tell.
    pub(crate) fn is_same(&self, other: &Bindings) -> bool {
        let place = |(valuation, binding, point): (usize, Option<&Binding>, &Point)| {
            point.id().map(|id| (valuation, binding.map(<[Option<Value>]>::to_vec), id))
        };
        let is_plain = |point: &Point| point.id().is_some() && point.times.is_empty();
        std::ptr::eq(self, other)
            || other.standings().all(|(_, _, point)| is_plain(point))
                && self.standings().map(place).eq(other.standings().map(place))
    }

    /// Is a valuation given by some value?
    pub(crate) fn is_realised(&self, valuation: usize) -> bool {
        self.populations[valuation].is_realised
    }

    /// Puts the bindings back where a snapshot says they stood.
    pub(crate) fn restore(
        monitor: &Monitor,
        cache: &mut Cache,
        standings: Vec<(usize, Option<Box<Binding>>, Point)>,
    ) -> Option<Bindings> {
        let mut bindings = Bindings::new(monitor, cache);
        for population in &mut bindings.populations {
            population.abandon(monitor, cache);
        }
        let skeleton = &monitor.compiled.skeleton;
        for (valuation, binding, point) in standings {
            let population = bindings.populations.get_mut(valuation)?;
            match binding {
                None => {
                    population.classes.leave(cache, skeleton, population.unseen);
                    population.unseen = population.classes.enter(cache, skeleton, point, None);
                    population.note_all_due(monitor, cache, population.unseen);
                }
                Some(binding) => {
                    if binding.len() != monitor.compiled.prefix.len() || population.cells.find(&binding).is_some() {
                        return None;
                    }
                    let class = population.classes.enter(cache, skeleton, point, None);
                    let cell = population.cells.insert(&binding, class);
                    population.classes.name_sole(class, cell);
                    population.note_all_due(monitor, cache, class);
                }
            }
        }
        for population in &mut bindings.populations {
            population.due.iter_mut().for_each(|queue| queue.make_contiguous().sort_by_key(|due| due.end));
        }
        Some(bindings)
    }
}
