//! How a monitor set reads a position: which monitors are touched, the letter of each, and its next state.
//!
//! This is the hot path. A formula without quantifiers costs an index entry, a letter and a look-up in its table.

use std::sync::Arc;

use crate::after::After;
use crate::bindings::Bindings;
use crate::cache::{SATISFIED_STATE, VIOLATED_STATE, definite_state};
use crate::data::{FactSource, PositionFacts};
use crate::facts::Facts;
use crate::interval::Time;
use crate::letter::read_letter;
use crate::monitor_set::{Conclusion, MonitorId, MonitorSet};
use crate::observation::{LetterPlan, Observation};
use crate::population::StepContext;
use crate::state::Point;
use crate::touch::CandidateFact;
use crate::trace_state::{ExtendedState, TraceState};
use crate::value::Value;
use crate::verdict::Verdict;

/// One position, as the monitors of a set read it.
#[derive(Clone, Copy)]
pub(crate) struct StepReader<'a> {
    pub(crate) observation: &'a Observation,
    /// The facts with names as strings, and with the unknown ones, which an observation lacks.
    pub(crate) facts: Option<&'a Facts>,
    /// Whether some facts are unknown.
    pub(crate) unknown: bool,
    pub(crate) now: Time,
}

impl StepReader<'_> {
    /// Returns all facts, for letters that need them together.
    fn to_facts(self, names: &[Arc<str>]) -> Facts {
        self.facts.cloned().unwrap_or_else(|| self.observation.to_facts(names))
    }
}

impl MonitorSet {
    /// Reads a position. If `ahead` is given, it is another state of the same trace, which has read the position already.
    pub(crate) fn read(
        &mut self,
        trace_state: &mut TraceState,
        observation: &Observation,
        facts: Option<&Facts>,
        ahead: Option<&TraceState>,
    ) {
        self.claim(trace_state);
        self.scratch.decided.clear();
        if facts.is_none() && self.is_unaffected(trace_state, observation) {
            trace_state.positions += 1;
            return;
        }
        if trace_state.states.len() < self.len() {
            self.add_missing_states(trace_state);
        }
        let time = facts.map_or(observation.time, |facts| facts.time);
        trace_state.positions += 1;
        if (time.is_some() || trace_state.clock.is_unset()) && trace_state.clock.read(time) {
            self.expire(trace_state);
        }
        let now = trace_state.clock.now();
        match observation.plan() {
            Some(plan) if facts.is_none() && plan.version == self.version => {
                self.read_prepared(trace_state, observation, plan, now);
            }
            _ => self.read_unprepared(trace_state, observation, facts, now, ahead),
        }
    }

    /// Whether the position is one fact about one binding of one formula and leaves its state unchanged. Most facts do,
    /// and then no other work is needed.
    #[inline]
    fn is_unaffected(&self, trace_state: &TraceState, observation: &Observation) -> bool {
        let is_one_fact = observation.plan().is_none() && observation.len() == 1 && observation.time.is_none();
        if !is_one_fact || !self.whole.is_empty() {
            return false;
        }
        if trace_state.clock.is_unset() || trace_state.states.len() < self.len() || trace_state.has_restless() {
            return false;
        }
        let Some([asker]) = self.index.get(observation.name(0).0 as usize).map(Vec::as_slice) else { return false };
        let (true, Some(value)) = (asker.direct, observation.values(0).first()) else { return false };
        match (&self.entries[asker.monitor as usize], trace_state.states[asker.monitor as usize].extended.as_deref()) {
            (Some(entry), Some(ExtendedState::Bindings(bindings))) => {
                bindings.leaves_value_unchanged(&entry.cache, entry.width, value, 1 << asker.bit)
            }
            _ => false,
        }
    }

    /// Reads a position for which nothing was prepared.
    fn read_unprepared(
        &mut self,
        trace_state: &mut TraceState,
        observation: &Observation,
        facts: Option<&Facts>,
        now: Time,
        ahead: Option<&TraceState>,
    ) {
        let unknown = facts.is_some_and(|facts| !facts.unknown.is_empty());
        let reader = StepReader { observation, facts, unknown, now };
        self.touch_readers(observation);
        if unknown || !self.whole.is_empty() {
            self.touch_whole_readers(facts, unknown);
        }
        let mut touched = std::mem::take(&mut self.scratch.touched);
        for &monitor in &touched {
            let bits = std::mem::take(&mut self.scratch.letters[monitor as usize]);
            // Bindings that both states still share were not moved by the position.
            if ahead.is_none_or(|ahead| !trace_state.shares_bindings(ahead, monitor)) {
                self.step_one(trace_state, monitor, bits, reader);
            }
        }
        if trace_state.has_restless() {
            self.step_restless(trace_state, reader);
        }
        for &monitor in &touched {
            self.scratch.is_touched[monitor as usize] = false;
            self.scratch.ends[monitor as usize] = None;
        }
        touched.clear();
        self.scratch.touched = touched;
        self.scratch.matches.clear();
    }

