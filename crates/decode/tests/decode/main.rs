//! Logs read from files, and decoded format by format.

mod golden_files;
mod input;
mod logs;
mod native;
mod reader;
mod wire;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: usize) -> usize {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<usize>().ok());
    ordinary * factor.unwrap_or(1)
}
