//! Many monitors on many traces.
//!
//! A [`MonitorSet`] holds monitors and what has been learnt about them; a [`TraceState`] is where one trace stands with all of
//! them. Any number of standings share a watch: what one trace makes it learn, the others find ready. An index from the
//! names of facts to the monitors that ask for them finds the few that a position touches; a monitor that is not touched
//! and whose state an empty letter leaves alone costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::binding::Bindings;
use crate::cache::{Cache, CacheLimits, CacheUse};
use crate::facts::Facts;
use crate::formula::Arena;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::observation::{Name, Observation, Plan};
use crate::probe::Binding;
use crate::sentence::{Sentence, residual_of};
use crate::state::Point;
use crate::term::Value;
use crate::trace_state::{Seat, TraceState, VerdictCounts, Wide};
use crate::verdict::Verdict;

/// No two watches are ever in the same version, so that a plan made by one is not used by another.
fn next_version() -> u64 {
    static VERSIONS: AtomicU64 = AtomicU64::new(1);
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

/// What happens when a verdict becomes definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum After {
    /// It stands for the rest of the trace.
    #[default]
    Latch,
    /// It is counted and the formula starts anew behind the deciding position.
    Reset,
    /// Every position that breaks the formula is told, and nothing of the past is forgotten: for monitors made by
    /// [`Monitor::each`]. With any other monitor it is the same as `Latch`.
    Each,
}

/// The number of a monitor in its [`MonitorSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorId(pub(crate) u32);

impl MonitorId {
    /// The number itself: monitors are numbered from 0 in the order in which they were added.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A definite verdict, at the position or tick that brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
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
/// use lictor_logic::{After, Arena, Facts, Monitor, Verdict, MonitorSet};
/// let mut arena = Arena::new();
/// let formula = arena.parse("G(request -> F answer)").unwrap();
/// let mut watch = MonitorSet::new();
/// let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
/// let mut standing = watch.start();
/// watch.step(&mut standing, &Facts::of(["request"]));
/// assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
/// assert_eq!(watch.end(&mut standing, id), Verdict::Violated);
/// watch.step(&mut standing, &Facts::of(["answer"]));
/// assert_eq!(watch.end(&mut standing, id), Verdict::Satisfied);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MonitorSet {
    pub(crate) entries: Vec<Option<Entry>>,
    pub(crate) names: FxHashMap<Arc<str>, Name>,
    /// The names by their numbers.
    pub(crate) spelt: Vec<Arc<str>>,
    /// For each name, who asks for it.
    pub(crate) index: Vec<Vec<Asker>>,
    /// Monitors that must see every position whole.
    pub(crate) whole: Vec<u32>,
    limits: Option<CacheLimits>,
    /// Changes with every monitor that comes or goes.
    pub(crate) version: u64,
    pub(crate) scratch: Scratch,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) cache: Cache,
    pub(crate) after: After,
    /// Neither quantified nor in need of whole positions, and how many letter bits it has.
    pub(crate) is_plain: bool,
    pub(crate) width: u32,
    /// The start state of a formula without quantifiers and times, known from the beginning.
    start: Point,
    /// Where all bindings begin.
    fresh: Option<Arc<Bindings>>,
    /// For a formula about data, the numbers of its names.
    pub(crate) data_names: Vec<Name>,
    /// How many rows a trace may keep for it.
    pub(crate) rows: usize,
}

/// A monitor that asks for a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) monitor: u32,
    pub(crate) bit: u8,
    /// Any values will do and there is no binding: the bit is set without a look at the fact.
    pub(crate) bare: bool,
    /// The fact's first value is the binding, and bindings share nothing: a glance tells whether anything moves.
    pub(crate) direct: bool,
    /// It is for the tables of a formula about data.
    pub(crate) data: bool,
}

/// A fact that a monitor asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) bit: u8,
    /// Its place in the observation.
    pub(crate) place: u32,
    /// The next one of the same monitor.
    pub(crate) next: Option<u32>,
}

/// What a step needs and the next one can use again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    observation: Observation,
    /// For each monitor, the letter so far, and whether it is in `touched`.
    pub(crate) letters: Vec<u64>,
    pub(crate) is_touched: Vec<bool>,
    pub(crate) touched: Vec<u32>,
    /// For monitors that need values: the facts they ask for.
    pub(crate) hits: Vec<Hit>,
    /// For each monitor, its first and last hit.
    pub(crate) ends: Vec<Option<(u32, u32)>>,
    /// Nothing but a reason to have read something.
    pub(crate) warmth: u64,
    pub(crate) bindings: Vec<crate::population::BindingVerdict>,
    pub(crate) decided: Vec<Conclusion>,
}

