//! Judges events by a policy: labels them, and moves the properties along.

mod chronicle;
mod missing;
mod panel;
mod prepare;
mod saved;

use std::sync::Arc;

use lictor_logic::{Facts, Limits, Observation, Standing, Time, Verdict};

use crate::event::Event;
use crate::finding::Finding;
use crate::json::Text;
use crate::label::{Context, Labeler, Labels, Notes, Whose};
use crate::policy::{History, Policy, Problem, Property};
use crate::trail::{Brief, Trail};
use chronicle::Chronicles;
pub(crate) use chronicle::Happening;
use panel::Panel;
pub(crate) use panel::{Broken, Restart, Ruling};
pub(crate) use prepare::{Prepared, Provers, measures_time};
pub(crate) use saved::SavedTrack;
pub use saved::{RestoreError, SavedHistories};

/// A policy made ready, what was learnt while judging by it, and what is remembered across sessions.
///
/// One judge serves any number of sessions, one event at a time; for another thread, [`fork`](Judge::fork) it.
#[derive(Debug)]
pub struct Judge {
    /// The properties that are judged over single sessions.
    panel: Panel,
    /// The others, and the histories they are judged over.
    chronicles: Chronicles,
    labeler: Labeler,
    /// The facts of the event that was judged last, and the same as the engine reads them; the next one gets the memory.
    labels: Labels,
    observation: Observation,
    provers: Provers,
    /// Counts what was labeled, to tell one event from another.
    turn: u64,
}

/// An event as it was labeled, for a session that may take it.
#[derive(Debug)]
pub(crate) struct Labeled {
    /// What it adds to what is remembered of the session.
    pub(crate) notes: Notes,
    pub(crate) labels: Labels,
    /// The same as the engine reads them, and when they were.
    pub(crate) observation: Observation,
}

/// Where a session stands.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) standing: Standing,
    context: Context,
    /// How many events there were.
    pub(crate) steps: u32,
    /// For each property, at which event it was first broken, and how often.
    pub(crate) tallies: Vec<Tally>,
    /// The properties of which nothing can be told any more, where there are any.
    lost: Option<Box<[bool]>>,
}

