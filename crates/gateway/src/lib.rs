//! Puts an agent's model under a policy: a reverse proxy that judges what crosses.
//!
//! An agent is pointed at the gateway by its base URL and at nothing else. What it asks a model, and what the model says
//! and does, become events; each is decided on before it crosses, and written down before that.
//!
//! ```text
//!  client ──listen──▶ exchange ──judges──▶ upstream
//!            │            │                   │
//!         strict       identity,           one authority
//!         heads        sessions            from the configuration
//! ```
//!
//! - `listen` accepts connections and lets no request through that two readers could read differently.
//! - `exchange` is one request and its reply over HTTP, and drives `lictor-exchange`; `identity` names the session, `sessions`
//!   stores its memory.
//! - `judges` decides: a warden for each tenant.
//! - `in_flight` knows which exchanges have no record yet, also after the process was killed.
//! - `upstream` is the connection to the model, `error_response` an error of the gateway itself.
//! - `control` has the endpoints for operators and for the application's own records of consents.
//! - `telemetry` is what operators see.
//!
//! Nothing crosses without a record: of every event a decision, of every exchange the bytes that crossed.

mod account;
mod active_policy;
mod body;
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
mod reload;
mod server;
mod sessions;
mod start;
mod telemetry;
mod tenant_store;
mod upstream;
mod waiting;

pub use config::{Config, ConfigErrors, GatewayLimits};
pub use hyper::Uri;
pub use identity::KeyHash;
pub use process::{approvals, serve};
pub use reload::PolicySource;
pub use server::{Reloader, Server};
pub use start::{GatewayParts, StartError};
pub use telemetry::Journal;
