//! The records that a successful call of a tool makes: an erasure, a consent, a withdrawal.

use lictor_json::Text;

/// A record that a successful call of a tool makes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolRecord {
    /// What it records.
    pub kind: ToolRecordKind,
    /// The person, as an expression over the call and its result.
    pub subject: Text,
    /// The purposes; none of a withdrawal means every declared purpose.
    pub purposes: Vec<RecordPurpose>,
}

/// What a record of a tool records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolRecordKind {
    /// The person's data was erased.
    Erasure,
    /// The person consented.
    Consent,
    /// The person consented explicitly.
    ExplicitConsent,
    /// The person withdrew or refused consent.
    Withdrawal,
}

/// A purpose of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordPurpose {
    /// The name of a purpose.
    Named(Text),
    /// An expression that computes the name, or a list of names.
    Computed(Text),
}

impl RecordPurpose {
    /// Reads a purpose: a plain word is its name, everything else an expression such as `args.purpose`.
    pub(crate) fn from_text(text: &str) -> RecordPurpose {
        let is_word = text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
        if is_word { RecordPurpose::Named(text.into()) } else { RecordPurpose::Computed(text.into()) }
    }
}
