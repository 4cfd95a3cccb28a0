//! One session of an agent, judged step by step, with its history at hand for witnesses.

mod missing;
mod saved;
mod summary;

use std::cell::RefCell;
use std::sync::Arc;

use lictor_logic::{Standing, Time, Verdict};

pub use saved::SavedSession;
pub use summary::{PropertySummary, Summary};

use crate::event::Event;
use crate::finding::{Decided, Finding};
use crate::json::Text;
use crate::judge::{Broken, Happening, Judge, Labeled, Ruling, Track};
use crate::policy::Property;
use crate::trail::{Brief, Later, Trail};

/// One session of an agent.
///
/// Nothing is judged twice: [`propose`](Session::propose) says what an event would break and changes nothing,
/// [`commit`](Session::commit) makes it part of the session. A session belongs to the judge that began it.
#[derive(Debug)]
pub struct Session {
    track: Track,
    trail: Trail,
    shows_content: bool,
    /// A second standing of the same trace, so that nothing is copied to propose an event. It is only ever taken out and
    /// put back.
    spare: RefCell<Option<Standing>>,
    /// Whether events are missing right before the next one.
    is_torn: bool,
}

/// An event that may become part of a session, and what it would break.
#[derive(Debug)]
pub struct Proposal {
    /// Where the session would stand.
    standing: Standing,
    labeled: Labeled,
    ruling: Ruling,
    /// What is told of the event.
    brief: Brief,
    /// How many of the findings are of properties that are judged over the session.
    own: usize,
    /// The same event for histories across sessions.
    happening: Option<Happening>,
    /// What the event would newly break.
    pub findings: Vec<Finding>,
    /// The properties of which nobody can tell whether the event breaks them.
    pub doubts: Vec<Arc<Property>>,
}

impl Session {
    /// A session that has just begun.
    pub fn new(judge: &mut Judge, name: impl Into<Text>) -> Session {
        Session::at(judge.start(), Trail::of(name.into()), false)
    }

    fn at(track: Track, trail: Trail, shows_content: bool) -> Session {
        Session { track, trail, shows_content, spare: RefCell::default(), is_torn: false }
    }

    /// Lets witnesses show what was said and called, shortened. Without it no content leaves the session.
    #[must_use]
    pub fn showing_content(mut self) -> Session {
        self.shows_content = true;
        self
    }

    /// Its name.
    pub fn name(&self) -> &Text {
        &self.trail.session
    }

    /// How many events it has.
    pub fn steps(&self) -> u32 {
        self.track.steps
    }

    /// Says what an event would newly break. The session, and what is remembered across sessions, stay as they are.
    pub fn propose(&self, judge: &mut Judge, event: &Event) -> Proposal {
        let mut standing = self.spare.take().unwrap_or_else(|| self.track.standing.clone());
        let (labeled, step) = (judge.label(&self.track, event), self.track.steps + 1);
        let mut ruling = judge.read(&mut standing, &labeled);
        let mut doubts = self.track.spare_lost(&mut ruling);
        let (labels, notes) = (&labeled.labels, &labeled.notes);
        let whose = notes.whose.as_ref().unwrap_or(self.track.whose());
        let happening = judge.happening(whose, labels, event, step, || self.name().clone(), self.shows_content);
        let brief = Brief::new(event, step, self.shows_content);
        let later = Later::event(labels, &brief, &ruling);
        let mut findings = told(self.trail.findings(judge.provers(), &ruling.broken, later));
        let own = findings.len();
        doubts.append(&mut judge.doubts((&self.track.standing, &standing), &self.trail, &labeled, &ruling));
        if let Some(happening) = &happening {
            let (foreseen, mut doubtful) = judge.foresee(happening);
            findings.extend(foreseen.into_iter().map(|(_, finding)| finding));
            doubts.append(&mut doubtful);
        }
        if self.is_torn {
            // Whosever the missing events were, histories across sessions do not know of them.
            doubts.extend(judge.beyond_sessions());
            doubts.retain(|doubt| !findings.iter().any(|finding| finding.property.id == judge.properties()[*doubt].id));
        }
        doubts.sort_unstable();
        doubts.dedup();
        let doubts = doubts.into_iter().map(|property| Arc::clone(&judge.properties()[property])).collect();
        Proposal { standing, labeled, ruling, brief, own, happening, findings, doubts }
    }

