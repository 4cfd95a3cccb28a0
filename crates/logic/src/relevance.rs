//! Which open facts of the next position can still change anything, so that only those are asked for.
//!
//! An open fact matters if, for some completion of the other open facts, the state after the position with it differs
//! from the state without it. Equal states have equal futures, so a fact that does not matter changes no verdict of any
//! continuation. The inverse is not promised: where an answer is expensive, the fact counts as one that matters.

use rustc_hash::FxHashMap;

use crate::after::After;
use crate::cache::{Cache, VIOLATED_STATE};
use crate::facts::{Fact, Facts};
use crate::interval::Time;
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::monitor_set::{Entry, MonitorId, MonitorSet};
use crate::probe::{Binding, Probe};
use crate::state::Point;
use crate::term::Term;
use crate::trace_state::{ExtendedState, TraceState};

/// The most open facts whose completions are tried; beyond it, all of them matter.
const MAX_COMPLETED_FACTS: usize = 8;

/// The open facts of a position, and which of them are known to matter.
pub(crate) struct OpenFacts<'a> {
    facts: Facts,
    open: &'a [Fact],
    /// The places of those that may change a letter.
    candidates: Vec<usize>,
    relevant: Vec<bool>,
}

impl<'a> OpenFacts<'a> {
    /// Returns the open facts that may set one of the letter bits in `support`.
    pub(crate) fn new(monitor: &Monitor, facts: &Facts, open: &'a [Fact], support: u64) -> OpenFacts<'a> {
        let mut facts = facts.clone();
        facts.unknown.retain(|atom| !open.iter().any(|fact| is_fact(atom.terms.iter(), &atom.name, fact)));
        let is_candidate = |fact: &Fact| bits_of_fact(monitor, fact) & support != 0 && !facts.known.contains(fact);
        let candidates = (0..open.len()).filter(|place| is_candidate(&open[*place])).collect();
        OpenFacts { facts, open, candidates, relevant: vec![false; open.len()] }
    }

    /// Whether there are few enough to try all completions. Otherwise all of them matter.
    fn can_be_completed(&mut self) -> bool {
        if self.candidates.len() <= MAX_COMPLETED_FACTS {
            return true;
        }
        self.mark_candidates();
        false
    }

    fn mark_candidates(&mut self) {
        self.candidates.iter().for_each(|place| self.relevant[*place] = true);
    }

    /// Returns the facts of each completion; bit `i` of its place says whether candidate `i` holds.
    fn completions(&self) -> Vec<Facts> {
        let completion = |held: usize| {
            let mut facts = self.facts.clone();
            let candidates = self.candidates.iter().enumerate();
            let chosen = candidates.filter(|(bit, _)| held >> bit & 1 == 1);
            facts.known.extend(chosen.map(|(_, place)| self.open[*place].clone()));
            facts
        };
        (0..1usize << self.candidates.len()).map(completion).collect()
    }

    /// Marks the facts that change the successor of a state, given its letter under each completion.
    fn compare_successors(
        &mut self,
        monitor: &Monitor,
        cache: &mut Cache,
        from: &Point,
        letters: &[(u64, u64)],
        time: Time,
    ) {
        let skeleton = &monitor.compiled.skeleton;
        let is_final = cache.verdict(skeleton, from).is_definite() && !skeleton.quantified;
        if monitor.after == After::Latch && is_final {
            return;
        }
        let mut successors: FxHashMap<(u64, u64), Successor> = FxHashMap::default();
        for letter in letters {
            successors.entry(*letter).or_insert_with(|| Successor::new(monitor, cache, from, *letter, time));
        }
        for (bit, place) in self.candidates.iter().enumerate() {
            let mut without = (0..letters.len()).filter(|held| held >> bit & 1 == 0);
            self.relevant[*place] |= without.any(|held| {
                let (without, with) = (letters[held], letters[held | 1 << bit]);
                without != with && successors[&without] != successors[&with]
            });
        }
    }

    /// Compares the successors of states of a formula without bindings.
    pub(crate) fn compare_points<'p>(
        &mut self,
        monitor: &Monitor,
        cache: &mut Cache,
        points: impl Iterator<Item = &'p Point>,
        time: Time,
    ) {
        if self.candidates.is_empty() || !self.can_be_completed() {
            return;
        }
        let completions = self.completions();
        let letters: Vec<(u64, u64)> = completions.iter().map(|facts| read_letter(monitor, facts, &[])).collect();
        points.for_each(|from| self.compare_successors(monitor, cache, from, &letters, time));
    }

    /// Compares the successors of all bindings: those that an open fact may touch, and all others.
    pub(crate) fn compare_bindings<'p>(
        &mut self,
        monitor: &Monitor,
        cache: &mut Cache,
        touched: impl FnOnce(&Facts) -> Vec<(Box<Binding>, Point)>,
        occupied: impl Iterator<Item = &'p Point>,
        time: Time,
    ) {
        // If values are compared, whether a value was seen is part of the state.
        if !monitor.compiled.rigid.is_trivial() {
            self.mark_candidates();
            return;
        }
        if self.candidates.is_empty() || !self.can_be_completed() {
            return;
        }
        let completions = self.completions();
        let Some(all) = completions.last() else { return };
        let read = |binding: &Binding| -> Vec<(u64, u64)> {
            completions.iter().map(|facts| read_letter(monitor, facts, binding)).collect()
        };
        for (binding, point) in touched(all) {
            self.compare_successors(monitor, cache, &point, &read(&binding), time);
        }
        let background = read(&vec![None; monitor.compiled.prefix.len()]);
        occupied.for_each(|point| self.compare_successors(monitor, cache, point, &background, time));
    }

    pub(crate) fn into_relevant(self) -> Vec<bool> {
        self.relevant
    }
}

