//! The traffic between clients and models, at every cut, under every ruling.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod beside;
mod calls;
mod canonical;
mod drive;
mod guidance;
mod history;
mod items;
mod known_messages;
mod made;
mod masks;
mod python;
mod quoted;
mod readings;
mod recorded;
mod replies;
mod requests;
mod sdk;
mod strange;
mod unread;
mod vendors;
