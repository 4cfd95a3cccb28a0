//! Other monitors, from the registry, on the workloads they can express. README.md says which they cannot.

pub(crate) mod r2u2;
pub(crate) mod rtlola;
