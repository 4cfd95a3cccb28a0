//! Reloads the policy while exchanges are in flight.
//!
//! A policy that cannot be loaded changes nothing: the old one stays active. A valid one becomes active for all
//! tenants. Questions before the change are decided by the old one, later ones by the new one, and each record names
//! the policy that decided. Sessions keep their state of properties with the same formula over the same facts; the others
//! are judged anew over what is kept of the session.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lictor_policy::Policy;
use lictor_warden::PolicyMoves;
use serde_json::json;
use tokio::sync::Mutex;

use crate::judges::Judges;
use crate::start::StartError;
use crate::telemetry::{Journal, Metrics};

/// Loads the policy; returns an error if it is invalid.
pub type PolicySource = Box<dyn Fn() -> Result<Policy, String> + Send + Sync>;

/// The source of the policy, and the lock for reloads.
#[derive(Default)]
pub(crate) struct Reload {
    source: Option<PolicySource>,
    /// Held by one reload at a time.
    turn: Mutex<()>,
}

impl Reload {
    pub(crate) fn from(source: Option<PolicySource>) -> Reload {
        Reload { source, turn: Mutex::new(()) }
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reload")
    }
}

impl Reload {
    /// Loads the policy again and activates it. Returns how sessions move to it; none if it has not changed.
    pub(crate) async fn reload(
        &self,
        judges: &Judges,
        metrics: &Arc<Metrics>,
        journal: &Journal,
    ) -> Result<Option<PolicyMoves>, StartError> {
        let _turn = self.turn.lock().await;
        let changed = self.load_again(judges).await;
        match &changed {
            Ok(Some(moves)) => {
                metrics.reloads.fetch_add(1, Ordering::Relaxed);
                let policy = judges.active().fingerprint;
                journal.say(metrics, "policy", json!({"policy": &*policy, "properties": moves.describe()}));
            }
            Ok(None) => {}
            Err(error) => {
                metrics.reloads_refused.fetch_add(1, Ordering::Relaxed);
                journal.say(metrics, "policy_refused", json!({"error": error.to_string()}));
            }
        }
        changed
    }

    async fn load_again(&self, judges: &Judges) -> Result<Option<PolicyMoves>, StartError> {
        let Some(source) = &self.source else {
            return Err(StartError::new("this gateway was not told where its policy comes from"));
        };
        let policy = source().map_err(StartError::new)?;
        if *policy.fingerprint() == *judges.active().fingerprint {
            return Ok(None);
        }
        Ok(Some(judges.change_policy(&policy).await?))
    }
}
