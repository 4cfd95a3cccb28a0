//! How many bytes of bodies are in memory, of all exchanges together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of all exchanges in flight, and their bound.
#[derive(Debug)]
pub(crate) struct BytesInFlight {
    used: AtomicUsize,
    most: usize,
}

/// The bytes of one exchange, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    all: Arc<BytesInFlight>,
    own: AtomicUsize,
}

/// The bound is reached: the bytes are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BytesRefused;

impl BytesInFlight {
    /// Returns an account with a bound.
    pub(crate) fn new(most: usize) -> Arc<BytesInFlight> {
        Arc::new(BytesInFlight { used: AtomicUsize::new(0), most })
    }

    /// Returns how many bytes are in flight.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Begins to count the bytes of an exchange.
    pub(crate) fn hold(self: &Arc<Self>) -> HeldBytes {
        HeldBytes { all: Arc::clone(self), own: AtomicUsize::new(0) }
    }
}

impl HeldBytes {
    /// Adds bytes, unless all exchanges together would then have more than the bound.
    pub(crate) fn add(&self, bytes: usize) -> Result<(), BytesRefused> {
        let used = self.all.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used > self.all.most {
            self.all.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(BytesRefused);
        }
        self.own.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.all.used.fetch_sub(*self.own.get_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_flight_are_bounded_and_returned() {
        let all = BytesInFlight::new(100);
        let (one, two) = (all.hold(), all.hold());
        assert!(one.add(60).is_ok() && two.add(40).is_ok());
        assert_eq!(two.add(1), Err(BytesRefused));
        assert_eq!(all.used(), 100);
        drop(one);
        assert_eq!(all.used(), 40);
        assert!(two.add(60).is_ok());
        drop(two);
        assert_eq!(all.used(), 0);
    }
}
