//! A gateway on loopback, between a client and a scripted model.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crossing;
mod faults;
mod strict;
mod vendor;
mod world;
