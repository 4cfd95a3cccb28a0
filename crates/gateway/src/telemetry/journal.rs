//! The log of operation: one JSON object a line, written by a thread of its own.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};

use serde_json::{Map, Value, json};

use super::Metrics;

/// Lines that may wait for the thread.
const WAITING: usize = 4096;

/// Where lines of the log go.
#[derive(Clone, Debug)]
pub struct Journal {
    sender: Option<SyncSender<String>>,
}

impl Journal {
    /// A log that nobody keeps.
    pub fn silent() -> Journal {
        Journal { sender: None }
    }

    /// A log that is written there. What cannot be written is lost: nothing waits for it.
    pub fn new(mut out: impl Write + Send + 'static) -> Journal {
        let (sender, receiver) = sync_channel::<String>(WAITING);
        let spawned = std::thread::Builder::new().name("journal".into()).spawn(move || {
            for line in receiver {
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            }
        });
        Journal { sender: spawned.is_ok().then_some(sender) }
    }

    /// Whether anybody keeps it.
    pub(crate) fn is_kept(&self) -> bool {
        self.sender.is_some()
    }

    /// Writes a line: what happened, with the time before it.
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
