//! `lictor-bench guard`: the cost of a decision on one event, before it is stored and recorded.
//!
//! The pack gdpr decides on the events of a shop's agents, some 450 bytes each, in order. Only the decision is
//! measured: events are decoded in advance, and nothing is saved. Each decision is timed separately, to distinguish the
//! median from the slow ones.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use lictor::audit::{AuditOptions, sessions};
use lictor::event::Event;
use lictor::guard::{Action, Guard};
use lictor::input::Input;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::session::Session;

use crate::log::{Annotations, Log};
use crate::measure::per_event;
use crate::table::{Better, Section, Table, Target};

const POLICY: &str = include_str!("guard/policy.yaml");

/// The size of the log in bytes.
const BYTES: usize = 12 << 20;

/// Measures decisions with and without annotations.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::default();
    for (annotations, most) in [(Annotations::Given, 300.0), (Annotations::Absent, 2_000.0)] {
        let events = events(annotations)?;
        let bytes: usize = events.iter().map(|event| event.to_json().to_string().len()).sum();
        let title = format!("decisions by the pack gdpr, {annotations}, {} bytes an event", bytes / events.len());
        let mut section = Section::new(title);
        let (times, refused) = decide(events.clone())?;
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let note = format!("{} events, {refused} not simply forwarded", events.len());
        section.time("Guard::decide, p50", at(0.5), note).target(Target::AtMost(most));
        section.time("Guard::decide, p99", at(0.99), "");
        section.time("Session::observe, mean", observe(&events)?, "the same events, nothing proposed or recorded");
        section.time("a clock read twice, p50", clock(), "what timing adds to each figure in the first two lines");
        let name = format!("{}/decide-to-observe", annotations.slug());
        section.ratio_of(name, "Guard::decide, p50", "Session::observe, mean", Better::Lower);
        table.print(&section);
    }
    table.finish();
    Ok(())
}

fn judge() -> Result<Judge, Box<dyn Error>> {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}").into())
}

/// Returns the events of the log, in order.
fn events(annotations: Annotations) -> Result<Vec<Event>, Box<dyn Error>> {
    let input = Input::from_bytes("log", Log::new(annotations).take(BYTES));
    let found = sessions(&[input], &AuditOptions::default())?.sessions;
    let mut events: Vec<Event> = found.into_iter().flat_map(|(_, events)| events).collect();
    events.sort_by_key(|event| event.source.line);
    Ok(events)
}

/// Returns the time of each decision in nanoseconds, sorted, and how many events were not simply forwarded. A decision
/// takes ownership of its event, as in every guard.
fn decide(events: Vec<Event>) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let mut guard = Guard::new(judge()?, lictor::guard::GuardOptions::default());
    let mut refused = 0;
    let mut times = Vec::with_capacity(events.len());
    for event in events {
        let start = Instant::now();
        let decision = guard.decide(event, None);
        times.push(start.elapsed().as_nanos() as f64);
        refused += usize::from(black_box(decision).action != Action::Forward);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok((times, refused))
}

/// Returns the time of an event that is judged without a decision.
fn observe(events: &[Event]) -> Result<f64, Box<dyn Error>> {
    let mut judge = judge()?;
    let spent = per_event(events.len(), || {
        let mut known: std::collections::HashMap<&str, Session> = std::collections::HashMap::new();
        for event in events {
            let name = event.session.as_deref().unwrap_or_default();
            let session = known.entry(name).or_insert_with(|| Session::new(&mut judge, name));
            black_box(session.observe(&mut judge, event).is_ok());
        }
    });
    Ok(spent)
}

fn clock() -> f64 {
    let mut times: Vec<f64> = (0..10_001).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
