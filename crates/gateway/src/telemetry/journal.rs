//! The journal: one JSON object a line, written by a thread of its own.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};

use serde_json::{Map, Value, json};

use super::Metrics;

/// How many lines are buffered.
const MAX_BUFFERED_LINES: usize = 4096;

/// A sender of lines for the journal.
#[derive(Clone, Debug)]
pub struct Journal {
    sender: Option<SyncSender<String>>,
}

impl Journal {
    /// Returns a journal that drops all lines.
    pub fn silent() -> Journal {
        Journal { sender: None }
    }

    /// Returns a journal that writes to `out`. Lines that cannot be written are lost.
    pub fn new(mut out: impl Write + Send + 'static) -> Journal {
        let (sender, receiver) = sync_channel::<String>(MAX_BUFFERED_LINES);
        let spawned = std::thread::Builder::new().name("journal".into()).spawn(move || {
            for line in receiver {
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            }
        });
        Journal { sender: spawned.is_ok().then_some(sender) }
    }

    /// Whether the journal is written.
    pub(crate) fn is_kept(&self) -> bool {
        self.sender.is_some()
    }

    /// Writes a line with the time, the name of the event and more members.
    pub(crate) fn say(&self, metrics: &Arc<Metrics>, what: &str, more: Value) {
        let Some(sender) = &self.sender else { return };
        let mut line = Map::new();
        line.insert("time".into(), json!(jiff::Timestamp::now().to_string()));
        line.insert("event".into(), json!(what));
        if let Value::Object(more) = more {
            line.extend(more);
        }
        if sender.try_send(format!("{}\n", Value::Object(line))).is_err() {
            metrics.telemetry_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
