//! The states and transitions of a formula, computed as traces need them.
//!
//! A step on a known state by a known letter is a look-up. Everything else is computed once and cached, within
//! [`CacheLimits`]. Too many transitions are dropped, and the drops are counted. States are never dropped, because
//! traces refer to them; beyond the limit, traces keep further states themselves and compute each step. No limit
//! changes a verdict.

mod limits;
mod possible;
mod restart;
mod work;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::Arc;

use crate::interval::{Span, Time};
use crate::joint_search::JointSearch;
use crate::norm::{Clock, Norm, Norms};
use crate::satisfiability::Satisfiability;
use crate::skeleton::{Skeleton, StartNorms};
use crate::slots::SlotSources;
use crate::state::{Handle, Member, Point, PortableResidual, Residual, Times};
use crate::stepper::{SlotSet, StepInput, Stepper};
use crate::verdict::Verdict;
use crate::work::Work;
pub use limits::{CacheLimits, CacheUse};
use restart::restart_decided;

/// Formulas with at most this many letter bits have their transitions in a table.
const MAX_TABLE_BITS: u32 = 8;
const UNKNOWN_TRANSITION: u32 = u32::MAX;
/// The flag of a table entry that is a timed transition, not a state.
const TIMED_TRANSITION: u32 = 1 << 31;

/// The numbers of the two definite states.
pub(crate) const SATISFIED_STATE: u32 = 0;
pub(crate) const VIOLATED_STATE: u32 = 1;

/// Returns the number of the state with a definite verdict.
pub(crate) fn definite_state(verdict: Verdict) -> u32 {
    if verdict == Verdict::Satisfied { SATISFIED_STATE } else { VIOLATED_STATE }
}

/// The properties of a state, computed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateInfo {
    pub(crate) verdict: Verdict,
    pub(crate) at_end: Verdict,
    /// Whether it is violated under some resolution of unknown facts.
    may_be_violated: bool,
    /// Whether an empty letter leaves it unchanged; none until asked.
    pub(crate) idle: Option<bool>,
    /// The letter bits that can matter.
    support: u64,
    /// Whether the formula exceeded a limit.
    is_stopped: bool,
    /// How many obligations and moments it has, and how many possible states are open.
    size: u32,
    open: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TransitionKey {
    state: u32,
    letter: StepInput,
}

#[derive(Clone, Debug)]
struct Transition {
    handle: Handle,
    /// The sources of the new slots; none if all slots stay as they are.
    sources: Option<SlotSources>,
}

/// A transition that changes the times in slots.
#[derive(Clone, Debug)]
struct TimedTransition {
    target: u32,
    sources: SlotSources,
}

/// Norms that belong to no cached state.
#[derive(Clone, Debug, Default)]
struct ScratchArena {
    norms: Norms,
    satisfy: Satisfiability,
}

/// The least capacity of the scratch arena, in states, before it is emptied.
const MIN_SCRATCH_STATES: usize = 1000;

/// The cached states and transitions of one formula.
#[derive(Clone, Debug)]
pub struct Cache {
    norms: Norms,
    satisfy: Satisfiability,
    states: IndexSet<Residual, FxBuildHasher>,
    info: Vec<StateInfo>,
    /// For each state, whether it is known to be open and idle. A transition between two such states needs no
    /// bookkeeping.
    calm: Vec<bool>,
    /// By state and letter: the next state, or the number of a timed transition.
    table: Vec<u32>,
    moves: Vec<TimedTransition>,
    /// By state and letter: the next state, for formulas with too many letter bits for a table.
    broad: FxHashMap<(u32, u64), u32>,
    transitions: FxHashMap<TransitionKey, Transition>,
    /// The arena for steps of states that are not cached.
    aside: Option<Box<ScratchArena>>,
    /// For sets of states, whether their bindings exclude each other.
    joint: FxHashMap<Box<[u32]>, bool>,
    /// For a formula that restarts, the residual that possible states with a verdict restart in.
    restart: Option<Arc<PortableResidual>>,
    limits: CacheLimits,
    clears: u64,
    uncached_steps: u64,
    is_partial: bool,
    /// The work of all steps that were computed.
    spent: u64,
}

