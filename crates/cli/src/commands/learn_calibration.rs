//! `lictor learn calibration`: fits and checks the calibration of a labeler on labelled logs.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, bail};
use lictor::event::native::NativeDecoder;
use lictor::event::parse_time;
use lictor::event::record::{DecodedEvents, Decoder};
use lictor::input::{self, InputLimits};
use lictor_label::{Calibration, FactCheck, LabelledAnswer};

use crate::args::LearnCalibrationArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::log_faults::complain;
use crate::render::plots;

/// Fits, writes the file, and prints the results of the check.
pub(crate) fn run(args: &LearnCalibrationArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let fitted = match &args.fitted {
        Some(text) if parse_time(text).is_none() => {
            bail!("--fitted `{text}` is no time\n  hint: write it as 2026-05-01T10:00:00Z")
        }
        Some(text) => text.clone(),
        None => jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?.to_string(),
    };
    let mut sample = read_sample(&args.samples)?;
    let labeler = choose_labeler(args.labeler.as_deref(), &sample)?;
    sample.retain(|it| it.answer.by.as_deref() == Some(labeler.as_str()));
    let calibration = Calibration::fit(&labeler, &fitted, &sample).map_err(|error| anyhow::anyhow!("{error}"))?;
    if let Some(path) = &args.output {
        std::fs::write(path, calibration.to_file()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(folder) = &args.plots {
        for (fact, check) in calibration.facts() {
            plots::write_plot(folder, fact, &check.to_svg(&format!("{fact}, by {labeler}")))?;
        }
    }
    print_result(&calibration, &sample, out)?;
    writeln!(out, "hash {}", calibration.hash())?;
    let is_whole = calibration.too_few().next().is_none() && calibration.facts().all(|(_, check)| check.passed);
    Ok(if is_whole { Outcome::Compliant } else { Outcome::Findings })
}

/// Reads the answers whose truth is known. A line that cannot be read is an error: a calibration of half a sample would
/// not say so. A sample is no log: its lines may be in any order, and what only a whole log shows does not matter.
fn read_sample(paths: &[String]) -> anyhow::Result<Vec<LabelledAnswer>> {
    let limits = InputLimits::default();
    let mut sample = Vec::new();
    let mut faults = Vec::new();
    for input in input::find(paths, &limits)? {
        let (mut decoder, mut decoded) = (NativeDecoder::default(), DecodedEvents::default());
        for chunk in input.chunks(&limits)? {
            chunk.decode(None, &mut decoder, &mut decoded);
        }
        decoder.finish(&mut decoded);
        faults.append(&mut decoded.faults);
        for (number, event) in decoded.events.iter().enumerate() {
            let labelled = LabelledAnswer::from_event(event, number as u64);
            sample.extend(labelled.map_err(|error| anyhow::anyhow!("{error}"))?);
        }
    }
    if !faults.is_empty() {
        complain(&faults);
        let places = if faults.len() == 1 { "1 place".to_owned() } else { format!("{} places", faults.len()) };
        bail!(
            "{places} of the sample could not be read\nhint: correct or remove what is listed, so that the sample is whole"
        );
    }
    Ok(sample)
}

/// Returns the labeler that was asked for, or the only one of the sample.
fn choose_labeler(wanted: Option<&str>, sample: &[LabelledAnswer]) -> anyhow::Result<String> {
    let labelers: BTreeSet<&str> = sample.iter().filter_map(|it| it.answer.by.as_deref()).collect();
    let unnamed = sample.iter().filter(|it| it.answer.by.is_none()).count();
    if unnamed > 0 {
        complaint::say(&format!("note: {unnamed} answers name no labeler in `by`; they do not count"));
    }
    let list = || labelers.iter().copied().collect::<Vec<_>>().join(", ");
    match (wanted, labelers.iter().next()) {
        (_, None) => bail!(
            "the sample has no answer with a labeler and a known truth\n  hint: an event needs \
             \"answers\":[{{\"fact\":\"threatens\",\"says\":\"yes\",\"by\":\"small@7f3a\"}}] and \
             \"truth\":{{\"threatens\":true}}"
        ),
        (Some(wanted), _) if labelers.contains(wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => bail!("the sample has no answer of `{wanted}`\n  hint: it has answers of {}", list()),
        (None, Some(only)) if labelers.len() == 1 => Ok((*only).to_owned()),
        (None, _) => bail!("the sample has answers of several labelers: {}\n  hint: choose one with --labeler", list()),
    }
}

fn print_result(calibration: &Calibration, sample: &[LabelledAnswer], out: &mut dyn Write) -> anyhow::Result<()> {
    let sessions: BTreeSet<&str> = sample.iter().map(|it| it.session.as_str()).collect();
    writeln!(
        out,
        "labeler {}: {} answers, {} sessions",
        calibration.labeler(),
        calibration.examples(),
        sessions.len()
    )?;
    for (fact, check) in calibration.facts() {
        print_check(fact, check, out)?;
        let pooled = calibration.strata(fact).filter(|(_, _, is_enough)| !is_enough);
        let pooled: Vec<String> = pooled.map(|(stratum, count, _)| format!("{stratum} ({count})")).collect();
        if !pooled.is_empty() {
            writeln!(out, "  too few examples, chances of all kinds and tools together: {}", pooled.join(", "))?;
        }
        writeln!(out)?;
    }
    for (fact, shortage) in calibration.too_few() {
        let examples = shortage.examples();
        writeln!(out, "{fact}: no chance: {examples} examples are too few; {shortage}\n")?;
    }
    for pair in calibration.correlations() {
        let (first, second, phi, events) = (&pair.first, &pair.second, pair.phi, pair.events);
        let meaning = if pair.is_independent() { "independent" } else { "they err together: not independent" };
        writeln!(out, "errors of {first} and {second}: phi {phi:.2} over {events} events, {meaning}")?;
    }
    Ok(())
}

fn print_check(fact: &str, check: &FactCheck, out: &mut dyn Write) -> anyhow::Result<()> {
    let passed = if check.passed { "passed" } else { "did not pass: no chance" };
    writeln!(out, "\n{fact}: {passed}, checked on {} answers", check.examples)?;
    writeln!(out, "  mean chance {:.4}, rate {:.4}", check.mean_chance(), check.rate())?;
    writeln!(
        out,
        "  Brier {:.4} (raw {:.4})   ECE {:.4} (raw {:.4})   log loss {:.4} (raw {:.4})",
        check.brier, check.raw_brier, check.ece, check.raw_ece, check.log_loss, check.raw_log_loss
    )?;
    write!(out, "{}", check.to_table())?;
    Ok(())
}
