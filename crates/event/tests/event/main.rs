//! The line format of events, and strict JSON as events meet it.

mod json;
