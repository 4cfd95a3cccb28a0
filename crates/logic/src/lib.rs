//! Decides temporal-logic formulas over sequences of facts.
//!
//! A [`Formula`] speaks about a trace: what must hold always, at last, until something else, within a bound, since
//! something before; about facts with values, for every value or for some. [`semantics`] says what it means, slowly and
//! by the book. A [`Monitor`] follows a trace and says after each position what is true of *all* its continuations
//! (Bauer, Leucker, Schallhart 2011): [`Verdict::Violated`] as soon as none can satisfy the formula, even where the
//! formula still looks open.
//!
//! What a formula leaves for the rest of the trace is its residual. The engine keeps residuals in a canonical form, so
//! that a formula has finitely many; each is checked once for continuations that satisfy it and for ones that do not,
//! and then is a number in a table. Past operators carry what they remember inside the residual, deadlines travel
//! beside it, and a quantified formula has one residual for each binding of values, of which those that are equal move
//! as one.
//!
//! A [`MonitorSet`] follows many monitors on many traces. It tells verdicts, residuals as formulas ([`Sentence`]) and, for
//! each verdict, a [`Witness`]: the few positions and facts that prove it, which [`check()`] proves again by the
//! definition alone.
//!
//! ```
//! use lictor_logic::{After, Arena, Facts, Monitor, Time, Verdict, MonitorSet};
//!
//! let mut arena = Arena::new();
//! let formula = arena.parse("always (opened implies eventually[0,30s] closed)").unwrap();
//! let mut watch = MonitorSet::new();
//! let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
//! let mut standing = watch.start();
//! watch.step(&mut standing, &Facts::of(["opened"]).at(Time::from_seconds(5)));
//! assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
//! // Nothing happens, and that is what decides.
//! watch.tick(&mut standing, Time::from_seconds(35));
//! assert_eq!(watch.verdict(&mut standing, id), Verdict::Violated);
//! ```

pub mod analysis;
pub mod automaton;
mod binding;
pub mod cache;
mod cells;
pub mod check;
mod classes;
mod compile;
mod data;
mod doubt;
mod english;
pub mod error;
pub mod facts;
mod fair;
pub mod formula;
pub mod interval;
mod joint;
mod letter;
mod lexer;
mod lower;
pub mod measure;
pub mod missing;
pub mod monitor;
pub mod monitor_set;
mod normal;
pub mod observation;
mod parser;
pub mod pattern;
mod population;
mod printer;
mod probe;
mod progress;
mod reading;
pub mod refusal;
mod residual;
mod rigid;
mod satisfy;
mod scope;
pub mod semantics;
pub mod sentence;
mod slots;
pub mod snapshot;
pub mod spelling;
mod state;
mod stepper;
pub mod term;
mod touch;
pub mod trace_state;
pub mod verdict;
pub mod witness;
pub mod word;

pub use analysis::{Analysis, Class, Lasso, Relation, relate, vacuity};
pub use automaton::{Automaton, AutomatonEdge, AutomatonState};
pub use cache::{CacheLimits, CacheUse};
pub use check::{Check, check};
pub use error::{Excerpt, ParseError, ParseErrors, distance, nearest};
pub use facts::{Fact, Facts};
pub use formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
pub use interval::{Interval, Span, Time};
pub use measure::{Aggregate, AggregateKind, Arithmetic, FixedDecimal, Measure};
pub use missing::MissingOutcome;
pub use monitor::Monitor;
pub use monitor_set::{After, Conclusion, MonitorId, MonitorSet};
pub use observation::{Name, Observation};
pub use pattern::{Pattern, patterns};
pub use refusal::CompileError;
pub use semantics::evaluate;
pub use sentence::Sentence;
pub use snapshot::{Snapshot, SnapshotError};
pub use spelling::{Operator, Spelling, operators};
pub use term::{Atom, Comparison, Decimal, Term, Value};
pub use trace_state::{TraceState, VerdictCounts};
pub use verdict::Verdict;
pub use witness::{Moment, Prover, Witness, WitnessStep};
pub use word::{Ending, Word};
