//! Publishes decisions and findings to observers, once they are durable.

use std::sync::Arc;

use lictor_judge::observer::{Feed, FeedEntry};

use crate::answer::{Notice, TimeOutcome, WardenAnswer};
use crate::warden::Warden;

impl Warden {
    /// Publishes every decision and every finding to a feed, after it is saved and recorded and before the caller is
    /// answered. The ledger is no observer: it must not lose a record, and a decision waits for it.
    #[must_use]
    pub fn observed_by(mut self, feed: Feed) -> Warden {
        self.feed = Some(feed);
        self
    }

    pub(crate) fn publish(&self, entry: impl FnOnce() -> FeedEntry) {
        if let Some(feed) = self.feed.as_ref().filter(|feed| feed.has_observers()) {
            feed.publish(entry());
        }
    }

    pub(crate) fn publish_answers(&self, answers: &[WardenAnswer]) {
        for answer in answers.iter().filter(|answer| !answer.is_duplicate) {
            self.publish(|| FeedEntry::Decision(Arc::clone(&answer.decision)));
            self.publish_notices(&answer.owed);
        }
    }

    pub(crate) fn publish_notices(&self, notices: &[Notice]) {
        for notice in notices {
            self.publish(|| match &notice.news {
                TimeOutcome::Late(finding) => FeedEntry::Finding(finding.clone()),
                TimeOutcome::Settled(decision) => FeedEntry::Decision(Arc::new((**decision).clone())),
            });
        }
    }
}