impl Scratch {
    /// Notes that a monitor asks for a fact.
    pub(crate) fn hit(&mut self, monitor: u32, bit: u8, place: u32) {
        let new = self.hits.len() as u32;
        self.hits.push(Hit { bit, place, next: None });
        let ends = &mut self.ends[monitor as usize];
        match ends {
            Some((_, last)) => {
                self.hits[*last as usize].next = Some(new);
                *last = new;
            }
            None => *ends = Some((new, new)),
        }
    }

    /// The facts that a monitor asks for, in order.
    pub(crate) fn hits_of(&self, monitor: u32) -> impl Iterator<Item = &Hit> {
        let first = self.ends[monitor as usize].map(|(first, _)| &self.hits[first as usize]);
        std::iter::successors(first, |hit| hit.next.map(|next| &self.hits[next as usize]))
    }
}

impl MonitorSet {
    /// A watch without monitors.
    pub fn new() -> MonitorSet {
        MonitorSet::default()
    }

    /// A watch that keeps to other limits than [`CacheLimits::DEFAULT`].
    pub fn with_limits(limits: CacheLimits) -> MonitorSet {
        MonitorSet { limits: Some(limits), ..MonitorSet::default() }
    }

    /// Adds a monitor. In traces that have begun already it starts at the next position; the others do not notice.
    pub fn add(&mut self, monitor: Monitor, after: After) -> MonitorId {
        let id = self.entries.len() as u32;
        let after = if after == After::Each && monitor.excuse == 0 { After::Latch } else { after };
        let limits = self.limits.unwrap_or(CacheLimits::DEFAULT);
        let mut cache = Cache::new(&monitor.compiled.skeleton, limits);
        let start = cache.start(&monitor.compiled.skeleton, 0);
        for (bit, pattern) in monitor.patterns() {
            let name = self.name(&pattern.name);
            let bare = pattern.is_bare() && !monitor.shape.quantified;
            let direct = monitor.shape.single && !monitor.shape.mixed && pattern.is_first_value();
            self.index[name.0 as usize].push(Asker { monitor: id, bit, bare, direct, data: false });
        }
        let data_names: Vec<Name> = monitor.data_names().iter().map(|name| self.name(name)).collect();
        for name in &data_names {
            let asker = Asker { monitor: id, bit: 0, bare: false, direct: false, data: true };
            self.index[name.0 as usize].push(asker);
        }
        let sees_all = monitor.data.as_ref().is_some_and(|data| data.sees_all);
        if monitor.shape.whole || sees_all {
            self.whole.push(id);
        }
        let is_plain = !monitor.shape.quantified && !monitor.shape.whole && monitor.data.is_none();
        let width = monitor.compiled.skeleton.width;
        let monitor = Arc::new(monitor);
        let (fresh, rows) = (None, limits.rows);
        self.entries.push(Some(Entry { monitor, cache, after, is_plain, width, start, fresh, data_names, rows }));
        self.scratch.letters.push(0);
        self.scratch.is_touched.push(false);
        self.scratch.ends.push(None);
        self.version = next_version();
        MonitorId(id)
    }

