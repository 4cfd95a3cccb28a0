//! Judges events by a policy: finds their facts, and advances the properties.

mod bulk;
mod coverage;
pub mod decision;
mod early_recogniser;
mod facts;
pub mod finding;
mod forecast;
mod foresight;
mod grounds;
pub mod guard;
pub mod guidance;
mod history_set;
mod history_times;
mod identity;
mod judge;
mod missing;
mod monitor_group;
pub mod objective;
pub mod observer;
mod past;
mod prepare;
mod prepared;
mod present;
mod property_text;
mod question;
mod rebuild;
mod restore_error;
mod risk;
mod saved;
pub mod session;
mod shared_history;
mod state;
mod text_mask;
mod trail;

pub use bulk::Follower;
pub use coverage::{Coverage, PropertyGap};
pub use early_recogniser::EarlyRecogniser;
pub use forecast::ForesightError;
pub use foresight::Foresight;
pub use history_times::HistoryTimes;
pub use judge::Judge;
pub(crate) use judge::LabeledEvent;
pub(crate) use monitor_group::{Restart, Violation, Violations};
pub use past::{PastPolicies, PolicyMove, PolicyScope};
pub(crate) use prepared::{PreparedPolicy, Provers};
pub use restore_error::RestoreError;
pub(crate) use saved::SavedState;
pub use saved::{HistoryKey, SavedHistories, TouchedHistory};
pub use shared_history::{EnteredHistories, HistoryEvent};
pub use state::{SessionState, ViolationCount};

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
