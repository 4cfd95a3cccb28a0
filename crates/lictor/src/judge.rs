//! Judges events by a policy: labels them, and moves the properties along.

mod prepare;

use std::sync::Arc;

use lictor_logic::{After, Facts, Name, Observation, Prover, Standing, Time, Value, Verdict, Watch};

use crate::event::Event;
use crate::finding::Decided;
use crate::json::Text;
use crate::label::{Context, Labeler, Labels};
use crate::policy::{Policy, Problem, Property};
use prepare::Prepared;

/// A policy made ready, and what was learnt while judging by it.
///
/// One judge serves any number of sessions, one event at a time; for another thread, [`fork`](Judge::fork) it.
#[derive(Debug)]
pub struct Judge {
    prepared: Arc<Prepared>,
    watch: Watch,
    /// The numbers of the facts' names in the watch, by their number in the plan.
    names: Vec<Name>,
    labeler: Labeler,
    labels: Labels,
    observation: Observation,
    broken: Vec<Broken>,
    restarts: Vec<Restart>,
    /// What finds the witnesses of each property, once it was needed.
    provers: Vec<Option<Prover>>,
}

/// A property that starts anew, by its number, and for which values.
pub(crate) type Restart = (usize, Vec<Option<Value>>);

/// Where a session stands.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) standing: Standing,
    context: Context,
    /// How many events there were.
    pub(crate) steps: u32,
    /// For each property, at which event it was first broken, and how often.
    pub(crate) tallies: Vec<Tally>,
}

/// How often a session broke a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// The first event that broke it, from one; zero for none.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// A property that an event, or the time before it, broke.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Broken {
    /// Its number in the policy.
    pub(crate) property: usize,
    pub(crate) by: Decided,
    /// For the values of its variables, in their order; none for all values never seen.
    pub(crate) binding: Vec<Option<Value>>,
}

impl Judge {
    /// Makes a policy ready. What the loader of policies accepts is never refused.
    pub fn new(policy: &Policy) -> Result<Judge, Vec<Problem>> {
        let (prepared, mut watch) = Prepared::new(policy)?;
        let names = prepared.plan.names.iter().map(|name| watch.name(name)).collect();
        Ok(Judge::over(Arc::new(prepared), watch, names))
    }

    fn over(prepared: Arc<Prepared>, watch: Watch, names: Vec<Name>) -> Judge {
        Judge {
            provers: prepared.formulas.iter().map(|_| None).collect(),
            prepared,
            watch,
            names,
            labeler: Labeler::default(),
            labels: Labels::default(),
            observation: Observation::new(),
            broken: Vec::new(),
            restarts: Vec::new(),
        }
    }

    /// A judge by the same policy, for another thread. Sessions that one judge began, another cannot go on with.
    #[must_use]
    pub fn fork(&self) -> Judge {
        Judge::over(Arc::clone(&self.prepared), self.watch.clone(), self.names.clone())
    }

    /// The properties it judges by, in the order of the policy.
    pub fn properties(&self) -> &[Arc<Property>] {
        &self.prepared.properties
    }

    /// The policy's name.
    pub fn policy(&self) -> &Text {
        &self.prepared.name
    }

    pub(crate) fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// The beginning of a session.
    pub(crate) fn start(&mut self) -> Track {
        let tallies = vec![Tally::default(); self.prepared.properties.len()];
        Track { standing: self.watch.start(), context: Context::default(), steps: 0, tallies }
    }

    /// Moves a session along by an event, and says what it broke.
    pub(crate) fn step(&mut self, track: &mut Track, event: &Event) -> &[Broken] {
        self.broken.clear();
        self.restarts.clear();
        self.labeler.label(&self.prepared.plan, &mut track.context, event, &mut self.labels);
        track.steps += 1;
        if let Some(time) = event.time.filter(|_| self.prepared.is_timed) {
            // What was due before the event is late by itself, not by the event.
            if self.watch.deadline(&track.standing).is_some_and(|due| due < time) {
                let decided = self.watch.tick(&mut track.standing, Time(time.0.saturating_sub(1)));
                let mut notes =
                    Notes { prepared: &self.prepared, broken: &mut self.broken, restarts: &mut self.restarts };
                notes.take(decided, Decided::Deadline, track.steps, &mut track.tallies);
            }
        }
        let decided = if self.labels.unknown.is_empty() {
            self.labels.fill(&mut self.observation, event.time, &self.names);
            self.watch.observe(&mut track.standing, &self.observation)
        } else {
            let facts = self.labels.facts(event.time, &self.prepared.plan.names);
            self.watch.step(&mut track.standing, &facts)
        };
        let mut notes = Notes { prepared: &self.prepared, broken: &mut self.broken, restarts: &mut self.restarts };
        notes.take(decided, Decided::Event, track.steps, &mut track.tallies);
        &self.broken
    }

