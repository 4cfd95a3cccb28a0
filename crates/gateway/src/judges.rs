//! A warden for each tenant, all with one ledger.
//!
//! Each tenant's state has a prefix of its own in the store, so histories across sessions (of persons, of principals,
//! of all) stay within the tenant. No tenant's events affect another's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use lictor_event::{Answer, EXCHANGE, Event};
use lictor_exchange::{ShownText, count_text_bytes};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Action, AskScope, Decision, Guard, GuardOptions, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_judge::{EarlyRecogniser, Foresight, Judge};
use lictor_label::calibrated::DriftStore;
use lictor_label::open::{OpenOptions, OpenedLabelers, open_labelers};
use lictor_ledger::Ledger;
use lictor_policy::{Policy, Property};
use lictor_store::{Store, StoreError};
use lictor_warden::{Notice, PolicyMoves, RefusedInput, TimeOutcome, Warden, WardenAnswer, WardenError, WardenHandle};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::active_policy::ActivePolicy;
use crate::clock::now;
use crate::identity::EVERYBODY;
use crate::sessions::MemorySave;
use crate::start::{GatewayParts, StartError};
use crate::stored_drift::StoredDrift;
use crate::telemetry::{Journal, Metrics, decision_line, drift_line, late_line, shown_line, write_label_metrics};
use crate::tenant_store::TenantStore;
use crate::unavailable::Unavailable;
use crate::work::{FairGate, Flow, GatePlace, WorkPool};

/// The reason in the records of sessions that end because there are too many.
const EVICTED: &str = "evicted";

/// How many long questions of a tenant are with its warden at once: a short question waits for no more than these.
const LONG_QUESTIONS_AT_ONCE: usize = 1;

/// What an event costs besides its texts, as bytes of text.
const EVENT_COST_BYTES: usize = 2048;

/// From which cost on a question is long: the clients take turns with such questions.
const LONG_QUESTION_BYTES: usize = 16 << 10;

/// Decisions that were saved together with the memory of the session.
#[derive(Debug)]
pub(crate) struct SavedDecisions {
    pub(crate) decisions: Vec<Arc<Decision>>,
    /// Whether all events are forwarded unchanged.
    pub(crate) all_forwarded: bool,
    /// The version of the save.
    pub(crate) version: u64,
}

/// The warden of a tenant, and the gate through which long questions reach it. Short questions need no turn.
#[derive(Debug)]
struct TenantWarden {
    handle: WardenHandle,
    gate: FairGate,
}

/// A question's turn at a warden: the policy does not change meanwhile, and other clients with long questions wait.
#[derive(Debug)]
struct DecisionTurn<'a> {
    _policy: tokio::sync::RwLockReadGuard<'a, ()>,
    _place: Option<GatePlace>,
}

/// The wardens of all tenants.
#[derive(Debug)]
pub(crate) struct Judges {
    wardens: BTreeMap<String, TenantWarden>,
    work: Arc<WorkPool>,
    ledger: Option<Arc<Ledger>>,
    /// The active policy, and all that belongs to it.
    active: RwLock<Arc<ActiveJudging>>,
    /// Held while events are decided, and alone while the policy changes: no event is labeled by one policy and decided
    /// by another.
    turn: tokio::sync::RwLock<()>,
    /// Keeps the counts of drift.
    drift_store: Arc<StoredDrift>,
    options: lictor_judge::guard::GuardOptions,
    metrics: Arc<Metrics>,
    journal: Journal,
    /// Notified when an approval has expired.
    pub(crate) expired: Arc<Notify>,
    /// Whether decisions are not enforced (shadow mode).
    is_shadow: bool,
}

/// The active policy, and all that belongs to it.
#[derive(Debug)]
struct ActiveJudging {
    policy: ActivePolicy,
    /// The policy itself, to return to it.
    source: Policy,
    judge: Mutex<Judge>,
    /// Those who answer its questions.
    labelers: Arc<OpenedLabelers>,
    /// Searches long texts for all its judges.
    recogniser: EarlyRecogniser,
    /// The tenants, labelers and facts whose drift was logged.
    drifted: Mutex<BTreeSet<(String, Text, Text)>>,
}

impl ActiveJudging {
    fn open(policy: &Policy, drift: &Arc<StoredDrift>) -> Result<ActiveJudging, StartError> {
        let (labelers, judge) = (open(policy, drift)?, judge(policy)?);
        Ok(ActiveJudging {
            policy: ActivePolicy::of(policy),
            source: policy.clone(),
            labelers,
            recogniser: judge.early_recogniser(),
            judge: Mutex::new(judge),
            drifted: Mutex::default(),
        })
    }

