//! Why an input cannot be read at all.

use std::{fmt, io};

use crate::Fault;

/// Why an input cannot be read at all. Mistakes inside one are [`Fault`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    complaints: Vec<Complaint>,
}

/// One thing that is wrong, with the path it is about.
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

    /// Adds a hint to the last complaint: what the user can do.
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> InputError {
        if let Some(complaint) = self.complaints.last_mut() {
            complaint.hint = hint.into();
        }
        self
    }

    pub(super) fn from_io(path: &str, error: &io::Error) -> InputError {
        let (message, hint) = match error.kind() {
            io::ErrorKind::NotFound => ("no such file or directory", "check the spelling and the current directory"),
            io::ErrorKind::PermissionDenied => {
                ("permission denied", "grant read permission, or run as a user who has it")
            }
            _ => return InputError::new(path, format!("cannot be read: {error}")),
        };
        InputError::new(path, message).with_hint(hint)
    }

    /// Returns the error of a file whose first record, like all others, has a fault.
    pub(super) fn from_fault(path: &str, fault: &Fault) -> InputError {
        let place = fault.column.map_or(String::new(), |column| format!(", column {column}"));
        InputError::new(
            path,
            format!("no record can be read; first fault in line {}{place}: {}", fault.line, fault.message),
        )
    }

    /// Returns the message in one line, for a place that names the file itself.
    pub fn describe_without_path(&self) -> String {
        let line = |Complaint { message, hint, .. }: &Complaint| match hint.is_empty() {
            true => message.clone(),
            false => format!("{message}; {hint}"),
        };
        self.complaints.iter().map(line).collect::<Vec<_>>().join("; ")
    }

    /// Joins the complaints of several errors; none if there are none.
    pub(super) fn join(errors: impl IntoIterator<Item = InputError>) -> Option<InputError> {
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
