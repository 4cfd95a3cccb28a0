//! `lictor label`: asks the labelers of a policy about the events of logs.
//!
//! An answer that a log brings, such as the output of an earlier run, counts if it is the same labeler's, of the same version,
//! to the same question. Any other is left out, and its question is open.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, ensure};
use lictor::event::labeler::Question;
use lictor::event::{Answer, AnswerValue, Event};
use lictor::judge::Judge;
use lictor::policy::LabelerSource;
use lictor_label::logged::{find_version, leave_out_foreign};

use crate::args::{AnswerArgs, LabelArgs};
use crate::exit::Outcome;
use crate::labelers;
use crate::log_sessions::read_sessions;
use crate::{complaint, policies};

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
    let (sessions, reading) = read_sessions(&args.traces, &args.reading)?;
    let mut output = match &args.output {
        Some(path) => {
            // A log that is read must not be the one that is written.
            let file = File::create_new(path).with_context(|| format!("cannot create {}", path.display()))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let mut counts = AnswerCounts::new();
    let (mut kept, mut left_out) = (0, 0);
    let window = judge.question_window();
    let policy_questions: Vec<Question> = judge.policy_questions().cloned().collect();
    for (name, events) in sessions {
        let (mut state, mut recent) = (judge.start(), VecDeque::<Event>::new());
        for mut event in events {
            left_out += leave_out_foreign(&opened.labelers, &policy_questions, &mut event, recent.make_contiguous());
            let is_asked = |answer: &&Answer| find_version(&opened.labelers, answer).is_some();
            for answer in event.answers.iter().filter(is_asked) {
                kept += 1;
                count_answer(&mut counts, answer);
            }
            let questions = match args.all {
                true => judge.all_questions(&state, &event)?,
                false => judge.questions(&state, &event)?,
            };
            let given = event.answers.len();
            opened.labelers.answer("", &mut event, recent.make_contiguous(), &questions);
            event.answers[given..].iter().for_each(|answer| count_answer(&mut counts, answer));
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
    if kept > 0 {
        complaint::note(&format!(
            "{kept} of these answers were in the logs: the same labeler gave them to the same question"
        ));
    }
    if left_out > 0 {
        complaint::note(&format!(
            "{left_out} answers in the logs do not count: they are to another question, or of another version of the labeler"
        ));
    }
    let all: usize = counts.values().flatten().sum();
    let failed: usize = counts.values().map(|[.., failed]| failed).sum();
    if failed > 0 {
        complaint::warn(&format!("{failed} of {all} questions stayed without an answer"));
    }
    Ok(if failed == 0 { reading } else { Outcome::Unjudged })
}

fn count_answer(counts: &mut AnswerCounts, answer: &Answer) {
    let place = match answer.says {
        AnswerValue::Yes => 0,
        AnswerValue::No => 1,
        AnswerValue::Unclear => 2,
        AnswerValue::Failed => 3,
    };
    counts.entry(answer.fact.to_string()).or_default()[place] += 1;
}

fn write_counts(counts: &AnswerCounts, out: &mut dyn Write) -> anyhow::Result<()> {
    for (fact, [yes, no, unclear, failed]) in counts {
        writeln!(out, "{fact}: {yes} yes, {no} no, {unclear} unclear, {failed} failed")?;
    }
    if counts.is_empty() {
        complaint::note("no labeler was asked: no question was open");
    }
    Ok(())
}
