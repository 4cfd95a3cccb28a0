//! The units of a stream: texts and calls, each with one ruling.
//!
//! A unit is open while its bytes arrive, due when it is complete, and finally ruled on. Units are due in the order in
//! which they become complete.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use lictor_event::Event;

use super::streamed_text::{Mask, StreamedText, TextPartKey};
use crate::ruling::Ruling;

/// All units of a stream, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Units {
    units: Vec<Unit>,
    /// The units that are complete and not ruled on yet.
    due: VecDeque<usize>,
    /// How many bytes of a text are held back.
    hold_back: usize,
    /// How many bytes all texts have.
    text_bytes: usize,
}

/// A text or a call.
#[derive(Debug, Default)]
struct Unit {
    /// The event, once the unit is complete.
    event: Option<Event>,
    ruling: Option<Ruling>,
    is_complete: bool,
    /// The text, if it is one.
    text: Option<StreamedText>,
    /// Units of the same bytes: they are forwarded or denied together.
    attached: Vec<usize>,
}

/// The opening of units, and what arrives of them.
impl Units {
    /// Returns no units, for a stream that holds back so many bytes of a text.
    pub(super) fn new(hold_back: usize) -> Units {
        Units { hold_back, ..Units::default() }
    }

    /// Opens a text.
    pub(crate) fn open_text(&mut self) -> usize {
        self.units.push(Unit { text: Some(StreamedText::default()), ..Unit::default() });
        self.units.len() - 1
    }

    /// Opens a call, or a result.
    pub(crate) fn open_call(&mut self) -> usize {
        self.units.push(Unit::default());
        self.units.len() - 1
    }

    /// Adds a unit that is complete at once.
    pub(crate) fn add_complete(&mut self, event: Event) -> usize {
        let unit = self.open_call();
        self.complete(unit, Some(event));
        unit
    }

    /// Attaches another event of the same bytes: they wait for both rulings.
    pub(crate) fn attach(&mut self, unit: usize, event: Event) {
        let other = self.add_complete(event);
        if let Some(unit) = self.units.get_mut(unit) {
            unit.attached.push(other);
        }
    }

    /// Appends to a text and returns the range of the addition.
    pub(crate) fn append_text(&mut self, unit: usize, addition: &str) -> Range<usize> {
        self.text_bytes += addition.len();
        let is_sent_at_once = self.hold_back == 0;
        let Some(text) = self.text_mut(unit) else { return 0..0 };
        let start = text.text.len();
        text.text.push_str(addition);
        if is_sent_at_once {
            text.released = text.text.len();
        }
        start..text.text.len()
    }

    /// Takes note of the part of a text that arrives. Returns whether it is another one than before.
    pub(super) fn note_part(&mut self, unit: usize, part: TextPartKey) -> bool {
        let before = self.text_mut(unit).and_then(|text| text.part.replace(part));
        before.is_some_and(|before| before != part)
    }

    /// Completes a unit. One without an event needs no ruling.
    pub(crate) fn complete(&mut self, unit: usize, event: Option<Event>) {
        let Some(completed) = self.units.get_mut(unit).filter(|unit| !unit.is_complete) else { return };
        completed.is_complete = true;
        completed.event = event;
        match completed.event {
            Some(_) => self.due.push_back(unit),
            None => completed.set_ruling(Ruling::Forward),
        }
    }
}

/// The questions about units, and the answers.
impl Units {
    /// Returns the unit that is due first.
    pub(super) fn first_due(&self) -> Option<usize> {
        self.due.front().copied()
    }

    /// Removes the unit that is due first from the queue.
    pub(super) fn pop_due(&mut self) {
        self.due.pop_front();
    }

    /// Puts a unit back to the front of the queue.
    pub(super) fn push_due_front(&mut self, unit: usize) {
        self.due.push_front(unit);
    }

    /// Returns the event to judge: what the model said, with the masks so far.
    pub(super) fn event_to_judge(&self, unit: usize) -> Option<Event> {
        let unit = self.units.get(unit)?;
        let mut event = unit.event.clone()?;
        if let Some(text) = unit.text.as_ref().filter(|text| text.is_altered()) {
            event.text = Some(text.masked_text().into());
        }
        Some(event)
    }

