//! Checks what a policy says about labelers: who is asked, and where risks come from.

use std::collections::BTreeSet;

use lictor_logic::{BeliefMonitor, Monitor, nearest};

use crate::atoms::collect_atoms;
use crate::draft::PropertyDraft;
use crate::labeler::{FactQuestion, LabelerDefinition};
use crate::merged_draft::MergedDraft;
use crate::policy_reader::{PolicyReader, quote_words};
use crate::problem::Problems;
use crate::property::History;

/// Checks that every labeler that a fact asks is declared, and that every risk rests on a calibration.
pub(super) fn check_labelers(merged: &MergedDraft, problems: &mut Problems) {
    let known: Vec<&str> = merged.labelers.iter().map(|labeler| labeler.name.as_str()).collect();
    let mut reported = BTreeSet::new();
    for fact in &merged.facts {
        for case in &fact.definition.cases {
            let Some(by) = case.ask.as_ref().and_then(|question| question.by.as_deref()) else { continue };
            // A fact that asks about several kinds of events has a case for each.
            if !known.contains(&by) && reported.insert((fact.definition.name.clone(), by)) {
                let hint = match nearest(by, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if known.is_empty() => format!("declare it: `labelers: {{{by}: {{learnt: model.json}}}}`"),
                    None => format!("labelers are {}", quote_words(&known)),
                };
                let message = format!("`{}` asks `{by}`, which is no labeler", fact.definition.name);
                let place = &case.place;
                problems.add(crate::Problem::new(place, "policy.unknown-labeler", message).with_hint(hint));
            }
        }
    }
    for draft in merged.properties.iter().filter(|draft| draft.property.risk.is_some()) {
        check_risk(draft, merged, problems);
    }
}

/// Checks that a property with a risk asks for facts whose chances can be known.
fn check_risk(draft: &PropertyDraft, merged: &MergedDraft, problems: &mut Problems) {
    let Some((arena, formula)) = &draft.formula else { return };
    let id = &draft.property.id;
    let mut report = |message: String, hint: &str| {
        PolicyReader::new(&draft.source, problems).report_error(
            draft.id.clone(),
            "policy.risk",
            message,
            Some(hint.to_owned()),
        );
    };
    if draft.property.history != History::Session {
        report(
            format!("`{id}` has a risk and is judged across sessions"),
            "risks are known within one session: leave out `history`, or `risk`",
        );
    }
    let monitor = Monitor::with_after(arena, *formula, draft.property.after);
    if let Some(error) = monitor.ok().and_then(|monitor| BeliefMonitor::new(monitor).err()) {
        report(format!("`{id}` cannot have a risk: {error}"), "leave out `risk`");
    }
    let names: BTreeSet<_> = collect_atoms(arena, *formula).into_iter().map(|atom| atom.name).collect();
    let mut asked = names.iter().flat_map(|name| find_questions(merged, name)).peekable();
    if asked.peek().is_none() {
        report(
            format!("`{id}` has a risk, but nothing in its formula is asked of a labeler"),
            "only answers of labelers are uncertain: leave out `risk`",
        );
    }
    for (name, question) in asked {
        let labeler = question.by.as_ref().and_then(|by| find_labeler(merged, by));
        match labeler {
            Some(labeler) if labeler.calibration.is_some() => {}
            Some(labeler) => report(
                format!("`{id}` has a risk, and the answers of `{}` to `{name}` are not calibrated", labeler.name),
                "fit a calibration with `lictor learn calibration` and name it: `calibration: FILE`",
            ),
            // An unknown labeler is reported with the fact.
            None if question.by.is_some() => {}
            None => report(
                format!("`{id}` has a risk, and `{name}` is asked of no labeler"),
                "name the labeler: `by: NAME`; if the logs bring its answers, declare it with `log: true`",
            ),
        }
    }
}

fn find_questions<'m>(
    merged: &'m MergedDraft,
    name: &'m str,
) -> impl Iterator<Item = (&'m str, &'m FactQuestion)> + use<'m> {
    let definitions = merged.facts.iter().map(|fact| &fact.definition).filter(move |it| it.name == name);
    definitions.flat_map(|it| &it.cases).filter_map(|case| case.ask.as_ref()).map(move |question| (name, question))
}

fn find_labeler<'m>(merged: &'m MergedDraft, name: &str) -> Option<&'m LabelerDefinition> {
    merged.labelers.iter().find(|labeler| labeler.name == name)
}