    /// Reads an observation that was prepared.
    #[inline]
    fn read_prepared(&mut self, trace_state: &mut TraceState, observation: &Observation, plan: &LetterPlan, now: Time) {
        let reader = StepReader { observation, facts: None, unknown: false, now };
        for (monitor, bits) in &plan.letters {
            self.step_one(trace_state, *monitor, *bits, reader);
        }
        if trace_state.has_restless() {
            plan.letters.iter().for_each(|(monitor, _)| self.scratch.is_touched[*monitor as usize] = true);
            self.step_restless(trace_state, reader);
            plan.letters.iter().for_each(|(monitor, _)| self.scratch.is_touched[*monitor as usize] = false);
        }
    }

    /// Steps the monitors that an empty letter moves, unless they were touched.
    #[inline(never)]
    fn step_restless(&mut self, trace_state: &mut TraceState, reader: StepReader<'_>) {
        for group in 0..trace_state.groups() {
            let mut bits = trace_state.restless(group);
            while bits != 0 {
                let monitor = group as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                if !self.scratch.is_touched[monitor as usize] {
                    self.step_one(trace_state, monitor, 0, reader);
                }
            }
        }
    }

    /// Prefetches what observations will touch: the bindings of formulas with one variable, the tables of formulas
    /// about data.
    pub(crate) fn prefetch(&mut self, trace_state: &TraceState, observations: &[Observation]) {
        for (monitor, entry) in self.entries.iter().enumerate() {
            let (Some(entry), Some(monitor_state)) = (entry, trace_state.states.get(monitor)) else { continue };
            let mut values: Vec<&Value> = Vec::with_capacity(observations.len());
            let prefetch = match monitor_state.extended.as_deref() {
                Some(ExtendedState::Bindings(bindings)) if entry.monitor.shape.single => {
                    self.for_each_asked(monitor, observations, |bit, of_fact| {
                        values.extend(entry.monitor.bound_value(bit, of_fact));
                    });
                    bindings.prefetch(&values)
                }
                Some(ExtendedState::Data(_, store)) => {
                    self.for_each_asked(monitor, observations, |_, of_fact| values.extend(of_fact));
                    store.prefetch(&values)
                }
                _ => continue,
            };
            self.scratch.prefetch = self.scratch.prefetch.wrapping_add(prefetch);
        }
    }

    /// Calls a function for each fact that a monitor asks for, with the question and the values.
    fn for_each_asked<'o>(
        &self,
        monitor: usize,
        observations: &'o [Observation],
        mut each: impl FnMut(u8, &'o [Value]),
    ) {
        for observation in observations {
            for place in 0..observation.len() {
                let askers = self.index.get(observation.name(place).0 as usize);
                for asker in askers.into_iter().flatten().filter(|asker| asker.monitor as usize == monitor) {
                    each(asker.bit, observation.values(place as u32));
                }
            }
        }
    }

    /// Finds the monitors that ask for the facts, and the letters that need no look at values.
    #[inline]
    pub(crate) fn touch_readers(&mut self, observation: &Observation) {
        let scratch = &mut self.scratch;
        for place in 0..observation.len() {
            let Some(askers) = self.index.get(observation.name(place).0 as usize) else { continue };
            for asker in askers {
                let monitor = asker.monitor as usize;
                if asker.data {
                    scratch.add_match(asker.monitor, asker.bit, place as u32);
                } else if asker.bare {
                    scratch.letters[monitor] |= 1 << asker.bit;
                } else if let Some(Some(entry)) = self.entries.get(monitor) {
                    if entry.monitor.shape.quantified {
                        scratch.add_match(asker.monitor, asker.bit, place as u32);
                    } else if entry.monitor.fits(asker.bit, observation.values(place as u32)) {
                        scratch.letters[monitor] |= 1 << asker.bit;
                    } else {
                        continue;
                    }
                }
                if !scratch.is_touched[monitor] {
                    scratch.is_touched[monitor] = true;
                    scratch.touched.push(asker.monitor);
                }
            }
        }
    }

