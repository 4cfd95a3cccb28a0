//! Tests of the logic through its public interface, in one binary.
//!
//! `conformance` runs the cases of the repository, `differential` and `data` compare the engine with the definition on
//! random formulas and traces, and the other modules test one feature each. `support` is what several of them share.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod aggregates;
mod analysis;
mod conformance;
mod data;
mod differential;
mod each;
mod english;
mod limits;
mod ownership;
mod pattern;
mod peers;
mod run;
mod semantics;
mod support;
mod syntax;
mod syntax_errors;
mod verdict;