    /// Returns a new guard.
    fn guard(&self, options: GuardOptions) -> Result<Guard, StartError> {
        let judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner).fork();
        make_guard(judge, &self.source, options)
    }
}

impl Judges {
    /// Opens a warden for each tenant.
    pub(crate) fn open(
        parts: GatewayParts,
        tenants: impl Iterator<Item = String>,
        metrics: &Arc<Metrics>,
        journal: &Journal,
        work: &Arc<WorkPool>,
    ) -> Result<Judges, StartError> {
        let GatewayParts { policy, store, ledger, feed, guard: options, warden } = parts;
        // Requests and half-sent texts cannot wait for a reviewer.
        let options = options.asks(AskScope::Calls);
        let drift_store = Arc::new(StoredDrift::new(Arc::clone(&store)));
        let active = ActiveJudging::open(&policy, &drift_store)?;
        let ledger = ledger.map(Arc::new);
        let mut wardens = BTreeMap::new();
        let is_shadow = warden.watches;
        let expired = Arc::new(Notify::new());
        for tenant in tenants {
            metrics.add_tenant(&tenant);
            let guard = active.guard(options)?;
            let store: Arc<dyn Store> = Arc::new(TenantStore::new(Arc::clone(&store), &tenant));
            let mut options = warden.clone();
            options.tenant = Some(tenant.clone()).filter(|tenant| tenant != EVERYBODY);
            let warden = Warden::open_sharing(guard, store, ledger.clone(), options)?.observed_by(feed.clone());
            let (metrics, journal) = (Arc::clone(metrics), journal.clone());
            let (tenant_name, expired) = (tenant.clone(), Arc::clone(&expired));
            let on_notice = move |notice: Result<Notice, WardenError>| match notice.map(|notice| notice.news) {
                Ok(TimeOutcome::Late(finding)) => journal.say(&metrics, "late", late_line(&tenant_name, &finding)),
                Ok(TimeOutcome::Settled(_)) => expired.notify_one(),
                Err(error) => journal.say(&metrics, "clock", json!({"error": error.to_string()})),
            };
            let handle =
                WardenHandle::open(warden, now, on_notice).map_err(|error| StartError::new(error.to_string()))?;
            wardens.insert(tenant, TenantWarden { handle, gate: FairGate::new(LONG_QUESTIONS_AT_ONCE) });
        }
        let (metrics, journal) = (Arc::clone(metrics), journal.clone());
        Ok(Judges {
            wardens,
            work: Arc::clone(work),
            ledger,
            active: RwLock::new(Arc::new(active)),
            turn: tokio::sync::RwLock::new(()),
            drift_store,
            options,
            metrics,
            journal,
            expired,
            is_shadow,
        })
    }

    /// Returns the active policy.
    pub(crate) fn active(&self) -> ActivePolicy {
        self.judging().policy.clone()
    }

    /// Returns the active policy with all that belongs to it.
    fn judging(&self) -> Arc<ActiveJudging> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the names of all tenants.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &str> {
        self.wardens.keys().map(String::as_str)
    }

