//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod patterns;
