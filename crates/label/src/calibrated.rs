//! A labeler whose answers have chances.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use lictor_event::labeler::{Inquiry, Labeler};
use lictor_event::{Answer, AnswerValue, Event, Kind};

use crate::calibration::{Calibration, DriftWatch};

/// A labeler with the calibration of its answers. With a watch, its answers have no chances any more once the share of
/// yes among them is no longer that of the sample.
pub struct CalibratedLabeler {
    /// None for a labeler whose answers logs bring along.
    inner: Option<Arc<dyn Labeler>>,
    calibration: Calibration,
    watch: Option<Mutex<DriftWatch>>,
}

impl fmt::Debug for CalibratedLabeler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (labeler, calibration) = (self.version(), self.calibration.hash());
        f.debug_struct("CalibratedLabeler").field("labeler", &labeler).field("calibration", &calibration).finish()
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
    /// sessions happen to be read.
    #[must_use]
    pub fn watching(self) -> CalibratedLabeler {
        CalibratedLabeler { watch: Some(Mutex::new(DriftWatch::new(&self.calibration))), ..self }
    }

    /// Gives an answer its chance.
    fn calibrate(&self, answer: &mut Answer, kind: &Kind, tool: Option<&str>) {
        let is_suspended = self.watch.as_ref().is_some_and(|watch| {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch.observe(answer, kind, tool);
            watch.is_suspended(&answer.fact.name)
        });
        if !is_suspended {
            answer.chance = self.calibration.chance(answer, kind, tool).map(lictor_logic::Chance::to_f64);
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
            return failed.collect();
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
        let own = |answer: &&mut Answer| answer.by.as_deref() == Some(version);
        for answer in event.answers.iter_mut().filter(own) {
            self.calibrate(answer, &kind, tool.as_deref());
        }
    }
}
