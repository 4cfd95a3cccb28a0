//! What has been learnt about a formula: its states and the transitions between them, found as traces need them.
//!
//! A step on a known state by a known letter is a look-up. Everything else is computed once and kept, within the bounds
//! of [`CacheLimits`]: transitions are dropped and counted when there are too many; states are never dropped, since traces
//! stand at them, but once there are too many further ones are computed anew at each step and kept by the traces
//! themselves. No bound changes a verdict.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::Arc;

use crate::interval::{Span, Time};
use crate::joint::Joint;
use crate::normal::{Clock, Norm, Norms};
use crate::satisfy::Satisfy;
use crate::slots::Sources;
use crate::state::{Handle, Member, Point, Portable, Residual, Times};
use crate::stepper::{Beginning, Flags, Letter, Skeleton, Stepper};
use crate::verdict::Verdict;

/// The bounds of what monitors learn, and of what traces keep for formulas about data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// States kept by number, the two definite ones included.
    pub states: usize,
    /// Transitions kept outside of tables, and answers about continuations.
    pub transitions: usize,
    /// Rows and happenings that one formula about data may keep for one trace. Beyond that nothing can be told of it any
    /// more: every position is unknown.
    pub rows: usize,
}

impl CacheLimits {
    /// Some tens of megabytes for a formula that really needs them, and some hundreds for rows; most need some kilobytes.
    pub const DEFAULT: CacheLimits = CacheLimits { states: 20_000, transitions: 200_000, rows: 4_000_000 };
}

/// What a [`Cache`] holds and how often it had to let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// States kept by number.
    pub states: usize,
    /// Transitions kept, in tables or outside.
    pub transitions: usize,
    /// How often transitions were dropped because of the limit or on demand.
    pub clears: u64,
    /// Steps that had to be computed although all was known before, because their state was not kept.
    pub uncached_steps: u64,
    /// Some search for a continuation was cut short: verdicts stay true but may come later than they could.
    pub is_partial: bool,
}

/// Formulas with at most this many letter bits have their transitions in a table.
const TABLE_WIDTH: u32 = 8;
const UNKNOWN: u32 = u32::MAX;
/// Set in a table entry that names a move rather than a state.
const MOVE: u32 = 1 << 31;

/// The numbers of the two definite states.
pub(crate) const SATISFIED: u32 = 0;
pub(crate) const VIOLATED: u32 = 1;

/// What is asked of a state, once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    pub(crate) verdict: Verdict,
    pub(crate) at_end: Verdict,
    /// Does an empty letter leave it where it is? Unknown until it has been asked.
    pub(crate) idle: Option<bool>,
    /// The letter bits that can matter.
    support: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    state: u32,
    letter: Letter,
}

#[derive(Clone, Debug)]
struct Transition {
    handle: Handle,
    /// Where the content of the new slots comes from; none if all stay as they are.
    sources: Option<Sources>,
}

/// A transition that changes the file of times.
#[derive(Clone, Debug)]
struct Move {
    target: u32,
    sources: Sources,
}

/// Norms that belong to no kept state.
#[derive(Clone, Debug, Default)]
struct Aside {
    norms: Norms,
    satisfy: Satisfy,
}

/// However few states are kept, so many may be computed aside before it is emptied.
const MOST_ASIDE: usize = 1000;

/// What has been learnt about one formula.
#[derive(Clone, Debug)]
pub struct Cache {
    norms: Norms,
    satisfy: Satisfy,
    states: IndexSet<Residual, FxBuildHasher>,
    info: Vec<Info>,
    /// For each state: is it known to be open and idle? Between two such states nothing needs to be noted.
    calm: Vec<bool>,
    /// By state and letter: the state it leads to, or the number of a move.
    table: Vec<u32>,
    moves: Vec<Move>,
    /// The same for formulas with too many letter bits for a table.
    broad: FxHashMap<(u32, u64), u32>,
    transitions: FxHashMap<Key, Transition>,
    /// Where states that are not kept are stepped.
    aside: Option<Box<Aside>>,
    /// Sets of states whose bindings exclude each other, or do not.
    joint: FxHashMap<Box<[u32]>, bool>,
    limits: CacheLimits,
    clears: u64,
    uncached_steps: u64,
    is_partial: bool,
}