impl Cache {
    pub(crate) fn new(skeleton: &Skeleton, limits: CacheLimits) -> Cache {
        let mut cache = Cache {
            norms: skeleton.norms.clone(),
            satisfy: Satisfiability::default(),
            states: IndexSet::default(),
            info: Vec::new(),
            calm: Vec::new(),
            table: Vec::new(),
            moves: Vec::new(),
            broad: FxHashMap::default(),
            transitions: FxHashMap::default(),
            aside: None,
            joint: FxHashMap::default(),
            restart: None,
            limits,
            clears: 0,
            uncached_steps: 0,
            is_partial: false,
            spent: 0,
        };
        for member in [Member::satisfied(), Member::violated()] {
            cache.insert(skeleton, Residual::single(member));
        }
        cache
    }

    /// Returns its size, and how often it was cleared.
    pub fn usage(&self) -> CacheUse {
        CacheUse {
            states: self.states.len(),
            transitions: self.transitions.len()
                + self.broad.len()
                + self.table.iter().filter(|target| **target != UNKNOWN_TRANSITION).count(),
            clears: self.clears,
            uncached_steps: self.uncached_steps,
            is_partial: self.is_partial || self.satisfy.is_partial,
        }
    }

    /// Drops all transitions and answers. Traces keep their states.
    pub fn clear(&mut self) {
        self.table.fill(UNKNOWN_TRANSITION);
        self.moves.clear();
        self.broad.clear();
        self.transitions.clear();
        self.satisfy.clear();
        self.joint.clear();
        self.aside = None;
        self.clears += 1;
    }

    /// Whether a transition between two states needs no bookkeeping.
    #[inline]
    pub(crate) fn is_calm(&self, from: u32, to: u32) -> bool {
        self.calm[from as usize] & self.calm[to as usize]
    }

    /// Returns a stepper that works in this cache.
    fn stepper<'a>(&'a mut self, skeleton: &'a Skeleton) -> Stepper<'a> {
        Stepper {
            norms: &mut self.norms,
            satisfy: &mut self.satisfy,
            skeleton,
            max_resolutions: self.limits.resolutions,
        }
    }

    /// Returns the start state, for a valuation of the rigid comparisons.
    pub(crate) fn start(&mut self, skeleton: &Skeleton, rigid: usize) -> Point {
        let StartNorms { holds, fails, on_empty } = skeleton.starts[rigid];
        self.norms.work = Work::within(self.limits.work);
        let mut stepper = self.stepper(skeleton);
        let (holds, fails) = (stepper.initial(holds, on_empty), stepper.initial(fails, !on_empty));
        let member = stepper.settle(Member::new(holds, fails));
        let is_exceeded = self.norms.work.is_exceeded();
        self.norms.work = Work::default();
        let residual = if is_exceeded { Residual::stopped() } else { Residual::single(member) };
        let handle = self.keep(skeleton, residual);
        Point { handle, times: Times::default() }
    }

    /// Returns the next state for a letter of known facts, if it is cached and no times change: the hot path.
    #[inline]
    pub(crate) fn look_up(&self, state: u32, bits: u64, width: u32) -> Option<u32> {
        if width > MAX_TABLE_BITS {
            let bits = bits & self.info[state as usize].support;
            return self.broad.get(&(state, bits)).copied();
        }
        self.table.get((state as usize) << width | bits as usize).copied().filter(|target| *target < TIMED_TRANSITION)
    }

    pub(crate) fn verdict(&self, skeleton: &Skeleton, point: &Point) -> Verdict {
        self.ask(skeleton, point, |info| info.verdict, Residual::verdict)
    }

    pub(crate) fn end_verdict(&self, skeleton: &Skeleton, point: &Point) -> Verdict {
        self.ask(skeleton, point, |info| info.at_end, Residual::end_verdict)
    }

