//! Labelers that answer a policy's questions about events, and the calibration of their answers.

pub mod calibration;

pub use calibration::{
    Calibration, CalibrationError, ChanceBasis, DriftWatch, ErrorCorrelation, FactCheck, LabelledAnswer,
    ReliabilityBin, Stratum,
};
