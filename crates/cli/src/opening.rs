//! Opens the warden that the arguments ask for: the policy, the state of sessions, the ledger.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lictor::guard::{Guard, Options};
use lictor::judge::Judge;
use lictor_ledger::Ledger;
use lictor_logic::{Span, Time};
use lictor_store::{EmbeddedStore, MemoryStore, Store};
use lictor_warden::{Keep, Warden};

use crate::args::WardenArgs;
use crate::policies;

/// How long to wait before the ledger is tried again.
const A_MOMENT: Duration = Duration::from_millis(2);

/// Opens the warden. A ledger that another process is writing is waited for.
pub(crate) fn open(args: &WardenArgs, patience: Duration) -> anyhow::Result<Warden> {
    let policy = policies::load(args.policy.as_deref(), &args.only)?;
    let judge = Judge::new(&policy).map_err(|problems| anyhow::anyhow!("{}", policies::render(&problems)))?;
    let span = Span(u64::from(args.patience) * 1_000_000_000);
    let guard = Guard::new(judge, Options { patience: span, content: args.show_content });
    let store: Arc<dyn Store> = match &args.state {
        Some(folder) => Arc::new(EmbeddedStore::open(folder)?),
        None => Arc::new(MemoryStore::new()),
    };
    let ledger = match &args.log {
        Some(folder) => Some(ledger(folder, &args.origin, patience)?),
        None => None,
    };
    let keep = if args.keep_content { Keep::Content } else { Keep::Commitment };
    let options = lictor_warden::Options { keep, most_sessions: args.sessions, policy: policy.fingerprint() };
    Ok(Warden::open(guard, store, ledger, options)?)
}

/// Opens the ledger in a folder, or creates it, as soon as nobody else is writing it.
fn ledger(folder: &Path, origin: &str, patience: Duration) -> anyhow::Result<Ledger> {
    let attempts = patience.as_millis() / A_MOMENT.as_millis();
    // Somebody may create it between our look and our own attempt to do so.
    let mut may_be_new = !folder.exists();
    for _ in 0..attempts {
        match Ledger::open_or_create(folder, origin, lictor_ledger::Options::new(jiff::Timestamp::now)) {
            Err(error) if error.is_locked() => {}
            Err(_) if may_be_new => may_be_new = false,
            result => return Ok(result?),
        }
        std::thread::sleep(A_MOMENT);
    }
    Ok(Ledger::open_or_create(folder, origin, lictor_ledger::Options::new(jiff::Timestamp::now))?)
}

/// What time it is.
pub(crate) fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}
