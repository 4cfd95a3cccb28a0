//! The functions of expressions.

use super::anywhere::anywhere;
use super::conversion;
use super::evaluate::Run;
use super::reason::{Cause, Doing, Missing};
use super::texts;
use super::time::Part;
use super::value::{CelValue, Sort};

/// A function whose arguments were evaluated before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Test(TextTest),
    Matches,
    LowerAscii,
    UpperAscii,
    Trim,
    Split,
    Anywhere,
    Join,
    Replace,
    Substring,
    Int,
    Double,
    String,
    Bool,
    Timestamp,
    Duration,
    Part(Part),
}

/// A question about two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `f(x)`
    Global,
    /// `x.f()`
    Member,
    /// Either way.
    Both,
}

/// A function as it is written.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// How many values it takes, what it is called on among them.
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) function: Function,
}

const fn signature(name: &'static str, form: Form, least: usize, most: usize, function: Function) -> Signature {
    Signature { name, form, least, most, function }
}

const SIGNATURES: [Signature; 29] = [
    signature("size", Form::Both, 1, 1, Function::Size),
    signature("contains", Form::Member, 2, 2, Function::Test(TextTest::Contains)),
    signature("startsWith", Form::Member, 2, 2, Function::Test(TextTest::StartsWith)),
    signature("endsWith", Form::Member, 2, 2, Function::Test(TextTest::EndsWith)),
    signature("matches", Form::Both, 2, 2, Function::Matches),
    signature("lowerAscii", Form::Member, 1, 1, Function::LowerAscii),
    signature("upperAscii", Form::Member, 1, 1, Function::UpperAscii),
    signature("trim", Form::Member, 1, 1, Function::Trim),
    signature("split", Form::Member, 2, 2, Function::Split),
    signature("anywhere", Form::Member, 2, 2, Function::Anywhere),
    signature("join", Form::Member, 1, 2, Function::Join),
    signature("replace", Form::Member, 3, 3, Function::Replace),
    signature("substring", Form::Member, 2, 3, Function::Substring),
    signature("int", Form::Global, 1, 1, Function::Int),
    signature("double", Form::Global, 1, 1, Function::Double),
    signature("string", Form::Global, 1, 1, Function::String),
    signature("bool", Form::Global, 1, 1, Function::Bool),
    signature("timestamp", Form::Global, 1, 1, Function::Timestamp),
    signature("duration", Form::Global, 1, 1, Function::Duration),
    signature("getFullYear", Form::Member, 1, 1, Function::Part(Part::FullYear)),
    signature("getMonth", Form::Member, 1, 1, Function::Part(Part::Month)),
    signature("getDate", Form::Member, 1, 1, Function::Part(Part::Date)),
    signature("getDayOfMonth", Form::Member, 1, 1, Function::Part(Part::DayOfMonth)),
    signature("getDayOfWeek", Form::Member, 1, 1, Function::Part(Part::DayOfWeek)),
    signature("getDayOfYear", Form::Member, 1, 1, Function::Part(Part::DayOfYear)),
    signature("getHours", Form::Member, 1, 1, Function::Part(Part::Hours)),
    signature("getMinutes", Form::Member, 1, 1, Function::Part(Part::Minutes)),
    signature("getSeconds", Form::Member, 1, 1, Function::Part(Part::Seconds)),
    signature("getMilliseconds", Form::Member, 1, 1, Function::Part(Part::Milliseconds)),
];

impl Signature {
    pub(super) fn named(name: &str) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|signature| signature.name == name)
    }

    /// The names of all functions, and of the macros that look like them.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        let macros = ["has", "all", "exists", "exists_one", "map", "filter"];
        macros.into_iter().chain(SIGNATURES.iter().map(|signature| signature.name))
    }
}

