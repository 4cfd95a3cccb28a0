//! Ctrl-C: the first one ends an audit early, with a report of what is judged so far; the second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::complaint;
use crate::exit::Outcome;

/// Whether the user pressed Ctrl-C.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for Ctrl-C from now on.
    pub(super) fn listen() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let pressed = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listen = move || {
            runtime.block_on(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    pressed.0.store(true, Ordering::Relaxed);
                    complaint::note(
                        "stopping; the report covers what is judged so far. Press Ctrl-C again to quit at once",
                    );
                }
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(i32::from(Outcome::Interrupted.code()));
                }
            });
        };
        std::thread::Builder::new().name("interrupt".into()).spawn(listen).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Whether the user pressed it.
    pub(super) fn is_pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
