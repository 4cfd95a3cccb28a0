//! `lictor hook`: answers one hook call of a coding agent.
//!
//! A separate thread does the work, and the process denies the call if that thread panics or misses the deadline.
//! Loading a policy and opening a ledger is slow, so the first call starts a [`keeper`], a daemon that has both open.
//! If the keeper fails, the call does the work itself.

#[cfg(unix)]
mod keeper;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use anyhow::Context;
use lictor::decode::Fault;
use lictor_hook::{HookCall, HookClient, HookOptions, HookReply, answer_call, answer_failure, client_settings};
use lictor_warden::{RefusedInput, Warden};

use crate::args::{ClientArg, HOOK_TIMEOUT_SECONDS, HookArgs, WardenArgs};
use crate::complaint;
use crate::exit::Outcome;
use crate::policies;
use crate::wardens::{self, now};

/// The longest input in bytes.
const MAX_INPUT_BYTES: u64 = 64 << 20;

/// The name of the ledger.
const ORIGIN: &str = "lictor.local/hook";

/// How many sessions a keeper holds in memory.
const MAX_KEPT_SESSIONS: usize = 100;

/// How often the keeper is tried while another process has the ledger locked.
const MAX_KEEPER_ATTEMPTS: u32 = 50;

/// The variable in which Claude Code passes the project folder.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Answers the hook call on standard input.
pub(crate) fn run(args: &HookArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let client = match args.client {
        ClientArg::Claude => HookClient::Claude,
        ClientArg::Codex => HookClient::Codex,
    };
    if args.settings {
        if let Some(policy) = &args.policy {
            policies::load(Some(policy), &[])?;
        }
        writeln!(out, "{}", client_settings(client, &settings_command(client, args)?, args.deadline))?;
        return Ok(Outcome::Compliant);
    }
    if args.keep {
        return run_keeper(client, args);
    }
    let asked: Arc<Mutex<Option<HookCall>>> = Arc::default();
    let (sender, receiver) = mpsc::channel();
    let work = HookRun { client, asked: Arc::clone(&asked), settings: HookSettings::from_args(args) };
    let _worker = std::thread::Builder::new().name("hook".into()).spawn(move || sender.send(work.run()))?;
    let deadline = Duration::from_secs(args.deadline.into());
    let reply = match receiver.recv_timeout(deadline) {
        Ok(Ok((reply, wants_keeper))) => {
            let outcome = print_reply(&reply, out)?;
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
            answer_failure(client, call.as_ref(), &format!("lictor could not decide: {reason}"))
        }
    };
    print_reply(&reply, out)
}

/// Prints a reply. A failure to print is a denial.
fn print_reply(reply: &HookReply, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    out.write_all(reply.output.as_bytes()).and_then(|()| out.flush()).context("cannot write the answer")?;
    if !reply.complaint.is_empty() {
        complaint::say(reply.complaint.trim_end());
    }
    Ok(if reply.exit == 0 { Outcome::Compliant } else { Outcome::Unjudged })
}

/// Runs the keeper.
fn run_keeper(client: HookClient, args: &HookArgs) -> anyhow::Result<Outcome> {
    #[cfg(unix)]
    {
        let project = args.project.clone().context("a keeper needs --project")?;
        let work = HookRun { client, asked: Arc::default(), settings: HookSettings::from_args(args) };
        keeper::run(&work.find_paths(&project), Duration::from_secs(args.deadline.into()))?;
    }
    Ok(Outcome::Compliant)
}

/// Starts a keeper. A failure is ignored: without one the next call is only slower.
fn start_keeper(args: &HookArgs) {
    #[cfg(unix)]
    keeper::start(args);
}

/// The settings for answering a hook call.
#[derive(Debug)]
struct HookSettings {
    project: Option<PathBuf>,
    policy: Option<String>,
    state: Option<PathBuf>,
    keep_content: bool,
    rewrites: bool,
    has_keeper: bool,
    patience: Duration,
}

impl HookSettings {
    fn from_args(args: &HookArgs) -> HookSettings {
        HookSettings {
            project: args.project.clone(),
            policy: args.policy.clone(),
            state: args.state.clone(),
            keep_content: args.keep_content,
            rewrites: args.rewrites,
            has_keeper: !args.no_keeper && args.project.is_some(),
            // Other processes may have the ledger locked; give up waiting before the deadline.
            patience: Duration::from_secs(u64::from(args.deadline)) / 2,
        }
    }
}

/// One hook call, from its input to the reply.
struct HookRun {
    client: HookClient,
    asked: Arc<Mutex<Option<HookCall>>>,
    settings: HookSettings,
}

