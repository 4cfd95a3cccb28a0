//! What happened in a history, kept for the witnesses of what it broke.

mod doubt;
mod proof;
mod saved;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use lictor_logic::{Facts, Moment, Time};

use crate::event::{Event, Kind, Payload, Source};
use crate::finding::{Decided, Finding};
use crate::json::Text;
use crate::judge::{Broken, Provers, Restart, Ruling};
use proof::Case;
pub(crate) use saved::SavedTrail;

/// What happened in a history: of a session, or of somebody across sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    /// The session whose events these are, unless each names its own.
    pub(crate) session: Text,
    pub(crate) moments: Vec<Moment>,
    /// What is told of the events in witnesses; for each moment the event, none for passing time.
    pub(crate) briefs: Vec<Option<Brief>>,
    /// Behind which moment a property, for a binding, was last started anew.
    pub(crate) resets: HashMap<Restart, usize>,
    /// The names of facts that were unknown at some event.
    pub(crate) unknown: BTreeSet<Arc<str>>,
    /// Behind which moment properties began that came with a change of the policy.
    pub(crate) begun: HashMap<usize, usize>,
    /// How many of the oldest moments are gone.
    pub(crate) forgotten: usize,
}

/// What is told of an event.
#[derive(Clone, Debug)]
pub(crate) struct Brief {
    /// Its session, where a history has events of several.
    pub(crate) session: Option<Text>,
    pub(crate) step: u32,
    pub(crate) kind: Kind,
    pub(crate) tool: Option<Text>,
    pub(crate) time: Option<Time>,
    pub(crate) source: Source,
    pub(crate) content: Option<String>,
}

/// A moment of a history, and its event.
pub(crate) type Entry = (Moment, Option<Brief>);

impl Trail {
    /// The trail of a session.
    pub(crate) fn of(session: Text) -> Trail {
        Trail { session, ..Trail::default() }
    }

    /// Adds what happened, and what started anew by it.
    pub(crate) fn append(&mut self, entries: Vec<Entry>, restarts: &[Restart]) {
        for (moment, brief) in entries {
            if let Moment::Position(facts) = &moment {
                self.unknown.extend(facts.unknown.iter().map(|fact| fact.name.clone()));
            }
            self.moments.push(moment);
            self.briefs.push(brief);
        }
        // What starts anew does not look back behind here.
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
        self.moments.drain(..gone);
        self.briefs.drain(..gone);
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
    pub(crate) fn findings(&self, provers: &mut Provers, broken: &[Broken], later: &[Entry]) -> Vec<(usize, Finding)> {
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
    pub(crate) fn finding(&self, provers: &mut Provers, broken: &Broken, later: &[Entry]) -> Finding {
        Case { trail: self, later, broken }.finding(provers)
    }
}

/// What an event adds to a trail: itself, and before it the time that passed if something was due in it.
pub(crate) fn entries(facts: Facts, brief: Brief, ruling: &Ruling) -> Vec<Entry> {
    let mut entries = Vec::new();
    let was_due = ruling.broken.iter().any(|broken| broken.by == Decided::Deadline);
    if let Some(time) = facts.time.filter(|_| was_due) {
        entries.push((Moment::Tick(Time(time.0.saturating_sub(1))), None));
    }
    entries.push((Moment::Position(facts), Some(brief)));
    entries
}

/// The facts of those names.
pub(crate) fn only(facts: &Facts, is_asked: impl Fn(&Arc<str>) -> bool) -> Facts {
    let known = facts.known.iter().filter(|fact| is_asked(&fact.name)).cloned().collect();
    let unknown = facts.unknown.iter().filter(|fact| is_asked(&fact.name)).cloned().collect();
    Facts { time: facts.time, known, unknown }
}

impl Brief {
    pub(crate) fn new(event: &Event, step: u32, shows_content: bool) -> Brief {
        let content = shows_content.then(|| content(event)).flatten();
        let (kind, tool, source) = (event.kind.clone(), event.tool.clone(), event.source.clone());
        Brief { session: None, step, kind, tool, time: event.time, source, content }
    }
}

/// What was said or called, on one short line.
fn content(event: &Event) -> Option<String> {
    const MOST: usize = 160;
    let args = event.args.as_ref().map(|args| match args {
        Payload::Value(value) => value.to_string(),
        Payload::Unparsed(text) => text.to_string(),
    });
    let whole = event.text.as_ref().map(ToString::to_string).or(args)?;
    let line = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}
