//! A ledger in its files, as one thread sees it: records are appended durably, checkpoints signed, keys destroyed.
//!
//! INVARIANT: what is in this value is on the disk. A failure leaves it as it was; the files are then behind or ahead,
//! and [`Store::recover`] brings them back together.

mod create;
mod forget;
mod load;
mod sign;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::disk::{DiskFile, write_all_at};
use crate::draft::{Payload, Prepared, PreparedContent};
use crate::error::Error;
use crate::lock::Lock;
use crate::note::Signer;
use crate::options::Options;
use crate::record::{Content, Line, Proof, array_of, time_text};
use crate::segment;
use crate::subjects::Subjects;
use crate::tile::{Place, Tiles};
use crate::tree::{Edge, Hash};

/// The ledger.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    options: Options,
    lock: Arc<Lock>,
    signer: Signer,
    subjects: Subjects,
    segment: Segment,
    edge: Edge,
    tiles: Tiles,
    /// Full tiles that are not in their files yet.
    unwritten: Vec<(Place, Vec<Hash>)>,
    /// How many records the last checkpoint covers, and when it was signed.
    signed: u64,
    signed_at: Timestamp,
    /// Below which index records are no longer kept.
    dropped: u64,
    /// How long the file with all checkpoints is.
    history: u64,
    /// The time of the last batch.
    time: Timestamp,
}

/// The segment that is written.
#[derive(Debug)]
struct Segment {
    file: Box<dyn DiskFile>,
    first: u64,
    /// How many bytes are durable.
    length: u64,
}

/// A batch as it will stand in the file.
struct Batch {
    text: String,
    leaves: Vec<Hash>,
    time: Timestamp,
}

impl Store {
    /// Whether there are records that no checkpoint covers.
    pub(crate) fn has_unsigned(&self) -> bool {
        self.signed < self.edge.size()
    }

    /// Appends a batch. When this returns, it is durable, and the index of its first record is told.
    pub(crate) fn append(&mut self, drafts: &[Prepared]) -> Result<u64, Error> {
        self.lock.check()?;
        // A key is durable before the first record that needs it.
        self.subjects.admit(&*self.options.disk, drafts.iter().flat_map(|draft| &draft.subjects))?;
        let first = self.edge.size();
        let batch = self.compose(first, drafts)?;
        if self.segment.length > 0 && self.segment.length + batch.text.len() as u64 > self.options.segment_bytes {
            self.segment = self.begin_segment(first)?;
        }
        let Segment { file, length, .. } = &mut self.segment;
        write_all_at(&mut **file, *length, batch.text.as_bytes()).and_then(|()| file.sync()).map_err(|error| {
            Error::file("append records to", &self.folder.join(segment::path(self.segment.first)), error)
        })?;
        self.segment.length += batch.text.len() as u64;
        self.time = batch.time;
        for leaf in batch.leaves {
            self.edge.push(leaf);
            self.tiles.push(leaf);
        }
        self.unwritten.extend(self.tiles.take_full());
        Ok(first)
    }

    /// Writes the lines of a batch. All of them have one time, later than that of the batch before: so it can be told
    /// from the records which of them were acknowledged before which others were written.
    fn compose(&self, first: u64, drafts: &[Prepared]) -> Result<Batch, Error> {
        let now = Timestamp::from_microsecond((self.options.clock)().as_microsecond()).unwrap_or(self.time);
        let time = now.max(self.time.saturating_add(SignedDuration::from_micros(1)).unwrap_or(self.time));
        let mut batch = Batch { text: String::new(), leaves: Vec::with_capacity(drafts.len()), time };
        let time = time_text(time);
        for (index, draft) in (first..).zip(drafts) {
            let start = batch.text.len();
            self.compose_line(index, &time, draft, &mut batch.text)?;
            batch.leaves.push(Hash::leaf(&batch.text.as_bytes()[start..]));
            batch.text.push('\n');
        }
        Ok(batch)
    }

    fn compose_line(&self, index: u64, time: &str, draft: &Prepared, out: &mut String) -> Result<(), Error> {
        let pseudonyms = self.subjects.pseudonyms(&draft.subjects);
        let content = match &draft.content {
            PreparedContent::Body(text) => Content::Body(text),
            PreparedContent::Notice(text) => Content::Notice(text),
        };
        let (Content::Body(text) | Content::Notice(text)) = content;
        let missing = || Error::refused("a subject of the record has no key");
        let made = match &draft.payload {
            None => String::new(),
            Some(Payload::Committed(payload)) => {
                self.subjects.commit(&pseudonyms, index, payload).ok_or_else(missing)?
            }
            Some(Payload::Sealed(payload)) => {
                self.subjects.seal(&pseudonyms, index, text, payload)?.ok_or_else(missing)?
            }
        };
        let proof = match &draft.payload {
            None => Proof::Nothing,
            Some(Payload::Committed(_)) => Proof::Commitment(&made),
            Some(Payload::Sealed(_)) => Proof::Sealed(&made),
        };
        Line { index, time, content, proof, subjects: &array_of(&pseudonyms) }.write(out);
        Ok(())
    }

    /// Makes the file of a new segment, whose name is durable before anything is in it.
    fn begin_segment(&self, first: u64) -> Result<Segment, Error> {
        let (disk, path) = (&self.options.disk, self.folder.join(segment::path(first)));
        let open = || {
            let file = disk.open(&path, false)?;
            disk.sync_folder(&self.folder.join(segment::FOLDER))?;
            Ok(file)
        };
        let file = open().map_err(|error| Error::file("begin the segment", &path, error))?;
        Ok(Segment { file, first, length: 0 })
    }

    /// Cuts off what is in the segment behind the durable records. They were not acknowledged, and may be half there.
    pub(crate) fn cut_back(&mut self) -> Result<(), Error> {
        let Segment { file, first, length } = &mut self.segment;
        file.set_len(*length)
            .and_then(|()| file.sync())
            .map_err(|error| Error::file("cut back", &self.folder.join(segment::path(*first)), error))
    }

    /// Takes the ledger up again after a failure, as if it were opened anew.
    pub(crate) fn recover(&mut self) -> Result<(), Error> {
        self.cut_back()?;
        *self = Store::load(&self.folder, self.options.clone(), self.lock.clone())?;
        Ok(())
    }
}
