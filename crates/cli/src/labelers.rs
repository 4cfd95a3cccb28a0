//! Opens the labelers of a policy, and the file with their answers.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use lictor::audit::AnswerBook;
use lictor::event::labeler::Labelers;
use lictor::policy::Policy;
use lictor_gateway::StoredDrift;
use lictor_label::cache::AnswerFile;
use lictor_label::open::{OpenOptions, OpenedLabelers, open_labelers};

use lictor_store::Store;

use crate::args::AnswerArgs;
use crate::{complaint, policies};

/// Opens the labelers of a policy for logs, with the file that keeps their answers. A person is asked at a terminal.
pub(crate) fn open_for_logs(args: &AnswerArgs, policy: &Policy) -> anyhow::Result<OpenedLabelers> {
    let mut options = OpenOptions::default();
    if std::io::stdin().is_terminal() {
        options = options.person();
    }
    if args.no_ask {
        options = options.offline();
    }
    if let Some(path) = &args.answers {
        ensure!(
            !args.no_ask || path.exists(),
            "there are no answers in {}, and no labeler is asked\nhint: `lictor audit --answers FILE` writes one",
            path.display()
        );
        options = options.store(Arc::new(open_file(path)?));
    }
    let mut opened = open_with(policy, &options)?;
    // Without a file of answers nobody can answer offline.
    if args.no_ask && args.answers.is_none() {
        opened.labelers = opened.labelers.without_asking();
    }
    Ok(opened)
}

/// Opens the labelers of a policy for logs, without asking them: only answers in the logs and in the file count.
pub(crate) fn open_without_asking(answers: Option<&Path>, policy: &Policy) -> anyhow::Result<OpenedLabelers> {
    open_for_logs(&AnswerArgs { answers: answers.map(Path::to_path_buf), no_ask: true }, policy)
}

fn open_file(path: &Path) -> anyhow::Result<AnswerFile> {
    let file = AnswerFile::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    ensure!(
        !file.is_foreign(),
        "{} is no file of answers; nothing was written to it\nhint: name another file, which need not exist",
        path.display()
    );
    Ok(file)
}

/// Opens the labelers of a policy for events as they happen. The store keeps the counts of drift.
pub(crate) fn open_live(policy: &Policy, store: &Arc<dyn Store>) -> anyhow::Result<Labelers> {
    let drift = Arc::new(StoredDrift::new(Arc::clone(store)));
    Ok(open_with(policy, &OpenOptions::default().live().drift_store(drift))?.labelers)
}

fn open_with(policy: &Policy, options: &OpenOptions) -> anyhow::Result<OpenedLabelers> {
    open_labelers(policy, options).map_err(|problems| policies::unusable(&problems))
}

/// Says what was asked, and which questions stayed without an answer.
pub(crate) fn note_asked(args: &AnswerArgs, opened: &OpenedLabelers, book: &AnswerBook) {
    let count = book.asked_events();
    let asked = format!("{count} event{}", if count == 1 { "" } else { "s" });
    let is_kept = opened.counts().iter().all(|(_, counts)| counts.asked == 0);
    match count {
        0 => {}
        _ if args.no_ask => complaint::note(&format!("no labeler was asked; {asked} would need answers")),
        _ if is_kept => complaint::note(&format!("no labeler was asked: the answers about {asked} were kept")),
        _ => complaint::note(&format!("labelers were asked about {asked}")),
    }
    warn_of_failures(opened);
}

/// Warns of questions without an answer.
pub(crate) fn warn_of_failures(opened: &OpenedLabelers) {
    for (name, counts) in opened.counts() {
        let mut failures: Vec<String> =
            counts.failures().map(|(why, count)| format!("{count} {}", why.name())).collect();
        if counts.unclear > 0 {
            let replies = [(counts.unread_replies, "cannot be read"), (counts.wrong_controls, "fail the control")];
            let replies = replies.iter().filter(|(count, _)| *count > 0);
            let replies: Vec<String> = replies.map(|(count, what)| format!("{count} replies {what}")).collect();
            let why = if replies.is_empty() { String::new() } else { format!(" ({})", replies.join(", ")) };
            failures.push(format!("{} unclear{why}", counts.unclear));
        }
        if !failures.is_empty() {
            let failures = failures.join(", ");
            complaint::warn(&format!("{name}: questions without an answer, which count as unknown: {failures}"));
        }
    }
}
