//! Makes records of drafts: each gets its index, its time, its commitment or seal, and its hash. Nothing here touches a
//! file, so it runs while the disk is busy.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::draft::{Payload, PreparedDraft};
use crate::error::LedgerError;
use crate::record::{LedgerNotice, PayloadProof, RecordContent, RecordLine, format_time};
use crate::subjects::Subjects;
use crate::tree::Hash;

/// Records as they are written to a segment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) text: String,
    /// The hash of each record.
    pub(crate) leaves: Vec<Hash>,
    /// The time of all its records.
    pub(crate) time: Timestamp,
    /// Lines for the file with the keys of subjects, durable before the first record that needs them.
    pub(crate) keys: Zeroizing<String>,
}

impl Batch {
    /// Returns a batch with one notice.
    pub(crate) fn from_notice(notice: &LedgerNotice, index: u64, time: Timestamp) -> Batch {
        let mut batch = Batch { time, ..Batch::default() };
        let text = notice.to_text();
        let (content, proof, time) = (RecordContent::Notice(&text), PayloadProof::Nothing, &*format_time(time));
        RecordLine { index, time, content, proof, subjects: "[]" }.write(&mut batch.text);
        batch.end_record(0);
        batch
    }

    /// Empties the batch and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.leaves.clear();
        self.keys = Zeroizing::default();
    }

    fn end_record(&mut self, start: usize) {
        self.leaves.push(Hash::leaf(&self.text.as_bytes()[start..]));
        self.text.push('\n');
    }
}

/// Makes records of drafts; holds the keys, the clock, and the next index.
pub(crate) struct Composer {
    pub(crate) subjects: Subjects,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The index of the next record.
    index: u64,
    /// The time of the last batch.
    time: Timestamp,
    /// The commitment or sealed payload of the record that is being written, in base64.
    proof: String,
}

impl Composer {
    pub(crate) fn new(
        subjects: Subjects,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
        index: u64,
        time: Timestamp,
    ) -> Composer {
        Composer { subjects, clock, index, time, proof: String::new() }
    }

    pub(crate) fn next_index(&self) -> u64 {
        self.index
    }

    /// Continues after records that were written elsewhere.
    pub(crate) fn continue_from(&mut self, size: u64, time: Timestamp) {
        (self.index, self.time) = (size, time);
    }

    /// Adds drafts to a batch.
    pub(crate) fn compose(&mut self, drafts: &[PreparedDraft], batch: &mut Batch) -> Result<(), LedgerError> {
        if batch.leaves.is_empty() {
            self.time = next_batch_time(self.time, &*self.clock);
            batch.time = self.time;
        }
        let time = format_time(batch.time);
        for draft in drafts {
            let start = batch.text.len();
            self.compose_line(&time, draft, batch)?;
            batch.end_record(start);
            self.index += 1;
        }
        Ok(())
    }

    fn compose_line(&mut self, time: &str, draft: &PreparedDraft, batch: &mut Batch) -> Result<(), LedgerError> {
        let group = self.subjects.group_keys(&draft.subjects, &mut batch.keys)?;
        self.proof.clear();
        let proof = match &draft.payload {
            None => PayloadProof::Nothing,
            Some(Payload::Committed(payload)) => {
                group.commit(self.index, payload, &mut self.proof);
                PayloadProof::Commitment(&self.proof)
            }
            Some(Payload::Sealed(payload)) => {
                group.seal(self.index, &draft.body, payload, &mut self.proof)?;
                PayloadProof::Sealed(&self.proof)
            }
        };
        let content = RecordContent::Body(&draft.body);
        RecordLine { index: self.index, time, content, proof, subjects: group.array() }.write(&mut batch.text);
        Ok(())
    }
}

impl fmt::Debug for Composer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composer").field("index", &self.index).field("time", &self.time).finish_non_exhaustive()
    }
}

/// Returns the time of the next batch. All records of a batch have one time, later than that of the batch before, so
/// the records show which of them were acknowledged before others were written.
pub(crate) fn next_batch_time(last: Timestamp, clock: &dyn Fn() -> Timestamp) -> Timestamp {
    let now = Timestamp::from_microsecond(clock().as_microsecond()).unwrap_or(last);
    now.max(last.saturating_add(SignedDuration::from_micros(1)).unwrap_or(last))
}
