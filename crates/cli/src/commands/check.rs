//! `lictor check`: analyzes formulas, and each pair of them, before any trace.

use std::io::Write;
use std::path::Path;

use anyhow::{anyhow, bail};
use lictor_logic::{After, Analysis, Arena, Facts, Moment, Spelling, relate, vacuity};

use crate::args::{CheckArgs, Document};
use crate::commands::check_policy;
use crate::complaint;
use crate::exit::Outcome;
use crate::formulas::{self, ListedFormula};
use crate::policies;
use crate::render::check::{self, FormulaCheck, FormulaPair};
use crate::trace::{SHAPES, Trace, TraceLine};

/// Checks every formula and every pair.
pub(crate) fn run(args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if args.given.is_empty() && args.formulas.is_none() {
        if !Path::new(policies::DEFAULT_FILE).is_file() {
            bail!("there is no ./{} to check; name a policy, or write a formula", policies::DEFAULT_FILE);
        }
        return check_policy::run(policies::DEFAULT_FILE, &[], args, out);
    }
    if let Some((policy, logs)) = args.given.split_first().filter(|(first, _)| check_policy::is_policy(first)) {
        return check_policy::run(policy, logs, args, out);
    }
    args.given.iter().try_for_each(|given| refuse_path(given))?;
    let listed = match &args.formulas {
        Some(path) => formulas::from_file(path, After::Latch)?,
        None => formulas::from_arguments(&args.given, After::Latch)?,
    };
    let spelling = args.spelling.get();
    let trace = args.trace.as_deref().map(read_positions).transpose()?;
    let checked = listed
        .iter()
        .map(|listed| examine(listed, trace.as_ref().map(|(trace, _)| &trace[..]), spelling))
        .collect::<anyhow::Result<Vec<FormulaCheck>>>()?;
    let pairs = pairs(&listed, &checked);
    match args.format {
        Document::Text => check::write_text(out, &checked, &pairs)?,
        Document::Json => check::write_json(out, &checked, &pairs)?,
    }
    let unsatisfiable = checked.iter().any(|checked| !checked.class.satisfiable);
    let conflict = pairs.iter().any(|pair| pair.relation.as_ref().is_ok_and(|relation| relation.contradict));
    let found = if unsatisfiable || conflict { Outcome::Findings } else { Outcome::Compliant };
    Ok(found.max(trace.map_or(Outcome::Compliant, |(_, outcome)| outcome)))
}

/// Returns an error if a folder is given as a formula, and notes that a word which may be a file's name is none.
fn refuse_path(given: &str) -> anyhow::Result<()> {
    if Path::new(given).is_dir() {
        bail!("`{given}` is a folder; name a policy file, or write the fact `{given}` as `({given})`");
    }
    if given.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.')) {
        complaint::note(&format!("{given}: no such file; read as a formula"));
    }
    Ok(())
}

fn examine(listed: &ListedFormula, trace: Option<&[Facts]>, spelling: Spelling) -> anyhow::Result<FormulaCheck> {
    let ListedFormula { number, place, arena, formula, .. } = listed;
    let mut analysis = Analysis::new(arena, *formula).map_err(|error| anyhow!("{error}"))?;
    let vacuous = trace.map(|trace| {
        let atoms = vacuity(arena, *formula, trace);
        atoms.into_iter().map(|atom| arena.show(atom, spelling).to_string()).collect()
    });
    Ok(FormulaCheck {
        number: *number,
        place: place.clone(),
        text: listed.show(spelling),
        class: analysis.class(),
        satisfying: analysis.satisfying(),
        violating: analysis.violating(),
        vacuous,
    })
}

/// Compares each pair of formulas. Unsatisfiable and valid ones are left out, because they are trivially related.
fn pairs(listed: &[ListedFormula], checked: &[FormulaCheck]) -> Vec<FormulaPair> {
    let is_open = |index: usize| checked.get(index).is_some_and(|it| it.class.satisfiable && !it.class.valid);
    let mut pairs = Vec::new();
    for (left, first) in listed.iter().enumerate().filter(|(index, _)| is_open(*index)) {
        for (right, second) in listed.iter().enumerate().skip(left + 1).filter(|(index, _)| is_open(*index)) {
            let mut arena = Arena::new();
            let f = arena.copy(&first.arena, first.formula);
            let g = arena.copy(&second.arena, second.formula);
            pairs.push(FormulaPair { left: left + 1, right: right + 1, relation: relate(&arena, f, g) });
        }
    }
    pairs
}

/// Reads the positions of a trace; the outcome says whether all of it could be read.
fn read_positions(path: &str) -> anyhow::Result<(Vec<Facts>, Outcome)> {
    let mut trace = Trace::open(path)?;
    let mut positions = Vec::new();
    let mut outcome = Outcome::Compliant;
    while let Some(line) = trace.next()? {
        match line {
            TraceLine::Entry(entry) => {
                if let Moment::Position(facts) = entry.moment {
                    positions.push(facts);
                }
            }
            TraceLine::Bad(complaints) => {
                outcome = Outcome::Unjudged;
                complaints.iter().for_each(|it| complaint::say(&it.to_string()));
            }
        }
    }
    if positions.is_empty() {
        bail!("no step in {path}, so nothing was checked\n  hint: {SHAPES}");
    }
    Ok((positions, outcome))
}
