//! The events of a history, kept for witnesses.

mod kept_facts;
mod moments;
mod past;
mod proof;
mod saved;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lictor_logic::{Facts, Time, WitnessBudget};

use crate::facts::{EventKind, Labels, NameId};
use crate::finding::{DecidedBy, Finding};
use crate::{PreparedPolicy, Provers, Restart, Violation, Violations};
use lictor_event::{Arguments, Event, Kind, Source};
use lictor_json::Text;
use moments::Moments;
pub(crate) use past::TrailPast;
use proof::Case;
pub use saved::SavedMoments;
pub(crate) use saved::SavedTrail;

/// The events of a history: of a session, or of an owner across sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    /// The session whose events these are, unless each names its own.
    pub(crate) session: Text,
    moments: Moments,
    /// After which moment a property last restarted for a binding.
    resets: HashMap<Restart, usize>,
    /// The names of facts that were unknown at some event.
    unknown: BTreeSet<NameId>,
    /// After which moment properties began that were added to a running session.
    begun: HashMap<usize, usize>,
    /// The moments that earlier policies judged; none for most trails.
    past: Option<Box<TrailPast>>,
    /// How many of the oldest moments were dropped.
    forgotten: usize,
    /// The work that witnesses of this history may still take. It belongs to the history, so that findings do not
    /// depend on others that are judged at the same time. Proposing spends it too.
    budget: TrailBudget,
}

/// The work that the witnesses of a history may take, in steps of about ten nanoseconds. Every event and every finding
/// adds to it, so that all witnesses together take time in proportion to events and findings.
///
/// A judge is shared between threads to be forked, so the number is atomic; only one thread uses it at a time.
#[derive(Debug)]
struct TrailBudget(AtomicU64);

impl TrailBudget {
    /// The budget of a new history, enough for hundreds of findings.
    const INITIAL: u64 = 20_000_000;
    /// What an event or a finding adds.
    const PER_MOMENT: u64 = 2000;
    /// The most that one witness can take.
    const MAX_PER_WITNESS: u64 = 100_000_000;
    /// What a search takes at least for each moment that it reads. With less, no search is begun.
    const PER_SEARCHED_MOMENT: u64 = 50;
    /// What an event of a witness costs: it is written as text.
    const PER_WITNESS_EVENT: u64 = 50;

    fn get(&self) -> WitnessBudget {
        WitnessBudget::new(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, budget: WitnessBudget) {
        self.0.store(budget.left(), Ordering::Relaxed);
    }

    /// Adds the budget of one event or finding.
    fn earn(&self) {
        let mut budget = self.get();
        budget.add(TrailBudget::PER_MOMENT, TrailBudget::MAX_PER_WITNESS);
        self.set(budget);
    }
}

impl Clone for TrailBudget {
    fn clone(&self) -> TrailBudget {
        TrailBudget(AtomicU64::new(self.get().left()))
    }
}

impl Default for TrailBudget {
    fn default() -> TrailBudget {
        TrailBudget(AtomicU64::new(TrailBudget::INITIAL))
    }
}

/// What comes after a trail and is not part of it yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TrailEnd<'a> {
    Nothing,
    /// Time that passed.
    Time(Time),
    /// An event, and the time that passed before it if a deadline was in it.
    Event {
        labels: &'a Labels,
        summary: &'a EventSummary,
        was_due: bool,
    },
    /// `count` missing events.
    Missing {
        labels: &'a Labels,
        summary: &'a EventSummary,
        count: usize,
    },
}

/// An event as witnesses describe it.
#[derive(Clone, Debug)]
pub(crate) struct EventSummary {
    /// Its session, if the history has events of several.
    pub(crate) session: Option<Text>,
    pub(crate) step: u32,
    pub(crate) kind: Kind,
    pub(crate) tool: Option<Text>,
    pub(crate) time: Option<Time>,
    pub(crate) source: Source,
    pub(crate) content: Option<String>,
    /// Whether it came with facts, labels or answers, or may have.
    pub(crate) is_stated: bool,
}

impl Trail {
    /// Returns the empty trail of a session.
    pub(crate) fn of(session: Text) -> Trail {
        Trail { session, ..Trail::default() }
    }

    /// Adds an event, and before it the time that passed if a deadline was in it. The facts are moved here.
    pub(crate) fn append(&mut self, labels: &mut Labels, summary: EventSummary, violations: &Violations) {
        if let Some(passed) = TrailEnd::event(labels, &summary, violations).passed() {
            self.moments.pass(passed);
        }
        self.add(labels, summary);
        self.start_anew(&violations.restarts);
        self.budget.earn();
    }

    /// Returns the last events with their facts, the oldest first.
    pub(crate) fn recent_events(&self, most: usize, names: &[Arc<str>]) -> Vec<(&EventSummary, Facts)> {
        self.moments.recent_events(most, names)
    }

    /// Adds time that passed.
    pub(crate) fn pass(&mut self, now: Time, violations: &Violations) {
        self.moments.pass(now);
        self.start_anew(&violations.restarts);
    }

    /// Adds `count` missing events after a step, and returns what they violate in every case. The event before them
    /// represents them.
    pub(crate) fn miss(
        &mut self,
        provers: &mut Provers,
        labels: &Labels,
        count: usize,
        step: u32,
        violations: &Violations,
    ) -> Vec<(usize, Finding)> {
        let summary = self.moments.last().cloned().unwrap_or_else(|| EventSummary::of_gap(step));
        let summary = EventSummary { is_stated: true, ..summary };
        let findings =
            self.findings(provers, &violations.broken, TrailEnd::Missing { labels, summary: &summary, count });
        (0..count).for_each(|_| self.add(&mut labels.clone(), summary.clone()));
        self.start_anew(&violations.restarts);
        findings
    }