/// How often a session broke a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// The first event that broke it, from one; zero for none.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Judge {
    /// Makes a policy ready. What the loader of policies accepts is never refused.
    pub fn new(policy: &Policy) -> Result<Judge, Vec<Problem>> {
        Judge::with_limits(policy, Limits::DEFAULT)
    }

    /// The same, with other bounds on what is kept for a property.
    pub fn with_limits(policy: &Policy, limits: Limits) -> Result<Judge, Vec<Problem>> {
        let (prepared, mut panels) = Prepared::new(policy, limits)?;
        let panel = panels.remove(&History::Session).unwrap_or_else(|| Panel::new(limits));
        Ok(Judge::over(Arc::new(prepared), panel, Chronicles::new(panels)))
    }

    fn over(prepared: Arc<Prepared>, panel: Panel, chronicles: Chronicles) -> Judge {
        Judge {
            panel,
            chronicles,
            labeler: Labeler::default(),
            labels: Labels::default(),
            observation: Observation::new(),
            provers: Provers::new(prepared),
            turn: 0,
        }
    }

    /// A judge by the same policy, for another thread. Sessions that one judge began, another cannot go on with, and
    /// what one remembers across sessions, another does not.
    #[must_use]
    pub fn fork(&self) -> Judge {
        Judge::over(Arc::clone(self.prepared()), self.panel.clone(), self.chronicles.fork())
    }

    /// The properties it judges by, in the order of the policy.
    pub fn properties(&self) -> &[Arc<Property>] {
        &self.prepared().properties
    }

    /// The policy's name.
    pub fn policy(&self) -> &Text {
        &self.prepared().name
    }

    pub(crate) fn prepared(&self) -> &Arc<Prepared> {
        &self.provers.prepared
    }

    pub(crate) fn provers(&mut self) -> &mut Provers {
        &mut self.provers
    }

    /// The beginning of a session.
    pub(crate) fn start(&mut self) -> Track {
        let tallies = vec![Tally::default(); self.properties().len()];
        Track { standing: self.panel.start(), context: Context::default(), steps: 0, tallies, lost: None }
    }

    /// Moves a session along by an event, and says what it broke of the properties that are judged over sessions.
    pub(crate) fn step(&mut self, track: &mut Track, event: &Event) -> Ruling {
        let labeled = self.label(track, event);
        let mut ruling = self.read(&mut track.standing, &labeled);
        track.spare_lost(&mut ruling);
        track.take(labeled.notes, &ruling);
        self.recycle(labeled.labels, labeled.observation);
        ruling
    }

    /// Finds the facts of an event that may become part of a session.
    pub(crate) fn label(&mut self, track: &Track, event: &Event) -> Labeled {
        self.turn += 1;
        let mut labels = std::mem::take(&mut self.labels);
        let mut observation = std::mem::take(&mut self.observation);
        let notes = self.labeler.label(&self.provers.prepared.plan, &track.context, event, &mut labels);
        self.panel.make_ready(&labels, event.time, &mut observation);
        Labeled { notes, labels, observation }
    }

    /// Gets memory back that nobody needs any more.
    pub(crate) fn recycle(&mut self, labels: Labels, observation: Observation) {
        (self.labels, self.observation) = (labels, observation);
    }

    /// Moves a standing along by an event, and says what that breaks.
    pub(crate) fn read(&mut self, standing: &mut Standing, event: &Labeled) -> Ruling {
        let (panel, prepared, mut ruling) = (&mut self.panel, &*self.provers.prepared, Ruling::default());
        panel.expire(standing, event.observation.time, prepared, &mut ruling);
        panel.observe(standing, &event.labels, &event.observation, prepared, &mut ruling);
        ruling
    }

    /// The next moment at which something is due in a session.
    pub(crate) fn deadline(&self, track: &Track) -> Option<Time> {
        self.panel.deadline(&track.standing)
    }

    /// Lets time pass in a session up to a moment.
    pub(crate) fn tick(&mut self, track: &mut Track, now: Time) -> Ruling {
        let mut ruling = Ruling::default();
        self.panel.tick(&mut track.standing, now, &self.provers.prepared, &mut ruling);
        track.spare_lost(&mut ruling);
        track.count(&ruling);
        ruling
    }

    /// The labels of the event that was judged last.
    pub(crate) fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The event that was labeled last, for the histories across sessions; none if no property asks for them.
    pub(crate) fn happening(
        &self,
        whose: &Whose,
        labels: &Labels,
        event: &Event,
        step: u32,
        session: impl FnOnce() -> Text,
        content: bool,
    ) -> Option<Happening> {
        if self.chronicles.is_empty() {
            return None;
        }
        let prepared = self.prepared();
        let labels = labels.only(|name| prepared.wide[name as usize]);
        let mut brief = Brief::new(event, step, content);
        brief.session = Some(session());
        Some(self.chronicles.happening(whose, labels, brief, self.turn))
    }

    /// The properties, by number, of which nobody can tell whether an event breaks them in a session.
    pub(crate) fn doubts(
        &mut self,
        standings: (&Standing, &Standing),
        trail: &Trail,
        event: &Labeled,
        ruling: &Ruling,
    ) -> Vec<usize> {
        let prepared = self.provers.prepared.as_ref();
        self.panel.doubts(standings, trail, (&event.labels, event.observation.time), ruling, prepared)
    }

    /// What an event would newly break in the histories it belongs to, which stay as they are, and the properties of which
    /// nobody can tell.
    pub(crate) fn foresee(&mut self, happening: &Happening) -> (Vec<(usize, Finding)>, Vec<usize>) {
        self.chronicles.foresee(happening, &mut self.provers)
    }

    /// Makes an event part of the histories it belongs to, and says what it broke in them.
    pub(crate) fn remember(&mut self, happening: Happening) -> Vec<(usize, Finding)> {
        self.chronicles.observe(happening, &mut self.provers)
    }

    /// Whether some property is judged over more than a session.
    pub(crate) fn looks_beyond(&self) -> bool {
        !self.chronicles.is_empty()
    }

    /// Notes that events are missing which may belong to any history across sessions.
    pub(crate) fn miss_histories(&mut self, count: u64) {
        self.chronicles.miss(count, self.provers.prepared.as_ref());
    }

    /// Lets time pass in all histories that go on across sessions: what was due by then is late.
    pub fn tick_histories(&mut self, now: Time) -> Vec<Finding> {
        let found = self.chronicles.tick(now, &mut self.provers);
        found.into_iter().map(|(_, finding)| finding).collect()
    }

    /// What is remembered across sessions, as data that outlives the process.
    pub fn save_histories(&self) -> SavedHistories {
        self.chronicles.save(self.prepared())
    }

    /// The histories across sessions that were looked at or changed since this was last asked, each under a key of its own
    /// and with its last moments only; none for one that was looked at and does not exist.
    pub fn take_touched_histories(&mut self) -> Vec<(String, Option<SavedHistories>)> {
        let prepared = Arc::clone(self.prepared());
        self.chronicles.take_touched(&prepared)
    }

    /// Goes on with what was remembered across sessions, in place of what is known of the same histories. The properties
    /// must be those it was saved with.
    pub fn restore_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        let prepared = Arc::clone(self.prepared());
        self.chronicles.restore(saved, &prepared)
    }

    /// The same of another policy: properties whose formulas are not in it begin here, and histories that no property asks
    /// for any more are left out.
    pub fn migrate_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        let prepared = Arc::clone(self.prepared());
        self.chronicles.migrate(saved, &prepared)
    }

    /// Forgets all histories across sessions.
    pub fn clear_histories(&mut self) {
        self.chronicles = self.chronicles.fork();
    }

    /// The facts of the event that was judged last.
    pub(crate) fn facts(&self, time: Option<Time>) -> Facts {
        self.labels.facts(time, &self.prepared().plan.names)
    }

    /// Marks the names of the facts that hold at the event that was judged last.
    pub(crate) fn names_held(&self, held: &mut [bool]) {
        self.labels.mark(held);
    }

    /// What is true of a property now, and whether the session could still change it; broken stays broken. What is
    /// judged over more than the session stays open.
    pub(crate) fn verdict(&mut self, track: &mut Track, property: usize) -> Verdict {
        if track.tallies[property].count > 0 {
            return Verdict::Violated;
        }
        match self.monitor(property).filter(|_| !track.is_lost(property)) {
            Some(id) => self.panel.verdict(&mut track.standing, id),
            None => Verdict::Inconclusive,
        }
    }

    /// The verdict if the session ends here. What is owed by a date that has not come is still open. A history that
    /// goes on across sessions does not end with one: the session has broken the property, or it has not.
    pub(crate) fn end(&mut self, track: &mut Track, property: usize) -> Verdict {
        let verdict = self.verdict(track, property);
        match self.monitor(property) {
            _ if verdict != Verdict::Inconclusive || track.is_lost(property) => verdict,
            None => Verdict::Satisfied,
            Some(id) => match self.panel.end(&mut track.standing, id) {
                Verdict::Violated if self.prepared().formulas[property].is_timed => Verdict::Inconclusive,
                verdict => verdict,
            },
        }
    }

    /// What must still hold, as a formula and in words.
    pub(crate) fn residual(&mut self, track: &mut Track, property: usize) -> Option<(String, String)> {
        self.panel.residual(&mut track.standing, self.monitor(property)?)
    }

    /// The monitor of a property that is judged over sessions.
    fn monitor(&self, property: usize) -> Option<lictor_logic::MonitorId> {
        let prepared = self.prepared();
        (prepared.properties[property].history == History::Session).then(|| prepared.monitors[property])
    }
}

impl Track {
    /// Counts what an event broke: each property once, for however many values.
    fn count(&mut self, ruling: &Ruling) {
        for (place, Broken { property, by, .. }) in ruling.broken.iter().enumerate() {
            if !ruling.broken[..place].iter().any(|other| other.property == *property && other.by == *by) {
                self.tally(*property);
            }
        }
    }

    /// Makes an event part of the session whose standing has been moved by it.
    pub(crate) fn take(&mut self, notes: Notes, ruling: &Ruling) {
        self.steps += 1;
        self.count(ruling);
        self.context.remember(notes);
    }

    /// Whose history its last event belongs to.
    pub(crate) fn whose(&self) -> &Whose {
        self.context.whose()
    }

    /// Counts a property that the last event broke.
    pub(crate) fn tally(&mut self, property: usize) {
        let tally = &mut self.tallies[property];
        tally.first = if tally.count == 0 { self.steps } else { tally.first };
        tally.count += 1;
    }
}
