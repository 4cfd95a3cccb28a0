//! What the user names: files, directories, globs, and `-`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use walkdir::{DirEntry, WalkDir};

use super::{Content, Input, InputError, InputLimits};

/// How the name of a log ends. A directory holds other things too, and only these are read from it.
const LOGS: [&str; 8] = ["json", "jsonl", "ndjson", "sse", "http", "xes", "txt", "log"];

/// How the name of a compressed file ends.
const COMPRESSED: [&str; 4] = ["gz", "gzip", "zst", "zstd"];

/// The inputs that paths name, in the order in which they are named and sorted within a directory.
///
/// A file is read whatever its name. From a directory and the ones below it the logs are read: not hidden, and named
/// `.json`, `.jsonl`, `.ndjson`, `.sse`, `.http`, `.xes`, `.txt` or `.log`, each also as `.gz` or `.zst`. `*`, `?` and
/// `[…]` make a pattern unless a file has that name. `-` is standard input; it and any other pipe is put aside in a
/// temporary file. A file that is named twice is read once.
pub fn find(paths: &[String], limits: &InputLimits) -> Result<Vec<Input>, InputError> {
    if paths.is_empty() {
        return Err(InputError::new("no input", "nothing was named")
            .hint("name a log, a directory of logs, or - for standard input"));
    }
    let mut found = Found { limits, inputs: Vec::new(), seen: HashSet::new() };
    let mut errors = Vec::new();
    for path in paths {
        if let Err(error) = found.path(path) {
            errors.push(error);
        }
    }
    match InputError::all(errors) {
        Some(error) => Err(error),
        None => Ok(found.inputs),
    }
}

struct Found<'a> {
    limits: &'a InputLimits,
    inputs: Vec<Input>,
    seen: HashSet<PathBuf>,
}

impl Found<'_> {
    fn path(&mut self, name: &str) -> Result<(), InputError> {
        if name == "-" {
            if self.seen.insert(PathBuf::from("-")) {
                self.pipe("-", io::stdin().lock())?;
            }
            return Ok(());
        }
        let path = Path::new(name);
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && name.contains(['*', '?', '[']) => {
                self.pattern(name)
            }
            Err(error) => Err(InputError::from_io(name, &error)),
            Ok(metadata) if metadata.is_dir() => self.directory(name, path),
            Ok(metadata) if metadata.is_file() => {
                self.file(path);
                Ok(())
            }
            // A pipe can be read only once, and an input is read more often.
            Ok(_) => match File::open(path) {
                Ok(file) => self.pipe(name, file),
                Err(error) => Err(InputError::from_io(name, &error)),
            },
        }
    }

    fn file(&mut self, path: &Path) {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.seen.insert(place) {
            let name = path.to_string_lossy().into();
            self.inputs.push(Input { name, content: Content::File(path.to_owned()) });
        }
    }

    fn directory(&mut self, name: &str, path: &Path) -> Result<(), InputError> {
        let mut logs = 0;
        let mut errors = Vec::new();
        let shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
        for entry in WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(shown) {
            match entry {
                Ok(entry) if is_log(entry.path()) && entry.path().is_file() => {
                    logs += 1;
                    self.file(entry.path());
                }
                Ok(_) => {}
                Err(error) => {
                    let place =
                        error.path().map_or_else(|| name.to_owned(), |path| path.to_string_lossy().into_owned());
                    errors.push(InputError::new(&place, format!("cannot be read: {error}")));
                }
            }
        }
        if logs == 0 && errors.is_empty() {
            let hint =
                format!("from a directory only files named .{} are read; name any other file itself", LOGS.join(", ."));
            errors.push(InputError::new(name, "holds no logs").hint(hint));
        }
        InputError::all(errors).map_or(Ok(()), Err)
    }

    fn pattern(&mut self, name: &str) -> Result<(), InputError> {
        let paths = glob::glob(name).map_err(|error| {
            InputError::new(name, format!("is no pattern: {error}")).hint("`*` stands for any name")
        })?;
        let mut errors = Vec::new();
        let mut any = false;
        for path in paths {
            any = true;
            let result = match path {
                Ok(path) => self.path(&path.to_string_lossy()),
                Err(error) => Err(InputError::from_io(&error.path().to_string_lossy(), error.error())),
            };
            errors.extend(result.err());
        }
        if !any {
            errors.push(
                InputError::new(name, "nothing has a name of this pattern")
                    .hint("check the pattern and the current directory"),
            );
        }
        InputError::all(errors).map_or(Ok(()), Err)
    }

    fn pipe(&mut self, name: &str, mut pipe: impl Read) -> Result<(), InputError> {
        let failed = |error: io::Error| {
            InputError::new(name, format!("cannot be put aside: {error}"))
                .hint("it is kept in the directory for temporary files (TMPDIR) while it is read; or name a file")
        };
        let mut file = tempfile::tempfile().map_err(failed)?;
        let length = io::copy(&mut pipe.by_ref().take(self.limits.file), &mut file).map_err(failed)?;
        if length == self.limits.file && pipe.read(&mut [0]).map_err(failed)? > 0 {
            return Err(
                InputError::new(name, format!("is longer than {length} bytes")).hint("raise the limit for files")
            );
        }
        self.inputs.push(Input { name: name.into(), content: Content::Spooled(Arc::new(Mutex::new(file))) });
        Ok(())
    }
}

fn is_log(path: &Path) -> bool {
    let ending = |path: &Path| path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let is = |endings: &[&str], path: &Path| ending(path).is_some_and(|ending| endings.contains(&ending.as_str()));
    if is(&COMPRESSED, path) { is(&LOGS, &path.with_extension("")) } else { is(&LOGS, path) }
}
