//! The active policy, as far as an exchange needs to know it.

use std::sync::Arc;

use lictor_exchange::{changes_texts, reads_texts};
use lictor_policy::{Policy, PredictSettings, Steering};

/// The active policy.
#[derive(Clone, Debug)]
pub(crate) struct ActivePolicy {
    /// The fingerprint that records carry.
    pub(crate) fingerprint: Arc<str>,
    /// Its name, for spans.
    pub(crate) name: Arc<str>,
    /// Whether a property may change the assistant's text: then streamed text is previewed before it is sent.
    pub(crate) previews_text: bool,
    /// Whether a property looks at the assistant's text: then all clients must read the same words.
    pub(crate) reads_texts: bool,
    /// How replies with a bad forecast are replaced.
    pub(crate) predict: Option<Arc<PredictSettings>>,
    /// How it steers the model.
    pub(crate) steering: Steering,
}

impl ActivePolicy {
    pub(crate) fn of(policy: &Policy) -> ActivePolicy {
        ActivePolicy {
            fingerprint: policy.fingerprint().into(),
            name: policy.name.as_str().into(),
            previews_text: changes_texts(policy),
            reads_texts: reads_texts(policy),
            predict: policy.predict.clone().map(Arc::new),
            steering: policy.steering,
        }
    }
}
