//! What was found in long texts: to search one takes so long that it is done once.
//!
//! A caller that must hold a lock while it judges an event can search its texts before, without the lock. A text is known
//! by its hash, so no text is kept. The hash is cryptographic: another text with the same hash would hide what it holds.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::PersonalData;

/// From how many bytes on a text is long: to search it takes about a millisecond.
pub const LONG_TEXT_BYTES: usize = 16 << 10;

/// How many texts are known at most.
const MAX_KNOWN: usize = 256;

/// The findings in long texts, the latest last.
#[derive(Default)]
pub(super) struct LongTexts {
    known: Mutex<VecDeque<(blake3::Hash, Arc<PersonalData>)>>,
}

impl LongTexts {
    /// Returns the findings in a text. The search is run without the lock, and only if the text is not known.
    pub(super) fn find(&self, text: &str, search: impl FnOnce() -> PersonalData) -> Arc<PersonalData> {
        let hash = blake3::hash(text.as_bytes());
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().iter().rev().find(|(known, _)| *known == hash).map(|(_, found)| Arc::clone(found));
        known.unwrap_or_else(|| {
            let found = Arc::new(search());
            let mut known = lock();
            if known.len() >= MAX_KNOWN {
                known.pop_front();
            }
            known.push_back((hash, Arc::clone(&found)));
            found
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_searched_once() {
        let texts = LongTexts::default();
        let found = PersonalData { categories: vec!["email".into()], ..PersonalData::default() };
        assert_eq!(*texts.find("one", || found.clone()), found);
        assert_eq!(*texts.find("one", || panic!("it is known")), found);
        assert_eq!(*texts.find("two", PersonalData::default), PersonalData::default());
        for number in 0..MAX_KNOWN {
            texts.find(&number.to_string(), PersonalData::default);
        }
        assert_eq!(texts.known.lock().unwrap().len(), MAX_KNOWN);
        assert_eq!(*texts.find("one", PersonalData::default), PersonalData::default(), "the oldest are dropped");
    }
}
