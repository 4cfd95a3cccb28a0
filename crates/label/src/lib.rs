//! Labelers that answer a policy's questions about events, and the calibration of their answers.
//!
//! - [`open`]: the labelers that a policy declares.
//! - [`endpoint`]: a model behind any OpenAI-compatible chat endpoint.
//! - [`service`]: any HTTP service with Lictor's JSON contract, and Presidio's analyzer.
//! - [`learnt`]: a classifier that was fitted on labelled logs.
//! - [`person`]: a person at the terminal.
//! - [`calibration`]: turns answers into chances.
//! - [`cache`]: answers that were given before.
//! - [`logged`]: answers that a log brings along.
//! - [`budget`]: limits of calls, tokens and time.

mod answer_key;
pub mod budget;
pub mod cache;
pub mod calibrated;
pub mod calibration;
mod clock;
pub mod connection;
pub mod endpoint;
mod event_text;
mod file_kind;
mod generations;
pub mod learnt;
pub mod logged;
pub mod meter;
pub mod open;
pub mod person;
pub mod service;

pub use calibration::{
    Calibration, CalibrationError, ChanceBasis, DriftWatch, ErrorCorrelation, ExampleShortage, FactCheck,
    LabelledAnswer, Stratum,
};
