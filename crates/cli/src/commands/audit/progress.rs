//! The progress of an audit on a terminal.

use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use lictor::audit::Progress;
use lictor::input::Input;

use super::interrupt::Interrupt;

/// A progress bar on standard error.
pub(super) struct AuditProgress {
    bar: ProgressBar,
    events: AtomicU64,
    interrupt: Interrupt,
}

impl AuditProgress {
    pub(super) fn new(inputs: &[Input], is_quiet: bool, interrupt: Interrupt) -> AuditProgress {
        let total: u64 = inputs.iter().filter_map(Input::size).sum();
        let bar = match is_quiet || !super::is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(total.max(1)),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {bytes}/{total_bytes} {msg} {eta}") {
            bar.set_style(style);
        }
        AuditProgress { bar, events: AtomicU64::new(0), interrupt }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for AuditProgress {
    fn advanced(&self, bytes: u64, events: u64) {
        let events = self.events.fetch_add(events, Ordering::Relaxed) + events;
        self.bar.set_message(format!("{events} events"));
        self.bar.inc(bytes);
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_pressed()
    }

    fn explained(&self, sessions: usize, all: usize) {
        // The log is read a second time for the sessions with findings.
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} sessions with findings explained {eta}") {
            self.bar.set_style(style);
        }
        self.bar.set_length(all as u64);
        self.bar.set_position(sessions as u64);
    }
}