    fn add(&mut self, labels: &mut Labels, summary: EventSummary) {
        self.unknown.extend(labels.unknown.iter().map(|(name, _)| *name));
        self.moments.add(labels, summary);
    }

    /// Notes restarts here: witnesses do not look back before them.
    fn start_anew(&mut self, restarts: &[Restart]) {
        for restart in restarts {
            self.resets.insert(restart.clone(), self.moments.len());
        }
    }

    /// Drops the older half if there are more than `most` moments; witnesses then use the rest.
    pub(crate) fn keep(&mut self, most: usize) {
        if self.moments.len() <= most {
            return;
        }
        let gone = self.moments.len() - most / 2;
        self.forgotten += gone;
        self.moments.forget(gone);
        self.resets.values_mut().for_each(|place| *place = place.saturating_sub(gone));
        self.resets.retain(|_, place| *place > 0);
        self.begun.values_mut().for_each(|place| *place = place.saturating_sub(gone));
        self.begun.retain(|_, place| *place > 0);
        if self.past.as_mut().is_some_and(|past| !past.forget(self.forgotten)) {
            self.past = None;
        }
    }

    /// Lets properties begin here: earlier moments do not count for them.
    pub(crate) fn begin(&mut self, properties: impl IntoIterator<Item = usize>) {
        self.begun.extend(properties.into_iter().map(|property| (property, self.moments.len())));
    }

    /// Whether a fact is unknown at an event, or was unknown before.
    pub(crate) fn has_unknown(&self, labels: &Labels) -> bool {
        !self.unknown.is_empty() || !labels.unknown.is_empty()
    }

    /// Whether a property asks for a fact that is unknown at an event, or was unknown before.
    pub(crate) fn depends_on_unknown(&self, prepared: &PreparedPolicy, property: usize, labels: &Labels) -> bool {
        let is_unknown =
            |name: &NameId| self.unknown.contains(name) || labels.unknown.iter().any(|(unknown, _)| unknown == name);
        prepared.asked(property).iter().any(is_unknown)
    }

    /// Whether some event had a fact of that name, or may have had it: it was unknown, or the event was dropped.
    pub(crate) fn may_have_fact(&self, name: NameId) -> bool {
        self.forgotten > 0 || self.unknown.contains(&name) || self.moments.has_fact(name)
    }

    /// How many moments there were, dropped ones included.
    pub(crate) fn len(&self) -> usize {
        self.forgotten + self.moments.len()
    }

    /// Returns the findings for what comes after the trail: the proposed event, or the time that passed.
    pub(crate) fn findings(
        &self,
        provers: &mut Provers,
        broken: &[Violation],
        later: TrailEnd<'_>,
    ) -> Vec<(usize, Finding)> {
        let mut findings: Vec<(usize, Finding)> = Vec::new();
        for broken in broken {
            let finding = self.finding(provers, broken, later);
            // An event violates a property once, for however many values.
            let same = findings
                .iter_mut()
                .find(|(property, other)| *property == broken.property && other.decided == finding.decided);
            match same {
                Some((_, other)) => other.join(finding),
                None => findings.push((broken.property, finding)),
            }
        }
        for (_, finding) in &mut findings {
            finding.fingerprint = finding.print();
        }
        findings
    }

    /// Returns the finding for one violation.
    pub(crate) fn finding(&self, provers: &mut Provers, broken: &Violation, later: TrailEnd<'_>) -> Finding {
        Case { trail: self, later, broken }.finding(provers)
    }
}

impl<'a> TrailEnd<'a> {
    pub(crate) fn event(labels: &'a Labels, summary: &'a EventSummary, violations: &Violations) -> TrailEnd<'a> {
        let was_due = violations.broken.iter().any(|broken| broken.by == DecidedBy::Deadline);
        TrailEnd::Event { labels, summary, was_due }
    }
}

impl EventSummary {
    /// Describes missing events before which there is no event.
    fn of_gap(step: u32) -> EventSummary {
        EventSummary {
            session: None,
            step,
            kind: Kind::Other(Text::const_new("gap")),
            tool: None,
            time: None,
            source: Source::default(),
            content: None,
            is_stated: true,
        }
    }

    /// Returns what tells about facts that were not looked for.
    pub(crate) fn kind(&self) -> EventKind<'_> {
        EventKind { kind: &self.kind, tool: self.tool.as_ref(), is_stated: self.is_stated }
    }

    pub(crate) fn new(event: &Event, step: u32, shows_content: bool) -> EventSummary {
        let content = shows_content.then(|| content(event)).flatten();
        let (kind, tool, source) = (event.kind.clone(), event.tool.clone(), event.source.clone());
        let is_stated = !event.facts.is_empty() || !event.labels.is_empty() || !event.answers.is_empty();
        EventSummary { session: None, step, kind, tool, time: event.time, source, content, is_stated }
    }
}

/// Returns the event's text or call, on one short line.
fn content(event: &Event) -> Option<String> {
    const MAX_CONTENT_CHARACTERS: usize = 160;
    let args = event.args.as_ref().map(|args| match args {
        Arguments::Value(value) => value.to_string(),
        Arguments::Unparsed(text) => text.to_string(),
    });
    let whole = event.text.as_ref().map(ToString::to_string).or(args)?;
    let line = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match line.char_indices().nth(MAX_CONTENT_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}
