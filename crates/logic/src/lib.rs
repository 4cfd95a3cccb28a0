//! Decides temporal-logic formulas over sequences of facts.

pub mod facts;
pub mod formula;
pub mod interval;
pub mod semantics;
pub mod term;
pub mod verdict;
pub mod word;

pub use facts::{Fact, Facts};
pub use formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
pub use interval::{Interval, Span, Time};
pub use semantics::evaluate;
pub use term::{Atom, Comparison, Decimal, Term, Value};
pub use verdict::Verdict;
pub use word::{Ending, Word};
