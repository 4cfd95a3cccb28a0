//! Translates between Lictor's policies and those of other engines.
//!
//! [`export`] writes a policy in Rego, in MFOTL and for Dogwood; [`import`] reads policies and logs of Dogwood.

pub mod export;
pub mod import;
