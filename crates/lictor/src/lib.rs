//! The crate that users of the library name: it re-exports the others.
//!
#![doc = include_str!("../README.md")]

pub use lictor_audit as audit;
pub use lictor_audit::{comparison, report, skew, trial};
pub use lictor_decode as decode;
pub use lictor_decode::input;
pub use lictor_event as event;
pub use lictor_event::order;
pub use lictor_json as json;
pub use lictor_judge as judge;
pub use lictor_judge::{decision, finding, guard, guidance, objective, observer, session};
pub use lictor_logic as logic;
pub use lictor_policy as policy;
pub use lictor_policy::{expression, glob, pack};
pub use lictor_predict as predict;
pub use lictor_recognise as recognise;
