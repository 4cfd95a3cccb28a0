//! Slots for values that are being read.
//!
//! A short text is stored inside its 24 bytes, and a processor stalls when it moves bytes that were just written in
//! other portions. So a value is written where it stays until its container closes: a stack whose free slots are blank
//! values, ready to be written into.

use super::{Json, Text};

/// How many blank slots are kept between texts.
const MAX_KEPT_SLOTS: usize = 4096;

/// A value whose slot can be written into. It is a constant so that a blank is copied, never built.
pub(super) trait Blank {
    const BLANK: Self;
}

impl Blank for Json {
    const BLANK: Json = Json::String(Text::const_new(""));
}

impl Blank for (Text, Json) {
    const BLANK: (Text, Json) = (Text::const_new(""), Json::BLANK);
}

/// A stack; INVARIANT: every slot from `top` on is blank.
pub(super) struct Slots<T> {
    slots: Vec<T>,
    pub(super) top: usize,
}

impl<T: Blank> Slots<T> {
    pub(super) const fn new() -> Slots<T> {
        Slots { slots: Vec::new(), top: 0 }
    }

    /// Claims the next free slot.
    #[inline(always)]
    pub(super) fn claim(&mut self) -> &mut T {
        if self.top == self.slots.len() {
            self.grow();
        }
        self.top += 1;
        &mut self.slots[self.top - 1]
    }

    /// Returns the slot that was claimed last.
    #[inline(always)]
    pub(super) fn last_mut(&mut self) -> &mut T {
        &mut self.slots[self.top - 1]
    }

    /// Returns the values from a position on.
    pub(super) fn values_from(&self, start: usize) -> &[T] {
        &self.slots[start..self.top]
    }

    /// Takes out the values from a position on.
    #[inline(always)]
    pub(super) fn take_from(&mut self, start: usize) -> Vec<T> {
        let taken = &mut self.slots[start..self.top];
        self.top = start;
        taken.iter_mut().map(|slot| std::mem::replace(slot, T::BLANK)).collect()
    }

    /// Makes all slots blank.
    pub(super) fn clear(&mut self) {
        self.slots[..self.top].fill_with(|| T::BLANK);
        self.top = 0;
        if self.slots.len() > MAX_KEPT_SLOTS {
            self.slots.truncate(MAX_KEPT_SLOTS);
            self.slots.shrink_to_fit();
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.resize_with((self.slots.len() * 2).max(16), || T::BLANK);
    }
}

/// Puts a value into a blank slot.
#[inline(always)]
pub(super) fn fill(slot: &mut Json, value: Json) {
    // A blank value owns nothing that a drop would have to free.
    std::mem::forget(std::mem::replace(slot, value));
}
