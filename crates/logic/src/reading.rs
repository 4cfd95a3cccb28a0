//! How a watch reads a position: who is touched, what letter each reads, and where that leads.
//!
//! This is the hot path. A formula without quantifiers costs an index entry, a letter and a look-up in its table.

use std::sync::Arc;

use crate::binding::Bindings;
use crate::cache::{SATISFIED, VIOLATED};
use crate::data::Present;
use crate::facts::Facts;
use crate::interval::Time;
use crate::letter::read;
use crate::monitor_set::{After, Conclusion, MonitorId, MonitorSet};
use crate::observation::{Observation, Plan};
use crate::population::Scene;
use crate::state::Point;
use crate::term::Value;
use crate::touch::Asked;
use crate::trace_state::{TraceState, Wide};
use crate::verdict::Verdict;

/// What is read at a position.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) observation: &'a Observation,
    /// The same with everything that an observation leaves out.
    pub(crate) facts: Option<&'a Facts>,
    /// Is there something nobody could tell?
    pub(crate) unknown: bool,
    pub(crate) now: Time,
}

impl Reading<'_> {
    /// All facts, for letters that need them together.
    fn whole(&self, names: &[Arc<str>]) -> Facts {
        self.facts.cloned().unwrap_or_else(|| self.observation.to_facts(names))
    }
}

impl MonitorSet {
    pub(crate) fn read(&mut self, standing: &mut TraceState, observation: &Observation, facts: Option<&Facts>) {
        self.scratch.decided.clear();
        if facts.is_none() && self.changes_nothing(standing, observation) {
            standing.positions += 1;
            return;
        }
        if standing.seats.len() < self.len() {
            self.seat_all(standing);
        }
        let time = facts.map_or(observation.time, |facts| facts.time);
        standing.positions += 1;
        if time.is_some() || standing.clock.is_none() {
            self.advance_clock(standing, time);
        }
        let now = standing.clock.unwrap_or_default();
        match observation.plan() {
            Some(plan) if facts.is_none() && plan.version == self.version => {
                self.follow(standing, observation, plan, now);
            }
            _ => self.read_anew(standing, observation, facts, now),
        }
    }

    /// Is it one fact, about one binding of one formula, that leaves it where it stands? Most facts do, and then there
    /// is nothing else to do.
    #[inline]
    fn changes_nothing(&self, standing: &TraceState, observation: &Observation) -> bool {
        let is_one_fact = observation.plan().is_none() && observation.len() == 1 && observation.time.is_none();
        if !is_one_fact || !self.whole.is_empty() {
            return false;
        }
        if standing.clock.is_none() || standing.seats.len() < self.len() || standing.has_restless() {
            return false;
        }
        let Some([asker]) = self.index.get(observation.name(0).0 as usize).map(Vec::as_slice) else { return false };
        let (true, Some(value)) = (asker.direct, observation.values(0).first()) else { return false };
        match (&self.entries[asker.monitor as usize], standing.seats[asker.monitor as usize].wide.as_deref()) {
            (Some(entry), Some(Wide::Bindings(bindings))) => {
                bindings.stays(&entry.cache, entry.width, value, 1 << asker.bit)
            }
            _ => false,
        }
    }

    fn advance_clock(&mut self, standing: &mut TraceState, time: Option<Time>) {
        let now = match (time, standing.clock) {
            (Some(time), Some(clock)) => time.max(clock),
            (Some(time), None) => time,
            (None, clock) => clock.unwrap_or_default(),
        };
        if standing.clock != Some(now) {
            standing.clock = Some(now);
            self.expire(standing, now);
        }
    }

    /// Reads a position for which nothing was prepared.
    fn read_anew(&mut self, standing: &mut TraceState, observation: &Observation, facts: Option<&Facts>, now: Time) {
        let unknown = facts.is_some_and(|facts| !facts.unknown.is_empty());
        let reading = Reading { observation, facts, unknown, now };
        self.touch(observation);
        if unknown || !self.whole.is_empty() {
            self.touch_whole(facts, unknown);
        }
        let mut touched = std::mem::take(&mut self.scratch.touched);
        for &monitor in &touched {
            let bits = std::mem::take(&mut self.scratch.letters[monitor as usize]);
            self.step_one(standing, monitor, bits, reading);
        }
        if standing.has_restless() {
            self.step_restless(standing, reading);
        }
        for &monitor in &touched {
            self.scratch.is_touched[monitor as usize] = false;
            self.scratch.ends[monitor as usize] = None;
        }
        touched.clear();
        self.scratch.touched = touched;
        self.scratch.hits.clear();
    }

