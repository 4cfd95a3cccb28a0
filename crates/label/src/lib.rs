//! Labelers that answer a policy's questions about events, and the calibration of their answers.
//!
//! - [`endpoint`]: a model behind any OpenAI-compatible chat endpoint.
//! - [`service`]: any HTTP service with Lictor's JSON contract, and Presidio's analyzer.
//! - [`cache`]: answers that were given before.
//! - [`budget`]: limits of calls, tokens and time.

mod answer_key;
pub mod budget;
pub mod cache;
mod clock;
pub mod connection;
pub mod endpoint;
mod event_text;
mod generations;
pub mod meter;
pub mod service;

pub mod calibration;

pub use calibration::{
    Calibration, CalibrationError, ChanceBasis, DriftWatch, ErrorCorrelation, FactCheck, LabelledAnswer,
    ReliabilityBin, Stratum,
};

pub mod learnt;
