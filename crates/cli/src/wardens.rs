//! Opens the warden that the command line asks for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lictor::guard::{Guard, GuardOptions};
use lictor::judge::Judge;
use lictor::policy::Policy;
use lictor_ledger::Ledger;
use lictor_logic::{Span, Time};
use lictor_store::{EmbeddedStore, MemoryStore, Store};
use lictor_store_postgres::PostgresStore;
use lictor_warden::{ContentRetention, Warden};

use crate::args::WardenArgs;
use crate::{complaint, policies};

/// How long to wait before the ledger is tried again.
const A_MOMENT: Duration = Duration::from_millis(2);

/// A warden by a policy, with the store and the ledger that the arguments name. A ledger that another process is writing
/// is waited for.
pub(crate) fn open(args: &WardenArgs, policy: &Policy, patience: Duration) -> anyhow::Result<Warden> {
    let (store, ledger) = foundation(args, patience)?;
    Ok(Warden::open(guard(args, policy)?, store, ledger, options(args, policy))?)
}

/// The store and the ledger that the arguments name.
pub(crate) fn foundation(args: &WardenArgs, patience: Duration) -> anyhow::Result<(Arc<dyn Store>, Option<Ledger>)> {
    let store: Arc<dyn Store> = match args.state.as_deref() {
        Some(address) if is_database(address) => Arc::new(PostgresStore::open(address)?),
        Some(folder) => Arc::new(EmbeddedStore::open(folder.as_ref())?),
        None => Arc::new(MemoryStore::new()),
    };
    let ledger = match &args.log {
        Some(folder) => Some(ledger(folder, &args.origin, patience)?),
        None => None,
    };
    Ok((store, ledger))
}

/// Opens the ledger in a folder, or creates it, as soon as nobody else is writing it.
fn ledger(folder: &Path, origin: &str, patience: Duration) -> anyhow::Result<Ledger> {
    let attempts = patience.as_millis() / A_MOMENT.as_millis();
    // Somebody may create it between our look and our own attempt to do so.
    let mut may_be_new = !folder.exists();
    for _ in 0..attempts {
        match Ledger::open_or_create(folder, origin, lictor_ledger::LedgerOptions::new(jiff::Timestamp::now)) {
            Err(error) if error.is_locked() => {}
            Err(_) if may_be_new => may_be_new = false,
            result => return Ok(result?),
        }
        std::thread::sleep(A_MOMENT);
    }
    Ok(Ledger::open_or_create(folder, origin, lictor_ledger::LedgerOptions::new(jiff::Timestamp::now))?)
}

/// A guard by a policy, as the arguments want it.
pub(crate) fn guard(args: &WardenArgs, policy: &Policy) -> anyhow::Result<Guard> {
    let judge = Judge::new(policy).map_err(|problems| anyhow::anyhow!("{}", policies::render(&problems)))?;
    Ok(Guard::new(judge, guard_options(args)))
}

/// How a guard works, as the arguments want it.
pub(crate) fn guard_options(args: &WardenArgs) -> GuardOptions {
    GuardOptions { patience: seconds(args.patience), content: args.show_content, ..GuardOptions::default() }
}

/// How a warden works, as the arguments want it.
pub(crate) fn options(args: &WardenArgs, policy: &Policy) -> lictor_warden::WardenOptions {
    if policy.properties.is_empty() {
        complaint::warn(&format!("the policy {} has no properties: nothing is judged", policy.name));
    }
    lictor_warden::WardenOptions {
        keep: if args.keep_content { ContentRetention::Content } else { ContentRetention::Commitment },
        most_sessions: args.sessions,
        policy: policy.fingerprint(),
        idle: args.idle.map(seconds),
        skew: args.skew.map(seconds),
        migrates: !args.keeps_policy,
        watches: false,
    }
}

/// The time of this machine.
pub(crate) fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}

fn is_database(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

fn seconds(count: u32) -> Span {
    Span(u64::from(count) * 1_000_000_000)
}