    /// Marks the monitors that need all facts together, or that ask for an unknown fact.
    #[inline(never)]
    fn touch_whole_readers(&mut self, facts: Option<&Facts>, unknown: bool) {
        let scratch = &mut self.scratch;
        let mut touch = |monitor: u32| {
            if !scratch.is_touched[monitor as usize] {
                scratch.is_touched[monitor as usize] = true;
                scratch.touched.push(monitor);
            }
        };
        self.whole.iter().for_each(|monitor| touch(*monitor));
        if let Some(facts) = facts.filter(|_| unknown) {
            for name in facts.unknown.iter().filter_map(|atom| self.names.get(&atom.name)) {
                self.index[name.0 as usize].iter().for_each(|asker| touch(asker.monitor));
            }
        }
    }

    #[inline]
    pub(crate) fn step_one(&mut self, trace_state: &mut TraceState, monitor: u32, bits: u64, reader: StepReader<'_>) {
        let Some(Some(entry)) = self.entries.get(monitor as usize) else { return };
        let monitor_state = &mut trace_state.states[monitor as usize];
        if monitor_state.extended.is_none() {
            if !reader.unknown
                && entry.is_plain
                && let Some(target) = entry.cache.look_up(monitor_state.number, bits, entry.width)
            {
                let is_calm = entry.cache.is_calm(monitor_state.number, target);
                if !is_calm && entry.after == After::Each && entry.cache.may_be_violated_at(target) {
                    self.step_wide(trace_state, monitor, bits, reader);
                    return;
                }
                monitor_state.number = target;
                if !is_calm {
                    self.settle_state(trace_state, monitor);
                }
                return;
            }
            if monitor_state.number <= VIOLATED_STATE && entry.after == After::Latch {
                // A verdict that was found before this position is still to be reported.
                if monitor_state.decided_at == 0 {
                    self.settle_state(trace_state, monitor);
                }
                return;
            }
        }
        self.step_wide(trace_state, monitor, bits, reader);
    }

