//! A labeler whose answers have chances.
//!
//! Live answers are watched for drift. Once the share of yes answers about a fact is no longer that of the calibration's
//! sample, answers about it have no chance any more and say [why](lictor_event::DRIFT), until a new calibration is fitted.
//! Each tenant has a watch of its own: the texts of one say nothing about those of another.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use lictor_event::labeler::{Inquiry, Labeler, name_of};
use lictor_event::{Answer, AnswerValue, DRIFT, Event, Kind};
use lictor_json::{Json, Text};

use crate::calibration::{Calibration, DriftWatch};
use crate::generations::Generations;

/// How many answers are counted before the counts are saved. They are also saved when a fact is suspended, and at the end.
const SAVE_INTERVAL: u32 = 50;

/// How many keys of answers are remembered, so that an answer that is given again counts once.
const MAX_COUNTED_KEYS: usize = 10_000;

/// Why an answer has no chance: its fact has no calibration that passed, or it is unlike all answers of the sample.
const UNWEIGHED: &str = "unweighed";

/// Why an answer has no chance: the calibration is of another version of the labeler.
const OTHER_VERSION: &str = "other_version";

/// Keeps the counts of watches for drift between runs, by the tenant and the name of the labeler.
pub trait DriftStore: Send + Sync {
    /// Returns the counts that were saved last, by this process or another.
    fn load(&self, tenant: &str, labeler: &str) -> Option<Json>;

    /// Saves counts. They are a help and no record: what cannot be saved is lost.
    fn save(&self, tenant: &str, labeler: &str, counts: &Json);
}

/// A labeler with the calibration of its answers. With a watch, its answers have no chances any more once the share of
/// yes among them is no longer that of the sample.
pub struct CalibratedLabeler {
    /// None for a labeler whose answers logs bring along.
    inner: Option<Arc<dyn Labeler>>,
    calibration: Calibration,
    watches: Option<LiveWatches>,
}

/// The watches of live answers by tenant, and where their counts are kept.
struct LiveWatches {
    by_tenant: Mutex<BTreeMap<Text, LiveWatch>>,
    store: WatchStore,
}

/// The store of counts, and the name of the labeler in it.
type WatchStore = Option<(Text, Arc<dyn DriftStore>)>;

/// The watch of the live answers of one tenant.
struct LiveWatch {
    tenant: Text,
    drift: DriftWatch,
    counted: Generations<Text, ()>,
    unsaved: u32,
}

impl fmt::Debug for CalibratedLabeler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (labeler, calibration) = (self.version(), self.calibration.hash());
        f.debug_struct("CalibratedLabeler").field("labeler", &labeler).field("calibration", &calibration).finish()
    }
}

impl LiveWatch {
    /// Returns the watch of a tenant, with the counts that were kept.
    fn open(calibration: &Calibration, tenant: &str, store: &WatchStore) -> LiveWatch {
        let kept = store.as_ref().and_then(|(name, store)| store.load(tenant, name));
        // Counts of another calibration say nothing about this one.
        let restored = kept.and_then(|counts| DriftWatch::restore(calibration, &counts).ok());
        let drift = restored.unwrap_or_else(|| DriftWatch::new(calibration));
        LiveWatch { tenant: tenant.into(), drift, counted: Generations::new(MAX_COUNTED_KEYS), unsaved: 0 }
    }

    /// Counts an answer about an event, and returns whether its fact is suspended.
    fn observe(
        &mut self,
        calibration: &Calibration,
        store: &WatchStore,
        answer: &Answer,
        (kind, tool): (&Kind, Option<&str>),
    ) -> bool {
        let fact = &*answer.fact.name;
        let is_known = answer.key.as_ref().is_some_and(|key| self.counted.touch(key).is_some());
        if !is_known {
            if let Some(key) = &answer.key {
                self.counted.insert(key.clone(), ());
            }
            let was_suspended = self.drift.is_suspended(fact);
            self.drift.observe(answer, kind, tool);
            self.unsaved += 1;
            if self.unsaved >= SAVE_INTERVAL || self.drift.is_suspended(fact) != was_suspended {
                self.save(calibration, store);
            }
        }
        self.drift.is_suspended(fact)
    }

    fn save(&mut self, calibration: &Calibration, store: &WatchStore) {
        self.unsaved = 0;
        let Some((name, store)) = store else { return };
        // Another process with the same calibration may have found drift, which then holds here, too.
        if let Some(counts) = store.load(&self.tenant, name) {
            self.drift.adopt_suspensions(calibration, &counts);
        }
        store.save(&self.tenant, name, &self.drift.to_json());
    }
}

