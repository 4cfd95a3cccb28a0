//! The key file of subjects: new keys are appended, and an erasure replaces the file.

use std::fs;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::disk::{self, Disk, write_all_at};
use crate::error::{LedgerError, LedgerFault};
use crate::signing_key;
use crate::subjects::Subjects;

/// The key file, and the length of its complete lines.
#[derive(Debug)]
pub(crate) struct SubjectKeyFile {
    path: PathBuf,
    length: u64,
}

impl SubjectKeyFile {
    /// Creates the file with fresh keys of the log itself, without subjects.
    pub(crate) fn create(disk: &dyn Disk, path: &Path) -> Result<(SubjectKeyFile, Subjects), LedgerError> {
        let subjects = Subjects::random()?;
        let mut file = SubjectKeyFile { path: path.to_owned(), length: 0 };
        file.replace(disk, &subjects)?;
        Ok((file, subjects))
    }

    /// Reads the file. An incomplete line, or one with zeros where a sector never reached the disk, was not synced, so
    /// no record uses it: it is skipped. Any other invalid line is an error, because skipping a key would erase a
    /// subject.
    pub(crate) fn load(path: &Path) -> Result<(SubjectKeyFile, Subjects), LedgerError> {
        signing_key::check_private(path)?;
        let bytes = Zeroizing::new(
            fs::read(path).map_err(|error| LedgerError::file("read the keys of subjects", path, error))?,
        );
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let wrong = |line: usize| {
            let message = "not a valid line of a subject key file".to_owned();
            LedgerError::from(LedgerFault {
                file: path.display().to_string(),
                line: line as u64 + 1,
                index: None,
                message,
            })
        };
        let text = std::str::from_utf8(&bytes[..whole]).map_err(|_| wrong(0))?;
        let subjects = Subjects::read(text).map_err(wrong)?;
        Ok((SubjectKeyFile { path: path.to_owned(), length: whole as u64 }, subjects))
    }

    /// Appends lines and syncs the file.
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

    /// Destroys keys: replaces the file by one without them, and overwrites the old file as far as possible.
    pub(crate) fn destroy(&mut self, disk: &dyn Disk, left: &Subjects) -> Result<(), LedgerError> {
        let mut old = disk.open(&self.path, true).map_err(|error| LedgerError::file("open", &self.path, error))?;
        let length = usize::try_from(self.length).unwrap_or(0);
        self.replace(disk, left)?;
        // Best effort: the file has its new content already, and the disk may keep other copies of the old one.
        let _ = write_all_at(&mut *old, 0, &vec![0; length]).and_then(|()| old.sync());
        Ok(())
    }

    fn replace(&mut self, disk: &dyn Disk, subjects: &Subjects) -> Result<(), LedgerError> {
        let text = subjects.to_text();
        disk::replace_file(disk, &self.path, text.as_bytes(), true)?;
        self.length = text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn key_file_skips_torn_line_keeps_later_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("subjects");
        let (mut file, mut subjects) = SubjectKeyFile::create(&RealDisk, &path).unwrap();
        for name in ["ada", "ben", "eve"] {
            let mut lines = Zeroizing::default();
            subjects.group_keys(&[name.to_owned()], &mut lines).unwrap();
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
        let (_, again) = SubjectKeyFile::load(&path).unwrap();
        assert!(again.pseudonym("ada").is_some());
        assert_eq!(again.pseudonym("ada"), subjects.pseudonym("ada"));
        assert_eq!(again.pseudonym("ben"), None);
        assert_eq!(again.pseudonym("eve"), subjects.pseudonym("eve"));
        fs::write(&path, text.replace("subject ", "subjekt ")).unwrap();
        assert!(SubjectKeyFile::load(&path).unwrap_err().to_string().contains("subjects:3: not a valid line"));
    }
}
