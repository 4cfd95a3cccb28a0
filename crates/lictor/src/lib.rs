//! Judges what an AI agent does by a policy.
//!
//! The way of the data: [`input`] cuts a log into records, [`decode`] says which [`event`]s they are, labels say which
//! facts hold at each, a [`judge`] moves the properties of a [`policy`] along, and what a [`session`] breaks is a
//! [`finding`] with the few events that prove it. [`audit`] does all of it for whole logs and makes a [`report`].
//!
//! ```
//! use lictor::audit::{Options, audit};
//! use lictor::input::Input;
//! use lictor::judge::Judge;
//! use lictor::policy::{Files, Policy};
//!
//! let policy = "
//! lictor: 1
//! name: shop
//! properties:
//!   - id: refunds-are-approved
//!     says: A refund is approved first.
//!     formula: always (tool_call(\"refund\") implies once approval)
//! ";
//! let loaded = Policy::parse(policy, "shop.yaml", &Files).unwrap();
//! let mut judge = Judge::new(&loaded.policy).unwrap();
//! let log = Input::from_bytes("log.jsonl", b"{\"kind\":\"tool_call\",\"tool\":\"refund\"}\n".as_slice());
//! let report = audit(&mut judge, &[log], &Options::default(), &()).unwrap();
//! assert_eq!(report.findings.len(), 1);
//! assert_eq!(report.findings[0].source.line, 1);
//! ```

pub mod audit;
pub mod comparison;
pub mod decode;
pub mod event;
pub mod export;
pub mod expression;
pub mod finding;
pub mod glob;
pub mod guard;
pub mod import;
pub mod input;
pub mod json;
pub mod judge;
mod label;
pub mod order;
pub mod pack;
pub mod policy;
pub mod recognise;
pub mod report;
pub mod schema;
pub mod session;
pub mod skew;
mod trail;
pub mod trial;