impl Cache {
    pub(crate) fn new(skeleton: &Skeleton, limits: CacheLimits) -> Cache {
        let mut cache = Cache {
            norms: skeleton.norms.clone(),
            satisfy: Satisfy::default(),
            states: IndexSet::default(),
            info: Vec::new(),
            calm: Vec::new(),
            table: Vec::new(),
            moves: Vec::new(),
            broad: FxHashMap::default(),
            transitions: FxHashMap::default(),
            aside: None,
            joint: FxHashMap::default(),
            limits,
            clears: 0,
            uncached_steps: 0,
            is_partial: false,
        };
        for member in [Member::satisfied(), Member::violated()] {
            cache.insert(skeleton, Residual::single(member));
        }
        cache
    }

    /// What it holds, and how often it had to let go.
    pub fn usage(&self) -> CacheUse {
        CacheUse {
            states: self.states.len(),
            transitions: self.transitions.len()
                + self.broad.len()
                + self.table.iter().filter(|target| **target != UNKNOWN).count(),
            clears: self.clears,
            uncached_steps: self.uncached_steps,
            is_partial: self.is_partial || self.satisfy.is_partial,
        }
    }

    /// Drops all transitions and answers. Traces stay where they are.
    pub fn clear(&mut self) {
        self.table.fill(UNKNOWN);
        self.moves.clear();
        self.broad.clear();
        self.transitions.clear();
        self.satisfy.clear();
        self.joint.clear();
        self.aside = None;
        self.clears += 1;
    }

    /// May a trace go from one state to another without anything to be noted?
    #[inline]
    pub(crate) fn is_calm(&self, from: u32, to: u32) -> bool {
        self.calm[from as usize] & self.calm[to as usize]
    }

    /// Where a trace stands before its first position, for a valuation of the rigid bits.
    pub(crate) fn start(&mut self, skeleton: &Skeleton, rigid: usize) -> Point {
        let Beginning { holds, fails, on_empty } = skeleton.starts[rigid];
        let mut stepper = Stepper { norms: &mut self.norms, satisfy: &mut self.satisfy, skeleton };
        let (holds, fails) = (stepper.initial(holds, on_empty), stepper.initial(fails, !on_empty));
        let member = stepper.settled(Member::new(holds, fails));
        let handle = self.keep(skeleton, Residual::single(member));
        Point { handle, times: Times::default() }
    }

    /// The state after a letter of known facts, if it is known and no times change: the hot path.
    #[inline]
    pub(crate) fn look_up(&self, state: u32, bits: u64, width: u32) -> Option<u32> {
        if width > TABLE_WIDTH {
            let bits = bits & self.info[state as usize].support;
            return self.broad.get(&(state, bits)).copied();
        }
        self.table.get((state as usize) << width | bits as usize).copied().filter(|target| *target < MOVE)
    }

    pub(crate) fn verdict(&self, skeleton: &Skeleton, point: &Point) -> Verdict {
        self.ask(skeleton, point, |info| info.verdict, Residual::verdict)
    }

    pub(crate) fn at_end(&self, skeleton: &Skeleton, point: &Point) -> Verdict {
        self.ask(skeleton, point, |info| info.at_end, Residual::at_end)
    }