    /// Returns the rest of a text, if there is one and the caller was not asked about it before.
    pub(super) fn take_rest(&mut self, unit: usize) -> Option<Range<usize>> {
        self.text_mut(unit)?.take_rest()
    }

    /// Masks parts of a text that were not released, and allows its release up to `until`.
    pub(super) fn mask(&mut self, unit: usize, masks: &[Mask], until: usize) {
        if let Some(text) = self.text_mut(unit) {
            text.mask(masks, until);
        }
    }

    /// Replaces the rest of a text, and allows the release up to `until`.
    pub(super) fn stop(&mut self, unit: usize, with: &str, until: usize) {
        if let Some(text) = self.text_mut(unit) {
            text.stop(with, until);
        }
    }

    /// Rules on a unit. `from` is where the part of its text begins that was not released.
    pub(super) fn rule(&mut self, unit: usize, ruling: Ruling, from: usize) {
        let Some(unit) = self.units.get_mut(unit) else { return };
        let judged = unit.event.as_ref().and_then(|event| event.text.clone()).unwrap_or_default();
        if let Some(text) = &mut unit.text {
            text.rule(&ruling, &judged, from);
        }
        unit.set_ruling(ruling);
    }

    /// Returns the open texts of which something was released.
    pub(super) fn find_open_sent_texts(&self) -> Vec<usize> {
        let is_open = |unit: &Unit| unit.text.as_ref().is_some_and(|text| text.released > 0) && !unit.is_complete;
        (0..self.units.len()).filter(|&unit| is_open(&self.units[unit])).collect()
    }

    /// Removes everything but texts from the queue.
    pub(super) fn drop_due_calls(&mut self) {
        let units = &self.units;
        self.due.retain(|&unit| units[unit].text.is_some());
    }

    /// Removes the parts of texts that were not released, and all units of which nothing was from the queue.
    pub(super) fn drop_unsent(&mut self) {
        for unit in self.units.iter_mut().filter(|unit| unit.ruling.is_none()) {
            let Some(text) = &mut unit.text else { continue };
            text.text.truncate(text.released);
            if let Some(event) = &mut unit.event {
                event.text = Some(text.text.as_str().into());
            }
        }
        let units = &self.units;
        self.due.retain(|&unit| units[unit].text.as_ref().is_some_and(|text| text.released > 0));
    }
}

/// The state of units.
impl Units {
    /// Returns how many bytes all texts have.
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Whether anything of the model was released, or may be, other than denials.
    pub(super) fn shows_anything(&self) -> bool {
        let is_shown = |unit: &Unit| match (&unit.text, &unit.ruling) {
            (Some(text), _) => text.released > 0 && !text.text.is_empty(),
            (None, Some(ruling)) => !ruling.is_denial(),
            (None, None) => false,
        };
        self.units.iter().any(is_shown)
    }

    /// Whether text is held back.
    pub(crate) fn holds_back(&self) -> bool {
        self.hold_back > 0
    }

    /// Whether a unit is a text.
    pub(super) fn is_text(&self, unit: usize) -> bool {
        self.find_text(unit).is_some()
    }

    /// Returns a text as the model said it.
    pub(crate) fn text(&self, unit: usize) -> &str {
        self.find_text(unit).map_or("", |text| &text.text)
    }

    /// Returns how far a text may be released.
    pub(super) fn released(&self, unit: usize) -> usize {
        self.find_text(unit).map_or(0, |text| text.released)
    }

    /// Whether a text may be released up to `end`.
    pub(super) fn is_released(&self, unit: usize, end: usize) -> bool {
        self.find_text(unit).is_some_and(|text| end <= text.released)
    }

    /// Whether text has arrived since the caller was asked last about a text that it may be asked about early.
    pub(super) fn has_news(&self, unit: usize) -> bool {
        let is_open = self.units.get(unit).is_some_and(|unit| !unit.is_complete);
        is_open && self.find_text(unit).is_some_and(|text| !text.waits && text.text.len() > text.asked)
    }

