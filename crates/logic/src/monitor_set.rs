//! Many monitors on many traces.
//!
//! A [`MonitorSet`] holds monitors and their caches; a [`TraceState`] is the state of one trace with all of them. Any
//! number of traces share a set, and so the transitions that each has learnt. An index from the names of facts to
//! monitors finds the few that a position touches. A monitor costs nothing if it is not touched and an empty letter
//! does not change its state.

mod entry;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::after::After;
use crate::arena::Arena;
use crate::binding_residuals::write_binding_residuals;
use crate::bindings::Bindings;
use crate::cache::{self, Cache, CacheLimits, CacheUse};
use crate::clock::Clock;
use crate::data::name_bit;
use crate::facts::Facts;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::observation::{LetterPlan, Name, Observation};
use crate::probe::Binding;
use crate::sentence::{Sentence, residual_formula, write_note};
use crate::set_identity::SetIdentity;
use crate::state::Point;
use crate::trace_state::{ExtendedState, MonitorState, TraceState, VerdictCounts};
use crate::value::Value;
use crate::verdict::Verdict;
pub(crate) use entry::Entry;
use entry::{Asker, Scratch};

/// Returns a version that no other set has, so that no set uses the letter plan of another.
fn next_version() -> u64 {
    static VERSIONS: AtomicU64 = AtomicU64::new(1);
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

/// The number of a monitor in its [`MonitorSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorId(pub(crate) u32);

impl MonitorId {
    /// Returns the number itself: monitors are numbered from 0 in the order in which they were added.
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
    /// For a quantified formula, the values that brought the verdict, in the order of [`Monitor::variables`]; none
    /// means every value never seen.
    pub binding: Option<Vec<Option<Value>>>,
}

/// Monitors and the transitions they have learnt.
///
/// ```
/// use lictor_logic::{Arena, Facts, Monitor, Verdict, MonitorSet};
/// let mut arena = Arena::new();
/// let formula = arena.parse("G(request -> F answer)").unwrap();
/// let mut monitors = MonitorSet::new();
/// let id = monitors.add(Monitor::new(&arena, formula).unwrap());
/// let mut trace_state = monitors.start();
/// monitors.step(&mut trace_state, &Facts::parse("request").unwrap());
/// assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Inconclusive);
/// assert_eq!(monitors.end(&mut trace_state, id), Verdict::Violated);
/// monitors.step(&mut trace_state, &Facts::parse("answer").unwrap());
/// assert_eq!(monitors.end(&mut trace_state, id), Verdict::Satisfied);
/// ```
///
/// A clone continues the traces that the original has read so far. After that, each has traces of its own.
///
/// # Panics
///
/// Every method that is given the state of a trace panics if it belongs to another set: to one with other monitors, or
/// to a clone that read it after the two were parted. [`MonitorSet::snapshot`] and [`MonitorSet::restore`] move a trace
/// from one set to another.
#[derive(Clone, Debug, Default)]
pub struct MonitorSet {
    identity: SetIdentity,
    pub(crate) entries: Vec<Option<Entry>>,
    pub(crate) names: FxHashMap<Arc<str>, Name>,
    /// The names by their numbers.
    pub(crate) spelt: Vec<Arc<str>>,
    /// For each name, the monitors that ask for it.
    pub(crate) index: Vec<Vec<Asker>>,
    /// Monitors that need all facts of every position.
    pub(crate) whole: Vec<u32>,
    limits: Option<CacheLimits>,
    /// Whether several monitors were added with one formula.
    pub(crate) has_shared_formulas: bool,
    /// Changes whenever a monitor is added or removed.
    pub(crate) version: u64,
    pub(crate) scratch: Scratch,
}

impl MonitorSet {
    /// Returns a set without monitors.
    pub fn new() -> MonitorSet {
        MonitorSet::default()
    }

    /// Returns a set without monitors, with other limits than [`CacheLimits::DEFAULT`].
    pub fn with_limits(limits: CacheLimits) -> MonitorSet {
        MonitorSet { limits: Some(limits), ..MonitorSet::default() }
    }

    /// Adds a monitor. In traces that have already begun it starts at the next position. Other monitors are not
    /// affected.
    pub fn add(&mut self, monitor: Monitor) -> MonitorId {
        let id = self.entries.len() as u32;
        let mut others = self.entries.iter().flatten();
        self.has_shared_formulas |= others.any(|other| other.monitor.formula_hash() == monitor.formula_hash());
        let limits = self.limits.unwrap_or(CacheLimits::DEFAULT);
        let mut cache = Cache::new(&monitor.compiled.skeleton, limits);
        let start = cache.start(&monitor.compiled.skeleton, 0);
        if monitor.restarts_possible_states() {
            cache.restart_at(&start);
        }
        for (bit, pattern) in monitor.patterns() {
            let name = self.name(&pattern.name);
            let bare = pattern.is_bare() && !monitor.shape.quantified;
            let direct = monitor.shape.single && !monitor.shape.mixed && pattern.is_first_value();
            self.index[name.0 as usize].push(Asker { monitor: id, bit, bare, direct, data: false });
        }
        let data_names: Vec<Name> = monitor.data_names().iter().map(|name| self.name(name)).collect();
        for (number, name) in data_names.iter().enumerate() {
            let bit = name_bit(number).trailing_zeros() as u8;
            let asker = Asker { monitor: id, bit, bare: false, direct: false, data: true };
            self.index[name.0 as usize].push(asker);
        }
        let sees_all = monitor.data.as_ref().is_some_and(|data| data.sees_all);
        if monitor.shape.whole || sees_all {
            self.whole.push(id);
        }
        let is_plain = !monitor.shape.quantified && !monitor.shape.whole && monitor.data.is_none();
        let width = monitor.compiled.skeleton.width;
        let (after, monitor) = (monitor.after, Arc::new(monitor));
        let (fresh, rows) = (None, limits.rows);
        self.entries.push(Some(Entry { monitor, cache, after, is_plain, width, start, fresh, data_names, rows }));
        self.scratch.letters.push(0);
        self.scratch.is_touched.push(false);
        self.scratch.ends.push(None);
        self.version = next_version();
        MonitorId(id)
    }

    /// Removes a monitor from all traces. Other monitors are not affected.
    pub fn remove(&mut self, id: MonitorId) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            *entry = None;
        }
        self.version = next_version();
        self.whole.retain(|monitor| *monitor != id.0);
        self.index.iter_mut().for_each(|askers| askers.retain(|asker| asker.monitor != id.0));
    }

    /// Returns the monitors, in the order they were added.
    pub fn monitors(&self) -> impl Iterator<Item = (MonitorId, &Monitor)> {
        let present = |(index, entry): (usize, &'_ Option<Entry>)| entry.as_ref().map(|_| MonitorId(index as u32));
        let ids: Vec<MonitorId> = self.entries.iter().enumerate().filter_map(present).collect();
        ids.into_iter().filter_map(|id| self.monitor(id).map(|monitor| (id, monitor)))
    }

    /// Returns a monitor by its number.
    pub fn monitor(&self, id: MonitorId) -> Option<&Monitor> {
        self.entry(id).map(|entry| &*entry.monitor)
    }

    pub(crate) fn entry(&self, id: MonitorId) -> Option<&Entry> {
        self.entry_by_index(id.0 as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entry_by_index(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index).and_then(Option::as_ref)
    }

    pub(crate) fn entry_by_index_mut(&mut self, index: usize) -> Option<&mut Entry> {
        self.entries.get_mut(index).and_then(Option::as_mut)
    }

    /// Returns a trace that continues from saved states.
    pub(crate) fn resume(&mut self, states: Vec<MonitorState>, positions: u64, clock: Clock) -> TraceState {
        let mut trace_state = TraceState::resumed(states, positions, clock);
        self.claim(&mut trace_state);
        (0..trace_state.states.len()).for_each(|index| self.mark_activity(&mut trace_state, index as u32));
        self.add_missing_states(&mut trace_state);
        trace_state
    }

    /// Returns the number of a fact name, for observations that are made without strings.
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

    /// Returns the size of a monitor's cache.
    pub fn usage(&self, id: MonitorId) -> Option<CacheUse> {
        self.entry(id).map(|entry| entry.cache.usage())
    }

    /// Returns the work of all steps of bindings and tables so far, which no cache changes.
    pub(crate) fn spent(&self) -> u64 {
        self.scratch.spent
    }

    /// Drops every cached transition. No trace and no verdict changes.
    pub fn clear(&mut self) {
        self.entries.iter_mut().flatten().for_each(|entry| entry.cache.clear());
    }

    /// Returns the state of a trace before its first position.
    pub fn start(&mut self) -> TraceState {
        let mut trace_state = TraceState::default();
        self.add_missing_states(&mut trace_state);
        trace_state
    }

    /// Panics if the state of a trace belongs to another set.
    #[inline]
    pub(crate) fn check_owner(&self, trace_state: &TraceState) {
        self.identity.check(trace_state.stamp);
    }

    /// Panics if the state of a trace belongs to another set, else makes it one of this set.
    #[inline]
    pub(crate) fn claim(&self, trace_state: &mut TraceState) {
        self.identity.claim(&mut trace_state.stamp);
    }

    /// Adds the start state of every monitor that was added after the trace began.
    pub(crate) fn add_missing_states(&mut self, trace_state: &mut TraceState) {
        self.claim(trace_state);
        trace_state.states.reserve_exact(self.entries.len().saturating_sub(trace_state.states.len()));
        while trace_state.states.len() < self.entries.len() {
            let index = trace_state.states.len();
            let extended = self.entries[index].as_mut().map_or(ExtendedState::Removed, Entry::initial_state);
            trace_state.push_state(MonitorState::new(extended));
            self.mark_activity(trace_state, index as u32);
        }
    }

    /// Reads a position and returns the verdicts that it made definite; a verdict that latches is returned once.
    pub fn step(&mut self, trace_state: &mut TraceState, facts: &Facts) -> &[Conclusion] {
        let mut observation = std::mem::take(&mut self.scratch.observation);
        observation.clear();
        for fact in &facts.known {
            if let Some(name) = self.names.get(&fact.name) {
                observation.push(*name, &fact.values);
            }
        }
        self.read(trace_state, &observation, Some(facts), None);
        self.scratch.observation = observation;
        &self.scratch.decided
    }

    /// Computes the letters that monitors without quantifiers read in an observation, for one that is read many times.
    pub fn prepare(&mut self, observation: &mut Observation) {
        self.touch_readers(observation);
        let scratch = &mut self.scratch;
        let mut letters = Vec::with_capacity(scratch.touched.len());
        for monitor in scratch.touched.drain(..) {
            scratch.is_touched[monitor as usize] = false;
            scratch.ends[monitor as usize] = None;
            letters.push((monitor, std::mem::take(&mut scratch.letters[monitor as usize])));
        }
        // Bindings need the values each time.
        if scratch.matches.is_empty() && self.whole.is_empty() {
            observation.set_plan(LetterPlan { version: self.version, letters });
        }
        scratch.matches.clear();
    }

    /// Reads a position by the numbers of its names, like [`MonitorSet::step`] for facts.
    pub fn observe(&mut self, trace_state: &mut TraceState, observation: &Observation) -> &[Conclusion] {
        self.read(trace_state, observation, None, None);
        &self.scratch.decided
    }

    /// Reads a position like [`MonitorSet::observe`], for a state that is one position behind another of the same trace.
    /// What the position left unchanged there is not read again. No verdict is returned: `ahead` has had them.
    pub fn catch_up(&mut self, behind: &mut TraceState, ahead: &TraceState, observation: &Observation) {
        self.check_owner(ahead);
        self.read(behind, observation, None, Some(ahead));
    }

    /// Reads many positions of a trace, in order, with the verdicts of [`MonitorSet::observe`] for each. It prefetches
    /// bindings, so that many bindings do not cost a memory wait each. `report` gets the index of a position and each
    /// verdict it made definite.
    pub fn observe_all(
        &mut self,
        trace_state: &mut TraceState,
        observations: &[Observation],
        mut report: impl FnMut(usize, &Conclusion),
    ) {
        self.claim(trace_state);
        const PREFETCH_POSITIONS: usize = 32;
        for (chunk, near) in observations.chunks(PREFETCH_POSITIONS).enumerate() {
            self.prefetch(trace_state, near);
            for (place, observation) in near.iter().enumerate() {
                self.read(trace_state, observation, None, None);
                self.scratch.decided.iter().for_each(|decided| report(chunk * PREFETCH_POSITIONS + place, decided));
            }
        }
    }

    /// Lets time pass: every later position is after this moment, so every deadline up to it expires.
    pub fn tick(&mut self, trace_state: &mut TraceState, now: Time) -> &[Conclusion] {
        self.scratch.decided.clear();
        self.add_missing_states(trace_state);
        let after = Time(now.0.saturating_add(1));
        if trace_state.clock.tick(after) {
            self.expire(trace_state);
        }
        &self.scratch.decided
    }

    /// Returns the verdict on a trace and all its continuations.
    pub fn verdict(&mut self, trace_state: &mut TraceState, id: MonitorId) -> Verdict {
        self.judge(trace_state, id, false)
    }

    /// Returns the verdict if the trace ends here: a definite one is kept, any other is decided by the finite trace.
    pub fn end(&mut self, trace_state: &mut TraceState, id: MonitorId) -> Verdict {
        self.judge(trace_state, id, true)
    }

    fn judge(&mut self, trace_state: &mut TraceState, id: MonitorId, end: bool) -> Verdict {
        self.add_missing_states(trace_state);
        let Some(Some(entry)) = self.entries.get_mut(id.0 as usize) else { return Verdict::Inconclusive };
        let monitor_state = &mut trace_state.states[id.0 as usize];
        let skeleton = &entry.monitor.compiled.skeleton;
        let verdict = match monitor_state.extended.as_deref_mut() {
            Some(ExtendedState::Bindings(bindings)) => {
                let live = Bindings::verdict(bindings, &entry.monitor, &mut entry.cache);
                if !live.is_definite() && end {
                    bindings.end_verdict(&entry.monitor, &entry.cache)
                } else {
                    if live.is_definite() && entry.after == After::Latch {
                        // What was found once may be too much to find again.
                        monitor_state.number = cache::definite_state(live);
                        monitor_state.extended = None;
                        let verdict = entry.monitor.apply_polarity(live);
                        self.mark_activity(trace_state, id.0);
                        return verdict;
                    }
                    live
                }
            }
            Some(ExtendedState::Point(point) | ExtendedState::Data(point, _)) if end => {
                entry.cache.end_verdict(skeleton, point)
            }
            Some(ExtendedState::Point(point) | ExtendedState::Data(point, _)) => entry.cache.verdict(skeleton, point),
            Some(ExtendedState::Removed) => return Verdict::Inconclusive,
            None if end => entry.cache.end_verdict(skeleton, &Point::cached(monitor_state.number)),
            None => entry.cache.verdict(skeleton, &Point::cached(monitor_state.number)),
        };
        entry.monitor.apply_polarity(verdict)
    }

    /// Returns the number of a monitor's state, if it has neither bindings nor open deadlines.
    pub fn state(&self, trace_state: &TraceState, id: MonitorId) -> Option<u32> {
        self.check_owner(trace_state);
        let monitor_state = trace_state.states.get(id.0 as usize)?;
        monitor_state.extended.is_none().then_some(monitor_state.number)
    }

    /// Whether a trace exceeded a limit of a formula: [`CacheLimits::rows`] or [`CacheLimits::work`]. From then on every
    /// position is unknown to it.
    pub fn is_full(&self, trace_state: &TraceState, id: MonitorId) -> bool {
        self.check_owner(trace_state);
        let (Some(entry), Some(monitor_state)) = (self.entry(id), trace_state.states.get(id.index())) else {
            return false;
        };
        match monitor_state.extended.as_deref() {
            Some(ExtendedState::Data(_, store)) => store.is_full(),
            _ => entry.is_stopped(monitor_state),
        }
    }

    /// Whether a trace may have exceeded a limit of some formula that is not about data, as [`MonitorSet::is_full`] says
    /// of one.
    pub fn has_stopped(&self, trace_state: &TraceState) -> bool {
        self.check_owner(trace_state);
        trace_state.has_stopped
    }

    /// Returns what must still hold, as a formula about the rest of the trace, which begins at [`TraceState::clock`].
    /// For a quantified formula it lists the first few bindings with a state of their own, and all other values
    /// together. If it leaves parts out, it has notes in their place ([`Sentence::is_whole`]).
    ///
    /// A formula about data has no such residual: it is returned itself, with a note that it asks for the positions so
    /// far as well.
    pub fn residual(&mut self, trace_state: &mut TraceState, id: MonitorId) -> Option<Sentence> {
        self.add_missing_states(trace_state);
        let now = trace_state.clock.now();
        let entry = self.entries.get_mut(id.0 as usize)?.as_mut()?;
        let monitor_state = trace_state.states.get(id.0 as usize)?;
        let (compiled, cache) = (&entry.monitor.compiled, &mut entry.cache);
        let mut arena = Arena::new();
        let formula = match monitor_state.extended.as_deref() {
            None => residual_formula(compiled, cache, &mut arena, &Point::cached(monitor_state.number), &[], now),
            Some(ExtendedState::Point(point)) => residual_formula(compiled, cache, &mut arena, point, &[], now),
            Some(ExtendedState::Removed) => return None,
            // It looks back only, so the obligation never changes, but no formula about the rest alone says so.
            Some(ExtendedState::Data(..)) => {
                let Sentence { arena: whole, formula } = &entry.monitor.data.as_ref()?.sentence;
                let formula = arena.copy(whole, *formula);
                match trace_state.positions {
                    0 => formula,
                    _ => {
                        let note = write_note(&mut arena, "with the positions so far");
                        arena.and([formula, note])
                    }
                }
            }
            Some(ExtendedState::Bindings(bindings)) => {
                write_binding_residuals(&entry.monitor, cache, &mut arena, bindings, now)
            }
        };
        Some(Sentence { arena, formula })
    }

    /// Returns how often a monitor was satisfied and violated; at most once if it latches.
    pub fn counts(&self, trace_state: &TraceState, id: MonitorId) -> VerdictCounts {
        self.check_owner(trace_state);
        trace_state.states.get(id.0 as usize).map_or(VerdictCounts::default(), |monitor_state| VerdictCounts {
            satisfied: monitor_state.satisfied,
            violated: monitor_state.violated,
            decided_at: (monitor_state.decided_at > 0).then_some(monitor_state.decided_at),
        })
    }

    /// Returns how many bindings of a quantified formula have a state of their own, or how many rows a formula about
    /// data keeps.
    pub fn bindings(&self, trace_state: &TraceState, id: MonitorId) -> usize {
        self.check_owner(trace_state);
        match trace_state.states.get(id.0 as usize).and_then(|monitor_state| monitor_state.extended.as_deref()) {
            Some(ExtendedState::Bindings(bindings)) => bindings.len(),
            Some(ExtendedState::Data(_, store)) => store.len(),
            _ => 0,
        }
    }

    /// Returns a binding for which the formula would be violated if the trace ended here.
    pub(crate) fn find_failing_binding(&self, trace_state: &TraceState, id: MonitorId) -> Option<Vec<Option<Value>>> {
        self.check_owner(trace_state);
        let entry = self.entry(id)?;
        let Some(ExtendedState::Bindings(bindings)) = trace_state.states.get(id.0 as usize)?.extended.as_deref() else {
            return None;
        };
        let skeleton = &entry.monitor.compiled.skeleton;
        let fails = |(_, _, point): &(usize, Option<&Binding>, &Point)| {
            entry.cache.end_verdict(skeleton, point) == Verdict::Violated
        };
        let failing = bindings.binding_states().filter(fails).filter_map(|(_, binding, _)| binding);
        failing.min().map(<[Option<Value>]>::to_vec)
    }

    /// Returns the next moment at which a tick may change a verdict; none as long as no time is known.
    pub fn deadline(&self, trace_state: &TraceState) -> Option<Time> {
        self.check_owner(trace_state);
        if !trace_state.has_timed() {
            return None;
        }
        let pairs = self.entries.iter().zip(&trace_state.states);
        let deadline = pairs.filter_map(|(entry, monitor_state)| find_deadline(entry.as_ref()?, monitor_state)).min();
        trace_state.clock.to_time(deadline?)
    }

    /// Returns the next moment at which a tick may change the verdict of one monitor.
    pub fn deadline_of(&self, trace_state: &TraceState, id: MonitorId) -> Option<Time> {
        self.check_owner(trace_state);
        let deadline = find_deadline(self.entry(id)?, trace_state.states.get(id.index())?)?;
        trace_state.clock.to_time(deadline)
    }
}

/// Returns the next moment at which a tick may change the verdict of a state.
fn find_deadline(entry: &Entry, monitor_state: &MonitorState) -> Option<Time> {
    match monitor_state.extended.as_deref()? {
        ExtendedState::Point(point) => entry.cache.deadline(&entry.monitor.compiled.skeleton, point),
        ExtendedState::Bindings(bindings) => bindings.deadline(),
        ExtendedState::Data(..) | ExtendedState::Removed => None,
    }
}
