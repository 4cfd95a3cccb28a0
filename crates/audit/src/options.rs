//! The options of an audit.

use std::collections::HashSet;
use std::sync::Arc;

use lictor_decode::input::{Input, InputLimits};
use lictor_decode::{Decoder, Format};
use lictor_event::order::ReorderWindow;
use lictor_json::Text;
use lictor_logic::Time;

use crate::answers::AnswerBook;
use crate::guarded_log::GuardedLog;

/// The options of an audit. Options that are not set keep their defaults.
///
/// ```
/// let options = lictor_audit::AuditOptions::default().threads(Some(2)).content(true);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditOptions {
    pub(crate) format: Option<Format>,
    pub(crate) threads: Option<usize>,
    pub(crate) content: bool,
    pub(crate) as_of: Option<Time>,
    pub(crate) today: Option<jiff::civil::Date>,
    pub(crate) reorder: Option<ReorderWindow>,
    pub(crate) baseline: HashSet<String>,
    pub(crate) limits: InputLimits,
    pub(crate) session_key: Option<Text>,
    pub(crate) join: Vec<Input>,
    pub(crate) answers: Option<Arc<AnswerBook>>,
    pub(crate) noise: bool,
    pub(crate) guarded: Vec<GuardedLog>,
}

impl Default for AuditOptions {
    fn default() -> AuditOptions {
        AuditOptions {
            format: None,
            threads: None,
            content: false,
            as_of: None,
            today: None,
            reorder: Some(ReorderWindow::default()),
            baseline: HashSet::new(),
            limits: InputLimits::default(),
            session_key: None,
            join: Vec::new(),
            answers: None,
            noise: false,
            guarded: Vec::new(),
        }
    }
}

impl AuditOptions {
    /// Sets the format of all files; none, the default, detects it for each.
    #[must_use]
    pub fn format(self, format: Option<Format>) -> AuditOptions {
        AuditOptions { format, ..self }
    }

    /// Sets the number of threads, 256 at most; none, the default, means one for each core.
    #[must_use]
    pub fn threads(self, threads: Option<usize>) -> AuditOptions {
        AuditOptions { threads, ..self }
    }

    /// Sets whether witnesses show content: texts, arguments and results; not by default.
    #[must_use]
    pub fn content(self, content: bool) -> AuditOptions {
        AuditOptions { content, ..self }
    }

    /// Sets the time as of which deadlines are evaluated; none, the default, evaluates them up to the last event.
    #[must_use]
    pub fn as_of(self, as_of: Option<Time>) -> AuditOptions {
        AuditOptions { as_of, ..self }
    }

    /// Sets today, by which suppressions expire; without it, the default, none expires.
    #[must_use]
    pub fn today(self, today: Option<jiff::civil::Date>) -> AuditOptions {
        AuditOptions { today, ..self }
    }

    /// Sets how far numbered events may come out of order; none ignores the numbers and judges events as they come.
    #[must_use]
    pub fn reorder(self, reorder: Option<ReorderWindow>) -> AuditOptions {
        AuditOptions { reorder, ..self }
    }

    /// Sets the fingerprints of known findings, which are not reported again.
    #[must_use]
    pub fn baseline(self, baseline: HashSet<String>) -> AuditOptions {
        AuditOptions { baseline, ..self }
    }

    /// Sets the limits of the inputs.
    #[must_use]
    pub fn limits(self, limits: InputLimits) -> AuditOptions {
        AuditOptions { limits, ..self }
    }

    /// Sets the path of the member by which records name their session; none, the default, means the usual ones.
    #[must_use]
    pub fn session_key(self, session_key: Option<Text>) -> AuditOptions {
        AuditOptions { session_key, ..self }
    }

    /// Sets the files with entries of other systems, such as approvals and consents, which an audit judges as events of
    /// the sessions they belong to; none by default. Their format is detected. They are held in memory.
    #[must_use]
    pub fn join(self, join: Vec<Input>) -> AuditOptions {
        AuditOptions { join, ..self }
    }

    /// Sets the answers of labelers, and the labelers that are asked for missing ones; none by default, so that only the
    /// answers in the logs count.
    #[must_use]
    pub fn answers(self, answers: Option<Arc<AnswerBook>>) -> AuditOptions {
        AuditOptions { answers, ..self }
    }

    /// Sets whether the report names the labels on which each finding rests alone; not by default.
    #[must_use]
    pub fn noise(self, noise: bool) -> AuditOptions {
        AuditOptions { noise, ..self }
    }

    /// Sets what guards did with the events of logs that they wrote; nothing by default.
    #[must_use]
    pub fn guarded(self, guarded: Vec<GuardedLog>) -> AuditOptions {
        AuditOptions { guarded, ..self }
    }

    /// Returns a decoder for one file.
    pub(crate) fn decoder(&self, format: Format) -> Box<dyn Decoder> {
        match &self.session_key {
            Some(key) => format.decoder_by_session_key(key),
            None => format.decoder(),
        }
    }

    /// Returns the limits of the inputs, to find the inputs within them.
    pub fn input_limits(&self) -> &InputLimits {
        &self.limits
    }

    /// Returns the files with entries of other systems.
    pub fn joined_inputs(&self) -> &[Input] {
        &self.join
    }
}
