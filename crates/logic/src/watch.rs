//! Many monitors on many traces.
//!
//! A [`Watch`] holds monitors and what has been learnt about them; a [`Standing`] is where one trace stands with all of
//! them. Any number of standings share a watch: what one trace makes it learn, the others find ready. An index from the
//! names of facts to the monitors that ask for them finds the few that a position touches; a monitor that is not touched
//! and whose state an empty letter leaves alone costs nothing.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::binding::{Bindings, Hit, Scene};
use crate::cache::{Cache, CacheUse, Limits, SATISFIED, VIOLATED};
use crate::facts::Facts;
use crate::formula::Arena;
use crate::interval::Time;
use crate::letter::read;
use crate::monitor::Monitor;
use crate::observation::{Name, Observation};
use crate::probe::Binding;
use crate::sentence::{Sentence, residual_of};
use crate::state::Point;
use crate::term::Value;
use crate::verdict::Verdict;

/// What happens when a verdict becomes definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum After {
    /// It stands for the rest of the trace.
    #[default]
    Latch,
    /// It is counted and the formula starts anew behind the deciding position.
    Reset,
}

/// The number of a monitor in its [`Watch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorId(u32);

/// A definite verdict, at the position or tick that brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The monitor that decided.
    pub monitor: MonitorId,
    /// Satisfied or violated.
    pub verdict: Verdict,
    /// For a quantified formula, the values that brought the verdict, in the order of [`Monitor::variables`]; none for
    /// a variable stands for every value never seen.
    pub binding: Option<Vec<Option<Value>>>,
}

/// Monitors, and what has been learnt about them.
///
/// ```
/// use lictor_logic::{After, Arena, Facts, Monitor, Verdict, Watch};
/// let mut arena = Arena::new();
/// let formula = arena.parse("G(request -> F answer)").unwrap();
/// let mut watch = Watch::new();
/// let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
/// let mut standing = watch.start();
/// watch.step(&mut standing, &Facts::of(["request"]));
/// assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
/// assert_eq!(watch.end(&mut standing, id), Verdict::Violated);
/// watch.step(&mut standing, &Facts::of(["answer"]));
/// assert_eq!(watch.end(&mut standing, id), Verdict::Satisfied);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Watch {
    entries: Vec<Option<Entry>>,
    names: FxHashMap<Arc<str>, Name>,
    /// For each name, who asks for it.
    index: Vec<Vec<Asker>>,
    /// Monitors that must see every position whole.
    whole: Vec<u32>,
    limits: Option<Limits>,
    scratch: Scratch,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) cache: Cache,
    after: After,
    /// The start state of a formula without quantifiers and times, known from the beginning.
    start: Point,
}

/// A monitor that asks for a name.
#[derive(Clone, Copy, Debug)]
struct Asker {
    monitor: u32,
    bit: u8,
    /// Any values will do and there is no binding: the bit is set without a look at the fact.
    bare: bool,
}

/// What a step needs and the next one can use again.
#[derive(Clone, Debug, Default)]
struct Scratch {
    observation: Observation,
    /// For each monitor, the letter so far, and whether it is in `touched`.
    letters: Vec<u64>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
    /// For monitors that need values: the facts they ask for, by place in the observation.
    hits: Vec<(u32, u8, u32)>,
    bindings: Vec<crate::binding::Decided>,
    decided: Vec<Decided>,
}

/// Where one trace stands with every monitor of a watch.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    pub(crate) seats: Vec<Option<Seat>>,
    /// Positions read.
    pub(crate) positions: u64,
    /// No position before this moment can come any more.
    pub(crate) clock: Option<Time>,
    /// Monitors that an empty letter moves, and monitors with deadlines, as bits.
    restless: Vec<u64>,
    timed: Vec<u64>,
}

/// Where one trace stands with one monitor.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) state: State,
    pub(crate) satisfied: u32,
    pub(crate) violated: u32,
    /// The position that brought the last definite verdict, counted from 1; 0 if there is none.
    pub(crate) decided_at: u64,
}

