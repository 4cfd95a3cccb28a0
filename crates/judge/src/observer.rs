//! Observers read every decision, finding and notice, in order.
//!
//! A [`Feed`] is a bounded buffer that deciders publish to and any number of observers read at their own pace.
//! Publishing never waits: an observer that is too slow loses the oldest entries and gets their number. So a page or a
//! collector can never slow a decision down.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lictor_judge::observer::{Feed, FeedEntry};
//!
//! let feed = Feed::with_capacity(2);
//! let mut reader = feed.subscribe();
//! for text in ["first", "second", "third"] {
//!     feed.publish(FeedEntry::Notice { session: None, text: text.into() });
//! }
//! let batch = reader.read();
//! assert_eq!((batch.lost, batch.entries.len()), (1, 2));
//! assert!(matches!(&*batch.entries[0], FeedEntry::Notice { text, .. } if text == "second"));
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lictor_json::Text;

use crate::decision::Decision;
use crate::finding::Finding;

/// How many entries a feed holds by default.
const DEFAULT_CAPACITY: usize = 4096;

/// One entry of a feed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FeedEntry {
    /// A decision on an event.
    Decision(Arc<Decision>),
    /// A violation without an event: a deadline passed, or a session ended with an obligation open.
    Finding(Box<Finding>),
    /// Anything else that operators should know: a policy was reloaded, a session ended.
    Notice {
        /// The session that it is about.
        session: Option<Text>,
        /// What happened, in one sentence.
        text: String,
    },
}

/// Observes what is published to a feed.
pub trait Observer {
    /// Takes the next entry.
    fn observe(&mut self, entry: &FeedEntry);

    /// Notes that entries were lost, because the observer was too slow for the feed's capacity.
    fn lost(&mut self, count: u64);
}

/// A bounded buffer of entries. Clones are the same feed.
#[derive(Clone, Debug)]
pub struct Feed {
    shared: Arc<FeedState>,
}

#[derive(Debug)]
struct FeedState {
    buffer: Mutex<Buffer>,
    published: Condvar,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Buffer {
    entries: VecDeque<Arc<FeedEntry>>,
    /// The number of the first entry of the buffer, from zero.
    first: u64,
    is_closed: bool,
    /// Whether an observer ever subscribed: without observers nothing is buffered.
    has_observers: bool,
}

/// A place in a feed from which one observer reads.
#[derive(Debug)]
pub struct FeedReader {
    shared: Arc<FeedState>,
    next: u64,
}

/// The entries that a reader has not read yet, in order.
#[derive(Clone, Debug, Default)]
pub struct FeedBatch {
    /// How many entries were lost before these.
    pub lost: u64,
    /// The entries.
    pub entries: Vec<Arc<FeedEntry>>,
    /// Whether the feed is closed, and these are the last.
    pub is_closed: bool,
}

impl Default for Feed {
    fn default() -> Feed {
        Feed::with_capacity(DEFAULT_CAPACITY)
    }
}

impl Feed {
    /// Returns an empty feed that holds so many entries, at least one.
    pub fn with_capacity(capacity: usize) -> Feed {
        let shared = FeedState { buffer: Mutex::default(), published: Condvar::new(), capacity: capacity.max(1) };
        Feed { shared: Arc::new(shared) }
    }

    /// Adds an entry, and drops the oldest one if the feed is full. It never waits for a reader.
    pub fn publish(&self, entry: FeedEntry) {
        let mut buffer = self.shared.lock();
        if !buffer.has_observers {
            return;
        }
        if buffer.entries.len() == self.shared.capacity {
            buffer.entries.pop_front();
            buffer.first += 1;
        }
        buffer.entries.push_back(Arc::new(entry));
        drop(buffer);
        self.shared.published.notify_all();
    }

    /// Whether an observer has subscribed. If not, entries need not be built.
    pub fn has_observers(&self) -> bool {
        self.shared.lock().has_observers
    }

    /// Returns a reader of everything that is published from now on.
    pub fn subscribe(&self) -> FeedReader {
        let mut buffer = self.shared.lock();
        buffer.has_observers = true;
        let next = buffer.end();
        FeedReader { shared: Arc::clone(&self.shared), next }
    }

    /// Closes the feed: readers get the remaining entries, and then see that it is closed.
    pub fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.published.notify_all();
    }
}

impl Buffer {
    /// The number of the next entry.
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

impl FeedState {
    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FeedReader {
    /// Returns the entries published since the last call, without waiting.
    pub fn read(&mut self) -> FeedBatch {
        let shared = Arc::clone(&self.shared);
        self.take(&shared.lock())
    }

    /// Waits until something is published, the feed is closed or the timeout passes, and returns the new entries.
    pub fn wait(&mut self, timeout: Duration) -> FeedBatch {
        let shared = Arc::clone(&self.shared);
        let next = self.next;
        let is_idle = |buffer: &mut Buffer| buffer.end() == next && !buffer.is_closed;
        let waited = shared.published.wait_timeout_while(shared.lock(), timeout, is_idle);
        let (buffer, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.take(&buffer)
    }

    /// Passes all entries to an observer, until the feed is closed.
    pub fn drive(&mut self, observer: &mut dyn Observer) {
        loop {
            let FeedBatch { lost, entries, is_closed } = self.wait(Duration::from_secs(60));
            if lost > 0 {
                observer.lost(lost);
            }
            entries.iter().for_each(|entry| observer.observe(entry));
            if is_closed {
                return;
            }
        }
    }

    fn take(&mut self, buffer: &Buffer) -> FeedBatch {
        let lost = buffer.first.saturating_sub(self.next);
        let skip = self.next.saturating_sub(buffer.first) as usize;
        let entries = buffer.entries.iter().skip(skip).cloned().collect();
        self.next = buffer.end();
        FeedBatch { lost, entries, is_closed: buffer.is_closed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(number: usize) -> FeedEntry {
        FeedEntry::Notice { session: None, text: number.to_string() }
    }

    /// Collects the numbers of notices, and how many were lost.
    #[derive(Default)]
    struct Collector {
        seen: Vec<usize>,
        lost: u64,
    }

    impl Observer for Collector {
        fn observe(&mut self, entry: &FeedEntry) {
            if let FeedEntry::Notice { text, .. } = entry {
                self.seen.push(text.parse().unwrap());
            }
        }

        fn lost(&mut self, count: u64) {
            self.lost += count;
        }
    }

    #[test]
    fn feed_delivers_every_entry_in_order() {
        let feed = Feed::default();
        let mut readers = [feed.subscribe(), feed.subscribe()];
        let publisher = feed.clone();
        let thread = std::thread::spawn(move || {
            (0..1000).for_each(|number| publisher.publish(notice(number)));
            publisher.close();
        });
        for reader in &mut readers {
            let mut collector = Collector::default();
            reader.drive(&mut collector);
            assert_eq!((collector.seen, collector.lost), ((0..1000).collect(), 0));
        }
        thread.join().unwrap();
    }

    #[test]
    fn slow_reader_loses_oldest_and_learns_count() {
        let feed = Feed::with_capacity(10);
        let mut reader = feed.subscribe();
        (0..100).for_each(|number| feed.publish(notice(number)));
        feed.close();
        let mut collector = Collector::default();
        reader.drive(&mut collector);
        assert_eq!((collector.seen, collector.lost), ((90..100).collect(), 90));
    }

    #[test]
    fn feed_without_observers_keeps_nothing() {
        let feed = Feed::default();
        feed.publish(notice(1));
        assert!(!feed.has_observers());
        assert!(feed.subscribe().read().entries.is_empty());
    }
}
