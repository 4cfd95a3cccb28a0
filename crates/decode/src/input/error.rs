//! Why an input cannot be read at all.

use std::{fmt, io};

use crate::Fault;

/// Why an input cannot be read at all. Mistakes inside one are [`Fault`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    complaints: Vec<Complaint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Complaint {
    path: String,
    message: String,
    hint: String,
}

impl InputError {
    pub(super) fn new(path: &str, message: impl Into<String>) -> InputError {
        let complaint = Complaint { path: path.to_owned(), message: message.into(), hint: String::new() };
        InputError { complaints: vec![complaint] }
    }

    /// The same complaint with a way out.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> InputError {
        if let Some(complaint) = self.complaints.last_mut() {
            complaint.hint = hint.into();
        }
        self
    }

    pub(super) fn from_io(path: &str, error: &io::Error) -> InputError {
        let (message, hint) = match error.kind() {
            io::ErrorKind::NotFound => ("there is no such file", "check the spelling and the current directory"),
            io::ErrorKind::PermissionDenied => ("may not be read", "ask for the permission to read it"),
            _ => return InputError::new(path, format!("cannot be read: {error}")),
        };
        InputError::new(path, message).hint(hint)
    }

    /// Nothing but mistakes in it.
    pub(super) fn unreadable(path: &str, fault: &Fault) -> InputError {
        let place = fault.column.map_or(String::new(), |column| format!(", column {column}"));
        InputError::new(path, format!("has no record that can be read; line {}{place}: {}", fault.line, fault.message))
    }

    /// All complaints of several errors; none if there are none.
    pub(super) fn all(errors: impl IntoIterator<Item = InputError>) -> Option<InputError> {
        let complaints: Vec<_> = errors.into_iter().flat_map(|error| error.complaints).collect();
        (!complaints.is_empty()).then_some(InputError { complaints })
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, complaint) in self.complaints.iter().enumerate() {
            let Complaint { path, message, hint } = complaint;
            write!(f, "{}{path}: {message}", if place > 0 { "\n" } else { "" })?;
            if !hint.is_empty() {
                write!(f, "\nhint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for InputError {}
