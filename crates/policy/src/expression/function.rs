//! The functions of expressions: their names, how they are called, and what they return.

use super::time::TimeField;
use super::value::ValueType;

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
    Commands,
    Join,
    Replace,
    Substring,
    Int,
    Double,
    String,
    Bool,
    Timestamp,
    Duration,
    TimeField(TimeField),
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
pub(super) enum CallForm {
    /// `f(x)`
    Global,
    /// `x.f()`
    Member,
    /// Either way.
    Both,
}

/// A function as it is written.
#[derive(Debug)]
pub(super) struct FunctionSignature {
    pub(super) name: &'static str,
    pub(super) form: CallForm,
    /// How many values it takes, what it is called on among them.
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) function: Function,
}

const fn signature(
    name: &'static str,
    form: CallForm,
    least: usize,
    most: usize,
    function: Function,
) -> FunctionSignature {
    FunctionSignature { name, form, least, most, function }
}

const FUNCTION_SIGNATURES: [FunctionSignature; 30] = [
    signature("size", CallForm::Both, 1, 1, Function::Size),
    signature("contains", CallForm::Member, 2, 2, Function::Test(TextTest::Contains)),
    signature("startsWith", CallForm::Member, 2, 2, Function::Test(TextTest::StartsWith)),
    signature("endsWith", CallForm::Member, 2, 2, Function::Test(TextTest::EndsWith)),
    signature("matches", CallForm::Both, 2, 2, Function::Matches),
    signature("lowerAscii", CallForm::Member, 1, 1, Function::LowerAscii),
    signature("upperAscii", CallForm::Member, 1, 1, Function::UpperAscii),
    signature("trim", CallForm::Member, 1, 1, Function::Trim),
    signature("split", CallForm::Member, 2, 2, Function::Split),
    signature("anywhere", CallForm::Member, 2, 2, Function::Anywhere),
    signature("commands", CallForm::Member, 1, 1, Function::Commands),
    signature("join", CallForm::Member, 1, 2, Function::Join),
    signature("replace", CallForm::Member, 3, 3, Function::Replace),
    signature("substring", CallForm::Member, 2, 3, Function::Substring),
    signature("int", CallForm::Global, 1, 1, Function::Int),
    signature("double", CallForm::Global, 1, 1, Function::Double),
    signature("string", CallForm::Global, 1, 1, Function::String),
    signature("bool", CallForm::Global, 1, 1, Function::Bool),
    signature("timestamp", CallForm::Global, 1, 1, Function::Timestamp),
    signature("duration", CallForm::Global, 1, 1, Function::Duration),
    signature("getFullYear", CallForm::Member, 1, 1, Function::TimeField(TimeField::FullYear)),
    signature("getMonth", CallForm::Member, 1, 1, Function::TimeField(TimeField::Month)),
    signature("getDate", CallForm::Member, 1, 1, Function::TimeField(TimeField::Date)),
    signature("getDayOfMonth", CallForm::Member, 1, 1, Function::TimeField(TimeField::DayOfMonth)),
    signature("getDayOfWeek", CallForm::Member, 1, 1, Function::TimeField(TimeField::DayOfWeek)),
    signature("getDayOfYear", CallForm::Member, 1, 1, Function::TimeField(TimeField::DayOfYear)),
    signature("getHours", CallForm::Member, 1, 1, Function::TimeField(TimeField::Hours)),
    signature("getMinutes", CallForm::Member, 1, 1, Function::TimeField(TimeField::Minutes)),
    signature("getSeconds", CallForm::Member, 1, 1, Function::TimeField(TimeField::Seconds)),
    signature("getMilliseconds", CallForm::Member, 1, 1, Function::TimeField(TimeField::Milliseconds)),
];

impl FunctionSignature {
    pub(super) fn find(name: &str) -> Option<&'static FunctionSignature> {
        FUNCTION_SIGNATURES.iter().find(|signature| signature.name == name)
    }

    /// Returns the names of all functions, and of the macros that look like them.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        let macros = ["has", "all", "exists", "exists_one", "map", "filter"];
        macros.into_iter().chain(FUNCTION_SIGNATURES.iter().map(|signature| signature.name))
    }
}

impl Function {
    /// Returns the name, for messages.
    pub(super) fn name(self) -> &'static str {
        FUNCTION_SIGNATURES.iter().find(|signature| signature.function == self).map_or("", |signature| signature.name)
    }

    /// Returns the type of its values.
    pub(super) fn value_type(self) -> Option<ValueType> {
        Some(match self {
            Function::Size | Function::Int | Function::Double | Function::TimeField(_) => ValueType::Number,
            Function::Test(_) | Function::Matches | Function::Bool => ValueType::Bool,
            Function::LowerAscii
            | Function::UpperAscii
            | Function::Trim
            | Function::Join
            | Function::Replace
            | Function::Substring
            | Function::String => ValueType::Text,
            Function::Split | Function::Anywhere | Function::Commands => ValueType::List,
            Function::Timestamp => ValueType::Time,
            Function::Duration => ValueType::Duration,
        })
    }
}
