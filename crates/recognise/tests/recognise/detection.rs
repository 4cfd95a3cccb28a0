//! Findings in texts and in JSON, false findings, and known misses.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod benign;
mod carried;
mod confidence;
mod custom;
mod identifier;
mod json;
mod missed;
mod open;
mod properties;
mod spans;
mod spellings;

use std::sync::LazyLock;

use lictor_recognise::{PersonalData, Recogniser};

static BUILTIN: LazyLock<Recogniser> = LazyLock::new(Recogniser::builtin);

/// The findings in a text.
fn found(text: &str) -> PersonalData {
    let mut found = PersonalData::default();
    BUILTIN.text(text, &mut found);
    found
}

/// The categories of a text, with blanks between them.
fn categories(text: &str) -> String {
    found(text).categories.join(" ")
}

/// Fails with everything that is wrong, one a line.
fn expect_none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
