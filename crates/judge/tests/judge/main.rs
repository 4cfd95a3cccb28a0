//! Sessions judged step by step.

mod session;
