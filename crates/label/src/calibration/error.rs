//! Why there is no calibration.

use std::fmt;

/// Why a calibration could not be fitted, read or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrationError {
    message: String,
}

impl CalibrationError {
    pub(super) fn new(message: impl Into<String>) -> CalibrationError {
        CalibrationError { message: message.into() }
    }
}

impl fmt::Display for CalibrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CalibrationError {}
