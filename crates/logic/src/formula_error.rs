//! Why a text gives no monitor: it does not parse, or its formula cannot be monitored.

use std::error::Error;
use std::fmt;

use crate::compile_error::CompileError;
use crate::parse_error::ParseErrors;

/// Why [`Monitor::parse`](crate::Monitor::parse) gives no monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    kind: FormulaErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FormulaErrorKind {
    Parse(ParseErrors),
    Compile(CompileError),
}

impl FormulaError {
    /// Returns the errors in the text, if it does not parse.
    pub fn parse_errors(&self) -> Option<&ParseErrors> {
        match &self.kind {
            FormulaErrorKind::Parse(errors) => Some(errors),
            FormulaErrorKind::Compile(_) => None,
        }
    }

    /// Returns why the formula cannot be monitored, if the text parses.
    pub fn compile_error(&self) -> Option<&CompileError> {
        match &self.kind {
            FormulaErrorKind::Parse(_) => None,
            FormulaErrorKind::Compile(error) => Some(error),
        }
    }
}

impl From<ParseErrors> for FormulaError {
    fn from(errors: ParseErrors) -> FormulaError {
        FormulaError { kind: FormulaErrorKind::Parse(errors) }
    }
}

impl From<CompileError> for FormulaError {
    fn from(error: CompileError) -> FormulaError {
        FormulaError { kind: FormulaErrorKind::Compile(error) }
    }
}

impl fmt::Display for FormulaError {
    /// Writes the whole message of the error inside: places, mistakes and hints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FormulaErrorKind::Parse(errors) => errors.fmt(f),
            FormulaErrorKind::Compile(error) => error.fmt(f),
        }
    }
}

impl Error for FormulaError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            FormulaErrorKind::Parse(errors) => Some(errors),
            FormulaErrorKind::Compile(error) => Some(error),
        }
    }
}
