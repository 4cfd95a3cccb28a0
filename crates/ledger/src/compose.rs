//! Drafts become records: each gets its index, its time, its commitment or seal, and its hash. Nothing here touches a
//! file, so that it can be done while the disk is busy.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::draft::{Payload, Prepared};
use crate::error::LedgerError;
use crate::record::{Content, LedgerNotice, Line, Proof, time_text};
use crate::subjects::Subjects;
use crate::tree::Hash;

/// Records as they will stand in the file.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) text: String,
    /// The hash of each.
    pub(crate) leaves: Vec<Hash>,
    /// The time that all of them have.
    pub(crate) time: Timestamp,
    /// Lines for the file with the keys of subjects, durable before the first record that needs them.
    pub(crate) keys: Zeroizing<String>,
}

impl Batch {
    /// A batch with one notice of the ledger's own.
    pub(crate) fn notice(notice: &LedgerNotice, index: u64, time: Timestamp) -> Batch {
        let mut batch = Batch { time, ..Batch::default() };
        let text = notice.to_text();
        let (content, proof, time) = (Content::Notice(&text), Proof::Nothing, &*time_text(time));
        Line { index, time, content, proof, subjects: "[]" }.write(&mut batch.text);
        batch.end_record(0);
        batch
    }

    /// Makes it empty and keeps its memory.
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

/// What drafts need to become records.
pub(crate) struct Composer {
    pub(crate) subjects: Subjects,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The index of the next record.
    index: u64,
    /// The time of the last batch.
    time: Timestamp,
    /// What a record commits to or seals, in base64, while its line is written.
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

    /// Goes on behind what somebody else has written.
    pub(crate) fn follow(&mut self, size: u64, time: Timestamp) {
        (self.index, self.time) = (size, time);
    }

    /// Adds drafts to a batch.
    pub(crate) fn compose(&mut self, drafts: &[Prepared], batch: &mut Batch) -> Result<(), LedgerError> {
        if batch.leaves.is_empty() {
            self.time = time_after(self.time, &*self.clock);
            batch.time = self.time;
        }
        let time = time_text(batch.time);
        for draft in drafts {
            let start = batch.text.len();
            self.compose_line(&time, draft, batch)?;
            batch.end_record(start);
            self.index += 1;
        }
        Ok(())
    }

    fn compose_line(&mut self, time: &str, draft: &Prepared, batch: &mut Batch) -> Result<(), LedgerError> {
        let cast = self.subjects.cast(&draft.subjects, &mut batch.keys)?;
        self.proof.clear();
        let proof = match &draft.payload {
            None => Proof::Nothing,
            Some(Payload::Committed(payload)) => {
                cast.commit(self.index, payload, &mut self.proof);
                Proof::Commitment(&self.proof)
            }
            Some(Payload::Sealed(payload)) => {
                cast.seal(self.index, &draft.body, payload, &mut self.proof)?;
                Proof::Sealed(&self.proof)
            }
        };
        let content = Content::Body(&draft.body);
        Line { index: self.index, time, content, proof, subjects: cast.array() }.write(&mut batch.text);
        Ok(())
    }
}

impl fmt::Debug for Composer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composer").field("index", &self.index).field("time", &self.time).finish_non_exhaustive()
    }
}

/// The time of the batch behind one of this time. All records of a batch have one time, later than that of the batch
/// before: so it can be told from the records which of them were acknowledged before which others were written.
pub(crate) fn time_after(last: Timestamp, clock: &dyn Fn() -> Timestamp) -> Timestamp {
    let now = Timestamp::from_microsecond(clock().as_microsecond()).unwrap_or(last);
    now.max(last.saturating_add(SignedDuration::from_micros(1)).unwrap_or(last))
}
