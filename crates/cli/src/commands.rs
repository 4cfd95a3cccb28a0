//! The commands, one file each.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod check_policy;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod erase;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod guard;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod label;
pub(crate) mod learn_calibration;
pub(crate) mod learn_labels;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod packs;
pub(crate) mod patterns;
pub(crate) mod replay;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod test;
pub(crate) mod verify;