impl HookRun {
    /// Returns the reply, and whether a keeper would have been quicker.
    fn run(&self) -> anyhow::Result<(HookReply, bool)> {
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().lock().take(MAX_INPUT_BYTES);
        input.read_to_end(&mut bytes).context("cannot read standard input")?;
        let read = HookCall::read(self.client, &bytes);
        if let Ok(call) = &read {
            *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(call.clone());
        }
        let works_in = read.as_ref().ok().and_then(HookCall::folder).unwrap_or(".").to_owned();
        if let Some(project) = self.settings.project.as_ref().filter(|project| !project.is_dir()) {
            anyhow::bail!("{}: no such project folder", project.display());
        }
        let mut options = HookOptions::default();
        options.rewrites = self.settings.rewrites;
        let place = self.find_paths(Path::new(&works_in));
        let attempts = if self.settings.has_keeper { MAX_KEEPER_ATTEMPTS } else { 1 };
        let mut attempt = 0;
        let mut warden = loop {
            #[cfg(unix)]
            if self.settings.has_keeper
                && let Some(reply) = keeper::ask(&place, self.client, options, &bytes)
            {
                return Ok((reply, false));
            }
            attempt += 1;
            // The lock may belong to a keeper that does not listen yet, so try the keeper again.
            match place.open(self.settings.patience / attempts) {
                Err(error) if attempt < attempts && is_locked(&error) => {}
                opened => break opened?,
            }
        };
        let reply = decide_call(self.client, options, read, &bytes, &mut warden)?;
        warden.close()?;
        Ok((reply, self.settings.has_keeper))
    }

    /// Returns the paths of the project. The working directory of the model is used only if no project folder is given,
    /// because the model can change it.
    fn find_paths(&self, works_in: &Path) -> ProjectPaths {
        let named = std::env::var_os(PROJECT_VARIABLE).filter(|_| self.client == HookClient::Claude).map(PathBuf::from);
        let project = self.settings.project.clone().or(named).unwrap_or_else(|| works_in.to_owned());
        let kept = self.settings.state.clone().unwrap_or_else(|| project.join(".lictor"));
        let warden = WardenArgs {
            state: Some(kept.join("state").display().to_string()),
            log: Some(kept.join("log")),
            origin: ORIGIN.to_owned(),
            keep_content: self.settings.keep_content,
            sessions: MAX_KEPT_SESSIONS,
            patience: 3600,
            idle: None,
            skew: None,
            // The model may be able to write its own policy file.
            keeps_policy: true,
            show_content: false,
        };
        let policy = self.settings.policy.clone().unwrap_or_else(|| policies::find_in_folder(&project));
        ProjectPaths { policy, state: kept.join("state"), warden }
    }
}

/// The paths of the policy, the sessions and the ledger of a project.
struct ProjectPaths {
    policy: String,
    state: PathBuf,
    warden: WardenArgs,
}

impl ProjectPaths {
    fn open(&self, patience: Duration) -> anyhow::Result<Warden> {
        wardens::open(&self.warden, &policies::load(Some(&self.policy), &[])?, patience)
    }
}

/// Whether another process has the ledger locked.
fn is_locked(error: &anyhow::Error) -> bool {
    error.downcast_ref::<lictor_ledger::LedgerError>().is_some_and(lictor_ledger::LedgerError::is_locked)
}

/// Decides on a hook call, records the decision, and returns the reply.
fn decide_call(
    client: HookClient,
    options: HookOptions,
    read: Result<HookCall, Fault>,
    bytes: &[u8],
    warden: &mut Warden,
) -> anyhow::Result<HookReply> {
    match read {
        Ok(call) => Ok(answer_call(client, options, &call, warden, now())?),
        Err(fault) => {
            warden.refuse(&RefusedInput::new(fault.code, bytes), Some(now()))?;
            let reason = format!("lictor could not decide: {}: {}", fault.code, fault.message);
            Ok(answer_failure(client, None, &reason))
        }
    }
}

/// Returns the command for the settings of the client: this program with these arguments, and absolute folders.
fn settings_command(client: HookClient, args: &HookArgs) -> anyhow::Result<String> {
    let absolute = |path: &Path| -> anyhow::Result<String> {
        let path = std::path::absolute(path).with_context(|| format!("{}: no such folder", path.display()))?;
        Ok(quote_word(&path.display().to_string()))
    };
    let mut words = vec!["lictor".to_owned(), "hook".to_owned(), client.name().to_owned()];
    match (&args.project, client) {
        (Some(project), _) => words.extend(["--project".to_owned(), absolute(project)?]),
        (None, HookClient::Claude) => words.extend(["--project".to_owned(), format!("\"${PROJECT_VARIABLE}\"")]),
        (None, HookClient::Codex) => words.extend(["--project".to_owned(), absolute(Path::new("."))?]),
    }
    if let Some(policy) = &args.policy {
        let file = Path::new(policy);
        words.extend(["--policy".to_owned(), if file.is_file() { absolute(file)? } else { quote_word(policy) }]);
    }
    if let Some(state) = &args.state {
        words.extend(["--state".to_owned(), absolute(state)?]);
    }
    words.extend(args.keep_content.then(|| "--keep-content".to_owned()));
    words.extend(args.rewrites.then(|| "--rewrites".to_owned()));
    words.extend(args.no_keeper.then(|| "--no-keeper".to_owned()));
    if args.deadline != HOOK_TIMEOUT_SECONDS {
        words.extend(["--deadline".to_owned(), args.deadline.to_string()]);
    }
    Ok(words.join(" "))
}

/// Quotes a word for the shell.
fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
