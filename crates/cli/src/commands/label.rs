//! `lictor label`: asks the labelers of a policy about the events of logs.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::ensure;
use lictor::audit::{AuditOptions, audit as run_audit};
use lictor::event::AnswerValue;
use lictor::judge::Judge;

use crate::args::{AnswerArgs, LabelArgs};
use crate::commands::audit;
use crate::exit::Outcome;
use crate::labelers::AuditAnswers;
use crate::{ledger_log, policies};

/// Asks, and prints how often each fact was answered how.
pub(crate) fn run(args: &LabelArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.policy.as_deref(), &[])?;
    ensure!(
        policy.labelers.iter().any(|labeler| labeler.source != lictor::policy::LabelerSource::Log),
        "the policy {} declares no labeler that could be asked; see `labelers:` in the reference of policies",
        policy.name
    );
    let path = args.answers.clone();
    let answers = AnswerArgs { answers: Some(path.clone()), no_ask: false };
    let Some(answers) = AuditAnswers::open(&answers, &policy)? else { return Ok(Outcome::Compliant) };
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    let options = AuditOptions::default()
        .format(args.input_format.as_deref().map(audit::format).transpose()?)
        .session_key(args.session_key.as_deref().map(Into::into))
        .threads(args.jobs)
        .answers(Some(answers.book.clone()));
    let inputs = ledger_log::find_inputs(&args.traces, options.input_limits())?;
    let result = run_audit(&mut judge, &inputs, &options, &());
    let report = result.inspect_err(audit::complain_without_events);
    // What was answered before something failed is kept.
    answers.save(Some(&path), false)?;
    let report = report?;
    audit::complain(&report.faults);
    let mut counts: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for answer in answers.book.answers() {
        let place = match answer.says {
            AnswerValue::Yes => 0,
            AnswerValue::No => 1,
            AnswerValue::Unclear => 2,
            AnswerValue::Failed => 3,
        };
        counts.entry(answer.fact.to_string()).or_default()[place] += 1;
    }
    for (fact, [yes, no, unclear, failed]) in &counts {
        writeln!(out, "{fact}: {yes} yes, {no} no, {unclear} unclear, {failed} failed")?;
    }
    if counts.is_empty() {
        writeln!(out, "no question was open: nobody was asked")?;
    }
    let is_whole = report.faults.is_empty() && counts.values().all(|[.., failed]| *failed == 0);
    Ok(if is_whole { Outcome::Compliant } else { Outcome::Unjudged })
}
