//! The parts that a gateway is built from, and its start error.

use std::fmt;
use std::sync::Arc;

use lictor_judge::observer::Feed;
use lictor_ledger::Ledger;
use lictor_policy::Policy;
use lictor_store::Store;
use lictor_warden::WardenError;

/// The parts that a gateway is built from.
#[non_exhaustive]
pub struct GatewayParts {
    /// The first policy.
    pub policy: Policy,
    /// The store of sessions; several gateways over one store behave as one.
    pub store: Arc<dyn Store>,
    /// The ledger, which records every decision before it takes effect; without it nothing is recorded.
    pub ledger: Option<Ledger>,
    /// Where decisions and findings of all tenants are published.
    pub feed: Feed,
    /// The settings of the guards.
    pub guard: lictor_judge::guard::GuardOptions,
    /// The settings of the wardens.
    pub warden: lictor_warden::WardenOptions,
}

impl GatewayParts {
    /// Returns the parts for a policy and a store, without a ledger and with the default settings.
    pub fn new(policy: Policy, store: Arc<dyn Store>) -> GatewayParts {
        GatewayParts {
            warden: lictor_warden::WardenOptions::new(policy.fingerprint()),
            policy,
            store,
            ledger: None,
            feed: Feed::default(),
            guard: lictor_judge::guard::GuardOptions::default(),
        }
    }
}

impl fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayParts").field("policy", &self.policy.name).finish_non_exhaustive()
    }
}

/// Why a gateway cannot start, or cannot activate another policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError {
    message: String,
}

impl StartError {
    pub(crate) fn new(message: impl Into<String>) -> StartError {
        StartError { message: message.into() }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StartError {}

impl From<WardenError> for StartError {
    fn from(error: WardenError) -> StartError {
        StartError::new(error.to_string())
    }
}

impl From<lictor_store::StoreError> for StartError {
    fn from(error: lictor_store::StoreError) -> StartError {
        StartError::new(error.to_string())
    }
}
