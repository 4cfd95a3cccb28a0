//! Decides: a warden for each tenant, all writing to one ledger.
//!
//! Each tenant's state lies under a prefix of its own in the store, so that histories across sessions, of persons, of
//! principals, of all, are histories within the tenant. What one tenant's agents did is no fact for another's.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::guard::{Action, AskScope, Decision, Guard, Preview};
use lictor_ledger::Ledger;
use lictor_logic::Time;
use lictor_policy::Policy;
use lictor_store::{Store, StoreError};
use lictor_warden::{Notice, RefusedInput, Warden, WardenAnswer, WardenError, WardenHandle};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::active_policy::ActivePolicy;
use crate::identity::EVERYBODY;
use crate::sessions::MemorySave;
use crate::start::{GatewayParts, StartError};
use crate::telemetry::{Journal, Metrics};
use crate::tenant_store::TenantStore;

/// Nothing can be decided: the store or the ledger cannot be written.
#[derive(Clone, Debug)]
pub(crate) struct Unavailable {
    /// What is wrong, for operators.
    pub(crate) reason: String,
}

/// What was decided, with what is known of the session saved along.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) decisions: Vec<Arc<Decision>>,
    /// Whether all goes on as it came.
    pub(crate) all_forwarded: bool,
    /// The version of what was saved.
    pub(crate) version: u64,
}

/// The wardens of all tenants.
#[derive(Debug)]
pub(crate) struct Judges {
    wardens: BTreeMap<String, WardenHandle>,
    ledger: Option<Arc<Ledger>>,
    active: RwLock<ActivePolicy>,
    options: lictor_judge::guard::GuardOptions,
    metrics: Arc<Metrics>,
}

impl Judges {
    /// Opens a warden for each tenant.
    pub(crate) fn open(
        foundation: GatewayParts,
        tenants: impl Iterator<Item = String>,
        metrics: &Arc<Metrics>,
        journal: &Journal,
    ) -> Result<Judges, StartError> {
        let GatewayParts { policy, store, ledger, guard: options, warden } = foundation;
        // Nobody waits with a request, or with words that have half left.
        let options = lictor_judge::guard::GuardOptions { asks: AskScope::Calls, ..options };
        let active = ActivePolicy::of(&policy);
        let ledger = ledger.map(Arc::new);
        let mut wardens = BTreeMap::new();
        for tenant in tenants {
            let guard = Guard::new(judge(&policy)?, options);
            let store: Arc<dyn Store> = Arc::new(TenantStore::new(Arc::clone(&store), &tenant));
            let warden = Warden::open_sharing(guard, store, ledger.clone(), warden.clone())?;
            let (metrics, journal) = (Arc::clone(metrics), journal.clone());
            let on_notice = move |notice: Result<Notice, WardenError>| match notice {
                Ok(_) => journal.say(&metrics, "late", json!({})),
                Err(error) => journal.say(&metrics, "clock", json!({"error": error.to_string()})),
            };
            let handle =
                WardenHandle::open(warden, now, on_notice).map_err(|error| StartError::new(error.to_string()))?;
            wardens.insert(tenant, handle);
        }
        Ok(Judges { wardens, ledger, active: RwLock::new(active), options, metrics: Arc::clone(metrics) })
    }

    /// The active policy.
    pub(crate) fn active(&self) -> ActivePolicy {
        self.active.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names of all tenants.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &str> {
        self.wardens.keys().map(String::as_str)
    }

    /// Decides on events of one session, in their order. They are written down when this returns.
    pub(crate) async fn decide(&self, tenant: &str, events: Vec<Event>) -> Result<Vec<Arc<Decision>>, Unavailable> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let count = events.len();
        let begun = Instant::now();
        let answers = self.ask(tenant, |warden, then| warden.decide(events, then)).await?;
        self.metrics.waited(begun.elapsed());
        if answers.len() != count {
            return Err(Unavailable { reason: "the warden decided fewer events than it was given".to_owned() });
        }
        Ok(self.count(answers))
    }

    /// The same, and saves what is known of the session along with it; none if somebody else has changed that meanwhile:
    /// nothing is decided then.
    pub(crate) async fn decide_saving(
        &self,
        tenant: &str,
        events: Vec<Event>,
        save: &Arc<MemorySave>,
    ) -> Result<Option<Decided>, Unavailable> {
        let count = events.len();
        let begun = Instant::now();
        let saved = Arc::clone(save);
        let extra = move |answers: &[WardenAnswer]| saved.changes(answers.iter().all(WardenAnswer::is_forwarded));
        let asked = self.wait(tenant, |warden, then| warden.decide_with_extra(events, extra, then)).await?;
        self.metrics.waited(begun.elapsed());
        let (answers, version) = match asked {
            Ok((answers, Some(version))) if answers.len() == count => (answers, version),
            Ok(_) => {
                return Err(Unavailable { reason: "the warden decided other events than it was given".to_owned() });
            }
            Err(error) if matches!(*error, WardenError::Store(StoreError::Conflict { .. })) => return Ok(None),
            Err(error) => return Err(Unavailable { reason: error.to_string() }),
        };
        let all_forwarded = answers.iter().all(WardenAnswer::is_forwarded);
        Ok(Some(Decided { decisions: self.count(answers), all_forwarded, version }))
    }