/// Everything that a step from a state can show.
#[derive(Debug)]
struct Successor {
    target: Point,
    /// If the violation is excused, where the trace continues.
    excused: Option<Point>,
    may_break: bool,
}

impl Successor {
    fn new(monitor: &Monitor, cache: &mut Cache, from: &Point, letter: (u64, u64), time: Time) -> Successor {
        let skeleton = &monitor.compiled.skeleton;
        let (bits, unknown) = letter;
        let target = cache.step(skeleton, from, bits, unknown, time);
        // A possible state that restarts does not show that it was violated.
        if !cache.may_be_violated(skeleton, &target) && monitor.after != After::Reset {
            return Successor { target, excused: None, may_break: false };
        }
        let may_break = cache.may_break(skeleton, from, bits, unknown, time);
        let excused =
            (monitor.after == After::Each).then(|| cache.step(skeleton, from, bits | monitor.excuse, unknown, time));
        Successor { target, excused, may_break }
    }
}

impl PartialEq for Successor {
    fn eq(&self, other: &Successor) -> bool {
        let excused = match (&self.excused, &other.excused) {
            (Some(mine), Some(theirs)) => mine.is_same(theirs),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        };
        excused && self.target.is_same(&other.target) && self.may_break == other.may_break
    }
}

/// Whether an unknown atom is one fact.
fn is_fact<'t>(mut terms: impl ExactSizeIterator<Item = &'t Term>, name: &str, fact: &Fact) -> bool {
    *name == *fact.name
        && terms.len() == fact.values.len()
        && fact.values.iter().all(|value| matches!(terms.next(), Some(Term::Value(term)) if term == value))
}

/// Returns the letter bits that a fact can set, for some binding.
pub(crate) fn bits_of_fact(monitor: &Monitor, fact: &Fact) -> u64 {
    let compiled = &monitor.compiled;
    let sets = |probe: &Probe| match probe {
        Probe::Pattern(pattern) => {
            pattern.name == fact.name && pattern.bind(&fact.values, compiled.prefix.len()).is_some()
        }
        Probe::Local { body, .. } => compiled.arena.has_atom(*body, &fact.name),
    };
    compiled.probes.iter().enumerate().fold(0, |bits, (bit, probe)| bits | u64::from(sets(probe)) << bit)
}

impl MonitorSet {
    /// Returns for each open fact whether it can still change something for a monitor: `facts` are those of the next
    /// position that are certain, and each open fact may hold there or not. No verdict of any continuation depends on
    /// a fact that is reported as false here. A fact that is reported as true may still turn out to change nothing.
    ///
    /// ```
    /// use lictor_logic::{Arena, Fact, Facts, Monitor, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(pay -> O approved)").unwrap();
    /// let mut monitors = MonitorSet::new();
    /// let id = monitors.add(Monitor::new(&arena, formula).unwrap());
    /// let trace_state = monitors.start();
    /// let open = [Fact::new("pay", []), Fact::new("polite", [])];
    /// assert_eq!(monitors.find_relevant(&trace_state, id, &Facts::default(), &open), [true, false]);
    /// let approved = Facts::from_names(["approved"])?;
    /// assert_eq!(monitors.find_relevant(&trace_state, id, &approved, &open), [false, false]);
    /// # Ok::<(), lictor_logic::FactNameError>(())
    /// ```
    pub fn find_relevant(&mut self, before: &TraceState, id: MonitorId, facts: &Facts, open: &[Fact]) -> Vec<bool> {
        self.check_owner(before);
        let nothing = vec![false; open.len()];
        let Some(entry) = self.entry_by_index_mut(id.index()) else { return nothing };
        let initial;
        let (number, extended) = match before.states.get(id.index()) {
            Some(monitor_state) => (monitor_state.number, monitor_state.extended.as_deref()),
            // The monitor was added after the trace began: it starts at the next position.
            None => {
                initial = entry.initial_state();
                (0, Some(&initial))
            }
        };
        // As in a step: time never goes back.
        let time = before.clock.peek(facts.time);
        let Entry { monitor, cache, .. } = entry;
        let skeleton = &monitor.compiled.skeleton;
        let point = match extended {
            None if number <= VIOLATED_STATE && monitor.after == After::Latch => return nothing,
            None if cache.is_stopped_at(number) => return nothing,
            None => Point::cached(number),
            Some(ExtendedState::Removed) => return nothing,
            Some(ExtendedState::Point(point)) => {
                // Deadlines that the position finds passed expire first.
                let expired = cache.expire(skeleton, point, time);
                let restarts =
                    |point: &Point| monitor.after == After::Reset && cache.verdict(skeleton, point).is_definite();
                match expired {
                    Some(point) if restarts(&point) => cache.start(skeleton, 0),
                    Some(point) => point,
                    None => point.clone(),
                }
            }
            Some(ExtendedState::Data(..)) => {
                let data = monitor.data.as_ref();
                let sees_all = data.is_none_or(|data| data.sees_all);
                return open.iter().map(|fact| sees_all || monitor.data_names().contains(&fact.name)).collect();
            }
            Some(ExtendedState::Bindings(bindings)) => {
                let mut open = OpenFacts::new(monitor, facts, open, u64::MAX);
                match bindings.deadline() {
                    // Bindings whose deadlines expire first are not followed here.
                    Some(end) if end < time => open.mark_candidates(),
                    _ => {
                        let touched = |facts: &Facts| bindings.touched_states(monitor, facts);
                        open.compare_bindings(monitor, cache, touched, bindings.occupied_states(), time);
                    }
                }
                return open.into_relevant();
            }
        };
        let mut open = OpenFacts::new(monitor, facts, open, cache.support(&point));
        open.compare_points(monitor, cache, std::iter::once(&point), time);
        open.into_relevant()
    }
}
