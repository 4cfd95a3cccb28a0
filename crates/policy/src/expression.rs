//! Conditions and values of policies, in the Common Expression Language.
//!
//! An expression such as `args.amount > 10000 && args.currency == "EUR"` is parsed by the `cel` crate and compiled into
//! a form that reads the event where it lies, so that a test of an argument takes some ten nanoseconds and copies
//! nothing.
//!
//! # Names
//!
//! `kind`, `tool`, `agent`, `to`, `id`, `session`, `text`, `failed`, `args`, `result`, `labels`, `purposes`,
//! `categories`, `subjects`, `seq`, `time` (a timestamp) and `more` (fields that no decoder knows) are those of the
//! event; `event.tool` is the same as `tool`. `call.tool` and `call.args` are those of the call that a result answers,
//! `it` is the element of `each`, and every table of the policy has its own name. The `result` of a tool is a value if
//! the log holds one, or its text read as JSON, or else its text.
//!
//! # Absent and unknown
//!
//! CEL knows values and errors. Here an error is one of two things:
//!
//! - *Absent* is a missing value: a key, an index, a field that the event has not, anything inside `null`. An
//!   operation on something absent is absent, and a condition that is absent is false. `has(args.x)` asks for it.
//!   The opposite of an absent condition is unknown: leaving out an argument must not evade `args.country != "DE"`.
//!   So are `!` and `!=` on something absent, `?:` with an absent condition, and an absent condition as a value.
//! - *Unknown* is an undecidable value: arguments that are not JSON, a text compared with a number, a division by zero.
//!   A condition that is unknown is [`Truth::Unknown`], with a [`Reason`].
//!
//! `&&` and `||` absorb both, as in CEL: `true || absent` is true. `absent && unknown` is absent, since an absent
//! condition does not hold; `absent || unknown` is unknown.
//!
//! # Differences from CEL
//!
//! Where CEL gives an error or a number that JSON does not know, this gives more:
//!
//! - Whole numbers and floats mix in arithmetic, the result is a float; a float that is whole is an index. A result
//!   that is infinite is unknown, and so is a division by `0.0`.
//! - `has(a.b.c)` is false also if `a.b` is absent.
//! - `filter` passes over elements for which the condition is absent, except within a condition, where it is unknown;
//!   `map` is unknown if an element lacks what it takes.
//! - Keys of maps are texts. There are no bytes, no unsigned numbers, no messages, no optional fields, no `type`.
//! - `duration("30d")` counts days, as formulas do.
//! - `args.anywhere("iban")` is the list of values under that name at any depth, whatever its case, with or without
//!   `_` and `-`.
//! - `args.commands()` is the list of shell commands in all texts of a value, each in one spelling. If the text runs
//!   commands that it does not show, the list is unknown, but `exists` and `all` decide by those that are found.
//! - Whether values of two types are equal is unknown if a tool may read one as the other: `"900"` as 900, `"yes"` or 1
//!   as true, a list of one element as the element. Otherwise they are different, as in CEL.
//! - Comparisons that no event could decide, such as `tool > 3`, are refused when compiled.

mod anywhere;
mod apply;
mod arithmetic;
mod borrowed_value;
mod bounds;
mod commands;
mod compare;
mod conversion;
mod error;
mod evaluate;
mod fast_path;
mod function;
mod loops;
mod lower;
mod matcher;
mod node;
mod operator;
mod parse;
mod pattern;
mod pattern_set;
mod pattern_size;
mod readings;
mod reason;
mod root;
mod run;
mod scope;
mod tables;
mod text_patterns;
mod texts;
mod time;
mod value;

pub use error::{ExpressionError, ExpressionErrors};
pub use matcher::Matcher;
pub(crate) use pattern::LiteralPattern;
pub(crate) use pattern_size::is_surely_compilable;
pub use reason::Reason;
pub use scope::{AnsweredCall, EvaluationScope};
pub use tables::Tables;
pub use value::{CelValue, List, Map};

use node::ExprNode;
use reason::NoValue;
use root::Root;
use run::Run;
use text_patterns::TextPatterns;

/// A compiled expression.
///
/// ```
/// use lictor_event::{Arguments, Event, Kind};
/// use lictor_policy::expression::{EvaluationScope, Expression, Tables, Truth};
///
/// let expression = Expression::compile("args.amount > 10000 && args.currency == 'EUR'", &Tables::default()).unwrap();
/// let mut event = Event::new(Kind::ToolCall);
/// event.args = Some(Arguments::Value(lictor_json::parse_str(r#"{"amount": 20000, "currency": "EUR"}"#).unwrap()));
/// assert_eq!(expression.holds(&EvaluationScope::new(&event)), Truth::True);
/// ```
#[derive(Debug)]
pub struct Expression {
    node: ExprNode,
    reads: u32,
}

/// The result of an expression.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Debug)]
pub enum Evaluation<'a> {
    /// A value.
    Value(CelValue<'a>),
    /// A value it needs is missing.
    Absent,
    /// It is unknown, for this reason.
    Unknown(Reason),
}

/// Whether a condition holds.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not, or a value it needs is missing.
    False,
    /// It is unknown, for this reason.
    Unknown(Reason),
}

impl Expression {
    /// Compiles an expression that may look into tables of the policy.
    ///
    /// # Errors
    ///
    /// If it is no expression, or no event could give it a value. All unknown names are reported at once.
    pub fn compile(source: &str, tables: &Tables) -> Result<Expression, ExpressionErrors> {
        parse::parse_with(source, |tree, places| {
            lower::lower(tree, places, tables).map(|(node, reads)| Expression { node, reads })
        })
    }

    /// Evaluates it in a scope.
    pub fn evaluate<'a>(&'a self, scope: &'a EvaluationScope<'a>) -> Evaluation<'a> {
        match self.node.evaluate_whole(&Run::new(scope)) {
            Ok(value) => Evaluation::Value(value),
            Err(NoValue::Absent) => Evaluation::Absent,
            Err(NoValue::Unknown(reason)) => Evaluation::Unknown(reason),
        }
    }

    /// Whether it holds, for an expression that is a condition. One that comes to something that is neither true nor
    /// false is unknown.
    pub fn holds(&self, scope: &EvaluationScope<'_>) -> Truth {
        to_truth(self.node.test(&Run::condition(scope), None, 0))
    }

    /// Whether it could be a condition: not so if it always comes to a text, say.
    pub fn may_hold(&self) -> bool {
        self.node.value_type().is_none_or(|sort| sort == value::ValueType::Bool)
    }

    /// Whether it reads the field of a name: `text`, `args`, `call` and so on. Fields that no expression reads need not
    /// be computed or kept.
    pub fn reads(&self, name: &str) -> bool {
        self.reads & Root::name_bits(name) != 0
    }

    /// Returns the regular expressions that it looks for in the `text` of an event; none if it looks at the text in
    /// other ways, too. Two texts in which they match at the same places are the same to it.
    pub fn text_patterns(&self) -> Option<Vec<String>> {
        let mut found = TextPatterns::default();
        found.add(&self.node).then_some(found.patterns)
    }
}

/// Returns the truth of an outcome; an absent condition is false.
fn to_truth(outcome: Result<bool, NoValue>) -> Truth {
    match outcome {
        Ok(true) => Truth::True,
        Ok(false) | Err(NoValue::Absent) => Truth::False,
        Err(NoValue::Unknown(reason)) => Truth::Unknown(reason),
    }
}
