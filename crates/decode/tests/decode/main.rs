//! Logs read from files, and decoded format by format.

mod golden_files;
mod input;
mod logs;
mod native;
mod reader;
mod wire;
