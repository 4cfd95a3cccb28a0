//! A labeler whose answers have chances.
//!
//! Live answers are watched for drift. Once the share of yes answers about a fact is no longer that of the calibration's
//! sample, answers about it have no chance any more and say [why](lictor_event::DRIFT), until a new calibration is fitted.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Keeps the counts of a watch for drift between runs, by the name of the labeler.
pub trait DriftStore: Send + Sync {
    /// Returns the counts that were saved last, by this process or another.
    fn load(&self, labeler: &str) -> Option<Json>;

    /// Saves counts. They are a help and no record: what cannot be saved is lost.
    fn save(&self, labeler: &str, counts: &Json);
}

/// A labeler with the calibration of its answers. With a watch, its answers have no chances any more once the share of
/// yes among them is no longer that of the sample.
pub struct CalibratedLabeler {
    /// None for a labeler whose answers logs bring along.
    inner: Option<Arc<dyn Labeler>>,
    calibration: Calibration,
    watch: Option<Mutex<LiveWatch>>,
}

/// The watch of live answers, and where its counts are kept.
struct LiveWatch {
    drift: DriftWatch,
    counted: Generations<Text, ()>,
    unsaved: u32,
    store: Option<(Text, Arc<dyn DriftStore>)>,
}

impl fmt::Debug for CalibratedLabeler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (labeler, calibration) = (self.version(), self.calibration.hash());
        f.debug_struct("CalibratedLabeler").field("labeler", &labeler).field("calibration", &calibration).finish()
    }
}

impl LiveWatch {
    /// Counts an answer, and returns whether its fact is suspended.
    fn observe(&mut self, calibration: &Calibration, answer: &Answer, kind: &Kind, tool: Option<&str>) -> bool {
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
                self.save(calibration);
            }
        }
        self.drift.is_suspended(fact)
    }

    fn save(&mut self, calibration: &Calibration) {
        self.unsaved = 0;
        let Some((name, store)) = &self.store else { return };
        // Another process with the same calibration may have found drift, which then holds here, too.
        if let Some(counts) = store.load(name) {
            self.drift.adopt_suspensions(calibration, &counts);
        }
        store.save(name, &self.drift.to_json());
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
        CalibratedLabeler { inner, calibration, watch: None }
    }

    /// Watches the answers of live traffic for drift. An audit must not: its result would depend on the order in which
    /// sessions happen to be read. Without a store, under the name of the labeler, the counts end with the process.
    #[must_use]
    pub fn watching(mut self, store: Option<(Text, Arc<dyn DriftStore>)>) -> CalibratedLabeler {
        let kept = store.as_ref().and_then(|(name, store)| store.load(name));
        // Counts of another calibration say nothing about this one.
        let restored = kept.and_then(|counts| DriftWatch::restore(&self.calibration, &counts).ok());
        let drift = restored.unwrap_or_else(|| DriftWatch::new(&self.calibration));
        let watch = LiveWatch { drift, counted: Generations::new(MAX_COUNTED_KEYS), unsaved: 0, store };
        self.watch = Some(Mutex::new(watch));
        self
    }

    fn lock(&self) -> Option<MutexGuard<'_, LiveWatch>> {
        self.watch.as_ref().map(|watch| watch.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the facts that are watched for drift, and whether the chances of each are suspended.
    pub fn drift(&self) -> Vec<(Text, bool)> {
        let watch = self.lock();
        watch.iter().flat_map(|watch| watch.drift.facts()).map(|(fact, is_out)| (fact.into(), is_out)).collect()
    }

    /// Gives an answer its chance.
    fn calibrate(&self, answer: &mut Answer, kind: &Kind, tool: Option<&str>) {
        let is_plain = matches!(answer.says, AnswerValue::Yes | AnswerValue::No);
        let is_suspended =
            is_plain && self.lock().is_some_and(|mut watch| watch.observe(&self.calibration, answer, kind, tool));
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
        if let Some(mut watch) = self.lock().filter(|watch| watch.unsaved > 0) {
            watch.save(&self.calibration);
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
        answers.iter_mut().for_each(|answer| self.calibrate(answer, &event.kind, event.tool.as_deref()));
        answers
    }

    fn is_asked(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_asked())
    }

    fn complete(&self, event: &mut Event) {
        let (kind, tool, version) = (event.kind.clone(), event.tool.clone(), self.version());
        let is_own = |answer: &&mut Answer| answer.by.as_deref().map(name_of) == Some(name_of(version));
        for answer in event.answers.iter_mut().filter(is_own) {
            match answer.by.as_deref() == Some(version) {
                true => self.calibrate(answer, &kind, tool.as_deref()),
                false => answer.why = Some(Text::const_new(OTHER_VERSION)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
