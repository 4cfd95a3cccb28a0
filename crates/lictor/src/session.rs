//! One session of an agent, judged step by step, with its history at hand for witnesses.

mod proof;
mod summary;

use std::collections::HashMap;

use lictor_logic::{Moment, Time, Verdict};

pub use summary::{PropertySummary, Summary};

use crate::event::{Event, Kind, Source};
use crate::finding::{Decided, Finding};
use crate::json::Text;
use crate::judge::{Broken, Judge, Restart, Track};
use proof::Case;

/// One session of an agent.
///
/// Nothing is judged twice: [`propose`](Session::propose) says what an event would break and changes nothing,
/// [`commit`](Session::commit) makes it part of the session. A session belongs to the judge that began it.
#[derive(Debug)]
pub struct Session {
    name: Text,
    track: Track,
    history: Vec<Moment>,
    /// What is told of the events in witnesses; for each entry of the history the event, none for passing time.
    briefs: Vec<Option<Brief>>,
    /// Behind which entry a property, for a binding, was last started anew.
    resets: HashMap<Restart, usize>,
    shows_content: bool,
}

/// What is told of an event.
#[derive(Clone, Debug)]
pub(crate) struct Brief {
    pub(crate) step: u32,
    pub(crate) kind: Kind,
    pub(crate) tool: Option<Text>,
    pub(crate) time: Option<Time>,
    pub(crate) source: Source,
    pub(crate) content: Option<String>,
}

/// An entry of the history, and its event.
type Entry = (Moment, Option<Brief>);

/// An event that may become part of a session, and what it would break.
#[derive(Debug)]
pub struct Proposal {
    track: Track,
    entries: Vec<Entry>,
    restarts: Vec<Restart>,
    /// What the event would newly break.
    pub findings: Vec<Finding>,
}

impl Session {
    /// A session that has just begun.
    pub fn new(judge: &mut Judge, name: impl Into<Text>) -> Session {
        Session {
            name: name.into(),
            track: judge.start(),
            history: Vec::new(),
            briefs: Vec::new(),
            resets: HashMap::new(),
            shows_content: false,
        }
    }

    /// Lets witnesses show what was said and called, shortened. Without it no content leaves the session.
    #[must_use]
    pub fn showing_content(mut self) -> Session {
        self.shows_content = true;
        self
    }

    /// Its name.
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// How many events it has.
    pub fn steps(&self) -> u32 {
        self.track.steps
    }

    /// Says what an event would newly break. The session stays as it is.
    pub fn propose(&self, judge: &mut Judge, event: &Event) -> Proposal {
        let mut track = self.track.clone();
        let broken = judge.step(&mut track, event).to_vec();
        let entries = self.entries(judge, event, &broken, track.steps);
        let findings = self.findings(judge, &broken, &entries);
        Proposal { track, entries, restarts: judge.restarts().to_vec(), findings }
    }

    /// Makes a proposed event part of the session, and says what it broke.
    pub fn commit(&mut self, proposal: Proposal) -> Vec<Finding> {
        self.track = proposal.track;
        self.append(proposal.entries, &proposal.restarts);
        proposal.findings
    }

    /// The same as proposing and committing at once, without a copy of where the session stands.
    pub fn observe(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        let broken = judge.step(&mut self.track, event).to_vec();
        let entries = self.entries(judge, event, &broken, self.track.steps);
        let findings = self.findings(judge, &broken, &entries);
        self.append(entries, judge.restarts());
        findings
    }

    /// Lets time pass: what was due by then is late.
    pub fn tick(&mut self, judge: &mut Judge, now: Time) -> Vec<Finding> {
        let broken = judge.tick(&mut self.track, now).to_vec();
        let entries = vec![(Moment::Tick(now), None)];
        let findings = self.findings(judge, &broken, &entries);
        self.append(entries, judge.restarts());
        findings
    }

    /// Ends the session: what was owed and never came is found now.
    pub fn finish(&mut self, judge: &mut Judge) -> Vec<Finding> {
        let mut findings = Vec::new();
        for property in 0..judge.properties().len() {
            let live = judge.verdict(&mut self.track, property);
            if live == Verdict::Inconclusive && judge.end(&mut self.track, property) == Verdict::Violated {
                let broken = Broken { property, by: Decided::End, binding: Vec::new() };
                let case = Case { session: self, later: &[], broken: &broken };
                let mut finding = case.finding(judge);
                finding.owed = judge.residual(&mut self.track, property).map(|(_, words)| words);
                finding.fingerprint = finding.print();
                findings.push(finding);
            }
        }
        findings
    }

    /// What an event adds to the history: itself, and before it the time that passed if something was due in it.
    fn entries(&self, judge: &Judge, event: &Event, broken: &[Broken], step: u32) -> Vec<Entry> {
        let mut entries = Vec::new();
        if let Some(time) = event.time.filter(|_| broken.iter().any(|broken| broken.by == Decided::Deadline)) {
            entries.push((Moment::Tick(Time(time.0.saturating_sub(1))), None));
        }
        let brief = Brief::new(event, step, self.shows_content);
        entries.push((Moment::Position(judge.facts(event.time)), Some(brief)));
        entries
    }

    fn append(&mut self, entries: Vec<Entry>, restarts: &[Restart]) {
        for (moment, brief) in entries {
            self.history.push(moment);
            self.briefs.push(brief);
        }
        // What starts anew does not look back behind here.
        for restart in restarts {
            self.resets.insert(restart.clone(), self.history.len());
        }
    }

    fn findings(&self, judge: &mut Judge, broken: &[Broken], later: &[Entry]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for broken in broken {
            let finding = Case { session: self, later, broken }.finding(judge);
            // One event breaks a property once, for however many values.
            let same = findings
                .iter_mut()
                .find(|other| other.property.id == finding.property.id && other.decided == finding.decided);
            match same {
                Some(other) => other.join(finding),
                None => findings.push(finding),
            }
        }
        for finding in &mut findings {
            finding.fingerprint = finding.print();
        }
        findings
    }
}

impl Brief {
    fn new(event: &Event, step: u32, shows_content: bool) -> Brief {
        let content = shows_content.then(|| content(event)).flatten();
        let (kind, tool, source) = (event.kind.clone(), event.tool.clone(), event.source.clone());
        Brief { step, kind, tool, time: event.time, source, content }
    }
}

/// What was said or called, on one short line.
fn content(event: &Event) -> Option<String> {
    const MOST: usize = 160;
    let args = event.args.as_ref().map(|args| match args {
        crate::event::Payload::Value(value) => value.to_string(),
        crate::event::Payload::Unparsed(text) => text.to_string(),
    });
    let whole = event.text.as_ref().map(ToString::to_string).or(args)?;
    let line = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}
