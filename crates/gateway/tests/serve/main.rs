//! A gateway on loopback, between a client and a scripted model.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod approvals;
mod bounds;
#[path = "../../../exchange/tests/scenes/check.rs"]
mod check;
mod control;
mod corrections;
mod crossing;
mod doors;
mod faults;
mod forecasts;
mod frameworks;
mod hostile;
mod labels;
mod leaving;
mod liars;
mod libraries;
mod observing;
mod operations;
mod plans;
mod scenes;
mod sdk;
#[path = "../../../store-postgres/tests/postgres/server.rs"]
#[expect(dead_code, reason = "the tests of that store ask more of it")]
mod server;
mod sessions;
mod shopper;
mod small_model;
mod steering;
mod strict;
mod vendor;
mod world;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: usize) -> usize {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<usize>().ok());
    ordinary * factor.unwrap_or(1)
}