    /// Reads an observation that was prepared.
    #[inline]
    fn follow(&mut self, standing: &mut TraceState, observation: &Observation, plan: &Plan, now: Time) {
        let reading = Reading { observation, facts: None, unknown: false, now };
        for (monitor, bits) in &plan.letters {
            self.step_one(standing, *monitor, *bits, reading);
        }
        if standing.has_restless() {
            plan.letters.iter().for_each(|(monitor, _)| self.scratch.is_touched[*monitor as usize] = true);
            self.step_restless(standing, reading);
            plan.letters.iter().for_each(|(monitor, _)| self.scratch.is_touched[*monitor as usize] = false);
        }
    }

    /// Those that an empty letter moves, unless they were touched. Whoever became restless by being touched was.
    #[inline(never)]
    fn step_restless(&mut self, standing: &mut TraceState, reading: Reading<'_>) {
        for group in 0..standing.groups() {
            let mut bits = standing.restless(group);
            while bits != 0 {
                let monitor = group as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                if !self.scratch.is_touched[monitor as usize] {
                    self.step_one(standing, monitor, 0, reading);
                }
            }
        }
    }

    /// Brings near what observations will touch: the bindings of formulas with one variable, the tables of formulas
    /// about data.
    pub(crate) fn warm(&mut self, standing: &TraceState, observations: &[Observation]) {
        for (monitor, entry) in self.entries.iter().enumerate() {
            let (Some(entry), Some(seat)) = (entry, standing.seats.get(monitor)) else { continue };
            let mut values: Vec<&Value> = Vec::with_capacity(observations.len());
            let warmth = match seat.wide.as_deref() {
                Some(Wide::Bindings(bindings)) if entry.monitor.shape.single => {
                    self.each_asked(monitor, observations, |bit, of_fact| {
                        values.extend(entry.monitor.value_of(bit, of_fact));
                    });
                    bindings.warm(&values)
                }
                Some(Wide::Data(_, store)) => {
                    self.each_asked(monitor, observations, |_, of_fact| values.extend(of_fact));
                    store.warm(&values)
                }
                _ => continue,
            };
            self.scratch.warmth = self.scratch.warmth.wrapping_add(warmth);
        }
    }

