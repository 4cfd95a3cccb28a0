//! The number of requests in flight is limited; the others wait for a slot until their deadline.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::clock::Deadline;

/// Slots for requests in flight.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A slot in use. Dropping it frees it.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    slots: &'a Slots,
}

impl Slots {
    /// Returns that many free slots, at least one.
    pub(crate) fn new(count: usize) -> Slots {
        Slots { free: Mutex::new(count.max(1)), returned: Condvar::new() }
    }

    /// Waits for a slot; none if the deadline passes first.
    pub(crate) fn take(&self, deadline: Deadline) -> Option<Slot<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            let left = deadline.time_left()?;
            (free, _) = self.returned.wait_timeout(free, left).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Some(Slot { slots: self })
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.slots.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.slots.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn slots_limit_what_runs_at_once() {
        let slots = Slots::new(2);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let slot = slots.take(Deadline::begin(Duration::from_secs(60))).unwrap();
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                        drop(slot);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
    }

    #[test]
    fn slot_is_refused_at_the_deadline() {
        let slots = Slots::new(1);
        let _held = slots.take(Deadline::begin(Duration::from_secs(60))).unwrap();
        assert!(slots.take(Deadline::begin(Duration::from_millis(1))).is_none());
    }
}