    /// Takes note that the caller is asked about all of a text that has arrived.
    pub(super) fn note_asked(&mut self, unit: usize) {
        if let Some(text) = self.text_mut(unit) {
            text.asked = text.text.len();
        }
    }

    /// Takes note that the caller cannot say early how much of a text must wait.
    pub(super) fn note_waits(&mut self, unit: usize) {
        if let Some(text) = self.text_mut(unit) {
            text.waits = true;
        }
    }

    /// Returns how far a text could be released if nothing in it were masked, because enough has arrived after it.
    pub(super) fn release_limit(&self, unit: usize) -> usize {
        self.text(unit).len().saturating_sub(self.hold_back)
    }

    /// Returns a part of a text as it is sent.
    pub(crate) fn sent_text(&self, unit: usize, range: Range<usize>) -> Cow<'_, str> {
        match self.find_text(unit) {
            Some(text) if text.is_altered() => Cow::Owned(text.sent_text(range)),
            Some(text) => Cow::Borrowed(text.text.get(range).unwrap_or_default()),
            None => Cow::Borrowed(""),
        }
    }

    /// Returns a part of a text as it is sent, if that differs from what the model said.
    pub(super) fn changed_text(&self, unit: usize, range: Range<usize>) -> Option<String> {
        let text = self.find_text(unit).filter(|text| text.is_altered())?;
        let sent = text.sent_text(range.clone());
        (text.text.get(range) != Some(sent.as_str())).then_some(sent)
    }

    /// Whether any part of a text is sent changed, as far as that is known.
    pub(crate) fn is_altered(&self, unit: usize) -> bool {
        self.find_text(unit).is_some_and(StreamedText::is_altered) || !self.is_forwarded(unit)
    }

    /// Whether a unit and those attached to it were ruled on.
    pub(super) fn is_ruled(&self, unit: usize) -> bool {
        self.units.get(unit).is_some() && self.with_attached(unit).all(|unit| unit.ruling.is_some())
    }

    /// Returns the ruling on the bytes of a unit: a denial, if there is one among those attached to it.
    pub(crate) fn ruling(&self, unit: usize) -> &Ruling {
        let mut rulings = self.with_attached(unit).map(|unit| unit.ruling.as_ref());
        let own = rulings.next().flatten().unwrap_or(&Ruling::Forward);
        match own {
            Ruling::Deny { .. } => own,
            _ => rulings.flatten().find(|ruling| ruling.is_denial()).unwrap_or(own),
        }
    }

    /// Returns every ruling on the bytes of a unit, in the order of their events.
    pub(crate) fn rulings(&self, unit: usize) -> impl Iterator<Item = &Ruling> {
        self.with_attached(unit).filter(|unit| unit.event.is_some()).filter_map(|unit| unit.ruling.as_ref())
    }

    /// Whether the bytes of a unit are denied.
    pub(crate) fn is_denied(&self, unit: usize) -> bool {
        self.ruling(unit).is_denial()
    }

    /// Whether the bytes of a unit are forwarded unchanged.
    pub(crate) fn is_forwarded(&self, unit: usize) -> bool {
        self.rulings(unit).all(Ruling::is_forward)
    }

    fn with_attached(&self, unit: usize) -> impl Iterator<Item = &Unit> {
        let own = self.units.get(unit);
        own.into_iter()
            .chain(own.into_iter().flat_map(|unit| &unit.attached).filter_map(|&other| self.units.get(other)))
    }

    fn find_text(&self, unit: usize) -> Option<&StreamedText> {
        self.units.get(unit)?.text.as_ref()
    }

    fn text_mut(&mut self, unit: usize) -> Option<&mut StreamedText> {
        self.units.get_mut(unit)?.text.as_mut()
    }
}

impl Unit {
    fn set_ruling(&mut self, ruling: Ruling) {
        if let Some(text) = &mut self.text {
            text.released = text.text.len();
        }
        self.ruling = Some(ruling);
    }
}
