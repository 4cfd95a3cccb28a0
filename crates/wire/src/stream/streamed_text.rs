//! A text of a stream: how far it may be released, and what is masked or replaced in it.

use std::ops::Range;

use crate::align;
use crate::ruling::Ruling;

/// A part of a text that must not be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Its place in the text so far. Text that was released cannot be masked any more.
    pub range: Range<usize>,
    /// The replacement.
    pub with: String,
}

/// The place of a part of a text, by the indices of its event.
pub(super) type TextPartKey = [Option<i64>; 3];

/// A text as it arrives.
#[derive(Debug, Default)]
pub(super) struct StreamedText {
    pub(super) text: String,
    /// How far it may be released.
    pub(super) released: usize,
    masks: Vec<Mask>,
    /// From where on another text takes its place, and that text.
    replacement: Option<(usize, String)>,
    /// How much of it had arrived when the caller was asked last.
    pub(super) asked: usize,
    /// Whether the caller cannot say early how much of it must wait.
    pub(super) waits: bool,
    /// Whether the caller was asked about the rest of it.
    is_rest_asked: bool,
    /// The part that arrived last.
    pub(super) part: Option<TextPartKey>,
}

impl StreamedText {
    /// Whether a part of it is masked or replaced so far.
    pub(super) fn is_altered(&self) -> bool {
        !self.masks.is_empty() || self.replacement.is_some()
    }

    /// Returns the rest that was not released, if there is one and the caller was not asked about it before.
    pub(super) fn take_rest(&mut self) -> Option<Range<usize>> {
        let rest = self.released..self.text.len();
        let is_asked = std::mem::replace(&mut self.is_rest_asked, true);
        (!is_asked && !rest.is_empty()).then_some(rest)
    }

    /// Masks parts that were not released, and allows its release up to `until`.
    pub(super) fn mask(&mut self, masks: &[Mask], until: usize) {
        for mask in masks {
            let end = char_boundary(&self.text, mask.range.end.min(self.text.len()));
            match self.masks.last_mut() {
                // More has arrived of a masked part.
                Some(last) if mask.range.start < last.range.end => last.range.end = last.range.end.max(end),
                _ => {
                    let start = char_boundary(&self.text, mask.range.start.max(self.released).min(end));
                    if start < end {
                        self.masks.push(Mask { range: start..end, with: mask.with.clone() });
                    }
                }
            }
        }
        self.released = self.released.max(until);
    }

    /// Replaces everything that was not released, and allows the release up to `until`.
    pub(super) fn stop(&mut self, with: &str, until: usize) {
        self.replacement.get_or_insert((self.released, with.to_owned()));
        self.released = self.released.max(until);
    }

    /// Carries out a ruling on the part from `from` on, which was not released. `judged` is the text of the event.
    pub(super) fn rule(&mut self, ruling: &Ruling, judged: &str, from: usize) {
        // A text that was stopped has its replacement already.
        if self.replacement.is_some() || from >= self.text.len() {
            return;
        }
        match ruling {
            Ruling::Forward => {}
            Ruling::Deny { text } => {
                let joint = if self.sent_text(0..from).is_empty() { "" } else { "\n\n" };
                self.replacement = Some((from, format!("{joint}{text}")));
            }
            Ruling::Rewrite(event) => {
                let new = event.text.as_deref().unwrap_or_default();
                self.replacement = Some((from, self.rewritten_rest(judged, new, from)));
            }
        }
    }

    /// Returns the part of a rewritten text that takes the place of everything from `from` on.
    fn rewritten_rest(&self, judged: &str, new: &str, from: usize) -> String {
        let sent = self.sent_text(0..from);
        match new.strip_prefix(sent.as_str()) {
            Some(rest) => rest.to_owned(),
            // The rewrite also changes released text; only the text after it can still be changed.
            None => {
                let replacements = align::find_replacements(judged, new);
                let border = sent.len().min(judged.len());
                let ranges = [0..border, border..judged.len()];
                align::replace_in_pieces(judged, &ranges, &replacements).pop().unwrap_or_default()
            }
        }
    }

    /// Returns the text as the model said it and the client gets it, without the replacement of its end.
    pub(super) fn masked_text(&self) -> String {
        let end = self.replacement.as_ref().map_or(self.text.len(), |(from, _)| *from);
        self.mask_range(0..end)
    }

    /// Returns a part of the text as it is sent.
    pub(super) fn sent_text(&self, range: Range<usize>) -> String {
        let (from, replacement) = match &self.replacement {
            Some((from, replacement)) => (*from, replacement.as_str()),
            None => (usize::MAX, ""),
        };
        if range.start >= from {
            return if range.start == from && !range.is_empty() { replacement.to_owned() } else { String::new() };
        }
        let mut out = self.mask_range(range.start..range.end.min(from));
        if from < range.end {
            out.push_str(replacement);
        }
        out
    }

    /// Returns a part of the text with its masks.
    fn mask_range(&self, range: Range<usize>) -> String {
        let (mut out, mut at, end) = (String::new(), range.start, range.end);
        for mask in self.masks.iter().filter(|mask| mask.range.end > range.start && mask.range.start < end) {
            out.push_str(self.text.get(at..mask.range.start.max(at)).unwrap_or_default());
            if mask.range.start >= range.start {
                out.push_str(&mask.with);
            }
            at = mask.range.end.min(end);
        }
        out.push_str(self.text.get(at..end).unwrap_or_default());
        out
    }
}

/// Returns the nearest place at or before this one where a character begins.
fn char_boundary(text: &str, mut place: usize) -> usize {
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}
