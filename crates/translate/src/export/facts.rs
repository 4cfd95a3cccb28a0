//! The facts of a trace, for engines that judge facts.

use lictor_logic::{Fact, Time};

use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::Judge;

/// The facts of one session.
#[derive(Clone, Debug)]
pub struct FactTrace {
    /// The session.
    pub session: Text,
    /// For each event its time and the facts that the policy's properties ask for.
    pub events: Vec<(Option<Time>, Vec<Fact>)>,
    /// How many events had unknown facts; other engines take those for false.
    pub unknown: usize,
}

impl FactTrace {
    /// Returns the time and the facts of each event. An event without a time is at the time of the one before it; events
    /// before the first known time are at that time, or at the origin if there is none.
    pub(super) fn dated_events(&self) -> impl Iterator<Item = (Time, &[Fact])> {
        let first = self.events.iter().find_map(|(time, _)| *time).unwrap_or_default();
        self.events.iter().scan(first, |now, (time, facts)| {
            *now = time.map_or(*now, |time| time.max(*now));
            Some((*now, facts.as_slice()))
        })
    }
}

/// Returns the facts of sessions, each given with its events.
pub fn fact_traces<'e>(judge: &mut Judge, sessions: impl IntoIterator<Item = (Text, &'e [Event])>) -> Vec<FactTrace> {
    let trace = |(session, events): (Text, &'e [Event])| {
        let mut follower = judge.follow();
        let (mut steps, mut unknown) = (Vec::with_capacity(events.len()), 0);
        for event in events {
            follower.advance(event);
            let facts = follower.last_facts(event.time);
            unknown += usize::from(!facts.unknown.is_empty());
            steps.push((event.time, facts.known));
        }
        FactTrace { session, events: steps, unknown }
    };
    sessions.into_iter().map(trace).collect()
}
