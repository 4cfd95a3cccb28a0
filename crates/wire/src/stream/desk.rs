//! What waits in a stream for somebody's word: texts as they come, and calls.
//!
//! A unit is what one ruling is about. It is open while its bytes come, due when it is whole, and ruled on at last. Units
//! are due in the order in which they become whole.

use std::collections::VecDeque;
use std::ops::Range;

use lictor_event::Event;
use lictor_json::Text;

use super::Mask;
use crate::{Ruling, align};

/// All units of a stream.
#[derive(Debug, Default)]
pub(super) struct Desk {
    units: Vec<Unit>,
    /// Whole, and not ruled on yet.
    pub(super) due: VecDeque<usize>,
    /// How many bytes of text stay back.
    hold_back: usize,
    /// How many bytes of text there are.
    pub(super) kept: usize,
}

/// What one ruling is about.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// What it is, once it is whole.
    pub(super) event: Option<Event>,
    pub(super) ruling: Option<Ruling>,
    is_closed: bool,
    /// The text, if it is one.
    words: Option<Words>,
    /// Units that stand or fall with it.
    also: Vec<usize>,
}

/// A text as it comes.
#[derive(Debug, Default)]
struct Words {
    text: String,
    /// How far it may leave.
    left: usize,
    masks: Vec<Mask>,
    /// From where on something else stands in its place.
    cut: Option<(usize, String)>,
    /// Whether somebody was asked about the rest of it.
    is_asked: bool,
}

impl Desk {
    pub(super) fn new(hold_back: usize) -> Desk {
        Desk { hold_back, ..Desk::default() }
    }

    /// A text that begins.
    pub(super) fn open_text(&mut self) -> usize {
        self.units.push(Unit { words: Some(Words::default()), ..Unit::default() });
        self.units.len() - 1
    }

    /// A call, or something like one, that begins.
    pub(super) fn open_act(&mut self) -> usize {
        self.units.push(Unit::default());
        self.units.len() - 1
    }

    /// Something that is whole at once.
    pub(super) fn note(&mut self, event: Event) -> usize {
        let unit = self.open_act();
        self.close(unit, Some(event));
        unit
    }

    /// Another event of the same bytes: they wait for both rulings.
    pub(super) fn add(&mut self, unit: usize, event: Event) {
        let other = self.note(event);
        self.units[unit].also.push(other);
    }

    /// Adds to a text, and says where that stands in it.
    pub(super) fn say(&mut self, unit: usize, text: &str) -> Range<usize> {
        self.kept += text.len();
        let flows = self.hold_back == 0;
        let Some(words) = self.units.get_mut(unit).and_then(|unit| unit.words.as_mut()) else { return 0..0 };
        let start = words.text.len();
        words.text.push_str(text);
        if flows {
            words.left = words.text.len();
        }
        start..words.text.len()
    }

    /// Makes a unit whole. One without an event needs nobody's word.
    pub(super) fn close(&mut self, unit: usize, event: Option<Event>) {
        let Some(closed) = self.units.get_mut(unit).filter(|unit| !unit.is_closed) else { return };
        closed.is_closed = true;
        closed.event = event;
        match closed.event {
            Some(_) => self.due.push_back(unit),
            None => closed.rule(Ruling::Forward),
        }
    }

    /// Texts that have not ended.
    pub(super) fn open_texts(&self) -> Vec<usize> {
        let is_open = |unit: &Unit| unit.words.as_ref().is_some_and(|words| words.left > 0) && !unit.is_closed;
        (0..self.units.len()).filter(|&unit| is_open(&self.units[unit])).collect()
    }

    /// Keeps only texts among what is due.
    pub(super) fn drop_acts(&mut self) {
        let units = &self.units;
        self.due.retain(|&unit| units[unit].words.is_some());
    }

    /// The event to be judged: what was said, as far as it is known how it will leave.
    pub(super) fn event(&self, unit: usize) -> Option<Event> {
        let mut event = self.units.get(unit)?.event.clone()?;
        if let Some(words) = self.units[unit].words.as_ref().filter(|words| words.is_altered()) {
            // What stands in the place of the rest is ours, and nothing that the model says.
            let end = words.cut.as_ref().map_or(words.text.len(), |(from, _)| *from);
            event.text = Some(words.masked(0..end).into());
        }
        Some(event)
    }

