//! Compares Lictor with other engines on the policies that it exports and imports.
//!
//! Nothing of this is part of the product: the other engines and their dependencies stay in this workspace.

pub mod dialogues;
pub mod dogwood;
pub mod random;
pub mod rego;
