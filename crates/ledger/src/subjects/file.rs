//! The file with the keys of subjects: lines are added as subjects come, and the whole is replaced when one goes.

use std::fs;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::disk::{self, Disk, write_all_at};
use crate::error::{LedgerError, LedgerFault};
use crate::keyfile;
use crate::subjects::Subjects;

/// The file, and how long it is as far as it is whole.
#[derive(Debug)]
pub(crate) struct KeyFile {
    path: PathBuf,
    length: u64,
}

impl KeyFile {
    /// Makes the file with fresh keys of the log itself and of no subject.
    pub(crate) fn create(disk: &dyn Disk, path: &Path) -> Result<(KeyFile, Subjects), LedgerError> {
        let subjects = Subjects::random()?;
        let mut file = KeyFile { path: path.to_owned(), length: 0 };
        file.replace(disk, &subjects)?;
        Ok((file, subjects))
    }

    /// Reads the file. A line without its end, or with zeros where a sector never reached the disk, was not synced and so
    /// never relied on: it does not count. Any other line that cannot be read stops everything, for a key that is passed
    /// over is a person that is forgotten.
    pub(crate) fn load(path: &Path) -> Result<(KeyFile, Subjects), LedgerError> {
        keyfile::check_private(path)?;
        let bytes = Zeroizing::new(
            fs::read(path).map_err(|error| LedgerError::file("read the keys of subjects", path, error))?,
        );
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let wrong = |line: usize| {
            let message = "this is no line of a file with the keys of subjects".to_owned();
            LedgerError::from(LedgerFault {
                file: path.display().to_string(),
                line: line as u64 + 1,
                index: None,
                message,
            })
        };
        let text = std::str::from_utf8(&bytes[..whole]).map_err(|_| wrong(0))?;
        let subjects = Subjects::read(text).map_err(wrong)?;
        Ok((KeyFile { path: path.to_owned(), length: whole as u64 }, subjects))
    }

    /// Adds lines, and makes them durable.
    pub(crate) fn add(&mut self, disk: &dyn Disk, lines: &str) -> Result<(), LedgerError> {
        if lines.is_empty() {
            return Ok(());
        }
        let length = self.length + lines.len() as u64;
        let add = || {
            let mut file = disk.open(&self.path, true)?;
            write_all_at(&mut *file, self.length, lines.as_bytes())?;
            file.set_len(length)?;
            file.sync()
        };
        add().map_err(|error| LedgerError::file("add a subject's key to", &self.path, error))?;
        self.length = length;
        Ok(())
    }

    /// Destroys keys: the file is replaced by one without them, and the old one overwritten as well as one can.
    pub(crate) fn destroy(&mut self, disk: &dyn Disk, left: &Subjects) -> Result<(), LedgerError> {
        let mut old = disk.open(&self.path, true).map_err(|error| LedgerError::file("open", &self.path, error))?;
        let length = usize::try_from(self.length).unwrap_or(0);
        self.replace(disk, left)?;
        // The file has its new content already. What the disk keeps of the old one is beyond us, but this much is not.
        let _ = write_all_at(&mut *old, 0, &vec![0; length]).and_then(|()| old.sync());
        Ok(())
    }

    fn replace(&mut self, disk: &dyn Disk, subjects: &Subjects) -> Result<(), LedgerError> {
        let text = subjects.to_text();
        disk::replace(disk, &self.path, text.as_bytes(), true)?;
        self.length = text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn a_torn_line_is_passed_over_and_no_key_behind_it_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("subjects");
        let (mut file, mut subjects) = KeyFile::create(&RealDisk, &path).unwrap();
        for name in ["ada", "ben", "eve"] {
            let mut lines = Zeroizing::default();
            subjects.cast(&[name.to_owned()], &mut lines).unwrap();
            file.add(&RealDisk, &lines).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let torn: String = text
            .lines()
            .enumerate()
            .map(|(place, line)| match place {
                3 => format!("{}{}\n", "\0".repeat(40), &line[40..]),
                _ => format!("{line}\n"),
            })
            .collect();
        fs::write(&path, format!("{torn}subject AAAA")).unwrap();
        let (_, again) = KeyFile::load(&path).unwrap();
        assert!(again.pseudonym("ada").is_some());
        assert_eq!(again.pseudonym("ada"), subjects.pseudonym("ada"));
        assert_eq!(again.pseudonym("ben"), None);
        assert_eq!(again.pseudonym("eve"), subjects.pseudonym("eve"));
        fs::write(&path, text.replace("subject ", "subjekt ")).unwrap();
        assert!(KeyFile::load(&path).unwrap_err().to_string().contains("subjects:3: this is no line"));
    }
}