/// Where one trace stands with one formula: usually the number of a state in the cache.
#[derive(Clone, Debug)]
pub(crate) enum State {
    At(u32),
    Point(Box<Point>),
    Bindings(Box<Bindings>),
}

impl State {
    pub(crate) fn of(point: Point) -> State {
        match point.id() {
            Some(id) => State::At(id),
            None => State::Point(Box::new(point)),
        }
    }
}

impl Watch {
    /// A watch without monitors.
    pub fn new() -> Watch {
        Watch::default()
    }

    /// A watch whose caches keep to other limits than [`Limits::DEFAULT`].
    pub fn with_limits(limits: Limits) -> Watch {
        Watch { limits: Some(limits), ..Watch::default() }
    }

    /// Adds a monitor. In traces that have begun already it starts at the next position; the others do not notice.
    pub fn add(&mut self, monitor: Monitor, after: After) -> MonitorId {
        let id = self.entries.len() as u32;
        let mut cache = Cache::new(&monitor.compiled.skeleton, self.limits.unwrap_or(Limits::DEFAULT));
        let start = cache.start(&monitor.compiled.skeleton, 0);
        for (bit, pattern) in monitor.patterns() {
            let name = self.name(&pattern.name);
            let bare = pattern.is_bare() && !monitor.is_quantified();
            self.index[name.0 as usize].push(Asker { monitor: id, bit, bare });
        }
        if monitor.has_local() || !monitor.compiled.rigid.is_trivial() {
            self.whole.push(id);
        }
        self.entries.push(Some(Entry { monitor: Arc::new(monitor), cache, after, start }));
        self.scratch.letters.push(0);
        self.scratch.is_touched.push(false);
        MonitorId(id)
    }

