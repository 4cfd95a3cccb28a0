//! What somebody wants recorded, before it has an index and a time.

use serde_json::{Map, Value};

use crate::canonical;
use crate::error::Error;
use crate::record::{MAX_LINE, Notice};

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
    pub(crate) content: PreparedContent,
    pub(crate) subjects: Vec<String>,
    pub(crate) payload: Option<Payload>,
}

#[derive(Clone, Debug)]
pub(crate) enum PreparedContent {
    Body(String),
    Notice(String),
}

impl Prepared {
    pub(crate) fn draft(draft: Draft) -> Result<Prepared, Error> {
        let mut body = String::new();
        canonical::write_object(&draft.body, &mut body)
            .map_err(|_| Error::refused(format!("the body nests more than {} levels deep", canonical::MAX_DEPTH)))?;
        let prepared =
            Prepared { content: PreparedContent::Body(body), subjects: draft.subjects, payload: draft.payload };
        // Room for the rest of the line: index, time, names of members, tag and nonce of a sealed payload.
        if prepared.weight() + 512 > MAX_LINE {
            return Err(Error::refused(format!(
                "the record would be longer than {MAX_LINE} bytes\nhint: commit to the payload instead of keeping it, or \
                 keep it elsewhere"
            )));
        }
        Ok(prepared)
    }

    pub(crate) fn notice(notice: &Notice) -> Prepared {
        let mut text = String::new();
        // A notice is an object of plain values, so this cannot nest too deeply.
        if let Ok(Value::Object(map)) = serde_json::to_value(notice) {
            let _ = canonical::write_object(&map, &mut text);
        }
        Prepared { content: PreparedContent::Notice(text), subjects: Vec::new(), payload: None }
    }

    /// About how many bytes the record will take.
    pub(crate) fn weight(&self) -> usize {
        let (PreparedContent::Body(text) | PreparedContent::Notice(text)) = &self.content;
        let payload = match &self.payload {
            Some(Payload::Sealed(payload)) => payload.len().saturating_add(40) / 3 * 4 + 4,
            _ => 0,
        };
        text.len() + self.subjects.len() * 25 + payload
    }
}
