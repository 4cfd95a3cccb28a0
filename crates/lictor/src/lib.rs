//! Judges what an AI agent does by a policy.
//!
//! The way of the data: [`input`](decode::input) cuts a log into records, [`decode`] says which [`event`]s they are, labels say which
//! facts hold at each, a [`judge`] moves the properties of a [`policy`] along, and what a [`session`](judge::session) breaks is a
//! [`finding`](judge::finding) with the few events that prove it. [`audit`] does all of it for whole logs and makes a [`report`](audit::report).
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

pub use lictor_audit as audit;
pub use lictor_audit::{comparison, report, skew, trial};
pub use lictor_decode as decode;
pub use lictor_decode::input;
pub use lictor_event as event;
pub use lictor_event::order;
pub use lictor_json as json;
pub use lictor_judge as judge;
pub use lictor_judge::{finding, guard, session};
pub use lictor_logic as logic;
pub use lictor_policy as policy;
pub use lictor_policy::{expression, glob, pack};
pub use lictor_recognise as recognise;
