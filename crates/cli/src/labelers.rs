//! Opens the labelers of a policy, and the file with their answers.

use std::fs::OpenOptions as FileOptions;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use lictor::audit::AnswerBook;
use lictor::policy::Policy;
use lictor_label::open::{OpenOptions, OpenedLabelers, open_labelers};

use crate::args::AnswerArgs;
use crate::{complaint, policies};

/// The answers of an audit, and those who are asked for missing ones.
pub(crate) struct AuditAnswers {
    pub(crate) book: Arc<AnswerBook>,
    opened: OpenedLabelers,
}

impl AuditAnswers {
    /// Opens the labelers of a policy and reads the file with answers; none if there is neither.
    pub(crate) fn open(args: &AnswerArgs, policy: &Policy) -> anyhow::Result<Option<AuditAnswers>> {
        if policy.labelers.is_empty() && args.answers.is_none() {
            return Ok(None);
        }
        let options = OpenOptions::default();
        let options = if std::io::stdin().is_terminal() { options.person() } else { options };
        let mut opened = open_with(policy, &options)?;
        if args.no_ask {
            opened.labelers = opened.labelers.without_asking();
        }
        let mut book = AnswerBook::new(opened.labelers.clone());
        if let Some(path) = args.answers.as_deref().filter(|path| path.exists()) {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            book.read(&text).with_context(|| format!("{}", path.display()))?;
        }
        Ok(Some(AuditAnswers { book: Arc::new(book), opened }))
    }

    /// Adds new answers to the file, and says what was asked.
    pub(crate) fn save(&self, path: Option<&Path>, is_quiet: bool) -> anyhow::Result<()> {
        let asked = self.book.asked_events();
        if let Some(path) = path.filter(|_| asked > 0) {
            let file = FileOptions::new().create(true).append(true).open(path);
            let added = file.and_then(|mut file| file.write_all(self.book.write_asked().as_bytes()));
            added.with_context(|| format!("cannot write {}", path.display()))?;
        }
        if is_quiet {
            return Ok(());
        }
        if asked > 0 {
            complaint::note(&format!("labelers were asked about {asked} events"));
        }
        for (name, counts) in self.opened.counts() {
            let failures: Vec<String> =
                counts.failures().map(|(why, count)| format!("{count} {}", why.name())).collect();
            if !failures.is_empty() {
                let failures = failures.join(", ");
                complaint::warn(&format!("{name}: questions without an answer, which count as unknown: {failures}"));
            }
        }
        Ok(())
    }
}

/// Opens the labelers of a policy for events as they happen.
pub(crate) fn open_live(policy: &Policy) -> anyhow::Result<OpenedLabelers> {
    open_with(policy, &OpenOptions::default().live())
}

fn open_with(policy: &Policy, options: &OpenOptions) -> anyhow::Result<OpenedLabelers> {
    open_labelers(policy, options).map_err(|problems| policies::unusable(&problems))
}
