//! Functions that make texts of texts.

use std::borrow::Cow;
use std::sync::Arc;

use super::function::Function;
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::Run;
use super::value::{CelValue, List};
use lictor_json::Number;

/// Swaps the case of the ASCII letters that `turn` selects; returns the text unchanged if there are none.
pub(super) fn swap_ascii_case<'a>(
    run: &Run<'a>,
    text: Cow<'a, str>,
    at: u32,
    turn: impl Fn(char) -> bool,
) -> Result<CelValue<'a>, NoValue> {
    run.spend(text.len() / 8, at)?;
    if !text.contains(&turn) {
        return Ok(CelValue::Text(text));
    }
    // The bit that tells capital letters from small ones in ASCII.
    let turned = text.chars().map(|c| if turn(c) { char::from(c as u8 ^ 0x20) } else { c }).collect();
    Ok(CelValue::owned_text(turned))
}

/// Returns a text without the white space around it.
pub(super) fn trim(text: Cow<'_, str>) -> CelValue<'_> {
    match text {
        Cow::Borrowed(text) => CelValue::borrowed_text(text.trim()),
        Cow::Owned(text) => CelValue::owned_text(text.trim().to_owned()),
    }
}

/// Returns the pieces between separators; an empty separator cuts between all characters.
pub(super) fn split<'a>(run: &Run<'a>, text: Cow<'a, str>, by: &str, at: u32) -> Result<CelValue<'a>, NoValue> {
    // A piece costs far more than the byte it is made of.
    run.spend(text.len(), at)?;
    let pieces: Arc<[CelValue<'a>]> = match text {
        Cow::Borrowed(text) => split_pieces(text, by).into_iter().map(CelValue::borrowed_text).collect(),
        Cow::Owned(text) => {
            split_pieces(&text, by).into_iter().map(|piece| CelValue::owned_text(piece.to_owned())).collect()
        }
    };
    Ok(CelValue::List(List::Made(pieces)))
}

fn split_pieces<'t>(text: &'t str, by: &str) -> Vec<&'t str> {
    if by.is_empty() {
        return text.char_indices().map(|(place, c)| &text[place..place + c.len_utf8()]).collect();
    }
    text.split(by).collect()
}

/// Returns the texts of a list, with a separator between them.
pub(super) fn join<'a>(run: &Run<'a>, list: &List<'a>, by: &str, at: u32) -> Result<CelValue<'a>, NoValue> {
    let mut joined = String::new();
    for place in 0..list.len() {
        match list.get(place) {
            Some(CelValue::Text(text)) => {
                run.spend(text.len() + by.len() + 1, at)?;
                if place > 0 {
                    joined.push_str(by);
                }
                joined.push_str(&text);
            }
            Some(other) => {
                return Err(UnknownCause::WrongType(Operation::Call(Function::Join), other.value_type()).to_unknown(at));
            }
            None => {}
        }
    }
    Ok(CelValue::owned_text(joined))
}

/// Returns a text with every occurrence of one text replaced by another.
pub(super) fn replace<'a>(
    run: &Run<'a>,
    text: Cow<'a, str>,
    old: &str,
    new: &str,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    run.spend(text.len() / 8, at)?;
    let count = text.matches(old).count();
    if count == 0 {
        return Ok(CelValue::Text(text));
    }
    // Asked before it is made: a long text can grow beyond all memory.
    run.spend(count.saturating_mul(new.len()).saturating_add(text.len()), at)?;
    Ok(CelValue::owned_text(text.replace(old, new)))
}

/// Returns the characters from one position up to another; positions count characters, not bytes.
pub(super) fn substring<'a>(
    run: &Run<'a>,
    text: Cow<'a, str>,
    start: Number,
    end: Option<Number>,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    run.spend(text.len() / 8, at)?;
    let byte = |place: Number| {
        let Number::Integer(place) = place else { return Err(UnknownCause::Range.to_unknown(at)) };
        let place = usize::try_from(place).map_err(|_| UnknownCause::Range.to_unknown(at))?;
        let mut places = text.char_indices().map(|(byte, _)| byte).chain([text.len()]);
        places.nth(place).ok_or(UnknownCause::Range.to_unknown(at))
    };
    let (start, end) = (byte(start)?, end.map_or(Ok(text.len()), byte)?);
    if start > end {
        return Err(UnknownCause::Range.to_unknown(at));
    }
    Ok(match text {
        Cow::Borrowed(text) => CelValue::borrowed_text(&text[start..end]),
        Cow::Owned(text) => CelValue::owned_text(text[start..end].to_owned()),
    })
}
