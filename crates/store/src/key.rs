//! Which keys and values every store takes, so that what fits into one fits into all.

use std::collections::HashSet;

use crate::error::StoreError;
use crate::store::Change;

/// The longest key. An index entry of PostgreSQL has room for 2,700 bytes; a key should leave most of them free.
pub const MAX_KEY_BYTES: usize = 1024;

/// The longest value. A session that needs more is kept in several keys.
pub const MAX_VALUE_BYTES: usize = 64 << 20;

/// How much of a refused key an error repeats.
const SHOWN_CHARACTERS: usize = 40;

/// Refuses a key that some store could not hold.
pub fn check_key(key: &str) -> Result<(), StoreError> {
    let reason = if key.is_empty() {
        "a key has at least one character".to_string()
    } else if key.len() > MAX_KEY_BYTES {
        format!("it has {} bytes where {MAX_KEY_BYTES} are the most\nhint: use a hash of it", key.len())
    } else if key.contains('\0') {
        "it holds the character U+0000, which not every store can hold".to_string()
    } else {
        return Ok(());
    };
    Err(StoreError::Refused { key: key.chars().take(SHOWN_CHARACTERS).collect(), reason })
}

/// Refuses changes that no store makes: bad keys, values that are too long, and two changes of one key.
pub fn check_changes(changes: &[Change]) -> Result<(), StoreError> {
    let mut keys = HashSet::with_capacity(changes.len());
    for change in changes {
        check_key(&change.key)?;
        let refused = |reason| Err(StoreError::Refused { key: change.key.clone(), reason });
        if !keys.insert(change.key.as_str()) {
            return refused("it stands twice in one save\nhint: save only what it is in the end".into());
        }
        let length = change.value.as_ref().map_or(0, Vec::len);
        if length > MAX_VALUE_BYTES {
            return refused(format!("its value has {length} bytes where {MAX_VALUE_BYTES} are the most"));
        }
    }
    Ok(())
}

/// A text that comes behind every key with this prefix and before every other key that follows them.
///
/// Keys are in the order of their bytes, which in UTF-8 is the order of their characters.
pub fn end_of_prefix(prefix: &str) -> String {
    let mut end = prefix.to_string();
    while let Some(last) = end.pop() {
        // A range of characters leaves out the surrogates, which are none.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return end;
        }
    }
    // No key is as long as this one, so none comes behind it.
    String::from(char::MAX).repeat(MAX_KEY_BYTES / char::MAX.len_utf8() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ExpectedVersion;

    #[test]
    fn the_end_of_a_prefix_is_behind_all_that_begin_with_it_and_nothing_else() {
        assert_eq!(end_of_prefix("session/a"), "session/b");
        assert_eq!(end_of_prefix("a\u{d7ff}"), "a\u{e000}");
        assert_eq!(end_of_prefix("a\u{10ffff}"), "b");
        let last_key = "\u{10ffff}".repeat(MAX_KEY_BYTES / 4);
        assert!(check_key(&last_key).is_ok() && end_of_prefix("") > last_key && end_of_prefix(&last_key) > last_key);
    }

    #[test]
    fn what_some_store_could_not_hold_is_refused() {
        for key in [String::new(), "a\0b".into(), "a".repeat(MAX_KEY_BYTES + 1)] {
            assert!(matches!(check_key(&key), Err(StoreError::Refused { .. })), "{key:?}");
        }
        assert_eq!(check_key(&"a".repeat(MAX_KEY_BYTES)), Ok(()));
        let change = Change::put("a", ExpectedVersion::Absent, "1");
        assert!(matches!(check_changes(&[change.clone(), change]), Err(StoreError::Refused { .. })));
        let long = Change::put("a", ExpectedVersion::Absent, vec![0; MAX_VALUE_BYTES + 1]);
        assert!(matches!(check_changes(&[long]), Err(StoreError::Refused { .. })));
    }
}
