//! A gateway on loopback, between a client and a scripted model.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod control;
mod crossing;
mod faults;
mod sdk;
mod sessions;
mod shopper;
mod strict;
mod vendor;
mod world;
