//! Errors of expressions.

use std::fmt;

/// The mistakes of an expression; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionErrors {
    /// The mistakes, in the order of the text.
    pub errors: Vec<ExpressionError>,
}

/// One mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The byte of the text at which it is.
    pub offset: usize,
    /// The message.
    pub message: String,
    /// A way out, where one is known.
    pub hint: Option<String>,
}

impl ExpressionError {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> ExpressionError {
        ExpressionError { offset, message: message.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> ExpressionError {
        ExpressionError { hint: Some(hint.into()), ..self }
    }

    /// Adds the nearest of some names, if one is near, or else says which there are.
    pub(super) fn suggest<'n>(self, name: &str, names: impl Iterator<Item = &'n str> + Clone) -> ExpressionError {
        match nearest(name, names.clone()) {
            Some(known) => self.hint(format!("did you mean `{known}`?")),
            None => self.hint(format!("there are {}", names.collect::<Vec<_>>().join(", "))),
        }
    }
}

/// Returns the name that was probably meant.
pub(super) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let allowed = if name.chars().count() < 8 { 1 } else { 2 };
    let near = names.map(|known| (lictor_logic::distance(&name, &known.to_lowercase()), known));
    near.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

impl From<ExpressionError> for ExpressionErrors {
    fn from(error: ExpressionError) -> ExpressionErrors {
        ExpressionErrors { errors: vec![error] }
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ExpressionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.errors.iter().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ExpressionError {}

impl std::error::Error for ExpressionErrors {}
