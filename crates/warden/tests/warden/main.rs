//! A warden decides, saves and records: sessions survive what happens to the process between two events.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod extra_changes;
mod faulty_store;
mod given;
mod history_clock;
mod live;
mod records;
mod sessions;
mod time;
