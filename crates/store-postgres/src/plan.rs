//! The plan of a transaction: the writes for several saves, computed from the versions that it found and locked.
//!
//! All saves of one transaction give the same version. That is enough: a version becomes known only when the
//! transaction is over, so no save of the same transaction can expect it.

use std::collections::BTreeMap;

use lictor_store::{Change, ExpectedVersion, StoreError};

/// The writes of one transaction by kind of statement, and the conflicts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan<'a> {
    /// The conflict of each save, if any.
    pub(crate) conflicts: Vec<Option<StoreError>>,
    pub(crate) inserted: (Vec<&'a str>, Vec<&'a [u8]>),
    pub(crate) updated: (Vec<&'a str>, Vec<&'a [u8]>),
    pub(crate) deleted: Vec<&'a str>,
    /// Keys that are absent before and after. They are inserted and deleted again, because only a row can be locked: no
    /// other process may create them before this transaction ends.
    pub(crate) kept_absent: Vec<&'a str>,
}

/// A key during the transaction: the version that was found, and the value that earlier saves wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Entry<'a> {
    found: Option<u64>,
    written: Option<Option<&'a [u8]>>,
}

impl Entry<'_> {
    fn matches(&self, expected: ExpectedVersion) -> bool {
        match self.written {
            Some(Some(_)) => false,
            Some(None) => expected == ExpectedVersion::Absent,
            None => ExpectedVersion::of_version(self.found) == expected,
        }
    }
}

impl<'a> Plan<'a> {
    pub(crate) fn new(saves: &'a [Vec<Change>], found: &BTreeMap<String, u64>) -> Plan<'a> {
        let mut entries: BTreeMap<&'a str, Entry<'a>> = BTreeMap::new();
        let mut plan = Plan::default();
        for changes in saves {
            let conflict = changes.iter().find(|change| {
                let new = Entry { found: found.get(&change.key).copied(), written: None };
                !entries.entry(&change.key).or_insert(new).matches(change.expected)
            });
            plan.conflicts.push(conflict.map(|change| StoreError::Conflict { key: change.key.clone() }));
            if conflict.is_some() {
                continue;
            }
            for change in changes {
                entries.entry(&change.key).or_default().written = Some(change.value.as_deref());
            }
        }
        for (key, entry) in entries {
            match (entry.found, entry.written) {
                (_, None) => {}
                (None, Some(Some(value))) => add(&mut plan.inserted, key, value),
                (Some(_), Some(Some(value))) => add(&mut plan.updated, key, value),
                (Some(_), Some(None)) => plan.deleted.push(key),
                (None, Some(None)) => {
                    add(&mut plan.inserted, key, &[]);
                    plan.kept_absent.push(key);
                }
            }
        }
        plan
    }

    /// Returns how many rows the statement must change; fewer mean that another process created a key meanwhile.
    pub(crate) fn rows(&self) -> usize {
        self.inserted.0.len() + self.updated.0.len() + self.deleted.len()
    }

    pub(crate) fn is_all_in_conflict(&self) -> bool {
        self.conflicts.iter().all(Option::is_some)
    }

    /// Returns the outcome of each save, for the version of the transaction.
    pub(crate) fn outcomes(self, version: u64) -> Vec<Result<u64, StoreError>> {
        self.conflicts.into_iter().map(|conflict| conflict.map_or(Ok(version), Err)).collect()
    }
}

fn add<'a>(lists: &mut (Vec<&'a str>, Vec<&'a [u8]>), key: &'a str, value: &'a [u8]) {
    lists.0.push(key);
    lists.1.push(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_applies_saves_in_order() {
        let found = BTreeMap::from([("old".to_string(), 7)]);
        let saves = [
            vec![Change::put("new", ExpectedVersion::Absent, "1"), Change::delete("old", ExpectedVersion::Version(7))],
            vec![Change::put("new", ExpectedVersion::Absent, "2")],
            vec![Change::put("old", ExpectedVersion::Version(7), "3")],
            vec![Change::put("old", ExpectedVersion::Absent, "4")],
            vec![Change::delete("none", ExpectedVersion::Absent)],
        ];
        let plan = Plan::new(&saves, &found);
        let conflict = |key: &str| Some(StoreError::Conflict { key: key.into() });
        assert_eq!(plan.conflicts, [None, conflict("new"), conflict("old"), None, None]);
        assert_eq!(plan.inserted, (vec!["new", "none"], vec![&b"1"[..], b""]));
        assert_eq!(plan.updated, (vec!["old"], vec![&b"4"[..]]));
        assert_eq!((plan.deleted.len(), plan.kept_absent.as_slice()), (0, &["none"][..]));
    }
}