    /// Steps a monitor whose transition is not in the table, or whose state is more than a number.
    ///
    /// Not inlined, like all rare cases: it would make the hot path save and spill registers.
    #[inline(never)]
    fn step_wide(&mut self, trace_state: &mut TraceState, monitor: u32, bits: u64, reader: StepReader<'_>) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let monitor_state = &mut trace_state.states[monitor as usize];
        let at = monitor_state.number;
        if entry.is_stopped(monitor_state) {
            return;
        }
        let is_whole = reader.unknown || entry.monitor.shape.whole;
        match monitor_state.extended.as_deref_mut() {
            Some(ExtendedState::Removed) => return,
            Some(ExtendedState::Data(..)) => return self.step_data(trace_state, monitor, reader),
            Some(ExtendedState::Bindings(shared)) => {
                let facts = is_whole.then(|| reader.to_facts(&self.spelt));
                let mut near: [CandidateFact<'_>; 8] = [(0, &[]); 8];
                let mut far: Vec<CandidateFact<'_>> = Vec::new();
                let mut count = 0;
                for found in self.scratch.fact_matches(monitor) {
                    let found = (found.bit, reader.observation.values(found.place));
                    match near.get_mut(count) {
                        Some(place) => *place = found,
                        None if far.is_empty() => far.extend(near.into_iter().chain([found])),
                        None => far.push(found),
                    }
                    count += 1;
                }
                let matches = if far.is_empty() { &near[..count] } else { &far };
                let (after, time) = (entry.after, reader.now);
                let mut scene = StepContext::new(&entry.monitor, &mut entry.cache, time, after);
                // Shared bindings are copied only if they move.
                let is_shared = Arc::strong_count(shared) > 1;
                if is_shared && facts.is_none() && shared.leaves_all_unchanged(&scene, matches) {
                    return;
                }
                let bindings = Arc::make_mut(shared);
                let has_moved = bindings.step(&mut scene, matches, facts.as_ref(), &mut self.scratch.bindings);
                self.scratch.spent += scene.work.spent();
                if has_moved && (scene.work.is_exceeded() || bindings.is_over(entry.rows)) {
                    self.stop(trace_state, monitor);
                } else if has_moved {
                    self.report_bindings(trace_state, monitor);
                    self.mark_activity(trace_state, monitor);
                }
                return;
            }
            extended => {
                let (bits, unknown) = match is_whole {
                    true => read_letter(&entry.monitor, &reader.to_facts(&self.spelt), &[]),
                    false => (bits, 0),
                };
                let skeleton = &entry.monitor.compiled.skeleton;
                let from = match extended {
                    Some(ExtendedState::Point(point)) => &*point,
                    _ => &Point::cached(at),
                };
                let mut point = entry.cache.step(skeleton, from, bits, unknown, reader.now);
                if entry.after == After::Each && entry.cache.may_be_violated(skeleton, &point) {
                    let verdict = entry.cache.verdict(skeleton, &point);
                    let letter = (bits | entry.monitor.excuse, unknown);
                    let is_possible = verdict != Verdict::Violated;
                    point = entry.cache.step_excused(skeleton, from, letter, reader.now, is_possible);
                    if verdict == Verdict::Violated {
                        monitor_state.decide(verdict, trace_state.positions);
                        let id = MonitorId(monitor);
                        self.scratch.decided.push(Conclusion { monitor: id, verdict, binding: None });
                    }
                }
                monitor_state.set_point(point);
            }
        }
        self.settle_state(trace_state, monitor);
    }

    /// Steps a formula about data.
    #[inline(never)]
    fn step_data(&mut self, trace_state: &mut TraceState, monitor: u32, reader: StepReader<'_>) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let monitor_state = &mut trace_state.states[monitor as usize];
        let (Some(ExtendedState::Data(point, store)), Some(data)) =
            (monitor_state.extended.as_deref_mut(), &entry.monitor.data)
        else {
            return;
        };
        let source = match reader.facts {
            Some(facts) => FactSource::Facts(facts, &data.names),
            None => FactSource::Observation(reader.observation, &entry.data_names),
        };
        let names = match reader.unknown {
            true => u64::MAX,
            false => self.scratch.fact_matches(monitor).fold(0, |names, found| names | 1 << found.bit),
        };
        let present = PositionFacts { source, names };
        let read = {
            let most_work = entry.cache.limits().work;
            data.read(store, present, trace_state.positions, reader.now, most_work, &mut self.scratch.data)
        };
        self.scratch.spent += store.work_spent();
        if read.broken.is_empty()
            && !read.is_unknown
            && let Some(number) = point.id()
            && entry.cache.is_idle_at(&entry.monitor.compiled.skeleton, number)
            && entry.cache.is_calm(number, number)
        {
            // The position violates nothing and leaves the state as it is.
            return;
        }
        let broken = if read.broken.is_empty() { 0 } else { entry.monitor.broken_bit() };
        let unknown = if read.is_unknown { entry.monitor.broken_bit() } else { 0 };
        let skeleton = &entry.monitor.compiled.skeleton;
        let mut next = entry.cache.step(skeleton, point, broken, unknown, reader.now);
        let mut verdict = entry.cache.verdict(skeleton, &next);
        let is_each = entry.after == After::Each;
        if is_each && entry.cache.may_be_violated(skeleton, &next) {
            let letter = (broken | entry.monitor.excuse, unknown);
            next = entry.cache.step_excused(skeleton, point, letter, reader.now, verdict != Verdict::Violated);
        }
        if is_each && verdict != Verdict::Violated {
            verdict = Verdict::Inconclusive;
        }
        *point = next;
        if !verdict.is_definite() {
            return;
        }
        monitor_state.decide(verdict, trace_state.positions);
        let bindings = if is_each { &read.broken[..] } else { &read.broken[..read.broken.len().min(1)] };
        for binding in bindings {
            let binding = (!binding.is_empty()).then(|| binding.clone());
            self.scratch.decided.push(Conclusion { monitor: MonitorId(monitor), verdict, binding });
        }
        match entry.after {
            After::Each => {}
            After::Reset => {
                let start = entry.initial_state();
                monitor_state.set_state(start);
            }
            After::Latch => {
                monitor_state.number = definite_state(verdict);
                monitor_state.extended = None;
            }
        }
        self.mark_activity(trace_state, monitor);
    }

    /// Handles the new state of a formula without bindings: counts a definite verdict and marks its activity.
    #[inline(never)]
    fn settle_state(&mut self, trace_state: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let monitor_state = &mut trace_state.states[monitor as usize];
        // A latched verdict is not new.
        let is_new = match entry.after {
            After::Latch => monitor_state.decided_at == 0,
            After::Reset => true,
            // Violations were reported at once; `satisfied` is reported once.
            After::Each => monitor_state.number == SATISFIED_STATE && monitor_state.satisfied == 0,
        };
        if monitor_state.extended.is_none() && monitor_state.number <= VIOLATED_STATE && is_new {
            let verdict = if monitor_state.number == SATISFIED_STATE { Verdict::Satisfied } else { Verdict::Violated };
            let verdict = entry.monitor.apply_polarity(verdict);
            monitor_state.decide(verdict, trace_state.positions);
            self.scratch.decided.push(Conclusion { monitor: MonitorId(monitor), verdict, binding: None });
            if entry.after == After::Reset {
                let start = entry.initial_state();
                monitor_state.set_state(start);
            }
        }
        self.mark_activity(trace_state, monitor);
    }

    /// Reports the verdicts of bindings of a quantified formula that moved.
    fn report_bindings(&mut self, trace_state: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let monitor_state = &mut trace_state.states[monitor as usize];
        let Some(ExtendedState::Bindings(bindings)) = monitor_state.extended.as_deref_mut() else { return };
        let id = MonitorId(monitor);
        if entry.after != After::Latch {
            for (verdict, binding) in self.scratch.bindings.drain(..) {
                let verdict = entry.monitor.apply_polarity(verdict);
                monitor_state.decide(verdict, trace_state.positions);
                let binding = binding.map(<[Option<Value>]>::into_vec);
                self.scratch.decided.push(Conclusion { monitor: id, verdict, binding });
            }
            return;
        }
        let verdict = Bindings::verdict(bindings, &entry.monitor, &mut entry.cache);
        if verdict.is_definite() {
            let by = self.scratch.bindings.iter().find(|(other, _)| *other == verdict);
            let binding = by.and_then(|(_, binding)| binding.clone()).map(<[Option<Value>]>::into_vec);
            // The state of the negated formula for an `exists`; `judge` applies the polarity.
            monitor_state.number = definite_state(verdict);
            monitor_state.extended = None;
            let verdict = entry.monitor.apply_polarity(verdict);
            monitor_state.decide(verdict, trace_state.positions);
            self.scratch.decided.push(Conclusion { monitor: id, verdict, binding });
        }
        self.scratch.bindings.clear();
    }

    /// Expires the deadlines before the current moment.
    #[inline(never)]
    pub(crate) fn expire(&mut self, trace_state: &mut TraceState) {
        let now = trace_state.clock.now();
        for group in 0..trace_state.groups() {
            let mut bits = trace_state.timed(group);
            while bits != 0 {
                let monitor = group as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.expire_one(trace_state, monitor, now);
            }
        }
    }

    fn expire_one(&mut self, trace_state: &mut TraceState, monitor: u32, time: Time) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let monitor_state = &mut trace_state.states[monitor as usize];
        match monitor_state.extended.as_deref_mut() {
            Some(ExtendedState::Point(point)) => {
                let Some(point) = entry.cache.expire(&entry.monitor.compiled.skeleton, point, time) else { return };
                monitor_state.set_point(point);
                self.settle_state(trace_state, monitor);
            }
            Some(ExtendedState::Bindings(bindings)) => {
                if bindings.deadline().is_none_or(|end| end >= time) {
                    return;
                }
                let after = entry.after;
                let mut scene = StepContext::new(&entry.monitor, &mut entry.cache, time, after);
                Arc::make_mut(bindings).expire(&mut scene, &mut self.scratch.bindings);
                if scene.work.is_exceeded() {
                    self.stop(trace_state, monitor);
                    return;
                }
                self.report_bindings(trace_state, monitor);
                self.mark_activity(trace_state, monitor);
            }
            Some(ExtendedState::Removed | ExtendedState::Data(..)) | None => {}
        }
    }

