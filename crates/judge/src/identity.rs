//! The identity of judges and of compiled policies: data of one must not be read by another.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tells one judge or compiled policy of this process from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64);

impl Identity {
    /// Returns an identity that no other has.
    pub(crate) fn new() -> Identity {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Only the number has to be different; no other memory depends on it.
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
