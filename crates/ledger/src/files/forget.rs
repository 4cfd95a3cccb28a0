//! Erases subjects by destroying their keys, and drops old segments but keeps their hashes.

use std::fs;

use jiff::Timestamp;

use crate::disk;
use crate::error::LedgerError;
use crate::files::LedgerFiles;
use crate::record::{LedgerNotice, RecordContent, RecordLine, format_time};
use crate::segment::{self, NOTICES_FILE};
use crate::subjects::Subjects;

impl LedgerFiles {
    /// Destroys the key of a pseudonym and records the erasure. The record comes first: after a power loss in between,
    /// the next open destroys the key.
    pub(crate) fn erase(&mut self, subjects: &mut Subjects, pseudonym: String) -> Result<u64, LedgerError> {
        let index = self.append_notice(&LedgerNotice::Erased { subject: pseudonym.clone() })?;
        subjects.forget(&[pseudonym]);
        self.keys.destroy(&*self.options.disk, subjects)?;
        Ok(index)
    }

    /// Drops the segments whose records are all older than a time, and returns the first index that is still kept.
    ///
    /// The hashes stay in the tiles, and notices are copied to a file of their own. The last segment always stays.
    pub(crate) fn drop_before(&mut self, time: Timestamp) -> Result<u64, LedgerError> {
        let limit = format_time(time);
        let segments = segment::list(&self.folder)?;
        let kept_from = segments.first().copied().unwrap_or(0);
        let (mut gone, mut notices) = (Vec::new(), String::new());
        let mut before = kept_from;
        for pair in segments.windows(2) {
            let [first, next] = *pair else { continue };
            let Some(kept) = self.notices_if_older(first, &limit)? else { break };
            notices.push_str(&kept);
            gone.push(first);
            before = next;
        }
        if gone.is_empty() {
            return Ok(kept_from);
        }
        self.append_notice(&LedgerNotice::Dropped { before })?;
        self.sign()?;
        // From now on the tiles hold the only copy of the dropped hashes.
        self.settle()?;
        self.dropped = before;
        let path = self.folder.join(NOTICES_FILE);
        let earlier = if path.exists() {
            fs::read_to_string(&path).map_err(|error| LedgerError::file("read", &path, error))?
        } else {
            String::new()
        };
        // An interrupted drop may have copied some of the notices already.
        let known =
            earlier.lines().last().and_then(|line| RecordLine::read(line.as_bytes()).ok()).map(|line| line.index);
        let is_new = |line: &&str| {
            RecordLine::read(line.as_bytes()).is_ok_and(|line| known.is_none_or(|last| line.index > last))
        };
        let added: String = notices.lines().filter(is_new).map(|line| format!("{line}\n")).collect();
        disk::replace_file(&*self.options.disk, &path, (earlier + &added).as_bytes(), false)?;
        // The oldest first, so that the remaining segments never have a gap.
        for first in gone {
            let path = self.folder.join(segment::path(first));
            self.options.disk.remove(&path).map_err(|error| LedgerError::file("remove", &path, error))?;
            let folder = self.folder.join(segment::FOLDER);
            self.options.disk.sync_folder(&folder).map_err(|error| LedgerError::file("sync", &folder, error))?;
        }
        Ok(before)
    }

    /// Returns the lines with notices of a segment, if its last record is older than a time.
    fn notices_if_older(&self, first: u64, limit: &str) -> Result<Option<String>, LedgerError> {
        let path = self.folder.join(segment::path(first));
        let text = fs::read_to_string(&path).map_err(|error| LedgerError::file("read", &path, error))?;
        let time_of = |line: &str| RecordLine::read(line.as_bytes()).map(|line| line.time.to_owned());
        if text.lines().next_back().is_none_or(|line| time_of(line).is_ok_and(|time| time.as_str() >= limit)) {
            return Ok(None);
        }
        let is_notice = |line: &&str| {
            RecordLine::read(line.as_bytes()).is_ok_and(|line| matches!(line.content, RecordContent::Notice(_)))
        };
        Ok(Some(text.lines().filter(is_notice).map(|line| format!("{line}\n")).collect()))
    }
}
