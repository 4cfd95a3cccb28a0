//! What crosses between clients and models, at every cut, under every ruling.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod calls;
mod drive;
mod made;
mod masks;
mod recorded;
