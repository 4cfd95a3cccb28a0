//! Shared by several tests: engines and their claims, the oracle that disproves them, traces and their notation, and the
//! number of random cases.

pub(crate) mod claim;
pub(crate) mod engine;
pub(crate) mod notation;
pub(crate) mod oracle;
pub(crate) mod random;
pub(crate) mod size;
pub(crate) mod trace;