    /// Calls a function for each fact that a monitor asks for, with the question and the values.
    fn each_asked<'o>(&self, monitor: usize, observations: &'o [Observation], mut each: impl FnMut(u8, &'o [Value])) {
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
    pub(crate) fn touch(&mut self, observation: &Observation) {
        let scratch = &mut self.scratch;
        for place in 0..observation.len() {
            let Some(askers) = self.index.get(observation.name(place).0 as usize) else { continue };
            for asker in askers {
                let monitor = asker.monitor as usize;
                if asker.data {
                    scratch.hit(asker.monitor, asker.bit, place as u32);
                } else if asker.bare {
                    scratch.letters[monitor] |= 1 << asker.bit;
                } else if let Some(Some(entry)) = self.entries.get(monitor) {
                    if entry.monitor.shape.quantified {
                        scratch.hit(asker.monitor, asker.bit, place as u32);
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

    /// Monitors that must look at all facts together, or at what is unknown.
    #[inline(never)]
    fn touch_whole(&mut self, facts: Option<&Facts>, unknown: bool) {
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
    pub(crate) fn step_one(&mut self, standing: &mut TraceState, monitor: u32, bits: u64, reading: Reading<'_>) {
        let Some(Some(entry)) = self.entries.get(monitor as usize) else { return };
        let seat = &mut standing.seats[monitor as usize];
        if seat.wide.is_none() {
            if !reading.unknown
                && entry.is_plain
                && let Some(target) = entry.cache.look_up(seat.at, bits, entry.width)
            {
                let is_calm = entry.cache.is_calm(seat.at, target);
                if !is_calm && target == VIOLATED && entry.after == After::Each {
                    self.step_wide(standing, monitor, bits, reading);
                    return;
                }
                seat.at = target;
                if !is_calm {
                    self.arrive(standing, monitor);
                }
                return;
            }
            if seat.at <= VIOLATED && entry.after == After::Latch && seat.decided_at > 0 {
                return;
            }
        }
        self.step_wide(standing, monitor, bits, reading);
    }

    /// A step that the table does not know, or of a state that is more than a number.
    ///
    /// Kept apart, like all that is rare: inlined, it would make the hot path save and spill registers for it.
    #[inline(never)]
    fn step_wide(&mut self, standing: &mut TraceState, monitor: u32, bits: u64, reading: Reading<'_>) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let seat = &mut standing.seats[monitor as usize];
        let at = seat.at;
        let is_whole = reading.unknown || entry.monitor.shape.whole;
        match seat.wide.as_deref_mut() {
            Some(Wide::Vacant) => return,
            Some(Wide::Data(..)) => return self.step_data(standing, monitor, reading),
            Some(Wide::Bindings(shared)) => {
                let facts = is_whole.then(|| reading.whole(&self.spelt));
                let mut near: [Asked<'_>; 8] = [(0, &[]); 8];
                let mut far: Vec<Asked<'_>> = Vec::new();
                let mut count = 0;
                for hit in self.scratch.hits_of(monitor) {
                    let hit = (hit.bit, reading.observation.values(hit.place));
                    match near.get_mut(count) {
                        Some(place) => *place = hit,
                        None if far.is_empty() => far.extend(near.into_iter().chain([hit])),
                        None => far.push(hit),
                    }
                    count += 1;
                }
                let hits = if far.is_empty() { &near[..count] } else { &far };
                let (after, time) = (entry.after, reading.now);
                let mut scene = Scene { monitor: &entry.monitor, cache: &mut entry.cache, time, after };
                // What is shared is copied only if it moves.
                let is_shared = Arc::strong_count(shared) > 1;
                if is_shared && facts.is_none() && shared.rest(&scene, hits) {
                    return;
                }
                let bindings = Arc::make_mut(shared);
                if bindings.step(&mut scene, hits, facts.as_ref(), &mut self.scratch.bindings) {
                    self.conclude(standing, monitor);
                    self.note(standing, monitor);
                }
                return;
            }
            wide => {
                let (bits, unknown) = match is_whole {
                    true => read(&entry.monitor, &reading.whole(&self.spelt), &[]),
                    false => (bits, 0),
                };
                let skeleton = &entry.monitor.compiled.skeleton;
                let from = match wide {
                    Some(Wide::Point(point)) => &*point,
                    _ => &Point::cached(at),
                };
                let mut point = entry.cache.step(skeleton, from, bits, unknown, reading.now);
                if entry.after == After::Each && entry.cache.verdict(skeleton, &point) == Verdict::Violated {
                    // Told, and then excused: the past goes on as it was.
                    point = entry.cache.step(skeleton, from, bits | entry.monitor.excuse, unknown, reading.now);
                    seat.decide(Verdict::Violated, standing.positions);
                    let id = MonitorId(monitor);
                    self.scratch.decided.push(Conclusion { monitor: id, verdict: Verdict::Violated, binding: None });
                }
                seat.place_point(point);
            }
        }
        self.arrive(standing, monitor);
    }

    /// A position of a formula about data.
    #[inline(never)]
    fn step_data(&mut self, standing: &mut TraceState, monitor: u32, reading: Reading<'_>) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let seat = &mut standing.seats[monitor as usize];
        let (Some(Wide::Data(point, store)), Some(data)) = (seat.wide.as_deref_mut(), &entry.monitor.data) else {
            return;
        };
        let present = match reading.facts {
            Some(facts) => Present::Facts(facts, &data.names),
            None => Present::Observation(reading.observation, &entry.data_names),
        };
        let read = data.read(store, present, standing.positions, reading.now);
        let broken = if read.broken.is_empty() { 0 } else { entry.monitor.broken_bit() };
        let unknown = if read.is_unknown { entry.monitor.broken_bit() } else { 0 };
        let skeleton = &entry.monitor.compiled.skeleton;
        let mut next = entry.cache.step(skeleton, point, broken, unknown, reading.now);
        let mut verdict = entry.cache.verdict(skeleton, &next);
        let is_each = entry.after == After::Each;
        if is_each && verdict == Verdict::Violated {
            next = entry.cache.step(skeleton, point, broken | entry.monitor.excuse, unknown, reading.now);
        } else if is_each {
            verdict = Verdict::Inconclusive;
        }
        *point = next;
        if !verdict.is_definite() {
            return;
        }
        seat.decide(verdict, standing.positions);
        let bindings = if is_each { &read.broken[..] } else { &read.broken[..read.broken.len().min(1)] };
        for binding in bindings {
            let binding = (!binding.is_empty()).then(|| binding.clone());
            self.scratch.decided.push(Conclusion { monitor: MonitorId(monitor), verdict, binding });
        }
        match entry.after {
            After::Each => {}
            After::Reset => {
                let start = entry.start_state();
                seat.place(start);
            }
            After::Latch => {
                seat.at = if verdict == Verdict::Satisfied { SATISFIED } else { VIOLATED };
                seat.wide = None;
            }
        }
        self.note(standing, monitor);
    }

    /// A formula without bindings came to a state: counts a definite verdict, and notes what it waits for.
    #[inline(never)]
    fn arrive(&mut self, standing: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let seat = &mut standing.seats[monitor as usize];
        // A verdict that latched is not brought by this position.
        let is_new = match entry.after {
            After::Latch => seat.decided_at == 0,
            After::Reset => true,
            // Violations were told at once; satisfied for good it is once.
            After::Each => seat.at == SATISFIED && seat.satisfied == 0,
        };
        if seat.wide.is_none() && seat.at <= VIOLATED && is_new {
            let verdict = if seat.at == SATISFIED { Verdict::Satisfied } else { Verdict::Violated };
            seat.decide(verdict, standing.positions);
            self.scratch.decided.push(Conclusion { monitor: MonitorId(monitor), verdict, binding: None });
            if entry.after == After::Reset {
                let start = entry.start_state();
                seat.place(start);
            }
        }
        self.note(standing, monitor);
    }

    /// Bindings of a quantified formula moved.
    fn conclude(&mut self, standing: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let seat = &mut standing.seats[monitor as usize];
        let Some(Wide::Bindings(bindings)) = seat.wide.as_deref_mut() else { return };
        let id = MonitorId(monitor);
        if entry.after != After::Latch {
            for (verdict, binding) in self.scratch.bindings.drain(..) {
                let verdict = entry.monitor.outward(verdict);
                seat.decide(verdict, standing.positions);
                let binding = binding.map(<[Option<Value>]>::into_vec);
                self.scratch.decided.push(Conclusion { monitor: id, verdict, binding });
            }
            return;
        }
        let verdict = Bindings::verdict(bindings, &entry.monitor, &mut entry.cache);
        if verdict.is_definite() {
            let by = self.scratch.bindings.iter().find(|(other, _)| *other == verdict);
            let binding = by.and_then(|(_, binding)| binding.clone()).map(<[Option<Value>]>::into_vec);
            // The state of what is run; `judge` turns it round for an `exists`.
            seat.at = if verdict == Verdict::Satisfied { SATISFIED } else { VIOLATED };
            seat.wide = None;
            let verdict = entry.monitor.outward(verdict);
            seat.decide(verdict, standing.positions);
            self.scratch.decided.push(Conclusion { monitor: id, verdict, binding });
        }
        self.scratch.bindings.clear();
    }

    /// Lets pass the deadlines before a moment.
    #[inline(never)]
    pub(crate) fn expire(&mut self, standing: &mut TraceState, time: Time) {
        for group in 0..standing.groups() {
            let mut bits = standing.timed(group);
            while bits != 0 {
                let monitor = group as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.expire_one(standing, monitor, time);
            }
        }
    }

    fn expire_one(&mut self, standing: &mut TraceState, monitor: u32, time: Time) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let seat = &mut standing.seats[monitor as usize];
        match seat.wide.as_deref_mut() {
            Some(Wide::Point(point)) => {
                let Some(point) = entry.cache.expire(&entry.monitor.compiled.skeleton, point, time) else { return };
                seat.place_point(point);
                self.arrive(standing, monitor);
            }
            Some(Wide::Bindings(bindings)) => {
                if bindings.deadline().is_none_or(|end| end >= time) {
                    return;
                }
                let after = entry.after;
                let mut scene = Scene { monitor: &entry.monitor, cache: &mut entry.cache, time, after };
                Arc::make_mut(bindings).expire(&mut scene, &mut self.scratch.bindings);
                self.conclude(standing, monitor);
                self.note(standing, monitor);
            }
            Some(Wide::Vacant | Wide::Data(..)) | None => {}
        }
    }

    /// Notes whether a monitor must be stepped although nothing touches it, and whether it has deadlines.
    #[inline]
    pub(crate) fn note(&mut self, standing: &mut TraceState, monitor: u32) {
        let Some(Some(entry)) = self.entries.get_mut(monitor as usize) else { return };
        let seat = &standing.seats[monitor as usize];
        let skeleton = &entry.monitor.compiled.skeleton;
        let (restless, timed) = match seat.wide.as_deref() {
            // A verdict that stands from the beginning is still to be told, and told again if it is reset; one that
            // latched waits for nothing.
            None if seat.at <= VIOLATED => (seat.decided_at == 0 || entry.after == After::Reset, false),
            None => (!entry.cache.is_idle_at(skeleton, seat.at), false),
            Some(Wide::Point(point)) => (!entry.cache.is_idle(skeleton, point), !point.times.is_empty()),
            Some(Wide::Bindings(bindings)) => (!bindings.is_idle(), bindings.deadline().is_some()),
            Some(Wide::Vacant | Wide::Data(..)) => (false, false),
        };
        standing.mark(monitor, restless, timed);
    }
}