    /// Decides on events of one session, in their order. They are recorded when this returns.
    pub(crate) async fn decide(
        &self,
        tenant: &str,
        flow: Flow,
        events: Vec<Event>,
    ) -> Result<Vec<Arc<Decision>>, Unavailable> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let (count, exchange) = (events.len(), exchange_id(&events));
        let begun = Instant::now();
        let cost = count_cost(&events);
        let (events, turn) = self.label(tenant, flow, cost, events).await?;
        let answers = self.ask(tenant, |warden, then| warden.decide(events, then)).await?;
        drop(turn);
        self.metrics.decision_time.add(begun.elapsed());
        if answers.len() != count {
            return Err(Unavailable { reason: "the warden decided fewer events than it was given".to_owned() });
        }
        Ok(self.count(tenant, exchange.as_deref(), answers))
    }

    /// [`decide`](Judges::decide) that saves the memory of the session atomically with the decisions. Returns none, and
    /// decides nothing, if the memory was changed elsewhere.
    pub(crate) async fn decide_saving(
        &self,
        tenant: &str,
        flow: Flow,
        events: Vec<Event>,
        save: &Arc<MemorySave>,
    ) -> Result<Option<SavedDecisions>, Unavailable> {
        let (count, exchange) = (events.len(), exchange_id(&events));
        let begun = Instant::now();
        let cost = count_cost(&events);
        let (events, turn) = self.label(tenant, flow, cost, events).await?;
        let saved = Arc::clone(save);
        let extra = move |answers: &[WardenAnswer]| saved.changes(answers.iter().all(WardenAnswer::is_forwarded));
        let asked = self.wait(tenant, |warden, then| warden.decide_with_extra(events, extra, then)).await?;
        drop(turn);
        self.metrics.decision_time.add(begun.elapsed());
        let (answers, version) = match asked {
            // Nothing is saved where the store is private.
            Ok((answers, version)) if answers.len() == count => (answers, version.unwrap_or_default()),
            Ok(_) => {
                return Err(Unavailable { reason: "the warden decided other events than it was given".to_owned() });
            }
            Err(error) if matches!(*error, WardenError::Store(StoreError::Conflict { .. })) => return Ok(None),
            Err(error) => return Err(Unavailable { reason: error.to_string() }),
        };
        let all_forwarded = answers.iter().all(WardenAnswer::is_forwarded);
        Ok(Some(SavedDecisions { decisions: self.count(tenant, exchange.as_deref(), answers), all_forwarded, version }))
    }

    /// Waits until the client may ask the warden a question of this cost. The question is over when the turn is dropped.
    async fn take_turn(&self, tenant: &str, flow: Flow, cost: usize) -> Option<GatePlace> {
        if cost < LONG_QUESTION_BYTES {
            return None;
        }
        Some(self.wardens.get(tenant)?.gate.enter(flow, cost).await)
    }

    /// Searches long texts of events for personal data without holding the warden, so that other sessions do not wait
    /// for it.
    async fn search_long_texts(
        &self,
        active: &ActiveJudging,
        flow: Flow,
        cost: usize,
        events: Vec<Event>,
    ) -> Vec<Event> {
        let recogniser = active.recogniser.clone();
        if cost < LONG_QUESTION_BYTES || !events.iter().any(|event| recogniser.is_long(event)) {
            return events;
        }
        let search = move || {
            events.iter().filter(|event| recogniser.is_long(event)).for_each(|event| recogniser.search(event));
            events
        };
        self.work.run(flow, cost, search).await
    }

    /// Adds the answers of labelers to events of one session, and waits for the client's turn. The policy stays the same
    /// until the turn is dropped.
    async fn label(
        &self,
        tenant: &str,
        flow: Flow,
        cost: usize,
        mut events: Vec<Event>,
    ) -> Result<(Vec<Event>, DecisionTurn<'_>), Unavailable> {
        loop {
            let active = self.judging();
            let given: Vec<Vec<Answer>> = events.iter().map(|event| event.answers.clone()).collect();
            events = self.label_by(&active, tenant, flow, cost, events).await?;
            // In this order: who waits for a turn must not hold up a change of the policy.
            let place = self.take_turn(tenant, flow, cost).await;
            let turn = DecisionTurn { _policy: self.turn.read().await, _place: place };
            if Arc::ptr_eq(&active, &self.judging()) {
                return Ok((events, turn));
            }
            // The policy has changed meanwhile: its own labelers answer.
            events.iter_mut().zip(given).for_each(|(event, given)| event.answers = given);
        }
    }

    /// Adds the answers of the labelers of a policy. They are asked without holding the warden, so that other sessions do
    /// not wait for them.
    async fn label_by(
        &self,
        active: &Arc<ActiveJudging>,
        tenant: &str,
        flow: Flow,
        cost: usize,
        events: Vec<Event>,
    ) -> Result<Vec<Event>, Unavailable> {
        let mut events = self.search_long_texts(active, flow, cost, events).await;
        let opened = &active.labelers;
        if opened.labelers.is_empty() {
            return Ok(events);
        }
        events.iter_mut().for_each(|event| opened.labelers.complete(tenant, event));
        let turn = self.take_turn(tenant, flow, cost).await;
        let mut open = self.ask(tenant, |warden, then| warden.questions(events, then)).await?;
        drop(turn);
        if open.iter().any(|(_, questions)| !questions.asked.is_empty()) {
            let (name, asked) = (tenant.to_owned(), Arc::clone(opened));
            let asked = tokio::task::spawn_blocking(move || {
                for (event, questions) in &mut open {
                    asked.labelers.answer(&name, event, &questions.before, &questions.asked);
                }
                open
            });
            open = asked.await.map_err(|error| Unavailable { reason: format!("labelers: {error}") })?;
        }
        if open.iter().any(|(event, _)| event.answers.iter().any(Answer::is_suspended)) {
            self.log_drift(tenant, active);
        }
        Ok(open.into_iter().map(|(event, _)| event).collect())
    }

    /// Logs the drift of each labeler and fact of a tenant once.
    fn log_drift(&self, tenant: &str, active: &ActiveJudging) {
        for (labeler, fact, _) in active.labelers.drift(tenant).into_iter().filter(|(_, _, is_suspended)| *is_suspended)
        {
            let mut drifted = active.drifted.lock().unwrap_or_else(PoisonError::into_inner);
            if drifted.insert((tenant.to_owned(), labeler.clone(), fact.clone())) {
                self.journal.say(&self.metrics, "drift", drift_line(tenant, &labeler, &fact));
            }
        }
    }

    /// Returns the metrics of the labelers as text.
    pub(crate) fn label_metrics(&self) -> String {
        let opened = Arc::clone(&self.judging().labelers);
        let drift = self.wardens.keys().map(|tenant| (tenant.as_str(), opened.drift(tenant))).collect::<Vec<_>>();
        write_label_metrics(&drift, &opened.counts())
    }

    /// Counts decisions, and logs those that a property objected to.
    fn count(&self, tenant: &str, exchange: Option<&str>, answers: Vec<WardenAnswer>) -> Vec<Arc<Decision>> {
        for answer in &answers {
            self.metrics.decision(tenant, &answer.decision);
            // A duplicate was logged when it was decided.
            if self.journal.is_kept()
                && !answer.is_duplicate
                && let Some(line) = decision_line(tenant, exchange, self.is_shadow, &answer.decision)
            {
                self.journal.say(&self.metrics, "decision", line);
            }
        }
        answers.into_iter().map(|answer| answer.decision).collect()
    }

    /// Returns the decision that an event would get.
    pub(crate) async fn preview(&self, tenant: &str, event: Event) -> Result<Preview, Unavailable> {
        self.ask(tenant, |warden, then| warden.preview(event, then)).await
    }

    /// Returns how likely each of several replies leads to a violation.
    pub(crate) async fn score(
        &self,
        tenant: &str,
        session: String,
        replies: Vec<Vec<Event>>,
    ) -> Result<ReplyScores, Unavailable> {
        self.ask(tenant, |warden, then| warden.score(session, replies, then)).await
    }

    /// Returns what the model of a session should know.
    pub(crate) async fn guide(
        &self,
        tenant: &str,
        session: &str,
        query: GuidanceQuery,
    ) -> Result<Guidance, Unavailable> {
        self.ask(tenant, |warden, then| warden.guide(session.to_owned(), query, then)).await
    }

    /// Returns the properties that a session is judged by.
    pub(crate) async fn objectives(&self, tenant: &str, session: &str) -> Result<Vec<Arc<Property>>, Unavailable> {
        self.ask(tenant, |warden, then| warden.objectives(session.to_owned(), then)).await
    }

    /// Ends a session that is too many for the memory, and returns what it leaves unmet.
    pub(crate) async fn finish(&self, tenant: &str, session: String) -> Result<Vec<Notice>, Unavailable> {
        self.ask(tenant, |warden, then| warden.finish(session, EVICTED, then)).await
    }

    /// Records a refusal of input that is no event.
    pub(crate) async fn refuse(&self, tenant: &str, flow: Flow, refused: RefusedInput) -> Result<(), Unavailable> {
        self.metrics.refusal(tenant);
        let _turn = self.take_turn(tenant, flow, refused.bytes.len()).await;
        self.ask(tenant, |warden, then| warden.refuse(refused, then)).await
    }

    /// Records a text of which parts were withheld while it was streamed: the decision on the whole text came after that,
    /// and may say nothing of them.
    pub(crate) async fn note_shown(&self, tenant: &str, shown: &ShownText) -> Result<(), Unavailable> {
        if !shown.properties.is_empty() {
            let properties: Vec<&str> = shown.properties.iter().map(Text::as_str).collect();
            let action = if shown.is_stopped { Action::Block } else { Action::Redact };
            self.metrics.shown(tenant, action, &properties);
            self.journal.say(&self.metrics, "decision", shown_line(tenant, &shown.exchange, action, &properties));
        }
        self.note(tenant, shown.record()).await
    }

    /// Writes a record that is no decision, as of an exchange.
    pub(crate) async fn note(&self, tenant: &str, body: Map<String, Value>) -> Result<(), Unavailable> {
        // Without a ledger there is nothing to write to.
        if self.ledger.is_none() {
            return Ok(());
        }
        self.ask(tenant, |warden, then| warden.note(body, then)).await
    }

    /// Writes a record that an earlier process left unwritten. Its tenant may no longer exist.
    pub(crate) async fn note_late(&self, body: Map<String, Value>) -> Result<(), Unavailable> {
        let tenant = body.get("tenant").and_then(Value::as_str).filter(|tenant| self.wardens.contains_key(*tenant));
        let tenant = tenant.unwrap_or(EVERYBODY).to_owned();
        self.note(&tenant, body).await
    }

    /// Activates another policy for all tenants at once, and returns how their sessions move. Events that were labeled
    /// before are decided by the old one; sessions continue with the new one, which judges its new and changed properties
    /// over their past.
    pub(crate) async fn change_policy(&self, policy: &Policy) -> Result<PolicyMoves, StartError> {
        let next = Arc::new(ActiveJudging::open(policy, &self.drift_store)?);
        // All guards are built before the first is replaced: an invalid policy changes nothing.
        let mut ready = Vec::new();
        for tenant in self.wardens.keys() {
            ready.push((tenant.as_str(), next.guard(self.options)?));
        }
        let _turn = self.turn.write().await;
        let (mut moves, mut changed) = (PolicyMoves::default(), Vec::new());
        for (tenant, guard) in ready {
            match self.change_warden(tenant, guard, &next).await {
                Ok(of_tenant) => moves.add(&of_tenant),
                Err(error) => {
                    self.return_to_active(changed).await;
                    return Err(StartError::new(error.reason));
                }
            }
            changed.push(tenant);
        }
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(moves)
    }

    async fn change_warden(&self, tenant: &str, guard: Guard, to: &ActiveJudging) -> Result<PolicyMoves, Unavailable> {
        let fingerprint = to.policy.fingerprint.to_string();
        self.ask(tenant, |warden, then| warden.change_policy(guard, fingerprint, then)).await
    }

    /// Gives tenants that have changed to another policy the active one again.
    async fn return_to_active(&self, tenants: Vec<&str>) {
        let active = self.judging();
        for tenant in tenants {
            let returned = match active.guard(self.options) {
                Ok(guard) => self.change_warden(tenant, guard, &active).await.map_err(|error| error.reason),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = returned {
                self.journal.say(&self.metrics, "policy_refused", json!({"tenant": tenant, "error": error}));
            }
        }
    }

    /// Returns the ledger.
    pub(crate) fn ledger(&self) -> Option<&Arc<Ledger>> {
        self.ledger.as_ref()
    }

    /// Answers the earlier questions, and closes the wardens.
    pub(crate) fn close(&self) -> Result<(), WardenError> {
        for warden in self.wardens.values() {
            warden.handle.clone().close()?;
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

    /// Waits for the warden's answer.
    async fn wait<T: Send + 'static>(
        &self,
        tenant: &str,
        question: impl FnOnce(&WardenHandle, Box<dyn FnOnce(Result<T, Arc<WardenError>>) + Send>),
    ) -> Result<Result<T, Arc<WardenError>>, Unavailable> {
        let unavailable = |reason: String| Unavailable { reason };
        let warden = self.wardens.get(tenant).ok_or_else(|| unavailable("the tenant has no warden".to_owned()))?;
        let (sender, receiver) = oneshot::channel();
        // The receiver may be dropped meanwhile; the decision remains valid.
        question(&warden.handle, Box::new(move |answer| drop(sender.send(answer))));
        receiver.await.map_err(|_| unavailable("the warden is closed".to_owned()))
    }
}

/// Returns what events cost to decide on, as bytes of text.
fn count_cost(events: &[Event]) -> usize {
    events.iter().map(|event| EVENT_COST_BYTES + count_text_bytes(event)).sum()
}

/// Returns a guard for a policy, with the forecasts that the policy asks for.
fn make_guard(judge: Judge, policy: &Policy, options: GuardOptions) -> Result<Guard, StartError> {
    let foresight = Foresight::open(&judge, policy).map_err(|problem| StartError::new(problem.to_string()))?;
    Ok(Guard::new(judge, options).foreseeing(foresight))
}

/// Opens the labelers of a policy.
fn open(policy: &Policy, drift: &Arc<StoredDrift>) -> Result<Arc<OpenedLabelers>, StartError> {
    let drift: Arc<dyn DriftStore> = Arc::clone(drift) as _;
    let opened = open_labelers(policy, &OpenOptions::default().live().drift_store(drift));
    let describe = |problems: Vec<lictor_policy::Problem>| {
        StartError::new(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    opened.map(Arc::new).map_err(describe)
}

/// Returns the id of the exchange that events came with.
fn exchange_id(events: &[Event]) -> Option<String> {
    Some(events.first()?.more.get(EXCHANGE).and_then(Json::as_str)?.to_owned())
}

fn judge(policy: &Policy) -> Result<Judge, StartError> {
    Judge::new(policy)
        .map_err(|problems| StartError::new(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}
