//! Logs which unknown fields are stripped from replies: each name once for each process, and a bounded number of names.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use lictor_wire::Api;
use serde_json::json;

use super::decision_line::loggable;
use super::{Journal, Metrics};

/// The most names that are logged.
const MAX_NAMES: usize = 256;

/// The names of fields that were logged.
#[derive(Debug, Default)]
pub(crate) struct StrippedLog(Mutex<BTreeSet<(&'static str, String)>>);

impl StrippedLog {
    /// Logs the names that are new.
    pub(crate) fn log(&self, api: Api, names: Vec<String>, journal: &Journal, metrics: &Arc<Metrics>) {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            if logged.len() < MAX_NAMES && logged.insert((api.name(), name.clone())) {
                let line = json!({"api": api.name(), "field": loggable(&name)});
                journal.say(metrics, "field_stripped", line);
            }
        }
    }
}
