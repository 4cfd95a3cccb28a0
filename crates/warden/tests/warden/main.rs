//! A warden decides, saves and records: sessions survive what happens to the process between two events.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod extra_changes;
mod faulty_store;
mod given;
mod history_clock;
mod live;
mod policy_versions;
mod records;
mod sessions;
mod time;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: u32) -> u32 {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    ordinary * factor.unwrap_or(1)
}
