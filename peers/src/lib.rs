//! Other engines on what Lictor exports, and on its ledgers.
//!
//! Nothing of this is part of the product: the other engines and their dependencies stay in this workspace. Nothing of the
//! product is here either, since cargo would compile it again for this workspace: [`cases`] reads what ours has written.

pub mod cases;
pub mod dogwood;
pub mod rego;
