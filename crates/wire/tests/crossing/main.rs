//! The traffic between clients and models, at every cut, under every ruling.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod audio;
mod beside;
mod calls;
mod canonical;
mod drive;
mod files;
mod guidance;
mod history;
mod items;
mod known_messages;
mod made;
mod masks;
mod members;
mod nested;
mod offered;
mod pieces;
mod python;
mod quoted;
mod readings;
mod recorded;
mod replies;
mod requests;
mod sdk;
mod sent_back;
mod separated;
mod strange;
mod unread;
mod vendors;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: u32) -> u32 {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    ordinary * factor.unwrap_or(1)
}
