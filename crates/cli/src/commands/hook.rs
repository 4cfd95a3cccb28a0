//! `lictor hook`: answers one question of a coding agent.
//!
//! All of the work is done by a thread of its own, and the answer of the process is *no* if that thread panics, or does
//! not come to an end in time. To make ready a policy and to open a ledger takes longer than a call may; so the first
//! call leaves a [`keeper`] behind, which has both open. Whatever is wrong with it, the call does the work itself.

#[cfg(unix)]
mod keeper;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use anyhow::Context;
use lictor::decode::Fault;
use lictor_hook::{HookCall, HookClient, HookOptions, HookReply, answer, refusal, settings};
use lictor_warden::{RefusedInput, Warden};

use crate::args::{ClientArg, DEADLINE, HookArgs, WardenArgs};
use crate::complaint;
use crate::exit::Outcome;
use crate::policies;
use crate::wardens::{self, now};

/// The most that is read of a question.
const MOST_BYTES: u64 = 64 << 20;

/// The name of the ledger.
const ORIGIN: &str = "lictor.local/hook";

/// How many sessions a keeper holds in memory.
const SESSIONS: usize = 100;

/// How often the keeper is asked while somebody else is writing the ledger.
const ATTEMPTS: u32 = 50;

/// In which folder Claude Code says that the project is, whatever folder it works in at the moment.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Answers the question on standard input.
pub(crate) fn run(args: &HookArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let client = match args.client {
        ClientArg::Claude => HookClient::Claude,
        ClientArg::Codex => HookClient::Codex,
    };
    if args.settings {
        if let Some(policy) = &args.policy {
            policies::load(Some(policy), &[])?;
        }
        writeln!(out, "{}", settings(client, &command(client, args)?, args.deadline))?;
        return Ok(Outcome::Compliant);
    }
    if args.keep {
        return keep(client, args);
    }
    let asked: Arc<Mutex<Option<HookCall>>> = Arc::default();
    let (sender, receiver) = mpsc::channel();
    let work = Work { client, asked: Arc::clone(&asked), settings: Settings::of(args) };
    let _worker = std::thread::Builder::new().name("hook".into()).spawn(move || sender.send(work.run()))?;
    let deadline = Duration::from_secs(args.deadline.into());
    let reply = match receiver.recv_timeout(deadline) {
        Ok(Ok((reply, wants_keeper))) => {
            let outcome = say(&reply, out)?;
            if wants_keeper {
                start_keeper(args);
            }
            return Ok(outcome);
        }
        failure => {
            let reason = match failure {
                Ok(Err(error)) => format!("{error:#}"),
                Err(mpsc::RecvTimeoutError::Timeout) => format!("there was no decision within {} s", args.deadline),
                _ => "the decision broke off; this is a mistake in lictor".to_owned(),
            };
            let call = asked.lock().unwrap_or_else(PoisonError::into_inner);
            refusal(client, call.as_ref(), &format!("lictor could not decide: {reason}"))
        }
    };
    say(&reply, out)
}

/// Prints a reply. What cannot be printed is a *no*.
fn say(reply: &HookReply, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    out.write_all(reply.output.as_bytes()).and_then(|()| out.flush()).context("cannot write the answer")?;
    if !reply.complaint.is_empty() {
        complaint::say(reply.complaint.trim_end());
    }
    Ok(if reply.exit == 0 { Outcome::Compliant } else { Outcome::Unjudged })
}

/// Keeps a warden open for the calls to come.
fn keep(client: HookClient, args: &HookArgs) -> anyhow::Result<Outcome> {
    #[cfg(unix)]
    {
        let project = args.project.clone().context("a keeper needs --project")?;
        let work = Work { client, asked: Arc::default(), settings: Settings::of(args) };
        keeper::run(&work.place(&project), Duration::from_secs(args.deadline.into()))?;
    }
    Ok(Outcome::Compliant)
}

/// Leaves a keeper behind. Without one the next call is slower, and that is all.
fn start_keeper(args: &HookArgs) {
    #[cfg(unix)]
    keeper::start(args);
}

/// What a question is answered by.
#[derive(Debug)]
struct Settings {
    project: Option<PathBuf>,
    policy: Option<String>,
    state: Option<PathBuf>,
    keep_content: bool,
    rewrites: bool,
    has_keeper: bool,
    patience: Duration,
}

impl Settings {
    fn of(args: &HookArgs) -> Settings {
        Settings {
            project: args.project.clone(),
            policy: args.policy.clone(),
            state: args.state.clone(),
            keep_content: args.keep_content,
            rewrites: args.rewrites,
            has_keeper: !args.no_keeper && args.project.is_some(),
            // Others may be writing the ledger; whoever waits too long is answered before the deadline.
            patience: Duration::from_secs(u64::from(args.deadline)) / 2,
        }
    }
}

/// A question, from its bytes to the reply.
struct Work {
    client: HookClient,
    asked: Arc<Mutex<Option<HookCall>>>,
    settings: Settings,
}

