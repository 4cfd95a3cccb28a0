//! Events of a session that are known to be missing.

use lictor_logic::{Atom, Facts, Moment, Time};

use super::Session;
use crate::event::{Kind, Source};
use crate::finding::Finding;
use crate::json::Text;
use crate::judge::Judge;
use crate::trail::{Brief, Entry};

/// How many missing events a trail keeps at a time: enough for witnesses, and verdicts do not need it.
const MOST_KEPT: u64 = 64;

impl Session {
    /// Makes missing events part of the session: positions of which nothing is known. `next` is the time of the event
    /// behind them. What is found, they broke whatever they were.
    pub fn miss(&mut self, judge: &mut Judge, count: u64, next: Option<Time>) -> Vec<Finding> {
        *self.spare.get_mut() = None;
        self.is_torn = true;
        let ruling = judge.miss(&mut self.track, count, next);
        let unknown = |name: &std::sync::Arc<str>| Atom::new(name.clone(), []);
        let unknown: Vec<Atom> = judge.prepared().plan.names.iter().map(unknown).collect();
        let brief = self.trail.briefs.iter().flatten().next_back().cloned().unwrap_or(Brief {
            session: None,
            step: self.track.steps,
            kind: Kind::Other(Text::const_new("gap")),
            tool: None,
            time: None,
            source: Source::default(),
            content: None,
        });
        let facts = Facts { unknown, ..Facts::default() };
        let entry = || -> Entry { (Moment::Position(facts.clone()), Some(brief.clone())) };
        let entries: Vec<Entry> = (0..count.min(MOST_KEPT)).map(|_| entry()).collect();
        let findings = self.trail.findings(judge.provers(), &ruling.broken, &entries);
        self.trail.append(entries, &ruling.restarts);
        findings.into_iter().map(|(_, finding)| finding).collect()
    }
}