impl CalibratedLabeler {
    /// Returns a labeler whose answers get chances.
    pub fn new(inner: Arc<dyn Labeler>, calibration: Calibration) -> CalibratedLabeler {
        CalibratedLabeler::over(Some(inner), calibration)
    }

    /// Returns a labeler that is never asked: the answers of the calibrated labeler that events bring along get chances.
    pub fn of_logs(calibration: Calibration) -> CalibratedLabeler {
        CalibratedLabeler::over(None, calibration)
    }

    fn over(inner: Option<Arc<dyn Labeler>>, calibration: Calibration) -> CalibratedLabeler {
        CalibratedLabeler { inner, calibration, watches: None }
    }

    /// Watches the answers of live traffic for drift. An audit must not: its result would depend on the order in which
    /// sessions happen to be read. Without a store, under the name of the labeler, the counts end with the process.
    #[must_use]
    pub fn watching(mut self, store: Option<(Text, Arc<dyn DriftStore>)>) -> CalibratedLabeler {
        self.watches = Some(LiveWatches { by_tenant: Mutex::default(), store });
        self
    }

    /// Calls a function with the watch of a tenant, if live answers are watched.
    fn with_watch<T>(&self, tenant: &str, call: impl FnOnce(&mut LiveWatch, &WatchStore) -> T) -> Option<T> {
        let LiveWatches { by_tenant, store } = self.watches.as_ref()?;
        let mut by_tenant = by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        if !by_tenant.contains_key(tenant) {
            by_tenant.insert(tenant.into(), LiveWatch::open(&self.calibration, tenant, store));
        }
        by_tenant.get_mut(tenant).map(|watch| call(watch, store))
    }

    /// Returns the facts that are watched for drift, and whether the chances of each are suspended for a tenant.
    pub fn drift(&self, tenant: &str) -> Vec<(Text, bool)> {
        let read = |watch: &mut LiveWatch, _: &WatchStore| {
            watch.drift.facts().map(|(fact, is_out)| (fact.into(), is_out)).collect()
        };
        self.with_watch(tenant, read).unwrap_or_default()
    }

    /// Gives an answer about an event of a tenant its chance.
    fn calibrate(&self, tenant: &str, answer: &mut Answer, kind: &Kind, tool: Option<&str>) {
        let is_plain = matches!(answer.says, AnswerValue::Yes | AnswerValue::No);
        let observe =
            |watch: &mut LiveWatch, store: &WatchStore| watch.observe(&self.calibration, store, answer, (kind, tool));
        let is_suspended = is_plain && self.with_watch(tenant, observe).unwrap_or(false);
        match is_suspended {
            true => answer.why = Some(Text::const_new(DRIFT)),
            false => answer.chance = self.calibration.chance(answer, kind, tool).map(lictor_logic::Chance::to_f64),
        }
        if is_plain && answer.chance.is_none() && answer.why.is_none() {
            answer.why = Some(Text::const_new(UNWEIGHED));
        }
    }
}

impl Drop for CalibratedLabeler {
    fn drop(&mut self) {
        let Some(LiveWatches { by_tenant, store }) = &mut self.watches else { return };
        let by_tenant = by_tenant.get_mut().unwrap_or_else(PoisonError::into_inner);
        for watch in by_tenant.values_mut().filter(|watch| watch.unsaved > 0) {
            watch.save(&self.calibration, store);
        }
    }
}

impl Labeler for CalibratedLabeler {
    fn version(&self) -> &str {
        self.inner.as_ref().map_or(self.calibration.labeler(), |inner| inner.version())
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        let event = inquiry.event;
        let Some(inner) = &self.inner else {
            let failed = inquiry.questions.iter().map(|it| Answer::new(it.fact.clone(), AnswerValue::Failed));
            return failed.map(|answer| answer.because("not_asked")).collect();
        };
        let mut answers = inner.answer(inquiry);
        let tool = event.tool.as_deref();
        answers.iter_mut().for_each(|answer| self.calibrate(inquiry.tenant, answer, &event.kind, tool));
        answers
    }

    fn is_asked(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_asked())
    }

    fn complete(&self, tenant: &str, event: &mut Event) {
        let (kind, tool, version) = (event.kind.clone(), event.tool.clone(), self.version());
        let is_own = |answer: &&mut Answer| answer.by.as_deref().map(name_of) == Some(name_of(version));
        for answer in event.answers.iter_mut().filter(is_own) {
            match answer.by.as_deref() == Some(version) {
                true => self.calibrate(tenant, answer, &kind, tool.as_deref()),
                false => answer.why = Some(Text::const_new(OTHER_VERSION)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
