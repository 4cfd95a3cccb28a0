//! `lictor-bench forecast`: the cost of a forecast, beside the cost of a decision on the same events.
//!
//! A chain is learnt from one part of a log of a shop's agents, and forecasts are made after each event of the other part.
//! The first pass meets each state for the first time and computes; the second looks up what the first has computed. No
//! model is asked in either.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use lictor::audit::{AuditOptions, sessions};
use lictor::event::Event;
use lictor::guard::{Guard, GuardOptions};
use lictor::input::Input;
use lictor::json::Text;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::predict::{Predictor, SOME_VIOLATION};
use lictor::session::Session;

use crate::log::{Annotations, Log};
use crate::table::{Better, Section, Table};

/// The size of the log in bytes.
const BYTES: usize = 4 << 20;

/// How many actions are looked ahead.
const WITHIN: u32 = 3;

/// A property without values, whose forecasts add up all paths, and one with values, whose forecasts draw random paths.
const POLICIES: [(&str, &str); 2] = [
    ("all paths", "always (tool_call(\"refund_order\") implies once tool_call(\"find_order\"))"),
    ("random paths", "forall t. always (tool_call(t) implies not next next next tool_call(t))"),
];

/// Measures forecasts by all paths and by random paths.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let input = Input::from_bytes("log", Log::new(Annotations::Given).take(BYTES));
    let sessions = sessions(&[input], &AuditOptions::default())?.sessions;
    let (past, future) = sessions.split_at(sessions.len() / 2);
    let mut table = Table::default();
    for (name, formula) in POLICIES {
        let mut judge = judge(formula)?;
        let chain = Arc::new(judge.learn_chain(past.iter().map(|(_, events)| &events[..]))?);
        let mut predictor = judge.predictor(&chain, &[0], SOME_VIOLATION, WITHIN)?;
        let count: usize = future.iter().map(|(_, events)| events.len()).sum();
        let title = format!(
            "forecasts {WITHIN} actions ahead by {name}, {} classes of events, {count} forecasts",
            chain.classes()
        );
        let mut section = Section::new(title);
        let cold = forecast(&mut judge, &mut predictor, future)?;
        let warm = forecast(&mut judge, &mut predictor, future)?;
        let decide = decide(formula, future)?;
        section.time("Guard::decide, p50", at(&decide, 0.5), "the same events, without forecasts");
        section.time("Session::forecast, first pass, p50", at(&cold, 0.5), "");
        section.time("Session::forecast, first pass, p99", at(&cold, 0.99), "");
        section.time("Session::forecast, second pass, p50", at(&warm, 0.5), "");
        section.time("Session::forecast, second pass, p99", at(&warm, 0.99), "");
        let name = format!("{}/forecast-to-decide", name.replace(' ', "-"));
        section.ratio_of(name, "Session::forecast, second pass, p50", "Guard::decide, p50", Better::Lower);
        table.print(&section);
    }
    table.finish();
    Ok(())
}

fn judge(formula: &str) -> Result<Judge, Box<dyn Error>> {
    let text = format!("lictor: 1\nname: forecasts\nproperties:\n  - {{id: watched, formula: '{formula}'}}\n");
    let loaded = Policy::parse(&text, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}").into())
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Returns the time of the forecast after each event in nanoseconds, sorted.
fn forecast(
    judge: &mut Judge,
    predictor: &mut Predictor,
    sessions: &[(Text, Vec<Event>)],
) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut times = Vec::new();
    for (name, events) in sessions {
        let mut session = Session::new(judge, name.clone());
        for event in events {
            session.observe(judge, event)?;
            let start = Instant::now();
            black_box(session.forecast(judge, predictor)?);
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times)
}

/// Returns the time of the decision on each event in nanoseconds, sorted.
fn decide(formula: &str, sessions: &[(Text, Vec<Event>)]) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut guard = Guard::new(judge(formula)?, GuardOptions::default());
    let mut times = Vec::new();
    for event in sessions.iter().flat_map(|(_, events)| events).cloned() {
        let start = Instant::now();
        black_box(guard.decide(event, None));
        times.push(start.elapsed().as_nanos() as f64);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times)
}
