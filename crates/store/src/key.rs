//! The limits of keys and values, which are the same for every store.

use std::collections::HashSet;

use crate::error::StoreError;
use crate::store::Change;

/// The longest key in bytes. An index entry of PostgreSQL has room for 2,700 bytes; a key leaves most of them free.
pub const MAX_KEY_BYTES: usize = 1024;

/// The longest value in bytes. A larger session needs several keys.
pub const MAX_VALUE_BYTES: usize = 64 << 20;

/// How many characters of an invalid key an error shows.
const MAX_SHOWN_CHARACTERS: usize = 40;

/// Returns an error if a key is empty, too long, or contains U+0000.
pub fn check_key(key: &str) -> Result<(), StoreError> {
    let reason = if key.is_empty() {
        "the key is empty".to_string()
    } else if key.len() > MAX_KEY_BYTES {
        format!("the key of {} bytes is over the limit of {MAX_KEY_BYTES}\nhint: use a hash of it", key.len())
    } else if key.contains('\0') {
        "the key contains the character U+0000, which PostgreSQL cannot store".to_string()
    } else {
        return Ok(());
    };
    Err(StoreError::Refused { key: key.chars().take(MAX_SHOWN_CHARACTERS).collect(), reason })
}

/// Returns an error if a save has an invalid key, a value over the limit, or two changes of one key.
pub fn check_changes(changes: &[Change]) -> Result<(), StoreError> {
    let mut keys = HashSet::with_capacity(changes.len());
    for change in changes {
        check_key(&change.key)?;
        let refused = |reason| Err(StoreError::Refused { key: change.key.clone(), reason });
        if !keys.insert(change.key.as_str()) {
            return refused("duplicate key in one save\nhint: save only its final value".into());
        }
        let length = change.value.as_ref().map_or(0, Vec::len);
        if length > MAX_VALUE_BYTES {
            return refused(format!(
                "its value of {length} bytes is over the limit of {MAX_VALUE_BYTES}\nhint: split it into several keys"
            ));
        }
    }
    Ok(())
}

/// Returns the end of the range of keys with a prefix: it sorts after all of them and before every later key.
///
/// Keys sort by their bytes, which in UTF-8 is the order of their characters.
pub fn end_of_prefix(prefix: &str) -> String {
    let mut end = prefix.to_string();
    while let Some(last) = end.pop() {
        // A range of `char` skips the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return end;
        }
    }
    // It is longer than any key of the highest character, so no key sorts after it.
    String::from(char::MAX).repeat(MAX_KEY_BYTES / char::MAX.len_utf8() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ExpectedVersion;

    #[test]
    fn end_of_prefix_bounds_exactly_its_keys() {
        assert_eq!(end_of_prefix("session/a"), "session/b");
        assert_eq!(end_of_prefix("a\u{d7ff}"), "a\u{e000}");
        assert_eq!(end_of_prefix("a\u{10ffff}"), "b");
        let last_key = "\u{10ffff}".repeat(MAX_KEY_BYTES / 4);
        assert!(check_key(&last_key).is_ok() && end_of_prefix("") > last_key && end_of_prefix(&last_key) > last_key);
    }

    #[test]
    fn invalid_keys_and_values_are_refused() {
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
