//! A plain value where it is stored, for comparisons that copy nothing.
//!
//! A borrowed value fits two registers. Fast paths return one where they can.

use std::cmp::Ordering;

use super::compare::order_numbers;
use super::value::CelValue;
use lictor_json::{Json, Number, Text};

/// A value by reference, or why there is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum BorrowedValue<'x> {
    Json(&'x Json),
    Text(&'x Text),
    Value(&'x CelValue<'x>),
    Absent,
    /// Not available on the fast path.
    Nothing,
}

impl<'x> BorrowedValue<'x> {
    /// Returns the text, or absent if there is none.
    pub(super) fn from_text(text: Option<&'x Text>) -> BorrowedValue<'x> {
        text.map_or(BorrowedValue::Absent, BorrowedValue::Text)
    }

    /// Returns the text, if it is one.
    #[inline]
    pub(super) fn as_text(self) -> Option<&'x str> {
        match self {
            BorrowedValue::Json(Json::String(text)) | BorrowedValue::Text(text) => Some(text),
            BorrowedValue::Value(CelValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if it is one.
    #[inline]
    fn as_number(self) -> Option<&'x Number> {
        match self {
            BorrowedValue::Json(Json::Number(number)) | BorrowedValue::Value(CelValue::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// Returns how long it is, if it is a text.
    #[inline]
    pub(super) fn length(self) -> usize {
        self.as_text().map_or(0, str::len)
    }

    /// Whether either of two is absent.
    #[inline]
    pub(super) fn is_absent(self, other: BorrowedValue<'_>) -> bool {
        matches!(self, BorrowedValue::Absent) || matches!(other, BorrowedValue::Absent)
    }

    /// Returns the order of two texts or two numbers; none if that is not what they are.
    #[inline]
    pub(super) fn order(self, other: BorrowedValue<'_>) -> Option<Ordering> {
        if let (Some(left), Some(right)) = (self.as_number(), other.as_number()) {
            return Some(order_numbers(left, right));
        }
        Some(self.as_text()?.cmp(other.as_text()?))
    }

    /// Whether two texts or two numbers are equal; none if that is not what they are.
    #[inline]
    pub(super) fn equals(self, other: BorrowedValue<'_>) -> Option<bool> {
        if let (Some(left), Some(right)) = (self.as_text(), other.as_text()) {
            return Some(left == right);
        }
        Some(order_numbers(self.as_number()?, other.as_number()?).is_eq())
    }
}
