//! Errors as exceptions of `lictor.errors`, with the messages of the command line.

use pyo3::prelude::*;

/// The exceptions of the package.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Error {
    Formula,
    Policy,
    Event,
    Audit,
    State,
    Forecast,
    Log,
}

impl Error {
    fn name(self) -> &'static str {
        match self {
            Error::Formula => "FormulaError",
            Error::Policy => "PolicyError",
            Error::Event => "EventError",
            Error::Audit => "AuditError",
            Error::State => "StateError",
            Error::Forecast => "ForecastError",
            Error::Log => "LogError",
        }
    }

    /// Returns the exception with a message.
    pub(crate) fn with(self, message: impl std::fmt::Display) -> PyErr {
        let text = message.to_string();
        Python::attach(|py| {
            let made = py.import("lictor.errors").and_then(|module| module.getattr(self.name())?.call1((text,)));
            made.map_or_else(|error| error, PyErr::from_value)
        })
    }
}
