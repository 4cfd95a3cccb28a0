//! `lictor label`: asks the labelers of a policy about the events of logs.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, ensure};
use lictor::audit::{AuditOptions, sessions};
use lictor::event::{AnswerValue, Event};
use lictor::judge::Judge;
use lictor::policy::LabelerSource;

use crate::args::{AnswerArgs, LabelArgs};
use crate::commands::audit;
use crate::exit::Outcome;
use crate::labelers;
use crate::{complaint, ledger_log, policies};

/// How often each fact was answered yes, no, unclear, and not at all.
type AnswerCounts = BTreeMap<String, [usize; 4]>;

/// Asks, and prints how often each fact was answered how.
pub(crate) fn run(args: &LabelArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.policy.as_deref(), &[])?;
    ensure!(
        policy.labelers.iter().any(|labeler| labeler.source != LabelerSource::Log),
        "the policy {} declares no labeler that could be asked\nhint: see `labelers:` in docs/reference/policy.md",
        policy.name
    );
    let opened = labelers::open_for_logs(&AnswerArgs { answers: args.answers.clone(), no_ask: false }, &policy)?;
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    let options = AuditOptions::default()
        .format(args.input_format.as_deref().map(audit::format).transpose()?)
        .session_key(args.session_key.as_deref().map(Into::into));
    let inputs = ledger_log::find_inputs(&args.traces, options.input_limits())?;
    let sessions = sessions(&inputs, &options).inspect_err(audit::complain_without_events)?;
    let mut output = match &args.output {
        Some(path) => {
            // A log that is read must not be the one that is written.
            let file = File::create_new(path).with_context(|| format!("cannot create {}", path.display()))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let mut counts = AnswerCounts::new();
    let window = judge.question_window();
    for (name, events) in sessions {
        let (mut state, mut recent) = (judge.start(), VecDeque::<Event>::new());
        for mut event in events {
            let questions = match args.all {
                true => judge.all_questions(&state, &event)?,
                false => judge.questions(&state, &event)?,
            };
            let given = event.answers.len();
            opened.labelers.answer("", &mut event, recent.make_contiguous(), &questions);
            for answer in &event.answers[given..] {
                let place = match answer.says {
                    AnswerValue::Yes => 0,
                    AnswerValue::No => 1,
                    AnswerValue::Unclear => 2,
                    AnswerValue::Failed => 3,
                };
                counts.entry(answer.fact.to_string()).or_default()[place] += 1;
            }
            judge.advance(&mut state, &event)?;
            if let Some(output) = &mut output {
                event.session.get_or_insert_with(|| name.clone());
                writeln!(output, "{}", event.to_json())?;
            }
            recent.push_back(event);
            if recent.len() > window {
                recent.pop_front();
            }
        }
    }
    output.map(|mut output| output.flush()).transpose()?;
    labelers::warn_of_failures(&opened);
    write_counts(&counts, out)?;
    let is_whole = counts.values().all(|[.., failed]| *failed == 0);
    Ok(if is_whole { Outcome::Compliant } else { Outcome::Unjudged })
}

fn write_counts(counts: &AnswerCounts, out: &mut dyn Write) -> anyhow::Result<()> {
    for (fact, [yes, no, unclear, failed]) in counts {
        writeln!(out, "{fact}: {yes} yes, {no} no, {unclear} unclear, {failed} failed")?;
    }
    if counts.is_empty() {
        complaint::note("nobody was asked: no question was open, or nobody is there who could be asked");
    }
    Ok(())
}
