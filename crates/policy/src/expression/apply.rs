//! Applies functions of expressions to their arguments.

use super::anywhere::find_anywhere;
use super::commands::FoundCommands;
use super::conversion;
use super::function::{Function, TextTest};
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::Run;
use super::texts;
use super::value::{CelValue, ValueType};

impl Function {
    /// Applies it to one value.
    pub(super) fn apply_one<'a>(self, run: &Run<'a>, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, NoValue> {
        match (self, value) {
            (Function::Size, CelValue::Text(text)) => {
                run.scan(text.len(), at)?;
                Ok(size(text.chars().count()))
            }
            (Function::Size, CelValue::List(list)) => Ok(size(list.len())),
            (Function::Size, CelValue::Map(map)) => Ok(size(map.len())),
            (Function::LowerAscii, CelValue::Text(text)) => {
                texts::swap_ascii_case(run, text, at, |c| c.is_ascii_uppercase())
            }
            (Function::UpperAscii, CelValue::Text(text)) => {
                texts::swap_ascii_case(run, text, at, |c| c.is_ascii_lowercase())
            }
            (Function::Trim, CelValue::Text(text)) => {
                run.scan(text.len(), at)?;
                Ok(texts::trim(text))
            }
            (Function::Join, CelValue::List(list)) => texts::join(run, &list, "", at),
            (Function::Commands, value @ (CelValue::Text(_) | CelValue::List(_) | CelValue::Map(_))) => {
                FoundCommands::new(run, value, at).into_value()
            }
            (Function::TimeField(field), CelValue::Time(time)) => field
                .read(time)
                .map(CelValue::integer)
                .ok_or(UnknownCause::Overflow(Operation::Call(self)).to_unknown(at)),
            (Function::TimeField(field), CelValue::Duration(nanoseconds)) => {
                conversion::duration_field(field, nanoseconds)
                    .ok_or(UnknownCause::WrongType(Operation::Call(self), ValueType::Duration).to_unknown(at))
            }
            (
                Function::Int
                | Function::Double
                | Function::String
                | Function::Bool
                | Function::Timestamp
                | Function::Duration,
                value,
            ) => conversion::convert(self, value, at),
            (_, value) => Err(UnknownCause::WrongType(Operation::Call(self), value.value_type()).to_unknown(at)),
        }
    }

    /// Applies it to two values.
    pub(super) fn apply_two<'a>(
        self,
        run: &Run<'a>,
        left: CelValue<'a>,
        right: CelValue<'a>,
        at: u32,
    ) -> Result<CelValue<'a>, NoValue> {
        match (self, left, right) {
            (Function::Split, CelValue::Text(text), CelValue::Text(by)) => texts::split(run, text, &by, at),
            (Function::Anywhere, value @ (CelValue::List(_) | CelValue::Map(_)), CelValue::Text(name)) => {
                find_anywhere(run, value, &name, at)
            }
            (Function::Join, CelValue::List(list), CelValue::Text(by)) => texts::join(run, &list, &by, at),
            (Function::Substring, CelValue::Text(text), CelValue::Number(start)) => {
                texts::substring(run, text, start, None, at)
            }
            (_, left, right) => {
                Err(UnknownCause::WrongTypes(Operation::Call(self), left.value_type(), right.value_type())
                    .to_unknown(at))
            }
        }
    }

    /// Applies it to three values.
    pub(super) fn apply_three<'a>(
        self,
        run: &Run<'a>,
        [first, second, third]: [CelValue<'a>; 3],
        at: u32,
    ) -> Result<CelValue<'a>, NoValue> {
        match (self, first, second, third) {
            (Function::Replace, CelValue::Text(text), CelValue::Text(old), CelValue::Text(new)) => {
                texts::replace(run, text, &old, &new, at)
            }
            (Function::Substring, CelValue::Text(text), CelValue::Number(start), CelValue::Number(end)) => {
                texts::substring(run, text, start, Some(end), at)
            }
            (_, first, second, _) => {
                Err(UnknownCause::WrongTypes(Operation::Call(self), first.value_type(), second.value_type())
                    .to_unknown(at))
            }
        }
    }
}

impl TextTest {
    /// Whether a text is related to another as the test says.
    pub(super) fn holds(self, run: &Run<'_>, text: &str, part: &str, at: u32) -> Result<bool, NoValue> {
        run.scan(if self == TextTest::Contains { text.len() } else { part.len() }, at)?;
        Ok(match self {
            TextTest::StartsWith => text.starts_with(part),
            TextTest::EndsWith => text.ends_with(part),
            TextTest::Contains => memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
        })
    }
}

fn size(count: usize) -> CelValue<'static> {
    CelValue::integer(i64::try_from(count).unwrap_or(i64::MAX))
}
