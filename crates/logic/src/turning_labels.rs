//! Which single label of a finished trace, if it is wrong, turns the outcome.
//!
//! The outcome is whether the formula is violated: somewhere, or at the end. For a formula without quantifiers the trace
//! with a flipped label is followed only until it meets a state whose outcome is known at that position: one of the
//! trace itself or one that another flip led to. So all labels together cost about the positions times the states. For
//! other formulas the rest of the trace is read again for each label.

use rustc_hash::FxHashMap;

use crate::after::After;
use crate::cache::{Cache, CacheLimits};
use crate::facts::{Fact, Facts};
use crate::interval::Time;
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::monitor_set::{MonitorId, MonitorSet};
use crate::state::Point;
use crate::trace_state::TraceState;
use crate::verdict::Verdict;

/// Returns for each label, a fact at a position counted from 0, whether the outcome turns if the label alone is flipped:
/// a fact that holds does not, and the other way round. The outcome is whether the formula is violated, at a position or
/// at the end. A label beyond the trace turns nothing. None if the budget of `max_steps` positions was spent before.
///
/// ```
/// use lictor_logic::{Fact, Facts, Monitor, find_turning_labels};
/// let monitor = Monitor::parse("G(pay -> O approved)")?;
/// let trace = [Facts::from_names(["approved"])?, Facts::from_names(["polite"])?, Facts::from_names(["pay"])?];
/// let labels = [(0, Fact::new("approved", [])), (1, Fact::new("polite", [])), (1, Fact::new("pay", []))];
/// let turning = find_turning_labels(&monitor, &trace, &labels, 1_000);
/// assert_eq!(turning, [Some(true), Some(false), Some(false)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_turning_labels(
    monitor: &Monitor,
    trace: &[Facts],
    labels: &[(usize, Fact)],
    max_steps: u64,
) -> Vec<Option<bool>> {
    let mut budget = StepBudget { left: max_steps };
    match monitor.shape.quantified || monitor.data.is_some() {
        true => run_again(monitor, trace, labels, &mut budget),
        false => match FollowedTrace::new(monitor, trace, &mut budget) {
            Some(mut followed) => labels.iter().map(|label| followed.turns(trace, label, &mut budget)).collect(),
            None => vec![None; labels.len()],
        },
    }
}

/// How many positions may still be read.
struct StepBudget {
    left: u64,
}

impl StepBudget {
    /// Takes one position; none if there is none left.
    fn take(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }
}

/// Returns facts with one of them flipped.
pub(crate) fn flip_fact(facts: &Facts, fact: &Fact) -> Facts {
    let mut flipped = facts.clone();
    flipped.known.retain(|known| known != fact);
    if flipped.known.len() == facts.known.len() {
        flipped.known.push(fact.clone());
    }
    flipped
}

/// A state of a formula without quantifiers, and whether the formula was violated on the way there.
#[derive(Clone)]
struct FollowedState {
    point: Point,
    is_broken: bool,
}

/// A trace with the states it leads to.
struct FollowedTrace<'a> {
    monitor: &'a Monitor,
    cache: Cache,
    start: Point,
    letters: Vec<(u64, u64)>,
    times: Vec<Time>,
    /// The places before each position, and the last one.
    places: Vec<FollowedState>,
    is_violated: bool,
    /// The outcomes from other states without times, before a position.
    known: FxHashMap<(usize, u32), bool>,
}

