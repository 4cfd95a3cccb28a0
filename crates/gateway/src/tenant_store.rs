//! A tenant's part of a store, as a store: all keys get the tenant's prefix, except those that begin with `/`. Those
//! are shared by all tenants, and can be saved atomically with the tenant's own.

use std::sync::Arc;

use lictor_store::{Change, Store, StoreError, StoredValue};

/// A tenant's part of a store.
pub(crate) struct TenantStore {
    inner: Arc<dyn Store>,
    prefix: String,
}

impl TenantStore {
    /// Returns the part of a tenant. Names are escaped, so no tenant's prefix is a prefix of another's.
    pub(crate) fn new(inner: Arc<dyn Store>, tenant: &str) -> TenantStore {
        TenantStore { inner, prefix: prefix(tenant) }
    }

    fn own(&self, key: &str) -> String {
        key.strip_prefix('/').map_or_else(|| format!("{}{key}", self.prefix), str::to_owned)
    }

    fn outer(&self, key: String) -> String {
        key.strip_prefix(&self.prefix).map_or_else(|| format!("/{key}"), str::to_owned)
    }

    /// Returns the error with the key as the tenant knows it.
    fn inside(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Conflict { key } => StoreError::Conflict { key: self.outer(key) },
            other => other,
        }
    }
}

impl Store for TenantStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        self.inner.load(&self.own(key))
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        let found = self.inner.scan(&self.own(prefix))?;
        Ok(found.into_iter().map(|(key, stored)| (self.outer(key), stored)).collect())
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        let after = after.map(|after| self.own(after));
        let found = self.inner.keys(&self.own(prefix), after.as_deref(), limit)?;
        Ok(found.into_iter().map(|key| self.outer(key)).collect())
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        let own = |change: &Change| Change { key: self.own(&change.key), ..change.clone() };
        let changes: Vec<Change> = changes.iter().map(own).collect();
        self.inner.save(&changes).map_err(|error| self.inside(error))
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn is_private(&self) -> bool {
        self.inner.is_private()
    }
}

/// Returns the prefix of a tenant's keys.
pub(crate) fn prefix(tenant: &str) -> String {
    format!("tenant/{}/", escaped(tenant))
}

/// Returns a name as a part of a key: letters, digits and `-` unchanged, all other bytes in hexadecimal.
pub(crate) fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use lictor_store::{ExpectedVersion, MemoryStore};

    use super::*;

    #[test]
    fn tenant_store_saves_shared_keys_atomically() {
        let whole: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let part = TenantStore::new(Arc::clone(&whole), "a/b");
        let put = |key: &str| Change::put(key, ExpectedVersion::Absent, "x");
        part.save(&[put("session/s"), put("/rows/1")]).unwrap();
        assert_eq!(whole.keys("", None, 9).unwrap(), ["rows/1", "tenant/a%2fb/session/s"]);
        assert_eq!(part.keys("", None, 9).unwrap(), ["session/s"]);
        let again = part.save(&[put("/rows/1"), put("session/t")]);
        assert!(matches!(again, Err(StoreError::Conflict { key }) if key == "/rows/1"));
        assert_eq!(part.load("session/t").unwrap().map(|stored| stored.version), None, "all of it or nothing");
    }
}
