//! Places in policies.

use std::sync::Arc;

/// A place in a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or the page of the pack.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
    /// The column, from one.
    pub column: u32,
}