impl<'a> FollowedTrace<'a> {
    fn new(monitor: &'a Monitor, trace: &[Facts], budget: &mut StepBudget) -> Option<FollowedTrace<'a>> {
        let skeleton = &monitor.compiled.skeleton;
        let mut cache = Cache::new(skeleton, CacheLimits::DEFAULT);
        let start = cache.start(skeleton, 0);
        if monitor.restarts_possible_states() {
            cache.restart_at(&start);
        }
        let mut clock = None;
        let times = trace.iter().map(|facts| {
            clock = facts.time.max(clock);
            clock.unwrap_or_default()
        });
        let times = times.collect();
        let letters = trace.iter().map(|facts| read_letter(monitor, facts, &[])).collect();
        let places = vec![FollowedState { point: start.clone(), is_broken: false }];
        let known = FxHashMap::default();
        let mut followed = FollowedTrace { monitor, cache, start, letters, times, places, is_violated: false, known };
        for position in 0..trace.len() {
            budget.take()?;
            let mut place = followed.places[position].clone();
            followed.step(&mut place, position, followed.letters[position]);
            followed.places.push(place);
        }
        followed.is_violated = followed.places.last().is_some_and(|last| followed.fails_at_end(last));
        Some(followed)
    }

    /// Moves a place by a letter at the time of a position.
    fn step(&mut self, place: &mut FollowedState, position: usize, (bits, unknown): (u64, u64)) {
        let (skeleton, cache, time) = (&self.monitor.compiled.skeleton, &mut self.cache, self.times[position]);
        if let Some(expired) = cache.expire(skeleton, &place.point, time) {
            let verdict = cache.verdict(skeleton, &expired);
            place.is_broken |= verdict == Verdict::Violated;
            let restarts = self.monitor.after == After::Reset && verdict.is_definite();
            place.point = if restarts { self.start.clone() } else { expired };
        }
        let target = cache.step(skeleton, &place.point, bits, unknown, time);
        let verdict = cache.verdict(skeleton, &target);
        place.is_broken |= verdict == Verdict::Violated;
        place.point = match self.monitor.after {
            After::Each if cache.may_be_violated(skeleton, &target) => {
                let letter = (bits | self.monitor.excuse, unknown);
                cache.step_excused(skeleton, &place.point, letter, time, verdict != Verdict::Violated)
            }
            After::Reset if verdict.is_definite() => self.start.clone(),
            After::Latch | After::Reset | After::Each => target,
        };
    }

    fn fails_at_end(&self, place: &FollowedState) -> bool {
        let at_end = self.cache.end_verdict(&self.monitor.compiled.skeleton, &place.point);
        place.is_broken || at_end == Verdict::Violated
    }

    /// Whether the outcome turns if a label is flipped; none if the budget is spent.
    fn turns(&mut self, trace: &[Facts], (position, fact): &(usize, Fact), budget: &mut StepBudget) -> Option<bool> {
        let Some(facts) = trace.get(*position) else { return Some(false) };
        let letter = read_letter(self.monitor, &flip_fact(facts, fact), &[]);
        if letter == self.letters[*position] {
            return Some(false);
        }
        budget.take()?;
        let mut place = self.places[*position].clone();
        self.step(&mut place, *position, letter);
        Some(self.find_outcome(place, position + 1, budget)? != self.is_violated)
    }

    /// Returns whether the formula is violated by the rest of the trace from a place before a position.
    fn find_outcome(&mut self, mut place: FollowedState, mut position: usize, budget: &mut StepBudget) -> Option<bool> {
        let mut passed: Vec<(usize, u32)> = Vec::new();
        let outcome = loop {
            if place.is_broken {
                break true;
            }
            let main = &self.places[position];
            if !main.is_broken && main.point.is_same(&place.point) {
                break self.is_violated;
            }
            if position == self.letters.len() {
                break self.fails_at_end(&place);
            }
            if let Some(id) = place.point.id() {
                if let Some(known) = self.known.get(&(position, id)) {
                    break *known;
                }
                passed.push((position, id));
            }
            budget.take()?;
            self.step(&mut place, position, self.letters[position]);
            position += 1;
        };
        self.known.extend(passed.into_iter().map(|key| (key, outcome)));
        Some(outcome)
    }
}

/// A trace that is read by a monitor of any kind.
#[derive(Clone)]
struct ReadTrace {
    state: TraceState,
    is_broken: bool,
}

/// Reads the rest of the trace for each label.
fn run_again(
    monitor: &Monitor,
    trace: &[Facts],
    labels: &[(usize, Fact)],
    budget: &mut StepBudget,
) -> Vec<Option<bool>> {
    let mut monitors = MonitorSet::new();
    let id = monitors.add(monitor.clone());
    let mut turning: Vec<Option<bool>> = labels.iter().map(|(at, _)| (*at >= trace.len()).then_some(false)).collect();
    let mut main = ReadTrace { state: monitors.start(), is_broken: false };
    let Some(is_violated) = main.clone().read(&mut monitors, id, trace, budget) else { return turning };
    for (position, facts) in trace.iter().enumerate() {
        for place in (0..labels.len()).filter(|place| labels[*place].0 == position) {
            turning[place] = if main.is_broken {
                Some(false)
            } else {
                let mut other = main.clone();
                let flipped = flip_fact(facts, &labels[place].1);
                let read = other.read(&mut monitors, id, &[flipped], budget);
                let outcome = read.and_then(|_| other.read(&mut monitors, id, &trace[position + 1..], budget));
                outcome.map(|outcome| outcome != is_violated)
            };
        }
        if main.read(&mut monitors, id, std::slice::from_ref(facts), budget).is_none() {
            return turning;
        }
    }
    turning
}

impl ReadTrace {
    /// Reads positions. Returns whether the formula is violated if the trace ends there; none if the budget is spent.
    fn read(
        &mut self,
        monitors: &mut MonitorSet,
        id: MonitorId,
        positions: &[Facts],
        budget: &mut StepBudget,
    ) -> Option<bool> {
        for facts in positions {
            budget.take()?;
            let decided = monitors.step(&mut self.state, facts);
            self.is_broken |= decided.iter().any(|decided| decided.verdict == Verdict::Violated);
        }
        Some(self.is_broken || monitors.end(&mut self.state, id) == Verdict::Violated)
    }
}
