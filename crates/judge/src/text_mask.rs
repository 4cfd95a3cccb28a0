//! Masks parts of a text: categories of personal data, persons and secrets.
//!
//! A long text takes long to mask. So it can be masked before its event is judged, without the judge: what was prepared is
//! kept until the judge asks for the same text and the same parts.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use lictor_event::MASK;
use lictor_json::Text;
use lictor_recognise::{LONG_TEXT_BYTES, PersonalData, Recogniser, SecretSpan, find_secrets};

/// How many bytes of masked texts wait for their events at most, apart from the latest one.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The parts of a text that are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MaskScope {
    /// The categories of personal data.
    pub(crate) categories: BTreeSet<Text>,
    /// The persons.
    pub(crate) persons: BTreeSet<Text>,
    /// The kinds of secrets.
    pub(crate) secrets: BTreeSet<Text>,
}

/// A text with its parts masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MaskedText {
    /// The text; none if nothing of it is masked.
    pub(crate) text: Option<Text>,
    /// Why parts of it are masked, each reason once.
    pub(crate) reasons: Vec<Text>,
}

impl MaskScope {
    /// Returns the ranges of a text that must be removed and why, in order.
    pub(crate) fn find_places(&self, recogniser: &Recogniser, text: &str) -> Vec<(Range<usize>, Text)> {
        let mut places: Vec<(Range<usize>, Text)> = Vec::new();
        for span in recogniser.spans(text) {
            let whose = span.subject.as_ref().filter(|subject| self.persons.contains(*subject));
            if self.categories.contains(&span.category) {
                places.push((span.range, span.category));
            } else if let Some(person) = whose {
                places.push((span.range, person.clone()));
            }
        }
        for person in &self.persons {
            let lower = text.to_lowercase();
            // If lower case changes lengths, the ranges would be wrong.
            if lower.len() == text.len() {
                let found = lower.match_indices(person.as_str()).map(|(place, found)| place..place + found.len());
                places.extend(found.map(|range| (range, person.clone())));
            }
        }
        places.extend(self.find_secrets(text).map(|secret| (secret.range, Text::from(secret.kind.name()))));
        places.sort_by_key(|(range, _)| (range.start, range.end));
        places
    }

    /// Returns the secrets of a text that must be removed.
    pub(crate) fn find_secrets(&self, text: &str) -> impl Iterator<Item = SecretSpan> {
        let secrets = if self.secrets.is_empty() { Vec::new() } else { find_secrets(text) };
        secrets.into_iter().filter(|secret| self.secrets.contains(secret.kind.name()))
    }

    /// Masks a text.
    pub(crate) fn mask(&self, recogniser: &Recogniser, text: &str) -> MaskedText {
        let masks = self.find_places(recogniser, text);
        if masks.is_empty() {
            return MaskedText::default();
        }
        let (mut masked, mut end, mut reasons) = (String::new(), 0, Vec::new());
        for (range, reason) in masks {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
            if range.start >= end {
                masked.push_str(text.get(end..range.start).unwrap_or_default());
                masked.push_str(MASK);
            }
            end = end.max(range.end);
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        MaskedText { text: Some(masked.into()), reasons }
    }
}

/// Long texts that were masked before their events are judged.
#[derive(Debug, Default)]
pub(crate) struct MaskedTexts(Mutex<VecDeque<WaitingText>>);

#[derive(Debug)]
struct WaitingText {
    text: Text,
    scope: MaskScope,
    masked: MaskedText,
}

impl WaitingText {
    fn bytes(&self) -> usize {
        self.text.len() + self.masked.text.as_ref().map_or(0, Text::len)
    }
}

impl MaskedTexts {
    /// Masks a text if it is long, and searches the masked form as well, which is judged next.
    pub(crate) fn prepare(&self, recogniser: &Recogniser, scope: &MaskScope, text: &Text) {
        if text.len() < LONG_TEXT_BYTES {
            return;
        }
        let masked = scope.mask(recogniser, text);
        if let Some(masked) = &masked.text {
            recogniser.text(masked, &mut PersonalData::default());
        }
        let waiting = WaitingText { text: text.clone(), scope: scope.clone(), masked };
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.push_back(waiting);
        let mut bytes: usize = texts.iter().map(WaitingText::bytes).sum();
        while bytes > MAX_WAITING_BYTES
            && texts.len() > 1
            && let Some(oldest) = texts.pop_front()
        {
            bytes -= oldest.bytes();
        }
    }

    /// Returns the masked form of a text: the prepared one if there is one, which is then gone.
    pub(crate) fn mask(&self, recogniser: &Recogniser, scope: &MaskScope, text: &Text) -> MaskedText {
        self.take(scope, text).unwrap_or_else(|| scope.mask(recogniser, text))
    }

    /// Returns and removes what was prepared for a text.
    pub(crate) fn take(&self, scope: &MaskScope, text: &Text) -> Option<MaskedText> {
        if text.len() < LONG_TEXT_BYTES {
            return None;
        }
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = texts.iter().position(|known| known.scope == *scope && known.text == *text)?;
        texts.remove(place).map(|known| known.masked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_text_is_prepared_once_and_bounded() {
        let (recogniser, texts) = (Recogniser::builtin(), MaskedTexts::default());
        let scope = |category: &str| MaskScope { categories: [Text::new(category)].into(), ..MaskScope::default() };
        let long = Text::from(format!("{} ann@example.org", "Words go on. ".repeat(LONG_TEXT_BYTES / 12)));
        texts.prepare(&recogniser, &scope("email"), &long);
        assert_eq!(texts.take(&scope("phone"), &long), None);
        let masked = texts.take(&scope("email"), &long).unwrap();
        assert_eq!(masked, scope("email").mask(&recogniser, &long));
        assert!(masked.text.unwrap().ends_with("on.  [redacted]"));
        assert_eq!(texts.take(&scope("email"), &long), None);
        for number in 0..5 {
            let large = Text::from(format!("{number}{}", "x ".repeat(MAX_WAITING_BYTES / 4)));
            texts.prepare(&recogniser, &scope("email"), &large);
        }
        assert_eq!(texts.0.lock().unwrap().len(), 1);
    }
}
