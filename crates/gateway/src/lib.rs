//! A reverse proxy between an agent and its model that enforces a policy.
//!
//! The agent uses the gateway as its base URL. Its requests, and the model's texts and calls, become events. Each event
//! is decided on and recorded before it is forwarded.
//!
//! ```text
//!  client ──listen──▶ exchange ──judges──▶ upstream
//!            │            │                   │
//!         strict       identity,           one authority
//!         heads        sessions            from the configuration
//! ```
//!
//! - `listen` accepts connections and refuses requests that two readers could read differently.
//! - `exchange` is one request and its reply over HTTP, and drives `lictor-exchange`; `identity` names the session,
//!   `sessions` stores its memory.
//! - `judges` decides: a warden for each tenant.
//! - `in_flight` knows which exchanges have no record yet, also after the process was killed.
//! - `upstream` is the connection to the model, `error_response` an error of the gateway itself.
//! - `control` has the endpoints for operators and for the application's own records of consents.
//! - `telemetry` has metrics, spans and the journal for operators.
//!
//! Every event has a record of its decision before it is forwarded, and every exchange one that covers its bytes.

mod account;
mod active_policy;
mod body;
mod bytes_in_flight;
mod clock;
mod config;
mod control;
mod drop_on_thread;
mod error_response;
mod exchange;
mod gateway;
mod identity;
mod in_flight;
mod judges;
mod listen;
mod policy_watcher;
mod process;
mod recent_requests;
mod reload;
mod server;
mod sessions;
mod start;
mod stored_drift;
mod telemetry;
mod tenant_store;
mod unavailable;
mod upstream;
mod waiting;
mod work;

pub use config::{Config, ConfigErrors, GatewayLimits};
pub use hyper::Uri;
pub use identity::{KeyHash, SessionSource};
pub use process::{approvals, serve};
pub use reload::PolicySource;
pub use server::{Reloader, Server};
pub use start::{GatewayParts, StartError};
pub use stored_drift::StoredDrift;
pub use telemetry::Journal;
