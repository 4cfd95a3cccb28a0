//! Drafts: records before they have an index and a time.

use serde_json::{Map, Value};

use crate::canonical;
use crate::error::LedgerError;
use crate::record::MAX_LINE_BYTES;

/// Room for the rest of a line: index, time, names of members, tag and nonce of a sealed payload.
const LINE_OVERHEAD_BYTES: usize = 512;

/// A record to be appended, before it has an index and a time.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The part that every reader of the log sees. It cannot be erased, so put no personal data here.
    pub body: Map<String, Value>,
    /// The subjects of the record. The log holds pseudonyms instead.
    pub subjects: Vec<String>,
    /// The content that stays provable or readable until one of the subjects is erased.
    pub payload: Option<Payload>,
}

/// The payload of a draft, and how the record keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Payload {
    /// Kept as a commitment only: the owner of the payload can prove that it is the recorded one.
    Committed(Vec<u8>),
    /// Kept in full, encrypted.
    Sealed(Vec<u8>),
}

/// A draft that passed the limits, with its body as canonical JSON.
#[derive(Clone, Debug)]
pub(crate) struct PreparedDraft {
    /// The body as canonical JSON.
    pub(crate) body: String,
    pub(crate) subjects: Vec<String>,
    pub(crate) payload: Option<Payload>,
}

impl PreparedDraft {
    pub(crate) fn new(draft: Draft) -> Result<PreparedDraft, LedgerError> {
        // Most bodies fit, and a string that grows is copied each time.
        let mut body = String::with_capacity(256);
        canonical::write_object(&draft.body, &mut body).map_err(|_| {
            LedgerError::refused(format!(
                "the record body nests deeper than the limit of {} levels\nhint: flatten it",
                canonical::MAX_DEPTH
            ))
        })?;
        let prepared = PreparedDraft { body, subjects: draft.subjects, payload: draft.payload };
        let bytes = prepared.weight() + LINE_OVERHEAD_BYTES;
        if bytes > MAX_LINE_BYTES {
            return Err(LedgerError::refused(format!(
                "the record of about {bytes} bytes is over the limit of {MAX_LINE_BYTES} bytes\nhint: commit to the \
                 payload instead of sealing it, or keep it elsewhere"
            )));
        }
        Ok(prepared)
    }

    /// Returns about how many bytes the record will take.
    pub(crate) fn weight(&self) -> usize {
        let payload = match &self.payload {
            Some(Payload::Sealed(payload)) => payload.len().saturating_add(40) / 3 * 4 + 4,
            _ => 0,
        };
        self.body.len() + self.subjects.len() * 25 + payload
    }
}
