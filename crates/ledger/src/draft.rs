//! What somebody wants recorded, before it has an index and a time.

use serde_json::{Map, Value};

use crate::canonical;
use crate::error::LedgerError;
use crate::record::MAX_LINE;

/// What somebody wants recorded.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What everybody may read who has the log. It cannot be forgotten: nothing about a person belongs here.
    pub body: Map<String, Value>,
    /// Whom the record is about. The log holds pseudonyms instead.
    pub subjects: Vec<String>,
    /// What must be provable or readable later, until one of the subjects is erased.
    pub payload: Option<Payload>,
}

/// What a record holds of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Only a commitment: whoever has the payload can show that it is the one.
    Committed(Vec<u8>),
    /// The payload itself, sealed.
    Sealed(Vec<u8>),
}

/// A draft whose texts are ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The body as canonical JSON.
    pub(crate) body: String,
    pub(crate) subjects: Vec<String>,
    pub(crate) payload: Option<Payload>,
}

impl Prepared {
    pub(crate) fn draft(draft: Draft) -> Result<Prepared, LedgerError> {
        // Most bodies fit, and a string that grows is copied each time.
        let mut body = String::with_capacity(256);
        canonical::write_object(&draft.body, &mut body).map_err(|_| {
            LedgerError::refused(format!("the body nests more than {} levels deep", canonical::MAX_DEPTH))
        })?;
        let prepared = Prepared { body, subjects: draft.subjects, payload: draft.payload };
        // Room for the rest of the line: index, time, names of members, tag and nonce of a sealed payload.
        if prepared.weight() + 512 > MAX_LINE {
            return Err(LedgerError::refused(format!(
                "the record would be longer than {MAX_LINE} bytes\nhint: commit to the payload instead of keeping it, or \
                 keep it elsewhere"
            )));
        }
        Ok(prepared)
    }

    /// About how many bytes the record will take.
    pub(crate) fn weight(&self) -> usize {
        let payload = match &self.payload {
            Some(Payload::Sealed(payload)) => payload.len().saturating_add(40) / 3 * 4 + 4,
            _ => 0,
        };
        self.body.len() + self.subjects.len() * 25 + payload
    }
}
