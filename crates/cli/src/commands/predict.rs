//! `lictor predict`: forecasts violations in logs, and compares the forecasts with what happened.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail};
use lictor::event::Event;
use lictor::judge::Judge;
use lictor::policy::{History, Policy};
use lictor::predict::{Chain, ForecastScores, LeadTime, Outlook, Predictor, ScoredForecast, Step};

use crate::args::PredictArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::log_sessions::read_sessions;
use crate::policies;
use crate::render::plots;

/// False alarms for each 100 forecasts at which lead times are measured.
const FALSE_ALARMS: f64 = 5.0;

/// What was forecast for one property, or for all together.
struct Series {
    name: String,
    predictor: Predictor,
    forecasts: Vec<ScoredForecast>,
    out_of_model: usize,
    undecided: usize,
    /// The forecast after the last event of each session.
    last: Vec<Option<Outlook>>,
}

/// Forecasts, and prints how good the forecasts were or what they say now.
pub(crate) fn run(args: &PredictArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (sessions, reading) = read_sessions(&args.traces, &args.reading)?;
    let policy = policies::load(Some(&args.policy), &[])?;
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    let text = std::fs::read_to_string(&args.chain)
        .with_context(|| format!("cannot read {}\nhint: `lictor learn chain` writes a chain", args.chain.display()))?;
    let chain = Arc::new(Chain::parse(&text).with_context(|| format!("{} is no chain", args.chain.display()))?);
    let mut series = make_series(args, &policy, &judge, &chain)?;
    for (number, (_, events)) in sessions.iter().enumerate() {
        follow_session(&mut judge, &chain, &mut series, number, events)?;
    }
    if args.now {
        print_now(&sessions.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), &series, out)?;
        let mut last = series.iter().flat_map(|it| &it.last).flatten();
        return Ok(reading.max(outcome(last.any(|outlook| outlook.forecast().is_some()))));
    }
    if let Some(folder) = &args.plots {
        for it in &series {
            if let Some(scores) = ForecastScores::new(&it.forecasts) {
                plots::write_plot(folder, &it.name, &scores.to_svg(&format!("{}, within {}", it.name, args.within)))?;
            }
        }
    }
    print_scores(&series, sessions.len(), args.within, out)?;
    Ok(reading.max(outcome(series.iter().any(|it| it.undecided > 0 || !it.forecasts.is_empty()))))
}

/// Returns the outcome of a run by whether a forecast was made.
fn outcome(has_forecast: bool) -> Outcome {
    if has_forecast { Outcome::Compliant } else { Outcome::Unjudged }
}

/// Returns what is to be forecast: each property alone, and all together, or a pattern over all.
fn make_series(args: &PredictArgs, policy: &Policy, judge: &Judge, chain: &Arc<Chain>) -> anyhow::Result<Vec<Series>> {
    let mut chosen = Vec::new();
    for (number, property) in policy.properties.iter().enumerate() {
        let is_named = args.property.iter().any(|name| *name == property.id.as_str());
        match args.property.is_empty() {
            true if property.history == History::Session => chosen.push(number),
            false if is_named => chosen.push(number),
            _ => {}
        }
    }
    if let Some(name) = args.property.iter().find(|name| !policy.properties.iter().any(|it| it.id == name.as_str())) {
        bail!("the policy has no property `{name}`");
    }
    let new = |name: &str, properties: &[usize], pattern: &str| {
        judge.predictor(chain, properties, pattern, args.within).map(|predictor| Series {
            name: name.to_owned(),
            predictor,
            forecasts: Vec::new(),
            out_of_model: 0,
            undecided: 0,
            last: Vec::new(),
        })
    };
    let mut series = Vec::new();
    if args.pattern.is_none() {
        chosen.retain(|number| {
            match new(&policy.properties[*number].id, &[*number], lictor::predict::SOME_VIOLATION) {
                Ok(single) => {
                    series.push(single);
                    true
                }
                Err(error) => {
                    complaint::note(&error.to_string());
                    false
                }
            }
        });
    }
    if chosen.is_empty() {
        bail!("no property of the policy can be forecast by this chain");
    }
    match &args.pattern {
        Some(pattern) => series.push(new(pattern, &chosen, pattern)?),
        None if chosen.len() > 1 => series.push(new("any of them", &chosen, lictor::predict::SOME_VIOLATION)?),
        None => {}
    }
    Ok(series)
}