    /// Takes a monitor out of all traces; the others do not notice.
    pub fn remove(&mut self, id: MonitorId) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            *entry = None;
        }
        self.version = next_version();
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
    pub(crate) fn resume(&mut self, seats: Vec<Seat>, positions: u64, clock: Option<Time>) -> TraceState {
        let mut standing = TraceState::resumed(seats, positions, clock);
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
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name), number);
        self.spelt.push(name);
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
    pub fn start(&mut self) -> TraceState {
        let mut standing = TraceState::default();
        self.seat_all(&mut standing);
        standing
    }

    /// Gives a trace a seat with every monitor that has been added since it began.
    pub(crate) fn seat_all(&mut self, standing: &mut TraceState) {
        while standing.seats.len() < self.entries.len() {
            let index = standing.seats.len();
            let wide = self.entries[index].as_mut().map_or(Wide::Vacant, Entry::start_state);
            standing.seat(Seat::new(wide));
            self.note(standing, index as u32);
        }
    }

    /// Reads a position. Gives the verdicts that it made definite; where they latch, each only once.
    pub fn step(&mut self, standing: &mut TraceState, facts: &Facts) -> &[Conclusion] {
        let mut observation = std::mem::take(&mut self.scratch.observation);
        observation.clear();
        for fact in &facts.known {
            if let Some(name) = self.names.get(&fact.name) {
                observation.push(*name, &fact.values);
            }
        }
        self.read(standing, &observation, Some(facts));
        self.scratch.observation = observation;
        &self.scratch.decided
    }

    /// Finds out ahead what monitors without quantifiers will read in an observation, for one that is read many times.
    pub fn prepare(&mut self, observation: &mut Observation) {
        self.touch(observation);
        let scratch = &mut self.scratch;
        let mut letters = Vec::with_capacity(scratch.touched.len());
        for monitor in scratch.touched.drain(..) {
            scratch.is_touched[monitor as usize] = false;
            scratch.ends[monitor as usize] = None;
            letters.push((monitor, std::mem::take(&mut scratch.letters[monitor as usize])));
        }
        // Bindings need the values each time.
        if scratch.hits.is_empty() && self.whole.is_empty() {
            observation.set_plan(Plan { version: self.version, letters });
        }
        scratch.hits.clear();
    }

    /// Reads a position whose names are numbers already.
    pub fn observe(&mut self, standing: &mut TraceState, observation: &Observation) -> &[Conclusion] {
        self.read(standing, observation, None);
        &self.scratch.decided
    }

    /// Reads many positions of a trace, in order. The same as reading one after the other, but where bindings are many
    /// it does not wait for memory at each. `told` is given the place of a position and each verdict it made definite.
    pub fn observe_all(
        &mut self,
        standing: &mut TraceState,
        observations: &[Observation],
        mut told: impl FnMut(usize, &Conclusion),
    ) {
        const NEAR: usize = 32;
        for (chunk, near) in observations.chunks(NEAR).enumerate() {
            self.warm(standing, near);
            for (place, observation) in near.iter().enumerate() {
                self.read(standing, observation, None);
                self.scratch.decided.iter().for_each(|decided| told(chunk * NEAR + place, decided));
            }
        }
    }

    /// Lets time pass: no position at or before this moment will come any more, so every deadline up to it is over.
    pub fn tick(&mut self, standing: &mut TraceState, now: Time) -> &[Conclusion] {
        self.scratch.decided.clear();
        self.seat_all(standing);
        let after = Time(now.0.saturating_add(1));
        if standing.clock.is_none_or(|clock| clock < after) {
            standing.clock = Some(after);
            self.expire(standing, after);
        }
        &self.scratch.decided
    }

    /// What is true of a trace and all its continuations.
    pub fn verdict(&mut self, standing: &mut TraceState, id: MonitorId) -> Verdict {
        self.judge(standing, id, false)
    }

    /// The verdict if the trace ends here: a definite one stands, any other is decided as a finite trace is.
    pub fn end(&mut self, standing: &mut TraceState, id: MonitorId) -> Verdict {
        self.judge(standing, id, true)
    }

    fn judge(&mut self, standing: &mut TraceState, id: MonitorId, end: bool) -> Verdict {
        self.seat_all(standing);
        let Some(Some(entry)) = self.entries.get_mut(id.0 as usize) else { return Verdict::Inconclusive };
        let seat = &mut standing.seats[id.0 as usize];
        let skeleton = &entry.monitor.compiled.skeleton;
        let verdict = match seat.wide.as_deref_mut() {
            Some(Wide::Bindings(bindings)) => {
                let live = Bindings::verdict(bindings, &entry.monitor, &mut entry.cache);
                if end && !live.is_definite() { bindings.at_end(&entry.monitor, &entry.cache) } else { live }
            }
            Some(Wide::Point(point) | Wide::Data(point, _)) if end => entry.cache.at_end(skeleton, point),
            Some(Wide::Point(point) | Wide::Data(point, _)) => entry.cache.verdict(skeleton, point),
            Some(Wide::Vacant) => return Verdict::Inconclusive,
            None if end => entry.cache.at_end(skeleton, &Point::cached(seat.at)),
            None => entry.cache.verdict(skeleton, &Point::cached(seat.at)),
        };
        entry.monitor.outward(verdict)
    }

    /// The number of the state at which a monitor without bindings and open deadlines stands.
    pub(crate) fn state(&self, standing: &TraceState, id: MonitorId) -> Option<u32> {
        let seat = standing.seats.get(id.0 as usize)?;
        seat.wide.is_none().then_some(seat.at)
    }

    /// Whether a formula about data had more to keep than it may, so that nothing can be told of it any more.
    pub fn is_full(&self, standing: &TraceState, id: MonitorId) -> bool {
        let seat = standing.seats.get(id.index()).and_then(|seat| seat.wide.as_deref());
        matches!(seat, Some(Wide::Data(_, store)) if store.is_full())
    }

    /// What must still hold, as a formula about the rest of the trace. Of the bindings of a quantified formula, the
    /// first few that stand apart are written out, and then all other values as one.
    pub fn residual(&mut self, standing: &mut TraceState, id: MonitorId) -> Option<Sentence> {
        const MOST_BINDINGS: usize = 5;
        self.seat_all(standing);
        let now = standing.clock.unwrap_or_default();
        let entry = self.entries.get_mut(id.0 as usize)?.as_mut()?;
        let seat = standing.seats.get(id.0 as usize)?;
        let (compiled, cache) = (&entry.monitor.compiled, &mut entry.cache);
        let mut arena = Arena::new();
        let formula = match seat.wide.as_deref() {
            None => residual_of(compiled, cache, &mut arena, &Point::cached(seat.at), &[], now),
            Some(Wide::Point(point)) => residual_of(compiled, cache, &mut arena, point, &[], now),
            Some(Wide::Vacant) => return None,
            // It looks back only: what must still hold is what had to hold.
            Some(Wide::Data(..)) => return entry.monitor.data.as_ref().map(|data| data.sentence.clone()),
            Some(Wide::Bindings(bindings)) => {
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
    pub fn counts(&self, standing: &TraceState, id: MonitorId) -> VerdictCounts {
        standing.seats.get(id.0 as usize).map_or(VerdictCounts::default(), |seat| VerdictCounts {
            satisfied: seat.satisfied,
            violated: seat.violated,
            decided_at: (seat.decided_at > 0).then_some(seat.decided_at),
        })
    }

    /// How many bindings of a quantified formula have a state of their own; of a formula about data, how much of the
    /// past is kept.
    pub fn bindings(&self, standing: &TraceState, id: MonitorId) -> usize {
        match standing.seats.get(id.0 as usize).and_then(|seat| seat.wide.as_deref()) {
            Some(Wide::Bindings(bindings)) => bindings.len(),
            Some(Wide::Data(_, store)) => store.len(),
            _ => 0,
        }
    }

    /// A binding for which the formula would be violated if the trace ended here.
    pub(crate) fn failing(&self, standing: &TraceState, id: MonitorId) -> Option<Vec<Option<Value>>> {
        let entry = self.entry(id)?;
        let Some(Wide::Bindings(bindings)) = standing.seats.get(id.0 as usize)?.wide.as_deref() else { return None };
        let skeleton = &entry.monitor.compiled.skeleton;
        let fails = |(_, _, point): &(usize, Option<&Binding>, &Point)| {
            entry.cache.at_end(skeleton, point) == Verdict::Violated
        };
        let failing = bindings.standings().filter(fails).filter_map(|(_, binding, _)| binding);
        failing.min().map(<[Option<Value>]>::to_vec)
    }

    /// The next moment at which a tick may change something.
    pub fn deadline(&self, standing: &TraceState) -> Option<Time> {
        if !standing.has_timed() {
            return None;
        }
        let pairs = self.entries.iter().zip(&standing.seats);
        let ends = pairs.filter_map(|(entry, seat)| match (entry, seat.wide.as_deref()) {
            (Some(entry), Some(Wide::Point(point))) => entry.cache.deadline(&entry.monitor.compiled.skeleton, point),
            (Some(_), Some(Wide::Bindings(bindings))) => bindings.deadline(),
            _ => None,
        });
        ends.min()
    }
}

impl Entry {
    pub(crate) fn start_state(&mut self) -> Wide {
        if let Some(data) = &self.monitor.data {
            return Wide::Data(self.start.clone(), data.start(self.rows));
        }
        if self.monitor.shape.quantified {
            let Entry { monitor, cache, fresh, .. } = self;
            Wide::Bindings(Arc::clone(fresh.get_or_insert_with(|| Arc::new(Bindings::new(monitor, cache)))))
        } else {
            Wide::Point(self.start.clone())
        }
    }

    /// Whether a trace stands where all begin. Not seen of one that keeps moments or data: those are told in full.
    pub(crate) fn is_at_start(&self, seat: &Seat) -> bool {
        match seat.wide.as_deref() {
            // A formula with bindings that is decided has no bindings any more.
            None => !self.monitor.shape.quantified && self.start.id() == Some(seat.at),
            Some(Wide::Bindings(bindings)) => self.fresh.as_ref().is_some_and(|fresh| bindings.is_same(fresh)),
            Some(Wide::Point(_) | Wide::Data(..) | Wide::Vacant) => false,
        }
    }
}