impl Work {
    /// The reply, and whether a keeper would have been quicker.
    fn run(&self) -> anyhow::Result<(HookReply, bool)> {
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().lock().take(MOST_BYTES);
        input.read_to_end(&mut bytes).context("cannot read standard input")?;
        let read = HookCall::read(self.client, &bytes);
        if let Ok(call) = &read {
            *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(call.clone());
        }
        let works_in = read.as_ref().ok().and_then(HookCall::folder).unwrap_or(".").to_owned();
        if let Some(project) = self.settings.project.as_ref().filter(|project| !project.is_dir()) {
            anyhow::bail!("{}: there is no such project", project.display());
        }
        let options = HookOptions { rewrites: self.settings.rewrites };
        let place = self.place(Path::new(&works_in));
        let attempts = if self.settings.has_keeper { ATTEMPTS } else { 1 };
        let mut attempt = 0;
        let mut warden = loop {
            #[cfg(unix)]
            if self.settings.has_keeper
                && let Some(reply) = keeper::ask(&place, self.client, options, &bytes)
            {
                return Ok((reply, false));
            }
            attempt += 1;
            // Whoever has the ledger may be a keeper that does not listen yet: it is asked again.
            match place.open(self.settings.patience / attempts) {
                Err(error) if attempt < attempts && is_locked(&error) => {}
                opened => break opened?,
            }
        };
        let reply = decided(self.client, options, read, &bytes, &mut warden)?;
        warden.close()?;
        Ok((reply, self.settings.has_keeper))
    }

    /// Where the policy, the sessions and the ledger are. The folder in which the model works at the moment counts only
    /// if nobody says which one the project is: the model can go elsewhere.
    fn place(&self, works_in: &Path) -> Place {
        let named = std::env::var_os(PROJECT).filter(|_| self.client == HookClient::Claude).map(PathBuf::from);
        let project = self.settings.project.clone().or(named).unwrap_or_else(|| works_in.to_owned());
        let kept = self.settings.state.clone().unwrap_or_else(|| project.join(".lictor"));
        let warden = WardenArgs {
            state: Some(kept.join("state").display().to_string()),
            log: Some(kept.join("log")),
            origin: ORIGIN.to_owned(),
            keep_content: self.settings.keep_content,
            sessions: SESSIONS,
            patience: 3600,
            idle: None,
            skew: None,
            // The model may be able to write the file that its policy is in.
            keeps_policy: true,
            show_content: false,
        };
        let policy = self.settings.policy.clone().unwrap_or_else(|| policies::of_folder(&project));
        Place { policy, state: kept.join("state"), warden }
    }
}

/// Where the policy, the sessions and the ledger of a project are.
struct Place {
    policy: String,
    state: PathBuf,
    warden: WardenArgs,
}

impl Place {
    fn open(&self, patience: Duration) -> anyhow::Result<Warden> {
        wardens::open(&self.warden, &policies::load(Some(&self.policy), &[])?, patience)
    }
}

/// Whether somebody else is writing the ledger.
fn is_locked(error: &anyhow::Error) -> bool {
    error.downcast_ref::<lictor_ledger::LedgerError>().is_some_and(lictor_ledger::LedgerError::is_locked)
}

/// The reply to a question, decided and written down.
fn decided(
    client: HookClient,
    options: HookOptions,
    read: Result<HookCall, Fault>,
    bytes: &[u8],
    warden: &mut Warden,
) -> anyhow::Result<HookReply> {
    match read {
        Ok(call) => Ok(answer(client, options, &call, warden, now())?),
        Err(fault) => {
            warden.refuse(&RefusedInput::new(fault.code, bytes), Some(now()))?;
            let reason = format!("lictor could not decide: {}: {}", fault.code, fault.message);
            Ok(refusal(client, None, &reason))
        }
    }
}

/// The command that the settings of the client name: this program, with these arguments, and folders that do not depend
/// on where the model works.
fn command(client: HookClient, args: &HookArgs) -> anyhow::Result<String> {
    let absolute = |path: &Path| -> anyhow::Result<String> {
        let path = std::path::absolute(path).with_context(|| format!("{}: no such folder", path.display()))?;
        Ok(quoted(&path.display().to_string()))
    };
    let mut words = vec!["lictor".to_owned(), "hook".to_owned(), client.name().to_owned()];
    match (&args.project, client) {
        (Some(project), _) => words.extend(["--project".to_owned(), absolute(project)?]),
        (None, HookClient::Claude) => words.extend(["--project".to_owned(), format!("\"${PROJECT}\"")]),
        (None, HookClient::Codex) => words.extend(["--project".to_owned(), absolute(Path::new("."))?]),
    }
    if let Some(policy) = &args.policy {
        let file = Path::new(policy);
        words.extend(["--policy".to_owned(), if file.is_file() { absolute(file)? } else { quoted(policy) }]);
    }
    if let Some(state) = &args.state {
        words.extend(["--state".to_owned(), absolute(state)?]);
    }
    words.extend(args.keep_content.then(|| "--keep-content".to_owned()));
    words.extend(args.rewrites.then(|| "--rewrites".to_owned()));
    words.extend(args.no_keeper.then(|| "--no-keeper".to_owned()));
    if args.deadline != DEADLINE {
        words.extend(["--deadline".to_owned(), args.deadline.to_string()]);
    }
    Ok(words.join(" "))
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
