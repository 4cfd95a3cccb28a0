//! Keeps the counts of the watch for drift in the store of the sessions, so that drift that was found still holds after a
//! restart. Several processes over one store share what they find.

use std::sync::Arc;

use lictor_json::Json;
use lictor_label::calibrated::DriftStore;
use lictor_store::{Change, ExpectedVersion, Store};

use crate::tenant_store::escaped;

/// The counts of drift in a store.
pub struct StoredDrift {
    store: Arc<dyn Store>,
}

impl StoredDrift {
    /// Returns the counts in a store.
    pub fn new(store: Arc<dyn Store>) -> StoredDrift {
        StoredDrift { store }
    }
}

impl std::fmt::Debug for StoredDrift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredDrift").finish_non_exhaustive()
    }
}

impl DriftStore for StoredDrift {
    fn load(&self, tenant: &str, labeler: &str) -> Option<Json> {
        let stored = self.store.load(&key(tenant, labeler)).ok()??;
        lictor_json::parse(&stored.value).ok()
    }

    fn save(&self, tenant: &str, labeler: &str, counts: &Json) {
        let key = key(tenant, labeler);
        let Ok(known) = self.store.load(&key) else { return };
        let expected = known.map_or(ExpectedVersion::Absent, |stored| ExpectedVersion::Version(stored.version));
        // If another process saves at the same time, its counts stay; the next save of this one reads them first.
        drop(self.store.save(&[Change::put(key, expected, counts.to_string())]));
    }
}

fn key(tenant: &str, labeler: &str) -> String {
    format!("drift/{}/{}", escaped(tenant), escaped(labeler))
}

#[cfg(test)]
mod tests {
    use lictor_store::MemoryStore;

    use super::*;

    #[test]
    fn drift_counts_are_kept_by_tenant_and_labeler() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let drift = StoredDrift::new(Arc::clone(&store));
        assert_eq!(drift.load("", "small"), None);
        for (number, (tenant, labeler)) in
            [("", "small"), ("", "small"), ("", "a/x"), ("a", "x"), ("b", "x")].iter().enumerate()
        {
            drift.save(tenant, labeler, &Json::from(number as i64));
        }
        let again = StoredDrift::new(store);
        let kept = [("", "small", 1), ("", "a/x", 2), ("a", "x", 3), ("b", "x", 4)];
        for (tenant, labeler, number) in kept {
            assert_eq!(again.load(tenant, labeler), Some(Json::from(number)), "{tenant} {labeler}");
        }
        assert_eq!(again.load("a", "small"), None);
    }
}