    /// Lets time pass in a session up to a moment.
    pub(crate) fn tick(&mut self, track: &mut Track, now: Time) -> &[Broken] {
        self.broken.clear();
        self.restarts.clear();
        let decided = self.watch.tick(&mut track.standing, now);
        let mut notes = Notes { prepared: &self.prepared, broken: &mut self.broken, restarts: &mut self.restarts };
        notes.take(decided, Decided::Deadline, track.steps, &mut track.tallies);
        &self.broken
    }

    /// What finds the witnesses of a property.
    pub(crate) fn prover(&mut self, property: usize) -> Option<&mut Prover> {
        let prover = &mut self.provers[property];
        if prover.is_none() {
            let parsed = &self.prepared.formulas[property];
            *prover = match parsed.after {
                After::Each => Prover::each(&parsed.arena, parsed.formula),
                After::Latch | After::Reset => Prover::new(&parsed.arena, parsed.formula),
            };
        }
        prover.as_mut()
    }

    /// What the last step made start anew.
    pub(crate) fn restarts(&self) -> &[Restart] {
        &self.restarts
    }

    /// The facts of the event that was judged last.
    pub(crate) fn facts(&self, time: Option<Time>) -> Facts {
        self.labels.facts(time, &self.prepared.plan.names)
    }

    /// Marks the names of the facts that hold at the event that was judged last.
    pub(crate) fn names_held(&self, held: &mut [bool]) {
        self.labels.mark(held);
    }

    /// What is true of a property now, and whether the session could still change it; broken stays broken.
    pub(crate) fn verdict(&mut self, track: &mut Track, property: usize) -> Verdict {
        if track.tallies[property].count > 0 {
            return Verdict::Violated;
        }
        self.watch.verdict(&mut track.standing, self.prepared.monitors[property])
    }

    /// The verdict if the session ends here. What is owed by a date that has not come is still open.
    pub(crate) fn end(&mut self, track: &mut Track, property: usize) -> Verdict {
        if track.tallies[property].count > 0 {
            return Verdict::Violated;
        }
        let id = self.prepared.monitors[property];
        match self.watch.verdict(&mut track.standing, id) {
            Verdict::Inconclusive => match self.watch.end(&mut track.standing, id) {
                Verdict::Violated if self.prepared.formulas[property].is_timed => Verdict::Inconclusive,
                verdict => verdict,
            },
            verdict => verdict,
        }
    }

    /// What must still hold, as a formula and in words.
    pub(crate) fn residual(&mut self, track: &mut Track, property: usize) -> Option<(String, String)> {
        let residual = self.watch.residual(&mut track.standing, self.prepared.monitors[property])?;
        Some((residual.to_string(), residual.english()))
    }
}

/// Where decisions of the engine are written down.
struct Notes<'a> {
    prepared: &'a Prepared,
    broken: &'a mut Vec<Broken>,
    restarts: &'a mut Vec<Restart>,
}

impl Notes<'_> {
    fn take(&mut self, decided: &[lictor_logic::Decided], by: Decided, step: u32, tallies: &mut [Tally]) {
        let before = self.broken.len();
        for decided in decided {
            // Monitors are added in the order of the properties.
            let property = decided.monitor.index();
            let binding = decided.binding.clone().unwrap_or_default();
            if self.prepared.formulas[property].after == After::Reset {
                self.restarts.push((property, binding.clone()));
            }
            if decided.verdict != Verdict::Violated {
                continue;
            }
            // One event breaks a property once, for however many values.
            if !self.broken[before..].iter().any(|broken| broken.property == property) {
                let tally = &mut tallies[property];
                tally.first = if tally.count == 0 { step } else { tally.first };
                tally.count += 1;
            }
            self.broken.push(Broken { property, by, binding });
        }
    }
}
