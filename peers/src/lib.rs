//! Other engines judge what Lictor exports, and agree with it or are told why not.
//!
//! Nothing of this is part of the product: the engines of others, and what they depend on, stay in this workspace.

pub mod dialogues;
pub mod dogwood;
pub mod random;
pub mod rego;