    fn ask<T>(
        &self,
        skeleton: &Skeleton,
        point: &Point,
        known: impl Fn(&StateInfo) -> T,
        computed: impl Fn(&Residual) -> T,
    ) -> T {
        match &point.handle {
            Handle::Cached(id) => known(&self.info[*id as usize]),
            Handle::Loose(portable) => {
                let residual = portable.import(&mut skeleton.norms.clone());
                computed(&residual.unwrap_or_else(|| Residual::single(Member::violated())))
            }
        }
    }

    /// Calls a function with a residual, its norms, and the answers about continuations.
    pub(crate) fn with_residual<T>(
        &mut self,
        skeleton: &Skeleton,
        point: &Point,
        read: impl FnOnce(&Residual, &mut Norms, &mut Satisfiability) -> T,
    ) -> T {
        match &point.handle {
            Handle::Cached(id) => read(&self.states[*id as usize], &mut self.norms, &mut self.satisfy),
            Handle::Loose(portable) => {
                let mut norms = skeleton.norms.clone();
                let residual = portable.import(&mut norms);
                let residual = residual.unwrap_or_else(|| Residual::single(Member::violated()));
                read(&residual, &mut norms, &mut Satisfiability::default())
            }
        }
    }

    /// Whether an empty letter, without any time passing, leaves a state unchanged.
    pub(crate) fn is_idle(&mut self, skeleton: &Skeleton, point: &Point) -> bool {
        match point.handle {
            Handle::Cached(id) => self.is_idle_at(skeleton, id),
            Handle::Loose(_) => false,
        }
    }

    #[inline]
    pub(crate) fn is_idle_at(&mut self, skeleton: &Skeleton, id: u32) -> bool {
        if let Some(idle) = self.info[id as usize].idle {
            return idle;
        }
        // A slot that waits for its lower bound changes its state by the mere passing of time.
        let idle = self.states[id as usize].clocks.iter().all(|clock| skeleton.clocks[usize::from(*clock)].from.0 == 0)
            && {
                let transition = self.transition(
                    skeleton,
                    id,
                    StepInput::Facts { bits: 0, unknown: 0, ripe: [].into(), near: [].into() },
                );
                matches!(transition.handle, Handle::Cached(target) if target == id) && transition.sources.is_none()
            };
        self.info[id as usize].idle = Some(idle);
        self.calm[id as usize] =
            idle && id != SATISFIED_STATE && !self.may_be_violated_at(id) && !self.is_stopped_at(id);
        idle
    }

    /// Returns the state after a position with this letter at this time.
    ///
    /// Deadlines before that time must have been expired.
    pub(crate) fn step(&mut self, skeleton: &Skeleton, point: &Point, bits: u64, unknown: u64, time: Time) -> Point {
        if let (Handle::Cached(id), 0, false) = (&point.handle, unknown, skeleton.waits)
            && let Some(known) = self.look_up_point(*id, point, bits, skeleton.width, time)
        {
            return known;
        }
        let letter = self.letter_at(skeleton, point, bits, unknown, time);
        self.advance(skeleton, point, letter, time)
    }

    /// Returns the input of a position at a time.
    fn letter_at(&self, skeleton: &Skeleton, point: &Point, bits: u64, unknown: u64, time: Time) -> StepInput {
        let clocks = self.clocks(point);
        let ripe = select_slots(skeleton, clocks, &point.times, time, Clock::is_ripe);
        let near = select_slots(skeleton, clocks, &point.times, time, Clock::reaches_new_mark);
        StepInput::Facts { bits, unknown, ripe, near }
    }

    /// Returns the state after every deadline before this time has expired; none if none expires.
    pub(crate) fn expire(&mut self, skeleton: &Skeleton, point: &Point, time: Time) -> Option<Point> {
        let expired = select_slots(skeleton, self.clocks(point), &point.times, time, Clock::is_over);
        if expired.is_empty() {
            return None;
        }
        Some(self.advance(skeleton, point, StepInput::Expired(expired), time))
    }