    /// Lets nothing more of a text leave: something else stands in the place of all from here on.
    pub(super) fn stop(&mut self, unit: usize, with: &str, until: usize) {
        if let Some(words) = self.units.get_mut(unit).and_then(|unit| unit.words.as_mut()) {
            words.cut.get_or_insert((words.left, with.to_owned()));
            words.left = words.left.max(until);
        }
    }

    /// Forgets what of texts has not left, and all that is due but texts of which something has.
    pub(super) fn forget_rest(&mut self) {
        for unit in self.units.iter_mut().filter(|unit| unit.ruling.is_none()) {
            let Some(words) = &mut unit.words else { continue };
            words.text.truncate(words.left);
            if let Some(event) = &mut unit.event {
                event.text = Some(words.text.as_str().into());
            }
        }
        let units = &self.units;
        self.due.retain(|&unit| units[unit].words.as_ref().is_some_and(|words| words.left > 0));
    }

    /// A text as it was said.
    pub(super) fn text(&self, unit: usize) -> &str {
        self.units.get(unit).and_then(|unit| unit.words.as_ref()).map_or("", |words| &words.text)
    }

    /// Whether everything about a unit was ruled on.
    pub(super) fn is_ruled(&self, unit: usize) -> bool {
        let ruled = |unit: usize| self.units.get(unit).is_some_and(|unit| unit.ruling.is_some());
        ruled(unit) && self.units[unit].also.iter().all(|&other| ruled(other))
    }

    /// Whether a text may leave up to here.
    pub(super) fn may_leave(&self, unit: usize, end: usize) -> bool {
        self.units.get(unit).and_then(|unit| unit.words.as_ref()).is_some_and(|words| end <= words.left)
    }

    /// How far a text has left or may leave.
    pub(super) fn left(&self, unit: usize) -> usize {
        self.units.get(unit).and_then(|unit| unit.words.as_ref()).map_or(0, |words| words.left)
    }

    /// How far a text may leave if nothing in it is masked, because enough has come after it.
    pub(super) fn horizon(&self, unit: usize) -> usize {
        self.text(unit).len().saturating_sub(self.hold_back)
    }

    /// The rest of a text that is whole, if nobody was asked about it yet.
    pub(super) fn rest(&mut self, unit: usize) -> Option<Range<usize>> {
        let words = self.units.get_mut(unit)?.words.as_mut()?;
        let rest = words.left..words.text.len();
        let is_asked = std::mem::replace(&mut words.is_asked, true);
        (!is_asked && !rest.is_empty()).then_some(rest)
    }

    /// Masks parts of a text that have not left, and lets it leave up to `until`.
    pub(super) fn mask(&mut self, unit: usize, masks: &[Mask], until: usize) {
        let Some(words) = self.units.get_mut(unit).and_then(|unit| unit.words.as_mut()) else { return };
        for mask in masks {
            let end = boundary(&words.text, mask.range.end.min(words.text.len()));
            match words.masks.last_mut() {
                // More has come of what was masked before.
                Some(last) if mask.range.start < last.range.end => last.range.end = last.range.end.max(end),
                _ => {
                    let start = boundary(&words.text, mask.range.start.max(words.left).min(end));
                    if start < end {
                        words.masks.push(Mask { range: start..end, with: mask.with.clone() });
                    }
                }
            }
        }
        words.left = words.left.max(until);
    }

    /// Rules on a unit. `from` is where the part of its text begins that has not left.
    pub(super) fn rule(&mut self, unit: usize, ruling: Ruling, from: usize) {
        let Some(ruled) = self.units.get_mut(unit) else { return };
        let said = ruled.event.as_ref().and_then(|event| event.text.clone()).unwrap_or_default();
        // Where nothing more leaves, it is said already why not.
        if let Some(words) = &mut ruled.words
            && words.cut.is_none()
            && from < words.text.len()
        {
            let gone = words.shown(0..from);
            match &ruling {
                Ruling::Forward => {}
                Ruling::Deny { text } => {
                    let joint = if gone.is_empty() { "" } else { "\n\n" };
                    words.cut = Some((from, format!("{joint}{text}")));
                }
                Ruling::Rewrite(event) => {
                    let new = event.text.clone().unwrap_or_default();
                    words.rewrite(&said, &new, &gone, from);
                }
            }
        }
        ruled.rule(ruling);
    }

