//! Dogwood's own cases, judged by Lictor.

pub mod corpus;