    /// Returns the states after each single deadline has expired.
    pub(crate) fn expirations(&mut self, skeleton: &Skeleton, point: &Point) -> Vec<Point> {
        let clocks: Vec<u8> = self.clocks(point).to_vec();
        let mut points = Vec::new();
        for slot in 0..clocks.len() {
            // The oldest deadline of a clock expires first.
            let is_oldest = slot == 0 || clocks[slot - 1] != clocks[slot];
            if is_oldest && skeleton.clocks[usize::from(clocks[slot])].to.is_some() {
                let mut words = vec![0u64; slot / 64 + 1];
                words[slot / 64] = 1 << (slot % 64);
                points.push(self.advance(skeleton, point, StepInput::Expired(words.into()), Time(0)));
            }
        }
        points
    }

    /// Returns the earliest deadline.
    pub(crate) fn deadline(&self, skeleton: &Skeleton, point: &Point) -> Option<Time> {
        let ends = self
            .clocks(point)
            .iter()
            .zip(point.times.iter())
            .filter_map(|(clock, start)| skeleton.clocks[usize::from(*clock)].to.map(|to| start.plus(to)));
        ends.min()
    }

    pub(crate) fn clocks<'a>(&'a self, point: &'a Point) -> &'a [u8] {
        match &point.handle {
            Handle::Cached(id) => &self.states[*id as usize].clocks,
            Handle::Loose(portable) => portable.clocks(),
        }
    }

    /// Returns the next point from the table, if it is cached.
    #[inline]
    fn look_up_point(&self, id: u32, point: &Point, bits: u64, width: u32, time: Time) -> Option<Point> {
        if width > MAX_TABLE_BITS {
            return None;
        }
        match *self.table.get((id as usize) << width | bits as usize)? {
            UNKNOWN_TRANSITION => None,
            target if target < TIMED_TRANSITION => {
                Some(Point { handle: Handle::Cached(target), times: point.times.clone() })
            }
            number => {
                let TimedTransition { target, sources } = &self.moves[(number & !TIMED_TRANSITION) as usize];
                Some(Point { handle: Handle::Cached(*target), times: move_times(&point.times, sources, time) })
            }
        }
    }

    fn advance(&mut self, skeleton: &Skeleton, point: &Point, letter: StepInput, time: Time) -> Point {
        let transition = match &point.handle {
            Handle::Cached(id) => self.transition(skeleton, *id, letter),
            Handle::Loose(portable) => self.step_uncached(skeleton, portable, &letter),
        };
        let times = match &transition.sources {
            None => point.times.clone(),
            Some(sources) => move_times(&point.times, sources, time),
        };
        Point { handle: transition.handle, times }
    }

    /// Steps a state that is not cached, in a scratch arena that is dropped when it has grown.
    fn step_uncached(&mut self, skeleton: &Skeleton, portable: &PortableResidual, letter: &StepInput) -> Transition {
        self.uncached_steps += 1;
        // Uncached steps share their results, within the limits of the cache.
        let mut aside = self.aside.take().unwrap_or_default();
        let most = self.limits.states.max(MIN_SCRATCH_STATES).saturating_mul(64);
        if aside.norms.len() == 0 || aside.norms.len() + aside.satisfy.len() > most {
            *aside = ScratchArena { norms: skeleton.norms.clone(), satisfy: Satisfiability::default() };
        }
        let mut stepper = Stepper {
            norms: &mut aside.norms,
            satisfy: &mut aside.satisfy,
            skeleton,
            max_resolutions: self.limits.resolutions,
        };
        // INVARIANT: a loose residual was exported by this cache or checked when it was adopted.
        let Some(residual) = portable.import(stepper.norms) else {
            return Transition { handle: Handle::Cached(VIOLATED_STATE), sources: Some([].into()) };
        };
        // As for a cached state: bits that cannot matter are no work.
        let mut letter = letter.clone();
        letter.keep_bits(residual.support(stepper.norms));
        stepper.norms.work = Work::within(self.limits.work);
        let (residual, sources) = stepper.step(&residual, &letter);
        self.spent = self.spent.saturating_add(std::mem::take(&mut aside.norms.work).spent());
        let residual = restart_decided(self.restart.as_deref(), residual, &mut aside.norms);
        self.is_partial |= aside.satisfy.is_partial;
        let handle = self.keep_foreign(skeleton, residual, &aside.norms);
        self.aside = Some(aside);
        Transition { handle, sources }
    }

