//! Labelers that answer a policy's questions about events, and the calibration of their answers.

pub mod learnt;
