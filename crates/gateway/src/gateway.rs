//! The shared state of all exchanges.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lictor_exchange::{Continuations, HourlyCalls};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use lictor_warden::PolicyMoves;
use tokio::sync::{Notify, Semaphore};

use crate::bytes_in_flight::BytesInFlight;
use crate::clock::now;
use crate::config::Config;
use crate::drop_on_thread::DropOnThread;
use crate::identity::{EVERYBODY, Namer};
use crate::in_flight::InFlight;
use crate::judges::Judges;
use crate::recent_requests::RecentRequests;
use crate::reload::{PolicySource, Reload};
use crate::sessions::Sessions;
use crate::start::{GatewayParts, StartError};
use crate::telemetry::{Journal, Metrics, Spans, StrippedLog};
use crate::upstream::Upstream;
use crate::work::WorkPool;

/// The shared state of all exchanges.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) config: Config,
    pub(crate) upstream: Upstream,
    pub(crate) judges: Judges,
    pub(crate) sessions: Sessions,
    pub(crate) namer: Namer,
    pub(crate) recent_requests: RecentRequests,
    pub(crate) continuations: Continuations,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) journal: Journal,
    pub(crate) spans: Spans,
    pub(crate) stripped: StrippedLog,
    pub(crate) in_flight: InFlight,
    pub(crate) work: Arc<WorkPool>,
    pub(crate) bytes: Arc<BytesInFlight>,
    /// The permits for exchanges in flight.
    pub(crate) room: Arc<Semaphore>,
    /// Notified when a reviewer has answered.
    pub(crate) answered: Notify,
    pub(crate) reload: Reload,
    /// The calls of the last hour because of bad forecasts, by tenant.
    hourly_calls: Mutex<HashMap<String, HourlyCalls>>,
    /// Whether the gateway is to stop, so that a load balancer must choose another.
    is_stopping: AtomicBool,
    /// Whether it only finishes what is in flight.
    is_draining: AtomicBool,
}

impl Gateway {
    /// Opens the wardens. It blocks on the store and the ledger, so a task of the runtime must not call it.
    pub(crate) fn new(
        config: Config,
        parts: GatewayParts,
        source: Option<PolicySource>,
        journal: Journal,
    ) -> Result<Gateway, StartError> {
        let mut parts = GatewayParts { store: Arc::new(DropOnThread::new(parts.store)), ..parts };
        parts.warden.watches = config.shadow;
        let metrics = Arc::new(Metrics::default());
        let upstream = Upstream::new(&config)?;
        let namer = Namer::new(naming_key(&*parts.store)?);
        let sessions = Sessions::new(Arc::clone(&parts.store), parts.warden.idle, config.limits.sessions);
        let mut tenants: Vec<String> = config.tenants.values().cloned().chain([EVERYBODY.to_owned()]).collect();
        tenants.sort_unstable();
        tenants.dedup();
        // Rows are for the next process, which a private store does not have.
        let survives = !parts.store.is_private();
        let in_flight = InFlight::new(parts.ledger.as_ref().filter(|_| survives))?;
        let work = WorkPool::new().map_err(|error| StartError::new(format!("no threads for long work: {error}")))?;
        let work = Arc::new(work);
        let judges = Judges::open(parts, tenants.into_iter(), &metrics, &journal, &work)?;
        let spans = Spans::new(config.collector.as_ref(), &upstream, &metrics);
        let room = Arc::new(Semaphore::new(config.limits.exchanges));
        let (answered, reload) = (Notify::new(), Reload::from(source));
        Ok(Gateway {
            upstream,
            judges,
            sessions,
            in_flight,
            work,
            bytes: BytesInFlight::new(config.limits.bytes_in_flight),
            namer,
            recent_requests: RecentRequests::default(),
            continuations: Continuations::default(),
            metrics,
            journal,
            spans,
            stripped: StrippedLog::default(),
            room,
            answered,
            reload,
            hourly_calls: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            config,
        })
    }

    /// Loads the policy again and activates it. Returns whether it has changed.
    pub(crate) async fn reload(&self) -> Result<Option<PolicyMoves>, StartError> {
        self.reload.reload(&self.judges, &self.metrics, &self.journal).await
    }

    /// Counts calls of a tenant before they are made. Returns how many of them are within the limit of an hour.
    pub(crate) fn reserve_calls(&self, tenant: &str, wanted: usize, hour_calls: usize) -> usize {
        let mut tenants = self.hourly_calls.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.entry(tenant.to_owned()).or_default().reserve(Some(now()), wanted, hour_calls)
    }

    /// Is not ready from now on; requests are still served.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the gateway is to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Refuses new requests from now on; those in flight finish.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether new requests are refused because the gateway is to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Whether exchanges are recorded, in the ledger or in the journal.
    pub(crate) fn keeps_records(&self) -> bool {
        self.judges.ledger().is_some() || self.journal.is_kept()
    }
}

/// Returns the key for the names of sessions. It is kept in the store, so that all gateways over it use the same.
fn naming_key(store: &dyn Store) -> Result<[u8; 32], StartError> {
    const KEY: &str = "gateway/naming-key";
    for _ in 0..10 {
        if let Some(stored) = store.load(KEY)? {
            let key = <[u8; 32]>::try_from(stored.value.as_slice());
            return key.map_err(|_| StartError::new("the key by which sessions are named is damaged"));
        }
        let mut key = [0u8; 32];
        getrandom::fill(&mut key).map_err(|error| StartError::new(format!("no randomness: {error}")))?;
        match store.save(&[Change::put(KEY, ExpectedVersion::Absent, key.to_vec())]) {
            Ok(_) | Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(StartError::new(error.to_string())),
        }
    }
    Err(StartError::new("the key by which sessions are named cannot be kept"))
}