    /// Stops following a quantified formula on a trace that exceeded one of its limits. From then on every position is
    /// unknown to it.
    #[inline(never)]
    fn stop(&mut self, trace_state: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let point = entry.cache.stopped_point(&entry.monitor.compiled.skeleton);
        let monitor_state = &mut trace_state.states[monitor as usize];
        monitor_state.extended = None;
        monitor_state.set_point(point);
        self.scratch.bindings.clear();
        self.mark_activity(trace_state, monitor);
    }

    /// Marks whether a monitor must be stepped when no fact touches it, and whether it has deadlines.
    #[inline]
    pub(crate) fn mark_activity(&mut self, trace_state: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let monitor_state = &trace_state.states[monitor as usize];
        let skeleton = &entry.monitor.compiled.skeleton;
        let (restless, timed) = match monitor_state.extended.as_deref() {
            // A verdict that is definite from the start is still to be reported, and again after a reset; a latched one
            // is not.
            None if monitor_state.number <= VIOLATED_STATE => {
                (monitor_state.decided_at == 0 || entry.after == After::Reset, false)
            }
            None => (!entry.cache.is_idle_at(skeleton, monitor_state.number), false),
            Some(ExtendedState::Point(point)) => (!entry.cache.is_idle(skeleton, point), !point.times.is_empty()),
            Some(ExtendedState::Bindings(bindings)) => (!bindings.is_idle(), bindings.deadline().is_some()),
            Some(ExtendedState::Removed | ExtendedState::Data(..)) => (false, false),
        };
        trace_state.has_stopped |= entry.is_stopped(monitor_state);
        trace_state.mark(monitor, restless, timed);
    }
}
