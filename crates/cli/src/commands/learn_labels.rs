//! `lictor learn labels`: fits a labeler to labelled logs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::{Context, bail};
use lictor::audit::SessionEvents;
use lictor::event::{Answer, AnswerValue, Event};
use lictor::json::Text;
use lictor::judge::Judge;
use lictor::policy::Policy;
use lictor_label::learnt::{FactEvaluation, LabelExample, LabelModel, LearnOptions, collect_text, evaluate_held_out};

use crate::args::LearnLabelsArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::log_sessions::read_sessions;
use crate::policies;

/// Fits a labeler, and prints how well it tells the facts of sessions that were held out.
pub(crate) fn run(args: &LearnLabelsArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (mut sessions, reading) = read_sessions(&args.traces, &args.reading)?;
    let policy = args.policy.as_deref().map(|name| policies::load(Some(name), &[])).transpose()?;
    if let Some(policy) = &policy {
        leave_out_uncounted(policy, &mut sessions)?;
    }
    let facts = choose_facts(args, policy.as_ref(), &sessions)?;
    let examples = collect_examples(&sessions, &facts);
    let stem = args.output.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().or(stem).filter(|name| !name.is_empty()).unwrap_or_else(|| "labels".to_owned());
    let mut options = LearnOptions::new(name);
    // Where a log lies on this machine says nothing about the model.
    let name_file = |trace: &String| match std::path::Path::new(trace).file_name() {
        Some(name) => Text::new(name.to_string_lossy()),
        None => Text::new(trace),
    };
    options.sources = args.traces.iter().map(name_file).take(100).collect();
    let model = LabelModel::train(&examples, &options)?;
    match evaluate_held_out(&examples, &options, args.held_out / 100.0) {
        Ok(evaluations) => write_table(&evaluations, out)?,
        Err(error) => complaint::note(&format!("no table of held-out sessions: {error}")),
    }
    let path = &args.output;
    std::fs::write(path, model.to_text()).with_context(|| format!("cannot write {}", path.display()))?;
    let facts = model.facts().count();
    let noun = if facts == 1 { "fact" } else { "facts" };
    writeln!(out, "wrote {}: {facts} {noun}, learnt from {} events", path.display(), examples.len())?;
    Ok(reading)
}

/// Removes the answers that the policy does not count: where it does not ask, or by another than it asks. Their facts are
/// unclear there unless something else is said of them: they must not pass for facts that do not hold.
fn leave_out_uncounted(policy: &Policy, sessions: &mut [SessionEvents]) -> anyhow::Result<()> {
    let mut judge = Judge::new(policy).map_err(|problems| policies::unusable(&problems))?;
    let mut left_out = 0;
    for (_, events) in sessions {
        let mut state = judge.start();
        for event in events {
            let (mut counted, mut others) = (Vec::new(), Vec::new());
            for answer in &event.answers {
                let list = if judge.takes_answer(&state, event, answer)? { &mut counted } else { &mut others };
                list.push(answer.clone());
            }
            left_out += others.len();
            event.answers = counted;
            let known = collect_labels(event);
            others.retain(|answer| !known.contains_key(answer.fact.to_string().as_str()));
            event.answers.extend(others.into_iter().map(|answer| Answer::new(answer.fact, AnswerValue::Unclear)));
            judge.advance(&mut state, event)?;
        }
    }
    if left_out > 0 {
        complaint::note(&format!(
            "{left_out} answers do not count: the policy does not ask for their facts at these events, or asks another labeler"
        ));
    }
    Ok(())
}

/// Returns the facts that an event names, with whether they hold; nothing if it says both or is unclear.
fn collect_labels(event: &Event) -> BTreeMap<Text, Option<bool>> {
    let mut labels: BTreeMap<Text, Option<bool>> = BTreeMap::new();
    let mut note = |fact: Text, holds: Option<bool>| {
        labels.entry(fact).and_modify(|known| *known = known.filter(|known| Some(*known) == holds)).or_insert(holds);
    };
    for label in &event.labels {
        match label.strip_prefix('!') {
            Some(denied) => note(denied.into(), Some(false)),
            None => note(label.clone(), Some(true)),
        }
    }
    event.facts.iter().for_each(|fact| note(Text::from(fact.to_string()), Some(true)));
    for answer in &event.answers {
        let holds = match answer.says {
            AnswerValue::Yes => Some(true),
            AnswerValue::No => Some(false),
            AnswerValue::Unclear | AnswerValue::Failed => None,
        };
        note(Text::from(answer.fact.to_string()), holds);
    }
    labels
}

