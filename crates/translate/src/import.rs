//! Policies of other engines, and their logs, as policies and events of ours.
//!
//! An import keeps the meaning or is refused: what a language can say and we cannot is named at its place, never bent.

pub mod dogwood;
