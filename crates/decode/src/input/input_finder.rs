//! Finds the inputs that the user names: files, directories, globs, and `-`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use walkdir::{DirEntry, WalkDir};

use super::error::InputError;
use super::limits::InputLimits;
use super::log_name::{LOG_EXTENSIONS, LogName};
use super::log_parts::join_parts;
use super::{Input, InputContent};

/// How many of the skipped files a message names.
const MAX_NAMED_FILES: usize = 3;

/// The inputs that paths name.
#[derive(Debug)]
pub struct FoundInputs {
    /// The inputs, in the order of the paths.
    pub inputs: Vec<Input>,
    /// The files of directories that are not read, because their names are not those of logs.
    pub skipped: Vec<String>,
}

impl FoundInputs {
    /// Returns a notice about the files that are not read; none if all are.
    pub fn describe_skipped(&self) -> Option<String> {
        let named = self.skipped.iter().take(MAX_NAMED_FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
        let (files, more) = match self.skipped.len() {
            0 => return None,
            1 => ("one file of a directory is".to_owned(), String::new()),
            count if count <= MAX_NAMED_FILES => (format!("{count} files of directories are"), String::new()),
            count => (format!("{count} files of directories are"), format!(" and {} more", count - MAX_NAMED_FILES)),
        };
        Some(format!(
            "{files} not read, because their names are not those of logs: {named}{more}; name a file to read it"
        ))
    }
}

/// Returns the inputs that paths name, in the order of the paths and sorted within a directory.
///
/// A named file is always read. From a directory and the ones below it only logs are read: not hidden, and named
/// `.json`, `.jsonl`, `.ndjson`, `.sse`, `.http`, `.xes`, `.traj`, `.eval`, `.txt` or `.log`, each also rotated
/// (`.jsonl.1`, `.log-20260501`) and as `.gz` or `.zst`. The parts of a rotated log are read one after the other, the
/// oldest first ([`Input::log`]). `*`, `?` and
/// `[…]` make a pattern unless a file has that name. `-` is standard input; it and any other pipe is copied to a
/// temporary file. A file that is named twice is read once.
pub fn find(paths: &[String], limits: &InputLimits) -> Result<Vec<Input>, InputError> {
    find_with_skipped(paths, limits).map(|found| found.inputs)
}

/// Returns the inputs as [`find`] does, and the files that are not read from directories.
pub fn find_with_skipped(paths: &[String], limits: &InputLimits) -> Result<FoundInputs, InputError> {
    if paths.is_empty() {
        return Err(InputError::new("no input", "no path is given")
            .with_hint("name a log, a directory of logs, or - for standard input"));
    }
    let mut finder = InputFinder { limits, inputs: Vec::new(), skipped: Vec::new(), seen: HashSet::new() };
    let mut errors = Vec::new();
    for path in paths {
        if let Err(error) = finder.add_path(path) {
            errors.push(error);
        }
    }
    match InputError::join(errors) {
        Some(error) => Err(error),
        None => Ok(FoundInputs { inputs: join_parts(finder.inputs, limits), skipped: finder.skipped }),
    }
}

/// Collects inputs, each file once.
struct InputFinder<'a> {
    limits: &'a InputLimits,
    inputs: Vec<Input>,
    skipped: Vec<String>,
    seen: HashSet<PathBuf>,
}

impl InputFinder<'_> {
    fn add_path(&mut self, name: &str) -> Result<(), InputError> {
        if name == "-" {
            if self.seen.insert(PathBuf::from("-")) {
                self.add_pipe("-", io::stdin().lock())?;
            }
            return Ok(());
        }
        let path = Path::new(name);
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && name.contains(['*', '?', '[']) => {
                self.add_pattern(name)
            }
            Err(error) => Err(InputError::from_io(name, &error)),
            Ok(metadata) if metadata.is_dir() => self.add_directory(name, path),
            Ok(metadata) if metadata.is_file() => {
                self.add_file(path);
                Ok(())
            }
            // A pipe can be read only once, and an input is read more often.
            Ok(_) => match File::open(path) {
                Ok(file) => self.add_pipe(name, file),
                Err(error) => Err(InputError::from_io(name, &error)),
            },
        }
    }

    fn add_file(&mut self, path: &Path) {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.seen.insert(place) {
            let name = path.to_string_lossy().into();
            self.inputs.push(Input { name, log: None, content: InputContent::File(path.to_owned()) });
        }
    }

    fn add_directory(&mut self, name: &str, path: &Path) -> Result<(), InputError> {
        let mut logs = 0;
        let mut errors = Vec::new();
        let shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
        // By the parts of names, so that a session continues from an older part of a log to a newer one.
        let walk = WalkDir::new(path).sort_by_key(|entry| LogName::parse(entry.file_name()));
        for entry in walk.into_iter().filter_entry(shown) {
            match entry {
                Ok(entry) if !entry.path().is_file() => {}
                Ok(entry) if LogName::parse(entry.file_name()).is_log() => {
                    logs += 1;
                    self.add_file(entry.path());
                }
                Ok(entry) => self.skipped.push(entry.path().to_string_lossy().into_owned()),
                Err(error) => {
                    let place =
                        error.path().map_or_else(|| name.to_owned(), |path| path.to_string_lossy().into_owned());
                    errors.push(InputError::new(&place, format!("cannot be read: {error}")));
                }
            }
        }
        if logs == 0 && errors.is_empty() {
            let hint = format!(
                "from a directory only .{} files are read; name any other file itself",
                LOG_EXTENSIONS.join(", .")
            );
            errors.push(InputError::new(name, "holds no logs").with_hint(hint));
        }
        InputError::join(errors).map_or(Ok(()), Err)
    }

    fn add_pattern(&mut self, name: &str) -> Result<(), InputError> {
        let paths = glob::glob(name).map_err(|error| {
            InputError::new(name, format!("is not a valid pattern: {error}")).with_hint("`*` matches any name")
        })?;
        let mut errors = Vec::new();
        let mut any = false;
        for path in paths {
            any = true;
            let result = match path {
                Ok(path) => self.add_path(&path.to_string_lossy()),
                Err(error) => Err(InputError::from_io(&error.path().to_string_lossy(), error.error())),
            };
            errors.extend(result.err());
        }
        if !any {
            errors.push(
                InputError::new(name, "no file matches the pattern")
                    .with_hint("check the pattern and the current directory"),
            );
        }
        InputError::join(errors).map_or(Ok(()), Err)
    }

    fn add_pipe(&mut self, name: &str, mut pipe: impl Read) -> Result<(), InputError> {
        let failed = |error: io::Error| {
            InputError::new(name, format!("cannot be copied to a temporary file: {error}"))
                .with_hint("free space in the directory for temporary files (TMPDIR), or name a file instead of a pipe")
        };
        let mut file = tempfile::tempfile().map_err(failed)?;
        let length = io::copy(&mut pipe.by_ref().take(self.limits.file), &mut file).map_err(failed)?;
        if length == self.limits.file && pipe.read(&mut [0]).map_err(failed)? > 0 {
            return Err(InputError::new(name, format!("is over the limit of {length} bytes"))
                .with_hint("raise the limit for files, or split it"));
        }
        let content = InputContent::Spooled(Arc::new(Mutex::new(file)));
        self.inputs.push(Input { name: name.into(), log: None, content });
        Ok(())
    }
}