    fn ask<T>(
        &self,
        skeleton: &Skeleton,
        point: &Point,
        known: impl Fn(&Info) -> T,
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

    /// Reads a residual together with its norms and what is known of continuations.
    pub(crate) fn with_residual<T>(
        &mut self,
        skeleton: &Skeleton,
        point: &Point,
        read: impl FnOnce(&Residual, &mut Norms, &mut Satisfy) -> T,
    ) -> T {
        match &point.handle {
            Handle::Cached(id) => read(&self.states[*id as usize], &mut self.norms, &mut self.satisfy),
            Handle::Loose(portable) => {
                let mut norms = skeleton.norms.clone();
                let residual = portable.import(&mut norms);
                let residual = residual.unwrap_or_else(|| Residual::single(Member::violated()));
                read(&residual, &mut norms, &mut Satisfy::default())
            }
        }
    }

    /// Would an empty letter, without any time passing, leave a trace where it is?
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
                let transition = self.transition(skeleton, id, Letter::Facts { bits: 0, unknown: 0, ripe: [].into() });
                matches!(transition.handle, Handle::Cached(target) if target == id) && transition.sources.is_none()
            };
        self.info[id as usize].idle = Some(idle);
        self.calm[id as usize] = idle && id > VIOLATED;
        idle
    }

    /// Where a trace stands after a position with these facts at this time.
    ///
    /// Deadlines before that time must have been expired.
    pub(crate) fn step(&mut self, skeleton: &Skeleton, point: &Point, bits: u64, unknown: u64, time: Time) -> Point {
        if let (Handle::Cached(id), 0, false) = (&point.handle, unknown, skeleton.waits)
            && let Some(known) = self.known(*id, point, bits, skeleton.width, time)
        {
            return known;
        }
        // A bound that begins at once has no lower end to reach.
        let is_ripe = |clock: Clock, span: Span| clock.from.0 > 0 && clock.from <= span;
        let ripe = flags(skeleton, self.clocks(point), &point.times, time, is_ripe);
        self.advance(skeleton, point, Letter::Facts { bits, unknown, ripe }, time)
    }

    /// Whether a position breaks one of the ways a trace can stand that was not broken before.
    pub(crate) fn may_break(
        &mut self,
        skeleton: &Skeleton,
        point: &Point,
        bits: u64,
        unknown: u64,
        time: Time,
    ) -> bool {
        let is_ripe = |clock: Clock, span: Span| clock.from.0 > 0 && clock.from <= span;
        let ripe = flags(skeleton, self.clocks(point), &point.times, time, is_ripe);
        let support = point.id().map_or(u64::MAX, |id| self.info[id as usize].support);
        let letter = Letter::Facts { bits: bits & support, unknown: unknown & support, ripe };
        self.with_residual(skeleton, point, |residual, norms, satisfy| {
            let open = residual.members.iter().filter(|member| !member.form().is_definite());
            let open = Residual { members: open.cloned().collect(), clocks: residual.clocks.clone() };
            let (after, _) = Stepper { norms, satisfy, skeleton }.step(&open, &letter);
            after.members.iter().any(|member| member.form() == Verdict::Violated)
        })
    }

    /// Where a trace stands when no position before this time can come any more; none if nothing expires.
    pub(crate) fn expire(&mut self, skeleton: &Skeleton, point: &Point, time: Time) -> Option<Point> {
        let is_over = |clock: Clock, span: Span| clock.to.is_some_and(|to| span > to);
        let expired = flags(skeleton, self.clocks(point), &point.times, time, is_over);
        if expired.is_empty() {
            return None;
        }
        Some(self.advance(skeleton, point, Letter::Expired(expired), time))
    }

    /// Where a trace would stand if one of its deadlines had passed.
    pub(crate) fn expirations(&mut self, skeleton: &Skeleton, point: &Point) -> Vec<Point> {
        let clocks: Vec<u8> = self.clocks(point).to_vec();
        let mut points = Vec::new();
        for slot in 0..clocks.len() {
            // The oldest deadline of a clock passes first.
            let is_oldest = slot == 0 || clocks[slot - 1] != clocks[slot];
            if is_oldest && skeleton.clocks[usize::from(clocks[slot])].to.is_some() {
                let mut words = vec![0u64; slot / 64 + 1];
                words[slot / 64] = 1 << (slot % 64);
                points.push(self.advance(skeleton, point, Letter::Expired(words.into()), Time(0)));
            }
        }
        points
    }

    /// The earliest moment after which something expires.
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

    /// Where the table leads, if it knows.
    #[inline]
    fn known(&self, id: u32, point: &Point, bits: u64, width: u32, time: Time) -> Option<Point> {
        if width > TABLE_WIDTH {
            return None;
        }
        match *self.table.get((id as usize) << width | bits as usize)? {
            UNKNOWN => None,
            target if target < MOVE => Some(Point { handle: Handle::Cached(target), times: point.times.clone() }),
            number => {
                let Move { target, sources } = &self.moves[(number & !MOVE) as usize];
                Some(Point { handle: Handle::Cached(*target), times: moved(&point.times, sources, time) })
            }
        }
    }

    fn advance(&mut self, skeleton: &Skeleton, point: &Point, letter: Letter, time: Time) -> Point {
        let transition = match &point.handle {
            Handle::Cached(id) => self.transition(skeleton, *id, letter),
            Handle::Loose(portable) => self.uncached(skeleton, portable, &letter),
        };
        let times = match &transition.sources {
            None => point.times.clone(),
            Some(sources) => moved(&point.times, sources, time),
        };
        Point { handle: transition.handle, times }
    }

    /// A step of a state that is not kept: in an arena aside, which is dropped when it has grown.
    fn uncached(&mut self, skeleton: &Skeleton, portable: &Portable, letter: &Letter) -> Transition {
        self.uncached_steps += 1;
        // What earlier uncached steps found out is of use to this one, within the same bounds as the rest.
        let mut aside = self.aside.take().unwrap_or_default();
        let most = self.limits.states.max(MOST_ASIDE).saturating_mul(64);
        if aside.norms.len() == 0 || aside.norms.len() + aside.satisfy.len() > most {
            *aside = Aside { norms: skeleton.norms.clone(), satisfy: Satisfy::default() };
        }
        let mut stepper = Stepper { norms: &mut aside.norms, satisfy: &mut aside.satisfy, skeleton };
        // INVARIANT: a loose residual was exported by this cache or checked when it was adopted.
        let Some(residual) = portable.import(stepper.norms) else {
            return Transition { handle: Handle::Cached(VIOLATED), sources: Some([].into()) };
        };
        let (residual, sources) = stepper.step(&residual, letter);
        self.is_partial |= aside.satisfy.is_partial;
        let handle = self.keep_from(skeleton, residual, &aside.norms);
        self.aside = Some(aside);
        Transition { handle, sources }
    }

    fn transition(&mut self, skeleton: &Skeleton, id: u32, mut letter: Letter) -> Transition {
        let width = skeleton.width;
        let mut in_table = None;
        if let Letter::Facts { bits, unknown, ripe } = &mut letter {
            let support = self.info[id as usize].support;
            *bits &= support;
            *unknown &= support;
            if *unknown == 0 && ripe.is_empty() {
                in_table = Some(*bits);
                if let Some(target) = self.look_up(id, *bits, width) {
                    return Transition { handle: Handle::Cached(target), sources: None };
                }
            }
        }
        let key = Key { state: id, letter };
        if let Some(known) = self.transitions.get(&key) {
            return known.clone();
        }
        let residual = self.states[id as usize].clone();
        let mut stepper = Stepper { norms: &mut self.norms, satisfy: &mut self.satisfy, skeleton };
        let (residual, sources) = stepper.step(&residual, &key.letter);
        let transition = Transition { handle: self.keep(skeleton, residual), sources };
        let kept = self.transitions.len() + self.broad.len() + self.moves.len() + self.satisfy.len();
        if kept >= self.limits.transitions {
            self.clear();
        }
        match (in_table, &transition) {
            (Some(bits), Transition { handle: Handle::Cached(target), sources: None }) if width > TABLE_WIDTH => {
                self.broad.insert((id, bits), *target);
            }
            (Some(bits), Transition { handle: Handle::Cached(target), sources }) if width <= TABLE_WIDTH => {
                let entry = match sources {
                    None => *target,
                    Some(sources) => {
                        self.moves.push(Move { target: *target, sources: sources.clone() });
                        (self.moves.len() - 1) as u32 | MOVE
                    }
                };
                self.fill_row(id, bits, width, entry);
            }
            (_, Transition { handle: Handle::Cached(_), .. }) => {
                self.transitions.insert(key, transition.clone());
            }
            // A loose target is not worth keeping: it would outgrow the limit that made it loose.
            (_, Transition { handle: Handle::Loose(_), .. }) => self.uncached_steps += 1,
        }
        transition
    }

    /// Every letter that agrees on the bits that matter leads to the same state.
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

    /// Keeps a residual by number if there is room.
    fn keep(&mut self, skeleton: &Skeleton, residual: Residual) -> Handle {
        match self.states.get_index_of(&residual) {
            Some(index) => Handle::Cached(index as u32),
            None if self.is_full() => Handle::Loose(Arc::new(Portable::export(&residual, &self.norms))),
            None => Handle::Cached(self.insert(skeleton, residual)),
        }
    }

    /// The same for a residual over another arena.
    fn keep_from(&mut self, skeleton: &Skeleton, residual: Residual, norms: &Norms) -> Handle {
        if let [member] = &residual.members[..] {
            match member.form() {
                Verdict::Satisfied => return Handle::Cached(SATISFIED),
                Verdict::Violated => return Handle::Cached(VIOLATED),
                Verdict::Inconclusive => {}
            }
        }
        let portable = Portable::export(&residual, norms);
        if self.is_full() {
            return Handle::Loose(Arc::new(portable));
        }
        match portable.import(&mut self.norms) {
            Some(residual) => self.keep(skeleton, residual),
            None => Handle::Loose(Arc::new(portable)),
        }
    }

    /// The residual of a snapshot, kept like any other; none if it is not a residual of this formula.
    pub(crate) fn adopt(&mut self, skeleton: &Skeleton, portable: &Portable) -> Option<Handle> {
        let mut norms = skeleton.norms.clone();
        let residual = portable.import(&mut norms)?;
        let fits = norms.highest_bit().is_none_or(|bit| u32::from(bit) < skeleton.width)
            && residual.clocks.iter().all(|clock| usize::from(*clock) < skeleton.clocks.len());
        fits.then(|| self.keep_from(skeleton, residual, &norms))
    }

    /// Can points of bindings that share some facts not all be satisfied together? `own` are the bits each binding has
    /// for itself. One binding stands for all that stand where it stands: they can do as it does.
    pub(crate) fn conflict(&mut self, skeleton: &Skeleton, points: &[Point], own: u64) -> bool {
        let mut states: Vec<u32> = points.iter().filter_map(Point::id).collect();
        states.sort_unstable();
        states.dedup();
        if let Some(known) = self.joint.get(&states[..]) {
            return *known;
        }
        let conflict = Joint::new(skeleton, own, states.len()).is_some_and(|mut joint| {
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

    /// The residual of a point by itself.
    pub(crate) fn portable(&self, point: &Point) -> Portable {
        match &point.handle {
            Handle::Cached(id) => Portable::export(&self.states[*id as usize], &self.norms),
            Handle::Loose(portable) => Portable::clone(portable),
        }
    }

    fn is_full(&self) -> bool {
        self.states.len() >= self.limits.states.max(2) || self.norms.len() >= self.limits.states.saturating_mul(64)
    }

    fn insert(&mut self, skeleton: &Skeleton, residual: Residual) -> u32 {
        let mut seen = rustc_hash::FxHashSet::default();
        let support = residual
            .members
            .iter()
            .flat_map(Member::clauses)
            .flatten()
            .fold(0, |bits, obligation| bits | self.norms.support(obligation.norm(), &mut seen));
        let (verdict, at_end) = (residual.verdict(), residual.at_end());
        let (index, _) = self.states.insert_full(residual);
        self.info.push(Info { verdict, at_end, idle: None, support });
        self.calm.push(false);
        if skeleton.width <= TABLE_WIDTH {
            self.table.resize((index + 1) << skeleton.width, UNKNOWN);
        }
        index as u32
    }
}

/// The file of times after a transition.
fn moved(times: &Times, sources: &Sources, now: Time) -> Times {
    sources.iter().map(|source| source.map_or(now, |slot| times[usize::from(slot)])).collect()
}

/// The slots for which something holds of their clock and how long ago they began.
fn flags(skeleton: &Skeleton, clocks: &[u8], times: &[Time], now: Time, holds: impl Fn(Clock, Span) -> bool) -> Flags {
    let mut words: Vec<u64> = Vec::new();
    for (index, (clock, start)) in clocks.iter().zip(times).enumerate() {
        if holds(skeleton.clocks[usize::from(*clock)], now.since(*start)) {
            words.resize(index / 64 + 1, 0);
            words[index / 64] |= 1 << (index % 64);
        }
    }
    words.into()
}