    /// Takes a monitor out of all traces; the others do not notice.
    pub fn remove(&mut self, id: MonitorId) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            *entry = None;
        }
        self.whole.retain(|monitor| *monitor != id.0);
        self.index.iter_mut().for_each(|askers| askers.retain(|asker| asker.monitor != id.0));
    }

    /// The monitors, in the order they were added.
    pub fn monitors(&self) -> impl Iterator<Item = (MonitorId, &Monitor)> {
        let present = |(index, entry): (usize, &'_ Option<Entry>)| entry.as_ref().map(|_| MonitorId(index as u32));
        let ids: Vec<MonitorId> = self.entries.iter().enumerate().filter_map(present).collect();
        ids.into_iter().filter_map(|id| self.monitor(id).map(|monitor| (id, monitor)))
    }

    /// A monitor by its number.
    pub fn monitor(&self, id: MonitorId) -> Option<&Monitor> {
        self.entry(id).map(|entry| &*entry.monitor)
    }

    pub(crate) fn entry(&self, id: MonitorId) -> Option<&Entry> {
        self.entry_at(id.0 as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entry_at(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index).and_then(Option::as_ref)
    }

    pub(crate) fn entry_at_mut(&mut self, index: usize) -> Option<&mut Entry> {
        self.entries.get_mut(index).and_then(Option::as_mut)
    }

    /// A trace that goes on from where its seats say it stood.
    pub(crate) fn resume(&mut self, seats: Vec<Option<Seat>>, positions: u64, clock: Option<Time>) -> Standing {
        let words = seats.len().div_ceil(64);
        let mut standing = Standing { seats, positions, clock, restless: vec![0; words], timed: vec![0; words] };
        (0..standing.seats.len()).for_each(|index| self.note(&mut standing, index as u32));
        self.seat_all(&mut standing);
        standing
    }

    /// The number of a name, for observations that are made without strings.
    pub fn name(&mut self, name: &str) -> Name {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let number = Name(self.index.len() as u32);
        self.names.insert(name.into(), number);
        self.index.push(Vec::new());
        number
    }

    /// What the cache of a monitor holds.
    pub fn usage(&self, id: MonitorId) -> Option<CacheUse> {
        self.entry(id).map(|entry| entry.cache.usage())
    }

    /// Forgets every learnt transition. No trace and no verdict changes.
    pub fn clear(&mut self) {
        self.entries.iter_mut().flatten().for_each(|entry| entry.cache.clear());
    }

    /// A trace before its first position.
    pub fn start(&mut self) -> Standing {
        let mut standing = Standing::default();
        self.seat_all(&mut standing);
        standing
    }

    /// Gives a trace a seat with every monitor that has been added since it began, and takes those that are gone.
    fn seat_all(&mut self, standing: &mut Standing) {
        while standing.seats.len() < self.entries.len() {
            let index = standing.seats.len();
            let seat = self.entries[index].as_mut().map(|entry| Seat {
                state: entry.start_state(),
                satisfied: 0,
                violated: 0,
                decided_at: 0,
            });
            standing.seats.push(seat);
            if index / 64 >= standing.restless.len() {
                standing.restless.push(0);
                standing.timed.push(0);
            }
            self.note(standing, index as u32);
        }
    }

    /// Reads a position. Gives the verdicts that it made definite; where they latch, each only once.
    pub fn step(&mut self, standing: &mut Standing, facts: &Facts) -> &[Decided] {
        let mut observation = std::mem::take(&mut self.scratch.observation);
        observation.clear();
        for fact in &facts.known {
            if let Some(name) = self.names.get(&fact.name) {
                observation.push(*name, &fact.values);
            }
        }
        self.read(standing, &observation, facts.time, Some(facts));
        self.scratch.observation = observation;
        &self.scratch.decided
    }

    /// Reads a position whose names are numbers already.
    pub fn observe(&mut self, standing: &mut Standing, observation: &Observation) -> &[Decided] {
        self.read(standing, observation, observation.time, None);
        &self.scratch.decided
    }

    /// Lets time pass: no position at or before this moment will come any more, so every deadline up to it is over.
    pub fn tick(&mut self, standing: &mut Standing, now: Time) -> &[Decided] {
        self.scratch.decided.clear();
        self.seat_all(standing);
        let after = Time(now.0.saturating_add(1));
        if standing.clock.is_none_or(|clock| clock < after) {
            standing.clock = Some(after);
            self.expire(standing, after);
        }
        &self.scratch.decided
    }

    fn read(&mut self, standing: &mut Standing, observation: &Observation, time: Option<Time>, facts: Option<&Facts>) {
        self.scratch.decided.clear();
        if standing.seats.len() < self.entries.len() {
            self.seat_all(standing);
        }
        let now = match (time, standing.clock) {
            (Some(time), Some(clock)) => time.max(clock),
            (Some(time), None) => time,
            (None, clock) => clock.unwrap_or_default(),
        };
        if standing.clock != Some(now) {
            standing.clock = Some(now);
            self.expire(standing, now);
        }
        standing.positions += 1;
        self.touch(observation);
        let unknown = facts.is_some_and(|facts| !facts.unknown.is_empty());
        if unknown || !self.whole.is_empty() {
            self.touch_whole(facts, unknown);
        }
        let mut touched = std::mem::take(&mut self.scratch.touched);
        for &monitor in &touched {
            let bits = std::mem::take(&mut self.scratch.letters[monitor as usize]);
            self.scratch.is_touched[monitor as usize] = false;
            // Whoever is touched steps here and must not step again as restless.
            standing.restless[monitor as usize / 64] &= !(1 << (monitor % 64));
            self.step_one(standing, monitor, bits, observation, facts, now);
        }
        let stepped = touched.len();
        for word in 0..standing.restless.len() {
            let mut bits = standing.restless[word];
            // Those just stepped are noted as restless or not below, after all have stepped.
            while bits != 0 {
                let monitor = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.step_one(standing, monitor, 0, observation, facts, now);
                touched.push(monitor);
            }
        }
        for &monitor in &touched {
            self.note(standing, monitor);
        }
        touched.truncate(stepped);
        touched.clear();
        self.scratch.hits.clear();
        self.scratch.touched = touched;
    }

    /// Finds the monitors that ask for the facts, and the letters that need no look at values.
    #[inline]
    fn touch(&mut self, observation: &Observation) {
        let Scratch { letters, is_touched, touched, hits, .. } = &mut self.scratch;
        for (place, (name, values)) in observation.facts().enumerate() {
            let Some(askers) = self.index.get(name.0 as usize) else { continue };
            for asker in askers {
                let monitor = asker.monitor as usize;
                if asker.bare {
                    letters[monitor] |= 1 << asker.bit;
                } else if let Some(Some(entry)) = self.entries.get(monitor) {
                    if entry.monitor.is_quantified() {
                        hits.push((asker.monitor, asker.bit, place as u32));
                    } else if entry.monitor.fits(asker.bit, values) {
                        letters[monitor] |= 1 << asker.bit;
                    } else {
                        continue;
                    }
                }
                if !is_touched[monitor] {
                    is_touched[monitor] = true;
                    touched.push(asker.monitor);
                }
            }
        }
    }

    /// Monitors that must look at all facts together, or at what is unknown.
    fn touch_whole(&mut self, facts: Option<&Facts>, unknown: bool) {
        let Scratch { is_touched, touched, .. } = &mut self.scratch;
        let mut touch = |monitor: u32| {
            if !is_touched[monitor as usize] {
                is_touched[monitor as usize] = true;
                touched.push(monitor);
            }
        };
        self.whole.iter().for_each(|monitor| touch(*monitor));
        if let Some(facts) = facts.filter(|_| unknown) {
            for name in facts.unknown.iter().filter_map(|atom| self.names.get(&atom.name)) {
                self.index[name.0 as usize].iter().for_each(|asker| touch(asker.monitor));
            }
        }
    }

    fn step_one(
        &mut self,
        standing: &mut Standing,
        monitor: u32,
        bits: u64,
        observation: &Observation,
        facts: Option<&Facts>,
        now: Time,
    ) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let Some(Some(seat)) = standing.seats.get_mut(monitor as usize) else { return };
        let skeleton = &entry.monitor.compiled.skeleton;
        let is_whole = entry.monitor.has_local() || !entry.monitor.compiled.rigid.is_trivial();
        let unknown = facts.is_some_and(|facts| !facts.unknown.is_empty());
        let at = match &mut seat.state {
            State::At(id) if !unknown && !is_whole => match entry.cache.look_up(*id, bits, skeleton.width) {
                Some(target) => target,
                None => {
                    let point = entry.cache.step(skeleton, &Point::cached(*id), bits, 0, now);
                    match point.id() {
                        Some(target) => target,
                        None => {
                            seat.state = State::Point(Box::new(point));
                            return;
                        }
                    }
                }
            },
            State::At(_) | State::Point(_) => {
                let (bits, unknown) = match facts {
                    Some(facts) if unknown || is_whole => read(&entry.monitor, facts, &[]),
                    None if is_whole => read(&entry.monitor, &observation.to_facts(&self.names), &[]),
                    _ => (bits, 0),
                };
                let point = match &seat.state {
                    State::Point(point) => entry.cache.step(skeleton, point, bits, unknown, now),
                    State::At(id) => entry.cache.step(skeleton, &Point::cached(*id), bits, unknown, now),
                    State::Bindings(_) => return,
                };
                match point.id() {
                    Some(target) => target,
                    None => {
                        seat.state = State::Point(Box::new(point));
                        return;
                    }
                }
            }
            State::Bindings(bindings) => {
                let hits: Vec<Hit<'_>> = self
                    .scratch
                    .hits
                    .iter()
                    .filter(|(other, _, _)| *other == monitor)
                    .map(|(_, bit, place)| (*bit, observation.values(*place)))
                    .collect();
                let owned;
                let whole = match facts {
                    Some(facts) if unknown || is_whole => Some(facts),
                    None if is_whole => {
                        owned = observation.to_facts(&self.names);
                        Some(&owned)
                    }
                    _ => None,
                };
                let reset = entry.after == After::Reset;
                let mut scene = Scene { monitor: &entry.monitor, cache: &mut entry.cache, time: now, reset };
                bindings.step(&mut scene, &hits, whole, &mut self.scratch.bindings);
                self.conclude(standing, monitor);
                return;
            }
        };
        seat.state = State::At(at);
        if at <= VIOLATED {
            self.settle(standing, monitor, at);
        }
    }

    /// A formula without bindings came to a definite state.
    fn settle(&mut self, standing: &mut Standing, monitor: u32, at: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let Some(Some(seat)) = standing.seats.get_mut(monitor as usize) else { return };
        // A verdict that latched is not brought by this position.
        if entry.after == After::Latch && seat.decided_at > 0 {
            return;
        }
        let verdict = if at == SATISFIED { Verdict::Satisfied } else { Verdict::Violated };
        seat.decide(verdict, standing.positions, 1);
        self.scratch.decided.push(Decided { monitor: MonitorId(monitor), verdict, binding: None });
        if entry.after == After::Reset {
            seat.state = entry.start_state();
        }
    }

    /// Bindings of a quantified formula came to definite verdicts.
    fn conclude(&mut self, standing: &mut Standing, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let Some(Some(seat)) = standing.seats.get_mut(monitor as usize) else { return };
        let State::Bindings(bindings) = &mut seat.state else { return };
        let outward = |verdict| entry.monitor.outward(verdict);
        if entry.after == After::Reset {
            for (verdict, binding) in self.scratch.bindings.drain(..) {
                let verdict = outward(verdict);
                seat.decided_at = standing.positions;
                match verdict {
                    Verdict::Satisfied => seat.satisfied += 1,
                    _ => seat.violated += 1,
                }
                let binding = binding.map(<[Option<Value>]>::into_vec);
                self.scratch.decided.push(Decided { monitor: MonitorId(monitor), verdict, binding });
            }
            return;
        }
        let verdict = bindings.verdict(&entry.monitor, &mut entry.cache);
        if verdict.is_definite() {
            let by = self.scratch.bindings.iter().find(|(other, _)| *other == verdict);
            let binding = by.and_then(|(_, binding)| binding.clone()).map(<[Option<Value>]>::into_vec);
            let id = if verdict == Verdict::Satisfied { SATISFIED } else { VIOLATED };
            // The verdict of what is run; `verdict()` turns it round for an `exists`.
            seat.state = State::At(id);
            seat.decide(outward(verdict), standing.positions, 1);
            let verdict = outward(verdict);
            self.scratch.decided.push(Decided { monitor: MonitorId(monitor), verdict, binding });
        }
        self.scratch.bindings.clear();
    }

    /// Lets pass the deadlines before a moment.
    fn expire(&mut self, standing: &mut Standing, time: Time) {
        for word in 0..standing.timed.len() {
            let mut bits = standing.timed[word];
            while bits != 0 {
                let monitor = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.expire_one(standing, monitor, time);
                self.note(standing, monitor);
            }
        }
    }

    fn expire_one(&mut self, standing: &mut Standing, monitor: u32, time: Time) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let Some(Some(seat)) = standing.seats.get_mut(monitor as usize) else { return };
        match &mut seat.state {
            State::At(_) => {}
            State::Point(point) => {
                let Some(point) = entry.cache.expire(&entry.monitor.compiled.skeleton, point, time) else { return };
                seat.state = State::of(point);
                if let State::At(at) = seat.state
                    && at <= VIOLATED
                {
                    self.settle(standing, monitor, at);
                }
            }
            State::Bindings(bindings) => {
                if bindings.deadline().is_none_or(|end| end >= time) {
                    return;
                }
                let reset = entry.after == After::Reset;
                let mut scene = Scene { monitor: &entry.monitor, cache: &mut entry.cache, time, reset };
                bindings.expire(&mut scene, &mut self.scratch.bindings);
                self.conclude(standing, monitor);
            }
        }
    }

    /// Notes whether a monitor must be stepped although nothing touches it, and whether it has deadlines.
    #[inline]
    fn note(&mut self, standing: &mut Standing, monitor: u32) {
        let (word, bit) = (monitor as usize / 64, 1 << (monitor % 64));
        let (mut restless, mut timed) = (false, false);
        if let (Some(Some(entry)), Some(Some(seat))) =
            (self.entries.get_mut(monitor as usize), standing.seats.get(monitor as usize))
        {
            match &seat.state {
                State::At(id) => restless = !entry.cache.is_idle_at(&entry.monitor.compiled.skeleton, *id),
                State::Point(point) => {
                    restless = !entry.cache.is_idle(&entry.monitor.compiled.skeleton, point);
                    timed = !point.times.is_empty();
                }
                State::Bindings(bindings) => {
                    restless = !bindings.is_idle();
                    timed = bindings.deadline().is_some();
                }
            }
        }
        let set = |words: &mut Vec<u64>, on: bool| {
            if on { words[word] |= bit } else { words[word] &= !bit }
        };
        set(&mut standing.restless, restless);
        set(&mut standing.timed, timed);
    }

    /// What is true of a trace and all its continuations.
    pub fn verdict(&mut self, standing: &mut Standing, id: MonitorId) -> Verdict {
        self.judge(standing, id, false)
    }

    /// The verdict if the trace ends here: a definite one stands, any other is decided as a finite trace is.
    pub fn end(&mut self, standing: &mut Standing, id: MonitorId) -> Verdict {
        self.judge(standing, id, true)
    }

    fn judge(&mut self, standing: &mut Standing, id: MonitorId, end: bool) -> Verdict {
        self.seat_all(standing);
        let Some(Some(entry)) = self.entries.get_mut(id.0 as usize) else { return Verdict::Inconclusive };
        let Some(Some(seat)) = standing.seats.get_mut(id.0 as usize) else { return Verdict::Inconclusive };
        let skeleton = &entry.monitor.compiled.skeleton;
        let verdict = match &mut seat.state {
            State::Bindings(bindings) => {
                let live = bindings.verdict(&entry.monitor, &mut entry.cache);
                if end && !live.is_definite() { bindings.at_end(&entry.monitor, &entry.cache) } else { live }
            }
            State::Point(point) if end => entry.cache.at_end(skeleton, point),
            State::Point(point) => entry.cache.verdict(skeleton, point),
            State::At(at) if end => entry.cache.at_end(skeleton, &Point::cached(*at)),
            State::At(at) => entry.cache.verdict(skeleton, &Point::cached(*at)),
        };
        entry.monitor.outward(verdict)
    }

    /// What must still hold, as a formula about the rest of the trace. Of the bindings of a quantified formula, the
    /// first few that stand apart are written out, and then all other values as one.
    pub fn residual(&mut self, standing: &mut Standing, id: MonitorId) -> Option<Sentence> {
        const MOST_BINDINGS: usize = 5;
        self.seat_all(standing);
        let now = standing.clock.unwrap_or_default();
        let entry = self.entries.get_mut(id.0 as usize)?.as_mut()?;
        let seat = standing.seats.get(id.0 as usize)?.as_ref()?;
        let (compiled, cache) = (&entry.monitor.compiled, &mut entry.cache);
        let mut arena = Arena::new();
        let formula = match &seat.state {
            State::At(at) => residual_of(compiled, cache, &mut arena, &Point::cached(*at), &[], now),
            State::Point(point) => residual_of(compiled, cache, &mut arena, point, &[], now),
            State::Bindings(bindings) => {
                let mut parts = Vec::new();
                let mut standings: Vec<_> = bindings.standings().collect();
                standings
                    .sort_by_key(|(valuation, binding, _)| (binding.is_none(), *valuation, binding.map(<[_]>::to_vec)));
                for (valuation, binding, point) in standings {
                    if binding.is_some() && parts.len() >= MOST_BINDINGS {
                        continue;
                    }
                    if binding.is_none() && !bindings.is_realised(valuation) {
                        continue;
                    }
                    parts.push(residual_of(compiled, cache, &mut arena, point, binding.unwrap_or(&[]), now));
                }
                let unit = arena.truth(!compiled.negated);
                parts.retain(|part| *part != unit);
                if compiled.negated { arena.or(parts) } else { arena.and(parts) }
            }
        };
        Some(Sentence { arena, formula })
    }

    /// How often a monitor that resets has been satisfied and violated; for one that latches, whether.
    pub fn counts(&self, standing: &Standing, id: MonitorId) -> Counts {
        match standing.seats.get(id.0 as usize) {
            Some(Some(seat)) => Counts {
                satisfied: seat.satisfied,
                violated: seat.violated,
                decided_at: (seat.decided_at > 0).then_some(seat.decided_at),
            },
            _ => Counts::default(),
        }
    }

    /// How many bindings of a quantified formula have a state of their own.
    pub fn bindings(&self, standing: &Standing, id: MonitorId) -> usize {
        match standing.seats.get(id.0 as usize) {
            Some(Some(Seat { state: State::Bindings(bindings), .. })) => bindings.len(),
            _ => 0,
        }
    }

    /// A binding for which the formula would be violated if the trace ended here.
    pub(crate) fn failing(&self, standing: &Standing, id: MonitorId) -> Option<Vec<Option<Value>>> {
        let entry = self.entry(id)?;
        let Some(Some(Seat { state: State::Bindings(bindings), .. })) = standing.seats.get(id.0 as usize) else {
            return None;
        };
        let skeleton = &entry.monitor.compiled.skeleton;
        let fails = |(_, _, point): &(usize, Option<&Binding>, &Point)| {
            entry.cache.at_end(skeleton, point) == Verdict::Violated
        };
        let failing = bindings.standings().filter(fails).filter_map(|(_, binding, _)| binding);
        failing.min().map(<[Option<Value>]>::to_vec)
    }

    /// The next moment at which a tick may change something.
    pub fn deadline(&self, standing: &Standing) -> Option<Time> {
        let pairs = self.entries.iter().zip(&standing.seats);
        let ends = pairs.filter_map(|(entry, seat)| match (entry, seat) {
            (Some(entry), Some(Seat { state: State::Point(point), .. })) => {
                entry.cache.deadline(&entry.monitor.compiled.skeleton, point)
            }
            (Some(_), Some(Seat { state: State::Bindings(bindings), .. })) => bindings.deadline(),
            _ => None,
        });
        ends.min()
    }
}

impl Entry {
    fn start_state(&mut self) -> State {
        if self.monitor.is_quantified() {
            State::Bindings(Box::new(Bindings::new(&self.monitor, &mut self.cache)))
        } else {
            State::of(self.start.clone())
        }
    }
}

impl Seat {
    fn decide(&mut self, verdict: Verdict, position: u64, times: u32) {
        self.decided_at = position;
        match verdict {
            Verdict::Satisfied => self.satisfied += times,
            Verdict::Violated => self.violated += times,
            Verdict::Inconclusive => {}
        }
    }
}

/// How often a formula was decided in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times it was satisfied.
    pub satisfied: u32,
    /// Times it was violated.
    pub violated: u32,
    /// The position of the last definite verdict, counted from 1.
    pub decided_at: Option<u64>,
}

impl Standing {
    /// How many positions have been read.
    pub fn positions(&self) -> u64 {
        self.positions
    }
}
