//! Forecasts whether an agent will violate a property within a few actions.
//!
//! ```text
//! logs ──learn──▶ Chain ─┐
//!                        ├─▶ Predictor ──forecast──▶ Outlook ──▶ choose_candidate
//! session ── snapshot ───┘
//! ```
//!
//! A [`Chain`] is what is learnt of how events follow each other. A [`Predictor`] adds up what each continuation would
//! do to the properties: that part is not learnt but computed by the engine, so one chain serves every property. Where
//! a model is asked for continuations instead, a [`SampleSequence`] says when enough were seen. [`choose_candidate`]
//! picks a reply that is never worse than the original by its own forecast.

mod chain;
mod choose;
mod file;
mod forecast;
mod learn;
mod machine;
mod paths;
mod predictor;
mod random;
mod reach;
mod score;
mod sequence;
mod symbol;
#[cfg(test)]
mod tests;

pub use chain::{Chain, ChainPlace};
pub use choose::{Score, choose_candidate};
pub use forecast::{Forecast, ForecastMethod, Outlook, ThresholdSide};
pub use learn::{ChainError, MIN_SESSIONS};
pub use lictor_math::ReliabilityBin;
pub use machine::SOME_VIOLATION;
pub use predictor::Predictor;
pub use random::SeededRandom;
pub use score::{ForecastScores, LeadTime, ScoredForecast};
pub use sequence::SampleSequence;
pub use symbol::Step;

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
