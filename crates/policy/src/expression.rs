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
//! - *Absent* is what is not there: a key, an index, a field that the event has not, anything inside `null`. An
//!   operation on something absent is absent, and a condition that is absent is false. `has(args.x)` asks for it.
//! - *Unknown* is what cannot be told: arguments that are not JSON, a text compared with a number, a division by zero.
//!   A condition that is unknown is [`Truth::Unknown`], with a [`Reason`].
//!
//! `&&` and `||` absorb both, as in CEL: `true || absent` is true. Of what is left, unknown outweighs absent.
//!
//! # Differences from CEL
//!
//! Where CEL gives an error or a number that JSON does not know, this gives more:
//!
//! - Whole numbers and floats mix in arithmetic, the result is a float; a float that is whole is an index. A result
//!   that is infinite is unknown, and so is a division by `0.0`.
//! - `has(a.b.c)` is false also if `a.b` is absent.
//! - `filter` and `exists_one` pass over elements for which the condition is absent; `map` is unknown if an element
//!   lacks what it takes.
//! - Keys of maps are texts. There are no bytes, no unsigned numbers, no messages, no optional fields, no `type`.
//! - `duration("30d")` counts days, as formulas do.
//! - `args.anywhere("iban")` is the list of what stands under that name at any depth, whatever its case, with or without
//!   `_` and `-`.
//! - Comparisons that no event could decide, such as `tool > 3`, are refused when compiled.

mod anywhere;
mod arithmetic;
mod bounds;
mod call;
mod compare;
mod conversion;
mod error;
mod evaluate;
mod function;
mod glance;
mod lower;
mod matcher;
mod node;
mod parse;
mod pattern;
mod patterns;
mod reason;
mod root;
mod scope;
mod tables;
mod texts;
mod time;
mod value;

pub use error::{ExpressionError, ExpressionErrors};
pub use matcher::Matcher;
pub use reason::Reason;
pub use scope::{AnsweredCall, EvaluationScope};
pub use tables::Tables;
pub use value::{CelValue, List, Map};

use evaluate::Run;
use node::Node;
use reason::Missing;
use root::Root;

/// A compiled expression.
///
/// ```
/// use lictor::event::{Event, Kind, Payload};
/// use lictor::expression::{Expression, EvaluationScope, Tables, Truth};
///
/// let expression = Expression::compile("args.amount > 10000 && args.currency == 'EUR'", &Tables::default()).unwrap();
/// let mut event = Event::new(Kind::ToolCall);
/// event.args = Some(Payload::from_json(lictor::json::parse_str(r#"{"amount": 20000, "currency": "EUR"}"#).unwrap()));
/// assert_eq!(expression.holds(&Scope::new(&event)), Truth::True);
/// ```
#[derive(Debug)]
pub struct Expression {
    node: Node,
    reads: u32,
}

/// What an expression comes to.
#[derive(Clone, Debug)]
pub enum Evaluation<'a> {
    /// A value.
    Value(CelValue<'a>),
    /// Something it needs is not there.
    Absent,
    /// It cannot be told.
    Unknown(Reason),
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It does.
    True,
    /// It does not, or what it needs is not there.
    False,
    /// It cannot be told.
    Unknown(Reason),
}

impl Expression {
    /// Compiles an expression that may look into tables of the policy.
    ///
    /// # Errors
    ///
    /// If it is no expression, or no event could give it a value. All unknown names are reported at once.
    pub fn compile(source: &str, tables: &Tables) -> Result<Expression, ExpressionErrors> {
        parse::with_tree(source, |tree, places| {
            lower::lower(tree, places, tables).map(|(node, reads)| Expression { node, reads })
        })
    }

    /// What it comes to.
    pub fn evaluate<'a>(&'a self, scope: &'a EvaluationScope<'a>) -> Evaluation<'a> {
        match self.node.evaluate(&Run::new(scope), None) {
            Ok(value) => Evaluation::Value(value),
            Err(Missing::Absent) => Evaluation::Absent,
            Err(Missing::Unknown(reason)) => Evaluation::Unknown(reason),
        }
    }

    /// Whether it holds, for an expression that is a condition. One that comes to something that is neither true nor
    /// false is unknown.
    pub fn holds(&self, scope: &EvaluationScope<'_>) -> Truth {
        settle(self.node.test(&Run::new(scope), None, 0))
    }

    /// Whether it could be a condition: not so if it always comes to a text, say.
    pub fn may_hold(&self) -> bool {
        self.node.sort().is_none_or(|sort| sort == value::Sort::Bool)
    }

    /// Whether it reads what a name stands for: `text`, `args`, `call` and so on. What no expression reads need not be
    /// computed or kept.
    pub fn reads(&self, name: &str) -> bool {
        self.reads & Root::bits(name) != 0
    }
}

/// A condition that is absent is false.
fn settle(outcome: Result<bool, Missing>) -> Truth {
    match outcome {
        Ok(true) => Truth::True,
        Ok(false) | Err(Missing::Absent) => Truth::False,
        Err(Missing::Unknown(reason)) => Truth::Unknown(reason),
    }
}