    /// Makes a proposed event part of the session, and says what it broke. Other sessions may have gone on since it was
    /// proposed: what it breaks in histories across sessions is judged as they are now.
    pub fn commit(&mut self, judge: &mut Judge, proposal: Proposal) -> Vec<Finding> {
        self.is_torn = false;
        let mut behind = std::mem::replace(&mut self.track.standing, proposal.standing);
        judge.read(&mut behind, &proposal.labeled);
        *self.spare.get_mut() = Some(behind);
        let Labeled { notes, mut labels, observation } = proposal.labeled;
        self.track.take(notes, &proposal.ruling);
        self.trail.append(&mut labels, proposal.brief, &proposal.ruling);
        judge.recycle(labels, observation);
        let mut findings = proposal.findings;
        findings.truncate(proposal.own);
        self.remember(judge, proposal.happening, &mut findings);
        findings
    }

    /// The same as proposing and committing at once, without a copy of where the session stands.
    pub fn observe(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        let (mut findings, happening) = self.step(judge, event, true);
        self.remember(judge, happening, &mut findings);
        findings
    }

    /// The same, as far as the session alone can tell.
    pub(crate) fn observe_alone(&mut self, judge: &mut Judge, event: &Event) -> Vec<Finding> {
        self.step(judge, event, false).0
    }

    /// Makes an event part of the session; beside what it broke there, the same event for histories across sessions.
    fn step(&mut self, judge: &mut Judge, event: &Event, is_wide: bool) -> (Vec<Finding>, Option<Happening>) {
        *self.spare.get_mut() = None;
        self.is_torn = false;
        let labeled = judge.label(&self.track, event);
        let mut ruling = judge.read(&mut self.track.standing, &labeled);
        self.track.spare_lost(&mut ruling);
        let Labeled { notes, mut labels, observation } = labeled;
        self.track.take(notes, &ruling);
        let (whose, step, name) = (self.track.whose(), self.track.steps, || self.name().clone());
        let happening = match is_wide {
            true => judge.happening(whose, &labels, event, step, name, self.shows_content),
            false => None,
        };
        let brief = Brief::new(event, step, self.shows_content);
        let later = Later::event(&labels, &brief, &ruling);
        let findings = told(self.trail.findings(judge.provers(), &ruling.broken, later));
        self.trail.append(&mut labels, brief, &ruling);
        judge.recycle(labels, observation);
        (findings, happening)
    }

    /// The next moment at which something is due.
    pub fn deadline(&self, judge: &Judge) -> Option<Time> {
        judge.deadline(&self.track)
    }

    /// Lets time pass: what was due by then is late. Histories across sessions have a
    /// [tick of their own](Judge::tick_histories).
    pub fn tick(&mut self, judge: &mut Judge, now: Time) -> Vec<Finding> {
        if self.deadline(judge).is_none_or(|due| due > now) {
            return Vec::new();
        }
        *self.spare.get_mut() = None;
        let ruling = judge.tick(&mut self.track, now);
        let findings = self.trail.findings(judge.provers(), &ruling.broken, Later::Time(now));
        self.trail.pass(now, &ruling);
        told(findings)
    }

    /// Forgets the oldest half of what happened once that is more than so many moments. Verdicts stay as they are; a
    /// witness goes back no further.
    pub fn keep(&mut self, most: usize) {
        self.trail.keep(most);
    }

    /// Ends the session: what was owed and never came is found now.
    pub fn finish(&mut self, judge: &mut Judge) -> Vec<Finding> {
        self.owed(judge)
    }

    /// What would be found if the session ended now: what is owed and has not come yet.
    pub fn owed(&self, judge: &mut Judge) -> Vec<Finding> {
        let (mut track, mut findings) = (self.track.clone(), Vec::new());
        for property in 0..judge.properties().len() {
            let live = judge.verdict(&mut track, property);
            if live == Verdict::Inconclusive && judge.end(&mut track, property) == Verdict::Violated {
                let broken = Broken { property, by: Decided::End, binding: Vec::new() };
                let mut finding = self.trail.finding(judge.provers(), &broken, Later::Nothing);
                finding.owed = judge.residual(&mut track, property).map(|(_, words)| words);
                finding.fingerprint = finding.print();
                findings.push(finding);
            }
        }
        findings
    }

    /// Makes an event part of the histories across sessions.
    fn remember(&mut self, judge: &mut Judge, happening: Option<Happening>, findings: &mut Vec<Finding>) {
        let Some(happening) = happening else { return };
        for (property, finding) in judge.remember(happening) {
            // What was late before the event may be another session's doing.
            if finding.session == *self.name() {
                self.track.tally(property);
            }
            findings.push(finding);
        }
    }
}

/// Findings without the numbers of their properties.
fn told(findings: Vec<(usize, Finding)>) -> Vec<Finding> {
    findings.into_iter().map(|(_, finding)| finding).collect()
}
