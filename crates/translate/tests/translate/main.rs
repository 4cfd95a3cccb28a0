//! Policies of other engines, written and read.

mod export;
mod imports;