    fn transition(&mut self, skeleton: &Skeleton, id: u32, mut letter: StepInput) -> Transition {
        let width = skeleton.width;
        let mut in_table = None;
        letter.keep_bits(self.info[id as usize].support);
        if let StepInput::Facts { bits, unknown: 0, ripe, near } = &letter
            && ripe.is_empty()
            && near.is_empty()
        {
            in_table = Some(*bits);
            if let Some(target) = self.look_up(id, *bits, width) {
                return Transition { handle: Handle::Cached(target), sources: None };
            }
        }
        let key = TransitionKey { state: id, letter };
        if let Some(known) = self.transitions.get(&key) {
            return known.clone();
        }
        let residual = self.states[id as usize].clone();
        self.norms.work = Work::within(self.limits.work);
        let mut stepper = self.stepper(skeleton);
        let (residual, sources) = stepper.step(&residual, &key.letter);
        self.spent = self.spent.saturating_add(std::mem::take(&mut self.norms.work).spent());
        let residual = restart_decided(self.restart.as_deref(), residual, &mut self.norms);
        let transition = Transition { handle: self.keep(skeleton, residual), sources };
        let kept = self.transitions.len() + self.broad.len() + self.moves.len() + self.satisfy.len();
        if kept >= self.limits.transitions {
            self.clear();
        }
        match (in_table, &transition) {
            (Some(bits), Transition { handle: Handle::Cached(target), sources: None }) if width > MAX_TABLE_BITS => {
                self.broad.insert((id, bits), *target);
            }
            (Some(bits), Transition { handle: Handle::Cached(target), sources }) if width <= MAX_TABLE_BITS => {
                let entry = match sources {
                    None => *target,
                    Some(sources) => {
                        self.moves.push(TimedTransition { target: *target, sources: sources.clone() });
                        (self.moves.len() - 1) as u32 | TIMED_TRANSITION
                    }
                };
                self.fill_row(id, bits, width, entry);
            }
            (_, Transition { handle: Handle::Cached(_), .. }) => {
                self.transitions.insert(key, transition.clone());
            }
            // A loose target is not cached: it would outgrow the limit that made it loose.
            (_, Transition { handle: Handle::Loose(_), .. }) => self.uncached_steps += 1,
        }
        transition
    }

    /// Fills the table for every letter that agrees on the bits that matter.
    fn fill_row(&mut self, id: u32, bits: u64, width: u32, target: u32) {
        let free = !self.info[id as usize].support & ((1 << width) - 1);
        let row = (id as usize) << width;
        let mut rest = 0;
        loop {
            self.table[row | (bits | rest) as usize] = target;
            if rest == free {
                return;
            }
            rest = rest.wrapping_sub(free) & free;
        }
    }

    /// Caches a residual if there is room, and returns its handle.
    fn keep(&mut self, skeleton: &Skeleton, residual: Residual) -> Handle {
        match self.states.get_index_of(&residual) {
            Some(index) => Handle::Cached(index as u32),
            None if self.is_full() => Handle::Loose(Arc::new(PortableResidual::export(&residual, &self.norms))),
            None => Handle::Cached(self.insert(skeleton, residual)),
        }
    }

    /// Caches a residual of another arena, like [`Cache::keep`].
    fn keep_foreign(&mut self, skeleton: &Skeleton, residual: Residual, norms: &Norms) -> Handle {
        if let [member] = &residual.members[..] {
            match member.formal_verdict() {
                Verdict::Satisfied => return Handle::Cached(SATISFIED_STATE),
                Verdict::Violated => return Handle::Cached(VIOLATED_STATE),
                Verdict::Inconclusive => {}
            }
        }
        let portable = PortableResidual::export(&residual, norms);
        if self.is_full() {
            return Handle::Loose(Arc::new(portable));
        }
        match portable.import(&mut self.norms) {
            Some(residual) => self.keep(skeleton, residual),
            None => Handle::Loose(Arc::new(portable)),
        }
    }

