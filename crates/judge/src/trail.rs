//! What happened in a history, kept for the witnesses of what it broke.

mod doubt;
mod moments;
mod proof;
mod saved;

use std::collections::{BTreeSet, HashMap};

use lictor_logic::Time;

use crate::finding::{DecidedBy, Finding};
use crate::label::{Labels, NameId};
use crate::{Provers, Restart, Violation, Violations};
pub(crate) use doubt::Doubt;
use lictor_event::{Arguments, Event, Kind, Source};
use lictor_json::Text;
use moments::Moments;
use proof::Case;
pub use saved::SavedMoments;
pub(crate) use saved::SavedTrail;

/// What happened in a history: of a session, or of somebody across sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    /// The session whose events these are, unless each names its own.
    pub(crate) session: Text,
    moments: Moments,
    /// Behind which moment a property, for a binding, was last started anew.
    resets: HashMap<Restart, usize>,
    /// The names of facts that were unknown at some event.
    unknown: BTreeSet<NameId>,
    /// Behind which moment properties began that came with a change of the policy.
    begun: HashMap<usize, usize>,
    /// How many of the oldest moments are gone.
    forgotten: usize,
}

/// What comes behind a trail and is not part of it yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Later<'a> {
    Nothing,
    /// Time that passed.
    Time(Time),
    /// An event; and before it the time that passed, if something was due in it.
    Event {
        labels: &'a Labels,
        summary: &'a EventSummary,
        was_due: bool,
    },
    /// So many events of which nothing is known but that they are missing.
    Missing {
        labels: &'a Labels,
        summary: &'a EventSummary,
        count: usize,
    },
}

/// What is told of an event.
#[derive(Clone, Debug)]
pub(crate) struct EventSummary {
    /// Its session, where a history has events of several.
    pub(crate) session: Option<Text>,
    pub(crate) step: u32,
    pub(crate) kind: Kind,
    pub(crate) tool: Option<Text>,
    pub(crate) time: Option<Time>,
    pub(crate) source: Source,
    pub(crate) content: Option<String>,
}

impl Trail {
    /// The trail of a session.
    pub(crate) fn of(session: Text) -> Trail {
        Trail { session, ..Trail::default() }
    }

    /// Adds an event, and before it the time that passed if something was due in it. The facts are moved here.
    pub(crate) fn append(&mut self, labels: &mut Labels, summary: EventSummary, violations: &Violations) {
        if let Some(passed) = Later::event(labels, &summary, violations).passed() {
            self.moments.pass(passed);
        }
        self.add(labels, summary);
        self.start_anew(&violations.restarts);
    }

    /// Adds time that passed.
    pub(crate) fn pass(&mut self, now: Time, violations: &Violations) {
        self.moments.pass(now);
        self.start_anew(&violations.restarts);
    }

    /// Adds so many events that are missing behind a step, and gives the findings of what they broke whatever they were.
    /// They are told by the event before them.
    pub(crate) fn miss(
        &mut self,
        provers: &mut Provers,
        labels: &Labels,
        count: usize,
        step: u32,
        violations: &Violations,
    ) -> Vec<(usize, Finding)> {
        let summary = self.moments.last().cloned().unwrap_or_else(|| EventSummary::of_gap(step));
        let findings = self.findings(provers, &violations.broken, Later::Missing { labels, summary: &summary, count });
        (0..count).for_each(|_| self.add(&mut labels.clone(), summary.clone()));
        self.start_anew(&violations.restarts);
        findings
    }

    fn add(&mut self, labels: &mut Labels, summary: EventSummary) {
        self.unknown.extend(labels.unknown.iter().map(|(name, _)| *name));
        self.moments.add(labels, summary);
    }

    /// What starts anew does not look back behind here.
    fn start_anew(&mut self, restarts: &[Restart]) {
        for restart in restarts {
            self.resets.insert(restart.clone(), self.moments.len());
        }
    }

    /// Forgets the older half once there is more than so much; what can still be proved then is proved from the rest.
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
    }

    /// Lets properties begin here, of which nothing before is known.
    pub(crate) fn begin(&mut self, properties: impl IntoIterator<Item = usize>) {
        self.begun.extend(properties.into_iter().map(|property| (property, self.moments.len())));
    }

    /// How many moments there were, those that are forgotten included.
    pub(crate) fn len(&self) -> usize {
        self.forgotten + self.moments.len()
    }

    /// The findings of what was broken by what comes behind the trail: the proposed event, the time that passed.
    pub(crate) fn findings(
        &self,
        provers: &mut Provers,
        broken: &[Violation],
        later: Later<'_>,
    ) -> Vec<(usize, Finding)> {
        let mut findings: Vec<(usize, Finding)> = Vec::new();
        for broken in broken {
            let finding = self.finding(provers, broken, later);
            // One event breaks a property once, for however many values.
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

    /// The finding of one property that was broken.
    pub(crate) fn finding(&self, provers: &mut Provers, broken: &Violation, later: Later<'_>) -> Finding {
        Case { trail: self, later, broken }.finding(provers)
    }
}

impl<'a> Later<'a> {
    pub(crate) fn event(labels: &'a Labels, summary: &'a EventSummary, violations: &Violations) -> Later<'a> {
        let was_due = violations.broken.iter().any(|broken| broken.by == DecidedBy::Deadline);
        Later::Event { labels, summary, was_due }
    }
}

impl EventSummary {
    /// What is told of missing events before which there is none.
    fn of_gap(step: u32) -> EventSummary {
        EventSummary {
            session: None,
            step,
            kind: Kind::Other(Text::const_new("gap")),
            tool: None,
            time: None,
            source: Source::default(),
            content: None,
        }
    }

    pub(crate) fn new(event: &Event, step: u32, shows_content: bool) -> EventSummary {
        let content = shows_content.then(|| content(event)).flatten();
        let (kind, tool, source) = (event.kind.clone(), event.tool.clone(), event.source.clone());
        EventSummary { session: None, step, kind, tool, time: event.time, source, content }
    }
}

/// What was said or called, on one short line.
fn content(event: &Event) -> Option<String> {
    const MOST: usize = 160;
    let args = event.args.as_ref().map(|args| match args {
        Arguments::Value(value) => value.to_string(),
        Arguments::Unparsed(text) => text.to_string(),
    });
    let whole = event.text.as_ref().map(ToString::to_string).or(args)?;
    let line = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}