    fn count(&self, answers: Vec<WardenAnswer>) -> Vec<Arc<Decision>> {
        answers.iter().for_each(|answer| self.metrics.decision(answer.decision.action));
        answers.into_iter().map(|answer| answer.decision).collect()
    }

    /// What would be decided about a text that is still being said.
    pub(crate) async fn preview(&self, tenant: &str, event: Event) -> Result<Preview, Unavailable> {
        self.ask(tenant, |warden, then| warden.preview(event, then)).await
    }

    /// Writes down that something was refused which is no event.
    pub(crate) async fn refuse(&self, tenant: &str, refused: RefusedInput) -> Result<(), Unavailable> {
        self.metrics.decision(Action::Block);
        self.ask(tenant, |warden, then| warden.refuse(refused, then)).await
    }

    /// Writes down something that is no decision: what crossed in an exchange, what an operator did.
    pub(crate) async fn note(&self, tenant: &str, body: Map<String, Value>) -> Result<(), Unavailable> {
        // Without a ledger there is nothing to write to.
        if self.ledger.is_none() {
            return Ok(());
        }
        self.ask(tenant, |warden, then| warden.note(body, then)).await
    }

    /// Writes down what was left unwritten about a tenant, who may not be one any more.
    pub(crate) async fn note_late(&self, body: Map<String, Value>) -> Result<(), Unavailable> {
        let tenant = body.get("tenant").and_then(Value::as_str).filter(|tenant| self.wardens.contains_key(*tenant));
        let tenant = tenant.unwrap_or(EVERYBODY).to_owned();
        self.note(&tenant, body).await
    }

    /// Puts another policy in force for all tenants: what was asked before is decided by the old one, and sessions go on
    /// by the new one, with what they know as far as formulas are the same.
    pub(crate) async fn change_policy(&self, policy: &Policy) -> Result<(), StartError> {
        let next = ActivePolicy::of(policy);
        // All are made ready before the first is changed: a policy that cannot be judged by changes nothing.
        let mut ready = Vec::new();
        for tenant in self.wardens.keys() {
            ready.push((tenant, Guard::new(judge(policy)?, self.options)));
        }
        for (tenant, guard) in ready {
            let fingerprint = next.fingerprint.to_string();
            let changed = self.ask(tenant, |warden, then| warden.change_policy(guard, fingerprint, then)).await;
            changed.map_err(|unavailable| StartError::new(unavailable.reason))?;
        }
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    /// Destroys the key of a person in the ledger.
    pub(crate) fn ledger(&self) -> Option<&Arc<Ledger>> {
        self.ledger.as_ref()
    }

    /// Answers what was asked, and ends the writing.
    pub(crate) fn close(&self) -> Result<(), WardenError> {
        for warden in self.wardens.values() {
            warden.clone().close()?;
        }
        Ok(())
    }

    async fn ask<T: Send + 'static>(
        &self,
        tenant: &str,
        question: impl FnOnce(&WardenHandle, Box<dyn FnOnce(Result<T, Arc<WardenError>>) + Send>),
    ) -> Result<T, Unavailable> {
        self.wait(tenant, question).await?.map_err(|error| Unavailable { reason: error.to_string() })
    }

    /// Waits for what the warden answers.
    async fn wait<T: Send + 'static>(
        &self,
        tenant: &str,
        question: impl FnOnce(&WardenHandle, Box<dyn FnOnce(Result<T, Arc<WardenError>>) + Send>),
    ) -> Result<Result<T, Arc<WardenError>>, Unavailable> {
        let unavailable = |reason: String| Unavailable { reason };
        let warden = self.wardens.get(tenant).ok_or_else(|| unavailable("the tenant has no warden".to_owned()))?;
        let (sender, receiver) = oneshot::channel();
        // Whoever asked may have gone meanwhile; what was decided stands.
        question(warden, Box::new(move |answer| drop(sender.send(answer))));
        receiver.await.map_err(|_| unavailable("the warden is closed".to_owned()))
    }
}

fn judge(policy: &Policy) -> Result<Judge, StartError> {
    Judge::new(policy)
        .map_err(|problems| StartError::new(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}

/// The time, in nanoseconds since 1970.
pub(crate) fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}
