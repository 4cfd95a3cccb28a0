//! Imports policies and logs of other engines.
//!
//! An import keeps the meaning or is refused: a part that we cannot express is reported at its place, never changed.

pub mod dogwood;