    /// Caches the residual of a snapshot; none if it is not a residual of this formula.
    pub(crate) fn adopt(&mut self, skeleton: &Skeleton, portable: &PortableResidual) -> Option<Handle> {
        let mut norms = skeleton.norms.clone();
        let residual = portable.import(&mut norms)?;
        let fits = norms.highest_bit().is_none_or(|bit| u32::from(bit) < skeleton.width)
            && residual.clocks.iter().all(|clock| usize::from(*clock) < skeleton.clocks.len());
        fits.then(|| self.keep_foreign(skeleton, residual, &norms))
    }

    /// Whether bindings at these points exclude each other through the facts they share. `own` are the bits of one
    /// binding alone. One binding represents all others in its state.
    pub(crate) fn has_conflict(&mut self, skeleton: &Skeleton, points: &[Point], own: u64) -> bool {
        let mut states: Vec<u32> = points.iter().filter_map(Point::id).collect();
        states.sort_unstable();
        states.dedup();
        if let Some(known) = self.joint.get(&states[..]) {
            return *known;
        }
        let conflict = JointSearch::new(skeleton, own, states.len()).is_some_and(|mut joint| {
            let parts = states.iter().enumerate().map(|(index, state)| {
                let residual = &self.states[*state as usize];
                joint.add(residual, &self.norms, index)
            });
            let parts: Vec<Norm> = parts.collect();
            !joint.can_be_met(&parts)
        });
        self.joint.insert(states.into(), conflict);
        conflict
    }

    /// Returns the residual of a point with its own norms.
    pub(crate) fn portable(&self, point: &Point) -> PortableResidual {
        match &point.handle {
            Handle::Cached(id) => PortableResidual::export(&self.states[*id as usize], &self.norms),
            Handle::Loose(portable) => PortableResidual::clone(portable),
        }
    }

    fn is_full(&self) -> bool {
        self.states.len() >= self.limits.states.max(2) || self.norms.len() >= self.limits.states.saturating_mul(64)
    }

    fn insert(&mut self, skeleton: &Skeleton, residual: Residual) -> u32 {
        let support = residual.support(&self.norms);
        let (verdict, at_end, may_be_violated) =
            (residual.verdict(), residual.end_verdict(), residual.may_be_violated());
        let (is_stopped, size) = (residual.is_stopped(), residual.size() as u32);
        let open = residual.members.iter().filter(|member| !member.formal_verdict().is_definite()).count() as u32;
        let (index, _) = self.states.insert_full(residual);
        self.info.push(StateInfo { verdict, at_end, may_be_violated, idle: None, support, is_stopped, size, open });
        self.calm.push(false);
        if skeleton.width <= MAX_TABLE_BITS {
            self.table.resize((index + 1) << skeleton.width, UNKNOWN_TRANSITION);
        }
        index as u32
    }
}

/// Returns the times in slots after a transition.
fn move_times(times: &Times, sources: &SlotSources, now: Time) -> Times {
    sources.iter().map(|source| source.map_or(now, |slot| times[usize::from(slot)])).collect()
}

/// Returns the slots whose clock and age satisfy a condition.
fn select_slots(
    skeleton: &Skeleton,
    clocks: &[u8],
    times: &[Time],
    now: Time,
    holds: impl Fn(Clock, Span) -> bool,
) -> SlotSet {
    let mut words: Vec<u64> = Vec::new();
    for (index, (clock, start)) in clocks.iter().zip(times).enumerate() {
        if holds(skeleton.clocks[usize::from(*clock)], now.since(*start)) {
            words.resize(index / 64 + 1, 0);
            words[index / 64] |= 1 << (index % 64);
        }
    }
    words.into()
}
