//! Monitors of others, from the registry, on the workloads they can express. What they cannot is said in README.md.

pub(crate) mod r2u2;
pub(crate) mod rtlola;
