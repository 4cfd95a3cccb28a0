//! Decides temporal-logic formulas over sequences of facts.
//!
//! A [`Formula`] is a statement about a trace: always, eventually, until, within a bound, since; about facts with
//! values, for every value or for some. [`semantics`] defines what it means. A [`Monitor`] follows a trace and gives a
//! verdict on *all* its continuations after each position (Bauer, Leucker, Schallhart 2011): [`Verdict::Violated`] as
//! soon as none can satisfy the formula, even if the formula still looks open.
//!
//! The residual of a formula is its obligation for the rest of the trace. The engine keeps residuals in a canonical
//! form, so that a formula has finitely many. It checks each once for continuations that satisfy it and for ones that
//! do not; after that the residual is a number in a table. Past operators keep their memory inside the residual, and
//! deadlines beside it. A quantified formula has one residual for each binding of values; bindings with equal residuals
//! move as one.
//!
//! A [`Run`] follows one formula on one trace, a [`MonitorSet`] many monitors on many traces. Both report verdicts and
//! residuals as formulas ([`Sentence`]). A [`Witness`] lists the few positions and facts that prove a verdict, and
//! [`check()`] confirms it by the definition alone.
//!
//! ```
//! use lictor_logic::{Facts, Monitor, Time, Verdict};
//!
//! let mut run = Monitor::parse("always (opened implies eventually[0,30s] closed)")?.run();
//! assert_eq!(run.step(&Facts::parse("@5s opened")?), Verdict::Inconclusive);
//! // Nothing happens for 30 seconds: the deadline expires.
//! assert_eq!(run.tick(Time::from_seconds(35)), Verdict::Violated);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod after;
pub mod analysis;
pub mod arena;
pub mod automaton;
pub mod belief;
mod binding_residuals;
mod bindings;
pub mod cache;
mod cells;
pub mod chance;
pub mod check;
mod classes;
mod clock;
pub mod comparison;
mod compile;
pub mod compile_error;
mod condition;
mod data;
mod dnf;
mod english;
pub mod fact_roles;
pub mod facts;
mod fair_loop;
pub mod formula;
pub mod formula_error;
pub mod interval;
mod joint_search;
mod letter;
mod lexer;
mod lower;
pub mod measure;
pub mod missing;
pub mod monitor;
pub mod monitor_set;
mod name_syntax;
mod norm;
pub mod observation;
pub mod parse_error;
mod parser;
pub mod pattern;
mod population;
mod possible_violation;
mod printer;
mod probe;
mod progress;
mod relevance;
mod rigid;
pub mod run;
mod satisfiability;
mod scope;
pub mod semantics;
pub mod sentence;
mod set_identity;
mod skeleton;
mod slots;
pub mod snapshot;
pub mod spelling;
mod state;
mod step_reader;
mod stepper;
pub mod term;
mod touch;
pub mod trace_state;
pub mod value;
pub mod verdict;
pub mod witness;
pub mod word;
mod work;

pub use after::After;
pub use analysis::{Analysis, Class, Lasso, Relation, is_weaker, relate, vacuity};
pub use arena::{Arena, Node};
pub use automaton::{Automaton, AutomatonEdge, AutomatonState};
pub use belief::{Belief, BeliefError, BeliefMonitor, BeliefSnapshot, BindingRisk, FactInfluence};
pub use cache::{CacheLimits, CacheUse};
pub use chance::{Chance, ChanceError, ChanceRange, Choice};
pub use check::{Check, check};
pub use comparison::Comparison;
pub use compile_error::CompileError;
pub use fact_roles::FactRole;
pub use facts::{Fact, FactNameError, Facts};
pub use formula::{Binary, Formula, Quantifier, Unary};
pub use formula_error::FormulaError;
pub use interval::{Interval, Span, Time};
pub use measure::{Aggregate, AggregateKind, Arithmetic, FixedDecimal, Measure};
pub use missing::MissingOutcome;
pub use monitor::Monitor;
pub use monitor_set::{Conclusion, MonitorId, MonitorSet};
pub use observation::{Name, Observation};
pub use parse_error::{Excerpt, ParseError, ParseErrors, distance, nearest};
pub use pattern::{Pattern, patterns};
pub use run::Run;
pub use semantics::evaluate;
pub use sentence::Sentence;
pub use snapshot::{Snapshot, SnapshotError};
pub use spelling::{Operator, Spelling, operators};
pub use term::{Atom, Term};
pub use trace_state::{TraceState, VerdictCounts};
pub use value::{Decimal, Value};
pub use verdict::Verdict;
pub use witness::{Moment, Prover, Witness, WitnessBasis, WitnessBudget, WitnessStep};
pub use word::{Ending, Word};

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
