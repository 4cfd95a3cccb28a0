//! A process that keeps a warden open for the hooks of a project, at a socket in the folder of its sessions.
//!
//! It is only ever quicker, never more permissive: it decides by the very same code, and whoever gets no answer from it
//! does the work themselves. It ends when it is idle, when its socket is gone, and when it is asked by the terms of
//! another policy, version or setting than its own.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lictor_hook::{HookCall, HookClient, HookOptions, HookReply};
use lictor_warden::Warden;
use serde::{Deserialize, Serialize};

use super::{Place, decided};
use crate::args::{ClientArg, HookArgs};
use crate::policies;

/// The longest path that a socket may have, on every system.
const LONGEST_PATH: usize = 100;

/// How often a keeper looks whether it is still wanted, and after how many such looks without a question it is not.
const LOOK: Duration = Duration::from_secs(1);
const IDLE_LOOKS: u64 = 600;

/// How long somebody who has connected may take to ask.
const ASKING: Duration = Duration::from_secs(5);

/// What a keeper is asked: a line of JSON, and behind it what the client passed, as it is.
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    /// By which terms; a keeper answers by its own only.
    terms: String,
    client: String,
    rewrites: bool,
    #[serde(skip)]
    input: Vec<u8>,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    output: String,
    complaint: String,
    exit: u8,
}

/// Asks the keeper; none if there is none, or none that answers by these terms.
pub(super) fn ask(at: &Place, client: HookClient, options: HookOptions, input: &[u8]) -> Option<HookReply> {
    let mut stream = UnixStream::connect(socket(at)?).ok()?;
    let client = client.name().to_owned();
    let question = Question { terms: terms(at), client, rewrites: options.rewrites, input: Vec::new() };
    let line = serde_json::to_string(&question).ok()?;
    stream.write_all(&[line.as_bytes(), b"\n", input].concat()).ok()?;
    stream.shutdown(std::net::Shutdown::Write).ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    let told: Told = serde_json::from_slice(&text).ok()?;
    Some(HookReply { output: told.output, complaint: told.complaint, exit: told.exit })
}

/// Leaves a keeper behind, apart from this process and from whoever ends it.
pub(super) fn start(args: &HookArgs) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args([
        "hook",
        match args.client {
            ClientArg::Claude => "claude",
            ClientArg::Codex => "codex",
        },
    ]);
    command.arg("--keep").args(["--deadline", &args.deadline.to_string()]);
    let words = [
        ("--project", args.project.clone()),
        ("--policy", args.policy.clone().map(PathBuf::from)),
        ("--state", args.state.clone()),
    ];
    for (word, value) in words {
        if let Some(value) = value {
            command.arg(word).arg(value);
        }
    }
    if args.keep_content {
        command.arg("--keep-content");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    // Without one the next call is slower.
    drop(command.spawn());
}

/// Answers questions until nobody asks any more.
pub(super) fn run(at: &Place, patience: Duration) -> anyhow::Result<()> {
    let Some(place) = socket(at) else { return Ok(()) };
    // The call that started this made the folder; if it is gone, so is the project.
    if !place.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    // Looked at before the policy is made ready: a change meanwhile is noticed with the first question.
    let files = policies::files(&at.policy);
    // Whoever has the ledger is the keeper; a second one ends here.
    let warden = Arc::new(Mutex::new(Some(at.open(patience)?)));
    drop(std::fs::remove_file(&place));
    let listener = UnixListener::bind(&place)?;
    let asked = Arc::new(AtomicU64::new(0));
    watch(place.clone(), Arc::clone(&asked), Arc::clone(&warden))?;
    for stream in listener.incoming() {
        let mut stream = stream?;
        asked.fetch_add(1, Ordering::Relaxed);
        let question = match read(&mut stream) {
            Some(question) if question.terms == terms(at) && are_same(&files) => question,
            Some(_) => break,
            None => continue,
        };
        let client = if question.client == HookClient::Codex.name() { HookClient::Codex } else { HookClient::Claude };
        let options = HookOptions { rewrites: question.rewrites };
        let call = HookCall::read(client, &question.input);
        let mut warden = locked(&warden);
        let Some(warden) = warden.as_mut() else { break };
        // Whoever asked does the work themselves if there is no answer, and says what is wrong.
        let Ok(reply) = decided(client, options, call, &question.input, warden) else { break };
        let told = Told { output: reply.output, complaint: reply.complaint, exit: reply.exit };
        drop(serde_json::to_writer(&mut stream, &told).map(|()| stream.flush()));
    }
    drop(std::fs::remove_file(place));
    close(&warden);
    Ok(())
}

/// Ends the writing: what is durable is signed for.
fn close(warden: &Mutex<Option<Warden>>) {
    // What was answered is durable; whoever opens the ledger next does the rest.
    drop(locked(warden).take().map(Warden::close));
}

fn locked(warden: &Mutex<Option<Warden>>) -> MutexGuard<'_, Option<Warden>> {
    warden.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the policy is still what it was: another file comes into it only by a change of one of these.
fn are_same(files: &[(PathBuf, Option<Vec<u8>>)]) -> bool {
    files.iter().all(|(path, text)| std::fs::read(path).ok() == *text)
}

fn read(stream: &mut UnixStream) -> Option<Question> {
    stream.set_read_timeout(Some(ASKING)).ok()?;
    stream.set_write_timeout(Some(ASKING)).ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let input = text.split_off(end + 1);
    Some(Question { input, ..serde_json::from_slice(&text).ok()? })
}

/// Ends the process when nobody asks any more, or nobody can.
fn watch(place: PathBuf, asked: Arc<AtomicU64>, warden: Arc<Mutex<Option<Warden>>>) -> anyhow::Result<()> {
    let watch = move || {
        let (mut before, mut idle) = (0, 0);
        while place.exists() && idle < IDLE_LOOKS {
            std::thread::sleep(LOOK);
            let now = asked.load(Ordering::Relaxed);
            idle = if now == before { idle + 1 } else { 0 };
            before = now;
        }
        drop(std::fs::remove_file(&place));
        close(&warden);
        std::process::exit(0);
    };
    drop(std::thread::Builder::new().name("watch".into()).spawn(watch)?);
    Ok(())
}

/// Where the keeper is; none if the path is too long for a socket.
fn socket(at: &Place) -> Option<PathBuf> {
    let place = std::path::absolute(at.state.join("keeper.sock")).ok()?;
    (place.as_os_str().len() <= LONGEST_PATH).then_some(place)
}

/// Everything that decisions depend on besides the policy's text.
fn terms(at: &Place) -> String {
    let policy = at.policy.as_str();
    let policy = if Path::new(policy).is_file() { std::path::absolute(policy).ok() } else { Some(policy.into()) };
    format!("{} {policy:?} {:?} {}", env!("CARGO_PKG_VERSION"), at.warden.log, at.warden.keep_content)
}
