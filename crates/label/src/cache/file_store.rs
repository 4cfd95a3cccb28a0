//! Answers in a file, for the command line: one JSON object a line, appended.
//!
//! ```json
//! {"key":"5e1f…","answer":{"fact":"threatens","says":"no","score":0.04,"by":"small@7f3a0c11","key":"c0ff…"}}
//! ```
//!
//! A process that is killed while it writes leaves a torn last line. It is skipped, as are other lines that do not
//! parse; the next answer begins a line of its own. Of two lines with one key the later one counts. Several processes
//! may append to one file; each sees the lines of the others when it opens the file.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lictor_json::Json;

use super::AnswerStore;

/// The longest line. A longer one is no answer.
const MAX_LINE: usize = 64 * 1024;

/// Answers in a file of JSON lines.
#[derive(Debug)]
pub struct AnswerFile {
    lines: Mutex<Lines>,
    skipped: usize,
}

#[derive(Debug)]
struct Lines {
    file: File,
    answers: HashMap<String, Vec<u8>>,
    /// Whether the file ends within a line, so that the next answer must begin one.
    is_torn: bool,
}

impl AnswerFile {
    /// Opens a file, or creates one that only its owner can read: answers tell about texts.
    pub fn open(path: impl AsRef<Path>) -> io::Result<AnswerFile> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::new(&file);
        let (mut answers, mut skipped, mut is_torn) = (HashMap::new(), 0, false);
        while let Some(line) = read_line(&mut reader)? {
            is_torn = !line.is_ended;
            // A whole last line that lacks only its end is as good as any.
            match read_entry(&line.bytes) {
                Some((key, bytes)) => drop(answers.insert(key, bytes)),
                None if line.bytes.iter().all(u8::is_ascii_whitespace) => {}
                None => skipped += 1,
            }
        }
        Ok(AnswerFile { lines: Mutex::new(Lines { file, answers, is_torn }), skipped })
    }

    /// Whether it is some other file: it has lines, and more than a torn one of them is no answer.
    pub fn is_foreign(&self) -> bool {
        let is_empty = self.lines.lock().unwrap_or_else(PoisonError::into_inner).answers.is_empty();
        self.skipped > usize::from(!is_empty)
    }

    /// Returns the number of lines that were skipped when the file was opened.
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

impl AnswerStore for AnswerFile {
    fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.lines.lock().unwrap_or_else(PoisonError::into_inner).answers.get(key).cloned())
    }

    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidInput, "an answer file keeps JSON values only");
        let answer = lictor_json::parse(bytes).map_err(wrong)?;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let start = if lines.is_torn { "\n" } else { "" };
        let line = format!("{start}{}\n", Json::from([("key", key.into()), ("answer", answer)]));
        // One write a line, so that lines of several processes do not mix.
        let written = lines.file.write_all(line.as_bytes());
        lines.is_torn = written.is_err();
        written?;
        lines.answers.insert(key.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// A line, and whether it has an end.
struct Line {
    bytes: Vec<u8>,
    is_ended: bool,
}

/// Reads a line, of which it keeps no more than the longest may have.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Line { bytes: Vec::new(), is_ended: false };
    let mut is_empty = true;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((!is_empty).then_some(line));
        }
        is_empty = false;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let room = (MAX_LINE + 1).saturating_sub(line.bytes.len());
        let content = &buffer[..end.unwrap_or(buffer.len())];
        line.bytes.extend_from_slice(&content[..content.len().min(room)]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            line.is_ended = true;
            return Ok(Some(line));
        }
    }
}

fn read_entry(line: &[u8]) -> Option<(String, Vec<u8>)> {
    if line.len() > MAX_LINE {
        return None;
    }
    let json = lictor_json::parse(line).ok()?;
    Some((json.text("key")?.to_owned(), json.get("answer")?.to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_file_survives_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        let file = AnswerFile::open(&path).unwrap();
        file.put("a", b"{\"says\":\"yes\"}").unwrap();
        file.put("b", b"{\"says\":\"no\"}").unwrap();
        file.put("a", b"{\"says\":\"unclear\"}").unwrap();
        drop(file);
        let file = AnswerFile::open(&path).unwrap();
        assert_eq!(file.get("a").unwrap().unwrap(), b"{\"says\":\"unclear\"}");
        assert_eq!(file.get("b").unwrap().unwrap(), b"{\"says\":\"no\"}");
        assert_eq!((file.get("c").unwrap(), file.skipped()), (None, 0));
        assert!(file.put("c", b"no JSON").is_err());
    }

    #[test]
    fn file_of_something_else_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let entry = "{\"key\":\"a\",\"answer\":{\"says\":\"yes\"}}\n";
        for (text, is_foreign) in [
            ("".to_owned(), false),
            (entry.to_owned(), false),
            (format!("{entry}{}", &entry[..9]), false),
            ("precious".to_owned(), true),
            ("{\"kind\":\"user_message\"}\n".to_owned(), true),
            (format!("{entry}precious\nprecious\n"), true),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(AnswerFile::open(&path).unwrap().is_foreign(), is_foreign, "{text}");
        }
    }

    #[test]
    fn answer_file_cut_anywhere_keeps_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        let file = AnswerFile::open(&path).unwrap();
        file.put("a", b"{\"says\":\"yes\"}").unwrap();
        let first = std::fs::read(&path).unwrap().len();
        file.put("b", b"{\"says\":\"no\"}").unwrap();
        drop(file);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let file = AnswerFile::open(&path).unwrap();
            // The last byte of a line is its end, which a whole answer may lack.
            assert_eq!(file.get("a").unwrap().is_some(), cut + 1 >= first, "cut at byte {cut}");
            assert_eq!(file.get("b").unwrap().is_some(), cut + 1 >= whole.len(), "cut at byte {cut}");
            file.put("c", b"{\"says\":\"no\"}").unwrap();
            drop(file);
            let file = AnswerFile::open(&path).unwrap();
            assert!(file.get("c").unwrap().is_some(), "cut at byte {cut}");
            assert_eq!(file.get("a").unwrap().is_some(), cut + 1 >= first, "cut at byte {cut}");
        }
    }

    #[test]
    fn answer_file_skips_foreign_and_endless_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        let endless = format!("{{\"key\":\"{}\",\"answer\":{{}}}}", "x".repeat(MAX_LINE));
        let text = format!("hello\n\n{endless}\n{{\"key\":\"a\",\"answer\":{{}}}}\n{{\"key\":3}}\n");
        std::fs::write(&path, text).unwrap();
        let file = AnswerFile::open(&path).unwrap();
        assert_eq!((file.skipped(), file.get("a").unwrap().is_some()), (3, true));
    }
}
