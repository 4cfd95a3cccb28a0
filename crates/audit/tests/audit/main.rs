//! Whole logs audited, guarded and reported.

mod audits;
mod commands;
mod evidence;
mod examples;
mod guard;
mod histories;
mod interruption;
mod join;
mod labels;
mod log_notes;
mod order;
mod pages;
mod questions;
mod records;
mod reports;
mod rotation;
mod skew;
mod unsaid;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: u32) -> u32 {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    ordinary * factor.unwrap_or(1)
}