    pub(super) fn ruling(&self, unit: usize) -> &Ruling {
        let unit = self.units.get(unit);
        let others =
            unit.into_iter().flat_map(|unit| &unit.also).filter_map(|&other| self.units[other].ruling.as_ref());
        let denied = others.clone().find(|ruling| matches!(ruling, Ruling::Deny { .. }));
        let own = unit.and_then(|unit| unit.ruling.as_ref()).unwrap_or(&Ruling::Forward);
        match (own, denied) {
            (Ruling::Deny { .. }, _) | (_, None) => own,
            (_, Some(denied)) => denied,
        }
    }

    /// Every ruling on the bytes of a unit, with the event that it is about.
    pub(super) fn rulings(&self, unit: usize) -> Vec<(&Event, &Ruling)> {
        let units = [unit].into_iter().chain(self.units.get(unit).into_iter().flat_map(|unit| unit.also.clone()));
        units.filter_map(|unit| Some((self.units[unit].event.as_ref()?, self.units[unit].ruling.as_ref()?))).collect()
    }

    pub(super) fn is_denied(&self, unit: usize) -> bool {
        matches!(self.ruling(unit), Ruling::Deny { .. })
    }

    /// Whether the bytes of a unit leave as they came.
    pub(super) fn is_forward(&self, unit: usize) -> bool {
        self.rulings(unit).iter().all(|(_, ruling)| ruling.is_forward())
    }

    /// A part of a text as it leaves.
    pub(super) fn shown(&self, unit: usize, range: Range<usize>) -> Text {
        let words = self.units.get(unit).and_then(|unit| unit.words.as_ref());
        words.map_or_else(Text::default, |words| words.shown(range).into())
    }

    /// Whether a unit is a text.
    pub(super) fn is_text(&self, unit: usize) -> bool {
        self.units.get(unit).is_some_and(|unit| unit.words.is_some())
    }

    /// Whether text stays back until it is known how it leaves.
    pub(super) fn holds_back(&self) -> bool {
        self.hold_back > 0
    }

    /// Whether anything of a text leaves otherwise than it came, as far as that is known.
    pub(super) fn is_altered(&self, unit: usize) -> bool {
        let words = self.units.get(unit).and_then(|unit| unit.words.as_ref());
        words.is_some_and(Words::is_altered) || !self.is_forward(unit)
    }

    /// Whether a part of a text leaves otherwise than it came.
    pub(super) fn is_changed(&self, unit: usize, range: Range<usize>) -> bool {
        self.text(unit).get(range.clone()) != Some(self.shown(unit, range).as_str())
    }
}

impl Unit {
    fn rule(&mut self, ruling: Ruling) {
        if let Some(words) = &mut self.words {
            words.left = words.text.len();
        }
        self.ruling = Some(ruling);
    }
}

impl Words {
    fn shown(&self, range: Range<usize>) -> String {
        let (from, instead) = match &self.cut {
            Some((from, instead)) => (*from, instead.as_str()),
            None => (usize::MAX, ""),
        };
        if range.start >= from {
            return if range.start == from && !range.is_empty() { instead.to_owned() } else { String::new() };
        }
        let mut out = self.masked(range.start..range.end.min(from));
        if from < range.end {
            out.push_str(instead);
        }
        out
    }

    /// A part of the text, with masks.
    fn masked(&self, range: Range<usize>) -> String {
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

    fn is_altered(&self) -> bool {
        !self.masks.is_empty() || self.cut.is_some()
    }

    /// Puts in place of what has not left what the new text says there.
    fn rewrite(&mut self, said: &str, new: &str, gone: &str, from: usize) {
        let rest = match new.strip_prefix(gone) {
            Some(rest) => rest.to_owned(),
            // Something that has left was to be changed as well. What comes after it can still be.
            None => {
                let places = align::replaced(said, new);
                let ranges = [0..gone.len().min(said.len()), gone.len().min(said.len())..said.len()];
                align::pieces(said, &ranges, &places).pop().unwrap_or_default()
            }
        };
        self.cut = Some((from, rest));
    }
}

/// The nearest place at or before this one where a character begins.
fn boundary(text: &str, mut place: usize) -> usize {
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}