/// Forecasts after each event of a session.
fn follow_session(
    judge: &mut Judge,
    chain: &Chain,
    series: &mut [Series],
    number: usize,
    events: &[Event],
) -> anyhow::Result<()> {
    let mut follower = judge.follow();
    let (mut steps, mut snapshots): (Vec<Step>, Vec<_>) = (Vec::new(), Vec::new());
    for event in events {
        steps.push(follower.read_step(event));
        snapshots.push(follower.snapshot());
    }
    for it in series {
        let (mut place, mut actions) = (chain.start(), 0);
        it.last.push(None);
        for (at, (step, snapshot)) in steps.iter().zip(&snapshots).enumerate() {
            chain.follow(&mut place, step);
            actions += u32::from(step.is_action);
            let outlook = it.predictor.forecast(snapshot, &place, &[])?;
            let scored = outlook.forecast().map(|forecast| (forecast.chance, forecast.most));
            if at + 1 == steps.len() {
                it.last[number] = Some(outlook);
            }
            let Some((chance, most)) = scored else {
                it.out_of_model += 1;
                continue;
            };
            // After the last event the end follows, which the chain foresees like any event: leaving it out would leave
            // out those forecasts after which nothing happened.
            match it.predictor.has_happened(snapshot, &steps[at + 1..], true)? {
                Some(has_happened) => {
                    it.forecasts.push(ScoredForecast { session: number, actions, chance, most, has_happened });
                }
                None => it.undecided += 1,
            }
        }
    }
    Ok(())
}

fn print_now(sessions: &[&str], series: &[Series], out: &mut dyn Write) -> anyhow::Result<()> {
    for (number, session) in sessions.iter().enumerate() {
        writeln!(out, "{session}")?;
        for it in series {
            if let Some(Some(outlook)) = it.last.get(number) {
                writeln!(out, "  {}: {outlook}", it.name)?;
            }
        }
    }
    Ok(())
}

fn print_scores(series: &[Series], sessions: usize, within: u32, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "violated within {within} actions, forecast after each event of {sessions} sessions")?;
    let width = series.iter().map(|it| it.name.chars().count()).max().unwrap_or_default().max(8);
    writeln!(
        out,
        "{:width$} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7}  announced before",
        "property", "forecasts", "happened", "AUROC", "Brier", "base", "skill"
    )?;
    for it in series {
        let Some(scores) = ForecastScores::new(&it.forecasts) else {
            writeln!(out, "{:width$} {:>9}", it.name, 0)?;
            continue;
        };
        let auroc = scores.auroc.map_or_else(|| "-".to_owned(), |auroc| format!("{auroc:.3}"));
        let lead = LeadTime::measure(&it.forecasts, FALSE_ALARMS).map_or_else(
            || "-".to_owned(),
            |lead| format!("{:.0} %, {:.1} actions", lead.announced * 100.0, lead.actions),
        );
        writeln!(
            out,
            "{:width$} {:>9} {:>7.2}% {auroc:>7} {:>7.4} {:>7.4} {:>7.3}  {lead}",
            it.name,
            scores.forecasts,
            scores.base_rate * 100.0,
            scores.brier,
            scores.base_brier,
            scores.skill(),
        )?;
    }
    if let Some(it) = series.last() {
        let scores = ForecastScores::new(&it.forecasts);
        writeln!(out, "\nreliability of `{}`: forecasts, how often it happened, 95 % bars by session", it.name)?;
        if let Some(scores) = scores {
            write!(out, "{}", scores.to_table())?;
        }
        writeln!(out, "out of model: {}, open by unknown facts: {}", it.out_of_model, it.undecided)?;
    }
    Ok(())
}
