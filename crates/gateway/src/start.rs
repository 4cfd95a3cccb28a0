//! What a gateway stands on, and why it may not start.

use std::fmt;
use std::sync::Arc;

use lictor_ledger::Ledger;
use lictor_policy::Policy;
use lictor_store::Store;
use lictor_warden::WardenError;

/// What a gateway stands on: the policy, where state is kept, and the ledger.
pub struct GatewayParts {
    /// The policy at the beginning.
    pub policy: Policy,
    /// Where sessions are kept; several gateways over one store behave as one.
    pub store: Arc<dyn Store>,
    /// Where every decision is written before it takes effect; none writes nothing down.
    pub ledger: Option<Ledger>,
    /// How decisions are made.
    pub guard: lictor_judge::guard::GuardOptions,
    /// How decisions are kept and written down.
    pub warden: lictor_warden::WardenOptions,
}

impl fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foundation").field("policy", &self.policy.name).finish_non_exhaustive()
    }
}

/// Why a gateway cannot start, or go on with another policy.
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
