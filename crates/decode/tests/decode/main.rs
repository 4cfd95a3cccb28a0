//! Logs read from files, and decoded format by format.

mod input;
mod logs;
mod native;
mod reader;
mod wire;