/// Returns the facts to learn: those that were named, or those of the policy, or all that the logs label.
fn choose_facts(
    args: &LearnLabelsArgs,
    policy: Option<&Policy>,
    sessions: &[SessionEvents],
) -> anyhow::Result<BTreeSet<Text>> {
    let events = sessions.iter().flat_map(|(_, events)| events);
    let known: BTreeSet<Text> = events.flat_map(|event| collect_labels(event).into_keys()).collect();
    if known.is_empty() {
        bail!(
            "no event of the logs has labels, facts or answers\nhint: put them under `labels` on the events: {{\"labels\":[\"angry\"]}}"
        );
    }
    let mut facts: BTreeSet<Text> = args.fact.iter().map(Text::from).collect();
    if let Some(missing) = facts.iter().find(|fact| !known.contains(*fact)) {
        let known: Vec<&str> = known.iter().map(Text::as_str).take(20).collect();
        bail!("no event of the logs is labelled with `{missing}`\nhint: labelled are: {}", known.join(", "));
    }
    if let Some(policy) = policy {
        let asked: BTreeSet<_> = policy.properties.iter().flat_map(|property| property.fact_names()).collect();
        facts.extend(known.iter().filter(|fact| asked.contains(fact.as_str())).cloned());
        if facts.is_empty() {
            bail!(
                "the logs label no fact that the properties of `{}` mention\nhint: name facts with --fact",
                policy.name
            );
        }
    }
    Ok(if facts.is_empty() { known } else { facts })
}

/// Returns the events with text, each with what is known of the facts.
fn collect_examples(sessions: &[SessionEvents], facts: &BTreeSet<Text>) -> Vec<LabelExample> {
    // A fact that nothing says of an event does not hold there, if it holds at other events of that kind and tool.
    let mut held: BTreeSet<(Text, &str, Option<&str>)> = BTreeSet::new();
    for event in sessions.iter().flat_map(|(_, events)| events) {
        for (fact, holds) in collect_labels(event) {
            if holds == Some(true) {
                held.insert((fact, event.judged_kind().name(), event.tool.as_deref()));
            }
        }
    }
    let mut examples = Vec::new();
    for (session, events) in sessions {
        for event in events {
            let known = collect_labels(event);
            let (kind, tool) = (event.judged_kind().name(), event.tool.as_deref());
            let labels = facts.iter().filter_map(|fact| match known.get(fact) {
                Some(holds) => holds.map(|holds| (fact.clone(), holds)),
                None => held.contains(&(fact.clone(), kind, tool)).then(|| (fact.clone(), false)),
            });
            let labels: Vec<(Text, bool)> = labels.collect();
            let text = collect_text(event).into_owned();
            if !labels.is_empty() && !text.trim().is_empty() {
                examples.push(LabelExample { text, group: session.to_string(), weight: 1.0, labels });
            }
        }
    }
    examples
}

/// Writes the accuracy of each fact beside that of labelers that always say the same.
fn write_table(evaluations: &[FactEvaluation], out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "on held-out sessions:")?;
    let width = evaluations.iter().map(|it| it.fact.chars().count()).max().unwrap_or_default().max(12);
    writeln!(out, "{:width$} {:>7} {:>9} {:>9} {:>6} {:>6}", "fact", "events", "positive", "accuracy", "F1", "AUC")?;
    for evaluation in evaluations {
        let auc = evaluation.auc.map_or_else(|| "-".to_owned(), |auc| format!("{auc:.3}"));
        let accuracy = evaluation.right.value().unwrap_or_default();
        let (events, positives) = (evaluation.texts, evaluation.positives);
        let row = |out: &mut dyn Write, name: &str, accuracy: f64, f1: f64, auc: &str| {
            writeln!(out, "{name:width$} {events:>7} {positives:>9} {accuracy:>9.3} {f1:>6.3} {auc:>6}")
        };
        row(out, &evaluation.fact, accuracy, evaluation.f1(), &auc)?;
        let (accuracy, f1) = evaluation.all_false();
        row(out, "  all false", accuracy, f1, "-")?;
        let (accuracy, f1) = evaluation.all_true();
        row(out, "  all true", accuracy, f1, "-")?;
    }
    Ok(())
}
