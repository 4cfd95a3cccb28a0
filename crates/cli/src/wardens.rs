//! Opens a warden with the store and the ledger of the command line.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lictor::guard::{Guard, GuardOptions};
use lictor::judge::Judge;
use lictor::policy::Policy;
use lictor_ledger::{Ledger, Reader};
use lictor_logic::{Span, Time};
use lictor_store::{EmbeddedStore, MemoryStore, Store};
use lictor_store_postgres::PostgresStore;
use lictor_warden::{ContentRetention, Warden};

use crate::args::WardenArgs;
use crate::{complaint, labelers, policies};

/// How long to wait before a locked ledger is tried again.
const LEDGER_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Opens a warden with a policy, and the store and the ledger of the arguments. Waits for a locked ledger up to the
/// timeout.
pub(crate) fn open(args: &WardenArgs, policy: &Policy, timeout: Duration) -> anyhow::Result<Warden> {
    let (store, ledger) = open_stores(args, timeout)?;
    Ok(Warden::open(guard(args, policy, &store)?, store, ledger, options(args, policy))?)
}

/// Opens the store and the ledger of the arguments. Prints the verifier key of a new ledger.
pub(crate) fn open_stores(args: &WardenArgs, timeout: Duration) -> anyhow::Result<(Arc<dyn Store>, Option<Ledger>)> {
    check_folders(args)?;
    let store: Arc<dyn Store> = match args.state.as_deref() {
        Some(address) if is_database(address) => Arc::new(PostgresStore::open(address)?),
        Some(folder) => Arc::new(EmbeddedStore::open(folder.as_ref())?),
        None => Arc::new(MemoryStore::private()),
    };
    let ledger = match &args.log {
        Some(folder) => {
            let is_new = Reader::open(folder).first_key().is_err();
            let ledger = open_ledger(folder, &args.origin, timeout)?;
            if is_new {
                note_verifier_key(folder, &ledger)?;
            }
            Some(ledger)
        }
        None => None,
    };
    Ok((store, ledger))
}

/// Refuses a ledger and a state in one folder, or one within the other: to delete the state would delete the ledger.
fn check_folders(args: &WardenArgs) -> anyhow::Result<()> {
    let (Some(state), Some(log)) = (args.state.as_deref().filter(|state| !is_database(state)), &args.log) else {
        return Ok(());
    };
    let (state, log) = (std::path::absolute(state)?, std::path::absolute(log)?);
    anyhow::ensure!(
        !log.starts_with(&state) && !state.starts_with(&log),
        "--log {} and --state {} share a folder; give each a folder of its own",
        log.display(),
        state.display()
    );
    Ok(())
}

/// Prints the verifier key of a new ledger: one who can write to the folder could replace the key in it.
fn note_verifier_key(folder: &Path, ledger: &Ledger) -> anyhow::Result<()> {
    let (folder, key) = (folder.display(), ledger.reader().first_key()?);
    complaint::note(&format!(
        "created the ledger {folder}; its verifier key is {key}\nhint: keep the key in another place, and check the ledger \
         with: lictor verify {folder} --key '{key}'"
    ));
    Ok(())
}

/// Opens or creates the ledger in a folder; waits while another process has the lock.
fn open_ledger(folder: &Path, origin: &str, timeout: Duration) -> anyhow::Result<Ledger> {
    let attempts = timeout.as_millis() / LEDGER_RETRY_INTERVAL.as_millis();
    // Another process may create it between this check and our attempt.
    let mut may_be_new = !folder.exists();
    for _ in 0..attempts {
        match Ledger::open_or_create(folder, origin, lictor_ledger::LedgerOptions::new(jiff::Timestamp::now)) {
            Err(error) if error.is_locked() => {}
            Err(_) if may_be_new => may_be_new = false,
            result => return Ok(result?),
        }
        std::thread::sleep(LEDGER_RETRY_INTERVAL);
    }
    Ok(Ledger::open_or_create(folder, origin, lictor_ledger::LedgerOptions::new(jiff::Timestamp::now))?)
}

/// Returns a guard for a policy, with the options of the arguments. The store keeps the counts of drift.
fn guard(args: &WardenArgs, policy: &Policy, store: &Arc<dyn Store>) -> anyhow::Result<Guard> {
    let judge = Judge::new(policy).map_err(|problems| policies::unusable(&problems))?;
    let foresight = policies::open_foresight(&judge, policy)?;
    let labelers = labelers::open_live(policy, store)?;
    Ok(Guard::new(judge, guard_options(args)).labeled_by(labelers).foreseeing(foresight))
}

/// Returns the guard options of the arguments.
pub(crate) fn guard_options(args: &WardenArgs) -> GuardOptions {
    GuardOptions::default().patience(seconds(args.patience)).content(args.show_content)
}

/// Returns the warden options of the arguments.
pub(crate) fn options(args: &WardenArgs, policy: &Policy) -> lictor_warden::WardenOptions {
    if policy.properties.is_empty() {
        complaint::warn(&format!("the policy {} has no properties, so every event is forwarded", policy.name));
    }
    let mut options = lictor_warden::WardenOptions::new(policy.fingerprint());
    options.keep = if args.keep_content { ContentRetention::Content } else { ContentRetention::Commitment };
    options.max_sessions = args.sessions;
    options.idle = args.idle.map(seconds);
    options.skew = args.skew.map(seconds);
    options.migrates = !args.keeps_policy;
    options
}

/// Returns the present time.
pub(crate) fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}

fn is_database(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

fn seconds(count: u32) -> Span {
    Span(u64::from(count) * 1_000_000_000)
}
