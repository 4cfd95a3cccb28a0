//! The keeper: a daemon that keeps a warden open for the hooks of a project, on a socket in the state folder.
//!
//! It is quicker but never more permissive: it runs the same code, and a call without an answer from it does the work
//! itself. It exits when it is idle, when its socket is removed, and when a request names another policy, version or
//! setting than its own.

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

use super::{ProjectPaths, decide_call};
use crate::args::{ClientArg, HookArgs};
use crate::policies;

/// The longest path of a socket, on every system.
const MAX_SOCKET_PATH_BYTES: usize = 100;

/// How often a keeper checks whether it is still needed, and after how many checks without a request it exits.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
const MAX_IDLE_CHECKS: u64 = 600;

/// How long a connected client may take to send its request.
const REQUEST_READ_TIMEOUT: Duration = Duration::from_secs(5);

/// A request to a keeper: a line of JSON, followed by the unchanged input of the hook.
#[derive(Debug, Serialize, Deserialize)]
struct KeeperRequest {
    /// The terms of the request; a keeper answers only if they equal its own.
    terms: String,
    client: String,
    rewrites: bool,
    #[serde(skip)]
    input: Vec<u8>,
}

/// The reply of a keeper.
#[derive(Debug, Serialize, Deserialize)]
struct KeeperReply {
    output: String,
    complaint: String,
    exit: u8,
}

/// Asks the keeper; none if there is none or its terms differ.
pub(super) fn ask(at: &ProjectPaths, client: HookClient, options: HookOptions, input: &[u8]) -> Option<HookReply> {
    let mut stream = UnixStream::connect(socket(at)?).ok()?;
    let client = client.name().to_owned();
    let question = KeeperRequest { terms: terms(at), client, rewrites: options.rewrites, input: Vec::new() };
    let line = serde_json::to_string(&question).ok()?;
    stream.write_all(&[line.as_bytes(), b"\n", input].concat()).ok()?;
    stream.shutdown(std::net::Shutdown::Write).ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    let told: KeeperReply = serde_json::from_slice(&text).ok()?;
    Some(HookReply { output: told.output, complaint: told.complaint, exit: told.exit })
}

/// Starts a keeper, detached from this process and its terminal.
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
    // A failure is ignored: the next call is only slower.
    drop(command.spawn());
}

/// Answers requests until the keeper is idle.
pub(super) fn run(at: &ProjectPaths, patience: Duration) -> anyhow::Result<()> {
    let Some(place) = socket(at) else { return Ok(()) };
    // The call that started this created the folder; if it is missing, the project was removed.
    if !place.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    // Read before the policy is loaded, so that a change in between is noticed at the first request.
    let files = policies::files(&at.policy);
    // The ledger lock elects the keeper; a second one exits here.
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
        let mut options = HookOptions::default();
        options.rewrites = question.rewrites;
        let call = HookCall::read(client, &question.input);
        let mut warden = locked(&warden);
        let Some(warden) = warden.as_mut() else { break };
        // Without an answer the caller does the work itself and reports the error.
        let Ok(reply) = decide_call(client, options, call, &question.input, warden) else { break };
        let told = KeeperReply { output: reply.output, complaint: reply.complaint, exit: reply.exit };
        drop(serde_json::to_writer(&mut stream, &told).map(|()| stream.flush()));
    }
    drop(std::fs::remove_file(place));
    close_warden(&warden);
    Ok(())
}

/// Closes the warden, which signs a last checkpoint.
fn close_warden(warden: &Mutex<Option<Warden>>) {
    // Answered decisions are durable; the next open of the ledger does the rest.
    drop(locked(warden).take().map(Warden::close));
}

fn locked(warden: &Mutex<Option<Warden>>) -> MutexGuard<'_, Option<Warden>> {
    warden.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the policy files are unchanged. A new file can only join by a change of one of these.
fn are_same(files: &[(PathBuf, Option<Vec<u8>>)]) -> bool {
    files.iter().all(|(path, text)| std::fs::read(path).ok() == *text)
}

fn read(stream: &mut UnixStream) -> Option<KeeperRequest> {
    stream.set_read_timeout(Some(REQUEST_READ_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(REQUEST_READ_TIMEOUT)).ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let input = text.split_off(end + 1);
    Some(KeeperRequest { input, ..serde_json::from_slice(&text).ok()? })
}

/// Exits the process when the keeper is idle or its socket is gone.
fn watch(place: PathBuf, asked: Arc<AtomicU64>, warden: Arc<Mutex<Option<Warden>>>) -> anyhow::Result<()> {
    let watch = move || {
        let (mut before, mut idle) = (0, 0);
        while place.exists() && idle < MAX_IDLE_CHECKS {
            std::thread::sleep(IDLE_CHECK_INTERVAL);
            let now = asked.load(Ordering::Relaxed);
            idle = if now == before { idle + 1 } else { 0 };
            before = now;
        }
        drop(std::fs::remove_file(&place));
        close_warden(&warden);
        std::process::exit(0);
    };
    drop(std::thread::Builder::new().name("watch".into()).spawn(watch)?);
    Ok(())
}

/// Returns the socket of the keeper; none if the path is too long.
fn socket(at: &ProjectPaths) -> Option<PathBuf> {
    let place = std::path::absolute(at.state.join("keeper.sock")).ok()?;
    (place.as_os_str().len() <= MAX_SOCKET_PATH_BYTES).then_some(place)
}

/// Returns everything that decisions depend on besides the text of the policy.
fn terms(at: &ProjectPaths) -> String {
    let policy = at.policy.as_str();
    let policy = if Path::new(policy).is_file() { std::path::absolute(policy).ok() } else { Some(policy.into()) };
    format!("{} {policy:?} {:?} {}", env!("CARGO_PKG_VERSION"), at.warden.log, at.warden.keep_content)
}