impl Function {
    /// The name, for messages.
    pub(super) fn name(self) -> &'static str {
        SIGNATURES.iter().find(|signature| signature.function == self).map_or("", |signature| signature.name)
    }

    /// The sort of its values.
    pub(super) fn sort(self) -> Option<Sort> {
        Some(match self {
            Function::Size | Function::Int | Function::Double | Function::Part(_) => Sort::Number,
            Function::Test(_) | Function::Matches | Function::Bool => Sort::Bool,
            Function::LowerAscii
            | Function::UpperAscii
            | Function::Trim
            | Function::Join
            | Function::Replace
            | Function::Substring
            | Function::String => Sort::Text,
            Function::Split | Function::Anywhere => Sort::List,
            Function::Timestamp => Sort::Time,
            Function::Duration => Sort::Duration,
        })
    }

    /// Applies it to one value.
    pub(super) fn one<'a>(self, run: &Run<'a>, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, Missing> {
        match (self, value) {
            (Function::Size, CelValue::Text(text)) => {
                run.scan(text.len(), at)?;
                Ok(size(text.chars().count()))
            }
            (Function::Size, CelValue::List(list)) => Ok(size(list.len())),
            (Function::Size, CelValue::Map(map)) => Ok(size(map.len())),
            (Function::LowerAscii, CelValue::Text(text)) => texts::change(run, text, at, |c| c.is_ascii_uppercase()),
            (Function::UpperAscii, CelValue::Text(text)) => texts::change(run, text, at, |c| c.is_ascii_lowercase()),
            (Function::Trim, CelValue::Text(text)) => {
                run.scan(text.len(), at)?;
                Ok(texts::trim(text))
            }
            (Function::Join, CelValue::List(list)) => texts::join(run, &list, "", at),
            (Function::Part(part), CelValue::Time(time)) => {
                part.of(time).map(CelValue::whole).ok_or(Cause::Overflow(Doing::Call(self)).at(at))
            }
            (Function::Part(part), CelValue::Duration(nanoseconds)) => conversion::part_of_duration(part, nanoseconds)
                .ok_or(Cause::Sort(Doing::Call(self), Sort::Duration).at(at)),
            (
                Function::Int
                | Function::Double
                | Function::String
                | Function::Bool
                | Function::Timestamp
                | Function::Duration,
                value,
            ) => conversion::convert(self, value, at),
            (_, value) => Err(Cause::Sort(Doing::Call(self), value.sort()).at(at)),
        }
    }

    /// Applies it to two values.
    pub(super) fn two<'a>(
        self,
        run: &Run<'a>,
        left: CelValue<'a>,
        right: CelValue<'a>,
        at: u32,
    ) -> Result<CelValue<'a>, Missing> {
        match (self, left, right) {
            (Function::Split, CelValue::Text(text), CelValue::Text(by)) => texts::split(run, text, &by, at),
            (Function::Anywhere, value @ (CelValue::List(_) | CelValue::Map(_)), CelValue::Text(name)) => {
                anywhere(run, value, &name, at)
            }
            (Function::Join, CelValue::List(list), CelValue::Text(by)) => texts::join(run, &list, &by, at),
            (Function::Substring, CelValue::Text(text), CelValue::Number(start)) => {
                texts::substring(run, text, start, None, at)
            }
            (_, left, right) => Err(Cause::Sorts(Doing::Call(self), left.sort(), right.sort()).at(at)),
        }
    }

    /// Applies it to three values.
    pub(super) fn three<'a>(
        self,
        run: &Run<'a>,
        [first, second, third]: [CelValue<'a>; 3],
        at: u32,
    ) -> Result<CelValue<'a>, Missing> {
        match (self, first, second, third) {
            (Function::Replace, CelValue::Text(text), CelValue::Text(old), CelValue::Text(new)) => {
                texts::replace(run, text, &old, &new, at)
            }
            (Function::Substring, CelValue::Text(text), CelValue::Number(start), CelValue::Number(end)) => {
                texts::substring(run, text, start, Some(end), at)
            }
            (_, first, second, _) => Err(Cause::Sorts(Doing::Call(self), first.sort(), second.sort()).at(at)),
        }
    }
}

impl TextTest {
    /// Whether a text is related to another as the test says.
    pub(super) fn holds(self, run: &Run<'_>, text: &str, part: &str, at: u32) -> Result<bool, Missing> {
        run.scan(if self == TextTest::Contains { text.len() } else { part.len() }, at)?;
        Ok(match self {
            TextTest::StartsWith => text.starts_with(part),
            TextTest::EndsWith => text.ends_with(part),
            TextTest::Contains => memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
        })
    }
}

fn size(count: usize) -> CelValue<'static> {
    CelValue::whole(i64::try_from(count).unwrap_or(i64::MAX))
}
